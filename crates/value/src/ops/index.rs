//! Elements and attributes: finding them, asking for them, counting them.

use crate::unknown::Bound;
use crate::value::normalize;
use crate::{Number, Type, TypeKind, Value, View, set};

use super::{OpError, OpResult, unknown_bool, unmark2};

/// `coll[key]` of a list, tuple or map. The key must have the right type already: a number or a string.
pub fn index(coll: &Value, key: &Value) -> OpResult {
    Ok(element(coll, key)?.with_marks(&unmark2(coll, key)))
}

fn element(coll: &Value, key: &Value) -> OpResult {
    if coll.is_null() {
        return Err(OpError::Null { operand: 0 });
    }
    if key.is_null() {
        return Err(OpError::Null { operand: 1 });
    }
    let (element, wanted, wanted_words) = match coll.ty().kind() {
        TypeKind::Dynamic => return Ok(Value::unknown_dynamic()),
        TypeKind::List(element) => (element.clone(), Type::number(), "number"),
        TypeKind::Map(element) => (element.clone(), Type::string(), "string"),
        TypeKind::Tuple(_) => (Type::dynamic(), Type::number(), "number"),
        _ => return Err(OpError::WrongType { operand: 0, wanted: "list, map or tuple" }),
    };
    if key.ty() != &wanted && !key.ty().is_dynamic() {
        return Err(OpError::WrongType { operand: 1, wanted: wanted_words });
    }
    if !key.is_known() {
        return Ok(Value::unknown(element));
    }
    match coll.view_ignoring_marks() {
        View::List(items) | View::Tuple(items) => items.get(position(key)?).cloned().ok_or(OpError::NoSuchElement),
        View::Map(items) => lookup(items, key).cloned().ok_or(OpError::NoSuchElement),
        _ => match coll.ty().tuple_elements() {
            Some(types) => types.get(position(key)?).cloned().map(Value::unknown).ok_or(OpError::NoSuchElement),
            None if key.as_number().is_some() => position(key).map(|_| Value::unknown(element)),
            None => Ok(Value::unknown(element)),
        },
    }
}

/// The position a known number stands for; too large ones are just beyond the end.
fn position(key: &Value) -> OpResult<usize> {
    let number = key.as_number().ok_or(OpError::InvalidKey)?;
    let position = number.to_i64().ok_or(OpError::InvalidKey)?;
    usize::try_from(position).map_err(|_| OpError::InvalidKey)
}

fn lookup<'a>(items: &'a [(ecow::EcoString, Value)], key: &Value) -> Option<&'a Value> {
    let key = key.as_str()?;
    let at = items.binary_search_by(|(k, _)| k.as_str().cmp(key.as_str())).ok()?;
    items.get(at).map(|(_, v)| v)
}

/// Whether a list, tuple or map has an element for the key; `false` for keys of a wrong type, for null and for values
/// without elements.
pub fn has_index(coll: &Value, key: &Value) -> Value {
    let has = match coll.ty().kind() {
        TypeKind::Dynamic if !coll.is_known() => None,
        TypeKind::List(_) | TypeKind::Tuple(_) => has_key(coll, key, &Type::number()),
        TypeKind::Map(_) => has_key(coll, key, &Type::string()),
        _ => Some(false),
    };
    has.map_or_else(unknown_bool, Value::bool).with_marks(&unmark2(coll, key))
}

fn has_key(coll: &Value, key: &Value, wanted: &Type) -> Option<bool> {
    if key.is_null() || coll.is_null() {
        return Some(false);
    }
    if key.ty().is_dynamic() {
        return None;
    }
    if key.ty() != wanted {
        return Some(false);
    }
    if !key.is_known() {
        return None;
    }
    if let Some(types) = coll.ty().tuple_elements() {
        return Some(position(key).is_ok_and(|at| at < types.len()));
    }
    match coll.view_ignoring_marks() {
        View::List(items) => Some(position(key).is_ok_and(|at| at < items.len())),
        View::Map(items) => Some(lookup(items, key).is_some()),
        _ => None,
    }
}

