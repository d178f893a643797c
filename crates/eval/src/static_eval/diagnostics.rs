//! The catalogue of errors in static contexts, which are evaluated before planning: sources, versions, backends,
//! `for_each`.

use ecow::{EcoString, eco_format};
use yuba_addrs::Subject;
use yuba_config::Module;
use yuba_config::variable::Variable;
use yuba_syntax::{Code, Diagnostic, Diagnostics, Expr, Sources, Span};

use crate::functions::{Builtin, FunctionTable};
use crate::references::each_call;
use crate::validate::diagnostics::VARIABLE_VALIDATION_FAILED;
use yuba_syntax::suggestion::did_you_mean;

yuba_syntax::catalogue! {
    /// A value that is evaluated before planning depends on a module output.
    MODULE_OUTPUT_NOT_STATIC = error "module-output-not-static", "Module output not supported in static context";
    /// A value that is evaluated before planning calls a provider function.
    PROVIDER_FUNCTION_NOT_STATIC = error "provider-function-not-static", "Provider function in static context";
    /// A value that is evaluated before planning depends on a resource or another object without a static value.
    VALUE_NOT_STATIC = error "value-not-static", "Dynamic value in static context";
    /// A value that is evaluated before planning reads `terraform.applying`.
    APPLYING_NOT_STATIC = error "applying-not-static", "Invalid attribute in static context";
    /// A static value refers to a local value that the module does not define.
    UNDEFINED_STATIC_LOCAL = error "undefined-static-local", "Undefined local";
    /// A static value refers to an input variable that the module does not declare.
    UNDEFINED_STATIC_VARIABLE = error "undefined-static-variable", "Undefined variable";
    /// A value that is evaluated before planning uses a variable with `const = false`.
    VARIABLE_NOT_CONSTANT = error "variable-not-constant", "Unable to use variable in static context";
    /// A backend block contains sensitive or ephemeral values.
    SECRET_IN_BACKEND = error "secret-in-backend", "Backend config contains {kind} values";
    /// A static value depends on itself.
    CIRCULAR_STATIC_VALUE = error "circular-static-value", "Circular reference";
    /// A value that is required before planning cannot be computed.
    STATIC_VALUE_UNAVAILABLE = error "static-value-unavailable", "Unable to compute static value";
    /// A sensitive or ephemeral value is used where the value is displayed and stored.
    SECRET_STATIC_VALUE = error "secret-static-value", "{Kind} value not allowed";
    /// A static value is null, unknown or not a string.
    UNSUITABLE_STATIC_VALUE = error "unsuitable-static-value", "Unsuitable value type";
    /// A variable that is required before planning is not set, and input is disabled.
    NO_STATIC_INPUT = error "no-static-input", "Failed to request input from user for variable {variable}";
    /// A module call does not set a required variable that is needed before planning.
    MISSING_STATIC_ARGUMENT = error "missing-static-argument", "Missing required variable in module call";
    /// A static value calls a function whose result differs between commands.
    UNPREDICTABLE_STATIC_FUNCTION = error "unpredictable-static-function", "Unpredictable function in static context";
    /// The value of for_each is not a known, public map or set of strings.
    INVALID_FOR_EACH = error "invalid-for-each", "Invalid for_each argument";
}

/// Whether an error reports that a value required before planning is not available.
pub fn is_unavailable(problem: &Diagnostic) -> bool {
    problem.is(&STATIC_VALUE_UNAVAILABLE)
}

pub(super) fn not_static(subject: &Subject, location: &str, span: Option<Span>) -> Diagnostic {
    let code: &'static Code = match subject {
        Subject::ModuleOutput(..) => &MODULE_OUTPUT_NOT_STATIC,
        Subject::ProviderFunction(_) => &PROVIDER_FUNCTION_NOT_STATIC,
        _ => &VALUE_NOT_STATIC,
    };
    let detail = eco_format!(
        "{location} is evaluated before planning, so it cannot use {subject}. It can use input variables, static local values, \
         path and terraform.workspace."
    );
    Diagnostic::new(code, detail).at(span)
}

pub(super) fn applying(span: Option<Span>) -> Diagnostic {
    let detail = "This value is evaluated before planning, so it cannot depend on whether a plan is being applied.";
    Diagnostic::new(&APPLYING_NOT_STATIC, detail).at(span)
}

pub(super) fn undefined_local(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, module.locals.keys().map(EcoString::as_str));
    let detail = eco_format!("No locals block of this module defines local.{name}.");
    Diagnostic::new(&UNDEFINED_STATIC_LOCAL, detail).hint(hint.trim_start()).at(span)
}

pub(super) fn undefined_variable(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, module.variables.keys().map(EcoString::as_str));
    let detail = eco_format!("This module does not declare the variable var.{name}.");
    Diagnostic::new(&UNDEFINED_STATIC_VARIABLE, detail).hint(hint.trim_start()).at(span)
}

pub(super) fn not_constant(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!(
        "The variable {name:?} is declared with \"const = false\", so values that are evaluated before planning cannot use it."
    );
    Diagnostic::new(&VARIABLE_NOT_CONSTANT, detail).at(span)
}

pub(super) fn secret_backend(kind: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The data directory and plan files store the backend configuration in plain text, so it cannot contain {kind} values."
    );
    Diagnostic::new(&SECRET_IN_BACKEND, detail)
        .titled(eco_format!("Backend config contains {kind} values"))
        .naming(kind)
        .hint("Set them in the environment variables that the backend reads.")
        .at(span)
}

