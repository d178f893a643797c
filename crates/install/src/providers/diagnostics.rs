//! Diagnostics about finding, installing, locking and mirroring providers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use yuba_addrs::{ProviderConstraints, ProviderSource, ProviderVersion};
use yuba_syntax::{Code, Diagnostic, Span};

use super::installing::Failure;
use super::platform::Platform;
use super::source::QueryError;
use crate::lock_file::LockFile;

yuba_syntax::catalogue! {
    /// The versions of a provider cannot be listed.
    PROVIDER_VERSIONS_NOT_FOUND = error "provider-versions-not-found", "Failed to query available provider packages";
    /// The host in a provider source is not a provider registry.
    PROVIDER_REGISTRY_HOST_INVALID = error "provider-registry-host-invalid", "Invalid provider registry host";
    /// A registry or mirror fails while a provider is resolved, or no version matches the constraints.
    PROVIDER_NOT_RESOLVED = error "provider-not-resolved", "Failed to resolve provider packages";
    /// A provider version has no package that this version of Yuba and this platform can use.
    PROVIDER_VERSION_INCOMPATIBLE = error "provider-version-incompatible", "Incompatible provider version";
    /// A provider package cannot be downloaded, verified or unpacked.
    PROVIDER_NOT_INSTALLED = error "provider-not-installed", "Failed to install provider";
    /// A provider package cannot be linked from the shared cache directory.
    PROVIDER_NOT_LINKED = error "provider-not-linked", "Failed to install provider from shared cache";
    /// A resource type implies a provider that does not exist.
    PROVIDER_IMPLIED = warning "provider-implied", "Automatically-inferred provider dependency";
    /// A registry returns warnings about a provider.
    REGISTRY_WARNINGS = warning "registry-warnings", "Additional provider information from registry";
    /// The CLI configuration replaces providers with development builds.
    DEV_OVERRIDES_IN_EFFECT = warning "dev-overrides-in-effect", "Provider development overrides are in effect";
    /// The dependency lock file has checksums of a provider for one platform only.
    LOCK_FILE_INCOMPLETE = warning "lock-file-incomplete", "Incomplete lock file information for providers";
    /// The configuration requires providers that are missing in a read-only lock file.
    LOCK_FILE_READONLY = error "lock-file-readonly", "Provider dependency changes detected";
    /// The selected providers differ from a read-only lock file.
    LOCK_FILE_NOT_UPDATED = warning "lock-file-not-updated", "Provider lock file not updated";
    /// The dependency lock file does not select the providers that the configuration requires.
    LOCK_FILE_INCONSISTENT = error "lock-file-inconsistent", "Inconsistent dependency lock file";
    /// Providers that the dependency lock file selects are not installed.
    LOCKED_PROVIDERS_NOT_INSTALLED = error "locked-providers-not-installed", "Required plugins are not installed";
    /// A provider that the dependency lock file selects is missing or damaged.
    LOCKED_PROVIDER_UNUSABLE = error "locked-provider-unusable", "{provider}: {reason}";
    /// The `include` argument of an installation method has an invalid pattern.
    INCLUDE_PATTERN_INVALID = error "include-pattern-invalid", "Invalid provider source inclusion patterns";
    /// The `exclude` argument of an installation method has an invalid pattern.
    EXCLUDE_PATTERN_INVALID = error "exclude-pattern-invalid", "Invalid provider source exclusion patterns";
    /// The CLI configuration has an invalid URL of a network mirror.
    MIRROR_URL_INVALID = error "mirror-url-invalid", "Invalid URL for provider installation source";
    /// The `-net-mirror` flag has an invalid URL.
    NET_MIRROR_URL_INVALID = error "net-mirror-url-invalid", "Invalid network mirror URL";
    /// The `-platform` flag has an invalid platform.
    PLATFORM_INVALID = error "platform-invalid", "Invalid target platform";
    /// The `providers lock` command names a provider that the configuration does not require.
    PROVIDER_NOT_REQUIRED = error "provider-not-required", "Invalid provider argument";
    /// The packages for the checksums of `providers lock` cannot be installed.
    PROVIDERS_NOT_LOCKED = error "providers-not-locked", "Could not retrieve providers for locking";
    /// The directory for packages that are only hashed cannot be created.
    TEMPORARY_DIRECTORY_NOT_CREATED = error "temporary-directory-not-created", "Could not create temporary directory";
    /// The `providers mirror` command finds no version of a provider.
    MIRRORED_PROVIDER_NOT_AVAILABLE = error "mirrored-provider-not-available", "Provider not available";
    /// The `providers mirror` command mirrors a provider that is missing in the dependency lock file.
    MIRRORED_PROVIDER_NOT_LOCKED = error "mirrored-provider-not-locked", "Provider not found in lockfile";
    /// The `providers mirror` command finds no package for a platform.
    MIRRORED_RELEASE_NOT_AVAILABLE = error "mirrored-release-not-available", "Provider release not available";
    /// The `providers mirror` command fails to download a package.
    MIRRORED_RELEASE_NOT_DOWNLOADED = error "mirrored-release-not-downloaded", "Cannot download provider release";
    /// The `providers mirror` command downloads a package with a wrong checksum or signature.
    MIRRORED_PACKAGE_INVALID = error "mirrored-package-invalid", "Invalid provider package";
    /// The index files of a mirror cannot be written.
    MIRROR_INDEX_NOT_WRITTEN = error "mirror-index-not-written", "Failed to update indexes";
}

