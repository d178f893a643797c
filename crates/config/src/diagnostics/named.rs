//! The diagnostics about names, variables, outputs, local values, and constants.

use ecow::{EcoString, eco_format};
use yuba_syntax::expr::{ExprKind, Literal};
use yuba_syntax::suggestion::suggest;
use yuba_syntax::{Diagnostic, Expr, Span};
use yuba_value::convert::ConvertError;

yuba_syntax::catalogue! {
    /// The name of a block or an object contains invalid characters.
    NAME_INVALID = error "name-invalid", "Invalid {object} name";
    /// A variable has the name of a meta-argument of module blocks.
    VARIABLE_NAME_RESERVED = error "variable-name-reserved", "Invalid variable name";
    /// A constant argument has a value of the wrong type, or one that is null, unknown or sensitive.
    CONSTANT_UNSUITABLE = error "constant-unsuitable", "Unsuitable value type";
    /// An argument that must be a list literal is another expression.
    LIST_LITERAL_REQUIRED = error "list-literal-required", "Invalid expression";
    /// A reference is written in quotes, as old versions of the language required.
    QUOTED_REFERENCE = warning "quoted-reference", "Quoted references are deprecated";
    /// The default of a variable does not match its type.
    VARIABLE_DEFAULT_INVALID = error "variable-default-invalid", "Invalid default value for variable";
    /// The default of a variable is sensitive, and the variable is not.
    VARIABLE_DEFAULT_SENSITIVE = error "variable-default-sensitive", "Invalid default value for variable";
    /// The default of a variable is null, and the variable is not nullable.
    VARIABLE_DEFAULT_NULL = error "variable-default-null", "Invalid default value for variable";
    /// The default of a variable sets an attribute that its object type does not have.
    OBJECT_ATTRIBUTE_IGNORED = warning "object-attribute-ignored", "Object attribute is ignored";
    /// The `deprecated` argument of a variable is empty.
    VARIABLE_DEPRECATION_EMPTY = error "variable-deprecation-empty", "Invalid `deprecated` value";
    /// The `deprecated` argument of an output is empty.
    OUTPUT_DEPRECATION_EMPTY = error "output-deprecation-empty", "Invalid `deprecated` attribute";
    /// The validation condition of a variable does not refer to the variable.
    VALIDATION_WITHOUT_VARIABLE = error "validation-without-variable", "Invalid variable validation condition";
    /// An output contains a postcondition.
    OUTPUT_POSTCONDITION = error "output-postcondition", "Postconditions are not allowed";
}

pub(crate) const NAME_RULE: &str =
    "A name must start with a letter or an underscore and contain only letters, digits, underscores and dashes.";

/// `object`: "variable", "resource type", "check block".
pub(crate) fn invalid_name(object: &str, name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&NAME_INVALID, eco_format!("{name:?} is not a valid name. {NAME_RULE}"))
        .titled(eco_format!("Invalid {object} name"))
        .naming(object)
        .at(at)
}

pub(crate) fn reserved_variable_name(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The name \"{name}\" is reserved, because module blocks use it as a meta-argument.");
    Diagnostic::new(&VARIABLE_NAME_RESERVED, detail).hint("Choose another name.").at(at)
}

pub(crate) fn unsuitable_value(problem: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&CONSTANT_UNSUITABLE, eco_format!("This value is not suitable: {problem}.")).at(at)
}

/// The location of messages about an expression. Quirk: for a quoted string it is the part between the quotes.
pub(crate) fn start_of(expr: &Expr) -> Span {
    let span = expr.span;
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) if text.is_empty() => span.at_end(),
        _ => expr.start_span(),
    }
}

pub(crate) fn list_expected(expr: &Expr) -> Diagnostic {
    Diagnostic::new(&LIST_LITERAL_REQUIRED, "A list literal in square brackets is required here.").at(start_of(expr))
}

pub(crate) fn quoted_reference(at: Span) -> Diagnostic {
    Diagnostic::new(&QUOTED_REFERENCE, "Quoted references are deprecated.").hint("Remove the quotes.").at(at)
}

pub(crate) fn invalid_default(error: &ConvertError, at: Span) -> Diagnostic {
    let detail = eco_format!("The default does not match the type of the variable: {}.", error.located());
    Diagnostic::new(&VARIABLE_DEFAULT_INVALID, detail).at(at)
}

pub(crate) fn sensitive_default(at: Span) -> Diagnostic {
    let detail = "The default is derived from a sensitive value of a symbol library.";
    Diagnostic::new(&VARIABLE_DEFAULT_SENSITIVE, detail).hint("Add sensitive = true to the variable.").at(at)
}

pub(crate) fn null_default(at: Span) -> Diagnostic {
    let detail = "The variable sets nullable = false, so its default cannot be null.";
    Diagnostic::new(&VARIABLE_DEFAULT_NULL, detail).at(at)
}

pub(crate) fn ignored_attribute<'n>(
    name: &str,
    path: &str,
    names: impl IntoIterator<Item = &'n str>,
    at: Span,
) -> Diagnostic {
    let owner: EcoString = if path.is_empty() { "of this variable".into() } else { eco_format!("for {path}") };
    let detail = eco_format!("The object type {owner} does not have an attribute \"{name}\", so its value is ignored.");
    Diagnostic::new(&OBJECT_ATTRIBUTE_IGNORED, detail).hint(suggest(name, names)).about(path).about(name).at(at)
}

pub(crate) fn empty_deprecated_variable(at: Span) -> Diagnostic {
    Diagnostic::new(&VARIABLE_DEPRECATION_EMPTY, "The deprecation message of this variable is empty.")
        .hint("Name the replacement for users of the module.")
        .at(at)
}

pub(crate) fn empty_deprecated_output(at: Span) -> Diagnostic {
    Diagnostic::new(&OUTPUT_DEPRECATION_EMPTY, "The deprecation message of this output is empty.")
        .hint("Name the replacement for users of the module.")
        .at(at)
}

pub(crate) fn condition_without_variable(name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The condition must refer to var.{name}, the variable whose values it validates.");
    Diagnostic::new(&VALIDATION_WITHOUT_VARIABLE, detail).at(at)
}

pub(crate) fn output_postcondition(at: Span) -> Diagnostic {
    let detail = "Outputs are checked before their value is used, so they support only precondition blocks.";
    Diagnostic::new(&OUTPUT_POSTCONDITION, detail).at(at)
}
