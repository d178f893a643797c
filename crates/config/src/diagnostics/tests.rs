//! What can be wrong with test files.

use ecow::eco_format;
use yuba_syntax::{Diagnostic, Span};

use crate::provider::ProviderKey;

/// `what` is what can have only one of them.
pub(crate) fn second_block(kind: &str, what: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This {what} already has a {kind} block, at {first}. Merge the two.");
    Diagnostic::error(eco_format!("Multiple \"{kind}\" blocks"), detail).at(at)
}
pub(crate) fn duplicate_mock_provider(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!("There is a mock_provider block for {key} before this one.");
    Diagnostic::error("Duplicated `mock_provider` block", detail).at(at)
}
pub(crate) fn duplicate_mock(block_type: &str, kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This mock_provider block has more than one {block_type} block for {kind:?}.");
    Diagnostic::error(eco_format!("Duplicated `{block_type}` block"), detail).at(at)
}
pub(crate) fn duplicate_override(block_type: &str, target: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("There is more than one {block_type} block with the target {target}. Keep one of them.");
    Diagnostic::error(eco_format!("Duplicated `{block_type}` block"), detail).at(at)
}
pub(crate) fn object_expected(argument: &str, at: Span) -> Diagnostic {
    Diagnostic::error("Object expected", eco_format!("The argument {argument:?} has to be an object.")).at(at)
}
pub(crate) fn module_without_source(at: Span) -> Diagnostic {
    let detail = "Say with \"source\" which module this run tests instead of the one the file belongs to.";
    Diagnostic::error("Missing \"source\" attribute for module block", detail).at(at)
}
pub(crate) fn refresh_only_without_refresh(at: Span) -> Diagnostic {
    let detail = "A run in the mode \"refresh-only\" does nothing but refresh, so \"refresh\" cannot be false.";
    Diagnostic::error("Incompatible plan options", detail).at(at)
}
pub(crate) fn cannot_fail(subject: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "{subject} has no conditions that could fail. Input variables, output values, check blocks, managed resources \
         and data sources have."
    );
    Diagnostic::error("Invalid `expect_failures` reference", detail).at(at)
}

// Provider configurations of tests and of the tested module

const MISMATCH: &str = "Invalid provider configuration in test file";

pub(crate) fn test_provider_lacks_for_each(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module declares {key} with for_each, so its substitute in a test file needs for_each too."
    );
    Diagnostic::error(MISMATCH, detail).at(at)
}
pub(crate) fn test_provider_has_for_each(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module declares {key} without for_each, so its substitute in a test file cannot have for_each."
    );
    Diagnostic::error(MISMATCH, detail).at(at)
}
pub(crate) fn test_provider_for_alias_has_for_each(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module lists {key} in configuration_aliases and so expects one instance of it: for_each is not \
         possible here."
    );
    Diagnostic::error(MISMATCH, detail).at(at)
}
pub(crate) fn test_provider_for_collection(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module lists {key}[*] in configuration_aliases and so expects all instances of a configuration. Add \
         for_each to this block."
    );
    Diagnostic::error(MISMATCH, detail).at(at)
}
pub(crate) fn test_only_for_each(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module has no provider configuration {key}. A configuration that only the test file has cannot have \
         for_each."
    );
    Diagnostic::error(MISMATCH, detail).at(at)
}
pub(crate) fn instance_key_in_run(at: Span) -> Diagnostic {
    let detail = "The \"providers\" of a run are whole provider configurations: instance keys are not possible here.";
    Diagnostic::error("Invalid provider configuration reference", detail).at(at)
}
pub(crate) fn many_instances_in_run(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!("{key} has for_each and so has many instances. A run can be given single ones only.");
    Diagnostic::error("Invalid provider configuration reference", detail).at(at)
}