/// `obj.name` of an object.
pub fn get_attr(obj: &Value, name: &str) -> OpResult {
    if obj.is_null() {
        return Err(OpError::Null { operand: 0 });
    }
    if obj.ty().is_dynamic() {
        return Ok(Value::unknown_dynamic().with_marks(obj.marks()));
    }
    let Some(attrs) = obj.ty().attrs() else {
        return Err(OpError::WrongType { operand: 0, wanted: "object" });
    };
    let at = obj.ty().attr_index(name).or_else(|| obj.ty().attr_index(&normalize(name.into())));
    let at = at.ok_or_else(|| OpError::NoSuchAttribute(name.into()))?;
    let value = match obj.view_ignoring_marks() {
        View::Object(items) => items.get(at).cloned(),
        _ => attrs.get(at).map(|a| Value::unknown(a.ty.clone())),
    };
    Ok(value.ok_or_else(|| OpError::NoSuchAttribute(name.into()))?.with_marks(obj.marks()))
}

/// The number of elements of a list, set, map or tuple, or of attributes of an object. The number of elements of a
/// set is known only when it cannot shrink by unknown elements turning out to be the same.
pub fn length(coll: &Value) -> OpResult {
    let count = |n: usize| Value::int(i64::try_from(n).unwrap_or(i64::MAX));
    if coll.is_null() {
        return Err(OpError::Null { operand: 0 });
    }
    let at_least =
        |value: Number| Value::unknown(Type::number()).refine().not_null().number_min(Bound::inclusive(value));
    let result = match coll.view_ignoring_marks() {
        _ if coll.ty().is_tuple() => count(coll.ty().tuple_elements().unwrap_or_default().len()),
        _ if coll.ty().is_object() => count(coll.ty().attrs().unwrap_or_default().len()),
        View::List(items) => count(items.len()),
        View::Map(items) => count(items.len()),
        View::Set(items) if items.len() <= 1 || coll.is_wholly_known() => count(items.len()),
        View::Set(items) => {
            let most = i64::try_from(items.len()).unwrap_or(i64::MAX);
            at_least(Number::from_i64(1)).number_max(Bound::inclusive(Number::from_i64(most))).done()
        }
        View::Unknown(unknown) if unknown.ty.is_collection() || unknown.ty.is_dynamic() => {
            // Quirk: with no upper bound the length is still said to be at most the largest machine integer.
            let bound = |n: u64| Number::from_i64(i64::try_from(n).unwrap_or(i64::MAX));
            let most = unknown.refinement.max_len.unwrap_or(u64::MAX);
            at_least(bound(unknown.refinement.min_len)).number_max(Bound::inclusive(bound(most))).done()
        }
        _ => return Err(OpError::WrongType { operand: 0, wanted: "collection" }),
    };
    Ok(result.with_marks(coll.marks()))
}

/// Whether a set has an element.
pub fn has_element(coll: &Value, element: &Value) -> OpResult {
    if coll.is_null() {
        return Err(OpError::Null { operand: 0 });
    }
    let (element_plain, element_marks) = element.unmark_deep();
    let marks = coll.marks().union(&element_marks);
    let has = match (coll.view_ignoring_marks(), coll.ty().element()) {
        (View::Unknown(_), _) => None,
        (View::Set(_), Some(ty)) if ty != element.ty() && !ty.is_dynamic() && !element.ty().is_dynamic() => Some(false),
        (View::Set(items), _) if set::contains(items, &element_plain) => Some(true),
        (View::Set(_), _) if coll.is_wholly_known() && element.is_wholly_known() => Some(false),
        (View::Set(_), _) => None,
        _ => return Err(OpError::WrongType { operand: 0, wanted: "set" }),
    };
    Ok(has.map_or_else(unknown_bool, Value::bool).with_marks(&marks))
}

impl Value {
    /// Whether the value is of a type that has elements or attributes.
    pub fn can_iterate(&self) -> bool {
        !self.ty().is_primitive() && !self.ty().is_dynamic()
    }
}