/// A provider that cannot be found or installed.
pub fn failure(
    provider: &ProviderSource,
    failure: &Failure,
    needed: &BTreeMap<ProviderSource, ProviderConstraints>,
    platform: &Platform,
) -> Diagnostic {
    let shown = provider.for_display();
    match failure {
        Failure::Query(error) => query(provider, error, needed),
        Failure::Select(reason) => {
            Diagnostic::new(&PROVIDER_NOT_RESOLVED, format!("Could not resolve provider {shown}: {reason}."))
        }
        Failure::Offer(version, error) => offer(provider, version, error, &needed[provider], platform),
        Failure::Install(version, reason) => {
            let detail = format!("Error while installing {shown} v{version}:{}.", after_colon(reason));
            Diagnostic::new(&PROVIDER_NOT_INSTALLED, detail)
        }
        Failure::Link(version, reason) => {
            let detail = format!("Error while importing {shown} v{version} from the shared cache directory: {reason}.");
            Diagnostic::new(&PROVIDER_NOT_LINKED, detail)
        }
    }
}

/// The second half of a sentence. A reason with an address has a line of its own: lines that begin with a space are not
/// wrapped, so the address can be copied.
fn after_colon(reason: &str) -> String {
    if reason.contains("://") { format!("\n  {reason}") } else { format!(" {reason}") }
}

fn query(
    provider: &ProviderSource,
    error: &QueryError,
    needed: &BTreeMap<ProviderSource, ProviderConstraints>,
) -> Diagnostic {
    let shown = provider.for_display();
    let cannot = format!("Could not retrieve the list of available versions for provider {shown}:");
    match error {
        QueryError::NotFound(all_searched) => {
            let list: String = all_searched.iter().map(|searched| format!("\n  - {searched}")).collect();
            match all_searched.is_empty() {
                true => {
                    let detail = format!("{cannot} no installation method in the CLI configuration includes it.");
                    Diagnostic::new(&PROVIDER_VERSIONS_NOT_FOUND, detail)
                        .hint("Add an installation method to provider_installation.")
                }
                false => {
                    let searched = format!("provider {provider} was not found in any of the search locations:{list}");
                    Diagnostic::new(&PROVIDER_VERSIONS_NOT_FOUND, format!("{cannot} {searched}"))
                }
            }
        }
        QueryError::NotKnown(former) => {
            let namesake = needed.keys().find(|other| *other != provider && other.kind == provider.kind);
            let hint = match namesake.filter(|_| provider.is_default()).or(former.as_deref()) {
                Some(other) => format!(
                    "Did you intend to use {}? If so, name that source in the required_providers of every module that \
                     uses it.",
                    other.for_display()
                ),
                None => {
                    "Set the source of every provider in required_providers. The default namespace is \"hashicorp\"."
                        .to_owned()
                }
            };
            let host = &provider.host;
            let detail =
                format!("{cannot} provider registry {host} does not have a provider named {provider}.\n\n{hint}");
            Diagnostic::new(&PROVIDER_VERSIONS_NOT_FOUND, detail)
                .hint(format!("To see which modules require {shown}, run:\n    yuba providers"))
        }
        QueryError::NoRegistry { host, .. } if host.as_str() == "github.com" => {
            let detail = format!(
                "The source {:?} is a repository on GitHub and not a provider in a registry.",
                provider.to_string()
            );
            Diagnostic::new(&PROVIDER_REGISTRY_HOST_INVALID, detail)
                .hint("Use the source that the documentation of the provider names.")
        }
        QueryError::NoRegistry { host, has_other_version } => {
            let but = match has_other_version {
                true => " in a version that Yuba supports",
                false => "",
            };
            let detail = format!(
                "The host {:?} in the provider source {:?} does not offer a provider registry{but}.",
                host.to_string(),
                provider.to_string()
            );
            Diagnostic::new(&PROVIDER_REGISTRY_HOST_INVALID, detail)
        }
        error => {
            let detail = format!("Could not resolve provider {shown}: {error}.");
            Diagnostic::new(&PROVIDER_NOT_RESOLVED, detail)
        }
    }
}

