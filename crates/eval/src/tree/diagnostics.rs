//! What can be wrong with how modules and providers are linked, in words.

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, ModulePath, ModuleSource, ProviderSource, Version, without_secrets};
use yuba_config::provider::ProviderKey;
use yuba_config::variable::Variable;
use yuba_syntax::{Diagnostic, Span};

use super::Purpose;
use crate::static_eval::for_each::Instances;

pub(super) fn root_unreadable(dir: &str) -> Diagnostic {
    Diagnostic::error("Failed to read module directory", eco_format!("There is no directory {dir} that can be read."))
}

pub(super) fn unreadable_directory(dir: &str, path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "Failed to read the directory {dir:?} of {path}. A local source is relative to the directory of the module that \
         contains the call."
    );
    Diagnostic::error("Unreadable module directory", detail).at(span)
}

pub(super) fn leaves_package(path: &ModulePath, package: &str) -> Diagnostic {
    let hint = match package.starts_with("file:///") {
        true => {
            " An absolute path is a package of its own; write a path that starts with \"./\" or \"../\" to stay in the package of \
             the caller."
        }
        false => "",
    };
    let detail = eco_format!(
        "The directory of {path} is outside of the package {package:?} of its caller. Local sources have to stay within their \
         package.{hint}"
    );
    Diagnostic::error("Local module path escapes module package", detail)
}

pub(super) fn local_missing(dir: &str, path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The directory {dir}, where {path} should be, could not be read. A local source is relative to the directory of the \
         module it stands in."
    );
    Diagnostic::error("Module not installed", detail).at(span)
}

/// What to do about a module that is not where it was installed.
const HOW_TO_INSTALL: &str = "Run \"yuba init\" to install all modules of this configuration.";

pub(super) fn not_installed(path: &ModulePath, source: &ModuleSource, purpose: Purpose, span: Span) -> Diagnostic {
    let summary = match purpose {
        Purpose::Install => "Failed to download module",
        Purpose::Use | Purpose::Look => "Module not installed",
    };
    let source = without_secrets(&source.for_display());
    Diagnostic::error(summary, eco_format!("The module {path} comes from {source}. {HOW_TO_INSTALL}")).at(span)
}

pub(super) fn cache_unreadable(dir: &str, path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!("The directory {dir}, where {path} was installed, could not be read. {HOW_TO_INSTALL}");
    Diagnostic::error("Module not installed", detail).at(span)
}

pub(super) fn source_changed(installed: &str, wanted: &str, span: Span) -> Diagnostic {
    let (installed, wanted) = (without_secrets(installed), without_secrets(wanted));
    let detail =
        eco_format!("The module was installed from {installed:?}, and its source is {wanted:?} now. {HOW_TO_INSTALL}");
    Diagnostic::error("Module source has changed", detail).at(span)
}

pub(super) fn version_changed(installed: Option<&Version>, span: Span) -> Diagnostic {
    let installed = installed.map(|version| eco_format!(" {version}")).unwrap_or_default();
    let detail = eco_format!("The installed version{installed} is not one that is asked for now. {HOW_TO_INSTALL}");
    Diagnostic::error("Module version requirements have changed", detail).at(span)
}

pub(super) fn invalid_version(reason: &str, span: Span) -> Diagnostic {
    Diagnostic::error("Invalid version constraint", eco_format!("This is no version constraint: {reason}.")).at(span)
}

pub(super) fn const_not_available(variable: &Variable, at: Span) -> Diagnostic {
    let detail = eco_format!(
        "The variable {:?} is declared with \"const = true\", so its value must be known before anything is planned, but \
         it is not available.",
        variable.name
    );
    Diagnostic::error("Unable to compute static value", detail).at(at)
}

pub(super) fn calls_itself(path: &ModulePath, caller: &ModulePath, dir: &str, span: Span) -> Diagnostic {
    let caller = if caller.is_root() { "the root module".into() } else { eco_format!("{caller}") };
    let detail = eco_format!(
        "The directory {dir} of {path} is that of {caller} too, which leads to this call: the calls would never end."
    );
    Diagnostic::error("Module calls itself", detail).at(span)
}

pub(super) fn too_deep(limit: usize, span: Span) -> Diagnostic {
    let detail = eco_format!("Module calls are nested more than {limit} levels deep here.");
    Diagnostic::error("Module calls nested too deeply", detail).at(span)
}

