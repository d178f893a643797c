//! Sources of providers: available versions, and the package of a version and a platform.
//!
//! Several sources can be queried, by rules that say which source is for which providers. Versions of all of them count; a
//! package comes from the first that has it.

use std::fmt;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::{DEFAULT_REGISTRY, Hostname, ProviderSource, ProviderVersion};
use yuba_net::http::Request;

use super::authentication::PackageCheck;
use super::local_mirror::LocalMirror;
use super::network_mirror::NetworkMirror;
use super::oci_mirror::OciMirror;
use super::platform::Platform;
use super::registry::ProviderRegistry;
use crate::oci::{Descriptor, Repository};

/// A source of provider packages.
pub enum PackageSource {
    /// A directory.
    Local(LocalMirror),
    /// A host that speaks the mirror protocol.
    Network(NetworkMirror),
    /// The registry that a provider names.
    Registry(ProviderRegistry),
    /// Container registries.
    Oci(OciMirror),
}

/// A source, and the providers that are installed from it.
pub struct Rule {
    /// The source.
    pub source: PackageSource,
    /// The providers; all if empty.
    pub include: Vec<Pattern>,
    /// Providers that do not.
    pub exclude: Vec<Pattern>,
}

/// All sources, in order.
#[derive(Default)]
pub struct PackageSources {
    /// Their rules.
    pub rules: Vec<Rule>,
}

/// Versions of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// In ascending order, each once.
    pub list: Vec<ProviderVersion>,
    /// Warnings of a source about the provider.
    pub warnings: Vec<String>,
}

/// A package of a provider.
#[derive(Clone)]
pub struct Offer {
    /// Its location.
    pub at: PackageContent,
    /// Requirements on its archive.
    pub checks: Vec<PackageCheck>,
}

/// Location of the content of a package.
#[derive(Clone)]
pub enum PackageContent {
    /// A directory with its files.
    Dir(std::path::PathBuf),
    /// An archive on this machine.
    Archive(std::path::PathBuf),
    /// An archive elsewhere.
    Remote(Box<Request>),
    /// An archive in a container registry.
    Blob(Arc<Repository>, Box<Descriptor>),
}

/// Reason of a failed query to a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// No source has the provider; these were queried.
    NotFound(Vec<String>),
    /// The CLI configuration has no installation method at all.
    NoMethods,
    /// Its registry does not have the provider; with the one that it had by that name when names had no namespaces.
    NotKnown(Option<Box<ProviderSource>>),
    /// The host is not a registry of providers.
    NoRegistry {
        /// The host.
        host: Hostname,
        /// The host has a provider registry, but only in versions that are not supported.
        has_other_version: bool,
    },
    /// The host requires credentials.
    Unauthorized {
        /// The host.
        host: String,
        /// It was reported.
        has_credentials: bool,
    },
    /// There is no package for the platform; of this mirror, where it is one.
    NoPlatform(Option<String>),
    /// The provider cannot be spoken with; with the newest version that could.
    NoProtocol(Option<ProviderVersion>),
    /// Something else, in words that end no sentence.
    Failed(String),
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryError::NotFound(_) => f.write_str("it was not found in any of the searched locations"),
            QueryError::NoMethods => f.write_str(
                "provider_installation in the CLI configuration has no installation method, such as direct or \
                 filesystem_mirror",
            ),
            QueryError::NotKnown(_) => f.write_str("its registry does not have it"),
            QueryError::NoRegistry { host, has_other_version: false } => {
                write!(f, "the host {host} is not a registry of providers")
            }
            QueryError::NoRegistry { host, has_other_version: true } => {
                write!(f, "the host {host} supports only other versions of the registry protocol")
            }
            QueryError::Unauthorized { host, has_credentials: true } => {
                write!(f, "the host {host} rejected the credentials that it was given")
            }
            QueryError::Unauthorized { host, has_credentials: false } => {
                write!(f, "the host {host} requires credentials, and none are stored; run \"yuba login {host}\"")
            }
            QueryError::NoPlatform(None) => f.write_str("it has no package for this platform"),
            QueryError::NoPlatform(Some(mirror)) => write!(f, "{mirror} has no package for this platform"),
            QueryError::NoProtocol(_) => f.write_str("it supports only other versions of the provider protocol"),
            QueryError::Failed(reason) => f.write_str(reason),
        }
    }
}

impl PackageSource {
    /// The versions of a provider.
    pub fn versions(&self, provider: &ProviderSource) -> Result<Versions, QueryError> {
        match self {
            PackageSource::Local(mirror) => mirror.versions(provider),
            PackageSource::Network(mirror) => mirror.versions(provider),
            PackageSource::Registry(registry) => registry.versions(provider),
            PackageSource::Oci(mirror) => mirror.versions(provider),
        }
    }

    /// The package for a platform.
    pub fn offer(
        &self,
        provider: &ProviderSource,
        version: &ProviderVersion,
        platform: &Platform,
    ) -> Result<Offer, QueryError> {
        match self {
            PackageSource::Local(mirror) => mirror.offer(provider, version, platform),
            PackageSource::Network(mirror) => mirror.offer(provider, version, platform),
            PackageSource::Registry(registry) => registry.offer(provider, version, platform),
            PackageSource::Oci(mirror) => mirror.offer(provider, version, platform),
        }
    }

    /// For people.
    fn shown(&self, provider: &ProviderSource) -> String {
        match self {
            PackageSource::Local(mirror) => mirror.dir().display().to_string(),
            PackageSource::Network(mirror) => format!("provider mirror at {}", mirror.shown()),
            PackageSource::Registry(_) => format!("registry {}", provider.host),
            PackageSource::Oci(_) => "OCI registry provider mirror".to_owned(),
        }
    }
}

