//! The catalogue of what can be wrong with an expression and with the values of input variables.
//!
//! Summaries are fixed: people search for them and tools match them. Details say what failed and why, hints what to do.

use ecow::{EcoString, eco_format};
use yuba_config::variable::Variable;
use yuba_syntax::{Code, Diagnostic, Diagnostics, Span};

use crate::inputs::{ENVIRONMENT_PREFIX, GivenAt, InputOrigin};

yuba_syntax::catalogue! {
    /// An operand of an operator has a type that the operator does not accept.
    INVALID_OPERAND = error "invalid-operand", "Invalid operand";
    /// An operator has no result for its operands, such as a division by zero.
    OPERATION_FAILED = error "operation-failed", "Operation failed";
    /// Both results of a conditional expression have types that cannot be unified.
    INCONSISTENT_CONDITIONAL = error "inconsistent-conditional", "Inconsistent conditional result types";
    /// The condition of a conditional expression is null.
    NULL_CONDITION = error "null-condition", "Null condition";
    /// The condition of a conditional expression is not a bool.
    CONDITION_NOT_BOOL = error "condition-not-bool", "Incorrect condition type";
    /// The key of an item in an object expression is null.
    NULL_OBJECT_KEY = error "null-object-key", "Null value as key";
    /// The key of an item in an object expression cannot be converted to a string.
    OBJECT_KEY_TYPE = error "object-key-type", "Incorrect key type";
    /// The key of an item in an object expression is written like a reference, without parentheses or quotes.
    AMBIGUOUS_OBJECT_KEY = error "ambiguous-object-key", "Ambiguous attribute key";
    /// A property name in the JSON syntax is a template whose result is not a string.
    INVALID_JSON_OBJECT_KEY = error "invalid-json-object-key", "Invalid object key expression";
    /// Two property names of one object in the JSON syntax have the same value.
    DUPLICATE_JSON_OBJECT_KEY = error "duplicate-json-object-key", "Duplicate object attribute";
    /// The collection of a `for` expression is null.
    FOR_OVER_NULL = error "for-over-null", "Iteration over null value";
    /// The collection of a `for` expression has a type without elements.
    FOR_OVER_PRIMITIVE = error "for-over-primitive", "Iteration over non-iterable value";
    /// The `if` clause of a `for` expression is null for every element.
    FOR_CONDITION_ALWAYS_NULL = error "for-condition-always-null", "Condition is null";
    /// The `if` clause of a `for` expression is null or not a bool for an element.
    INVALID_FOR_CONDITION = error "invalid-for-condition", "Invalid 'for' condition";
    /// The key of a `for` expression is null or cannot be converted to a string.
    INVALID_FOR_KEY = error "invalid-for-key", "Invalid object key";
    /// A `for` expression without grouping mode has the same key for two elements.
    DUPLICATE_FOR_KEY = error "duplicate-for-key", "Duplicate object key";
    /// A splat is applied to a list, set or tuple that is null.
    SPLAT_OF_NULL = error "splat-of-null", "Splat of null value";
    /// A splat inside a splat has elements whose types cannot be unified.
    INVALID_NESTED_SPLAT = error "invalid-nested-splat", "Invalid nested splat expressions";
    /// A template contains a value that is null or cannot be converted to a string.
    INVALID_TEMPLATE_VALUE = error "invalid-template-value", "Invalid template interpolation value";
    /// The result of an expression exceeds the memory limit of evaluation.
    RESULT_TOO_LARGE = error "result-too-large", "Result too large";
    /// The `for` expressions of an expression exceed the limit of iterations.
    TOO_MANY_ITERATIONS = error "too-many-iterations", "Too many iterations";
    /// A number literal is outside of the supported range.
    NUMBER_OUT_OF_RANGE = error "number-out-of-range", "Invalid number literal";
    /// An expression refers to a variable that its scope does not define.
    UNKNOWN_EXPRESSION_VARIABLE = error "unknown-expression-variable", "Unknown variable";
    /// An index is applied to null.
    INDEX_OF_NULL = error "index-of-null", "Attempt to index null value";
    /// An index does not select an element of the collection.
    INVALID_INDEX = error "invalid-index", "Invalid index";
    /// An attribute is read from null.
    ATTRIBUTE_OF_NULL = error "attribute-of-null", "Attempt to get attribute from null value";
    /// A value has no attribute of the given name.
    UNSUPPORTED_VALUE_ATTRIBUTE = error "unsupported-value-attribute", "Unsupported attribute";
    /// A map has no element with the given key.
    MISSING_MAP_ELEMENT = error "missing-map-element", "Missing map element";
    /// An expression calls a function that does not exist or is not available there.
    UNKNOWN_FUNCTION = error "unknown-function", "Call to unknown function";
    /// A function name has a namespace that does not exist.
    UNKNOWN_FUNCTION_NAMESPACE = error "unknown-function-namespace", "Unknown function namespace";
    /// The argument before an ellipsis is null or not a sequence.
    INVALID_EXPANDING_ARGUMENT = error "invalid-expanding-argument", "Invalid expanding argument value";
    /// A function call has fewer arguments than the function requires.
    NOT_ENOUGH_ARGUMENTS = error "not-enough-arguments", "Not enough function arguments";
    /// A function call has more arguments than the function accepts.
    TOO_MANY_ARGUMENTS = error "too-many-arguments", "Too many function arguments";
    /// A function rejects the value of one of its arguments.
    INVALID_FUNCTION_ARGUMENT = error "invalid-function-argument", "Invalid function argument";
    /// A function call fails for another reason than the value of one argument.
    FUNCTION_CALL_FAILED = error "function-call-failed", "Error in function call";
    /// Calls of templatefile exceed the limit of nested templates.
    TEMPLATES_NESTED_TOO_DEEPLY = error "templates-nested-too-deeply", "Error in function call";
    /// A function is called where only a constant is allowed.
    FUNCTION_CALL_IN_CONSTANT = error "function-call-in-constant", "Function calls not allowed";
    /// A reference is used where only a constant is allowed.
    REFERENCE_IN_CONSTANT = error "reference-in-constant", "Variables not allowed";
    /// The value of an input variable cannot be converted to the declared type or cannot be parsed.
    INVALID_INPUT_VALUE = error "invalid-input-value", "Invalid value for input variable";
    /// An input variable with `nullable = false` and without a default is set to null.
    NULL_FOR_REQUIRED_VARIABLE = error "null-for-required-variable", "Required variable not set";
    /// An input variable of the root module without a default is not set.
    NO_VALUE_FOR_VARIABLE = error "no-value-for-variable", "No value for required variable";
    /// The value of an input variable differs from the value stored in the plan file.
    INPUT_DIFFERS_FROM_PLAN = error "input-differs-from-plan", "Mismatch between input and plan variable value";
    /// A -var option does not have the form `name=value`.
    INVALID_VAR_OPTION = error "invalid-var-option", "Invalid -var option";
    /// A .tfvars file contains a variable block.
    VARIABLE_DECLARATION_IN_TFVARS = error "variable-declaration-in-tfvars", "Variable declaration in .tfvars file";
    /// A -var option sets a variable that the root module does not declare.
    UNDECLARED_VARIABLE_IN_OPTION = error "undeclared-variable-in-option", "Value for undeclared variable";
    /// A .tfvars file sets a variable that the root module does not declare.
    UNDECLARED_VARIABLE_IN_FILE = warning "undeclared-variable-in-file", "Value for undeclared variable";
    /// Files set more variables that the root module does not declare than are reported one by one.
    MORE_UNDECLARED_VARIABLES = warning "more-undeclared-variables", "Values for undeclared variables";
}

