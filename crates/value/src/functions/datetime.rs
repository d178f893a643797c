//! The datetime functions.

use crate::function::Function;

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    Vec::new()
}
