//! The catalogue of what can be wrong with how modules and providers are linked.

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, Feature, ModulePath, ModuleSource, ProviderSource, Version, without_secrets};
use yuba_config::features::FeatureSet;
use yuba_config::provider::ProviderKey;
use yuba_syntax::suggestion::did_you_mean;
use yuba_syntax::{Diagnostic, Span};

use super::Purpose;
use crate::static_eval::for_each::Instances;

yuba_syntax::catalogue! {
    /// The directory of the root module cannot be read.
    ROOT_DIRECTORY_UNREADABLE = error "root-directory-unreadable", "Failed to read module directory";
    /// The directory of a module with a local source cannot be read while modules are installed.
    LOCAL_MODULE_UNREADABLE = error "local-module-unreadable", "Unreadable module directory";
    /// A local source leads out of the package that contains the calling module.
    MODULE_LEAVES_PACKAGE = error "module-leaves-package", "Local module path escapes module package";
    /// A module is not installed, or its directory cannot be read.
    MODULE_NOT_INSTALLED = error "module-not-installed", "Module not installed";
    /// A command that installs modules did not download a module.
    MODULE_NOT_FETCHED = error "module-not-fetched", "Failed to download module";
    /// The source of a module call differs from the source of the installed module.
    MODULE_SOURCE_CHANGED = error "module-source-changed", "Module source has changed";
    /// The installed version of a module does not meet the version constraint.
    MODULE_VERSION_CHANGED = error "module-version-changed", "Module version requirements have changed";
    /// The version argument of a module call is not a version constraint.
    INVALID_MODULE_VERSION = error "invalid-module-version", "Invalid version constraint";
    /// A module calls itself, directly or through other modules.
    MODULE_CALLS_ITSELF = error "module-calls-itself", "Module calls itself";
    /// Module calls exceed the limit of nesting.
    MODULES_NESTED_TOO_DEEPLY = error "modules-nested-too-deeply", "Module calls nested too deeply";
    /// The configuration exceeds the limit of modules.
    TOO_MANY_MODULES = error "too-many-modules", "Too many modules";
    /// A called module contains a backend block.
    BACKEND_IGNORED = warning "backend-ignored", "Backend configuration ignored";
    /// A called module contains an import block.
    IMPORT_IN_CHILD_MODULE = error "import-in-child-module", "Invalid import configuration";
    /// A module has two local names for one provider.
    DUPLICATE_REQUIRED_PROVIDER = warning "duplicate-required-provider", "Duplicate required provider";
    /// The provider name that a resource type implies is not valid.
    INVALID_IMPLIED_PROVIDER = error "invalid-implied-provider", "Invalid provider local name";
    /// A provider argument has an expression that is not a reference to a provider configuration.
    PROVIDER_IS_NOT_A_VALUE = error "provider-is-not-a-value", "Invalid provider configuration reference";
    /// A reference to a provider configuration has a key where none is possible, or lacks a required key.
    INVALID_PROVIDER_KEY = error "invalid-provider-key", "Invalid {block} provider configuration";
    /// A reference selects an instance that the for_each of the provider configuration does not contain.
    pub PROVIDER_INSTANCE_NOT_DECLARED = error "provider-instance-not-declared", "Provider instance not declared";
    /// A resource or module has the same for_each as its provider configuration.
    PROVIDER_FOR_EACH_MATCHES = warning "provider-for-each-matches", "Provider configuration for_each matches {block}";
    /// A providers argument uses a local name that required_providers does not list.
    UNDEFINED_PROVIDER = warning "undefined-provider", "Reference to undefined provider";
    /// A module call passes a provider that the called module does not require.
    PROVIDER_NOT_ACCEPTED = error "provider-not-accepted", "Reference to undefined provider";
    /// A module passes a provider configuration that its caller does not pass to it.
    PROVIDER_NOT_PASSED_ON = warning "provider-not-passed-on", "Missing required provider configuration";
    /// A module call does not pass a provider configuration that the called module requires.
    PROVIDER_NOT_PASSED = error "provider-not-passed", "Missing required provider configuration";
    /// A module with provider blocks is called with count, for_each, enabled or depends_on.
    LEGACY_MODULE_REPEATED = error "legacy-module-repeated", "Module is incompatible with count, for_each, enabled and depends_on";
    /// A module call passes a provider configuration that the called module configures itself.
    PROVIDER_OVERRIDE = error "provider-override", "Cannot override provider configuration";
    /// A module call passes a configuration of another provider than the called module requires.
    PROVIDER_TYPE_MISMATCH = error "provider-type-mismatch", "Provider type mismatch";
    /// A called module contains an empty provider block, as old versions of the language required.
    EMPTY_PROVIDER_BLOCK = warning "empty-provider-block", "Redundant empty provider block";
    /// A resource uses a provider configuration that does not exist.
    pub PROVIDER_CONFIGURATION_NOT_PRESENT = error "provider-configuration-not-present", "Provider configuration not present";
    /// The provider argument of an import block differs from that of the resource.
    IMPORT_PROVIDER_DIFFERS = error "import-provider-differs", "Invalid import provider argument";
}