/// A diagnostic with a location and a wider range around it.
fn error(code: &'static Code, detail: impl Into<EcoString>, subject: Span, context: Span) -> Diagnostic {
    Diagnostic::new(code, detail).at(subject).within(context)
}

// Operators and conditionals.

pub(crate) fn invalid_operand(side: &str, reason: &str, operand: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("This value is not suitable as the {side} operand: {reason}.");
    error(&INVALID_OPERAND, detail, operand, whole)
}
pub(crate) fn operation_failed(reason: &str, whole: Span) -> Diagnostic {
    Diagnostic::new(&OPERATION_FAILED, eco_format!("The operation has no result: {reason}.")).at(whole)
}

pub(crate) fn inconsistent_conditional(difference: &str, results: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("The types of both results of a conditional must be compatible. {difference}.");
    error(&INCONSISTENT_CONDITIONAL, detail, results, whole)
}
pub(crate) fn conditional_result(which: &str, reason: &str, result: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("The {which} result cannot be converted to the type of the other result: {reason}.");
    error(&INCONSISTENT_CONDITIONAL, detail, result, whole)
}
pub(crate) fn null_condition(condition: Span, whole: Span) -> Diagnostic {
    error(&NULL_CONDITION, "The condition is null, but it must be true or false.", condition, whole)
}
pub(crate) fn condition_type(condition: Span, whole: Span) -> Diagnostic {
    error(&CONDITION_NOT_BOOL, "The condition must be a bool: true or false.", condition, whole)
}

