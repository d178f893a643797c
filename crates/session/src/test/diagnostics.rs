//! What can be wrong with tests, beside what is wrong with the tested configuration.

use ecow::{EcoString, eco_format};
use yuba_addrs::{ConfigResource, ModulePath, ResourceMode};
use yuba_syntax::{Diagnostic, Span};

pub(super) fn no_tests_found() -> Diagnostic {
    let detail = "-filter was given, but none of the test files has such a name. Names are paths relative to the current \
                  directory, as in -filter=tests/main.tftest.hcl.";
    Diagnostic::warning("No tests were found", detail)
}

pub(super) fn unknown_file(name: &str) -> Diagnostic {
    let detail = eco_format!("There is no test file {name:?}; the option -filter={name} has no effect.");
    Diagnostic::warning("Unknown test file", detail)
}

pub(super) fn missing_provider(key: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The test file has neither a provider block nor a mock_provider block for {key}.");
    Diagnostic::error(eco_format!("Missing provider definition for {key}"), detail).at(span)
}

pub(super) fn module_not_found(module: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!("The tested configuration does not call {module}, so nothing of it can be replaced.");
    Diagnostic::error(eco_format!("Module not found: {module}"), detail).at(span)
}

pub(super) fn resource_not_found(resource: &ConfigResource, span: Span) -> Diagnostic {
    let detail = eco_format!("The tested configuration does not declare {resource}, so it cannot be replaced.");
    Diagnostic::error(eco_format!("Resource not found: {resource}"), detail).at(span)
}

/// `mode` is that of the override block.
pub(super) fn wrong_override(mode: ResourceMode, target: &ConfigResource, span: Span) -> Diagnostic {
    let (block, other) = match mode {
        ResourceMode::Data => ("override_data", "resource"),
        _ => ("override_resource", "data"),
    };
    let detail = eco_format!("{target} is declared with a {other} block, which {block} does not replace.");
    Diagnostic::error(eco_format!("Unsupported `{other}` target in `{block}` block"), detail).at(span)
}

pub(super) fn output_not_found(name: &str, module: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!("{module} has no output {name:?}; the value for it has no effect.");
    Diagnostic::warning(eco_format!("Output not found: {name}"), detail).at(span)
}

pub(super) fn overridden_twice(block: &str, target: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The run replaces {target} too, and that counts; this block has no effect on the run.");
    Diagnostic::warning(eco_format!("Multiple `{block}` blocks for the same address"), detail).at(span)
}

pub(super) fn replace_while_refreshing() -> Diagnostic {
    let detail = "A run in the mode \"refresh-only\" changes nothing, so \"replace\" cannot be used with it.";
    Diagnostic::error("Unsupported plan mode", detail)
}

pub(super) fn replace_of_data(addr: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("{addr} is not a managed resource, so there is nothing to replace.");
    Diagnostic::error("Can only target managed resources for forced replacements.", detail).at(span)
}

pub(super) fn missing_failure(object: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("{object} was expected to fail, but all its conditions hold.");
    Diagnostic::error("Missing expected failure", detail).at(span)
}

pub(super) fn fails_before_apply(object: &EcoString) -> Diagnostic {
    let detail = eco_format!(
        "{object} has a value that it does not accept. That was expected, but it shows while planning, so there is nothing \
         to apply and the run fails. Use \"command = plan\" for what fails there."
    );
    Diagnostic::warning("Invalid Variable in test file", detail)
}

pub(super) fn cannot_destroy_real() -> Diagnostic {
    let detail = "Real providers made these objects, and every later run replaces one of these providers or resources with \
                  something that does nothing, so that the objects cannot be destroyed. Mock a provider in all runs of a \
                  module, or in none.";
    Diagnostic::error("Objects of replaced providers cannot be destroyed", detail)
}

pub(super) fn interrupted() -> Diagnostic {
    let detail = "The run was stopped before it was done. Read the other messages to see which objects still exist.";
    Diagnostic::error("Test interrupted", detail)
}

/// A mock refers to instances that are known when the run plans.
pub(super) fn mock_instances_unknown(span: Span) -> Diagnostic {
    let detail = "The \"for_each\" of this mock_provider block is not known before the run plans, so its blocks cannot refer to \
                  \"each\". Use a \"for_each\" that refers to variables and locals only.";
    Diagnostic::error("Unable to compute static value", detail).at(span)
}
