//! Marks that a schema requires, and the paths of attributes of a kind in a value.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_value::{Deprecation, Mark, Marks, Path, PathStep, Value, View};

use crate::diagnostics::path_text;
use crate::schema::{Attribute, AttributeType, BlockSchema, NestedAttribute, NestedBlock, Nesting};

/// The owner of deprecated attributes, for the choice of warnings.
#[derive(Clone, Copy, Debug)]
pub struct DeprecatedOf<'a> {
    /// The address of the resource, as it is referred to.
    pub symbol: &'a str,
    /// The address of its module; empty for the root module.
    pub module: &'a str,
    /// It belongs to an external module.
    pub remote: bool,
}

impl BlockSchema {
    /// The value with marks on the parts that are sensitive, deprecated or ephemeral by this schema. Deprecation is
    /// marked only if the owner is given. Marks of elements of sets are marks of the set.
    pub fn mark(&self, value: &Value, of: Option<DeprecatedOf<'_>>) -> Value {
        if !self.asks_for_marks() {
            return value.clone();
        }
        Marker { of, path: Path::new() }.block(self, value)
    }

    /// Whether anything in it is ever marked.
    pub fn asks_for_marks(&self) -> bool {
        self.ephemeral || self.deprecated.is_some() || self.has_marks_inside()
    }

    /// Paths of sensitive attributes in a value, whatever their values. Attributes inside of a sensitive one are left
    /// out.
    pub fn sensitive_paths(&self, value: &Value) -> Vec<Path> {
        self.paths_of(value, &|attribute| attribute.sensitive)
    }
    /// Paths of write-only attributes in a value.
    pub fn write_only_paths(&self, value: &Value) -> Vec<Path> {
        match self.has_write_only() {
            true => self.paths_of(value, &|attribute| attribute.write_only),
            false => Vec::new(),
        }
    }

    /// The value with write-only attributes that are no longer marked as ephemeral: a provider always returns null for
    /// them, which can be stored and used like any other value.
    pub fn unmark_write_only(&self, value: &Value) -> Value {
        if value.is_deeply_unmarked() {
            return value.clone();
        }
        let (plain, mut marked) = value.unmark_with_paths();
        for (path, marks) in &mut marked {
            if marks.has_ephemeral() && self.attribute_at(&path.0).is_some_and(|attribute| attribute.write_only) {
                *marks = marks.without(&Mark::Ephemeral);
            }
        }
        plain.mark_at(&marked)
    }

    fn paths_of(&self, value: &Value, wanted: &dyn Fn(&Attribute) -> bool) -> Vec<Path> {
        let mut finder = Finder { wanted, path: Path::new(), found: Vec::new() };
        finder.block(self, value);
        finder.found
    }
}

/// Calls `visit` with each object in a collection and the step that leads to it.
fn each_object(nesting: Nesting, value: &Value, mut visit: impl FnMut(Option<PathStep>, &Value)) {
    match (nesting, value.view_ignoring_marks()) {
        (_, View::Null | View::Unknown(_)) => {}
        (Nesting::Single | Nesting::Group, _) => visit(None, value),
        (_, View::List(items) | View::Tuple(items)) => {
            for (at, item) in (0i64..).zip(items) {
                visit(Some(PathStep::Index(Value::int(at))), item);
            }
        }
        (_, View::Set(items)) => items.iter().for_each(|item| visit(Some(PathStep::Index(item.clone())), item)),
        (_, View::Map(items)) => {
            items.iter().for_each(|(key, item)| visit(Some(PathStep::Index(Value::string(key.clone()))), item));
        }
        (_, View::Object(items)) => {
            let attrs = value.ty().attrs().unwrap_or_default();
            for (attr, item) in attrs.iter().zip(items) {
                visit(Some(PathStep::Index(Value::string(attr.name.clone()))), item);
            }
        }
        _ => {}
    }
}

struct Finder<'f> {
    wanted: &'f dyn Fn(&Attribute) -> bool,
    path: Path,
    found: Vec<Path>,
}

