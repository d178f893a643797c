//! Values as MessagePack, the way providers get and send them.
//!
//! The reader must know the type; where it is `any`, a pair of the type (as JSON) and the value is written. A number is
//! an integer, a float, or its text where neither is exact. An unknown value is an extension: of type 0 with one zero
//! byte, or of type 12 with a map of what is known about it.
//!
//! Exits: marks cannot be written. The caller takes them off before and puts them back after.

mod decode;
mod encode;

pub use decode::decode;
pub use encode::encode;

/// Extension type of an unknown value about which something is known.
const REFINED: i8 = 12;
/// More than this is not read as what is known about an unknown value.
const MAX_REFINEMENT: usize = 1024;
/// Longer prefixes of unknown texts are cut.
const MAX_PREFIX: usize = 256;

/// Keys of the map of what is known about an unknown value.
mod known {
    pub(super) const IS_NULL: i64 = 1;
    pub(super) const PREFIX: i64 = 2;
    pub(super) const NUMBER_MIN: i64 = 3;
    pub(super) const NUMBER_MAX: i64 = 4;
    pub(super) const LENGTH_MIN: i64 = 5;
    pub(super) const LENGTH_MAX: i64 = 6;
}

#[cfg(test)]
mod tests;
