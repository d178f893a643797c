//! The diagnostics about test files.

use ecow::eco_format;
use yuba_syntax::{Diagnostic, Span};

use crate::provider::ProviderKey;

yuba_syntax::catalogue! {
    /// A test file or a run block contains a second block of a type that is allowed once.
    TEST_BLOCK_REPEATED = error "test-block-repeated", "Multiple \"{type}\" blocks";
    /// A test file contains two mock_provider blocks for the same provider configuration.
    MOCK_PROVIDER_REPEATED = error "mock-provider-repeated", "Duplicated `mock_provider` block";
    /// A mock_provider block contains two mocks for the same type.
    MOCK_REPEATED = error "mock-repeated", "Duplicated `{type}` block";
    /// Two override blocks of a test have the same target.
    OVERRIDE_TARGET_REPEATED = error "override-target-repeated", "Duplicated `{type}` block";
    /// An argument of a test file is not an object.
    TEST_OBJECT_EXPECTED = error "test-object-expected", "Object expected";
    /// The module block of a run has no source.
    RUN_MODULE_WITHOUT_SOURCE = error "run-module-without-source", "Missing \"source\" attribute for module block";
    /// A run in refresh-only mode sets `refresh` to false.
    RUN_REFRESH_ONLY_WITHOUT_REFRESH = error "run-refresh-only-without-refresh", "Incompatible plan options";
    /// An item of `expect_failures` refers to an object without conditions.
    EXPECT_FAILURES_REFERENCE = error "expect-failures-reference", "Invalid `expect_failures` reference";
    /// A provider configuration of a test file does not match that of the tested module in its use of `for_each`.
    TEST_PROVIDER_FOR_EACH = error "test-provider-for-each", "Invalid provider configuration in test file";
    /// A run passes a provider configuration with an instance key, or one with several instances.
    RUN_PROVIDER_INSTANCE = error "run-provider-instance", "Invalid provider configuration reference";
}

/// `container` is the file or block that can have only one of them.
pub(crate) fn second_block(kind: &str, container: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This {container} already has a {kind} block, at {first}.");
    Diagnostic::new(&TEST_BLOCK_REPEATED, detail)
        .titled(eco_format!("Multiple \"{kind}\" blocks"))
        .naming(kind)
        .hint("Merge the two blocks.")
        .at(at)
}
pub(crate) fn duplicate_mock_provider(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!("The file already has a mock_provider block for {key}.");
    Diagnostic::new(&MOCK_PROVIDER_REPEATED, detail).at(at)
}
pub(crate) fn duplicate_mock(block_type: &str, kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This mock_provider block contains more than one {block_type} block for {kind:?}.");
    Diagnostic::new(&MOCK_REPEATED, detail)
        .titled(eco_format!("Duplicated `{block_type}` block"))
        .naming(block_type)
        .at(at)
}
pub(crate) fn duplicate_override(block_type: &str, target: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("More than one {block_type} block has the target {target}.");
    Diagnostic::new(&OVERRIDE_TARGET_REPEATED, detail)
        .titled(eco_format!("Duplicated `{block_type}` block"))
        .naming(block_type)
        .hint("Remove all but one of them.")
        .at(at)
}
pub(crate) fn object_expected(argument: &str, at: Span) -> Diagnostic {
    Diagnostic::new(&TEST_OBJECT_EXPECTED, eco_format!("The argument {argument:?} must be an object.")).at(at)
}
pub(crate) fn module_without_source(at: Span) -> Diagnostic {
    let detail =
        "The module block of a run must name the module that the run tests instead of the module of this file.";
    Diagnostic::new(&RUN_MODULE_WITHOUT_SOURCE, detail).hint("Set \"source\".").at(at)
}
pub(crate) fn refresh_only_without_refresh(at: Span) -> Diagnostic {
    let detail = "A run in the mode \"refresh-only\" only refreshes, so \"refresh\" cannot be false.";
    Diagnostic::new(&RUN_REFRESH_ONLY_WITHOUT_REFRESH, detail).at(at)
}
pub(crate) fn cannot_fail(subject: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "{subject} does not have conditions that could fail. Only input variables, output values, check blocks, managed \
         resources and data sources have conditions."
    );
    Diagnostic::new(&EXPECT_FAILURES_REFERENCE, detail).at(at)
}

// Provider configurations of tests and of the tested module

pub(crate) fn test_provider_lacks_for_each(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module declares {key} with for_each, so the configuration in the test file requires for_each too."
    );
    Diagnostic::new(&TEST_PROVIDER_FOR_EACH, detail).at(at)
}
pub(crate) fn test_provider_has_for_each(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module declares {key} without for_each, so the configuration in the test file cannot have for_each."
    );
    Diagnostic::new(&TEST_PROVIDER_FOR_EACH, detail).at(at)
}
pub(crate) fn test_provider_for_alias_has_for_each(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module lists {key} in configuration_aliases and requires one instance of it, so for_each is not \
         allowed here."
    );
    Diagnostic::new(&TEST_PROVIDER_FOR_EACH, detail).at(at)
}
pub(crate) fn test_provider_for_collection(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module lists {key}[*] in configuration_aliases and requires all instances of a configuration."
    );
    Diagnostic::new(&TEST_PROVIDER_FOR_EACH, detail).hint("Add for_each to this block.").at(at)
}
pub(crate) fn test_only_for_each(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The tested module does not declare the provider configuration {key}. A configuration that only the test file \
         declares cannot have for_each."
    );
    Diagnostic::new(&TEST_PROVIDER_FOR_EACH, detail).at(at)
}
pub(crate) fn instance_key_in_run(at: Span) -> Diagnostic {
    let detail = "The argument \"providers\" of a run takes whole provider configurations, without instance keys.";
    Diagnostic::new(&RUN_PROVIDER_INSTANCE, detail).at(at)
}
pub(crate) fn many_instances_in_run(key: &ProviderKey, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "{key} sets for_each and has several instances. A run supports only provider configurations with one instance."
    );
    Diagnostic::new(&RUN_PROVIDER_INSTANCE, detail).at(at)
}
