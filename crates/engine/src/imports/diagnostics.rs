//! What can be wrong with imports.

use std::fmt::Display;

use ecow::eco_format;
use yuba_addrs::{AbsResourceInstance, ProviderSource};
use yuba_syntax::{Diagnostic, Sources, Span};

pub(super) fn without_config(address: &impl Display, at: Option<Span>) -> Diagnostic {
    let detail = eco_format!(
        "An object is to be imported to {address}, but the configuration declares no such instance. Whatever is imported \
         has to be declared: add it to the configuration, or remove the import."
    );
    let problem = Diagnostic::error("Configuration for import target does not exist", detail);
    match at {
        Some(at) => problem.at(at),
        None => problem,
    }
}

pub(crate) fn already_managed(address: &AbsResourceInstance) -> Diagnostic {
    let detail = eco_format!(
        "There is an object of {address} in the state already. To import another one in its place, remove that one from the \
         state first; what it stands for stays as it is."
    );
    Diagnostic::error("Resource already managed by Yuba", detail)
}

pub(super) fn waits(address: &AbsResourceInstance, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "Nothing is imported to {address}, because \"enabled\" is false there. The object is imported once that is true."
    );
    Diagnostic::warning("Import target is not enabled", detail).at(at)
}

pub(super) fn disabled(address: &AbsResourceInstance) -> Diagnostic {
    let detail = eco_format!(
        "{address} is declared, but it is not enabled, so nothing was imported. Set \"enabled\" in the lifecycle block of the \
         resource, or of the module that contains it, to true and run the import again."
    );
    Diagnostic::error("Configuration for import target does not exist", detail)
}

pub(super) fn generate_in_module(address: &impl Display, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "An object is to be imported to {address}, which is not declared. Configuration can only be written for resources \
         of the root module: declare this one in its module."
    );
    Diagnostic::error("Cannot generate configuration for resource inside sub-module", detail).at(at)
}

pub(super) fn generate_with_key(address: &impl Display, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "An object is to be imported to {address}, which is not declared. Configuration can only be written for resources \
         without \"count\" and \"for_each\": declare this one, or import to an address without key."
    );
    Diagnostic::error("Configuration generation for count and for_each resources not supported", detail).at(at)
}

pub(super) fn duplicate(
    address: &AbsResourceInstance,
    sources: Option<&Sources>,
    first: Span,
    second: Span,
) -> Diagnostic {
    let place = |span: Span| match sources.and_then(|sources| sources.get(span.file)) {
        Some(file) => {
            let at = file.position(span.start as usize);
            eco_format!("{}:{},{}", file.name, at.line, at.column)
        }
        None => "another place".into(),
    };
    let detail = eco_format!(
        "The import blocks at {} and {} are both for {address}. Only one object can be imported to an instance.",
        place(first),
        place(second)
    );
    Diagnostic::error(eco_format!("Duplicate import configuration for {:?}", address.to_string()), detail).at(first)
}

pub(super) fn no_identity(address: &AbsResourceInstance, provider: Option<&ProviderSource>, at: Span) -> Diagnostic {
    let by = provider.map(|provider| eco_format!(" of the provider {provider}")).unwrap_or_default();
    let detail = eco_format!(
        "The object for {address} is given by its identity, but objects of type {:?}{by} cannot be found that way. Import \
         it by \"id\".",
        address.resource.kind
    );
    Diagnostic::error("Unable to determine identity schema for import identity", detail).at(at)
}

pub(super) fn key(reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot choose the instance to import to: {reason}.");
    Diagnostic::error("Import block 'to' address contains an invalid key", detail).at(at)
}

pub(super) fn argument(name: &str, reason: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("This value cannot be used for the {name:?} of an import: {reason}.");
    Diagnostic::error(eco_format!("Invalid import {name} argument"), detail).at(at)
}

pub(super) fn incorrect_type(reason: &impl Display, at: Span) -> Diagnostic {
    Diagnostic::error("Incorrect value type", eco_format!("This value is of the wrong type: {reason}.")).at(at)
}