impl Finder<'_> {
    fn block(&mut self, schema: &BlockSchema, value: &Value) {
        self.attributes(schema.attributes(), value);
        for (name, nested) in schema.blocks() {
            let Some(value) = part(value, name) else { continue };
            self.inside(name, nested.nesting, value, |finder, object| finder.block(&nested.block, object));
        }
    }

    fn attributes(&mut self, schemas: &BTreeMap<EcoString, Attribute>, value: &Value) {
        for (name, attribute) in schemas {
            let Some(value) = part(value, name) else { continue };
            if (self.wanted)(attribute) {
                self.found.push(self.path.attr(name));
            } else if let AttributeType::Nested(nested) = &attribute.ty {
                self.inside(name, nested.nesting, value, |finder, object| {
                    finder.attributes(&nested.attributes, object);
                });
            }
        }
    }

    fn inside(&mut self, name: &EcoString, nesting: Nesting, value: &Value, visit: impl Fn(&mut Self, &Value)) {
        let length = self.path.0.len();
        self.path.0.push(PathStep::Attr(name.clone()));
        each_object(nesting, value, |step, object| {
            self.path.0.extend(step);
            visit(self, object);
            self.path.0.truncate(length + 1);
        });
        self.path.0.truncate(length);
    }
}

fn part<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    match object.view_ignoring_marks() {
        View::Object(items) => items.get(object.ty().attr_index(name)?),
        _ => None,
    }
}

struct Marker<'m> {
    of: Option<DeprecatedOf<'m>>,
    path: Path,
}

impl Marker<'_> {
    fn deprecation(&self, deprecated: Option<&EcoString>) -> Option<Mark> {
        let (message, of) = (deprecated?.clone(), self.of?);
        let source = eco_format!("{}{}", of.symbol, path_text(&self.path));
        let module = of.module.into();
        Some(Mark::Deprecated(Arc::new(Deprecation { source, module, message, remote: of.remote, unread: false })))
    }

    fn block(&mut self, schema: &BlockSchema, value: &Value) -> Value {
        let own = self.deprecation(schema.deprecated.as_ref()).into_iter();
        let own: Marks = own.chain(schema.ephemeral.then_some(Mark::Ephemeral)).collect();
        if !schema.has_marks_inside() {
            return value.with_marks(&own);
        }
        let inside = self.object(value, |marker, name, item| match schema.attributes().get(name) {
            // Quirk: something sensitive or deprecated is marked in a marked attribute of a block, but not in a marked
            // attribute of an attribute.
            Some(attribute) => {
                let marks = marker.attribute_marks(attribute);
                Some(marker.nested_attribute(attribute, item).with_marks(&marks))
            }
            None => schema.blocks().get(name).map(|nested| marker.nested_block(nested, item)),
        });
        inside.with_marks(&own)
    }

    /// The object with some of its values replaced.
    fn object(&mut self, value: &Value, edit: impl Fn(&mut Self, &EcoString, &Value) -> Option<Value>) -> Value {
        let View::Object(items) = value.view_ignoring_marks() else { return value.clone() };
        let attrs = value.ty().attrs().unwrap_or_default();
        let marked = attrs.iter().zip(items).map(|(attr, item)| {
            self.path.0.push(PathStep::Attr(attr.name.clone()));
            let marked = edit(self, &attr.name, item);
            self.path.0.pop();
            marked.unwrap_or_else(|| item.clone())
        });
        Value::structure(value.ty().clone(), marked.collect()).with_marks(value.marks())
    }

    fn attribute_marks(&self, attribute: &Attribute) -> Marks {
        if !attribute.sensitive && attribute.deprecated.is_none() {
            return Marks::NONE;
        }
        let deprecation = self.deprecation(attribute.deprecated.as_ref()).into_iter();
        deprecation.chain(attribute.sensitive.then_some(Mark::Sensitive)).collect()
    }

    fn nested_attribute(&mut self, attribute: &Attribute, value: &Value) -> Value {
        let AttributeType::Nested(nested) = &attribute.ty else { return value.clone() };
        if !nested.has_marks_inside() {
            return value.clone();
        }
        self.collection(nested.nesting, value, |marker, object| {
            marker.object(object, |marker, name, item| {
                let attribute = nested.attributes.get(name)?;
                let marks = marker.attribute_marks(attribute);
                Some(match marks.is_empty() {
                    true => marker.nested_attribute(attribute, item),
                    false => item.with_marks(&marks),
                })
            })
        })
    }

    fn nested_block(&mut self, nested: &NestedBlock, value: &Value) -> Value {
        if !nested.block.asks_for_marks() {
            return value.clone();
        }
        self.collection(nested.nesting, value, |marker, object| marker.block(&nested.block, object))
    }

    fn collection(&mut self, nesting: Nesting, value: &Value, edit: impl Fn(&mut Self, &Value) -> Value) -> Value {
        let mut marked = Vec::new();
        let length = self.path.0.len();
        each_object(nesting, value, |step, object| {
            self.path.0.extend(step);
            marked.push(edit(self, object));
            self.path.0.truncate(length);
        });
        if marked.is_empty() {
            return value.clone();
        }
        if matches!(nesting, Nesting::Single | Nesting::Group) {
            return marked.pop().unwrap_or_else(|| value.clone());
        }
        if let (View::Set(_), Some(element)) = (value.view_ignoring_marks(), value.ty().element()) {
            return Value::set(element.clone(), marked).with_marks(value.marks());
        }
        let mut marked = marked.into_iter();
        let children = &mut |child: &Value| marked.next().unwrap_or_else(|| child.clone());
        Value::from(value.ignoring_marks().map_children(children)).with_marks(value.marks())
    }
}