// Objects.

pub(crate) fn null_key(value: Span) -> Diagnostic {
    Diagnostic::new(&NULL_OBJECT_KEY, "The key of this item is null, but a key must be a string.").at(value)
}
pub(crate) fn key_type(reason: &str, key: Span) -> Diagnostic {
    Diagnostic::new(&OBJECT_KEY_TYPE, eco_format!("This value cannot be a key: {reason}.")).at(key)
}
pub(crate) fn ambiguous_key(key: Span) -> Diagnostic {
    Diagnostic::new(&AMBIGUOUS_OBJECT_KEY, "This key is either a reference or a literal key that contains dots.")
        .hint("Enclose it in parentheses to use the value of the reference, or in quotes to use it literally.")
        .at(key)
}

pub(crate) fn json_key(reason: &str, key: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_JSON_OBJECT_KEY, eco_format!("This value cannot be a key: {reason}.")).at(key)
}
pub(crate) fn json_duplicate(name: &str, key: Span) -> Diagnostic {
    let detail = eco_format!("This object defines the attribute {name:?} twice.");
    Diagnostic::new(&DUPLICATE_JSON_OBJECT_KEY, detail).at(key)
}

// `for` and splat.

pub(crate) fn for_over_null(collection: Span, whole: Span) -> Diagnostic {
    error(&FOR_OVER_NULL, "The collection of this 'for' expression is null.", collection, whole)
}
pub(crate) fn for_over_primitive(kind: &str, collection: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!(
        "A 'for' expression iterates over the elements of a list, set, map, tuple or object, but this is a {kind}."
    );
    error(&FOR_OVER_PRIMITIVE, detail, collection, whole)
}
/// The `if` clause is null whatever the element is.
pub(crate) fn for_condition_always_null(condition: Span, whole: Span) -> Diagnostic {
    error(&FOR_CONDITION_ALWAYS_NULL, "The 'if' clause is null, but it must be true or false.", condition, whole)
}
pub(crate) fn for_condition_null(condition: Span, whole: Span) -> Diagnostic {
    error(&INVALID_FOR_CONDITION, "The 'if' clause is null, but it must be true or false.", condition, whole)
}
pub(crate) fn for_condition(reason: &str, condition: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("The 'if' clause must be true or false: {reason}.");
    error(&INVALID_FOR_CONDITION, detail, condition, whole)
}
pub(crate) fn for_key_null(key: Span, whole: Span) -> Diagnostic {
    error(&INVALID_FOR_KEY, "The key of this 'for' expression is null, but it must be a string.", key, whole)
}
pub(crate) fn for_key(reason: &str, key: Span, whole: Span) -> Diagnostic {
    error(&INVALID_FOR_KEY, eco_format!("The result cannot be used as a key: {reason}."), key, whole)
}

