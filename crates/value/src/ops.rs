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

/// Reason why an operation failed. `operand` counts from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpError {
    /// An operand is null.
    Null {
        /// The operand.
        operand: usize,
    },
    /// An operand has a type that the operation does not work on.
    WrongType {
        /// The operand.
        operand: usize,
        /// Types that the operation supports, in words.
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

/// The result of an operation that can fail.
pub type OpResult<T = Value> = std::result::Result<T, OpError>;

/// Nodes without marks, and the marks of all of them together.
fn unmark2(a: &Value, b: &Value) -> Marks {
    a.marks().union(b.marks())
}

/// Checks that the operands are of a type (or of unknown type) and not null. Returns whether all are known.
fn check(operands: &[&Value], ty: &Type, wanted: &'static str) -> OpResult<bool> {
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

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::{Bound, Number};

    fn between(min: i64, max: i64) -> Value {
        let bound = |n| Bound::inclusive(Number::from_i64(n));
        Value::unknown(Type::number()).refine().not_null().number_min(bound(min)).number_max(bound(max)).done()
    }

    #[test]
    fn unknown_numbers_know_their_bounds() {
        let unknown = Value::unknown(Type::number());
        let text: String = [
            add(&between(1, 2), &Value::int(10)),
            sub(&between(1, 2), &between(5, 7)),
            mul(&between(-1, 2), &Value::int(3)),
            mul(&unknown, &Value::int(0)),
            div(&between(1, 2), &Value::int(2)),
            add(&unknown, &Value::unknown_dynamic()),
            less_than(&between(1, 2), &Value::int(3)),
            less_than(&between(1, 2), &Value::int(2)),
            less_than_or_equal(&between(1, 2), &Value::int(0)),
            Ok(equals(&between(1, 2), &Value::int(3))),
            Ok(equals(&unknown.refine_not_null(), &Value::null(Type::number()))),
            and(&Value::unknown(Type::bool()), &Value::bool(false)),
            or(&Value::unknown_dynamic(), &Value::bool(false)),
        ]
        .into_iter()
        .map(|result| format!("{result:?}\n"))
        .collect();
        expect![[r#"
            Ok(unknown(number)! >= 11 <= 12)
            Ok(unknown(number)! >= -6 <= -3)
            Ok(unknown(number)! >= -3 <= 6)
            Ok(unknown(number)!)
            Ok(unknown(number)!)
            Ok(unknown(number)!)
            Ok(true)
            Ok(unknown(bool)!)
            Ok(false)
            Ok(false)
            Ok(false)
            Ok(false)
            Ok(unknown(bool)!)
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn what_has_no_answer_is_an_error() {
        let list = Value::list(Type::string(), vec!["a".into()]);
        let infinite = Value::number(Number::infinity());
        let text: String = [
            add(&Value::null_dynamic(), &Value::int(1)),
            not(&Value::int(1)),
            sub(&infinite, &infinite),
            div(&Value::int(0), &Value::int(0)),
            div(&Value::int(1), &Value::int(0)),
            index(&list, &Value::int(1)),
            index(&list, &Value::int(-1)),
            index(&list, &"a".into()),
            index(&Value::null(list.ty().clone()), &Value::int(0)),
            get_attr(&Value::empty_object(), "a"),
            length(&Value::int(1)),
        ]
        .into_iter()
        .map(|result| format!("{}\n", result.map_or_else(|e| e.to_string(), |v| format!("{v:?}"))))
        .collect();
        expect![[r#"
            argument must not be null
            bool required
            infinity cannot be subtracted from itself
            zero cannot be divided by zero, nor infinity by infinity
            +Inf
            the given key does not identify an element
            the given key must be a whole number that is not negative
            number required
            argument must not be null
            there is no attribute named "a"
            collection required
        "#]]
        .assert_eq(&text);
    }
}