impl Attribute {
    /// Whether it or something in it is sensitive or deprecated.
    pub(crate) fn has_marks(&self) -> bool {
        let inside = match &self.ty {
            AttributeType::Nested(nested) => nested.has_marks_inside(),
            AttributeType::Plain(_) => false,
        };
        self.sensitive || self.deprecated.is_some() || inside
    }
}

impl NestedAttribute {
    fn has_marks_inside(&self) -> bool {
        self.attributes.values().any(Attribute::has_marks)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yuba_value::Type;

    use super::*;

    fn schema() -> BlockSchema {
        let secret = || Attribute { sensitive: true, ..Attribute::optional(Type::string()) };
        let old = || Attribute { deprecated: Some("use b".into()), ..Attribute::optional(Type::string()) };
        let plain = || Attribute { write_only: true, ..Attribute::optional(Type::string()) };
        let inner = || [("secret", secret()), ("old", old()), ("plain", plain())];
        let nested = |nesting| {
            let attributes = inner().into_iter().map(|(name, schema)| (name.into(), schema)).collect();
            let ty = AttributeType::Nested(NestedAttribute { nesting, attributes });
            Attribute { ty, ..Attribute::optional(Type::dynamic()) }
        };
        let block = |nesting| NestedBlock::new(nesting, BlockSchema::new(inner()));
        let mut gone = BlockSchema::new([("plain", plain())]);
        gone.deprecated = Some(EcoString::new());
        BlockSchema::new(inner())
            .with_blocks([("list", block(Nesting::List)), ("set", block(Nesting::Set))])
            .with_blocks([
                ("list", block(Nesting::List)),
                ("set", block(Nesting::Set)),
                ("single", block(Nesting::Single)),
                ("gone", NestedBlock::new(Nesting::Map, gone)),
            ])
            .and_attributes([("n_map", nested(Nesting::Map)), ("n_single", nested(Nesting::Single))])
    }

    impl BlockSchema {
        fn and_attributes<const N: usize>(&self, more: [(&str, Attribute); N]) -> BlockSchema {
            let attributes = self.attributes().iter().map(|(name, schema)| (name.clone(), schema.clone()));
            let more = more.into_iter().map(|(name, schema)| (name.into(), schema));
            let blocks = self.blocks().iter().map(|(name, schema)| (name.clone(), schema.clone()));
            BlockSchema::new(attributes.chain(more)).with_blocks(blocks)
        }
    }

    fn object(schema: &BlockSchema) -> Value {
        let inner = || {
            let names = ["secret", "old", "plain"];
            Value::object(names.map(|name| (name.into(), Value::string("x"))).into())
        };
        let gone = Value::object(vec![("plain".into(), Value::string("x"))]);
        let given = Value::object(vec![
            ("secret".into(), Value::string("x")),
            ("old".into(), Value::string("x")),
            ("list".into(), Value::tuple(vec![inner()])),
            ("set".into(), Value::tuple(vec![inner()])),
            ("gone".into(), Value::object(vec![("k".into(), gone)])),
            ("n_map".into(), Value::object(vec![("k".into(), inner())])),
            ("n_single".into(), inner()),
        ]);
        schema.coerce(&given).expect("it fits the schema")
    }

    #[test]
    fn values_are_marked_by_schema() {
        let schema = schema();
        let value = object(&schema);
        let marked = schema.mark(&value, Some(DeprecatedOf { symbol: "fake.x", module: "", remote: false }));
        let (plain, paths) = marked.unmark_with_paths();
        assert!(plain.raw_equals(&value));
        let mut out = String::new();
        for (path, marks) in paths {
            let marks: Vec<String> = marks
                .iter()
                .map(|mark| match mark {
                    Mark::Deprecated(deprecation) => format!("{}: {}", deprecation.source, deprecation.message),
                    other => format!("{other:?}"),
                })
                .collect();
            out += &format!("{} {}\n", path_text(&path), marks.join(", "));
        }
        expect![[r#"
            .gone["k"] fake.x.gone["k"]: 
            .list[0].old fake.x.list[0].old: use b
            .list[0].secret Sensitive
            .n_map["k"].old fake.x.n_map["k"].old: use b
            .n_map["k"].secret Sensitive
            .n_single.old fake.x.n_single.old: use b
            .n_single.secret Sensitive
            .old fake.x.old: use b
            .secret Sensitive
            .set Sensitive, fake.x.set[...].old: use b
        "#]]
        .assert_eq(&out);
        assert!(schema.mark(&Value::null(schema.implied_type().clone()), None).is_deeply_unmarked());
        let without = schema.mark(&value, None).marks_deep();
        assert!(without.iter().all(|mark| *mark == Mark::Sensitive));
    }

    #[test]
    fn attributes_of_a_kind_are_found() {
        let schema = schema();
        let text = |paths: Vec<Path>| paths.iter().map(|path| format!("{}\n", path_text(path))).collect::<String>();
        expect![[r#"
            .n_map["k"].secret
            .n_single.secret
            .secret
            .list[0].secret
            .set[...].secret
        "#]]
        .assert_eq(&text(schema.sensitive_paths(&object(&schema))));
        expect![[r#"
            .n_map["k"].plain
            .n_single.plain
            .plain
            .gone["k"].plain
            .list[0].plain
            .set[...].plain
        "#]]
        .assert_eq(&text(schema.write_only_paths(&object(&schema))));
    }

    #[test]
    fn write_only_attributes_lose_the_ephemeral_mark() {
        let schema = BlockSchema::new([
            ("wo", Attribute { write_only: true, ..Attribute::optional(Type::string()) }),
            ("x", Attribute::optional(Type::string())),
        ]);
        let both: Marks = [Mark::Sensitive, Mark::Ephemeral].into_iter().collect();
        let null = || Value::null(Type::string()).with_marks(&both);
        let value = Value::object(vec![("wo".into(), null()), ("x".into(), null())]);
        let (_, marks) = schema.unmark_write_only(&value).unmark_with_paths();
        let ephemeral: Vec<_> = marks.iter().map(|(_, marks)| marks.has_ephemeral()).collect();
        assert_eq!(ephemeral, [false, true]);
    }
}
