//! Names of things: what an expression can refer to, and how such a reference is read from a dotted name.
//!
//! Invariant: nothing here knows which blocks declare these things, or what their values are.

mod reference;

pub use reference::{InstanceKey, ProviderFunction, Reference, Resource, ResourceMode, Subject, TerraformAlias};
