//! Shared parts of the phases of an operation: progress, values of variables, the journal, and diagnostics that are
//! reported once.

pub(crate) mod diagnostics;
pub(crate) mod journal;
mod progress;
pub(crate) mod repeated;
pub(crate) mod variables;

pub use progress::Progress;
