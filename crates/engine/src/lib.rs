//! The engine: `planning` finds the required changes, `applying` makes the planned changes.
//!
//! Both walk the reference graph of the configuration. One loop is the only writer of values; slow work (requests to
//! providers) runs in futures that own their data and report back to the loop.
//!
//! Invariant: no files, no clock, no processes, no randomness: all that comes through doors given by the caller. Every pass
//! is linear in objects and references.

pub mod applying;
pub(crate) mod diagnostics;
mod drive;
pub mod generate;
pub mod imports;
mod interrupt;
mod look;
pub mod moves;
mod object;
mod outgrown;
pub mod planning;
pub mod reasons;
pub mod removal;
pub mod request;
pub mod targets;
mod walk;

#[cfg(test)]
mod simulator;
#[cfg(test)]
pub(crate) mod testing;

pub use applying::{AppliedCounts, ApplyDoors, ApplyOutcome, Recorder, apply, apply_into};
pub use interrupt::{Clock, Interrupt, NoTime};
pub use look::look;
pub use planning::{plan, plan_into};
pub use request::{Context, PlanOptions, RootVariable};
pub use walk::provision::{Hidden, ProvisionOrder, Provisioned, Provisioners};
