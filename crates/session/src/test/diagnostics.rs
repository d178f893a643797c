//! Diagnostics about tests, beside those about the tested configuration.

use std::io;
use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_addrs::{ConfigResource, ModulePath, ResourceMode};
use yuba_syntax::{Diagnostic, Span};

yuba_syntax::catalogue! {
    /// No test file has a name that `-filter` selects.
    NO_TESTS_FOUND = warning "no-tests-found", "No tests were found";
    /// `-filter` names a file that is not among the test files.
    UNKNOWN_TEST_FILE = warning "unknown-test-file", "Unknown test file";
    /// A `run` block passes a provider that its test file does not define.
    TEST_PROVIDER_NOT_DEFINED = error "test-provider-not-defined", "Missing provider definition for {provider}";
    /// An override block names a module that the tested configuration does not call.
    OVERRIDDEN_MODULE_NOT_FOUND = error "overridden-module-not-found", "Module not found: {module}";
    /// An override block names a resource that the tested configuration does not declare.
    OVERRIDDEN_RESOURCE_NOT_FOUND = error "overridden-resource-not-found", "Resource not found: {resource}";
    /// An `override_resource` block names a data resource, or an `override_data` block a managed resource.
    OVERRIDE_OF_OTHER_MODE = error "override-of-other-mode", "Unsupported `{mode}` target in `{block}` block";
    /// An `override_module` block sets an output that the module does not declare.
    OVERRIDDEN_OUTPUT_NOT_FOUND = warning "overridden-output-not-found", "Output not found: {output}";
    /// Both a run and its test file override the same object.
    OVERRIDDEN_TWICE = warning "overridden-twice", "Multiple `{block}` blocks for the same address";
    /// A `run` block in the mode `refresh-only` sets `replace`.
    REPLACE_WHILE_REFRESHING = error "replace-while-refreshing", "Unsupported plan mode";
    /// The `replace` argument of a `run` block names a resource that is not managed.
    REPLACED_RESOURCE_NOT_MANAGED = error "replaced-resource-not-managed", "Can only target managed resources for forced replacements.";
    /// An object of `expect_failures` does not fail.
    EXPECTED_FAILURE_MISSING = error "expected-failure-missing", "Missing expected failure";
    /// A variable of `expect_failures` fails while planning, so that the run cannot apply.
    EXPECTED_FAILURE_BEFORE_APPLY = warning "expected-failure-before-apply", "Invalid Variable in test file";
    /// Real providers made objects that all later runs replace with mocks or overrides.
    REAL_OBJECTS_REPLACED = error "real-objects-replaced", "Objects of replaced providers cannot be destroyed";
    /// A run is interrupted.
    TEST_INTERRUPTED = error "test-interrupted", "Test interrupted";
    /// A `mock_provider` block refers to `each` while its `for_each` is not known before planning.
    MOCK_INSTANCES_UNKNOWN = error "mock-instances-unknown", "Unable to compute static value";
    /// The state of a running test cannot be written to the data directory.
    TEST_STATE_NOT_KEPT = error "test-state-not-kept", "Failed to keep test state";
    /// An earlier test process was killed before it destroyed its objects.
    OBJECTS_OF_KILLED_TEST = warning "objects-of-killed-test", "Objects of a killed test may still exist";
}

pub(super) fn no_tests_found() -> Diagnostic {
    let detail = "No test file matches -filter. Names are paths relative to the current directory.";
    Diagnostic::new(&NO_TESTS_FOUND, detail).hint("Use a name such as -filter=tests/main.tftest.hcl.")
}

pub(super) fn unknown_file(name: &str) -> Diagnostic {
    let detail = eco_format!("The test file {name:?} does not exist. Ignoring -filter={name}.");
    Diagnostic::new(&UNKNOWN_TEST_FILE, detail)
}

pub(super) fn missing_provider(key: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The test file has neither a provider block nor a mock_provider block for {key}.");
    Diagnostic::new(&TEST_PROVIDER_NOT_DEFINED, detail)
        .titled(eco_format!("Missing provider definition for {key}"))
        .naming(key)
        .at(span)
}

pub(super) fn module_not_found(module: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!("The tested configuration does not call {module}, so it cannot be overridden.");
    Diagnostic::new(&OVERRIDDEN_MODULE_NOT_FOUND, detail)
        .titled(eco_format!("Module not found: {module}"))
        .naming(module)
        .at(span)
}

