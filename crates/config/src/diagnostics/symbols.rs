//! The diagnostics about `symbols` blocks and symbol libraries.

use ecow::eco_format;
use yuba_syntax::{Diagnostic, Span};

use super::blocks;
use super::settings::VERSION_CONSTRAINT_MALFORMED;

yuba_syntax::catalogue! {
    /// A symbol library declares two values, functions, types or parameters of the same name.
    DUPLICATE_SYMBOL = error "duplicate-symbol", "Duplicate {object}";
    /// A parameter of a function follows a variadic one.
    PARAMETER_AFTER_VARIADIC = error "parameter-after-variadic", "Invalid variadic parameter";
}

pub(crate) fn invalid_version(text: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&VERSION_CONSTRAINT_MALFORMED, eco_format!("{text:?} is not a version constraint."))
        .hint("Write constraints such as \">= 1.2.0, < 2.0.0\".")
        .at(at)
}
pub(crate) fn duplicate(object: &str, name: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The {object} {name:?} is already declared at {first}. Names must be unique.");
    Diagnostic::new(&DUPLICATE_SYMBOL, detail).titled(eco_format!("Duplicate {object}")).naming(object).at(at)
}
pub(crate) fn second_language(first: &str, at: Span) -> Diagnostic {
    blocks::duplicate_block("language", "library", first, at)
}
pub(crate) fn parameter_after_variadic(variadic: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The variadic parameter {variadic:?} takes all remaining arguments, so it must be the last parameter."
    );
    Diagnostic::new(&PARAMETER_AFTER_VARIADIC, detail).at(at)
}
