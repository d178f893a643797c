//! Operations on values: arithmetic, comparison, logic, indexing. They carry null, unknown and marks along.

mod arithmetic;
mod equality;
mod index;
mod logic;

use std::fmt;

use ecow::EcoString;

use crate::{Marks, Type, Value};

pub use arithmetic::{absolute, add, div, mul, neg, rem, sub};
pub use equality::{equals, not_equals};
pub use index::{get_attr, has_element, has_index, index, length};
pub use logic::{and, greater_than, greater_than_or_equal, less_than, less_than_or_equal, not, or};

/// Why an operation has no answer. `operand` counts from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpError {
    /// An operand is null.
    Null {
        /// Which operand.
        operand: usize,
    },
    /// An operand has a type that the operation does not work on.
    WrongType {
        /// Which operand.
        operand: usize,
        /// What the operation works on, in words.
        wanted: &'static str,
    },
    /// The result would not be a number: infinity minus infinity and the like.
    NotANumber(&'static str),
    /// An object has no attribute of this name.
    NoSuchAttribute(EcoString),
    /// A collection has no element for the key.
    NoSuchElement,
    /// A key that no element can have: a negative or fractional position.
    InvalidKey,
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpError::Null { .. } => f.write_str("argument must not be null"),
            OpError::WrongType { wanted, .. } => write!(f, "{wanted} required"),
            OpError::NotANumber(message) => f.write_str(message),
            OpError::NoSuchAttribute(name) => write!(f, "there is no attribute named {name:?}"),
            OpError::NoSuchElement => f.write_str("the given key does not identify an element"),
            OpError::InvalidKey => f.write_str("the given key must be a whole number that is not negative"),
        }
    }
}
impl std::error::Error for OpError {}

/// The answer of an operation that can fail.
pub type Result<T = Value> = std::result::Result<T, OpError>;

/// Nodes without marks, and the marks of all of them together.
fn unmark2(a: &Value, b: &Value) -> Marks {
    a.marks().union(b.marks())
}

/// Checks that the operands are of a type (or of unknown type) and not null. The answer: whether all are known.
fn check(operands: &[&Value], ty: &Type, wanted: &'static str) -> Result<bool> {
    let mut known = true;
    for (operand, value) in operands.iter().enumerate() {
        if value.is_null() {
            return Err(OpError::Null { operand });
        }
        if value.ty() != ty && !value.ty().is_dynamic() {
            return Err(OpError::WrongType { operand, wanted });
        }
        known &= value.is_known();
    }
    Ok(known)
}

/// A truth value that is not known yet but will not be null.
fn unknown_bool() -> Value {
    Value::unknown(Type::bool()).refine_not_null()
}
