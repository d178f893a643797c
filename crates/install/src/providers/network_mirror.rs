//! A host with copies of packages, in the provider network mirror protocol.

use std::sync::Arc;

use ecow::EcoString;
use serde_json::Value as Json;
use yuba_addrs::{Hostname, ProviderSource, ProviderVersion};
use yuba_net::discovery::Services;
use yuba_net::http::{Request, Response, Url};

use super::authentication::PackageCheck;
use super::platform::Platform;
use super::registry::{below, texts};
use super::source::{Offer, PackageContent, QueryError, Versions};
use crate::cli_config::TrustedHashes;

/// A network mirror.
#[derive(Clone)]
pub struct NetworkMirror {
    base: Url,
    services: Arc<Services>,
    trusted_hashes: TrustedHashes,
    retries: Option<u32>,
}

impl NetworkMirror {
    /// At a URL, or the reason why the URL is invalid.
    pub fn new(
        url: &str,
        services: Arc<Services>,
        trusted_hashes: TrustedHashes,
        retries: Option<u32>,
    ) -> Result<NetworkMirror, String> {
        let base = Url::parse(url).map_err(|error| format!("{url:?} is not a URL: {error}"))?;
        let is_loopback = matches!(base.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
        if base.host_str().is_none() || !(base.scheme() == "https" || base.scheme() == "http" && is_loopback) {
            return Err(format!("{:?} cannot be a mirror: it must be an https URL", yuba_net::http::shown(&base)));
        }
        Ok(NetworkMirror { base, services, trusted_hashes, retries })
    }

    /// For people.
    pub fn shown(&self) -> String {
        yuba_net::http::shown(&self.base)
    }

    /// The versions of a provider.
    pub fn versions(&self, provider: &ProviderSource) -> Result<Versions, QueryError> {
        let response = self.ask(provider, "index.json")?;
        if response.status == 404 {
            return Err(QueryError::NotFound(Vec::new()));
        }
        let body = self.json(provider, &response)?;
        let names = body["versions"].as_object().into_iter().flatten().map(|(name, _)| name);
        // Names that are not versions are skipped: a mirror may list them for other tools.
        let mut list: Vec<ProviderVersion> = names.filter_map(|name| ProviderVersion::parse(name).ok()).collect();
        list.sort();
        Ok(Versions { list, warnings: Vec::new() })
    }

    /// The package for a platform.
    pub fn offer(
        &self,
        provider: &ProviderSource,
        version: &ProviderVersion,
        platform: &Platform,
    ) -> Result<Offer, QueryError> {
        let response = self.ask(provider, &format!("{version}.json"))?;
        if response.status == 404 {
            return Err(self.failed(provider, &format!("it lists the version {version}, but has no packages of it")));
        }
        let body = self.json(provider, &response)?;
        let Some(archives) = body["archives"].as_object() else { return Err(self.no_platform()) };
        let Some(archive) = archives.get(&platform.to_string()) else { return Err(self.no_platform()) };
        let text = archive["url"].as_str().unwrap_or_default();
        let url = match response.url.join(text) {
            Ok(url) if !text.is_empty() && matches!(url.scheme(), "http" | "https") => url,
            _ => return Err(self.failed(provider, &format!("{text:?} is not a URL of a package"))),
        };
        let mut hashes = Vec::new();
        for (name, archive) in archives {
            if self.trusted_hashes == TrustedHashes::Verified && *name != platform.to_string() {
                continue;
            }
            for hash in texts(&archive["hashes"]) {
                if !hash.contains(':') {
                    return Err(self.failed(provider, &format!("{hash:?} is not a hash")));
                }
                hashes.push(EcoString::from(hash));
            }
        }
        let checks = match hashes.is_empty() {
            true => Vec::new(),
            false => {
                vec![PackageCheck::AnyHash { platform: platform.clone(), hashes, trusted: self.trusted_hashes }]
            }
        };
        let mut request = Request::new(url.clone());
        request.retries = self.retries;
        // Credentials are sent to the mirror itself, never to other hosts.
        if url.origin() == self.base.origin() {
            request = request.with_token(self.token());
        }
        Ok(Offer { at: PackageContent::Remote(Box::new(request)), checks })
    }

    fn no_platform(&self) -> QueryError {
        QueryError::NoPlatform(Some(format!("the mirror {}", self.shown())))
    }

    fn host(&self) -> Option<Hostname> {
        let port = self.base.port().map_or_else(String::new, |port| format!(":{port}"));
        Hostname::parse(&format!("{}{port}", self.base.host_str()?)).ok()
    }

    fn token(&self) -> Option<yuba_net::Secret> {
        self.services.token(&self.host()?)
    }

    fn ask(&self, provider: &ProviderSource, file: &str) -> Result<Response, QueryError> {
        let path = format!("{}/{}/{}/{file}", provider.host, provider.namespace, provider.kind);
        let url = below(self.base.clone(), &format!("./{path}")).map_err(|reason| self.failed(provider, &reason))?;
        let request = Request::new(url).with_token(self.token()).with_header("accept", "application/json");
        let has_credentials = request.token.is_some();
        let response =
            self.services.client().get(&request).map_err(|error| self.failed(provider, &error.to_string()))?;
        match response.status {
            200 => match response.media_type().as_deref() {
                Some("application/json") => Ok(response),
                other => {
                    let other = other.unwrap_or("nothing");
                    Err(self.failed(
                        provider,
                        &format!("its response has the type {other:?} instead of \"application/json\""),
                    ))
                }
            },
            404 => Ok(response),
            401 | 403 => {
                let host = self.base.host_str().unwrap_or_default().to_owned();
                Err(QueryError::Unauthorized { host, has_credentials })
            }
            _ => Err(self.failed(provider, &format!("it responded with \"{}\"", response.status_text()))),
        }
    }

    fn json(&self, provider: &ProviderSource, response: &Response) -> Result<Json, QueryError> {
        serde_json::from_slice(&response.body)
            .map_err(|error| self.failed(provider, &format!("its response is not JSON: {error}")))
    }

    fn failed(&self, provider: &ProviderSource, reason: &str) -> QueryError {
        QueryError::Failed(format!("failed to query provider mirror {} for {provider}: {reason}", self.shown()))
    }
}
