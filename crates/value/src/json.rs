//! JSON codec for values and types.
