//! Numbers as the language knows them: binary floating point whose precision travels with the value.
//!
//! Contract (the implementation replaces this placeholder of machine floats).

use std::cmp::Ordering;
use std::fmt;

/// A number.
#[derive(Clone, Debug)]
pub struct Number(f64);

impl Number {
    /// A whole number with 64 bits of precision.
    pub fn from_i64(value: i64) -> Number {
        Number(value as f64)
    }
    /// A machine float, 53 bits of precision. Not-a-number has no counterpart.
    pub fn from_f64(value: f64) -> Option<Number> {
        (!value.is_nan()).then_some(Number(value))
    }
    /// Decimal text as Go's `big.ParseFloat(text, 10, 512, ToNearestEven)` reads it.
    pub fn parse(text: &str) -> Option<Number> {
        text.parse().ok().map(Number)
    }
    /// The value, where it is a whole number that fits.
    pub fn to_i64(&self) -> Option<i64> {
        (self.0 as i64 as f64 == self.0).then_some(self.0 as i64)
    }
    /// The nearest machine float.
    pub fn to_f64(&self) -> f64 {
        self.0
    }
}
impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.0 == other.0
    }
}
impl Eq for Number {}
impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