/// Advice for several elements with one key.
const GROUPING_MODE: &str = "To collect the values of each key in a tuple, write an ellipsis (...) after the value.";

pub(crate) fn for_duplicate_key(name: &str, key: Span, whole: Span) -> Diagnostic {
    let detail = eco_format!("More than one item has the key {name:?}.");
    error(&DUPLICATE_FOR_KEY, detail, key, whole).hint(GROUPING_MODE)
}
pub(crate) fn for_duplicate_secret_key(key: Span, whole: Span) -> Diagnostic {
    error(&DUPLICATE_FOR_KEY, "More than one item has the same key.", key, whole).hint(GROUPING_MODE)
}

pub(crate) fn splat_of_null(source: Span, context: Span) -> Diagnostic {
    let detail = "This list, set or tuple is null, so the splat (*) has no elements to iterate over.";
    error(&SPLAT_OF_NULL, detail, source, context)
}
pub(crate) fn nested_splat(each: Span, whole: Span) -> Diagnostic {
    let detail = "The elements of the inner splat have different types, but the elements of a list have one type.";
    error(&INVALID_NESTED_SPLAT, detail, each, whole)
        .hint("Write a 'for' expression instead: its result is a tuple, whose elements may differ in type.")
}

// Templates.

pub(crate) fn null_in_template(part: Span, whole: Span) -> Diagnostic {
    error(&INVALID_TEMPLATE_VALUE, "This value is null. A template cannot contain null.", part, whole)
}
pub(crate) fn not_text_in_template(reason: &str, part: Span, whole: Span) -> Diagnostic {
    let detail =
        eco_format!("A template cannot contain this value, because it cannot be converted to a string: {reason}.");
    error(&INVALID_TEMPLATE_VALUE, detail, part, whole)
}
pub(crate) fn null_in_template_for(whole: Span) -> Diagnostic {
    let detail = "The result of one iteration of this 'for' is null. A template cannot contain null.";
    Diagnostic::new(&INVALID_TEMPLATE_VALUE, detail).at(whole)
}
pub(crate) fn not_text_in_template_for(reason: &str, whole: Span) -> Diagnostic {
    let detail = eco_format!("The result of one iteration of this 'for' cannot be converted to a string: {reason}.");
    Diagnostic::new(&INVALID_TEMPLATE_VALUE, detail).at(whole)
}

// Limits.

pub(crate) fn result_too_large(whole: Span) -> Diagnostic {
    let detail = eco_format!(
        "The result of this expression exceeds the limit of {} MiB of memory.",
        crate::expression::MEMORY_BUDGET >> 20
    );
    Diagnostic::new(&RESULT_TOO_LARGE, detail).hint("Build it from smaller parts.").at(whole)
}

pub(crate) fn too_many_rounds(whole: Span) -> Diagnostic {
    let detail = eco_format!(
        "The 'for' expressions in this expression exceed the limit of {} iterations.",
        crate::expression::MAX_ROUNDS
    );
    Diagnostic::new(&TOO_MANY_ITERATIONS, detail).hint("Use smaller collections.").at(whole)
}
pub(crate) fn number_range(literal: Span) -> Diagnostic {
    let detail = "This number is too large or too close to zero to be represented.";
    Diagnostic::new(&NUMBER_OUT_OF_RANGE, detail).at(literal)
}

// Names and steps.

