//! The registry that a provider names, in the provider registry protocol.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ecow::EcoString;
use serde_json::Value as Json;
use yuba_addrs::{DEFAULT_REGISTRY, ProviderSource, ProviderVersion};
use yuba_net::Environment;
use yuba_net::discovery::{ServiceError, Services};
use yuba_net::http::{Request, Response, Url};

use super::authentication::PackageCheck;
use super::hash;
use super::platform::Platform;
use super::signature::ExpiredKeys;
use super::source::{Offer, PackageContent, QueryError, Versions};

/// Versions of the provider protocol that are spoken here: from the first, before the second.
const PROTOCOLS: (u64, u64) = (5, 7);

/// Maximum size of a list of checksums or a signature.
const MAX_SIGNED: u64 = 4 << 20;

/// Registries.
#[derive(Clone)]
pub struct ProviderRegistry {
    services: Arc<Services>,
    signing: Signing,
    retries: Option<u32>,
    /// Cached responses.
    known: Arc<Mutex<HashMap<ProviderSource, Listing>>>,
}

/// Strictness about signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signing {
    /// Even where the registry has no keys for a provider.
    pub always_required: bool,
    /// Whether keys that have expired count.
    pub expired_keys: ExpiredKeys,
}

impl Signing {
    /// As the environment wants it.
    pub fn of(environment: &Environment) -> Signing {
        Signing {
            always_required: environment.get("OPENTOFU_ENFORCE_GPG_VALIDATION") == Some("true"),
            expired_keys: match environment.get("OPENTOFU_ENFORCE_GPG_EXPIRATION") {
                Some("true") => ExpiredKeys::Refused,
                _ => ExpiredKeys::Accepted,
            },
        }
    }

    /// Whether a provider must be signed.
    pub fn is_required(&self, provider: &ProviderSource) -> bool {
        provider.host.as_str() != DEFAULT_REGISTRY || self.always_required
    }
}

#[derive(Clone, Debug, Default)]
struct Listing {
    versions: BTreeMap<ProviderVersion, Vec<String>>,
    warnings: Vec<String>,
}

impl ProviderRegistry {
    /// Registries, found by the services of hosts.
    pub fn new(services: Arc<Services>, signing: Signing, retries: Option<u32>) -> ProviderRegistry {
        ProviderRegistry { services, signing, retries, known: Arc::default() }
    }

    /// All versions of a provider.
    pub fn versions(&self, provider: &ProviderSource) -> Result<Versions, QueryError> {
        let listing = self.listing(provider)?;
        Ok(Versions { list: listing.versions.into_keys().collect(), warnings: listing.warnings })
    }

    fn listing(&self, provider: &ProviderSource) -> Result<Listing, QueryError> {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(provider) {
            return Ok(known.clone());
        }
        let response = self.ask(provider, &format!("{}/{}/versions", provider.namespace, provider.kind))?;
        if response.status == 404 {
            return Err(QueryError::NotKnown(self.former(provider).map(Box::new)));
        }
        let body = self.json(provider, &response)?;
        let mut listing = Listing::default();
        for entry in body["versions"].as_array().into_iter().flatten() {
            let text = entry["version"].as_str().unwrap_or_default();
            let version = ProviderVersion::parse(text)
                .map_err(|error| self.failed(provider, &format!("it lists the invalid version {text:?}: {error}")))?;
            listing.versions.insert(version, texts(&entry["protocols"]));
        }
        listing.warnings = texts(&body["warnings"]);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(known.entry(provider.clone()).or_insert(listing).clone())
    }

    /// The provider that had this name before namespaces, when all providers were of "hashicorp". It is only for a
    /// hint, so errors are ignored.
    fn former(&self, provider: &ProviderSource) -> Option<ProviderSource> {
        if !provider.is_default() {
            return None;
        }
        let response = self.ask(provider, &format!("-/{}/versions", provider.kind)).ok()?;
        let body = self.json(provider, &response).ok()?;
        let moved = body["moved_to"].as_str().filter(|text| !text.is_empty());
        let found = ProviderSource::parse(moved.or(body["id"].as_str())?).ok()?;
        let former = ProviderSource { host: provider.host.clone(), ..found };
        (former.kind == provider.kind && former != *provider).then_some(former)
    }

