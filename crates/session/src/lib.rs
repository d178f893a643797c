//! The commands as library functions: which files they read, in which order, and what they save.
//!
//! Everything starts from a [`Project`]. An operation goes through phases, each a type: [`Project::load`] gives a [`Loaded`],
//! [`Loaded::lock`] a [`Locked`], [`Locked::plan`] a [`Planned`], [`Planned::apply`] an [`Applied`]. Results and diagnostics
//! are data.
//!
//! Invariant: nothing here prints, reads argv, environment variables or the current directory, or knows what a terminal is;
//! `cli` does.

pub mod applied;
pub mod backend;
pub mod clock;
pub mod console;
pub mod doctor;
pub mod encryption;
pub mod explain;
pub mod files;
pub mod format;
pub mod graph;
pub mod install;
pub mod load;
pub mod loaded;
pub mod locked;
pub mod manifest;
pub mod migration;
pub mod operation;
pub mod planned;
pub mod project;
pub mod prompt;
pub mod provider_install;
pub mod providers;
pub mod provisioners;
pub mod saved_plan;
pub mod show;
pub mod state;
pub mod test;
pub mod workspaces;
pub mod world;

mod diagnostics;
mod initialized;
mod module_install;
mod part;
mod prepared;
mod replace;
mod source_commit;
mod validate;

pub use applied::{Applied, ForgottenInstances};
pub use console::{ConsoleAnswer, ConsoleSession, Input};
pub use loaded::{LoadOptions, Loaded, TestFiles};
pub use locked::{ConfigurationCheck, LockOptions, Locked, RemoteWorkspaces};
pub use operation::Progress;
pub use planned::Planned;
pub use project::{Project, ProjectSettings};
pub use saved_plan::SavedPlan;
pub use source_commit::source_commit;
pub use validate::EarlyProcesses;
pub use world::SystemWorld;
