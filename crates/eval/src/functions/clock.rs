//! Functions that ask for the time.

use super::WorldFunction;

/// The functions of this family.
pub(crate) fn functions() -> Vec<WorldFunction> {
    Vec::new()
}
