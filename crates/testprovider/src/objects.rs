//! Planning and applying objects; the same for every type, by its schema.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use yuba_provider::schema::{Attribute, AttributeType, BlockSchema, NestedBlock, Nesting};
use yuba_value::{Type, TypeKind, Value, View, json};

/// An attribute of an object; null if it does not exist.
pub(crate) fn get(object: &Value, attribute: &str) -> Value {
    let entries = if object.is_null() || !object.is_known() { None } else { object.entries() };
    let found = entries.and_then(|entries| entries.into_iter().find(|(name, _)| name == attribute));
    found.map_or_else(Value::null_dynamic, |(_, value)| value)
}

pub(crate) fn text(object: &Value, attribute: &str) -> EcoString {
    get(object, attribute).as_str().cloned().unwrap_or_default()
}

/// An object with another value of an attribute, if it has it.
pub(crate) fn set(object: &Value, attribute: &str, value: Value) -> Value {
    let mut entries = object.entries().unwrap_or_default();
    if let Some((_, item)) = entries.iter_mut().find(|(name, _)| name == attribute) {
        *item = value;
    }
    Value::object(entries)
}

/// New value of an attribute, if it changes.
type Edit<'a> = &'a dyn Fn(&str, &Attribute, &Value) -> Option<Value>;

/// An object with attributes changed wherever they are in it.
fn edited(block: &BlockSchema, object: &Value, edit: Edit<'_>) -> Value {
    edited_parts(block.attributes(), block.blocks(), object, edit)
}

fn edited_parts(
    attributes: &BTreeMap<EcoString, Attribute>,
    blocks: &BTreeMap<EcoString, NestedBlock>,
    object: &Value,
    edit: Edit<'_>,
) -> Value {
    if object.is_null() || !object.is_known() {
        return object.clone();
    }
    let entries = object.entries().unwrap_or_default().into_iter().map(|(name, value)| {
        let value = if let Some(attribute) = attributes.get(&name) {
            match (edit(&name, attribute, &value), &attribute.ty) {
                (Some(value), _) => value,
                (None, AttributeType::Plain(_)) => value,
                (None, AttributeType::Nested(nested)) => each(nested.nesting, &value, &|object| {
                    edited_parts(&nested.attributes, &BTreeMap::new(), object, edit)
                }),
            }
        } else if let Some(nested) = blocks.get(&name) {
            each(nested.nesting, &value, &|object| edited(&nested.block, object, edit))
        } else {
            value
        };
        (name, value)
    });
    Value::object(entries.collect())
}

fn each(nesting: Nesting, value: &Value, change: &dyn Fn(&Value) -> Value) -> Value {
    let element = || value.ty().element().cloned().unwrap_or_else(Type::dynamic);
    match value.view_ignoring_marks() {
        View::List(items) => Value::list(element(), items.iter().map(change).collect()),
        View::Set(items) => Value::set(element(), items.iter().map(change).collect()),
        View::Map(items) => Value::map(element(), items.iter().map(|(k, v)| (k.clone(), change(v))).collect()),
        View::Object(_) if matches!(nesting, Nesting::Single | Nesting::Group) => change(value),
        _ => value.clone(),
    }
}

/// The planned object, and whether anything changes.
pub(crate) fn planned(block: &BlockSchema, prior: &Value, proposed: &Value, instance: &str) -> (Value, bool) {
    let forgotten =
        edited(block, proposed, &|_, attribute, _| attribute.write_only.then(|| Value::null(attribute.implied_type())));
    if !prior.is_null() && forgotten.raw_equals(prior) {
        return (forgotten, false);
    }
    let name = text(proposed, "name");
    let open = edited(block, &forgotten, &|at, attribute, value| {
        let unknown = || Value::unknown(attribute.implied_type());
        match at {
            _ if !attribute.computed => None,
            "size" => value.is_null().then(|| Value::int(1)),
            "instance" => value.is_null().then(|| Value::string(instance)),
            "revision" | "password_length" => Some(unknown()),
            "id" if value.is_null() => Some(unknown().refine().not_null().prefix(&name).done()),
            _ => value.is_null().then(|| unknown().refine_not_null()),
        }
    });
    (open, true)
}

/// An object with everything known.
pub(crate) fn finished(block: &BlockSchema, prior: &Value, planned: &Value, config: &Value, id: &str) -> Value {
    let revision = get(prior, "revision").as_number().and_then(yuba_value::Number::to_i64).unwrap_or(0) + 1;
    let password = text(config, "password_wo");
    edited(block, planned, &|at, attribute, value| {
        if value.is_known() {
            return None;
        }
        Some(match at {
            "id" => Value::string(id),
            "revision" => Value::int(revision),
            "password_length" if password.is_empty() => Value::null(Type::number()),
            "password_length" => Value::int(i64::try_from(password.len()).unwrap_or(i64::MAX)),
            _ if attribute.implied_type() == Type::number() => Value::int(0),
            _ if attribute.implied_type() == Type::string() => Value::string(eco_format!("made-{id}")),
            _ => empty(&attribute.implied_type()),
        })
    })
}

/// The emptiest value of a type that is not null, which is never among planned values; null for other types.
fn empty(ty: &Type) -> Value {
    let element = || ty.element().cloned().unwrap_or_else(Type::dynamic);
    match ty.kind() {
        TypeKind::Bool => Value::bool(false),
        TypeKind::List(_) => Value::list(element(), Vec::new()),
        TypeKind::Set(_) => Value::set(element(), Vec::new()),
        TypeKind::Map(_) => Value::map(element(), Vec::new()),
        _ => Value::null(ty.clone()),
    }
}

/// A stored object by the current schema: what is not in the schema is left out, what is missing is null.
pub(crate) fn upgraded(block: &BlockSchema, version: i64, stored: &[u8]) -> Result<Value, String> {
    let stored = serde_json::from_slice::<serde_json::Value>(stored).map_err(|error| error.to_string())?;
    let serde_json::Value::Object(mut stored) = stored else { return Err("it is not an object".into()) };
    if version == 0
        && let Some(title) = stored.remove("title")
    {
        stored.insert("name".into(), title);
    }
    let ty = block.implied_type();
    let known = ty.attrs().unwrap_or_default().iter();
    let mut object = serde_json::Map::new();
    for attr in known {
        object.insert(attr.name.to_string(), stored.remove(attr.name.as_str()).unwrap_or_default());
    }
    let text = serde_json::Value::Object(object).to_string();
    json::decode(text.as_bytes(), ty).map_err(|error| error.to_string())
}

/// A stored object of an old version as JSON: attributes that are a single string, number or bool.
pub(crate) fn from_flatmap(block: &BlockSchema, flat: &BTreeMap<String, String>) -> Vec<u8> {
    let mut object = serde_json::Map::new();
    for (name, attribute) in block.attributes() {
        let Some(text) = flat.get(name.as_str()) else { continue };
        let ty = attribute.implied_type();
        let value = match ty.is_primitive() && ty != Type::string() {
            true => serde_json::from_str(text).unwrap_or_default(),
            false if ty == Type::string() => text.as_str().into(),
            false => continue,
        };
        object.insert(name.to_string(), value);
    }
    serde_json::Value::Object(object).to_string().into_bytes()
}
