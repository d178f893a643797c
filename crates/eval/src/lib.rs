//! The meaning of expressions: references, scopes, evaluation, and the functions that need the outside world.
//!
//! [`eval_expr`] is the way in: it checks and resolves the names of an expression in a [`Scope`], then evaluates it.
//!
//! Invariant: everything here is synchronous and pure, except through [`World`]; no state, no plans, no processes.

mod diagnostics;
mod expression;
pub mod functions;
pub mod references;
pub mod scope;
mod template;
pub mod world;

pub use expression::{NoVariables, Variables, evaluate, signature_text};
pub use functions::{CallContext, FunctionTable, WorldFunction};
pub use scope::{EmptyModule, Scope, eval_expr};
pub use world::{FileKind, MemoryWorld, Timestamp, World};
