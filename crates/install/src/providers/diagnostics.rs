//! Everything that can go wrong with providers, said in one place.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ecow::EcoString;
use yuba_addrs::{ProviderConstraints, ProviderSource, ProviderVersion};
use yuba_syntax::{Diagnostic, Span};

use super::installing::Failure;
use super::platform::Platform;
use super::source::QueryError;

/// What went wrong with a provider.
pub fn failure(
    provider: &ProviderSource,
    failure: &Failure,
    needed: &BTreeMap<ProviderSource, ProviderConstraints>,
    platform: &Platform,
) -> Diagnostic {
    let shown = provider.for_display();
    match failure {
        Failure::Query(error) => query(provider, error, needed),
        Failure::Select(reason) => Diagnostic::error(
            "Failed to resolve provider packages",
            format!("Could not resolve provider {shown}: {reason}."),
        ),
        Failure::Offer(version, error) => offer(provider, version, error, &needed[provider], platform),
        Failure::Install(version, reason) => Diagnostic::error(
            "Failed to install provider",
            format!("Error while installing {shown} v{version}:{}.", after_colon(reason)),
        ),
        Failure::Link(version, reason) => {
            let detail = format!("Error while importing {shown} v{version} from the shared cache directory: {reason}.");
            Diagnostic::error("Failed to install provider from shared cache", detail)
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
    const QUERY: &str = "Failed to query available provider packages";
    const HOST: &str = "Invalid provider registry host";
    let shown = provider.for_display();
    let cannot = format!("Could not retrieve the list of available versions for provider {shown}:");
    match error {
        QueryError::NotFound(places) => {
            let list: String = places.iter().map(|place| format!("\n  - {place}")).collect();
            let searched = match places.is_empty() {
                true => {
                    "no installation method in the CLI configuration includes it. Add one to provider_installation."
                        .to_owned()
                }
                false => format!("provider {provider} was not found in any of the search locations:{list}"),
            };
            Diagnostic::error(QUERY, format!("{cannot} {searched}"))
        }
        QueryError::NotKnown(former) => {
            let namesake = needed.keys().find(|other| *other != provider && other.kind == provider.kind);
            let hint = match namesake.filter(|_| provider.is_default()).or(former.as_deref()) {
                Some(other) => format!(
                    "Did you intend to use {}? If so, name that source in the required_providers of every module that \
                     uses it.",
                    other.for_display()
                ),
                None => "Every module should name the sources of its providers in required_providers; without it \
                         \"hashicorp\" is taken for granted."
                    .to_owned(),
            };
            let detail = format!(
                "{cannot} provider registry {} does not have a provider named {provider}.\n\n{hint} To see which modules \
                 need {shown}, run:\n    yuba providers",
                provider.host
            );
            Diagnostic::error(QUERY, detail)
        }
        QueryError::NoRegistry { host, .. } if host.as_str() == "github.com" => {
            let detail = format!(
                "The source {:?} is a repository at GitHub rather than a provider in a registry. The documentation of the \
                 provider says which source to write.",
                provider.to_string()
            );
            Diagnostic::error(HOST, detail)
        }
        QueryError::NoRegistry { host, has_other_version } => {
            let but = match has_other_version {
                true => " in the version that is needed here",
                false => "",
            };
            let detail = format!(
                "The host {:?} in the provider source {:?} does not offer a provider registry{but}.",
                host.to_string(),
                provider.to_string()
            );
            Diagnostic::error(HOST, detail)
        }
        error => {
            let detail = format!("Could not resolve provider {shown}: {error}.");
            Diagnostic::error("Failed to resolve provider packages", detail)
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
    const INCOMPATIBLE: &str = "Incompatible provider version";
    let shown = provider.for_display();
    let detail = match error {
        QueryError::NoProtocol(None) => format!("No compatible versions of provider {provider} were found."),
        QueryError::NoProtocol(Some(closest)) => {
            let how = if version > closest { "an older" } else { "a newer" };
            let demanded = match constraints.is_empty() {
                true => String::new(),
                false => format!(" The configuration demands {:?}.", constraints.to_string()),
            };
            format!(
                "Provider {shown} v{version} is not compatible with this version of Yuba: it speaks another provider \
                 protocol. Version {closest} is {how} one that is compatible; select it with:\n  version = \
                 \"{closest}\"\n\n{demanded}"
            )
            .trim_end()
            .to_owned()
        }
        QueryError::NoPlatform(mirror) => {
            let who = mirror.as_ref().map(|mirror| format!(" at {mirror}")).unwrap_or_default();
            format!(
                "Provider {provider} v{version} does not have a package available for your current platform, \
                 {platform}{who}.\n\nNot every provider is released for every platform; another version may be, or another \
                 place may have more packages."
            )
        }
        error => {
            let detail = format!("Error while installing {shown} v{version}: {error}.");
            return Diagnostic::error("Failed to install provider", detail);
        }
    };
    Diagnostic::error(INCOMPATIBLE, detail)
}

/// A provider that blocks imply and that does not exist.
pub fn implied(provider: &ProviderSource, span: Span) -> Diagnostic {
    let detail = format!(
        "This needs a provider with the local name {:?}, which this module does not declare. So {} was looked for, which \
         does not exist.\n\nDeclare the provider in required_providers with its source, or correct the type, or name another \
         provider with the argument \"provider\".",
        provider.kind,
        provider.for_display()
    );
    Diagnostic::warning("Automatically-inferred provider dependency", detail).at(span)
}

/// What a registry has to say.
pub fn registry_warnings(provider: &ProviderSource, warnings: &[String]) -> Diagnostic {
    let list: String = warnings.iter().map(|warning| format!("\n- {warning}")).collect();
    let detail = format!("The remote registry returned warnings for {provider}:{list}");
    Diagnostic::warning("Additional provider information from registry", detail)
}

/// Providers under development.
pub fn overrides(overrides: &BTreeMap<ProviderSource, PathBuf>, in_init: bool) -> Option<Diagnostic> {
    if overrides.is_empty() {
        return None;
    }
    let list: String = overrides
        .iter()
        .map(|(provider, dir)| format!(" - {} in {}\n", provider.for_display(), dir.display()))
        .collect();
    let hint = match in_init {
        true => "These providers need no \"yuba init\": it may fail because of them, and is not necessary for them.",
        false => {
            "So this may not be how any released version of these providers behaves, and states that are written now \
                  may not fit released versions."
        }
    };
    let detail = format!("The CLI configuration replaces providers by ones under development:\n{list}\n{hint}");
    Some(Diagnostic::warning("Provider development overrides are in effect", detail))
}

/// Providers whose hashes are known for one platform only.
pub fn incomplete(providers: &[ProviderSource], platform: &Platform) -> Diagnostic {
    let list: String = providers.iter().map(|provider| format!("\n  - {}", provider.for_display())).collect();
    let detail = format!(
        "These providers do not come from a place that says which checksums their packages have, so the checksums were \
         calculated here:{list}\n\nThe lock file has checksums for {platform} only; on other platforms they cannot be \
         installed. To add checksums for another platform, run:\n  yuba providers lock -platform=linux_amd64\n(where \
         linux_amd64 is that platform)"
    );
    Diagnostic::warning("Incomplete lock file information for providers", detail)
}

/// New providers that must not be recorded.
pub fn readonly_changed() -> Diagnostic {
    let detail = "The configuration needs other providers than those in the lock file, and the lock file is read-only. To \
                  record them, run \"yuba init\" without \"-lockfile=readonly\".";
    Diagnostic::error("Provider dependency changes detected", detail)
}

/// New hashes or versions that are not recorded.
pub fn readonly_not_updated() -> Diagnostic {
    let detail = "The selected providers differ from what is in .terraform.lock.hcl, and the file was not changed. To record \
                  them, run \"yuba init\" without \"-lockfile=readonly\".";
    Diagnostic::warning("Provider lock file not updated", detail)
}

/// A pattern of providers in the CLI configuration.
pub fn pattern(is_include: bool, reason: &str) -> Diagnostic {
    let what = if is_include { "inclusion" } else { "exclusion" };
    let detail = format!("The CLI configuration has a pattern of providers that is wrong: {reason}.");
    Diagnostic::error(format!("Invalid provider source {what} patterns"), detail)
}

/// The URL of a mirror in the CLI configuration.
pub fn mirror_url(reason: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid URL for provider installation source",
        format!("The CLI configuration is wrong: {reason}."),
    )
}

/// The URL of a mirror on the command line.
pub fn net_mirror(reason: &str) -> Diagnostic {
    Diagnostic::error("Invalid network mirror URL", format!("The option -net-mirror is wrong: {reason}."))
}

/// A platform on the command line.
pub fn platform(given: &str) -> Diagnostic {
    let detail = format!(
        "The option -platform has {given:?}, which is no platform: an operating system and an architecture with an underscore \
         between them, like \"linux_amd64\"."
    );
    Diagnostic::error("Invalid target platform", detail)
}

/// A provider on the command line that nobody needs.
pub fn not_needed(provider: &ProviderSource) -> Diagnostic {
    let detail = format!("The provider {provider} is not required by the current configuration.");
    Diagnostic::error("Invalid provider argument", detail)
}

/// Packages for `providers lock` that could not be had.
pub fn not_locked(platform: &Platform, failures: &BTreeMap<ProviderSource, Failure>) -> Diagnostic {
    let reason = |failure: &Failure| match failure {
        Failure::Query(error) | Failure::Offer(_, error) => error.to_string(),
        Failure::Select(reason) | Failure::Install(_, reason) | Failure::Link(_, reason) => reason.clone(),
    };
    let list: String =
        failures.iter().map(|(provider, failure)| format!("\n- {provider}: {}", reason(failure))).collect();
    let detail =
        format!("To calculate checksums for {platform}, packages are needed that could not be installed:{list}");
    Diagnostic::error("Could not retrieve providers for locking", detail)
}

/// A temporary directory that could not be made.
pub fn no_temporary_directory(error: &std::io::Error) -> Diagnostic {
    let detail = format!("A directory for the packages could not be made: {error}.");
    Diagnostic::error("Could not create temporary directory", detail)
}

/// Something about one provider, for `providers mirror`.
pub fn mirroring(summary: &'static str, provider: &ProviderSource, what: &str, reason: &str) -> Diagnostic {
    let gap = if what.is_empty() { "" } else { " " };
    Diagnostic::error(summary, EcoString::from(format!("Failed to mirror {provider}{gap}{what}: {reason}.")))
}

/// An index of a mirror that could not be written.
pub fn index(reason: &str) -> Diagnostic {
    Diagnostic::error("Failed to update indexes", format!("The indexes of the mirror are not complete: {reason}."))
}
