//! Values in JSON documents: what is known of them, what is not known, and what must not be shown, each as a document
//! of the same shape.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_provider::{Attribute, AttributeType, BlockSchema, Nesting};
use yuba_value::{Mark, Path, PathStep, Value, View};

use crate::json_writer::{Members, list, primitive, text};

/// The known parts of a value. Unknown members are left out, unknown elements are null. Returns whether anything was
/// written: not if the value itself is unknown.
pub(crate) fn known(out: &mut String, value: &Value) -> bool {
    match value.view_ignoring_marks() {
        View::Unknown(_) => return false,
        View::List(items) | View::Set(items) | View::Tuple(items) => list(out, items, |out, item| {
            if !known(out, item) {
                out.push_str("null");
            }
            true
        }),
        View::Map(_) | View::Object(_) => {
            let mut members = Members::open(out);
            each_entry(value, |name, item| members.if_written(name, |out| known(out, item)));
            members.close();
        }
        View::Null | View::Bool(_) | View::Number(_) | View::String(_) => primitive(out, value),
    }
    true
}

/// The unknown parts of a value, as `true`. Known members are left out. Returns whether the result differs from
/// `false`.
pub(crate) fn unknown(out: &mut String, value: &Value) -> bool {
    match value.view_ignoring_marks() {
        View::Unknown(_) => out.push_str("true"),
        View::List(items) | View::Set(items) | View::Tuple(items) => list(out, items, |out, item| {
            unknown(out, item);
            true
        }),
        View::Map(_) | View::Object(_) => {
            let mut members = Members::open(out);
            each_entry(value, |name, item| members.if_written(name, |out| unknown(out, item)));
            members.close();
        }
        View::Null | View::Bool(_) | View::Number(_) | View::String(_) => {
            out.push_str("false");
            return false;
        }
    }
    true
}

