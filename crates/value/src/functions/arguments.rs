//! Shared parts of the bodies of functions: reading arguments that the dispatcher has cleared, and building results.
//!
//! The readers return an error instead of panicking when a value does not match the parameter, so that an error in a
//! signature stays a message.

use ecow::{EcoString, eco_format};

use crate::function::{FunctionError, Reason, Result};
use crate::{Number, Type, Value};

/// The longest string a function builds. Longer ones come from an error and would only exhaust the memory.
pub(crate) const MAX_TEXT: usize = 128 << 20;

/// The error of a result beyond [`MAX_TEXT`].
pub(crate) fn too_long() -> FunctionError {
    FunctionError::new(Reason::open(eco_format!("the result would be longer than {} MiB", MAX_TEXT >> 20)))
}

/// The text of a string argument.
pub(crate) fn text(args: &[Value], index: usize) -> Result<&EcoString> {
    args.get(index).and_then(Value::as_str).ok_or_else(|| FunctionError::arg(index, "a string is required"))
}

/// The content of a number argument.
pub(crate) fn number(args: &[Value], index: usize) -> Result<&Number> {
    args.get(index).and_then(Value::as_number).ok_or_else(|| FunctionError::arg(index, "a number is required"))
}

/// The elements of a list, set or tuple argument, its own marks put aside.
pub(crate) fn elements(args: &[Value], index: usize) -> Result<&[Value]> {
    args.get(index).and_then(Value::as_seq).ok_or_else(|| FunctionError::arg(index, "a list, set or tuple is required"))
}

/// A number argument as a machine integer; fails with the reason.
pub(crate) fn whole_number(value: &Value) -> std::result::Result<i64, &'static str> {
    value
        .as_number()
        .and_then(Number::to_i64)
        .ok_or("a whole number from -9223372036854775808 to 9223372036854775807 is required")
}

/// A list of these elements. Where `element` leaves the type open, the elements decide.
pub(crate) fn list_of(element: &Type, items: Vec<Value>) -> Result {
    Ok(Value::list(common_type(element, items.iter())?, items))
}

/// A set of these elements. Where `element` leaves the type open, the elements decide.
pub(crate) fn set_of(element: &Type, items: Vec<Value>) -> Result {
    Ok(Value::set(common_type(element, items.iter())?, items))
}

/// A map of these elements. Where `element` leaves the type open, the elements decide.
pub(crate) fn map_of(element: &Type, items: Vec<(EcoString, Value)>) -> Result {
    Ok(Value::map(common_type(element, items.iter().map(|(_, v)| v))?, items))
}

fn common_type<'a>(element: &Type, items: impl Iterator<Item = &'a Value>) -> Result<Type> {
    if !element.has_dynamic() {
        return Ok(element.clone());
    }
    let mut common: Option<&Type> = None;
    for ty in items.map(Value::ty) {
        match common {
            Some(have) if have == ty || ty.is_dynamic() => {}
            Some(have) if !have.is_dynamic() => {
                return Err(FunctionError::new(Reason::open(eco_format!(
                    "elements of types {have} and {ty} are not compatible"
                ))));
            }
            _ => common = Some(ty),
        }
    }
    Ok(common.unwrap_or(element).clone())
}
