//! Diagnostics of `test` about its flags and its output.

use std::fmt::Display;

use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// A flag of `test` is not a whole number, or is too small.
    TEST_FLAG_NOT_A_NUMBER = error "test-flag-not-a-number", "Invalid argument";
    /// The plan of a run cannot be written as JSON.
    TEST_PLAN_NOT_RENDERED = warning "test-plan-not-rendered", "Failed to render test plan";
    /// The state of a run cannot be written as JSON.
    TEST_STATE_NOT_RENDERED = warning "test-state-not-rendered", "Failed to render test state";
    /// The state of objects that a test could not destroy cannot be saved.
    TEST_STATE_NOT_PERSISTED = error "test-state-not-persisted", "Failed to persist state";
    /// The file of `-junit-xml` cannot be written.
    JUNIT_FILE_UNWRITABLE = error "junit-file-unwritable", "Failed to write JUnit XML";
}

pub(super) fn invalid_number(flag: &str, least: u64, given: &str) -> Diagnostic {
    let detail = format!("-{flag} requires a whole number of at least {least}, not {given:?}.");
    Diagnostic::new(&TEST_FLAG_NOT_A_NUMBER, detail)
}

pub(super) fn plan_not_rendered(reason: &dyn Display) -> Diagnostic {
    Diagnostic::new(&TEST_PLAN_NOT_RENDERED, format!("Failed to write the plan as JSON: {reason}."))
}

pub(super) fn state_not_rendered(reason: &dyn Display) -> Diagnostic {
    Diagnostic::new(&TEST_STATE_NOT_RENDERED, format!("Failed to write the state as JSON: {reason}."))
}

pub(super) fn state_not_persisted() -> Diagnostic {
    let detail = "Failed to write the state of the remaining objects to a file. The state is printed below.";
    Diagnostic::new(&TEST_STATE_NOT_PERSISTED, detail)
        .hint("Copy it to a file, from the first brace to the last, to find the objects again.")
}

pub(super) fn junit_unwritable(path: &str, error: &dyn Display) -> Diagnostic {
    Diagnostic::new(&JUNIT_FILE_UNWRITABLE, format!("Failed to write the results to {path}: {error}."))
}