/// The schema of a value.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'s> {
    /// Nothing.
    Any,
    /// It is an object.
    One(Object<'s>),
    /// It is a collection of such objects.
    Each(Object<'s>),
}

/// The schema of an object.
#[derive(Clone, Copy)]
pub(crate) enum Object<'s> {
    /// It is a block.
    Block(&'s BlockSchema),
    /// It is the value of an attribute that has attributes.
    Attributes(&'s BTreeMap<EcoString, Attribute>),
}

impl<'s> Shape<'s> {
    /// Of a block.
    pub(crate) fn of(block: &'s BlockSchema) -> Shape<'s> {
        Shape::One(Object::Block(block))
    }
    fn nested(nesting: Nesting, object: Object<'s>) -> Shape<'s> {
        match nesting {
            Nesting::Single | Nesting::Group => Shape::One(object),
            Nesting::List | Nesting::Set | Nesting::Map => Shape::Each(object),
        }
    }
    /// Of an element.
    fn element(self) -> Shape<'s> {
        match self {
            Shape::Each(object) => Shape::One(object),
            Shape::One(_) | Shape::Any => Shape::Any,
        }
    }
    /// Of a member, and whether it must not be shown.
    fn member(self, name: &str) -> (Shape<'s>, bool) {
        let (attributes, blocks) = match self {
            Shape::One(Object::Block(block)) => (block.attributes(), Some(block.blocks())),
            Shape::One(Object::Attributes(attributes)) => (attributes, None),
            // Blocks with keys whose attributes are of any type are an object.
            Shape::Each(_) => return (self.element(), false),
            Shape::Any => return (Shape::Any, false),
        };
        if let Some(attribute) = attributes.get(name) {
            let shape = match &attribute.ty {
                AttributeType::Plain(_) => Shape::Any,
                AttributeType::Nested(nested) => Shape::nested(nested.nesting, Object::Attributes(&nested.attributes)),
            };
            return (shape, attribute.sensitive);
        }
        let nested = blocks.and_then(|blocks| blocks.get(name));
        (nested.map_or(Shape::Any, |nested| Shape::nested(nested.nesting, Object::Block(&nested.block))), false)
    }
}

/// The sensitive parts of a value, by its marks or by its schema, as `true`. Other members are left out.
/// Returns whether it is anything other than `false`.
pub(crate) fn sensitive(out: &mut String, value: &Value, shape: Shape<'_>) -> bool {
    if value.marks().contains(&Mark::Sensitive) {
        out.push_str("true");
        return true;
    }
    let ty = value.ty();
    match value.view_ignoring_marks() {
        View::List(items) | View::Set(items) | View::Tuple(items) => list(out, items, |out, item| {
            sensitive(out, item, shape.element());
            true
        }),
        View::Map(_) | View::Object(_) => {
            let mut members = Members::open(out);
            each_entry(value, |name, item| {
                let (shape, hidden) = shape.member(name);
                members.if_written(name, |out| {
                    if hidden {
                        out.push_str("true");
                        return true;
                    }
                    sensitive(out, item, shape)
                });
            });
            members.close();
        }
        // Their elements are unknown, too.
        View::Unknown(_) if ty.is_list() || ty.is_set() || ty.is_tuple() => out.push_str("[]"),
        View::Unknown(_) if ty.is_map() || ty.is_object() => out.push_str("{}"),
        View::Unknown(_) | View::Null | View::Bool(_) | View::Number(_) | View::String(_) => {
            out.push_str("false");
            return false;
        }
    }
    true
}

/// Keys and values of a map or object in order.
pub(crate) fn each_entry<'v>(value: &'v Value, mut visit: impl FnMut(&'v str, &'v Value)) {
    match value.view_ignoring_marks() {
        View::Map(items) => items.iter().for_each(|(name, item)| visit(name, item)),
        View::Object(items) => {
            let attrs = value.ty().attrs().unwrap_or_default();
            attrs.iter().zip(items).for_each(|(attr, item)| visit(&attr.name, item));
        }
        _ => {}
    }
}

/// A path as an array of names and keys.
pub(crate) fn path(out: &mut String, path: &Path) {
    list(out, &path.0, |out, step| {
        match step {
            PathStep::Attr(name) => text(out, name),
            PathStep::Index(key) => {
                known(out, key);
            }
        }
        true
    });
}

#[cfg(test)]
mod tests {
    use yuba_value::Type;

    use super::*;

    fn check(value: &Value, shape: Shape<'_>, expect: [&str; 3]) {
        let mut texts = [String::new(), String::new(), String::new()];
        known(&mut texts[0], value);
        unknown(&mut texts[1], value);
        sensitive(&mut texts[2], value, shape);
        assert_eq!(texts, expect);
    }

    #[test]
    fn three_documents_of_one_value() {
        let text = |text: &str| Value::string(text);
        let hidden = || text("s").mark(Mark::Sensitive);
        let value = Value::object(vec![
            ("a".into(), Value::unknown(Type::string())),
            ("l".into(), Value::tuple(vec![Value::unknown(Type::number()), hidden(), text("<")])),
            ("m".into(), Value::map(Type::string(), vec![("k".into(), hidden()), ("n".into(), text("n"))])),
            ("n".into(), Value::null(Type::string())),
            ("u".into(), Value::unknown(Type::list(Type::string()))),
            ("v".into(), Value::unknown(Type::map(Type::string())).mark(Mark::Sensitive)),
            ("w".into(), Value::unknown(Type::map(Type::string()))),
        ]);
        check(
            &value,
            Shape::Any,
            [
                r#"{"l":[null,"s","\u003c"],"m":{"k":"s","n":"n"},"n":null}"#,
                r#"{"a":true,"l":[true,false,false],"m":{},"u":true,"v":true,"w":true}"#,
                r#"{"l":[false,true,false],"m":{"k":true},"u":[],"v":true,"w":{}}"#,
            ],
        );
        check(&Value::null_dynamic(), Shape::Any, ["null", "false", "false"]);
        check(&Value::unknown_dynamic(), Shape::Any, ["", "true", "false"]);
    }

    #[test]
    fn schemas_hide_too() {
        let secret = || Attribute { sensitive: true, ..Attribute::optional(Type::string()) };
        let object = yuba_provider::NestedAttribute {
            nesting: Nesting::Map,
            attributes: BTreeMap::from([("p".into(), secret()), ("q".into(), Attribute::optional(Type::string()))]),
        };
        let nested = Attribute { ty: AttributeType::Nested(object), ..Attribute::optional(Type::string()) };
        let inner = BlockSchema::new([("x", secret())]);
        let block = BlockSchema::new([("n", nested), ("s", secret())])
            .with_blocks([("b", yuba_provider::NestedBlock::new(Nesting::Set, inner))]);
        let text = |text: &str| Value::string(text);
        let pq = Value::object(vec![("p".into(), text("p")), ("q".into(), text("q"))]);
        let x = Value::object(vec![("x".into(), text("x"))]);
        let value = Value::object(vec![
            ("b".into(), Value::set(x.ty().clone(), vec![x.clone()])),
            ("n".into(), Value::map(pq.ty().clone(), vec![("k".into(), pq.clone())])),
            ("s".into(), Value::null(Type::string())),
        ]);
        let expect = r#"{"b":[{"x":true}],"n":{"k":{"p":true}},"s":true}"#;
        let shown = r#"{"b":[{"x":"x"}],"n":{"k":{"p":"p","q":"q"}},"s":null}"#;
        check(&value, Shape::of(&block), [shown, r#"{"b":[{}],"n":{"k":{}}}"#, expect]);
    }
}