pub(super) fn root_unreadable(dir: &str) -> Diagnostic {
    Diagnostic::new(&ROOT_DIRECTORY_UNREADABLE, eco_format!("The directory {dir} does not exist or cannot be read."))
}

pub(super) fn unreadable_directory(dir: &str, path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "Failed to read the directory {dir:?} of {path}. A local source is relative to the directory of the module that \
         contains the call."
    );
    Diagnostic::new(&LOCAL_MODULE_UNREADABLE, detail).at(span)
}

pub(super) fn leaves_package(path: &ModulePath, package: &str) -> Diagnostic {
    let hint = match package.starts_with("file:///") {
        true => {
            "An absolute path is a package of its own. To stay in the package of the caller, write a path that starts with \
             \"./\" or \"../\"."
        }
        false => "",
    };
    let detail = eco_format!("The directory of {path} is outside of the package {package:?} of its caller.");
    Diagnostic::new(&MODULE_LEAVES_PACKAGE, detail).hint(hint)
}

pub(super) fn local_missing(dir: &str, path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "Failed to read the directory {dir} of {path}. A local source is relative to the directory of the module that \
         contains the call."
    );
    Diagnostic::new(&MODULE_NOT_INSTALLED, detail).at(span)
}

/// Advice for installing modules.
const INSTALL: &str = "Run \"yuba init\" to install all modules of this configuration.";

pub(super) fn not_installed(path: &ModulePath, source: &ModuleSource, purpose: Purpose, span: Span) -> Diagnostic {
    let code = match purpose {
        Purpose::Install => &MODULE_NOT_FETCHED,
        Purpose::Use | Purpose::Look => &MODULE_NOT_INSTALLED,
    };
    let source = without_secrets(&source.for_display());
    Diagnostic::new(code, eco_format!("The module {path} from {source} is not installed.")).hint(INSTALL).at(span)
}

pub(super) fn cache_unreadable(dir: &str, path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!("Failed to read the directory {dir}, where {path} was installed.");
    Diagnostic::new(&MODULE_NOT_INSTALLED, detail).hint(INSTALL).at(span)
}

pub(super) fn source_changed(installed: &str, wanted: &str, span: Span) -> Diagnostic {
    let (installed, wanted) = (without_secrets(installed), without_secrets(wanted));
    let detail = eco_format!("The module was installed from {installed:?}, but its source is now {wanted:?}.");
    Diagnostic::new(&MODULE_SOURCE_CHANGED, detail).hint(INSTALL).at(span)
}

pub(super) fn version_changed(installed: Option<&Version>, span: Span) -> Diagnostic {
    let installed = installed.map(|version| eco_format!(" {version}")).unwrap_or_default();
    let detail = eco_format!("The installed version{installed} does not meet the version constraint.");
    Diagnostic::new(&MODULE_VERSION_CHANGED, detail).hint(INSTALL).at(span)
}

pub(super) fn invalid_version(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::new(&INVALID_MODULE_VERSION, eco_format!("This value cannot be a version constraint: {reason}."))
        .at(span)
}