fn offer(
    provider: &ProviderSource,
    version: &ProviderVersion,
    error: &QueryError,
    constraints: &ProviderConstraints,
    platform: &Platform,
) -> Diagnostic {
    let shown = provider.for_display();
    let detail = match error {
        QueryError::NoProtocol(None) => format!("No compatible versions of provider {provider} were found."),
        QueryError::NoProtocol(Some(closest)) => {
            let how = if version > closest { "an older" } else { "a newer" };
            let demanded = match constraints.is_empty() {
                true => String::new(),
                false => format!("The configuration requires {:?}.", constraints.to_string()),
            };
            format!(
                "Provider {shown} v{version} is not compatible with this version of Yuba: it uses another provider \
                 protocol. Version {closest} is {how} version that is compatible. To select it, set:\n  version = \
                 \"{closest}\"\n\n{demanded}"
            )
            .trim_end()
            .to_owned()
        }
        QueryError::NoPlatform(mirror) => {
            let who = mirror.as_ref().map(|mirror| format!(" at {mirror}")).unwrap_or_default();
            format!(
                "Provider {provider} v{version} does not have a package available for your current platform, \
                 {platform}{who}.\n\nAnother version, registry or mirror may have one."
            )
        }
        error => {
            let detail = format!("Error while installing {shown} v{version}: {error}.");
            return Diagnostic::new(&PROVIDER_NOT_INSTALLED, detail);
        }
    };
    Diagnostic::new(&PROVIDER_VERSION_INCOMPATIBLE, detail)
}

/// A provider that blocks imply and that does not exist.
pub fn implied(provider: &ProviderSource, span: Span) -> Diagnostic {
    let detail = format!(
        "This block requires a provider with the local name {:?}, which the module does not declare. The default for that \
         name, {}, does not exist.",
        provider.kind,
        provider.for_display()
    );
    let hint = "Declare the provider in required_providers with its source, correct the type, or set the argument \"provider\".";
    Diagnostic::new(&PROVIDER_IMPLIED, detail).hint(hint).about(provider).at(span)
}

/// Warnings that a registry returned.
pub fn registry_warnings(provider: &ProviderSource, warnings: &[String]) -> Diagnostic {
    let list: String = warnings.iter().map(|warning| format!("\n- {warning}")).collect();
    let detail = format!("The remote registry returned warnings for {provider}:{list}");
    Diagnostic::new(&REGISTRY_WARNINGS, detail)
}

/// Moment of the report about overrides of providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverridesSeen {
    /// By `init`, which does not install these providers.
    ByInit,
    /// By a command that runs them.
    InUse,
}

/// Providers that development builds replace.
pub fn overrides(overrides: &BTreeMap<ProviderSource, PathBuf>, seen: OverridesSeen) -> Option<Diagnostic> {
    if overrides.is_empty() {
        return None;
    }
    let list: String = overrides
        .iter()
        .map(|(provider, dir)| format!(" - {} in {}\n", provider.for_display(), dir.display()))
        .collect();
    let effect = match seen {
        OverridesSeen::ByInit => "\"yuba init\" does not install these providers and may fail because of them.",
        OverridesSeen::InUse => {
            "The behavior may differ from released versions of these providers, and released versions may not be able to read \
             states that are written now."
        }
    };
    let detail = format!("The CLI configuration replaces these providers with development builds:\n{list}\n{effect}");
    Some(Diagnostic::new(&DEV_OVERRIDES_IN_EFFECT, detail))
}

/// Providers whose hashes are known for one platform only.
pub fn incomplete(providers: &[ProviderSource], platform: &Platform) -> Diagnostic {
    let list: String = providers.iter().map(|provider| format!("\n  - {}", provider.for_display())).collect();
    let detail = format!(
        "Yuba calculated the checksums of these providers, because their installation source does not publish \
         checksums:{list}\n\nThe lock file has checksums for {platform} only. Other platforms cannot install these providers."
    );
    Diagnostic::new(&LOCK_FILE_INCOMPLETE, detail).hint(
        "To add checksums for another platform, run:\n  yuba providers lock -platform=linux_amd64\n(where linux_amd64 is that \
         platform)",
    )
}

/// New providers that must not be recorded.
pub fn readonly_changed() -> Diagnostic {
    let detail = "The configuration requires providers that are not in the lock file, and the lock file is read-only.";
    Diagnostic::new(&LOCK_FILE_READONLY, detail)
        .hint("To record them, run \"yuba init\" without \"-lockfile=readonly\".")
}

/// New hashes or versions that are not recorded.
pub fn readonly_not_updated() -> Diagnostic {
    let detail = "The selected providers differ from those in .terraform.lock.hcl, and the file was not changed.";
    Diagnostic::new(&LOCK_FILE_NOT_UPDATED, detail)
        .hint("To record them, run \"yuba init\" without \"-lockfile=readonly\".")
}

