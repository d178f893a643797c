//! `ignore_changes`: the configuration with what is ignored as it is already.

use ecow::EcoString;
use yuba_config::resource::IgnoreChanges;
use yuba_provider::BlockSchema;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Traversal, TraversalStep};
use yuba_value::{Number, Path, PathStep, Value, View};

/// The configuration that is planned for an object that exists.
pub(crate) fn apply(ignore: &IgnoreChanges, schema: &BlockSchema, prior: &Value, config: &Value) -> Value {
    if prior.is_null() || config.is_null() {
        return config.clone();
    }
    match ignore {
        IgnoreChanges::None => config.clone(),
        IgnoreChanges::All => without_computed(schema, prior),
        IgnoreChanges::Some(places) => {
            let paths: Vec<Path> = places.iter().map(path_of).collect();
            paths.iter().fold(config.clone(), |config, path| keep(prior, &config, &path.0))
        }
    }
}

/// An object as if it were configuration: what only the provider sets is not in it.
fn without_computed(schema: &BlockSchema, prior: &Value) -> Value {
    let Some(entries) = prior.entries() else { return prior.clone() };
    let names: Vec<EcoString> = entries.into_iter().map(|(name, _)| name).collect();
    let mut names = names.into_iter();
    let plain = prior.ignoring_marks().map_children(&mut |child| {
        let name = names.next().unwrap_or_default();
        match schema.attributes().get(&name) {
            Some(attribute) if attribute.computed && !attribute.optional => Value::null(child.ty().clone()),
            _ => child.clone(),
        }
    });
    Value::from(plain).with_marks(prior.marks())
}

/// The path that a traversal names; its root is an attribute of the resource.
pub(crate) fn path_of(traversal: &Traversal) -> Path {
    let mut path = Path::new().attr(&traversal.root);
    path.0.extend(traversal.steps.iter().filter_map(step_of));
    path
}

/// One step of a traversal.
pub(crate) fn step_of(step: &TraversalStep) -> Option<PathStep> {
    match step {
        TraversalStep::Attr { name, .. } => Some(PathStep::Attr(name.clone())),
        TraversalStep::Index { key, .. } => Some(PathStep::Index(match key {
            Literal::String(key) => Value::string(key.clone()),
            Literal::Int(key) => Value::int(*key),
            Literal::Number(text) => Value::number(Number::parse(text)?),
            Literal::Null | Literal::Bool(_) => return None,
        })),
    }
}

/// The configuration with the prior object's value at a path.
fn keep(prior: &Value, config: &Value, path: &[PathStep]) -> Value {
    let Some((step, rest)) = path.split_first() else { return prior.clone() };
    let (prior_plain, _) = prior.unmark();
    let (plain, marks) = config.unmark();
    // Quirk: a key of anything but a map stands for all of it.
    if rest.is_empty() && !plain.ty().is_map() && matches!(step, PathStep::Index(key) if key.as_str().is_some()) {
        return prior.clone();
    }
    let kept = match (plain.view_ignoring_marks(), step) {
        (View::Object(items), PathStep::Attr(name)) => {
            let inside = Path(vec![step.clone()]);
            match (plain.ty().attr_index(name), inside.follow(&prior_plain)) {
                (Some(at), Some(before)) => {
                    let mut items = items.to_vec();
                    items[at] = keep(&before, &items[at], rest);
                    Some(rebuilt_object(&plain, items))
                }
                _ => None,
            }
        }
        (View::Map(_) | View::Null, PathStep::Index(key)) if plain.ty().is_map() => {
            let before = match prior_plain.view_ignoring_marks() {
                View::Map(_) => prior_plain.entries().unwrap_or_default(),
                View::Null => Vec::new(),
                _ => return config.clone(),
            };
            key.as_str().map(|key| keep_entry(&before, &plain, key, rest))
        }
        (View::List(items) | View::Tuple(items), PathStep::Index(_)) => {
            let inside = Path(vec![step.clone()]);
            let at = match step {
                PathStep::Index(key) => {
                    key.as_number().and_then(Number::to_i64).and_then(|at| usize::try_from(at).ok())
                }
                PathStep::Attr(_) => None,
            };
            match (at.filter(|at| *at < items.len()), inside.follow(&prior_plain)) {
                (Some(at), Some(before)) => {
                    let mut items = items.to_vec();
                    items[at] = keep(&before, &items[at], rest);
                    Some(match plain.ty().element() {
                        Some(element) => Value::list(element.clone(), items),
                        None => Value::tuple(items),
                    })
                }
                _ => None,
            }
        }
        _ => None,
    };
    match kept {
        Some(kept) => kept.with_marks(&marks),
        None => config.clone(),
    }
}

