//! A plan: what will change and why, in which order it will be done, and what happens meanwhile; as plain data.
//!
//! Invariant: nothing here knows how a plan is found or carried out.

pub mod change;
pub mod drift;
pub mod event;
pub mod exec;
pub mod file;
mod plan;

pub use change::{Action, ActionReason, Importing, OutputChange, ResourceChange};
pub use event::{Deferral, Event, Phase};
pub use exec::{ExecGraph, Op};
pub use file::{PlanFile, SavedBackend};
pub use plan::{Mode, Plan, PlannedVariable, PlannedWarning, RelevantAttribute};