pub(crate) fn unknown_variable(name: &str, suggestion: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("There is no variable named {name:?} in this scope.");
    Diagnostic::new(&UNKNOWN_EXPRESSION_VARIABLE, detail).hint(suggestion.trim_start()).at(at)
}
pub(crate) fn index_of_null(at: Span) -> Diagnostic {
    Diagnostic::new(&INDEX_OF_NULL, "This value is null, so it has no elements.").at(at)
}
pub(crate) fn invalid_index(detail: impl Into<EcoString>, at: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_INDEX, detail).at(at)
}
pub(crate) fn index_of_set(at: Span) -> Diagnostic {
    invalid_index("The elements of a set have no order and no keys, so an index cannot select one.", at)
        .hint("Iterate over the set with a 'for' expression, or convert it with tolist.")
}
/// The text of the RFC of `lifecycle.enabled`.
pub(crate) fn attribute_of_null(at: Span) -> Diagnostic {
    Diagnostic::new(&ATTRIBUTE_OF_NULL, "This value is null, so it does not have any attributes.").at(at)
}
pub(crate) fn unsupported_attribute(detail: impl Into<EcoString>, at: Span) -> Diagnostic {
    Diagnostic::new(&UNSUPPORTED_VALUE_ATTRIBUTE, detail).at(at)
}
pub(crate) fn missing_map_element(name: &str, suggestion: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This map has no element with the key {name:?}.");
    Diagnostic::new(&MISSING_MAP_ELEMENT, detail).hint(suggestion.trim_start()).at(at)
}

// Calls.

pub(crate) fn unknown_function(name: &str, suggestion: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!("There is no function named {name:?}.");
    error(&UNKNOWN_FUNCTION, detail, at, call).hint(suggestion.trim_start())
}
pub(crate) fn unknown_core_function(name: &str, suggestion: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!("There is no built-in function named {name:?}.");
    error(&UNKNOWN_FUNCTION, detail, at, call).hint(suggestion.trim_start())
}
pub(crate) fn unknown_namespace(name: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!(
        "There is no function named {name:?}. The namespace \"core\" contains the built-in functions, \"provider\" those of \
         providers."
    );
    error(&UNKNOWN_FUNCTION_NAMESPACE, detail, at, call)
}
pub(crate) fn provider_function_here(name: &str, at: Span, call: Span) -> Diagnostic {
    let detail = eco_format!("The provider function {name:?} cannot be called in this scope.");
    error(&UNKNOWN_FUNCTION, detail, at, call)
}
pub(crate) fn expanding_null(arg: Span, call: Span) -> Diagnostic {
    let detail = "The argument before the ellipsis (...) is null, so it has no elements.";
    error(&INVALID_EXPANDING_ARGUMENT, detail, arg, call)
}
pub(crate) fn expanding_type(kind: &str, arg: Span, call: Span) -> Diagnostic {
    let detail =
        eco_format!("The argument before the ellipsis (...) must be a tuple, list or set, but this is a {kind}.");
    error(&INVALID_EXPANDING_ARGUMENT, detail, arg, call)
}
pub(crate) fn not_enough_arguments(detail: EcoString, close: Span, call: Span) -> Diagnostic {
    error(&NOT_ENOUGH_ARGUMENTS, detail, close, call)
}
pub(crate) fn too_many_arguments(detail: EcoString, first_extra: Span, call: Span) -> Diagnostic {
    error(&TOO_MANY_ARGUMENTS, detail, first_extra, call)
}
pub(crate) fn invalid_argument(name: &str, param: &str, reason: &str, arg: Span, call: Span) -> Diagnostic {
    let detail = match of_provider(name) {
        true => eco_format!("Invalid value for {param:?} parameter: {reason}."),
        false => eco_format!("The value of the parameter {param:?} is not valid: {reason}."),
    };
    error(&INVALID_FUNCTION_ARGUMENT, detail, arg, call).about(reason)
}
pub(crate) fn call_failed(name: &str, reason: &str, start: Span, call: Span) -> Diagnostic {
    let detail = match of_provider(name) {
        true => eco_format!("Call to function {name:?} failed: {reason}."),
        false => eco_format!("The function {name:?} failed: {reason}."),
    };
    error(&FUNCTION_CALL_FAILED, detail, start, call).about(reason)
}
/// A call of `templatefile` beyond the limit of nested templates. Calls around it report the same.
pub(crate) fn templates_too_deep(name: &str, reason: &str, start: Span, call: Span) -> Diagnostic {
    error(&TEMPLATES_NESTED_TOO_DEEPLY, eco_format!("The function {name:?} failed: {reason}."), start, call)
        .hint("Check that no template calls itself.")
}
/// Tests of providers compare the text of messages about their functions, including its line breaks.
fn of_provider(name: &str) -> bool {
    name.starts_with("provider::")
}

