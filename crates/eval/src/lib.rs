//! The meaning of expressions: references, scopes, evaluation, and the functions that need the outside world.
//!
//! Invariant: everything here is synchronous and pure, except through [`World`]; no state, no plans, no processes.

pub mod functions;
pub mod world;

pub use functions::{CallContext, FunctionTable, WorldFunction};
pub use world::{FileKind, MemoryWorld, Timestamp, World};