pub(super) fn too_many_modules(limit: usize) -> Diagnostic {
    let detail = eco_format!(
        "There are more than {limit} module calls in this configuration, counting those in called modules each time."
    );
    Diagnostic::error("Too many modules", detail)
}

pub(super) fn backend_ignored(path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "There is one state for the whole configuration, and the root module says where it is kept. This block in {path} \
         has no effect; it is allowed so that a root module can be called for a while, for example to test it."
    );
    Diagnostic::warning("Backend configuration ignored", detail).at(span)
}

pub(super) fn import_in_child(path: &ModulePath, span: Span) -> Diagnostic {
    let detail = eco_format!("Import blocks are possible in the root module only, and this one is in {path}.");
    Diagnostic::error("Invalid import configuration", detail).at(span)
}

pub(super) fn required_twice(provider: &ProviderSource, name: &str, first: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The provider {} with the local name {name:?} is also required as {first:?}. A provider can be required once in a \
         module.",
        provider.for_display()
    );
    Diagnostic::warning("Duplicate required provider", detail).at(span)
}

pub(super) fn required_by_block(provider: &ProviderSource, name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The provider {} is required with the local name {name:?}, but a provider block calls it {:?}. Use one name in both \
         places.",
        provider.for_display(),
        provider.kind
    );
    Diagnostic::warning("Duplicate required provider", detail).at(span)
}

pub(super) fn required_by_resource(provider: &ProviderSource, address: &str, name: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The resource {address} implies the provider {}, which required_providers calls {name:?}. Change the local name to \
         match the resource type, or add \"provider = {name}\" to the resource.",
        provider.for_display()
    );
    Diagnostic::warning("Duplicate required provider", detail).at(span)
}

pub(super) fn implied_name(name: &str, reason: &str, span: Span) -> Diagnostic {
    let detail = eco_format!("The resource type implies a provider called {name:?}, which is not possible: {reason}.");
    Diagnostic::error("Invalid provider local name", detail).at(span)
}

fn key_error(block_type: &str, detail: impl Into<EcoString>, span: Span) -> Diagnostic {
    Diagnostic::error(eco_format!("Invalid {block_type} provider configuration"), detail).at(span)
}

pub(super) fn not_a_value(key: &ProviderKey, what: &str, declared: Option<&str>, span: Span) -> Diagnostic {
    let declared = declared.map(|place| eco_format!(", declared at {place}")).unwrap_or_default();
    let detail = eco_format!(
        "{key} is {what}{declared}. Provider configurations are not values, so an expression cannot choose one. Write the \
         reference itself: NAME, NAME.ALIAS, or NAME.ALIAS[KEY] for a configuration with for_each. Only KEY can be an \
         expression."
    );
    Diagnostic::error("Invalid provider configuration reference", detail).at(span)
}

pub(super) fn key_without_alias(block_type: &str, span: Span) -> Diagnostic {
    let detail = "An instance key is possible only for a provider configuration that has an alias and uses for_each.";
    key_error(block_type, detail, span)
}

pub(super) fn key_without_for_each(block_type: &str, span: Span) -> Diagnostic {
    key_error(block_type, "An instance key is possible only for a provider configuration that uses for_each.", span)
}

pub(super) fn key_without_block(block_type: &str, key: &ProviderKey, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "This module has no provider {:?} block with alias = {:?}, which an instance key needs: the block must be in the \
         same module and use for_each.",
        key.name,
        key.alias.as_deref().unwrap_or_default()
    );
    key_error(block_type, detail, span)
}

pub(super) fn key_missing(block_type: &str, may_pass_all: bool, span: Span) -> Diagnostic {
    let all = match (block_type, may_pass_all) {
        ("module", true) => " To pass all instances to a called module at once, write [*] on both sides.",
        (_, true) => "",
        (_, false) => " All instances cannot be passed to a child module at once.",
    };
    let detail = eco_format!(
        "This provider configuration uses for_each, so a reference to it needs the key of an instance, in square \
         brackets.{all}"
    );
    key_error(block_type, detail, span)
}

