//! What can be wrong in a static place, in words.

use ecow::{EcoString, eco_format};
use yuba_addrs::Subject;
use yuba_config::Module;
use yuba_config::variable::Variable;
use yuba_syntax::{Diagnostic, Diagnostics, Expr, Sources, Span};

use crate::functions::{Builtin, FunctionTable};
use crate::references::each_call;
use yuba_syntax::suggestion::did_you_mean;

/// The title of errors about a value that is needed before anything is planned and is not available.
const UNAVAILABLE: &str = "Unable to compute static value";

/// Whether an error says that a value is not available that is needed before anything is planned.
pub fn is_unavailable(problem: &Diagnostic) -> bool {
    problem.is_error() && problem.summary == UNAVAILABLE
}

pub(super) fn plain(summary: impl Into<EcoString>, detail: impl Into<EcoString>, span: Option<Span>) -> Diagnostic {
    let diagnostic = Diagnostic::error(summary, detail);
    match span {
        Some(span) => diagnostic.at(span),
        None => diagnostic,
    }
}

pub(super) fn not_static(summary: &str, subject: &Subject, place: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!(
        "{place} must be known before anything is planned, so it cannot use {subject}. It can use input variables, local \
         values that do not depend on other things, path and terraform.workspace."
    );
    plain(summary, detail, span)
}

pub(super) fn applying(span: Option<Span>) -> Diagnostic {
    let detail =
        "Whether a plan is being applied is not known in a place that is evaluated before anything is planned.";
    plain("Invalid attribute in static context", detail, span)
}

pub(super) fn undefined_local(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, module.locals.keys().map(EcoString::as_str));
    plain("Undefined local", eco_format!("No locals block of this module defines local.{name}.{hint}"), span)
}

pub(super) fn undefined_variable(name: &str, module: &Module, span: Option<Span>) -> Diagnostic {
    let hint = did_you_mean(name, module.variables.keys().map(EcoString::as_str));
    plain("Undefined variable", eco_format!("This module does not declare the variable var.{name}.{hint}"), span)
}

pub(super) fn not_constant(name: &str, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!(
        "The variable {name:?} is declared with \"const = false\", so it cannot be used where the value must be known before \
         anything is planned."
    );
    plain("Unable to use variable in static context", detail, span)
}

pub(super) fn secret_backend(kind: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "What a backend block says is kept in the data directory and in plan files, where everybody who has them can read it, \
         so it cannot have {kind} values. Give them in the environment variables that the backend reads instead."
    );
    Diagnostic::error(eco_format!("Backend config contains {kind} values"), detail).at(span)
}

pub(super) fn circular(name: &str, asked_by: &str, span: Span) -> Diagnostic {
    let detail = if name == asked_by {
        eco_format!("{name} is self referential: its value depends on itself.")
    } else {
        eco_format!("{name} is self referential: it depends on {asked_by}, which depends on {name}.")
    };
    Diagnostic::error("Circular reference", detail).at(span)
}

pub(super) fn not_available(place: &str, needed: &str, span: Option<Span>) -> Diagnostic {
    plain(UNAVAILABLE, eco_format!("{place} depends on {needed} which is not available"), span)
}

pub(super) fn too_deep(place: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("There are too many steps between {place} and the values it depends on.");
    Diagnostic::error(UNAVAILABLE, detail).at(span)
}

pub(super) fn secret(kind: &str, place: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{kind} values, or values derived from them, cannot be used as {place}: it is shown and stored in plain text."
    );
    Diagnostic::error(eco_format!("{kind} value not allowed"), detail).at(span)
}

pub(super) fn unsuitable(place: &str, reason: &str, span: Span) -> Diagnostic {
    Diagnostic::error("Unsuitable value type", eco_format!("Unsuitable value for {place}: {reason}.")).at(span)
}

pub(super) fn no_input(variable: &Variable) -> Diagnostic {
    let summary = eco_format!("Failed to request input from user for variable var.{}", variable.name);
    let detail = eco_format!(
        "The variable has no default, no value was given for it, and nobody can be asked. Its value is needed before \
         anything is planned: give it with -var, -var-file, a .tfvars file or the environment variable TF_VAR_{}.",
        variable.name
    );
    Diagnostic::error(summary, detail).at(variable.span)
}

pub(super) fn missing_argument(name: &str, module: &yuba_addrs::ModulePath, span: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The call of {module} gives no value for its variable {name:?}, which has no default.");
    plain("Missing required variable in module call", detail, span)
}

pub(super) fn rule_broken(
    variable: &Variable,
    message: Option<EcoString>,
    rule: Span,
    given: Option<Span>,
    sources: Option<&Sources>,
) -> Diagnostic {
    let place = sources
        .and_then(|sources| crate::template::place(Some(sources), rule))
        .map(|place| eco_format!(" at {place}"))
        .unwrap_or_default();
    let message = message.unwrap_or_else(|| {
        eco_format!("The value of var.{} does not meet the condition its author gave.", variable.name)
    });
    let detail = eco_format!("{message}\n\nThis was checked by the validation rule{place}.");
    Diagnostic::error("Invalid value for variable", detail).at(given.unwrap_or(variable.span))
}

/// Calls of functions whose answers differ from call to call: a static place is evaluated again by every command.
pub(crate) fn unpredictable_call(expr: &Expr, place: &str) -> Diagnostics {
    let mut problems = Diagnostics::new();
    each_call(expr, &mut |call| {
        let unpredictable = match FunctionTable::module().get(&call.name) {
            Some(Builtin::World(function)) => function.unpredictable || function.signature.name == "plantimestamp",
            _ => false,
        };
        if unpredictable {
            let detail = eco_format!(
                "{place} is evaluated anew by every command, and the function {:?} gives another answer each time: \
                 what one command installs or configures, the next one would not find. Use a fixed value, or an input \
                 variable.",
                call.name
            );
            problems.push(Diagnostic::error("Unpredictable function in static context", detail).at(call.name_span));
        }
    });
    problems
}
