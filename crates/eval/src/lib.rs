//! The meaning of expressions: references, scopes, evaluation, and the functions that need the outside world.
//!
//! [`eval_expr`] is the way in: it checks and resolves the names of an expression in a [`Scope`], then evaluates it.
//!
//! Invariant: everything here is pure, except through [`World`]; no state, no plans, no processes. Nothing waits: a call of a provider
//! function whose result is missing is returned to the driver ([`Needs`]), which makes it and evaluates again.

mod constant;
mod diagnostics;
mod driven;
mod expression;
pub mod functions;
pub mod graph;
pub mod inputs;
mod instance_values;
pub mod live;
pub mod module_scope;
mod probe;
mod provider_functions;
pub mod references;
pub mod scope;
mod scope_marks;
mod settle;
pub mod static_eval;
pub mod symbols;
mod template;
#[cfg(test)]
mod testing;
pub mod tree;
pub mod validate;
pub mod world;

/// Rows of the catalogue that other crates report, too.
pub mod codes {
    pub use crate::tree::diagnostics::{PROVIDER_CONFIGURATION_NOT_PRESENT, PROVIDER_INSTANCE_NOT_DECLARED};
    pub use crate::validate::diagnostics::{
        INCORRECT_VALUE_TYPE, INVALID_IMPORT_ARGUMENT, INVALID_PREVENT_DESTROY, INVALID_RESOURCE_TYPE,
        NO_IMPORT_IDENTITY,
    };
}

pub use constant::{ConstantNames, Each, constant, constant_with};
pub use driven::{RuleKind, Trigger, Verdict, of_provider_instance};
pub use expression::{NoVariables, Variables, evaluate, signature_text};
pub use functions::{CallContext, FunctionTable, OtherFunctions, WorldFunction};
pub use inputs::Inputs;
pub use live::{Expansion, Live, ModuleInstanceId};
pub use module_scope::{EvalEnv, EvalMode, Evaluation, InstanceValues, ModuleScope, schema_of};
pub use scope::{EmptyModule, Scope, eval_expr};
pub use tree::{ConfigTree, ModuleId, link};
pub use validate::provisioner::{connection as connection_schema, schema as provisioner_schema};
pub use validate::{
    ValidateEnv, check_values, condition_failed, deprecated_root_variable, is_about_assertion, is_about_condition,
    missing_provider, outlives_planning, validate,
};
pub use world::{FileKind, MemoryWorld, World, WorldTime};
pub use yuba_provider::Needs;
