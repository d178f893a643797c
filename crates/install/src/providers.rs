//! Providers: which versions there are, where their packages come from, how they are checked and where they are put.

pub mod hash;
pub mod package;
pub mod platform;
pub mod selected;
pub mod verified;
