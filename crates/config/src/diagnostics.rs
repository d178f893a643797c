//! What can be wrong with a configuration, in words.

pub(crate) mod blocks;
mod named;
mod settings;

pub(crate) use named::*;
pub(crate) use settings::*;