/// A lock file that does not select the required providers, with the list of differences.
pub(crate) fn inconsistent_lock_file(list: &str, locks: &LockFile) -> Diagnostic {
    let detail =
        format!("The dependency lock file does not select the providers that the configuration requires:{list}");
    Diagnostic::new(&LOCK_FILE_INCONSISTENT, detail).hint(match locks.providers.is_empty() {
        true => "To select versions for the first time, run:\n  yuba init",
        false => "To select versions that match the configuration, run:\n  yuba init -upgrade",
    })
}

/// Providers of a lock file that are not installed, with the list of reasons.
pub(crate) fn not_installed(list: &str) -> Diagnostic {
    let detail = format!("The installed providers are not those that the dependency lock file selects:{list}");
    Diagnostic::new(&LOCKED_PROVIDERS_NOT_INSTALLED, detail).hint("To install them, run:\n  yuba init")
}

/// The same with everything in the title.
pub(crate) fn not_installed_short(title: String) -> Diagnostic {
    Diagnostic::new(&LOCKED_PROVIDER_UNUSABLE, "").titled(title)
}

/// An `include` pattern of the CLI configuration.
pub(crate) fn inclusion(reason: &str) -> Diagnostic {
    let detail = format!("The CLI configuration has an invalid pattern of providers: {reason}.");
    Diagnostic::new(&INCLUDE_PATTERN_INVALID, detail)
}

/// An `exclude` pattern of the CLI configuration.
pub(crate) fn exclusion(reason: &str) -> Diagnostic {
    let detail = format!("The CLI configuration has an invalid pattern of providers: {reason}.");
    Diagnostic::new(&EXCLUDE_PATTERN_INVALID, detail)
}

/// The URL of a mirror in the CLI configuration.
pub fn mirror_url(reason: &str) -> Diagnostic {
    Diagnostic::new(&MIRROR_URL_INVALID, format!("The URL of a mirror in the CLI configuration is invalid: {reason}."))
}

/// The URL of a mirror on the command line.
pub fn net_mirror(reason: &str) -> Diagnostic {
    Diagnostic::new(&NET_MIRROR_URL_INVALID, format!("The value of -net-mirror is invalid: {reason}."))
}

/// A platform on the command line.
pub fn platform(given: &str) -> Diagnostic {
    let detail = format!(
        "The value {given:?} of -platform is not a platform. A platform is an operating system and an architecture, such as \
         \"linux_amd64\"."
    );
    Diagnostic::new(&PLATFORM_INVALID, detail)
}

/// A provider on the command line that the configuration does not require.
pub fn not_needed(provider: &ProviderSource) -> Diagnostic {
    let detail = format!("The provider {provider} is not required by the current configuration.");
    Diagnostic::new(&PROVIDER_NOT_REQUIRED, detail)
}

/// Packages for `providers lock` that could not be installed.
pub fn not_locked(platform: &Platform, failures: &BTreeMap<ProviderSource, Failure>) -> Diagnostic {
    let reason = |failure: &Failure| match failure {
        Failure::Query(error) | Failure::Offer(_, error) => error.to_string(),
        Failure::Select(reason) | Failure::Install(_, reason) | Failure::Link(_, reason) => reason.clone(),
    };
    let list: String =
        failures.iter().map(|(provider, failure)| format!("\n- {provider}: {}", reason(failure))).collect();
    let detail = format!("Failed to install packages to calculate their checksums for {platform}:{list}");
    Diagnostic::new(&PROVIDERS_NOT_LOCKED, detail)
}

/// A temporary directory that could not be made.
pub fn no_temporary_directory(error: &std::io::Error) -> Diagnostic {
    let detail = format!("Failed to create a directory for the packages: {error}.");
    Diagnostic::new(&TEMPORARY_DIRECTORY_NOT_CREATED, detail)
}

/// A provider that `providers mirror` cannot mirror.
pub(crate) fn mirroring(code: &'static Code, provider: &ProviderSource, what: &str, reason: &str) -> Diagnostic {
    let gap = if what.is_empty() { "" } else { " " };
    Diagnostic::new(code, format!("Failed to mirror {provider}{gap}{what}: {reason}."))
}

/// A provider that `providers mirror` finds in no lock file.
pub(crate) fn not_in_lock_file(provider: &ProviderSource) -> Diagnostic {
    mirroring(&MIRRORED_PROVIDER_NOT_LOCKED, provider, "", "the lock file does not contain it")
        .hint("Run \"yuba init\" first.")
}

/// An index of a mirror that could not be written.
pub(crate) fn index(reason: &str) -> Diagnostic {
    Diagnostic::new(&MIRROR_INDEX_NOT_WRITTEN, format!("The indexes of the mirror are incomplete: {reason}."))
}