// Constants.

pub(crate) fn call_in_constant(span: Span) -> Diagnostic {
    Diagnostic::new(&FUNCTION_CALL_IN_CONSTANT, "This value must be a constant, so it cannot call functions.").at(span)
}
pub(crate) fn reference_in_constant(span: Span) -> Diagnostic {
    let detail = "This value must be a constant, so it cannot refer to other objects.";
    Diagnostic::new(&REFERENCE_IN_CONSTANT, detail).at(span)
}

// Values of input variables.

pub(crate) fn invalid_input(variable: &Variable, reason: &str, location: GivenAt<'_>) -> Diagnostic {
    let name = &variable.name;
    let source = match location {
        GivenAt::Outside(InputOrigin::CommandLine) => eco_format!(", set with -var=\"{name}=...\","),
        GivenAt::Outside(InputOrigin::Environment) => {
            eco_format!(", set in the environment variable {ENVIRONMENT_PREFIX}{name},")
        }
        GivenAt::Outside(InputOrigin::Prompt) => ", entered at the prompt,".into(),
        GivenAt::File(span, sources) => match sources.get(span.file) {
            Some(file) => {
                let at = file.position(span.start as usize);
                eco_format!(", set at {}:{},{},", file.name, at.line, at.column)
            }
            None => EcoString::new(),
        },
        _ => EcoString::new(),
    };
    let detail = eco_format!("The value of var.{name}{source} is not valid: {reason}.");
    let subject = match location {
        GivenAt::Argument(span) => span,
        GivenAt::Nowhere | GivenAt::Outside(_) | GivenAt::File(..) => variable.span,
    };
    Diagnostic::new(&INVALID_INPUT_VALUE, detail).at(subject)
}

pub(crate) fn unreadable_input(variable: &Variable, problems: &Diagnostics) -> Diagnostic {
    let reason = problems.iter().find(|problem| problem.is_error()).map(Diagnostic::explanation);
    let detail = eco_format!(
        "The value of var.{} entered at the prompt cannot be parsed: {}",
        variable.name,
        reason.unwrap_or_default()
    );
    Diagnostic::new(&INVALID_INPUT_VALUE, detail).at(variable.span)
}

pub(crate) fn null_for_required(variable: &Variable, location: GivenAt<'_>) -> Diagnostic {
    let detail = eco_format!(
        "The value of var.{} is null, but the variable is declared with \"nullable = false\" and has no default.",
        variable.name
    );
    Diagnostic::new(&NULL_FOR_REQUIRED_VARIABLE, detail).at(location.span().unwrap_or(variable.span))
}

/// An argument of a module call that is null. `path` is the called module.
pub(crate) fn null_argument(variable: &Variable, path: &yuba_addrs::ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The variable {:?} of {path} is set to null, but it is declared with \"nullable = false\" and has no default.",
        variable.name
    );
    Diagnostic::new(&NULL_FOR_REQUIRED_VARIABLE, detail).at(span)
}

