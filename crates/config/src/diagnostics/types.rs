//! The diagnostics about type constraints.

use ecow::eco_format;
use yuba_syntax::{Diagnostic, Span};
use yuba_value::convert::ConvertError;

yuba_syntax::catalogue! {
    /// A type constraint is malformed or names an unknown type.
    TYPE_INVALID = error "type-invalid", "Invalid type specification";
    /// Type constraints are nested deeper than the limit.
    TYPE_TOO_DEEP = error "type-too-deep", "Invalid type specification";
    /// The default of an optional attribute does not match its type.
    OPTIONAL_DEFAULT_INVALID = error "optional-default-invalid", "Invalid default value for optional attribute";
    /// A type constraint is a quoted string of old versions of the language.
    QUOTED_TYPE = error "quoted-type", "Invalid quoted type constraints";
    /// A type constraint is a quoted string that old versions did not know either.
    QUOTED_TYPE_UNKNOWN = error "quoted-type-unknown", "Invalid legacy variable type hint";
}

pub(crate) fn type_too_deep(limit: u32, at: Span) -> Diagnostic {
    Diagnostic::new(&TYPE_TOO_DEEP, eco_format!("More than {limit} types are nested here.")).at(at)
}

pub(crate) fn unknown_type(keyword: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&TYPE_INVALID, eco_format!("\"{keyword}\" is not a type.")).at(at)
}

pub(crate) fn not_a_type(at: Span) -> Diagnostic {
    let detail = "A type must be bool, number, string, any, or a call that constructs a type from other types, such \
        as list(string).";
    Diagnostic::new(&TYPE_INVALID, detail).at(at)
}

pub(crate) fn type_takes_no_arguments(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&TYPE_INVALID, eco_format!("The type {name} does not take arguments.")).at(at)
}

/// The argument of a type constructor is missing, or there is more than one.
pub(crate) fn type_needs_argument(name: &str, at: Span) -> Diagnostic {
    let detail = match name {
        "object" => return object_type_needs_attributes(at),
        "tuple" => return tuple_type_needs_elements(at),
        _ => eco_format!("A {name} type requires exactly one element type, such as {name}(string)."),
    };
    Diagnostic::new(&TYPE_INVALID, detail).at(at)
}

pub(crate) fn object_type_needs_attributes(at: Span) -> Diagnostic {
    let detail = "An object type requires attribute names and their types: object({ name = string, size = number }).";
    Diagnostic::new(&TYPE_INVALID, detail).at(at)
}

pub(crate) fn tuple_type_needs_elements(at: Span) -> Diagnostic {
    Diagnostic::new(&TYPE_INVALID, "A tuple type requires a list of types: tuple([string, number]).").at(at)
}

pub(crate) fn optional_outside_object(at: Span) -> Diagnostic {
    let detail = "Only the attributes of an object type can be optional: object({ name = optional(string) }).";
    Diagnostic::new(&TYPE_INVALID, detail).at(at)
}

pub(crate) fn unknown_type_constructor(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&TYPE_INVALID, eco_format!("\"{name}\" is not a type that takes arguments.")).at(at)
}

pub(crate) fn quoted_attribute_name(at: Span) -> Diagnostic {
    Diagnostic::new(&TYPE_INVALID, "Attribute names of an object type are written without quotes.").at(at)
}

pub(crate) fn duplicate_attribute(name: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&TYPE_INVALID, eco_format!("The attribute \"{name}\" is already defined.")).at(at)
}

pub(crate) fn optional_without_type(at: Span) -> Diagnostic {
    Diagnostic::new(&TYPE_INVALID, "An optional attribute requires a type: optional(string).").at(at)
}

pub(crate) fn optional_with_extra_arguments(at: Span) -> Diagnostic {
    let detail = "An optional attribute takes a type and at most one default: optional(string, \"none\").";
    Diagnostic::new(&TYPE_INVALID, detail).at(at)
}

pub(crate) fn invalid_optional_default(error: &ConvertError, at: Span) -> Diagnostic {
    let detail = eco_format!("The default does not match the type of the attribute: {}.", error.located());
    Diagnostic::new(&OPTIONAL_DEFAULT_INVALID, detail).at(at)
}

pub(crate) fn quoted_type(text: &str, at: Span) -> Diagnostic {
    let instead = match text {
        "string" => "string",
        "list" => "list(string)",
        "map" => "map(string)",
        _ => {
            return Diagnostic::new(&QUOTED_TYPE_UNKNOWN, "A type must be a type expression, not a quoted string.")
                .hint("Remove the quotes.")
                .at(at);
        }
    };
    Diagnostic::new(&QUOTED_TYPE, "Types are written without quotes.")
        .hint(eco_format!("Replace \"{text}\" with {instead}."))
        .at(at)
}
