//! Comparison of numbers, and logic.

use std::cmp::Ordering;

use crate::unknown::Range;
use crate::{Type, Value};

use super::{OpResult, check, equals, unknown_bool, unmark2};

/// `a < b`
pub fn less_than(a: &Value, b: &Value) -> OpResult {
    order(a, b, Ordering::Less)
}

/// `a > b`
pub fn greater_than(a: &Value, b: &Value) -> OpResult {
    order(a, b, Ordering::Greater)
}

/// `a <= b`
pub fn less_than_or_equal(a: &Value, b: &Value) -> OpResult {
    or(&less_than(a, b)?, &equals(a, b))
}

/// `a >= b`
pub fn greater_than_or_equal(a: &Value, b: &Value) -> OpResult {
    or(&greater_than(a, b)?, &equals(a, b))
}

fn order(a: &Value, b: &Value, wanted: Ordering) -> OpResult {
    check(&[a, b], &Type::number(), "number")?;
    let result = match (a.as_number(), b.as_number()) {
        (Some(x), Some(y)) => Value::bool(x.cmp(y) == wanted),
        _ if a.ty().is_dynamic() || b.ty().is_dynamic() => unknown_bool(),
        _ => match order_of_ranges(&a.range(), &b.range()) {
            Some(found) => Value::bool(found == wanted),
            None => unknown_bool(),
        },
    };
    Ok(result.with_marks(&unmark2(a, b)))
}

/// The order of two numbers that are not both known, where their ranges do not touch.
fn order_of_ranges(a: &Range, b: &Range) -> Option<Ordering> {
    let below = |low: &Range, high: &Range| match (&low.known.max, &high.known.min) {
        (Some(max), Some(min)) => max.value < min.value,
        _ => false,
    };
    if below(a, b) {
        Some(Ordering::Less)
    } else if below(b, a) {
        Some(Ordering::Greater)
    } else {
        None
    }
}

/// `!a`
pub fn not(a: &Value) -> OpResult {
    check(&[a], &Type::bool(), "bool")?;
    Ok(a.as_bool().map_or_else(unknown_bool, |a| Value::bool(!a)).with_marks(a.marks()))
}

/// `a && b`; a known `false` decides.
pub fn and(a: &Value, b: &Value) -> OpResult {
    decide(a, b, false)
}

/// `a || b`; a known `true` decides.
pub fn or(a: &Value, b: &Value) -> OpResult {
    decide(a, b, true)
}

fn decide(a: &Value, b: &Value, decisive: bool) -> OpResult {
    let known = check(&[a, b], &Type::bool(), "bool")?;
    let result = if a.as_bool() == Some(decisive) || b.as_bool() == Some(decisive) {
        Value::bool(decisive)
    } else if known {
        Value::bool(!decisive)
    } else {
        unknown_bool()
    };
    Ok(result.with_marks(&unmark2(a, b)))
}
