//! Functions that read files and paths.

use super::WorldFunction;

/// The functions of this family.
pub(crate) fn functions() -> Vec<WorldFunction> {
    Vec::new()
}
