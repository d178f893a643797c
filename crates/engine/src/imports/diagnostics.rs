//! The catalogue of what can be wrong with imports.

use std::fmt::Display;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsResourceInstance, ProviderSource};
use yuba_eval::codes::{INCORRECT_VALUE_TYPE, INVALID_IMPORT_ARGUMENT, NO_IMPORT_IDENTITY};
use yuba_syntax::{Diagnostic, Sources, Span};

yuba_syntax::catalogue! {
    /// The configuration does not declare the address of an import, or the resource is not enabled.
    IMPORT_TARGET_NOT_DECLARED = error "import-target-not-declared", "Configuration for import target does not exist";
    /// The state already contains an object at the address of an import.
    IMPORT_TARGET_ALREADY_MANAGED = error "import-target-already-managed", "Resource already managed by Yuba";
    /// The resource of an import block is not enabled.
    IMPORT_TARGET_NOT_ENABLED = warning "import-target-not-enabled", "Import target is not enabled";
    /// Configuration cannot be generated for a resource of a called module.
    GENERATION_IN_MODULE = error "generation-in-module", "Cannot generate configuration for resource inside sub-module";
    /// Configuration cannot be generated for an address with an instance key.
    GENERATION_WITH_KEY = error "generation-with-key", "Configuration generation for count and for_each resources not supported";
    /// Two import blocks have the same address.
    DUPLICATE_IMPORT_TARGET = error "duplicate-import-target", "Duplicate import configuration for {address}";
    /// The instance key in the address of an import block is not a known, public string or number.
    INVALID_IMPORT_KEY = error "invalid-import-key", "Import block 'to' address contains an invalid key";
}

pub(super) fn without_config(address: &impl Display, at: Option<Span>) -> Diagnostic {
    let detail = eco_format!("The configuration does not declare the import target {address}.");
    Diagnostic::new(&IMPORT_TARGET_NOT_DECLARED, detail).hint("Declare it, or remove the import.").at(at)
}

pub(crate) fn already_managed(address: &AbsResourceInstance) -> Diagnostic {
    let detail = eco_format!("The state already contains an object at {address}.");
    Diagnostic::new(&IMPORT_TARGET_ALREADY_MANAGED, detail)
        .hint("To import another object, first remove the existing one from the state with \"yuba state rm\".")
}

pub(super) fn waits(address: &AbsResourceInstance, at: Span) -> Diagnostic {
    let detail = eco_format!("The import to {address} is skipped, because \"enabled\" is false.");
    Diagnostic::new(&IMPORT_TARGET_NOT_ENABLED, detail).about(address).at(at)
}

pub(super) fn disabled(address: &AbsResourceInstance) -> Diagnostic {
    let detail = eco_format!("{address} is declared, but \"enabled\" is false, so nothing was imported.");
    Diagnostic::new(&IMPORT_TARGET_NOT_DECLARED, detail).hint(
        "Set \"enabled\" to true in the lifecycle block of the resource, or of the module that contains it, and run the import \
         again.",
    )
}

pub(super) fn generate_in_module(address: &impl Display, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The configuration does not declare the import target {address}. Configuration can only be generated for resources of \
         the root module."
    );
    Diagnostic::new(&GENERATION_IN_MODULE, detail).hint("Declare the resource in its module.").at(at)
}

pub(super) fn generate_with_key(address: &impl Display, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The configuration does not declare the import target {address}. Configuration can only be generated for resources \
         without \"count\" and \"for_each\"."
    );
    Diagnostic::new(&GENERATION_WITH_KEY, detail)
        .hint("Declare the resource, or import to an address without a key.")
        .at(at)
}

pub(super) fn duplicate(
    address: &AbsResourceInstance,
    sources: Option<&Sources>,
    first: Span,
    second: Span,
) -> Diagnostic {
    let location = |span: Span| match sources.and_then(|sources| sources.get(span.file)) {
        Some(file) => {
            let at = file.position(span.start as usize);
            eco_format!("{}:{},{}", file.name, at.line, at.column)
        }
        None => EcoString::from("another location"),
    };
    let detail = eco_format!(
        "The import blocks at {} and {} both import to {address}. Only one object can be imported to an instance.",
        location(first),
        location(second)
    );
    Diagnostic::new(&DUPLICATE_IMPORT_TARGET, detail)
        .titled(eco_format!("Duplicate import configuration for {:?}", address.to_string()))
        .naming(address.to_string())
        .at(first)
}

pub(super) fn no_identity(address: &AbsResourceInstance, provider: Option<&ProviderSource>, at: Span) -> Diagnostic {
    let by = provider.map(|provider| eco_format!(" of the provider {provider}")).unwrap_or_default();
    let detail = eco_format!(
        "The import to {address} sets \"identity\", but the resource type {:?}{by} has no identity.",
        address.resource.kind
    );
    Diagnostic::new(&NO_IMPORT_IDENTITY, detail).hint("Import the object by \"id\".").at(at)
}

pub(super) fn key(reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be an instance key: {reason}.");
    Diagnostic::new(&INVALID_IMPORT_KEY, detail).at(at)
}

pub(super) fn argument(name: &str, reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be used for the argument {name:?} of an import block: {reason}.");
    let title = eco_format!("Invalid import {name} argument");
    Diagnostic::new(&INVALID_IMPORT_ARGUMENT, detail).titled(title).naming(name).at(at)
}

pub(super) fn incorrect_type(reason: &impl Display, at: Span) -> Diagnostic {
    Diagnostic::new(&INCORRECT_VALUE_TYPE, eco_format!("This value has the wrong type: {reason}.")).at(at)
}