pub(super) fn circular(name: &str, asked_by: &str, span: Span) -> Diagnostic {
    let detail = if name == asked_by {
        eco_format!("{name} is self referential: its value depends on itself.")
    } else {
        eco_format!("{name} is self referential: it depends on {asked_by}, which depends on {name}.")
    };
    Diagnostic::new(&CIRCULAR_STATIC_VALUE, detail).at(span)
}

pub(super) fn not_available(location: &str, needed: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("{location} depends on {needed} which is not available");
    Diagnostic::new(&STATIC_VALUE_UNAVAILABLE, detail).at(span)
}

pub(super) fn too_deep(location: &str, limit: u32, span: Span) -> Diagnostic {
    let detail = eco_format!("{location} depends on other values over more than {limit} levels.");
    Diagnostic::new(&STATIC_VALUE_UNAVAILABLE, detail).at(span)
}

/// A variable with `const = true` has no value before planning.
pub(crate) fn const_not_available(variable: &Variable, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The variable {:?} is declared with \"const = true\", but its value is not available before planning.",
        variable.name
    );
    Diagnostic::new(&STATIC_VALUE_UNAVAILABLE, detail).at(at)
}

pub(super) fn secret(kind: &str, location: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{kind} values, or values derived from them, cannot be used as {location}: it is displayed and stored in plain text."
    );
    Diagnostic::new(&SECRET_STATIC_VALUE, detail).titled(eco_format!("{kind} value not allowed")).naming(kind).at(span)
}

pub(super) fn unsuitable(location: &str, reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&UNSUITABLE_STATIC_VALUE, eco_format!("Unsuitable value for {location}: {reason}.")).at(span)
}

pub(super) fn no_input(variable: &Variable) -> Diagnostic {
    let name = &variable.name;
    let detail = eco_format!(
        "The variable {name:?} is required before planning, but it has no default, it is not set, and input is disabled."
    );
    Diagnostic::new(&NO_STATIC_INPUT, detail)
        .titled(eco_format!("Failed to request input from user for variable var.{name}"))
        .naming(name)
        .hint(eco_format!("Set it with -var, -var-file, a .tfvars file or the environment variable TF_VAR_{name}."))
        .at(variable.span)
}

pub(super) fn missing_argument(name: &str, module: &yuba_addrs::ModulePath, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The call of {module} does not set the variable {name:?}, which has no default.");
    Diagnostic::new(&MISSING_STATIC_ARGUMENT, detail).at(span)
}

pub(super) fn rule_broken(
    variable: &Variable,
    message: Option<EcoString>,
    rule: Span,
    given: Option<Span>,
    sources: Option<&Sources>,
) -> Diagnostic {
    let location = sources
        .and_then(|sources| crate::template::location(Some(sources), rule))
        .map(|location| eco_format!(" at {location}"))
        .unwrap_or_default();
    let message = message.unwrap_or_else(|| {
        eco_format!("The value of var.{} does not meet a condition of its declaration.", variable.name)
    });
    let detail = eco_format!("{message}\n\nThis was checked by the validation rule{location}.");
    Diagnostic::new(&VARIABLE_VALIDATION_FAILED, detail).at(given.unwrap_or(variable.span))
}

// for_each

/// The keys of a for_each are known only after apply.
pub(super) fn for_each_unknown(span: Span) -> Diagnostic {
    let detail = "The instance keys must be known during planning, but this value is known only after apply.";
    Diagnostic::new(&INVALID_FOR_EACH, detail).hint("Use a map with known keys: its values may be unknown.").at(span)
}

pub(super) fn for_each_null(span: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_FOR_EACH, "The value of \"for_each\" is null.")
        .hint("Use an empty map or set for no instances.")
        .at(span)
}

/// `kind` is `Sensitive` or `Ephemeral`.
pub(super) fn for_each_secret(kind: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{kind} values, or values derived from them, cannot be used for \"for_each\": addresses contain the instance keys."
    );
    Diagnostic::new(&INVALID_FOR_EACH, detail).at(span)
}

pub(super) fn for_each_contains_null(span: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_FOR_EACH, "A set for \"for_each\" must not contain null.").at(span)
}

pub(super) fn for_each_set_type(element: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("A set for \"for_each\" must be a set of strings, but this is a set of {element}.");
    Diagnostic::new(&INVALID_FOR_EACH, detail).at(span)
}

pub(super) fn for_each_type(kind: &str, hint: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The value of \"for_each\" must be a map or a set of strings, but this is {kind}.");
    Diagnostic::new(&INVALID_FOR_EACH, detail).hint(hint).at(span)
}

/// Whether a static value calls a function whose result differs between commands.
pub(crate) fn is_unpredictable_call(problem: &Diagnostic) -> bool {
    problem.is(&UNPREDICTABLE_STATIC_FUNCTION)
}

/// Calls of functions whose results differ between calls: every command evaluates a static context again.
pub(crate) fn unpredictable_call(expr: &Expr, location: &str) -> Diagnostics {
    let mut problems = Diagnostics::new();
    each_call(expr, &mut |call| {
        let unpredictable = match FunctionTable::module().get(&call.name) {
            Some(Builtin::World(function)) => function.unpredictable || function.signature.name == "plantimestamp",
            _ => false,
        };
        if unpredictable {
            let detail = eco_format!(
                "Every command evaluates {location} again, but the result of the function {:?} differs between calls.",
                call.name
            );
            let problem = Diagnostic::new(&UNPREDICTABLE_STATIC_FUNCTION, detail);
            problems.push(problem.hint("Use a fixed value or an input variable.").at(call.name_span));
        }
    });
    problems
}
