//! What the bodies of functions share: reading arguments the dispatcher has cleared, and building results.
//!
//! The readers answer an error instead of panicking when a value is not what the parameter promised, so that a
//! mistake in a signature stays a message.

use ecow::{EcoString, eco_format};

use crate::function::{FunctionError, Result};
use crate::{Number, Type, Value};

/// The longest text a function builds. Longer ones come from a mistake and would only exhaust the memory.
pub(crate) const MAX_TEXT: usize = 256 << 20;

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

/// A number argument as a machine integer; the message says why it is none.
pub(crate) fn whole_number(value: &Value) -> std::result::Result<i64, EcoString> {
    value
        .as_number()
        .and_then(Number::to_i64)
        .ok_or_else(|| eco_format!("a whole number from {} to {} is required", i64::MIN, i64::MAX))
}

/// A list of these elements. Where `element` leaves the type open, the elements decide.
pub(crate) fn list_of(element: &Type, items: Vec<Value>) -> Value {
    Value::list(common_type(element, items.iter()), items)
}

/// A set of these elements. Where `element` leaves the type open, the elements decide.
pub(crate) fn set_of(element: &Type, items: Vec<Value>) -> Value {
    Value::set(common_type(element, items.iter()), items)
}

/// A map of these elements. Where `element` leaves the type open, the elements decide.
pub(crate) fn map_of(element: &Type, items: Vec<(EcoString, Value)>) -> Value {
    Value::map(common_type(element, items.iter().map(|(_, v)| v)), items)
}

fn common_type<'a>(element: &Type, items: impl Iterator<Item = &'a Value>) -> Type {
    if !element.has_dynamic() {
        return element.clone();
    }
    let mut items = items.map(Value::ty).peekable();
    let Some(first) = items.peek().copied() else { return element.clone() };
    items.find(|ty| !ty.is_dynamic()).unwrap_or(first).clone()
}
