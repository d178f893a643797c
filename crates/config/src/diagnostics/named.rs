//! About variables, outputs, local values, types, and constants.

use ecow::{EcoString, eco_format};
use yuba_syntax::expr::{ExprKind, Literal};
use yuba_syntax::suggestion::closest;
use yuba_syntax::{Diagnostic, Expr, Span};
use yuba_value::convert::ConvertError;

/// How names are made.
pub(crate) const NAME_RULE: &str =
    "A name starts with a letter or an underscore; letters, digits, underscores and dashes may follow.";

/// `what`: "variable", "output", "local value".
pub(crate) fn invalid_name(what: &str, at: Span) -> Diagnostic {
    Diagnostic::error(eco_format!("Invalid {what} name"), NAME_RULE).at(at)
}

pub(crate) fn reserved_variable_name(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "In a module block, \"{name}\" has a meaning of its own, so a variable of this name could not be set there. \
         Choose another name."
    );
    Diagnostic::error("Invalid variable name", detail).at(at)
}

pub(crate) fn unsuitable_value(problem: &str, at: Span) -> Diagnostic {
    Diagnostic::error("Unsuitable value type", eco_format!("This value is not suitable: {problem}.")).at(at)
}

/// What messages about an expression point at. Quirk: of a text in quotes it is what is between them.
pub(crate) fn start_of(expr: &Expr) -> Span {
    let span = expr.span;
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) if text.is_empty() => span.at_end(),
        _ => expr.start_span(),
    }
}

pub(crate) fn list_expected(expr: &Expr) -> Diagnostic {
    Diagnostic::error("Invalid expression", "A list in square brackets is needed here.").at(start_of(expr))
}

pub(crate) fn quoted_reference(at: Span) -> Diagnostic {
    let detail = "A reference is written without quotes here. Quotes were needed by versions of long ago and will stop \
        working one day: remove them.";
    Diagnostic::warning("Quoted references are deprecated", detail).at(at)
}

pub(crate) fn invalid_type(detail: impl Into<EcoString>, at: Span) -> Diagnostic {
    Diagnostic::error("Invalid type specification", detail).at(at)
}

pub(crate) fn invalid_optional_default(error: &ConvertError, at: Span) -> Diagnostic {
    let detail = eco_format!("The default does not fit the type of the attribute: {}.", error.located());
    Diagnostic::error("Invalid default value for optional attribute", detail).at(at)
}

pub(crate) fn quoted_type(text: &str, at: Span) -> Diagnostic {
    let instead = match text {
        "string" => "string",
        "list" => "list(string)",
        "map" => "map(string)",
        _ => {
            let detail = "A type is an expression of its own and not a text: remove the quotes around it.";
            return Diagnostic::error("Invalid legacy variable type hint", detail).at(at);
        }
    };
    let detail = eco_format!("Types are written without quotes: replace \"{text}\" by {instead}.");
    Diagnostic::error("Invalid quoted type constraints", detail).at(at)
}

pub(crate) fn invalid_default(error: &ConvertError, at: Span) -> Diagnostic {
    let detail = eco_format!("The default does not fit the variable's type: {}.", error.located());
    Diagnostic::error("Invalid default value for variable", detail).at(at)
}

pub(crate) fn sensitive_default(at: Span) -> Diagnostic {
    let detail =
        "The default is derived from a sensitive value of a symbol library. Add sensitive = true to the variable.";
    Diagnostic::error("Invalid default value for variable", detail).at(at)
}

pub(crate) fn null_default(at: Span) -> Diagnostic {
    let detail = "The variable has nullable = false, so its default cannot be null.";
    Diagnostic::error("Invalid default value for variable", detail).at(at)
}

pub(crate) fn ignored_attribute<'n>(
    name: &str,
    path: &str,
    names: impl IntoIterator<Item = &'n str>,
    at: Span,
) -> Diagnostic {
    let hint = match closest(name, names) {
        Some(similar) => eco_format!(" Did you mean \"{similar}\"?"),
        None => EcoString::new(),
    };
    let whose = if path.is_empty() { "of this variable".into() } else { eco_format!("for {path}") };
    let detail =
        eco_format!("The object type {whose} has no attribute \"{name}\", so what is set here is not used.{hint}");
    Diagnostic::warning("Object attribute is ignored", detail).at(at)
}

pub(crate) fn empty_deprecated_variable(at: Span) -> Diagnostic {
    let detail = "The message must not be empty: it tells users of the module what to use instead of this variable.";
    Diagnostic::error("Invalid `deprecated` value", detail).at(at)
}

pub(crate) fn empty_deprecated_output(at: Span) -> Diagnostic {
    let detail = "The message must not be empty: it tells users of the module what to use instead of this output.";
    Diagnostic::error("Invalid `deprecated` attribute", detail).at(at)
}

pub(crate) fn condition_without_variable(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The condition has to look at var.{name}, the variable whose values it checks.");
    Diagnostic::error("Invalid variable validation condition", detail).at(at)
}

pub(crate) fn output_postcondition(at: Span) -> Diagnostic {
    let detail = "An output is checked before its value is given away: only precondition blocks are possible here.";
    Diagnostic::error("Postconditions are not allowed", detail).at(at)
}
