//! The diagnostics about declarations that do not fit each other: duplicates, and overrides without a base.

use ecow::eco_format;
use yuba_addrs::ResourceMode;
use yuba_syntax::{Code, Diagnostic, Span, reference_required};
use yuba_value::convert::ConvertError;

use crate::provider::ProviderKey;
use crate::resource::ResourceKey;

yuba_syntax::catalogue! {
    /// A module declares two variables of the same name.
    DUPLICATE_VARIABLE = error "duplicate-variable", "Duplicate variable declaration";
    /// A module defines two local values of the same name.
    DUPLICATE_LOCAL_VALUE = error "duplicate-local-value", "Duplicate local value definition";
    /// A module defines two outputs of the same name.
    DUPLICATE_OUTPUT = error "duplicate-output", "Duplicate output definition";
    /// A module contains two module blocks of the same name.
    DUPLICATE_MODULE_CALL = error "duplicate-module-call", "Duplicate module call";
    /// A module contains two symbols blocks of the same name.
    DUPLICATE_SYMBOLS_BLOCK = error "duplicate-symbols-block", "Duplicate symbols declaration";
    /// A module contains two required_providers blocks.
    DUPLICATE_REQUIRED_PROVIDERS = error "duplicate-required-providers", "Duplicate required providers configuration";
    /// A module contains two backend blocks.
    DUPLICATE_BACKEND = error "duplicate-backend", "Duplicate backend configuration";
    /// A module contains two cloud blocks.
    DUPLICATE_CLOUD = error "duplicate-cloud", "Duplicate cloud configurations";
    /// A module contains a backend block and a cloud block.
    BACKEND_AND_CLOUD = error "backend-and-cloud", "Both a backend and a cloud configuration are present";
    /// A module contains two encryption blocks.
    DUPLICATE_ENCRYPTION = error "duplicate-encryption", "Duplicate encryption configuration";
    /// A module contains two configurations of a provider with the same alias.
    DUPLICATE_PROVIDER_CONFIG = error "duplicate-provider-config", "Duplicate provider configuration";
    /// A module contains two provider_meta blocks for the same provider.
    DUPLICATE_PROVIDER_META = error "duplicate-provider-meta", "Duplicate provider_meta block";
    /// A module contains two resources of the same type and name.
    DUPLICATE_RESOURCE = error "duplicate-resource", "Duplicate {block} \"{type}\" configuration";
    /// A module contains two check blocks of the same name.
    DUPLICATE_CHECK = error "duplicate-check", "Duplicate check \"{name}\" configuration";
    /// Two import blocks have the same target.
    DUPLICATE_IMPORT = error "duplicate-import", "Duplicate import configuration for \"{address}\"";

    /// An override file changes a variable that the module does not declare.
    OVERRIDDEN_VARIABLE_MISSING = error "overridden-variable-missing", "Missing base variable declaration to override";
    /// An override file changes a local value that the module does not define.
    OVERRIDDEN_LOCAL_VALUE_MISSING = error "overridden-local-value-missing", "Missing base local value definition to override";
    /// An override file changes an output that the module does not define.
    OVERRIDDEN_OUTPUT_MISSING = error "overridden-output-missing", "Missing base output definition to override";
    /// An override file changes a module call that the module does not contain.
    OVERRIDDEN_MODULE_CALL_MISSING = error "overridden-module-call-missing", "Missing module call to override";
    /// An override file changes a symbols block that the module does not contain.
    OVERRIDDEN_SYMBOLS_MISSING = error "overridden-symbols-missing", "Missing base symbols declaration to override";
    /// An override file changes a provider configuration that the module does not contain.
    OVERRIDDEN_PROVIDER_MISSING = error "overridden-provider-missing", "Missing base provider configuration for override";
    /// An override file changes a managed resource that the module does not contain.
    OVERRIDDEN_RESOURCE_MISSING = error "overridden-resource-missing", "Missing resource to override";
    /// An override file changes a data block that the module does not contain.
    OVERRIDDEN_DATA_MISSING = error "overridden-data-missing", "Missing data resource to override";
    /// An override file changes an ephemeral block that the module does not contain.
    OVERRIDDEN_EPHEMERAL_MISSING = error "overridden-ephemeral-missing", "Missing ephemeral resource to override";
    /// An override file contains a block that cannot be overridden.
    BLOCK_NOT_OVERRIDABLE = error "block-not-overridable", "Cannot override '{type}' blocks";
    /// An override file sets `depends_on`.
    DEPENDS_ON_OVERRIDDEN = error "depends-on-overridden", "Unsupported override";
    /// An override file sets a type or a default that do not match each other.
    OVERRIDDEN_DEFAULT_INVALID = error "overridden-default-invalid", "Invalid default value for variable";
}

