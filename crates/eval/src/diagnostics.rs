//! The catalogue of what can be wrong with an expression.
//!
//! Summaries are fixed: people search for them and tools match them. Details say what happened and what to do.

use ecow::{EcoString, eco_format};
use yuba_syntax::{Diagnostic, Span};

/// An error with a place in a wider place.
fn error(summary: &'static str, detail: impl Into<EcoString>, subject: Span, context: Span) -> Diagnostic {
    Diagnostic::error(summary, detail).at(subject).within(context)
}

pub(crate) fn invalid_operand(side: &str, reason: &str, operand: Span, whole: Span) -> Diagnostic {
    error("Invalid operand", eco_format!("This value is not suitable as the {side} operand: {reason}."), operand, whole)
}
pub(crate) fn operation_failed(reason: &str, whole: Span) -> Diagnostic {
    Diagnostic::error("Operation failed", eco_format!("The operation has no result: {reason}.")).at(whole)
}

pub(crate) fn inconsistent_conditional(difference: &str, results: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("Both results of a conditional must be of types that fit together. {difference}.");
    error("Inconsistent conditional result types", detail, results, whole)
}
pub(crate) fn conditional_result(which: &str, reason: &str, result: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("The {which} result cannot be converted to the type of the other result: {reason}.");
    error("Inconsistent conditional result types", detail, result, whole)
}
pub(crate) fn null_condition(condition: Span, whole: Span) -> Diagnostic {
    error("Null condition", "The condition is null, but it must be either true or false.", condition, whole)
}
pub(crate) fn condition_type(condition: Span, whole: Span) -> Diagnostic {
    error("Incorrect condition type", "The condition must be a bool: true or false.", condition, whole)
}

pub(crate) fn null_key(value: Span) -> Diagnostic {
    Diagnostic::error("Null value as key", "The key of this item is null, but a key must be a string.").at(value)
}
pub(crate) fn key_type(reason: &str, key: Span) -> Diagnostic {
    Diagnostic::error("Incorrect key type", eco_format!("This value cannot be a key: {reason}.")).at(key)
}
pub(crate) fn ambiguous_key(key: Span) -> Diagnostic {
    let detail = "It is not clear whether this is a reference or a name with dots in it. Put parentheses around it to \
                  use the value of the reference as the key, or quotes to use the text as it is.";
    Diagnostic::error("Ambiguous attribute key", detail).at(key)
}

pub(crate) fn json_key(reason: &str, key: Span) -> Diagnostic {
    Diagnostic::error("Invalid object key expression", eco_format!("This cannot be a key: {reason}.")).at(key)
}
pub(crate) fn json_duplicate(name: &str, key: Span) -> Diagnostic {
    let detail = eco_format!("This object has an attribute named {name:?} already.");
    Diagnostic::error("Duplicate object attribute", detail).at(key)
}

pub(crate) fn for_over_null(collection: Span, whole: Span) -> Diagnostic {
    let detail = "The collection of this 'for' expression is null, so there is nothing to go through.";
    error("Iteration over null value", detail, collection, whole)
}
pub(crate) fn for_over_primitive(kind: &str, collection: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!(
        "A 'for' expression goes through the elements of a list, set, map, tuple or object, but this is a {kind}."
    );
    error("Iteration over non-iterable value", detail, collection, whole)
}
pub(crate) fn for_condition_null(summary: &'static str, condition: Span, whole: Span) -> Diagnostic {
    error(summary, "The 'if' clause gave null, but it must be either true or false.", condition, whole)
}
pub(crate) fn for_condition(reason: &str, condition: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("The 'if' clause must give true or false: {reason}.");
    error("Invalid 'for' condition", detail, condition, whole)
}
pub(crate) fn for_key_null(key: Span, whole: Span) -> Diagnostic {
    error("Invalid object key", "The key of this 'for' expression is null, but it must be a string.", key, whole)
}
pub(crate) fn for_key(reason: &str, key: Span, whole: Span) -> Diagnostic {
    error("Invalid object key", eco_format!("The result cannot be used as a key: {reason}."), key, whole)
}
pub(crate) fn for_duplicate_key(name: &str, key: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!(
        "More than one item gave the key {name:?}. If that is to be expected, write an ellipsis (...) after the value \
         to collect the values of each key in a tuple."
    );
    error("Duplicate object key", detail, key, whole)
}
pub(crate) fn for_duplicate_secret_key(key: Span, whole: Span) -> Diagnostic {
    let detail = "More than one item gave the same key. If that is to be expected, write an ellipsis (...) after the \
                  value to collect the values of each key in a tuple.";
    error("Duplicate object key", detail, key, whole)
}

pub(crate) fn splat_of_null(source: Span, context: Span) -> Diagnostic {
    let detail = "This list, set or tuple is null, so the splat (*) has no elements to go through.";
    error("Splat of null value", detail, source, context)
}
pub(crate) fn nested_splat(each: Span, whole: Span) -> Diagnostic {
    let detail = "The inner splat gave elements of different types, which cannot be together in one list.\n\nA 'for' \
                  expression can do the same: its result is a tuple, whose elements may differ in type.";
    error("Invalid nested splat expressions", detail, each, whole)
}