/// An argument of a module call that cannot be converted to the type of the variable. `path` is the called module.
pub(crate) fn invalid_module_argument(variable: &Variable, path: &yuba_addrs::ModulePath, reason: &str) -> Diagnostic {
    let detail = eco_format!("The value of the variable {:?} of {path} is not valid: {reason}.", variable.name);
    Diagnostic::new(&INVALID_INPUT_VALUE, detail).at(variable.span)
}

/// A required variable of the root module has no value.
pub fn required_variable(variable: &Variable) -> Diagnostic {
    let detail = eco_format!("The root module variable {:?} has no default and is not set.", variable.name);
    Diagnostic::new(&NO_VALUE_FOR_VARIABLE, detail).hint("Set it with -var or -var-file.").at(variable.span)
}

pub(crate) fn required_again(variable: &Variable) -> Diagnostic {
    let detail =
        eco_format!("The variable {:?} is ephemeral, so the plan file does not contain its value.", variable.name);
    Diagnostic::new(&NO_VALUE_FOR_VARIABLE, detail).hint("Set it again with -var or -var-file.").at(variable.span)
}

pub(crate) fn unlike_planned(name: &str) -> Diagnostic {
    let detail = eco_format!("The value of the variable {name:?} differs from the value in the plan file.");
    Diagnostic::new(&INPUT_DIFFERS_FROM_PLAN, detail)
        .hint("Apply the plan without setting the variable, or create a new plan.")
}

pub(crate) fn malformed_var_option(text: &str) -> Diagnostic {
    let detail = eco_format!("The option -var {text:?} does not contain an equals sign.");
    Diagnostic::new(&INVALID_VAR_OPTION, detail).hint("Write a variable name and a value: -var=\"name=value\".")
}

pub(crate) fn space_in_var_option(name: &str, value: &str) -> Diagnostic {
    let (right, value) = (name.trim_end_matches(' '), value.strip_prefix(' ').unwrap_or(value));
    Diagnostic::new(&INVALID_VAR_OPTION, eco_format!("The variable name {name:?} ends with a space."))
        .hint(eco_format!("Did you mean -var=\"{right}={value}\"?"))
}

pub(crate) fn declaration_in_values(name: &str, file: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "A .tfvars file sets variables that a .tf file declares.\n\nTo set the variable {name:?} in {file}, write:\n    \
         {name} = <value>"
    );
    Diagnostic::new(&VARIABLE_DECLARATION_IN_TFVARS, detail)
        .hint("To declare it, move this block to a .tf file, such as variables.tf.")
        .at(span)
}

pub(crate) fn undeclared_in_option(name: &str, suggestion: &str) -> Diagnostic {
    let detail = eco_format!(
        "A -var option sets the variable {name:?}, but the root module does not declare a variable of this name."
    );
    let hint = match suggestion {
        "" => eco_format!("To use the value, add a variable {name:?} block to the configuration."),
        suggestion => suggestion.trim_start().into(),
    };
    Diagnostic::new(&UNDECLARED_VARIABLE_IN_OPTION, detail).hint(hint)
}

pub(crate) fn undeclared_in_file(name: &str, suggestion: &str, file: &str) -> Diagnostic {
    let detail = eco_format!(
        "The file {file:?} sets the variable {name:?}, but the root module does not declare a variable of this name.\
         {suggestion}\n\nTo use the value, add a variable {name:?} block to the configuration."
    );
    Diagnostic::new(&UNDECLARED_VARIABLE_IN_FILE, detail).about(file).about(name).hint(eco_format!(
        "To set a variable for several configurations without this warning, use the environment variable \
         {ENVIRONMENT_PREFIX}{name}."
    ))
}

pub(crate) fn more_undeclared(count: usize) -> Diagnostic {
    let values = if count == 1 { "1 more value" } else { &*format!("{count} more values") };
    let detail =
        eco_format!("The variable files contain {values} for variables that the root module does not declare.");
    Diagnostic::new(&MORE_UNDECLARED_VARIABLES, detail)
}