fn duplicate(code: &'static Code, what: &str, name: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The {what} \"{name}\" is already declared at {first}. Names must be unique in a module.");
    Diagnostic::new(code, detail).at(at)
}

pub(crate) fn duplicate_variable(name: &str, first: &str, at: Span) -> Diagnostic {
    duplicate(&DUPLICATE_VARIABLE, "variable", name, first, at)
}

pub(crate) fn duplicate_local_value(name: &str, first: &str, at: Span) -> Diagnostic {
    duplicate(&DUPLICATE_LOCAL_VALUE, "local value", name, first, at)
}

pub(crate) fn duplicate_output(name: &str, first: &str, at: Span) -> Diagnostic {
    duplicate(&DUPLICATE_OUTPUT, "output", name, first, at)
}

pub(crate) fn duplicate_module_call(name: &str, first: &str, at: Span) -> Diagnostic {
    duplicate(&DUPLICATE_MODULE_CALL, "module call", name, first, at)
}

pub(crate) fn duplicate_symbols_block(name: &str, first: &str, at: Span) -> Diagnostic {
    duplicate(&DUPLICATE_SYMBOLS_BLOCK, "symbol library", name, first, at)
}

pub(crate) fn duplicate_requirements(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A module can contain only one required_providers block, and the first is at {first}.");
    Diagnostic::new(&DUPLICATE_REQUIRED_PROVIDERS, detail).hint("Merge the two blocks.").at(at)
}

pub(crate) fn duplicate_backend(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A module can contain only one backend block, and the first is at {first}.");
    Diagnostic::new(&DUPLICATE_BACKEND, detail).at(at)
}

pub(crate) fn duplicate_cloud(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A module can contain only one cloud block, and the first is at {first}.");
    Diagnostic::new(&DUPLICATE_CLOUD, detail).at(at)
}

pub(crate) fn backend_and_cloud(cloud: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("Both this backend and the cloud block at {cloud} configure where state is stored.");
    Diagnostic::new(&BACKEND_AND_CLOUD, detail).hint("Remove one of them.").at(at)
}

pub(crate) fn duplicate_encryption_block(first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("A module can contain only one encryption block, and the first is at {first}.");
    Diagnostic::new(&DUPLICATE_ENCRYPTION, detail).at(at)
}

pub(crate) fn duplicate_provider(key: &ProviderKey, first: &str, at: Span) -> Diagnostic {
    let (detail, hint) = match &key.alias {
        None => (
            eco_format!("The provider {} already has a configuration without alias, at {first}.", key.name),
            "Set \"alias\" for further configurations.",
        ),
        Some(alias) => (
            eco_format!("The provider {} already has a configuration with alias \"{alias}\", at {first}.", key.name),
            "Set a different alias for each configuration.",
        ),
    };
    Diagnostic::new(&DUPLICATE_PROVIDER_CONFIG, detail).hint(hint).at(at)
}

pub(crate) fn duplicate_provider_meta(name: &str, first: &str, at: Span) -> Diagnostic {
    let detail =
        eco_format!("A module can contain only one provider_meta block for {name}, and the first is at {first}.");
    Diagnostic::new(&DUPLICATE_PROVIDER_META, detail).at(at)
}

/// `block`: "resource", "data", "ephemeral resource".
pub(crate) fn duplicate_resource(block: &str, key: &ResourceKey, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "A {} named \"{}\" is already declared at {first}. Names must be unique in a module for each type, including \
         the data blocks of checks.",
        key.kind,
        key.name
    );
    Diagnostic::new(&DUPLICATE_RESOURCE, detail)
        .titled(eco_format!("Duplicate {block} \"{}\" configuration", key.kind))
        .naming(block)
        .naming(&key.kind)
        .at(at)
}