pub(crate) fn null_in_template(part: Span, whole: Span) -> Diagnostic {
    let detail = "This value is null, which has no text that could stand in a template.";
    error("Invalid template interpolation value", detail, part, whole)
}
pub(crate) fn not_text_in_template(reason: &str, part: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("This value has no text that could stand in a template: {reason}.");
    error("Invalid template interpolation value", detail, part, whole)
}
pub(crate) fn null_in_template_for(whole: Span) -> Diagnostic {
    let detail = "One round of this 'for' gave null, which has no text that could stand in a template.";
    Diagnostic::error("Invalid template interpolation value", detail).at(whole)
}
pub(crate) fn not_text_in_template_for(reason: &str, whole: Span) -> Diagnostic {
    let detail = eco_format!("One round of this 'for' gave a value that has no text: {reason}.");
    Diagnostic::error("Invalid template interpolation value", detail).at(whole)
}
pub(crate) fn result_too_large(whole: Span) -> Diagnostic {
    let detail = eco_format!(
        "The result of this expression would take more than {} MiB of memory. Build it from smaller parts.",
        crate::expression::MEMORY_BUDGET >> 20
    );
    Diagnostic::error("Result too large", detail).at(whole)
}

pub(crate) fn too_many_rounds(whole: Span) -> Diagnostic {
    let detail = eco_format!(
        "The 'for' expressions in here would make more than {} rounds. Work on smaller collections.",
        crate::expression::MAX_ROUNDS
    );
    Diagnostic::error("Too many iterations", detail).at(whole)
}
pub(crate) fn number_range(literal: Span) -> Diagnostic {
    let detail = "This number is too large, or too close to zero, to be worked with.";
    Diagnostic::error("Invalid number literal", detail).at(literal)
}

pub(crate) fn unknown_variable(name: &str, suggestion: &str, at: Span) -> Diagnostic {
    Diagnostic::error("Unknown variable", eco_format!("There is no variable named {name:?} here.{suggestion}")).at(at)
}
pub(crate) fn index_of_null(at: Span) -> Diagnostic {
    Diagnostic::error("Attempt to index null value", "This value is null, so it has no elements to select.").at(at)
}
pub(crate) fn invalid_index(detail: impl Into<EcoString>, at: Span) -> Diagnostic {
    Diagnostic::error("Invalid index", detail).at(at)
}
/// The text of the RFC of `lifecycle.enabled`.
pub(crate) fn attribute_of_null(at: Span) -> Diagnostic {
    let detail = "This value is null, so it does not have any attributes.";
    Diagnostic::error("Attempt to get attribute from null value", detail).at(at)
}
pub(crate) fn unsupported_attribute(detail: impl Into<EcoString>, at: Span) -> Diagnostic {
    Diagnostic::error("Unsupported attribute", detail).at(at)
}
pub(crate) fn missing_map_element(name: &str, suggestion: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This map has no element with the key {name:?}.{suggestion}");
    Diagnostic::error("Missing map element", detail).at(at)
}

pub(crate) fn unknown_function(name: &str, suggestion: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!("There is no function named {name:?}.{suggestion}");
    error("Call to unknown function", detail, at, call)
}
pub(crate) fn unknown_core_function(name: &str, suggestion: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!("There is no built-in function named {name:?}.{suggestion}");
    error("Call to unknown function", detail, at, call)
}
pub(crate) fn unknown_namespace(name: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!(
        "There is no function {name:?}. The namespaces of functions are \"core\" for the built-in ones and \
         \"provider\" for those of providers."
    );
    error("Unknown function namespace", detail, at, call)
}
pub(crate) fn provider_function_here(name: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!("The function {name:?} of a provider cannot be called here.");
    error("Call to unknown function", detail, at, call)
}
pub(crate) fn expanding_null(arg: Span, call: Span) -> Diagnostic {
    let detail = "The argument before the ellipsis (...) is null, so it has no elements to pass on.";
    error("Invalid expanding argument value", detail, arg, call)
}
pub(crate) fn expanding_type(kind: &str, arg: Span, call: Span) -> Diagnostic {
    let detail =
        eco_format!("The argument before the ellipsis (...) must be a tuple, list or set, but this is a {kind}.");
    error("Invalid expanding argument value", detail, arg, call)
}
pub(crate) fn not_enough_arguments(detail: EcoString, close: Span, call: Span) -> Diagnostic {
    error("Not enough function arguments", detail, close, call)
}
pub(crate) fn too_many_arguments(detail: EcoString, first_extra: Span, call: Span) -> Diagnostic {
    error("Too many function arguments", detail, first_extra, call)
}
pub(crate) fn invalid_argument(name: &str, param: &str, reason: &str, arg: Span, call: Span) -> Diagnostic {
    let detail = match of_provider(name) {
        true => eco_format!("Invalid value for {param:?} parameter: {reason}."),
        false => eco_format!("The value given for the parameter {param:?} is not accepted: {reason}."),
    };
    error("Invalid function argument", detail, arg, call)
}
pub(crate) fn call_failed(name: &str, reason: &str, start: Span, call: Span) -> Diagnostic {
    let detail = match of_provider(name) {
        true => eco_format!("Call to function {name:?} failed: {reason}."),
        false => eco_format!("The function {name:?} failed: {reason}."),
    };
    error("Error in function call", detail, start, call)
}
/// Tests of providers look for the words of messages about their functions, and for where lines break in them.
fn of_provider(name: &str) -> bool {
    name.starts_with("provider::")
}
