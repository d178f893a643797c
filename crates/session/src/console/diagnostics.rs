//! Diagnostics of the console.

use ecow::eco_format;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// The configuration of the console has errors, so that some values are unknown.
    CONSOLE_VALUES_INCOMPLETE = warning "console-values-incomplete", "Due to the problems above, some expressions may produce unexpected results.";
    /// An expression in the console refers to a variable that does not accept the value given for it.
    CONSOLE_VARIABLE_WITHOUT_VALUE = error "console-variable-without-value", "Reference to unresolved input variable";
    /// An expression in the console uses the result of the function "type" as a value.
    CONSOLE_TYPE_USED_AS_VALUE = error "console-type-used-as-value", "Invalid use of type function";
}

pub(super) fn incomplete_values() -> Diagnostic {
    Diagnostic::new(&CONSOLE_VALUES_INCOMPLETE, "")
}

pub(super) fn variable_without_value(name: &str) -> Diagnostic {
    let detail = eco_format!("var.{name} has no value: it does not accept the value given for it.");
    Diagnostic::new(&CONSOLE_VARIABLE_WITHOUT_VALUE, detail)
}

pub(super) fn type_used_as_value() -> Diagnostic {
    let detail = "The function \"type\" of the console shows a type. Its result cannot be used in an expression.";
    Diagnostic::new(&CONSOLE_TYPE_USED_AS_VALUE, detail)
}
