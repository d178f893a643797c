//! Packages in container registries: `oci://registry.example.com/repository?tag=v1`.

use std::path::Path;

use serde_json::Value as Json;
use yuba_net::http::Url;

use super::Fetcher;
use super::web::Partial;
use crate::archive::{Format, Limits, unpack};
use crate::oci::{Descriptor, IMAGE_MANIFEST, Repository};

/// Artifact type of the manifest of a module package.
const ARTIFACT: &str = "application/vnd.opentofu.modulepkg";
/// Media type of the layer with the package.
const LAYER: &str = "archive/zip";

/// Downloads a package.
pub(super) fn fetch(fetcher: &Fetcher, url: &Url, into: &Path) -> Result<(), String> {
    if url.scheme() != "oci" {
        return Err(format!("addresses of this kind begin with \"oci://\", not with {:?}", url.scheme()));
    }
    let mut reference = None;
    for (name, value) in url.query_pairs() {
        match name.as_ref() {
            "tag" | "digest" if reference.is_some() => {
                return Err("give one of \"tag\" and \"digest\", and give it once".to_owned());
            }
            "tag" | "digest" if value.is_empty() => return Err(format!("{name:?} must not be empty")),
            "tag" | "digest" => reference = Some(value.into_owned()),
            "archive" => {
                return Err(
                    "the argument \"archive\" is not supported: the manifest determines the kind of archive".to_owned()
                );
            }
            other => return Err(format!("the argument {other:?} is not supported for this kind of source")),
        }
    }
    let reference = reference.unwrap_or_else(|| "latest".to_owned());
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let registry = format!("{}{port}", url.host_str().unwrap_or_default());
    let name = url.path().trim_start_matches('/');
    let repository =
        Repository::new(fetcher.services.client(), &fetcher.config, &fetcher.environment, &registry, name)?;
    fetch_from(&repository, &reference, into)
}

/// Downloads the package of a tag or digest.
pub(super) fn fetch_from(repository: &Repository, reference: &str, into: &Path) -> Result<(), String> {
    let manifest = repository.manifest(reference)?;
    let layer = select_layer(&manifest.bytes)?;
    let file = Partial::beside(into)?;
    repository.blob(&layer, &file.0, &mut |_, _| {})?;
    unpack(&file.0, Format::Zip, into, Limits::default()).map_err(|error| error.to_string())
}

fn select_layer(manifest: &[u8]) -> Result<Descriptor, String> {
    let manifest: Json =
        serde_json::from_slice(manifest).map_err(|error| format!("the manifest is not JSON: {error}"))?;
    let text = |name: &str| manifest.get(name).and_then(Json::as_str).unwrap_or_default();
    if text("mediaType") != IMAGE_MANIFEST {
        return Err(format!("this is not the manifest of a package, but {:?}", text("mediaType")));
    }
    if text("artifactType") != ARTIFACT {
        return Err(format!("this is not the package of a module, but {:?}", text("artifactType")));
    }
    let layers = manifest.get("layers").and_then(Json::as_array).into_iter().flatten();
    let layers = layers.map(Descriptor::parse).collect::<Result<Vec<_>, _>>()?;
    let mut fitting = layers.iter().filter(|layer| layer.media_type == LAYER);
    match (fitting.next(), fitting.next()) {
        (Some(layer), None) => Ok(layer.clone()),
        (Some(_), Some(_)) => Err(format!("the manifest has several layers of type {LAYER:?}")),
        (None, _) => Err(format!("the manifest has no layer of type {LAYER:?}, only of kinds that are not supported")),
    }
}
