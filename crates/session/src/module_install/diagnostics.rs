//! Catalogue of the diagnostics of module installation.

use std::path::Path;

use ecow::eco_format;
use yuba_addrs::{DEFAULT_REGISTRY, RegistryModule, Version, without_secrets};
use yuba_eval::tree::Wanted;
use yuba_syntax::Diagnostic;

yuba_syntax::catalogue! {
    /// The directory of an installed module cannot be removed to install the module again.
    INSTALLED_MODULE_NOT_REMOVED = error "installed-module-not-removed", "Failed to remove local module cache";
    /// The package of a module cannot be downloaded.
    MODULE_NOT_DOWNLOADED = error "module-not-downloaded", "Failed to download module";
    /// A pattern in the subdirectory of a module source does not match exactly one directory of the package.
    MODULE_SUBDIRECTORY_NOT_MATCHED = error "module-subdirectory-not-matched", "Failed to expand subdir globs";
    /// The package of a module does not contain the subdirectory in the module source.
    MODULE_SUBDIRECTORY_NOT_FOUND = error "module-subdirectory-not-found", "Module subdirectory not found";
    /// The subdirectory in a module source is a symbolic link to a directory outside the package.
    MODULE_SUBDIRECTORY_OUTSIDE = error "module-subdirectory-outside", "Failed to download module";
    /// The path of an installed module is not valid Unicode.
    MODULE_DIRECTORY_NOT_UNICODE = error "module-directory-not-unicode", "Unreadable module directory";
    /// A registry does not contain a module.
    MODULE_NOT_IN_REGISTRY = error "module-not-in-registry", "Module not found";
    /// The versions of a module cannot be requested from its registry.
    MODULE_VERSIONS_NOT_LISTED = error "module-versions-not-listed", "Error accessing remote module registry";
    /// The download location of a module version cannot be requested from its registry.
    MODULE_LOCATION_NOT_FOUND = error "module-location-not-found", "Error accessing remote module registry";
    /// The response of a registry to a request for module versions does not contain the module.
    MODULE_RESPONSE_INVALID = error "module-response-invalid", "Invalid response from remote module registry";
    /// A registry lists an invalid version of a module.
    MODULE_VERSION_IGNORED = warning "module-version-ignored", "Invalid response from remote module registry";
    /// A registry lists no versions of a module.
    MODULE_WITHOUT_VERSIONS = error "module-without-versions", "Module has no versions";
    /// No version of a module matches the version constraint of the module call.
    MODULE_VERSION_NOT_MATCHED = error "module-version-not-matched", "Unresolvable module version constraint";
    /// The module of `-from-module` cannot be copied into the working directory.
    ROOT_MODULE_NOT_COPIED = error "root-module-not-copied", "Failed to copy root module";
    /// The module of `-from-module` calls a module outside its own directory.
    ROOT_MODULE_CALLS_PARENT = error "root-module-calls-parent", "Root module references parent directory";
}

pub(super) fn not_removed(package: &Path, error: &std::io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to remove directory {} to install the module again: {error}.", package.display());
    Diagnostic::new(&INSTALLED_MODULE_NOT_REMOVED, detail)
}

pub(super) fn not_downloaded(wanted: &Wanted<'_>, from: &str, reason: &str) -> Diagnostic {
    let path = wanted.name;
    let from = without_secrets(from);
    let detail = eco_format!("Failed to download {path} from {from:?}: {reason}.");
    Diagnostic::new(&MODULE_NOT_DOWNLOADED, detail).at(wanted.span)
}

pub(super) fn no_subdir_match(wanted: &Wanted<'_>, reason: &str) -> Diagnostic {
    let detail = eco_format!("Failed to find the subdirectory in the package of {}: {reason}.", wanted.name);
    Diagnostic::new(&MODULE_SUBDIRECTORY_NOT_MATCHED, detail).at(wanted.span)
}

pub(super) fn no_subdir(wanted: &Wanted<'_>, subdir: &str) -> Diagnostic {
    let detail = eco_format!("The package of {} does not contain the directory {subdir:?}.", wanted.name);
    Diagnostic::new(&MODULE_SUBDIRECTORY_NOT_FOUND, detail).at(wanted.span)
}

