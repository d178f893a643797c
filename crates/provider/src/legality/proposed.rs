//! The object a provider is asked to plan: what the configuration says, and what the provider set before where the
//! configuration says nothing.

use std::collections::HashMap;

use yuba_value::{Value, View};

use super::values::{Content, Part, child, entries, entry, fingerprint, object_like, objects, same};
use crate::schema::{Attribute, AttributeType, BlockSchema, NestedAttribute, NestedBlock, Nesting};

/// The configuration with the computed values of the object as it was. `prior` is null to create an object.
///
/// Both conform to the schema and carry no marks; `prior` is wholly known.
pub fn proposed_new(schema: &BlockSchema, prior: &Value, config: &Value) -> Value {
    if config.is_null() && prior.is_null() {
        return prior.clone();
    }
    block(schema, prior, config)
}

/// The configuration with everything unknown that a provider may set: a data or ephemeral resource that cannot be read
/// yet.
pub fn planned_unknown(schema: &BlockSchema, config: &Value) -> Value {
    block(schema, &Value::unknown(schema.implied_type().clone()), config)
}

fn block(schema: &BlockSchema, prior: &Value, config: &Value) -> Value {
    match config.view_ignoring_marks() {
        View::Object(_) => object(Content::Block(schema), prior, config),
        _ if prior.is_null() => schema.empty_value(),
        _ => prior.clone(),
    }
}

/// `config` is known and not null; `prior` may be null or unknown.
fn object(content: Content<'_>, prior: &Value, config: &Value) -> Value {
    let View::Object(items) = config.view_ignoring_marks() else { return config.clone() };
    let attrs = config.ty().attrs().unwrap_or_default();
    let new = attrs.iter().zip(items).map(|(attr, config)| match content.part(&attr.name) {
        None => config.clone(),
        Some(Part::Attribute(schema)) => attribute(schema, config, || child(prior, &attr.name)),
        Some(Part::Block(schema)) => nested_block(schema, &child(prior, &attr.name), config),
    });
    object_like(&[config.ty(), prior.ty()], new.collect())
}

fn attribute(schema: &Attribute, config: &Value, prior: impl FnOnce() -> Value) -> Value {
    if schema.computed && config.is_null() {
        let prior = prior();
        return if was_configured(schema, &prior) { config.clone() } else { prior };
    }
    match &schema.ty {
        AttributeType::Nested(nested) => nested_attribute(nested, &prior(), config),
        AttributeType::Plain(_) => config.clone(),
    }
}

/// An existing object has an attribute that only the configuration can have set, so the configuration had it before and
/// no longer has it: the provider did not create it.
fn was_configured(schema: &Attribute, prior: &Value) -> bool {
    match &schema.ty {
        AttributeType::Nested(nested) if schema.optional => has_configured_part(nested, prior),
        _ => false,
    }
}

fn has_configured_part(schema: &NestedAttribute, value: &Value) -> bool {
    objects(value, schema.nesting).into_iter().any(|object| {
        schema.attributes.iter().any(|(name, attribute)| {
            let value = child(object, name);
            if value.is_null() || object.is_null() {
                return false;
            }
            match &attribute.ty {
                _ if !attribute.computed => true,
                AttributeType::Nested(nested) => has_configured_part(nested, &value),
                AttributeType::Plain(_) => false,
            }
        })
    })
}

fn nested_block(schema: &NestedBlock, prior: &Value, config: &Value) -> Value {
    if !config.is_known() {
        return config.clone();
    }
    match schema.nesting {
        Nesting::Single if config.is_null() => config.clone(),
        Nesting::Single | Nesting::Group => block(&schema.block, prior, config),
        nesting => collection(Content::Block(&schema.block), nesting, prior, config),
    }
}

fn nested_attribute(schema: &NestedAttribute, prior: &Value, config: &Value) -> Value {
    match schema.nesting {
        _ if config.is_null() || !config.is_known() => config.clone(),
        Nesting::Single | Nesting::Group => object(Content::Attributes(&schema.attributes), prior, config),
        nesting => collection(Content::Attributes(&schema.attributes), nesting, prior, config),
    }
}

fn element(content: Content<'_>, prior: &Value, config: &Value) -> Value {
    match content {
        Content::Block(schema) if config.is_null() && prior.is_null() => Value::null(schema.implied_type().clone()),
        Content::Block(schema) => block(schema, prior, config),
        Content::Attributes(_) if config.is_null() || !config.is_known() => config.clone(),
        Content::Attributes(_) => object(content, prior, config),
    }
}

fn collection(content: Content<'_>, nesting: Nesting, prior: &Value, config: &Value) -> Value {
    if config.is_null() || objects(config, nesting).is_empty() {
        return config.clone();
    }
    match nesting {
        Nesting::Set => set(content, prior, config),
        Nesting::Map => map(content, prior, config),
        _ => list(content, prior, config),
    }
}

