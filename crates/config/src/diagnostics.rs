//! The diagnostics about a configuration.

pub(crate) mod blocks;
mod merging;
mod named;
mod settings;
pub(crate) mod symbols;
pub(crate) mod tests;
pub(crate) mod types;

pub(crate) use merging::*;
pub(crate) use named::*;
pub(crate) use settings::*;
