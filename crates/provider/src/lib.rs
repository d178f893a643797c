//! The contract with providers, without the wire: schemas, configuration by schema, and the provider that is built in.
//!
//! A [`Schema`] says what a block may contain; [`decode()`] makes a value of a body by it, with `dynamic` blocks expanded.
//! Values of expressions come from [`EvalExpr`]: this crate does not evaluate.
//!
//! Invariant: nothing here knows files, processes, time or randomness, and nothing here knows resources of the
//! configuration.

// Tests take their expectation by value, as the expect! macro gives it.
#![cfg_attr(test, allow(clippy::needless_pass_by_value))]

pub mod builtin;
mod calls;
mod coerce;
pub mod contract;
pub mod decode;
mod diagnostics;
mod dynamic;
pub mod fake;
mod follow;
pub mod legality;
pub mod mock;
mod problem;
mod providers;
pub mod schema;
mod schema_marks;
mod schemas;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod waiting;
mod walk;

pub use calls::{CallMemo, Needs};
pub use contract::{
    Answer, ApplyAnswer, ApplyRequest, DataAnswer, DataRequest, ImportBy, ImportRequest, Imported, Millis, MoveAnswer,
    MoveRequest, Opened, Outcome, PlanAnswer, PlanRequest, Private, Provider, RawState, ReadAnswer, ReadRequest,
    Renewed, UpgradeRequest,
};
pub use decode::{EvalExpr, LocalNames, decode};
pub use diagnostics::{EPHEMERAL_VALUE_STORED, PROVIDER_REPORTED, provider_reported};
pub use follow::Followed;
pub use problem::{Problem, ProblemLocation, each_mark, ephemeral_problems, locate};
pub use providers::{Callee, ConfigurationOf, ProviderCall, Providers, RecordedSchemas};
pub use schema::{
    Attribute, AttributeType, BlockSchema, IdentitySchema, NestedAttribute, NestedBlock, Nesting, ProviderSchema,
    Schema,
};
pub use schema_marks::DeprecatedOf;
pub use schemas::{SchemaSource, Schemas};
pub use waiting::Waiting;
pub use walk::{DecidingExpression, each_expression, expressions_at, references};
