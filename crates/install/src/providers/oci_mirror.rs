//! Providers in container registries: a repository per provider, a tag per version, a manifest per platform.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use yuba_addrs::{ProviderSource, ProviderVersion};
use yuba_net::Environment;
use yuba_net::http::HttpClient;

use super::authentication::PackageCheck;
use super::hash;
use super::platform::Platform;
use super::source::{Offer, PackageContent, QueryError, Versions};
use crate::cli_config::{CliConfig, RepositoryTemplate, TrustedHashes};
use crate::oci::{Descriptor, IMAGE_INDEX, IMAGE_MANIFEST, Repository};

const PROVIDER: &str = "application/vnd.opentofu.provider";
const TARGET: &str = "application/vnd.opentofu.provider-target";
const ARCHIVE: &str = "archive/zip";

/// Container registries with providers.
#[derive(Clone)]
pub struct OciMirror {
    template: RepositoryTemplate,
    client: HttpClient,
    config: Arc<CliConfig>,
    environment: Environment,
    known: Arc<Mutex<HashMap<ProviderSource, Arc<Repository>>>>,
}

impl OciMirror {
    /// With the address of repositories.
    pub fn new(
        template: RepositoryTemplate,
        client: HttpClient,
        config: Arc<CliConfig>,
        environment: Environment,
    ) -> OciMirror {
        OciMirror { template, client, config, environment, known: Arc::default() }
    }

    /// With a repository that needs no certificate.
    #[cfg(test)]
    pub(crate) fn with(self, provider: ProviderSource, repository: Repository) -> OciMirror {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(provider, Arc::new(repository));
        self
    }

    fn repository(&self, provider: &ProviderSource) -> Result<Arc<Repository>, QueryError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(provider) {
            return Ok(known.clone());
        }
        let (registry, name) = self
            .template
            .repository(provider)
            .map_err(|reason| QueryError::Failed(format!("selecting OCI repository address: {reason}")))?;
        let repository = Repository::new(&self.client, &self.config, &self.environment, &registry, &name)
            .map_err(|reason| QueryError::Failed(format!("accessing OCI registry at {registry}: {reason}")))?;
        Ok(known.entry(provider.clone()).or_insert(Arc::new(repository)).clone())
    }

    /// The versions that a repository has tags for.
    pub fn versions(&self, provider: &ProviderSource) -> Result<Versions, QueryError> {
        let tags = self.repository(provider)?.tags();
        let tags = tags.map_err(|error| QueryError::Failed(format!("listing tags from OCI repository: {error}")))?;
        let Some(tags) = tags else { return Err(QueryError::NotFound(Vec::new())) };
        // Tags cannot have a plus sign.
        let version = |tag: &String| ProviderVersion::parse(&tag.replace('_', "+")).ok();
        let mut list: Vec<ProviderVersion> = tags.iter().filter_map(version).collect();
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
        let repository = self.repository(provider)?;
        let tag = version.to_string().replace('+', "_");
        let wrong = |reason: String| QueryError::Failed(format!("the tag {tag:?} of the OCI repository: {reason}"));
        let read = |reference: &str| -> Result<Json, String> {
            let manifest = repository.manifest(reference)?;
            serde_json::from_slice(&manifest.bytes).map_err(|error| format!("a manifest is not JSON: {error}"))
        };
        let index = read(&tag).map_err(&wrong)?;
        let manifest = select_manifest(&index, platform).map_err(|problem| problem.into_query(&wrong))?;
        let layer = read(&manifest.digest).and_then(|manifest| select_layer(&manifest)).map_err(&wrong)?;
        let sum = layer.digest.strip_prefix("sha256:").and_then(hash::parse_sum);
        let sum = sum.ok_or_else(|| wrong(format!("{:?} is not a SHA-256 digest", layer.digest)))?;
        let check = PackageCheck::AnyHash {
            platform: platform.clone(),
            hashes: vec![hash::of_archive_sum(&sum)],
            trusted: TrustedHashes::Verified,
        };
        Ok(Offer { at: PackageContent::Blob(repository, Box::new(layer)), checks: vec![check] })
    }
}

/// Why no manifest was selected: a reason, or the absence of one for the platform.
enum Unselected {
    Because(String),
    NoPlatform,
}

impl Unselected {
    fn into_query(self, wrong: &dyn Fn(String) -> QueryError) -> QueryError {
        match self {
            Unselected::Because(reason) => wrong(reason),
            Unselected::NoPlatform => QueryError::NoPlatform(None),
        }
    }
}

/// The one manifest for a platform.
fn select_manifest(index: &Json, platform: &Platform) -> Result<Descriptor, Unselected> {
    let because = |reason: &str| Err(Unselected::Because(reason.to_owned()));
    match index["artifactType"].as_str().unwrap_or_default() {
        PROVIDER => {}
        TARGET => {
            return because("it is a package for one platform; providers need a list of manifests for all of them");
        }
        "application/vnd.opentofu.modulepkg" => return because("it is a module, not a provider"),
        other => return because(&format!("it is not a provider, but of the type {other:?}")),
    }
    if index["mediaType"].as_str() != Some(IMAGE_INDEX) {
        return because("it is not a list of manifests for several platforms");
    }
    let mut selected = None;
    let mut has_others = false;
    for entry in index["manifests"].as_array().into_iter().flatten() {
        if entry["artifactType"].as_str() != Some(TARGET) {
            continue;
        }
        let descriptor = Descriptor::parse(entry).map_err(Unselected::Because)?;
        if descriptor.media_type != IMAGE_MANIFEST {
            return because(&format!("a manifest of it has the media type {:?}", descriptor.media_type));
        }
        match &descriptor.platform {
            None => return because("a manifest of it does not say for which platform it is"),
            Some((os, arch)) if *os != platform.os || *arch != platform.arch => has_others = true,
            Some(_) if selected.is_some() => return because(&format!("it has several manifests for {platform}")),
            Some(_) => selected = Some(descriptor),
        }
    }
    match selected {
        Some(selected) => Ok(selected),
        None if has_others => Err(Unselected::NoPlatform),
        None => because("it has no packages of a provider; is it a container image?"),
    }
}

/// The one archive of a manifest.
fn select_layer(manifest: &Json) -> Result<Descriptor, String> {
    if manifest["artifactType"].as_str() != Some(TARGET) {
        return Err("its manifest for this platform is not one of a provider".to_owned());
    }
    let layers = manifest["layers"].as_array().into_iter().flatten();
    let mut archives = layers.filter(|layer| layer["mediaType"].as_str() == Some(ARCHIVE));
    match (archives.next(), archives.next()) {
        (Some(layer), None) => Descriptor::parse(layer),
        (None, _) => Err(format!("its manifest for this platform has no layer of the type {ARCHIVE:?}")),
        (Some(_), Some(_)) => Err("its manifest for this platform has several packages".to_owned()),
    }
}
