//! What can be wrong with `symbols` blocks and symbol libraries.

use ecow::eco_format;
use yuba_syntax::{Diagnostic, Span};

use super::blocks;

pub(crate) fn invalid_name(what: &str, name: &str, at: Span) -> Diagnostic {
    blocks::invalid_name(&eco_format!("Invalid {what} name"), name, at)
}
pub(crate) fn invalid_version(text: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("{text:?} is not of the form \">= 1.2.0, < 2.0.0\".");
    Diagnostic::error("Invalid version constraint", detail).at(at)
}
pub(crate) fn duplicate(what: &str, name: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The name {name:?} is taken by a {what} at {first}. Names have to be unique.");
    Diagnostic::error(eco_format!("Duplicate {what}"), detail).at(at)
}
pub(crate) fn second_language(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The library already has a language block, at {first}. Merge the two.");
    Diagnostic::error("Duplicate language block", detail).at(at)
}
pub(crate) fn parameter_after_variadic(variadic: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The parameter {variadic:?} is variadic and takes all arguments from there on, so it is the last one."
    );
    Diagnostic::error("Invalid variadic parameter", detail).at(at)
}
