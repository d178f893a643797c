//! Diagnostics of `explain`.

use yuba_syntax::Diagnostic;
use yuba_value::quote::quote;

yuba_syntax::catalogue! {
    /// `explain` has no argument or more than two, or a plan file with a diagnostic code.
    EXPLAIN_ARGUMENTS = error "explain-arguments", "Invalid number of arguments";
    /// `explain` has a plan file and an option for a plan of its own or for a state.
    EXPLAIN_SOURCES_CONFLICT = error "explain-sources-conflict", "Invalid combination of options";
    /// The argument of `explain` is neither a diagnostic code or title nor an address.
    EXPLAINED_CODE_UNKNOWN = error "explained-code-unknown", "Unknown diagnostic code";
    /// The argument of `explain` looks like an address and is not valid: often the shell has removed the quotes around a key.
    EXPLAINED_ADDRESS_INVALID = error "explained-address-invalid", "Invalid address";
    /// Neither the configuration nor the state nor the plan contains the address that `explain` was given.
    EXPLAINED_ADDRESS_UNKNOWN = error "explained-address-unknown", "Unknown address";
}

pub(super) fn arguments(required: &str) -> Diagnostic {
    Diagnostic::new(&EXPLAIN_ARGUMENTS, format!("The command requires {required}."))
}

pub(super) fn sources_conflict(option: &str) -> Diagnostic {
    let detail = format!("The option -{option} has no effect on a saved plan.");
    Diagnostic::new(&EXPLAIN_SOURCES_CONFLICT, detail).hint("Remove the option or the plan file.")
}

pub(super) fn unknown_code(given: &str, similar: &[&str]) -> Diagnostic {
    let detail = format!("{} is neither the code or title of a diagnostic nor an address.", quote(given));
    let problem = Diagnostic::new(&EXPLAINED_CODE_UNKNOWN, detail);
    match similar {
        [] => problem.hint("docs/diagnostics.md lists all codes."),
        similar => problem.hint(format!("Similar codes: {}.", similar.join(", "))),
    }
}

pub(super) fn invalid_address(given: &str) -> Diagnostic {
    let detail = format!("{} is not an address of a resource, module, output, variable or local value.", quote(given));
    Diagnostic::new(&EXPLAINED_ADDRESS_INVALID, detail)
        .hint("Quote keys for the shell, for example 'aws_instance.web[\"a\"]'.")
}

pub(super) fn unknown_address(given: &str, similar: Option<&str>) -> Diagnostic {
    let detail = format!("Neither the configuration nor the state nor the plan contains {given}.");
    let problem = Diagnostic::new(&EXPLAINED_ADDRESS_UNKNOWN, detail);
    match similar {
        Some(similar) => problem.hint(format!("Did you mean {similar}?")),
        None => problem.hint("Run \"yuba state list\" for the addresses in the state."),
    }
}
