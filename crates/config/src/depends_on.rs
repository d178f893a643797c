//! The `depends_on` argument: a list of references.

use yuba_syntax::{Diagnostics, Expr, Traversal};

use crate::quoted::{self, Wanted, unquote};

/// Reads a list of references. In quotes they still work, with a warning.
pub(crate) fn decode(expr: &Expr) -> (Vec<Traversal>, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut references = Vec::new();
    for item in quoted::list(expr, &mut problems) {
        match unquote(item, Wanted::Reference, &mut problems).to_traversal() {
            Ok(reference) => references.push(reference),
            Err(found) => problems.extend(found),
        }
    }
    (references, problems)
}
