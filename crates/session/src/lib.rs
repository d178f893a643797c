//! What a user can ask for, as library functions: which files, in which order, what is saved.
//!
//! A function here takes a request as plain data, reads and writes files, and gives back results and diagnostics as data.
//!
//! Invariant: nothing here prints, reads argv, or knows what a terminal is; `cli` does.

pub mod backend;
pub mod clock;
pub mod console;
pub mod encryption;
pub mod format;
pub mod graph;
pub mod install;
pub mod load;
pub mod manifest;
pub mod migration;
pub mod operation;
pub mod provider_install;
pub mod providers;
pub mod provisioners;
pub mod show;
pub mod state;
pub mod test;
pub mod validate;
pub mod workspaces;
pub mod world;

mod diagnostics;
mod initialized;
mod module_install;
mod replace;
mod saved_plan;

pub use console::{Answer, ConsoleSession, Input};
pub use world::SystemWorld;
