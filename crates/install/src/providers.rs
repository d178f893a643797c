//! Providers: which versions there are, where their packages come from, how they are checked and where they are put.

pub mod authentication;
pub mod configured;
pub mod diagnostics;
mod fetch;
pub mod hash;
pub mod installing;
pub mod local_mirror;
pub mod locking;
pub mod mirroring;
pub mod network_mirror;
pub mod oci_mirror;
pub mod package;
mod parallel;
pub mod platform;
mod records;
pub mod registry;
pub mod selected;
mod signature;
pub mod source;
mod staging;
pub mod unpacked;
pub mod verified;

#[cfg(test)]
mod tests;