/// An object with other values of its attributes; their types may differ where the attribute may be anything.
fn rebuilt_object(object: &Value, items: Vec<Value>) -> Value {
    let names = object.ty().attrs().unwrap_or_default().iter().map(|attr| attr.name.clone());
    Value::object(names.zip(items).collect())
}

/// A map with one entry as it was before: with its value, or without it.
fn keep_entry(before: &[(EcoString, Value)], config: &Value, key: &EcoString, rest: &[PathStep]) -> Value {
    let was_null = config.is_null();
    let mut entries = config.entries().unwrap_or_default();
    let old = before.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    let at = entries.iter().position(|(name, _)| name == key);
    match (old, at) {
        (Some(old), Some(at)) => entries[at].1 = keep(old, &entries[at].1, rest),
        (Some(old), None) if rest.is_empty() => entries.push((key.clone(), old.clone())),
        (None, Some(at)) if rest.is_empty() => {
            entries.remove(at);
        }
        _ => {}
    }
    if entries.is_empty() && was_null {
        return config.clone();
    }
    let element = config.ty().element().cloned().unwrap_or_else(yuba_value::Type::dynamic);
    Value::map(element, entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use yuba_provider::Attribute;
    use yuba_value::{Type, json};

    fn check(ignored: &str, prior: &str, config: &str, expect: &Expect) {
        let schema = BlockSchema::new([
            ("id", Attribute::computed(Type::string())),
            ("tags", Attribute::optional(Type::map(Type::string()))),
            ("name", Attribute::optional(Type::string())),
            ("list", Attribute::optional(Type::list(Type::string()))),
            ("any", Attribute::optional(Type::dynamic())),
        ]);
        let ty = schema.implied_type();
        let decode = |text: &str| {
            let given = json::decode_implied(text).expect("because the text is JSON");
            let entries = given.entries().expect("because it is an object");
            let attrs = ty.attrs().expect("because the type is an object");
            let of = |name: &EcoString, ty: &Type| match entries.iter().find(|(other, _)| other == name) {
                Some((_, value)) => yuba_value::convert::convert(value, ty).expect("because it fits"),
                None => Value::null(ty.clone()),
            };
            Value::object(attrs.iter().map(|attr| (attr.name.clone(), of(&attr.name, &attr.ty))).collect())
        };
        let ignore = match ignored {
            "all" => IgnoreChanges::All,
            names => {
                let parse = |name: &str| {
                    let mut sources = yuba_syntax::Sources::new();
                    let file = sources.add(yuba_syntax::SourceFile::new("x", name.as_bytes()));
                    yuba_syntax::parser::parse_traversal(file, name.as_bytes()).0.expect("because it is a traversal")
                };
                IgnoreChanges::Some(names.split(' ').map(parse).collect())
            }
        };
        let kept = apply(&ignore, &schema, &decode(prior), &decode(config));
        let shown: Vec<String> = kept
            .entries()
            .unwrap_or_default()
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| format!("{name}={}", json::encode_plain(&value).unwrap_or_default()))
            .collect();
        expect.assert_eq(&shown.join(" "));
    }

    #[test]
    fn ignored_values_stay() {
        let prior = r#"{"id":"i","name":"old","tags":{"a":"1","b":"2"},"list":["x","y"],"any":{"k":1,"l":2}}"#;
        let config = r#"{"name":"new","tags":{"a":"9","c":"3"},"list":["z"],"any":{"k":"9","l":8}}"#;
        check("name", prior, config, &expect![[r#"any={"k":"9","l":8} list=["z"] name="old" tags={"a":"9","c":"3"}"#]]);
        check(
            "tags[\"a\"] tags[\"b\"] tags[\"c\"]",
            prior,
            config,
            &expect![[r#"any={"k":"9","l":8} list=["z"] name="new" tags={"a":"1","b":"2"}"#]],
        );
        check("any.k", prior, config, &expect![[r#"any={"k":1,"l":8} list=["z"] name="new" tags={"a":"9","c":"3"}"#]]);
        check(
            "list[0]",
            prior,
            config,
            &expect![[r#"any={"k":"9","l":8} list=["x"] name="new" tags={"a":"9","c":"3"}"#]],
        );
        check(
            "all",
            prior,
            config,
            &expect![[r#"any={"k":1,"l":2} list=["x","y"] name="old" tags={"a":"1","b":"2"}"#]],
        );
        check("tags[\"a\"]", prior, "{}", &expect![[r#"tags={"a":"1"}"#]]);
    }
}
