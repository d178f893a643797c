//! About declarations that do not fit each other: the same thing twice, overriding what is not there.

use ecow::eco_format;
use yuba_addrs::ResourceMode;
use yuba_syntax::{Diagnostic, Span};
use yuba_value::convert::ConvertError;

use crate::provider::ProviderKey;
use crate::resource::ResourceKey;

/// Two of the same name.
pub(crate) fn duplicate(summary: &str, what: &str, name: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("There is already a {what} \"{name}\", at {first}. Names are unique in a module.");
    Diagnostic::error(summary, detail).at(at)
}

pub(crate) fn duplicate_requirements(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A module has one required_providers block, and there is already one at {first}.");
    Diagnostic::error("Duplicate required providers configuration", detail).at(at)
}

pub(crate) fn duplicate_backend(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A module has one backend, and there is already one at {first}.");
    Diagnostic::error("Duplicate backend configuration", detail).at(at)
}

pub(crate) fn duplicate_cloud(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A module has one cloud block, and there is already one at {first}.");
    Diagnostic::error("Duplicate cloud configurations", detail).at(at)
}

pub(crate) fn backend_and_cloud(cloud: &str, at: Span) -> Diagnostic {
    let detail =
        eco_format!("State is kept either by this backend or by the cloud block at {cloud}: remove one of them.");
    Diagnostic::error("Both a backend and a cloud configuration are present", detail).at(at)
}

pub(crate) fn duplicate_encryption_block(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("There can be one encryption block, and there is already one at {first}.");
    Diagnostic::error("Duplicate encryption configuration", detail).at(at)
}

pub(crate) fn duplicate_provider(key: &ProviderKey, first: &str, at: Span) -> Diagnostic {
    let detail = match &key.alias {
        None => eco_format!(
            "There is already a configuration of the provider {} without alias, at {first}. For further configurations \
             set \"alias\".",
            key.name
        ),
        Some(alias) => eco_format!(
            "There is already a configuration of the provider {} with the alias \"{alias}\", at {first}. Each \
             configuration needs an alias of its own.",
            key.name
        ),
    };
    Diagnostic::error("Duplicate provider configuration", detail).at(at)
}

pub(crate) fn duplicate_provider_meta(name: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A module has one provider_meta block for {name}, and there is already one at {first}.");
    Diagnostic::error("Duplicate provider_meta block", detail).at(at)
}

/// `what`: "resource", "data", "ephemeral resource".
pub(crate) fn duplicate_resource(what: &str, key: &ResourceKey, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "There is already a {} named \"{}\", at {first}. Names are unique in a module for each type, also among the data \
         blocks of checks.",
        key.kind,
        key.name
    );
    Diagnostic::error(eco_format!("Duplicate {what} \"{}\" configuration", key.kind), detail).at(at)
}

pub(crate) fn duplicate_check(name: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("There is already a check \"{name}\", at {first}. Names are unique in a module.");
    Diagnostic::error(eco_format!("Duplicate check \"{name}\" configuration"), detail).at(at)
}

/// Nothing to override.
pub(crate) fn missing_base(summary: &str, what: &str, name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "There is no {what} \"{name}\" in the ordinary files of this module, so an override file cannot change it."
    );
    Diagnostic::error(summary, detail).at(at)
}

pub(crate) fn missing_provider(key: &ProviderKey, at: Span) -> Diagnostic {
    let name = eco_format!("{}.{}", key.name, key.alias.as_deref().unwrap_or_default());
    missing_base("Missing base provider configuration for override", "provider configuration", &name, at)
}

pub(crate) fn missing_resource(key: &ResourceKey, at: Span) -> Diagnostic {
    let (summary, what) = match key.mode {
        ResourceMode::Managed => ("Missing resource to override", "resource"),
        ResourceMode::Data => ("Missing data resource to override", "data resource"),
        ResourceMode::Ephemeral => ("Missing ephemeral resource to override", "ephemeral resource"),
    };
    missing_base(summary, what, &eco_format!("{}.{}", key.kind, key.name), at)
}

pub(crate) fn cannot_override(kind: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Such blocks are independent of each other: they can be in ordinary files only.");
    Diagnostic::error(eco_format!("Cannot override '{kind}' blocks"), detail).at(at)
}

pub(crate) fn depends_on_in_override(at: Span) -> Diagnostic {
    Diagnostic::error("Unsupported override", "The argument depends_on cannot be overridden.").at(at)
}

pub(crate) fn invalid_overridden_default(which: &str, error: &ConvertError, at: Span) -> Diagnostic {
    Diagnostic::error("Invalid default value for variable", eco_format!("{which}: {error}.")).at(at)
}

/// What is said about any expression that is no reference: without the feature this is nothing special.
pub(crate) fn collection_alias(at: Span) -> Diagnostic {
    let detail = "Only a reference is possible here: a name, a dot, and an alias. To pass all instances of a provider \
        configuration at once, opt in to the experiment provider_collections in a \"language\" block.";
    Diagnostic::error("Invalid expression", detail).at(at)
}

pub(crate) fn duplicate_import(address: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("There is already an import block for {address}, at {first}. One object can be imported.");
    Diagnostic::error(eco_format!("Duplicate import configuration for {address:?}"), detail).at(at)
}