pub(super) fn not_a_collection(key: &ProviderKey, declared: Option<&str>, span: Span) -> Diagnostic {
    let detail = match declared {
        Some(declared) => eco_format!(
            "The provider configuration {key}, declared at {declared}, is a single one, so [*] is not possible: only one that \
             uses for_each, or that configuration_aliases asks for with [*], has instances to pass."
        ),
        None => eco_format!(
            "This module has no provider configuration {key} whose instances could be passed: neither a provider {:?} block \
             with alias = {:?} and for_each, nor {key}[*] in configuration_aliases.",
            key.name,
            key.alias.as_deref().unwrap_or_default()
        ),
    };
    key_error("module", detail, span)
}

pub(super) fn one_for_all(key: &ProviderKey, module: &str, asked: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{module} asks for all instances of a provider configuration as {key}[*], at {asked}, and gets a single one here. \
         Write {key}[*] = NAME.ALIAS[*] with a configuration that uses for_each, or remove [*] from the \
         configuration_aliases of the module."
    );
    key_error("module", detail, span)
}

pub(super) fn all_for_one(key: &ProviderKey, module: &str, declared: Option<&str>, span: Span) -> Diagnostic {
    let detail = match declared {
        Some(declared) => eco_format!(
            "{module} asks for a single provider configuration as {key}, at {declared}, and gets all instances of one here. \
             Choose one with a key instead of [*], or let the configuration_aliases of the module have {key}[*]."
        ),
        None => eco_format!(
            "{module} does not ask for {key}. To let it have all instances of a provider configuration, add {key}[*] to the \
             configuration_aliases of {:?} in its required_providers, and opt in to the experiment provider_collections there.",
            key.name
        ),
    };
    key_error("module", detail, span)
}

pub(super) fn key_on_left_side(span: Span) -> Diagnostic {
    let detail = "An instance key is not possible on the left side: what a called module receives is one instance.";
    key_error("module", detail, span)
}

pub(super) fn instance_not_declared(name: &str, key: &str, instances: &Instances, span: Span) -> Diagnostic {
    const SHOWN: usize = 20;
    let mut keys: Vec<String> = instances.iter().take(SHOWN).map(|(key, _)| format!("{key:?}")).collect();
    if instances.len() > SHOWN {
        keys.push(format!("and {} more", instances.len() - SHOWN));
    }
    let declared = match keys.is_empty() {
        true => "It has no instances: its for_each is empty.".into(),
        false => eco_format!("It has the instances {}.", keys.join(", ")),
    };
    let hint = yuba_syntax::suggestion::did_you_mean(key, instances.iter().map(|(key, _)| key.as_str()));
    let detail = eco_format!("The provider configuration {name} has no instance {key:?}. {declared}{hint}");
    Diagnostic::error("Provider instance not declared", detail).at(span)
}

pub(super) fn same_for_each(block_type: &str, address: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The provider configuration has the same for_each as this {block_type}, so an element that is removed from it takes \
         the provider instance away together with the objects it manages. To destroy objects their provider instance is \
         needed for one more plan and apply: let the for_each of the provider have elements that the {block_type} does not \
         use any more.\n\nTo destroy these objects before the provider configuration is removed, run first:\n    yuba apply \
         -destroy -target={address}"
    );
    Diagnostic::warning(eco_format!("Provider configuration for_each matches {block_type}"), detail).at(span)
}

pub(super) fn undefined_in_caller(
    name: &str,
    module: &str,
    provider: Option<ProviderSource>,
    span: Span,
) -> Diagnostic {
    let provider = provider.map(|provider| provider.for_display()).unwrap_or_default();
    let detail = eco_format!(
        "Nothing in {module} declares a provider with the local name {name:?}, so {provider} is assumed. To make this \
         clear, add to its required_providers an entry {name:?} with source = {provider:?}, or another source."
    );
    Diagnostic::warning("Reference to undefined provider", detail).at(span)
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
         pass one to it. Add an entry for {name:?} to the \"providers\" argument of the module {call:?} block."
    );
    Diagnostic::warning("Missing required provider configuration", detail).at(span)
}

pub(super) fn legacy_module(path: &ModulePath, source: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "The module {path} has provider configurations of its own, so calls that lead to it cannot use count, for_each, \
         enabled or depends_on.\n\nIf you can change the module {source:?}, let its callers pass the provider configurations \
         instead."
    );
    Diagnostic::error("Module is incompatible with count, for_each, enabled and depends_on", detail).at(span)
}

