//! Types and values of the language, and everything that is a pure function of them.
//!
//! A [`Value`] is a [`Plain`] node with [`Marks`] on it; the children of a node are values again. [`Type`]s are
//! hash-consed: equality is a pointer compare. *Operations* (`ops`, `convert`, functions called through
//! [`function::call`]) stay inside and carry null, unknown and marks along; *exits* ([`Value::ignoring_marks`],
//! [`Value::unmark`], the codecs) leave the world of marks and say so by name.
//!
//! Invariant: nothing here knows the language's syntax, files, environment, time or randomness.

pub mod convert;
pub mod function;
pub mod functions;
pub mod json;
mod marked_paths;
pub mod marks;
pub mod msgpack;
pub mod number;
pub mod ops;
pub mod path;
#[cfg(test)]
mod properties;
pub mod quote;
pub mod regex;
mod set;
pub mod types;
pub mod unknown;
mod value;

pub use ecow::{EcoString, eco_format};
pub use marked_paths::MarkedPaths;
pub use marks::{Deprecation, Mark, Marks};
pub use number::Number;
pub use path::{Path, PathStep};
pub use quote::quote;
pub use types::{ObjectAttr, Type, TypeKind};
pub use unknown::{Bound, Range, Refine, Refinement, Unknown};
pub use value::{MAX_DEPTH, Plain, Value, View};
