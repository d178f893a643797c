//! Looking into objects of a schema and building them again.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ecow::EcoString;
use yuba_value::{Type, Value, View};

use crate::schema::{Attribute, BlockSchema, NestedBlock, Nesting};

/// Schema of an object: the content of a block, or attributes of a nested attribute.
#[derive(Clone, Copy)]
pub(super) enum Content<'s> {
    Block(&'s BlockSchema),
    Attributes(&'s BTreeMap<EcoString, Attribute>),
}

/// Schema of one of the values in an object.
pub(super) enum Part<'s> {
    Attribute(&'s Attribute),
    Block(&'s NestedBlock),
}

impl<'s> Content<'s> {
    pub(super) fn part(self, name: &str) -> Option<Part<'s>> {
        match self {
            Content::Attributes(attributes) => attributes.get(name).map(Part::Attribute),
            Content::Block(schema) => match schema.attributes().get(name) {
                Some(attribute) => Some(Part::Attribute(attribute)),
                None => schema.blocks().get(name).map(Part::Block),
            },
        }
    }
    pub(super) fn attributes(self) -> &'s BTreeMap<EcoString, Attribute> {
        match self {
            Content::Attributes(attributes) => attributes,
            Content::Block(schema) => schema.attributes(),
        }
    }
}

/// A value in an object: null in one that is null, unknown in one that is unknown.
pub(crate) fn child(object: &Value, name: &str) -> Value {
    let at = object.ty().attr_index(name);
    let ty = || match at.and_then(|at| object.ty().attrs()?.get(at)) {
        Some(attr) => attr.ty.clone(),
        None => Type::dynamic(),
    };
    match object.view_ignoring_marks() {
        View::Object(items) => at.and_then(|at| items.get(at)).cloned().unwrap_or_else(|| Value::null(ty())),
        View::Unknown(_) => Value::unknown(ty()),
        _ => Value::null(ty()),
    }
}

/// The element with a key of a map or of an object that stands for one.
pub(super) fn entry<'v>(collection: &'v Value, key: &str) -> Option<&'v Value> {
    match collection.view_ignoring_marks() {
        View::Map(items) => {
            let at = items.binary_search_by(|(name, _)| name.as_str().cmp(key)).ok()?;
            items.get(at).map(|(_, item)| item)
        }
        View::Object(items) => items.get(collection.ty().attr_index(key)?),
        _ => None,
    }
}

/// Keys and elements of a map or of an object that stands for one.
pub(super) fn entries(collection: &Value) -> Vec<(&EcoString, &Value)> {
    match collection.view_ignoring_marks() {
        View::Map(items) => items.iter().map(|(key, item)| (key, item)).collect(),
        View::Object(items) => {
            let attrs = collection.ty().attrs().unwrap_or_default();
            attrs.iter().map(|attr| &attr.name).zip(items).collect()
        }
        _ => Vec::new(),
    }
}

/// The objects in a collection, or the object itself where the nesting is of one object.
pub(super) fn objects(value: &Value, nesting: Nesting) -> Vec<&Value> {
    match value.view_ignoring_marks() {
        View::Null | View::Unknown(_) => Vec::new(),
        _ if matches!(nesting, Nesting::Single | Nesting::Group) => vec![value],
        View::List(items) | View::Set(items) | View::Tuple(items) | View::Object(items) => items.iter().collect(),
        View::Map(items) => items.iter().map(|(_, item)| item).collect(),
        _ => Vec::new(),
    }
}

/// An object with the attribute names of a type. One of these types is taken if it fits, because finding a type again
/// costs more than comparing.
pub(crate) fn object_like(types: &[&Type], items: Vec<Value>) -> Value {
    let fits = |ty: &Type| {
        let attrs = ty.attrs().unwrap_or_default();
        attrs.len() == items.len() && attrs.iter().zip(&items).all(|(attr, item)| attr.ty == *item.ty())
    };
    if let Some(ty) = types.iter().find(|ty| fits(ty)) {
        return Value::structure((*ty).clone(), items);
    }
    let names = types.first().and_then(|ty| ty.attrs()).unwrap_or_default();
    Value::object(names.iter().map(|attr| attr.name.clone()).zip(items).collect())
}

/// Whether two values are the same, where unknown is the same as unknown whatever is known about it. Marks count.
pub fn same(a: &Value, b: &Value) -> bool {
    if a.is_wholly_known() != b.is_wholly_known() || a.ty() != b.ty() {
        return false;
    }
    if a.is_wholly_known() {
        return a.raw_equals(b);
    }
    let all = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    a.marks() == b.marks()
        && match (a.view_ignoring_marks(), b.view_ignoring_marks()) {
            (View::Unknown(_), View::Unknown(_)) => true,
            (View::List(a), View::List(b))
            | (View::Set(a), View::Set(b))
            | (View::Tuple(a), View::Tuple(b))
            | (View::Object(a), View::Object(b)) => all(a, b),
            (View::Map(a), View::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && same(a, b))
            }
            _ => false,
        }
}

/// A number that is the same for values that are the [`same`].
pub(super) fn fingerprint<'v>(values: impl IntoIterator<Item = &'v Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    values.into_iter().for_each(|value| hash(value, &mut hasher));
    hasher.finish()
}

fn hash(value: &Value, hasher: &mut DefaultHasher) {
    let mut all = |kind: u8, items: &[Value]| {
        (kind, items.len()).hash(hasher);
        items.iter().for_each(|item| hash(item, hasher));
    };
    match value.view_ignoring_marks() {
        View::Null => 0u8.hash(hasher),
        View::Unknown(_) => 1u8.hash(hasher),
        View::Bool(value) => (2u8, value).hash(hasher),
        View::Number(number) => (3u8, number).hash(hasher),
        View::String(text) => (4u8, text).hash(hasher),
        View::List(items) => all(5, items),
        View::Set(items) => all(6, items),
        View::Tuple(items) => all(7, items),
        View::Object(items) => all(8, items),
        View::Map(items) => {
            (9u8, items.len()).hash(hasher);
            for (key, item) in items {
                key.hash(hasher);
                hash(item, hasher);
            }
        }
    }
}