pub(super) fn resource_not_found(resource: &ConfigResource, span: Span) -> Diagnostic {
    let detail = eco_format!("The tested configuration does not declare {resource}, so it cannot be overridden.");
    Diagnostic::new(&OVERRIDDEN_RESOURCE_NOT_FOUND, detail)
        .titled(eco_format!("Resource not found: {resource}"))
        .naming(resource)
        .at(span)
}

/// `mode` is that of the override block.
pub(super) fn wrong_override(mode: ResourceMode, target: &ConfigResource, span: Span) -> Diagnostic {
    let (block, other) = match mode {
        ResourceMode::Data => ("override_data", "resource"),
        _ => ("override_resource", "data"),
    };
    let detail = eco_format!("{target} is declared with a {other} block, which {block} does not override.");
    Diagnostic::new(&OVERRIDE_OF_OTHER_MODE, detail)
        .titled(eco_format!("Unsupported `{other}` target in `{block}` block"))
        .naming(other)
        .naming(block)
        .at(span)
}

pub(super) fn output_not_found(name: &str, module: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!("{module} does not declare the output {name:?}. Ignoring the value for it.");
    Diagnostic::new(&OVERRIDDEN_OUTPUT_NOT_FOUND, detail)
        .titled(eco_format!("Output not found: {name}"))
        .naming(name)
        .about(module)
        .at(span)
}

pub(super) fn overridden_twice(block: &str, target: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The run overrides {target} too. Ignoring this block for the run.");
    let title = eco_format!("Multiple `{block}` blocks for the same address");
    Diagnostic::new(&OVERRIDDEN_TWICE, detail).titled(title).naming(block).about(target).at(span)
}

pub(super) fn replace_while_refreshing() -> Diagnostic {
    let detail = "A run in the mode \"refresh-only\" changes no objects and does not support \"replace\".";
    Diagnostic::new(&REPLACE_WHILE_REFRESHING, detail)
}

pub(super) fn replace_of_data(addr: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("{addr} is not a managed resource and cannot be replaced.");
    Diagnostic::new(&REPLACED_RESOURCE_NOT_MANAGED, detail).at(span)
}

pub(super) fn missing_failure(object: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The run expects {object} to fail, but all its conditions passed.");
    Diagnostic::new(&EXPECTED_FAILURE_MISSING, detail).at(span)
}

pub(super) fn fails_before_apply(object: &EcoString) -> Diagnostic {
    let detail =
        eco_format!("{object} fails as expected. It fails while planning, so the run cannot apply and fails too.");
    Diagnostic::new(&EXPECTED_FAILURE_BEFORE_APPLY, detail)
        .hint("Set \"command = plan\" in runs that expect variables to fail.")
}

pub(super) fn cannot_destroy_real() -> Diagnostic {
    let detail = "Real providers made these objects. Every later run mocks one of these providers or overrides one of these \
                  resources, so that the objects cannot be destroyed.";
    Diagnostic::new(&REAL_OBJECTS_REPLACED, detail).hint("Mock a provider in all runs of a module, or in none.")
}

pub(super) fn interrupted() -> Diagnostic {
    let detail = "The run was interrupted. The other messages name the objects that still exist.";
    Diagnostic::new(&TEST_INTERRUPTED, detail)
}

/// A mock refers to instances that are known when the run plans.
pub(super) fn mock_instances_unknown(span: Span) -> Diagnostic {
    let detail = "The \"for_each\" of this mock_provider block is not known before the run plans. Its blocks cannot refer to \
                  \"each\".";
    Diagnostic::new(&MOCK_INSTANCES_UNKNOWN, detail)
        .hint("Use a \"for_each\" that refers to variables and locals only.")
        .at(span)
}

pub(super) fn state_not_kept(path: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!(
        "Failed to write the state of the test to {}: {error}. The test stops: if it were killed, its objects would be lost.",
        path.display()
    );
    Diagnostic::new(&TEST_STATE_NOT_KEPT, detail)
}

pub(super) fn encrypted_state_left(path: &Path) -> Diagnostic {
    let detail = eco_format!(
        "An earlier test was killed. Its state in {} is encrypted, and the current configuration cannot decrypt it.",
        path.display()
    );
    Diagnostic::new(&OBJECTS_OF_KILLED_TEST, detail)
}

/// `objects` are lines of a list.
pub(super) fn objects_left(path: &Path, objects: &[String]) -> Diagnostic {
    let detail = eco_format!(
        "An earlier test was killed before it destroyed these objects:\n{}\n\nTheir state is in {}.",
        objects.join("\n"),
        path.display()
    );
    Diagnostic::new(&OBJECTS_OF_KILLED_TEST, detail).hint("Remove the objects, then delete that file.")
}
