//! What can be wrong with a configuration, in words.

pub(crate) mod blocks;
mod merging;
mod named;
mod settings;
pub(crate) mod symbols;
pub(crate) mod tests;

pub(crate) use merging::*;
pub(crate) use named::*;
pub(crate) use settings::*;