pub(super) fn calls_itself(path: &ModulePath, caller: &ModulePath, dir: &str, span: Span) -> Diagnostic {
    let caller = if caller.is_root() { "the root module".into() } else { eco_format!("{caller}") };
    let detail = eco_format!("{path} has the directory {dir} of {caller}, which contains this call.");
    Diagnostic::new(&MODULE_CALLS_ITSELF, detail).at(span)
}

pub(super) fn too_deep(limit: usize, span: Span) -> Diagnostic {
    let detail = eco_format!("This call exceeds the limit of {limit} levels of nested module calls.");
    Diagnostic::new(&MODULES_NESTED_TOO_DEEPLY, detail).at(span)
}

pub(super) fn too_many_modules(limit: usize) -> Diagnostic {
    let detail = eco_format!(
        "This configuration exceeds the limit of {limit} module calls. Calls in a module count each time the module is called."
    );
    Diagnostic::new(&TOO_MANY_MODULES, detail)
}

pub(super) fn backend_ignored(path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "Only the root module configures the backend. This block in {path} has no effect. It is allowed so that a \
         configuration can call a root module, for example to test it."
    );
    Diagnostic::new(&BACKEND_IGNORED, detail).about(path).at(span)
}

pub(super) fn import_in_child(path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!("Import blocks are allowed only in the root module, but this one is in {path}.");
    Diagnostic::new(&IMPORT_IN_CHILD_MODULE, detail).at(span)
}

/// A provider that is required with two names, or with one that a block does not use. `conflict` is the type of the other block.
fn required_with_name(conflict: &str, provider: &ProviderSource, name: &str, detail: EcoString) -> Diagnostic {
    Diagnostic::new(&DUPLICATE_REQUIRED_PROVIDER, detail).about(conflict).about(provider).about(name)
}

pub(super) fn required_twice(provider: &ProviderSource, name: &str, first: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The provider {} with the local name {name:?} is also required as {first:?}. A module can require a provider only \
         once.",
        provider.for_display()
    );
    required_with_name("required_providers", provider, name, detail).about(first).at(span)
}

pub(super) fn required_by_block(provider: &ProviderSource, name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The provider {} is required with the local name {name:?}, but a provider block uses the name {:?}.",
        provider.for_display(),
        provider.kind
    );
    required_with_name("provider", provider, name, detail).hint("Use one name in both blocks.").at(span)
}

pub(super) fn required_by_resource(provider: &ProviderSource, address: &str, name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The resource {address} implies the provider {}, whose local name in required_providers is {name:?}.",
        provider.for_display()
    );
    required_with_name("resource", provider, name, detail)
        .about(address)
        .hint(eco_format!(
            "Change the local name to match the resource type, or add \"provider = {name}\" to the resource."
        ))
        .at(span)
}

pub(super) fn implied_name(name: &str, reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The resource type implies the provider name {name:?}, which is not valid: {reason}.");
    Diagnostic::new(&INVALID_IMPLIED_PROVIDER, detail).at(span)
}

fn key_error(block_type: &str, detail: impl Into<EcoString>, span: Span) -> Diagnostic {
    let title = eco_format!("Invalid {block_type} provider configuration");
    Diagnostic::new(&INVALID_PROVIDER_KEY, detail).titled(title).naming(block_type).at(span)
}

pub(super) fn not_a_value(key: &ProviderKey, what: &str, declared: Option<&str>, span: Span) -> Diagnostic {
    let declared = declared.map(|location| eco_format!(", declared at {location}")).unwrap_or_default();
    let detail = eco_format!(
        "{key} is {what}{declared}. Provider configurations are not values, so an expression cannot select one."
    );
    Diagnostic::new(&PROVIDER_IS_NOT_A_VALUE, detail)
        .hint(
            "Write NAME, NAME.ALIAS, or NAME.ALIAS[KEY] for a configuration with for_each, where only KEY can be an \
             expression.",
        )
        .at(span)
}

pub(super) fn key_without_alias(block_type: &str, span: Span) -> Diagnostic {
    let detail = "Only a provider configuration with an alias and for_each has instance keys.";
    key_error(block_type, detail, span)
}