fn list(content: Content<'_>, prior: &Value, config: &Value) -> Value {
    let items = config.as_seq().unwrap_or_default();
    let before = prior.as_seq().unwrap_or_default();
    let new = items.iter().enumerate().map(|(at, config)| match before.get(at) {
        Some(prior) => element(content, prior, config),
        None if !prior.is_known() => element(content, &Value::unknown(config.ty().clone()), config),
        None => config.clone(),
    });
    let new: Vec<Value> = new.collect();
    if config.ty().is_tuple() {
        return Value::tuple(new);
    }
    Value::list_of(new.clone()).unwrap_or_else(|| Value::tuple(new))
}

fn map(content: Content<'_>, prior: &Value, config: &Value) -> Value {
    // Quirk: nothing is unknown in maps of data resources; an unknown `prior` has no elements.
    let new = entries(config).into_iter().map(|(key, config)| match entry(prior, key) {
        Some(prior) => (key.clone(), element(content, prior, config)),
        None => (key.clone(), config.clone()),
    });
    let new: Vec<_> = new.collect();
    if config.ty().is_object() {
        return Value::object(new);
    }
    Value::map_of(new.clone()).unwrap_or_else(|| Value::object(new))
}

/// Elements of sets have no name: each element of the configuration takes the first element as it was that can have
/// been made from it. Only elements that agree in what the configuration alone can set are looked at.
fn set(content: Content<'_>, prior: &Value, config: &Value) -> Value {
    let before = prior.as_seq().unwrap_or_default();
    let configured: Vec<&str> = content
        .attributes()
        .iter()
        .filter(|(_, attribute)| !attribute.computed && matches!(attribute.ty, AttributeType::Plain(_)))
        .map(|(name, _)| name.as_str())
        .collect();
    let group = |object: &Value| fingerprint(&configured.iter().map(|name| child(object, name)).collect::<Vec<_>>());
    // Positions are in descending order, so that the next is at the end.
    let mut groups: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, object) in before.iter().enumerate().rev() {
        groups.entry(group(object)).or_default().push(at);
    }
    let nothing = Value::null(config.ty().element().cloned().unwrap_or_else(yuba_value::Type::dynamic));
    let new = config.as_seq().unwrap_or_default().iter().map(|config| {
        let group = groups.get_mut(&group(config));
        let found = group.and_then(|group| {
            let fits = |at: &usize| before.get(*at).is_some_and(|prior| can_come_from(content, prior, config));
            let index = group.iter().rposition(fits)?;
            before.get(group.remove(index))
        });
        element(content, found.unwrap_or(&nothing), config)
    });
    let new: Vec<Value> = new.collect();
    Value::set_of(new).unwrap_or_else(|| config.clone())
}

/// Whether an object can have been made from a configuration: only computed values were added.
fn can_come_from(content: Content<'_>, prior: &Value, config: &Value) -> bool {
    if same(prior, config) {
        return true;
    }
    let View::Object(_) = prior.view_ignoring_marks() else { return true };
    if config.is_null() {
        return false;
    }
    entries(prior).into_iter().all(|(name, prior)| {
        if config.ty().attr_index(name).is_none() {
            return false;
        }
        let config = child(config, name);
        if same(prior, &config) {
            return true;
        }
        if config.ty().is_set() {
            return false;
        }
        match content.part(name) {
            None => true,
            Some(Part::Attribute(attribute)) => match &attribute.ty {
                AttributeType::Plain(_) => attribute.computed && config.is_null(),
                AttributeType::Nested(nested) => {
                    all_can_come_from(Content::Attributes(&nested.attributes), nested.nesting, prior, &config)
                }
            },
            Some(Part::Block(nested)) => {
                all_can_come_from(Content::Block(&nested.block), nested.nesting, prior, &config)
            }
        }
    })
}

/// Whether each object in a collection can have been made from the one at the same position.
fn all_can_come_from(content: Content<'_>, nesting: Nesting, prior: &Value, config: &Value) -> bool {
    if prior.is_null() || !prior.is_known() {
        return true;
    }
    match nesting {
        Nesting::Single | Nesting::Group => can_come_from(content, prior, config),
        Nesting::Map => entries(prior).into_iter().all(|(key, prior)| match entry(config, key) {
            Some(config) => can_come_from(content, prior, config),
            None => false,
        }),
        _ => {
            let configs = config.as_seq().unwrap_or_default();
            let mut items = prior.as_seq().unwrap_or_default().iter().enumerate();
            items.all(|(at, prior)| configs.get(at).is_some_and(|config| can_come_from(content, prior, config)))
        }
    }
}
