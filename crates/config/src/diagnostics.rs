//! What can be wrong with a configuration, in words.

mod named;
mod settings;

pub(crate) use named::*;
pub(crate) use settings::*;
