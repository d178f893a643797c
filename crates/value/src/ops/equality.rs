//! Equality: the operator (three-valued) and the raw comparison (two-valued, of representations).

use crate::convert::conformance_error;
use crate::{Value, View, set};

use super::{not, unknown_bool};

/// `a == b`: deep; unknown where it depends on an unknown value. Marks anywhere inside move to the result, except that
/// the inside does not matter when one side is null.
pub fn equals(a: &Value, b: &Value) -> Value {
    if a.is_deeply_unmarked() && b.is_deeply_unmarked() {
        return answer(compare(a, b));
    }
    let marks =
        if a.is_null() != b.is_null() { a.marks().union(b.marks()) } else { a.marks_deep().union(&b.marks_deep()) };
    answer(compare(a, b)).with_marks(&marks)
}

/// `a != b`
pub fn not_equals(a: &Value, b: &Value) -> Value {
    let equal = equals(a, b);
    not(&equal).unwrap_or(equal)
}

fn answer(result: Option<bool>) -> Value {
    result.map_or_else(unknown_bool, Value::bool)
}

/// Equality of the content, marks forgotten; `None` if not known yet.
fn compare(a: &Value, b: &Value) -> Option<bool> {
    if !a.is_known() || !b.is_known() {
        return compare_unknown(a, b);
    }
    match (a.view_ignoring_marks(), b.view_ignoring_marks()) {
        (View::Null, View::Null) => return Some(true),
        (View::Null, _) | (_, View::Null) => return Some(false),
        _ => {}
    }
    if !has_wholly_known_type(a) || !has_wholly_known_type(b) {
        let different = conformance_error(a.ty(), b.ty()).is_some() && conformance_error(b.ty(), a.ty()).is_some();
        return if different { Some(false) } else { None };
    }
    if a.ty() != b.ty() {
        return Some(false);
    }
    match (a.view_ignoring_marks(), b.view_ignoring_marks()) {
        (View::Bool(a), View::Bool(b)) => Some(a == b),
        (View::Number(a), View::Number(b)) => Some(a == b),
        (View::String(a), View::String(b)) => Some(a == b),
        (View::List(a), View::List(b)) | (View::Tuple(a), View::Tuple(b)) => compare_sequences(a, b),
        (View::Set(a), View::Set(b)) => compare_sets(a, b),
        (View::Object(a), View::Object(b)) => all(a.iter().zip(b).map(|(a, b)| compare(a, b))),
        (View::Map(a), View::Map(b)) => {
            if a.len() != b.len() || a.iter().zip(b).any(|((a, _), (b, _))| a != b) {
                return Some(false);
            }
            all(a.iter().zip(b).map(|((_, a), (_, b))| compare(a, b)))
        }
        _ => Some(false),
    }
}

/// At least one side is unknown: what is known about it can still rule equality out.
fn compare_unknown(a: &Value, b: &Value) -> Option<bool> {
    let (known, unknown) = match (a.is_known(), b.is_known()) {
        (false, false) => return None,
        (true, _) => (a, b),
        (_, true) => (b, a),
    };
    let range = unknown.range();
    if !range.may_include(known) {
        return Some(false);
    }
    let other_type = !known.is_null() && !unknown.ty().has_dynamic() && known.ty() != unknown.ty();
    if other_type { Some(false) } else { None }
}

/// Element by element; the first that is different or unknown decides.
fn compare_sequences(a: &[Value], b: &[Value]) -> Option<bool> {
    if a.len() != b.len() {
        return Some(false);
    }
    for (a, b) in a.iter().zip(b) {
        match compare(a, b) {
            Some(true) => {}
            decided => return decided,
        }
    }
    Some(true)
}

fn compare_sets(a: &[Value], b: &[Value]) -> Option<bool> {
    if a.iter().chain(b).any(|v| !v.is_known()) {
        return None;
    }
    Some(a.len() == b.len() && a.iter().all(|v| set::contains(b, v)) && b.iter().all(|v| set::contains(a, v)))
}

/// All of them in no particular order: one that is different decides, then one that is unknown.
fn all(results: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut equal = Some(true);
    for result in results {
        match result {
            Some(true) => {}
            Some(false) => return Some(false),
            None => equal = None,
        }
    }
    equal
}

/// Whether no unknown value of unknown type is inside.
fn has_wholly_known_type(value: &Value) -> bool {
    if value.is_wholly_known() || !value.ty().has_dynamic() {
        return true;
    }
    if !value.is_known() {
        return false;
    }
    let mut known = true;
    value.ignoring_marks().for_each_child(|child| known &= has_wholly_known_type(child));
    known
}

impl Value {
    /// Whether both are the same in every respect: type, content, what is unknown and what is known about that, marks
    /// on every node. Null is the same as null, unknown the same as unknown.
    pub fn raw_equals(&self, other: &Value) -> bool {
        if self.ty() != other.ty() || self.marks() != other.marks() {
            return false;
        }
        let pairwise = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.raw_equals(b));
        match (self.view_ignoring_marks(), other.view_ignoring_marks()) {
            (View::Null, View::Null) => true,
            (View::Unknown(a), View::Unknown(b)) => a.refinement == b.refinement,
            (View::Bool(a), View::Bool(b)) => a == b,
            (View::Number(a), View::Number(b)) => a == b,
            (View::String(a), View::String(b)) => a == b,
            (View::List(a), View::List(b))
            | (View::Set(a), View::Set(b))
            | (View::Tuple(a), View::Tuple(b))
            | (View::Object(a), View::Object(b)) => std::ptr::eq(a, b) || pairwise(a, b),
            (View::Map(a), View::Map(b)) => {
                std::ptr::eq(a, b)
                    || (a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && a.raw_equals(b)))
            }
            _ => false,
        }
    }
}