pub(super) fn key_without_for_each(block_type: &str, span: Span) -> Diagnostic {
    key_error(block_type, "Only a provider configuration with for_each has instance keys.", span)
}

pub(super) fn key_without_block(block_type: &str, key: &ProviderKey, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "An instance key requires a provider block with for_each in the same module, but this module has no provider {:?} \
         block with alias = {:?}.",
        key.name,
        key.alias.as_deref().unwrap_or_default()
    );
    key_error(block_type, detail, span)
}

pub(super) fn key_missing(block_type: &str, features: &FeatureSet, span: Span) -> Diagnostic {
    let detail = "This provider configuration has for_each, so a reference to it requires the key of an instance, in square \
                  brackets.";
    match (block_type, features.contains(Feature::ProviderCollections)) {
        ("module", true) => key_error(block_type, detail, span)
            .hint("To pass all instances to a called module at once, write [*] on both sides."),
        (_, true) => key_error(block_type, detail, span),
        (_, false) => key_error(
            block_type,
            eco_format!("{detail} A module call cannot pass all instances to a child module at once."),
            span,
        ),
    }
}

pub(super) fn not_a_collection(key: &ProviderKey, declared: Option<&str>, span: Span) -> Diagnostic {
    let detail = match declared {
        Some(declared) => eco_format!(
            "The provider configuration {key}, declared at {declared}, has no instances, so [*] is not possible. Only a \
             configuration with for_each, or one that configuration_aliases lists with [*], has instances."
        ),
        None => eco_format!(
            "This module has no instances of {key} to pass: neither a provider {:?} block with alias = {:?} and for_each, nor \
             {key}[*] in configuration_aliases.",
            key.name,
            key.alias.as_deref().unwrap_or_default()
        ),
    };
    key_error("module", detail, span)
}

pub(super) fn one_for_all(key: &ProviderKey, module: &str, asked: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{module} requires all instances of a provider configuration as {key}[*], at {asked}, but this call passes a single \
         configuration."
    );
    key_error("module", detail, span).hint(eco_format!(
        "Write {key}[*] = NAME.ALIAS[*] with a configuration that has for_each, or remove [*] from the \
         configuration_aliases of the module."
    ))
}

pub(super) fn all_for_one(key: &ProviderKey, module: &str, declared: Option<&str>, span: Span) -> Diagnostic {
    let (detail, hint) = match declared {
        Some(declared) => (
            eco_format!(
                "{module} requires a single provider configuration as {key}, at {declared}, but this call passes all \
                 instances of one."
            ),
            eco_format!(
                "Select one with a key instead of [*], or change the configuration_aliases of the module to {key}[*]."
            ),
        ),
        None => (
            eco_format!("{module} does not require {key}."),
            eco_format!(
                "To pass all instances of a provider configuration, add {key}[*] to the configuration_aliases of {:?} in the \
                 required_providers of the module. Opt in to the experiment provider_collections there.",
                key.name
            ),
        ),
    };
    key_error("module", detail, span).hint(hint)
}

pub(super) fn key_on_left_side(span: Span) -> Diagnostic {
    let detail = "An instance key is not possible on the left side: a called module receives a single instance.";
    key_error("module", detail, span)
}

pub(super) fn instance_not_declared(name: &str, key: &str, instances: &Instances, span: Span) -> Diagnostic {
    let declared = declared_keys(instances.iter().map(|(key, _)| key.as_str()));
    let hint = did_you_mean(key, instances.iter().map(|(key, _)| key.as_str()));
    let detail = eco_format!("The provider configuration {name} has no instance {key:?}. {declared}");
    Diagnostic::new(&PROVIDER_INSTANCE_NOT_DECLARED, detail).hint(hint.trim_start()).at(span)
}

/// The instances of a provider configuration, as a sentence.
fn declared_keys<'a>(keys: impl ExactSizeIterator<Item = &'a str>) -> EcoString {
    const SHOWN: usize = 20;
    let count = keys.len();
    if count == 0 {
        return "It has no instances: its for_each is empty.".into();
    }
    let mut shown: Vec<String> = keys.take(SHOWN).map(|key| format!("{key:?}")).collect();
    if count > SHOWN {
        shown.push(format!("and {} more instances", count - SHOWN));
    }
    let noun = if shown.len() == 1 { "instance" } else { "instances" };
    eco_format!("It has the {noun} {}.", shown.join(", "))
}