pub(crate) fn duplicate_check(name: &str, first: &str, at: Span) -> Diagnostic {
    duplicate(&DUPLICATE_CHECK, "check", name, first, at)
        .titled(eco_format!("Duplicate check \"{name}\" configuration"))
        .naming(name)
}

pub(crate) fn duplicate_import(address: &str, first: &str, at: Span) -> Diagnostic {
    let detail = eco_format!("The import block at {first} already imports an object to {address}.");
    Diagnostic::new(&DUPLICATE_IMPORT, detail)
        .titled(eco_format!("Duplicate import configuration for {address:?}"))
        .naming(address)
        .hint("Remove one of the two blocks.")
        .at(at)
}

fn missing_base(code: &'static Code, what: &str, name: &str, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "An override file can change only declarations of other files, and none of them declares the {what} \"{name}\"."
    );
    Diagnostic::new(code, detail).at(at)
}

pub(crate) fn missing_variable(name: &str, at: Span) -> Diagnostic {
    missing_base(&OVERRIDDEN_VARIABLE_MISSING, "variable", name, at)
}

pub(crate) fn missing_local_value(name: &str, at: Span) -> Diagnostic {
    missing_base(&OVERRIDDEN_LOCAL_VALUE_MISSING, "local value", name, at)
}

pub(crate) fn missing_output(name: &str, at: Span) -> Diagnostic {
    missing_base(&OVERRIDDEN_OUTPUT_MISSING, "output", name, at)
}

pub(crate) fn missing_module_call(name: &str, at: Span) -> Diagnostic {
    missing_base(&OVERRIDDEN_MODULE_CALL_MISSING, "module call", name, at)
}

pub(crate) fn missing_symbols_block(name: &str, at: Span) -> Diagnostic {
    missing_base(&OVERRIDDEN_SYMBOLS_MISSING, "symbol library", name, at)
}

pub(crate) fn missing_provider(key: &ProviderKey, at: Span) -> Diagnostic {
    let name = eco_format!("{}.{}", key.name, key.alias.as_deref().unwrap_or_default());
    missing_base(&OVERRIDDEN_PROVIDER_MISSING, "provider configuration", &name, at)
}

pub(crate) fn missing_resource(key: &ResourceKey, at: Span) -> Diagnostic {
    let (code, what) = match key.mode {
        ResourceMode::Managed => (&OVERRIDDEN_RESOURCE_MISSING, "resource"),
        ResourceMode::Data => (&OVERRIDDEN_DATA_MISSING, "data resource"),
        ResourceMode::Ephemeral => (&OVERRIDDEN_EPHEMERAL_MISSING, "ephemeral resource"),
    };
    missing_base(code, what, &eco_format!("{}.{}", key.kind, key.name), at)
}

pub(crate) fn cannot_override(kind: &str, at: Span) -> Diagnostic {
    let detail = "Override files cannot contain such blocks, because they are independent of each other.";
    Diagnostic::new(&BLOCK_NOT_OVERRIDABLE, detail)
        .titled(eco_format!("Cannot override '{kind}' blocks"))
        .naming(kind)
        .hint("Move the block to an ordinary file.")
        .at(at)
}

pub(crate) fn depends_on_in_override(at: Span) -> Diagnostic {
    Diagnostic::new(&DEPENDS_ON_OVERRIDDEN, "The argument \"depends_on\" cannot be overridden.").at(at)
}

/// The part of a variable that an override file sets.
#[derive(Clone, Copy)]
pub(crate) enum Overridden {
    Type,
    Default,
    Both,
}

pub(crate) fn invalid_overridden_default(overridden: Overridden, error: &ConvertError, at: Span) -> Diagnostic {
    let mismatch = match overridden {
        Overridden::Type => "The type that this file sets does not match the default of the variable",
        Overridden::Default => "The default that this file sets does not match the type of the variable",
        Overridden::Both => "The default of the variable does not match its type",
    };
    Diagnostic::new(&OVERRIDDEN_DEFAULT_INVALID, eco_format!("{mismatch}: {error}.")).at(at)
}

/// Without the feature this is an expression like any other that is not a reference.
pub(crate) fn collection_alias(at: Span) -> Diagnostic {
    reference_required(at).hint(
        "To pass all instances of a provider configuration at once, enable the experiment provider_collections in a \
         \"language\" block.",
    )
}