impl PackageSources {
    /// One source for all providers.
    pub fn only(source: PackageSource) -> PackageSources {
        PackageSources { rules: vec![Rule { source, include: Vec::new(), exclude: Vec::new() }] }
    }

    fn of<'a>(&'a self, provider: &'a ProviderSource) -> impl Iterator<Item = &'a PackageSource> {
        let is_for = move |rule: &&Rule| {
            let matches = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(provider));
            !matches(&rule.exclude) && (rule.include.is_empty() || matches(&rule.include))
        };
        self.rules.iter().filter(is_for).map(|rule| &rule.source)
    }

    /// The versions that all sources have.
    pub fn versions(&self, provider: &ProviderSource) -> Result<Versions, QueryError> {
        if self.rules.is_empty() {
            return Err(QueryError::NoMethods);
        }
        let mut all = Versions::default();
        let mut not_known = None;
        for source in self.of(provider) {
            match source.versions(provider) {
                Ok(found) => {
                    all.list.extend(found.list);
                    all.warnings.extend(found.warnings);
                }
                Err(error @ QueryError::NotKnown(_)) => not_known = Some(error),
                Err(QueryError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if all.list.is_empty() {
            return Err(not_known.unwrap_or_else(|| {
                QueryError::NotFound(self.of(provider).map(|source| source.shown(provider)).collect())
            }));
        }
        all.list.sort();
        all.list.dedup();
        Ok(all)
    }

    /// The package of the first source that has it.
    pub fn offer(
        &self,
        provider: &ProviderSource,
        version: &ProviderVersion,
        platform: &Platform,
    ) -> Result<Offer, QueryError> {
        let mut none = None;
        for source in self.of(provider) {
            match source.offer(provider, version, platform) {
                Err(error @ QueryError::NoPlatform(_)) if self.rules.len() == 1 => none = Some(error),
                Err(QueryError::NotFound(_) | QueryError::NotKnown(_) | QueryError::NoPlatform(_)) => {}
                found => return found,
            }
        }
        Err(none.unwrap_or(QueryError::NoPlatform(None)))
    }
}

/// Providers that a rule applies to: `registry.example.com/*/*`, `hashicorp/*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    host: Option<Hostname>,
    namespace: Option<EcoString>,
    kind: Option<EcoString>,
}

impl Pattern {
    /// Reads a pattern, or fails with the reason.
    pub fn parse(text: &str) -> Result<Pattern, EcoString> {
        let parts: Vec<&str> = text.split('/').collect();
        let (host, namespace, kind) = match parts.as_slice() {
            [namespace, kind] => (DEFAULT_REGISTRY, *namespace, *kind),
            [host, namespace, kind] => (*host, *namespace, *kind),
            _ => return Err(eco_format!("{text:?} must have two or three parts with slashes between them")),
        };
        let part = |given: &str, what: &str| match given {
            "*" => Ok(None),
            given => ProviderSource::parse_part(given)
                .map(Some)
                .map_err(|reason| eco_format!("the {what} {given:?} in {text:?} is not valid: {reason}")),
        };
        let host = match host {
            "*" => None,
            host => Some(
                Hostname::parse(host)
                    .map_err(|reason| eco_format!("the hostname {host:?} in {text:?} is not valid: {reason}"))?,
            ),
        };
        let pattern = Pattern { host, kind: part(kind, "type")?, namespace: part(namespace, "namespace")? };
        if pattern.host.is_none() && (pattern.namespace.is_some() || pattern.kind.is_some()) {
            return Err(eco_format!("in {text:?} the hostname can be \"*\" only where all other parts are too"));
        }
        if pattern.namespace.is_none() && pattern.kind.is_some() {
            return Err(eco_format!("in {text:?} the namespace can be \"*\" only where the type is too"));
        }
        Ok(pattern)
    }

    /// Exactly one provider.
    pub fn exactly(provider: &ProviderSource) -> Pattern {
        Pattern {
            host: Some(provider.host.clone()),
            namespace: Some(provider.namespace.clone()),
            kind: Some(provider.kind.clone()),
        }
    }

    fn matches(&self, provider: &ProviderSource) -> bool {
        self.host.as_ref().is_none_or(|host| *host == provider.host)
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == provider.namespace)
            && self.kind.as_ref().is_none_or(|kind| *kind == provider.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_select_providers() {
        let provider = |text| ProviderSource::parse(text).expect("because it is well-formed");
        for (pattern, expect) in [
            ("*/*", "yes no"),
            ("*/*/*", "yes yes"),
            ("hashicorp/*", "yes no"),
            ("hashicorp/null", "yes no"),
            ("Hashicorp/NULL", "yes no"),
            ("other/null", "no no"),
            ("example.com/*/*", "no yes"),
            ("example.com/x/*", "no yes"),
            ("example.com/x/y", "no yes"),
            ("*/x/y", "error"),
            ("example.com/*/y", "error"),
            ("*/y", "error"),
            ("null", "error"),
            ("a/b/c/d", "error"),
            ("a_b/c", "error"),
        ] {
            let shown = match Pattern::parse(pattern) {
                Err(_) => "error".to_owned(),
                Ok(pattern) => {
                    let answer = |name| if pattern.matches(&provider(name)) { "yes" } else { "no" };
                    format!("{} {}", answer("hashicorp/null"), answer("example.com/x/y"))
                }
            };
            assert_eq!(shown, expect, "{pattern}");
        }
    }
}
