//! What can go wrong with bringing modules.

use std::path::Path;

use ecow::eco_format;
use yuba_addrs::{DEFAULT_REGISTRY, RegistryModule, Version, without_secrets};
use yuba_eval::tree::Wanted;
use yuba_syntax::Diagnostic;

pub(super) fn not_removed(package: &Path, error: &std::io::Error) -> Diagnostic {
    let detail = eco_format!(
        "The directory {} has to be removed so that the module can be installed again, but that failed: {error}.",
        package.display()
    );
    Diagnostic::error("Failed to remove local module cache", detail)
}

pub(super) fn not_downloaded(wanted: &Wanted<'_>, from: &str, reason: &str) -> Diagnostic {
    let path = wanted.name;
    let from = without_secrets(from);
    let detail = eco_format!("The package of {path} could not be downloaded from {from:?}: {reason}.");
    Diagnostic::error("Failed to download module", detail).at(wanted.span)
}

pub(super) fn no_subdir_match(wanted: &Wanted<'_>, reason: &str) -> Diagnostic {
    let detail = eco_format!("The package of {} does not have the wanted directory: {reason}.", wanted.name);
    Diagnostic::error("Failed to expand subdir globs", detail).at(wanted.span)
}

pub(super) fn no_subdir(wanted: &Wanted<'_>, subdir: &str) -> Diagnostic {
    let detail = eco_format!("There is no directory {subdir:?} in the package of {}.", wanted.name);
    Diagnostic::error("Module subdirectory not found", detail).at(wanted.span)
}

pub(super) fn leads_out(wanted: &Wanted<'_>, subdir: &Path) -> Diagnostic {
    let detail = eco_format!(
        "The directory {:?} of the package of {} is a link that leads out of the package.",
        subdir.display().to_string(),
        wanted.name
    );
    Diagnostic::error("Failed to download module", detail).at(wanted.span)
}

pub(super) fn unreadable_directory(dir: &Path) -> Diagnostic {
    let detail = eco_format!("The directory {} cannot be used: its name is not Unicode.", dir.display());
    Diagnostic::error("Unreadable module directory", detail)
}

pub(super) fn no_such_module(module: &RegistryModule, wanted: &Wanted<'_>) -> Diagnostic {
    let (host, name) = (&module.host, module.for_registry());
    let hint = match host.as_str() {
        DEFAULT_REGISTRY => {
            " If it should be there, tell its keepers: https://github.com/opentofu/registry/issues/new/choose"
        }
        _ => "",
    };
    let detail = eco_format!("The registry {host} has no module {name}, which is wanted as {}.{hint}", wanted.name);
    Diagnostic::error("Module not found", detail).at(wanted.span)
}

pub(super) fn no_versions_known(module: &RegistryModule, wanted: &Wanted<'_>, reason: &str) -> Diagnostic {
    let detail = eco_format!(
        "The versions of {}, which is wanted as {}, could not be asked for: {reason}.",
        module.for_registry(),
        wanted.name
    );
    Diagnostic::error("Error accessing remote module registry", detail).at(wanted.span)
}

pub(super) fn no_location(module: &RegistryModule, version: &Version, wanted: &Wanted<'_>, reason: &str) -> Diagnostic {
    let detail = eco_format!("Where version {version} of {module} is could not be found out: {reason}.");
    Diagnostic::error("Error accessing remote module registry", detail).at(wanted.span)
}

pub(super) fn invalid_answer(module: &RegistryModule, wanted: &Wanted<'_>) -> Diagnostic {
    let detail = eco_format!(
        "The answer of the registry {} to the question which versions {} has, which is wanted as {}, has no module in it.",
        module.host,
        module.for_registry(),
        wanted.name
    );
    Diagnostic::error("Invalid response from remote module registry", detail).at(wanted.span)
}

pub(super) fn invalid_version(module: &RegistryModule, wanted: &Wanted<'_>, version: &str) -> Diagnostic {
    let detail = eco_format!(
        "The registry {} lists {version:?} among the versions of {}, which is no version. It does not count.",
        module.host,
        module.for_registry(),
    );
    Diagnostic::warning("Invalid response from remote module registry", detail).at(wanted.span)
}

pub(super) fn no_versions(module: &RegistryModule, wanted: &Wanted<'_>) -> Diagnostic {
    let detail = eco_format!(
        "The registry {} has no version of {}, which is wanted as {}.",
        module.host,
        module.for_registry(),
        wanted.name
    );
    Diagnostic::error("Module has no versions", detail).at(wanted.span)
}

pub(super) fn no_version(module: &RegistryModule, wanted: &Wanted<'_>, newest: &Version) -> Diagnostic {
    let detail = eco_format!(
        "No version of {}, which is wanted as {}, meets the version constraint. The newest one is {newest}.",
        module.for_registry(),
        wanted.name
    );
    Diagnostic::error("Unresolvable module version constraint", detail).at(wanted.span)
}

pub(super) fn root_not_copied(source: &str, reason: &str) -> Diagnostic {
    let detail = eco_format!("The module {source:?} could not be copied into the working directory: {reason}.");
    Diagnostic::error("Failed to copy root module", detail)
}

pub(super) fn root_needs_parent(source: &str, instead: &str) -> Diagnostic {
    let detail = eco_format!(
        "The module {source:?} was copied, but it calls a module of its parent directory, which is not here. Change that source \
         to the address of the original, such as {instead:?}."
    );
    Diagnostic::error("Root module references parent directory", detail)
}