pub(super) fn same_for_each(block_type: &str, address: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The provider configuration has the same for_each as this {block_type}. Removing an element removes the provider \
         instance together with the objects it manages, but destroying these objects requires their provider instance.\n\n\
         To remove an element, first destroy its objects while the provider instance exists:\n    yuba apply -destroy \
         -target={address}"
    );
    Diagnostic::new(&PROVIDER_FOR_EACH_MATCHES, detail)
        .titled(eco_format!("Provider configuration for_each matches {block_type}")).naming(block_type)
        .about(address)
        .hint(eco_format!(
            "Let the for_each of the provider contain elements that the {block_type} no longer uses, until their objects are \
             destroyed."
        ))
        .at(span)
}

pub(super) fn undefined_in_caller(
    name: &str,
    module: &str,
    provider: Option<ProviderSource>,
    span: Span,
) -> Diagnostic {
    let provider = provider.map(|provider| provider.for_display()).unwrap_or_default();
    let detail =
        eco_format!("The required_providers of {module} have no entry {name:?}. Yuba uses the provider {provider}.");
    Diagnostic::new(&UNDEFINED_PROVIDER, detail)
        .about(name)
        .about(module)
        .about(&provider)
        .hint(eco_format!(
            "Add an entry {name:?} with source = {provider:?}, or another source, to its required_providers."
        ))
        .at(span)
}

pub(super) fn not_passed_on(
    name: &str,
    provider: Option<ProviderSource>,
    module: &str,
    parent: &str,
    call: &str,
    span: Span,
) -> Diagnostic {
    let provider = provider.map(|provider| provider.for_display()).unwrap_or_default();
    let detail = eco_format!(
        "{module} passes on a configuration of the provider {provider} with the local name {name:?}, but {parent} does not \
         pass one to it."
    );
    Diagnostic::new(&PROVIDER_NOT_PASSED_ON, detail)
        .about(module)
        .about(&provider)
        .about(name)
        .about(parent)
        .hint(eco_format!("Add an entry for {name:?} to the \"providers\" argument of the module {call:?} block."))
        .at(span)
}

pub(super) fn legacy_module(path: &ModulePath, source: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The module {path} contains provider blocks, so calls that lead to it cannot use count, for_each, enabled or \
         depends_on."
    );
    Diagnostic::new(&LEGACY_MODULE_REPEATED, detail)
        .hint(eco_format!(
            "Replace the provider blocks of the module {source:?} by provider configurations that its callers pass."
        ))
        .at(span)
}

pub(super) fn own_configuration(module: &str, name: &str, parent: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{module} has its own configuration of the provider {name}, so it cannot use the one that {parent} passes to it."
    );
    Diagnostic::new(&PROVIDER_OVERRIDE, detail).at(span)
}

pub(super) fn alias_not_passed(name: &str, provider: &ProviderSource, module: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{module} requires a configuration of the provider {} with the local name {name:?}.",
        provider.for_display()
    );
    Diagnostic::new(&PROVIDER_NOT_PASSED, detail)
        .hint(eco_format!("Add an entry for {name} to the \"providers\" argument of this module block."))
        .at(span)
}

pub(super) fn undefined_in_child(name: &str, module: &str, provider: &ProviderSource, span: Span) -> Diagnostic {
    let provider = provider.for_display();
    let detail =
        eco_format!("The required_providers of {module} have no entry {name:?}. Yuba uses the provider {provider}.");
    Diagnostic::new(&UNDEFINED_PROVIDER, detail)
        .about(name)
        .about(module)
        .about(&provider)
        .hint(eco_format!("Add an entry {name:?} with source = {provider:?} to the required_providers of the module."))
        .at(span)
}