    /// The package for a platform.
    pub fn offer(
        &self,
        provider: &ProviderSource,
        version: &ProviderVersion,
        platform: &Platform,
    ) -> Result<Offer, QueryError> {
        let Platform { os, arch } = platform;
        let path = format!("{}/{}/{version}/download/{os}/{arch}", provider.namespace, provider.kind);
        let response = self.ask(provider, &path)?;
        if response.status == 404 {
            return Err(QueryError::NoPlatform(None));
        }
        let body = self.json(provider, &response)?;
        let protocols = texts(&body["protocols"]);
        if !protocols.is_empty() && !is_spoken(&protocols) {
            return Err(QueryError::NoProtocol(self.spoken_version(provider)?));
        }
        if body["os"].as_str() != Some(os) || body["arch"].as_str() != Some(arch) {
            return Err(self.failed(provider, &format!("its response is for another platform than {platform}")));
        }
        let url = |member: &str| {
            let text = body[member].as_str().unwrap_or_default();
            match response.url.join(text) {
                Ok(url) if !text.is_empty() && matches!(url.scheme(), "http" | "https") => Ok(url),
                _ => Err(self.failed(provider, &format!("its response has no http or https URL in {member:?}"))),
            }
        };
        let download = url("download_url")?;
        let sum = body["shasum"].as_str().unwrap_or_default();
        let sum = hash::parse_sum(sum).ok_or_else(|| {
            self.failed(provider, &format!("its response has {sum:?} in \"shasum\", which is not a SHA-256 sum"))
        })?;
        let document = self.file(provider, url("shasums_url")?)?;
        let signature = self.file(provider, url("shasums_signature_url")?)?;
        let keys = body["signing_keys"]["gpg_public_keys"].as_array().into_iter().flatten();
        let keys: Vec<String> = keys.filter_map(|key| key["ascii_armor"].as_str().map(str::to_owned)).collect();
        let checks = vec![
            PackageCheck::Declared {
                platform: platform.clone(),
                sum,
                packages: self.declared(provider, &body["packages"])?,
            },
            PackageCheck::Listed {
                document: document.clone(),
                file: body["filename"].as_str().unwrap_or_default().to_owned(),
                sum,
            },
            PackageCheck::Sum(platform.clone(), sum),
            PackageCheck::Signed {
                document,
                signature,
                keys,
                required: self.signing.is_required(provider),
                expired_keys: self.signing.expired_keys,
            },
        ];
        // Packages are often on other hosts, which must not receive our credentials.
        let mut request = Request::new(download);
        request.retries = self.retries;
        Ok(Offer { at: PackageContent::Remote(Box::new(request)), checks })
    }

    /// Sizes and hashes of the packages for all platforms, from a registry.
    fn declared(
        &self,
        provider: &ProviderSource,
        packages: &Json,
    ) -> Result<BTreeMap<Platform, (u64, Vec<EcoString>)>, QueryError> {
        let mut declared = BTreeMap::new();
        for (name, package) in packages.as_object().into_iter().flatten() {
            let platform = Platform::parse(name)
                .ok_or_else(|| self.failed(provider, &format!("its response has {name:?} instead of a platform")))?;
            let mut hashes = Vec::new();
            for text in texts(&package["hashes"]) {
                if !text.contains(':') {
                    return Err(self.failed(provider, &format!("its response has {text:?} instead of a hash")));
                }
                hashes.push(EcoString::from(text));
            }
            let Some(size) = package["package_size"].as_u64().filter(|size| *size > 0) else {
                return Err(self.failed(provider, &format!("its response has no size for {platform}")));
            };
            declared.insert(platform, (size, hashes));
        }
        Ok(declared)
    }

    /// The newest version that can be spoken with.
    fn spoken_version(&self, provider: &ProviderSource) -> Result<Option<ProviderVersion>, QueryError> {
        let listing = self.listing(provider)?;
        let mut newest_first = listing.versions.into_iter().rev();
        Ok(newest_first.find(|(_, protocols)| is_spoken(protocols)).map(|(version, _)| version))
    }

    fn ask(&self, provider: &ProviderSource, path: &str) -> Result<Response, QueryError> {
        let host = &provider.host;
        let base = self.services.url(host, "providers.v1").map_err(|error| match error {
            ServiceError::NotProvided(_) => QueryError::NoRegistry { host: host.clone(), has_other_version: false },
            ServiceError::OtherVersion(_) => QueryError::NoRegistry { host: host.clone(), has_other_version: true },
            error => QueryError::Failed(format!("could not connect to {host}: {error}")),
        })?;
        let url = below(base, path).map_err(|reason| self.failed(provider, &reason))?;
        let request = self.services.request(host, url).with_header("accept", "application/json");
        let has_credentials = request.token.is_some();
        let response =
            self.services.client().get(&request).map_err(|error| self.failed(provider, &error.to_string()))?;
        match response.status {
            200 | 404 => Ok(response),
            401 | 403 => Err(QueryError::Unauthorized { host: host.to_string(), has_credentials }),
            _ => Err(self.failed(provider, &format!("it responded with \"{}\"", response.status_text()))),
        }
    }

    fn json(&self, provider: &ProviderSource, response: &Response) -> Result<Json, QueryError> {
        serde_json::from_slice(&response.body)
            .map_err(|error| self.failed(provider, &format!("its response is not JSON: {error}")))
    }

    fn file(&self, provider: &ProviderSource, url: Url) -> Result<Vec<u8>, QueryError> {
        let shown = yuba_net::http::shown(&url);
        let response = self.services.client().get(&Request::new(url).at_most(MAX_SIGNED));
        match response {
            Ok(response) if response.is_success() => Ok(response.body),
            Ok(response) => {
                let reason = format!("{shown} responded with \"{}\"", response.status_text());
                Err(self.failed(provider, &reason))
            }
            Err(error) => Err(self.failed(provider, &error.to_string())),
        }
    }

    fn failed(&self, provider: &ProviderSource, reason: &str) -> QueryError {
        QueryError::Failed(format!("could not query provider registry for {provider}: {reason}"))
    }
}

/// A URL below another, which counts as a directory.
pub(super) fn below(mut base: Url, path: &str) -> Result<Url, String> {
    if !base.path().ends_with('/') {
        base.set_path(&format!("{}/", base.path()));
    }
    base.join(path).map_err(|error| format!("{path:?} cannot be a part of a URL: {error}"))
}

fn is_spoken(protocols: &[String]) -> bool {
    let major = |text: &String| ProviderVersion::parse(text).ok().map(|version| version.major);
    protocols.iter().filter_map(major).any(|major| (PROTOCOLS.0..PROTOCOLS.1).contains(&major))
}

/// The texts of a list.
pub(super) fn texts(list: &Json) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}
