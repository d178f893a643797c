//! Arithmetic. A result that is not known yet still knows its bounds where the operands know theirs.

use crate::unknown::{Bound, Range};
use crate::{Number, Type, Value};

use super::{OpError, OpResult, check, unmark2};

/// `a + b`
pub fn add(a: &Value, b: &Value) -> OpResult {
    binary(a, b, Number::add, "infinity cannot be added to its opposite")
}

/// `a - b`
pub fn sub(a: &Value, b: &Value) -> OpResult {
    binary(a, b, Number::sub, "infinity cannot be subtracted from itself")
}

/// `a * b`
pub fn mul(a: &Value, b: &Value) -> OpResult {
    binary(a, b, Number::mul, "zero cannot be multiplied by infinity")
}

/// `a / b`; a number divided by zero is infinite.
pub fn div(a: &Value, b: &Value) -> OpResult {
    unbounded(a, b, Number::div, "zero cannot be divided by zero, nor infinity by infinity")
}

/// `a % b`, with the sign of `a`.
pub fn rem(a: &Value, b: &Value) -> OpResult {
    unbounded(a, b, Number::rem, "there is no remainder with infinity")
}

/// `-a`
pub fn neg(a: &Value) -> OpResult {
    check(&[a], &Type::number(), "number")?;
    let result = match a.as_number() {
        Some(number) => Value::number(number.neg()),
        None => unknown_number(),
    };
    Ok(result.with_marks(a.marks()))
}

/// `|a|`
pub fn absolute(a: &Value) -> OpResult {
    check(&[a], &Type::number(), "number")?;
    let result = match a.as_number() {
        Some(number) => Value::number(number.abs()),
        None => unknown_number().refine().number_min(Bound::inclusive(Number::from_i64(0))).done(),
    };
    Ok(result.with_marks(a.marks()))
}

type Operation = fn(&Number, &Number) -> Option<Number>;

fn unknown_number() -> Value {
    Value::unknown(Type::number()).refine_not_null()
}

fn unbounded(a: &Value, b: &Value, operation: Operation, not_a_number: &'static str) -> OpResult {
    check(&[a, b], &Type::number(), "number")?;
    let result = match (a.as_number(), b.as_number()) {
        (Some(x), Some(y)) => Value::number(operation(x, y).ok_or(OpError::NotANumber(not_a_number))?),
        _ => unknown_number(),
    };
    Ok(result.with_marks(&unmark2(a, b)))
}

fn binary(a: &Value, b: &Value, operation: Operation, not_a_number: &'static str) -> OpResult {
    let known = check(&[a, b], &Type::number(), "number")?;
    let result = unbounded(a, b, operation, not_a_number)?;
    if known || a.ty().is_dynamic() || b.ty().is_dynamic() {
        return Ok(result);
    }
    let Some((min, max)) = corners(&a.range(), &b.range(), operation) else { return Ok(result) };
    Ok(result.refine().number_min(Bound::inclusive(min)).number_max(Bound::inclusive(max)).done())
}

/// The least and the greatest result of an operation that is monotonic in each operand, from the ends of the ranges.
fn corners(a: &Range, b: &Range, operation: Operation) -> Option<(Number, Number)> {
    let min = |range: &Range| range.known.min.as_ref().map_or_else(Number::minus_infinity, |b| b.value.clone());
    let max = |range: &Range| range.known.max.as_ref().map_or_else(Number::infinity, |b| b.value.clone());
    let (a, b) = ([min(a), max(a)], [min(b), max(b)]);
    let results = a.iter().flat_map(|x| b.iter().map(move |y| operation(x, y))).collect::<Option<Vec<_>>>()?;
    Some((results.iter().min()?.clone(), results.iter().max()?.clone()))
}