pub(super) fn not_accepted(name: &str, provider: &ProviderSource, span: Span) -> Diagnostic {
    let provider = provider.for_display();
    let detail = eco_format!("The called module does not require a provider with the local name {name:?}.");
    Diagnostic::new(&PROVIDER_NOT_ACCEPTED, detail)
        .hint(eco_format!("Add an entry {name:?} with source = {provider:?} to the required_providers of the module."))
        .at(span)
}

pub(super) fn other_name(
    wanted: &ProviderSource,
    name: &str,
    given: &ProviderSource,
    parent: &str,
    other: &str,
    span: Span,
) -> Diagnostic {
    let detail = eco_format!(
        "The called module requires a configuration of the provider {} as {name:?}, but {parent} passes a configuration of \
         {}. The local name of that provider in the called module is {other:?}.",
        wanted.for_display(),
        given.for_display()
    );
    Diagnostic::new(&PROVIDER_TYPE_MISMATCH, detail).hint(eco_format!("Use the name {other:?} instead.")).at(span)
}

pub(super) fn other_type(
    given: (&str, &str, &ProviderSource),
    wanted: (&str, &str, &ProviderSource),
    span: Span,
) -> Diagnostic {
    let detail = eco_format!(
        "{:?} in {} is the provider {}, but {:?} in {} is {}. A configuration of one provider cannot be passed for another.",
        given.0,
        given.1,
        given.2.for_display(),
        wanted.0,
        wanted.1,
        wanted.2.for_display()
    );
    Diagnostic::new(&PROVIDER_TYPE_MISMATCH, detail)
        .hint("If they are the same provider, set the same source in the required_providers of both modules.")
        .at(span)
}

pub(super) fn empty_block(
    name: &str,
    configs: &[EcoString],
    source: Option<&ProviderSource>,
    module: &str,
    span: Span,
) -> Diagnostic {
    let source = source.map(ProviderSource::for_display).unwrap_or_default();
    let mut entry = eco_format!("    {name} = {{\n      source = {source:?}\n");
    if configs.iter().any(|config| config != name) {
        entry.push_str("      configuration_aliases = [\n");
        for config in configs {
            entry.push_str(&eco_format!("        {config},\n"));
        }
        entry.push_str("      ]\n");
    }
    entry.push_str("    }");
    let detail = eco_format!(
        "Empty provider blocks in called modules are deprecated. required_providers declares the provider configurations that \
         a module expects from its caller:\n{entry}"
    );
    Diagnostic::new(&EMPTY_PROVIDER_BLOCK, detail)
        .about(name)
        .about(&source)
        .about(configs.join(", "))
        .hint(eco_format!(
            "Remove the empty provider {name:?} blocks and add this entry to the required_providers block of {module}."
        ))
        .at(span)
}

pub(super) fn configuration_not_present(address: &str, config: &AbsProviderConfig) -> Diagnostic {
    let detail = eco_format!("{address} requires the provider configuration {config}, which does not exist.");
    Diagnostic::new(&PROVIDER_CONFIGURATION_NOT_PRESENT, detail).hint(
        "Select an existing configuration, or restore the removed one until the objects that it manages are destroyed.",
    )
}

pub(super) fn import_provider(address: &str, declared: Option<&str>, span: Span) -> Diagnostic {
    let declared = match declared {
        Some(declared) => eco_format!("provider = {declared}"),
        None => "no provider argument".into(),
    };
    let detail = eco_format!(
        "The provider argument of this import block does not match the block of {address}, which has {declared}."
    );
    Diagnostic::new(&IMPORT_PROVIDER_DIFFERS, detail)
        .hint("Remove the provider argument of the import block, or change that of the resource.")
        .at(span)
}

pub(super) fn test_provider_type(
    given: (&str, &str, &ProviderSource),
    wanted: (&str, &ProviderSource),
    span: Span,
) -> Diagnostic {
    let detail = eco_format!(
        "{:?} in {} is the provider {}, but {:?} in the root module is {}. The first run that uses a provider block of a test \
         file determines its provider, and other runs use this name for another provider.",
        given.0,
        given.1,
        given.2.for_display(),
        wanted.0,
        wanted.1.for_display()
    );
    Diagnostic::new(&PROVIDER_TYPE_MISMATCH, detail).at(span)
}