pub(super) fn leads_out(wanted: &Wanted<'_>, subdir: &Path) -> Diagnostic {
    let detail = eco_format!(
        "Directory {:?} in the package of {} is a symbolic link to a directory outside the package.",
        subdir.display().to_string(),
        wanted.name
    );
    Diagnostic::new(&MODULE_SUBDIRECTORY_OUTSIDE, detail).at(wanted.span)
}

pub(super) fn unreadable_directory(dir: &Path) -> Diagnostic {
    let detail = eco_format!("The path of directory {} is not valid Unicode.", dir.display());
    Diagnostic::new(&MODULE_DIRECTORY_NOT_UNICODE, detail)
}

pub(super) fn no_such_module(module: &RegistryModule, wanted: &Wanted<'_>) -> Diagnostic {
    let (host, name) = (&module.host, module.for_registry());
    let detail = eco_format!("Registry {host} does not contain module {name}, the source of {}.", wanted.name);
    let hint = match host.as_str() {
        DEFAULT_REGISTRY => {
            "If the module should exist, report it at https://github.com/opentofu/registry/issues/new/choose"
        }
        _ => "",
    };
    Diagnostic::new(&MODULE_NOT_IN_REGISTRY, detail).hint(hint).at(wanted.span)
}

pub(super) fn no_versions_known(module: &RegistryModule, wanted: &Wanted<'_>, reason: &str) -> Diagnostic {
    let detail = eco_format!(
        "Failed to request the versions of {}, the source of {}: {reason}.",
        module.for_registry(),
        wanted.name
    );
    Diagnostic::new(&MODULE_VERSIONS_NOT_LISTED, detail).at(wanted.span)
}

pub(super) fn no_location(module: &RegistryModule, version: &Version, wanted: &Wanted<'_>, reason: &str) -> Diagnostic {
    let detail = eco_format!("Failed to request the download location of version {version} of {module}: {reason}.");
    Diagnostic::new(&MODULE_LOCATION_NOT_FOUND, detail).at(wanted.span)
}

pub(super) fn invalid_answer(module: &RegistryModule, wanted: &Wanted<'_>) -> Diagnostic {
    let detail = eco_format!(
        "Registry {} sent a list of versions that does not contain {}, the source of {}.",
        module.host,
        module.for_registry(),
        wanted.name
    );
    Diagnostic::new(&MODULE_RESPONSE_INVALID, detail).at(wanted.span)
}

pub(super) fn invalid_version(module: &RegistryModule, wanted: &Wanted<'_>, version: &str) -> Diagnostic {
    let detail = eco_format!(
        "Ignoring invalid version {version:?} of {} in the response of registry {}.",
        module.for_registry(),
        module.host,
    );
    Diagnostic::new(&MODULE_VERSION_IGNORED, detail)
        .about(module.for_registry())
        .about(&module.host)
        .about(version)
        .at(wanted.span)
}

pub(super) fn no_versions(module: &RegistryModule, wanted: &Wanted<'_>) -> Diagnostic {
    let detail = eco_format!(
        "Registry {} lists no versions of {}, the source of {}.",
        module.host,
        module.for_registry(),
        wanted.name
    );
    Diagnostic::new(&MODULE_WITHOUT_VERSIONS, detail).at(wanted.span)
}

pub(super) fn no_version(module: &RegistryModule, wanted: &Wanted<'_>, newest: &Version) -> Diagnostic {
    let detail = eco_format!(
        "No version of {}, the source of {}, matches the version constraint. The newest version is {newest}.",
        module.for_registry(),
        wanted.name
    );
    Diagnostic::new(&MODULE_VERSION_NOT_MATCHED, detail).at(wanted.span)
}

pub(super) fn root_not_copied(source: &str, reason: &str) -> Diagnostic {
    let detail = eco_format!("Failed to copy module {source:?} into the working directory: {reason}.");
    Diagnostic::new(&ROOT_MODULE_NOT_COPIED, detail)
}

pub(super) fn root_needs_parent(source: &str, instead: &str) -> Diagnostic {
    let detail = eco_format!(
        "Module {source:?} is copied, but it calls a module in its parent directory, which is not part of the copy."
    );
    Diagnostic::new(&ROOT_MODULE_CALLS_PARENT, detail)
        .hint(eco_format!("Change that module source to the original address, such as {instead:?}."))
}