pub(super) fn own_configuration(module: &str, name: &str, parent: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{module} has its own configuration of the provider {name}, so it cannot use another one that {parent} passes to it."
    );
    Diagnostic::error("Cannot override provider configuration", detail).at(span)
}

pub(super) fn alias_not_passed(name: &str, provider: &ProviderSource, module: &str, span: Span) -> Diagnostic {
    let detail = eco_format!(
        "{module} needs a configuration of the provider {} that it calls {name:?}. Choose one with an entry for {name} in \
         the \"providers\" argument of this module block; the module's documentation should say what it is for.",
        provider.for_display()
    );
    Diagnostic::error("Missing required provider configuration", detail).at(span)
}

pub(super) fn undefined_in_child(name: &str, module: &str, provider: &ProviderSource, span: Span) -> Diagnostic {
    let provider = provider.for_display();
    let detail = eco_format!(
        "Nothing in {module} declares a provider with the local name {name:?}, so {provider} is assumed. If you can change \
         the module, add to its required_providers an entry {name:?} with source = {provider:?}."
    );
    Diagnostic::warning("Reference to undefined provider", detail).at(span)
}

pub(super) fn not_accepted(name: &str, provider: &ProviderSource, span: Span) -> Diagnostic {
    let provider = provider.for_display();
    let detail = eco_format!(
        "The called module requires no provider with the local name {name:?}. If you can change the module, add to its \
         required_providers an entry {name:?} with source = {provider:?} so that it accepts this configuration."
    );
    Diagnostic::error("Reference to undefined provider", detail).at(span)
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
        "The called module expects a configuration of the provider {} as {name:?}, but what {parent} passes is one of {}. \
         The called module calls that one {other:?}: use this name instead.",
        wanted.for_display(),
        given.for_display()
    );
    Diagnostic::error("Provider type mismatch", detail).at(span)
}

pub(super) fn other_type(
    given: (&str, &str, &ProviderSource),
    wanted: (&str, &str, &ProviderSource),
    span: Span,
) -> Diagnostic {
    let detail = eco_format!(
        "{:?} in {} is the provider {}, but {:?} in {} is {}. Each provider has its own arguments and resource types, so \
         one cannot be passed for the other. If they should be the same, give both modules the same source in \
         required_providers.",
        given.0,
        given.1,
        given.2.for_display(),
        wanted.0,
        wanted.1,
        wanted.2.for_display()
    );
    Diagnostic::error("Provider type mismatch", detail).at(span)
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
        "An empty provider block in a called module was once the way to ask for a configuration from the caller. \
         required_providers says so more clearly. If you can change the module, remove the empty provider {name:?} blocks and \
         put this into the required_providers block of {module}:\n{entry}"
    );
    Diagnostic::warning("Redundant empty provider block", detail).at(span)
}

pub(super) fn configuration_not_present(address: &str, config: &AbsProviderConfig) -> Diagnostic {
    let detail = eco_format!(
        "{address} needs the provider configuration {config}, and there is none. If it was removed while objects that it \
         manages still exist, add it again until they are destroyed; otherwise choose a configuration that exists."
    );
    Diagnostic::error("Provider configuration not present", detail)
}

pub(super) fn import_provider(address: &str, declared: Option<&str>, span: Span) -> Diagnostic {
    let declared = match declared {
        Some(declared) => eco_format!("provider = {declared}"),
        None => "no provider argument".into(),
    };
    let detail = eco_format!(
        "The block of {address} has {declared}, and the import block must agree with it. Remove the provider argument of the \
         import block, or change that of the resource."
    );
    Diagnostic::error("Invalid import provider argument", detail).at(span)
}

pub(super) fn test_provider_type(
    given: (&str, &str, &ProviderSource),
    wanted: (&str, &ProviderSource),
    span: Span,
) -> Diagnostic {
    let detail = eco_format!(
        "{:?} in {} is the provider {}, but {:?} in the root module is {}.\n\nA provider block of a test file is for one \
         provider, which the first run that uses it decides, and other runs use this name for another one.",
        given.0,
        given.1,
        given.2.for_display(),
        wanted.0,
        wanted.1.for_display()
    );
    Diagnostic::error("Provider type mismatch", detail).at(span)
}
