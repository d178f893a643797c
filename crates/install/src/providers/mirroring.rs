//! Copies packages from registries into a directory that can serve as a mirror: what `providers mirror` does.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use ecow::EcoString;
use serde_json::{Map, Value as Json, json};
use yuba_addrs::{ProviderConstraints, ProviderSource, ProviderVersion};
use yuba_net::http::HttpClient;
use yuba_syntax::{Code, Diagnostics};

use super::authentication::{self, ArchiveFacts};
use super::diagnostics;
use super::fetch;
use super::hash;
use super::local_mirror::LocalMirror;
use super::package;
use super::platform::Platform;
use super::registry::ProviderRegistry;
use super::source::PackageContent;
use super::staging::Staging;
use crate::archive::{self, Limits};
use crate::lock_file::LockFile;

/// Providers to copy.
pub struct MirrorRequest<'a> {
    /// The providers, and what is demanded of their versions.
    pub needed: &'a BTreeMap<ProviderSource, ProviderConstraints>,
    /// Previous selections: they take precedence.
    pub locks: &'a LockFile,
    /// From where.
    pub registry: &'a ProviderRegistry,
    /// For the packages.
    pub client: &'a HttpClient,
    /// For which platforms.
    pub platforms: &'a [Platform],
    /// Target directory.
    pub dir: &'a Path,
}

/// Progress events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MirrorEvent {
    /// A provider is built in.
    Skipped(ProviderSource),
    /// A provider is copied.
    Mirroring(ProviderSource),
    /// A version was selected.
    Selected(ProviderSource, ProviderVersion, Why),
    /// A package is downloaded.
    Downloading(ProviderSource, ProviderVersion, Platform),
    /// A package was checked; with who stands for it.
    Authenticated(ProviderSource, ProviderVersion, Platform, &'static str),
}

/// Reason for the selection of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The lock file says so.
    LockFile,
    /// It is the newest that meets these constraints.
    Constraints(String),
    /// It is the newest.
    Newest,
}

type Hashes = BTreeMap<(ProviderSource, ProviderVersion, Platform), Vec<EcoString>>;

/// Copies packages, and writes the indexes that make a network mirror of the directory.
pub fn mirror(request: &MirrorRequest<'_>, emit: &mut dyn FnMut(MirrorEvent)) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let mut hashes = Hashes::new();
    for (provider, constraints) in request.needed {
        if provider.is_builtin() {
            emit(MirrorEvent::Skipped(provider.clone()));
            continue;
        }
        emit(MirrorEvent::Mirroring(provider.clone()));
        let Some(version) = select(request, provider, constraints, emit, &mut problems) else { continue };
        for platform in request.platforms {
            emit(MirrorEvent::Downloading(provider.clone(), version.clone(), platform.clone()));
            match copy(request, provider, &version, platform) {
                Ok((found, verdict)) => {
                    emit(MirrorEvent::Authenticated(provider.clone(), version.clone(), platform.clone(), verdict));
                    hashes.insert((provider.clone(), version.clone(), platform.clone()), found);
                }
                Err((code, reason)) => {
                    let what = format!("v{version} for {platform}");
                    problems.push(diagnostics::mirroring(code, provider, &what, &reason));
                }
            }
        }
    }
    if let Err(reason) = write_indexes(request.dir, &hashes) {
        problems.push(diagnostics::index(&reason));
    }
    problems
}

fn select(
    request: &MirrorRequest<'_>,
    provider: &ProviderSource,
    constraints: &ProviderConstraints,
    emit: &mut dyn FnMut(MirrorEvent),
    problems: &mut Diagnostics,
) -> Option<ProviderVersion> {
    let locked = request.locks.providers.get(provider);
    if let Some(lock) = locked {
        emit(MirrorEvent::Selected(provider.clone(), lock.version.clone(), Why::LockFile));
        return Some(lock.version.clone());
    }
    if !request.locks.providers.is_empty() {
        problems.push(diagnostics::not_in_lock_file(provider));
        return None;
    }
    let newest = request.registry.versions(provider).map_err(|error| error.to_string()).and_then(|found| {
        let newest = found.list.into_iter().rev().find(|version| constraints.allows(version));
        newest.ok_or_else(|| format!("no releases match the given constraints {constraints}"))
    });
    match newest {
        Ok(version) => {
            let why = match constraints.is_empty() {
                true => Why::Newest,
                false => Why::Constraints(constraints.to_string()),
            };
            emit(MirrorEvent::Selected(provider.clone(), version.clone(), why));
            Some(version)
        }
        Err(reason) => {
            problems.push(diagnostics::mirroring(&diagnostics::MIRRORED_PROVIDER_NOT_AVAILABLE, provider, "", &reason));
            None
        }
    }
}

/// Downloads and checks a package, and moves it to its directory.
fn copy(
    request: &MirrorRequest<'_>,
    provider: &ProviderSource,
    version: &ProviderVersion,
    platform: &Platform,
) -> Result<(Vec<EcoString>, &'static str), (&'static Code, String)> {
    let (release, download) =
        (&diagnostics::MIRRORED_RELEASE_NOT_AVAILABLE, &diagnostics::MIRRORED_RELEASE_NOT_DOWNLOADED);
    let offer = request.registry.offer(provider, version, platform).map_err(|error| (release, error.to_string()))?;
    let PackageContent::Remote(source) = &offer.at else { return Err((release, "it is not in a registry".to_owned())) };
    let unwritable = |error: io::Error| (download, format!("{} cannot be written: {error}", request.dir.display()));
    let staging = Staging::new(request.dir).map_err(unwritable)?;
    let file = staging.join("package.zip");
    let response =
        request.client.download(source, &file, &mut |_, _| ()).map_err(|error| (download, error.to_string()))?;
    if !response.is_success() {
        return Err((download, response.failed_download(&source.url)));
    }
    let facts = || -> io::Result<ArchiveFacts> {
        Ok(ArchiveFacts { sum: Some(hash::sum(&file)?), size: fs::metadata(&file)?.len(), h1: None })
    };
    let facts = facts().map_err(unwritable)?;
    let verdict = authentication::check(&offer.checks, &facts)
        .map_err(|reason| (&diagnostics::MIRRORED_PACKAGE_INVALID, reason))?;
    let target = package::of_provider(request.dir, provider).join(package::archive_name(provider, version, platform));
    staging.publish("package.zip", &target).map_err(unwritable)?;
    Ok((verdict.of_platform(platform), verdict.summary()))
}

/// Writes `index.json` and a file per version for all providers of a directory.
fn write_indexes(dir: &Path, hashes: &Hashes) -> Result<(), String> {
    let mirror = LocalMirror::new(dir.to_path_buf());
    let unreadable = |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", dir.display());
    // Copying creates the directory. Without packages a missing directory stays missing and cannot be indexed.
    fs::metadata(dir).map_err(|error| unreadable(&error))?;
    for provider in mirror.providers().map_err(|error| unreadable(&error))? {
        let mut versions: BTreeMap<ProviderVersion, Map<String, Json>> = BTreeMap::new();
        for found in mirror.packages(&provider).map_err(|error| unreadable(&error))?.iter() {
            // A network mirror has archives only.
            if !found.is_archive {
                continue;
            }
            let key = (provider.clone(), found.version.clone(), found.platform.clone());
            let mut known: Vec<EcoString> = match hashes.get(&key) {
                Some(known) if !known.is_empty() => known.clone(),
                _ => vec![hash_of(&found.path, dir)?],
            };
            known.sort();
            let name = found.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let known: Vec<&str> = known.iter().map(EcoString::as_str).collect();
            let archive = json!({ "hashes": known, "url": name });
            versions.entry(found.version.clone()).or_default().insert(found.platform.to_string(), archive);
        }
        let package_dir = package::of_provider(dir, &provider);
        let all: Map<String, Json> = versions.keys().map(|version| (version.to_string(), json!({}))).collect();
        write(&package_dir.join("index.json"), &json!({ "versions": all }))?;
        for (version, archives) in versions {
            write(&package_dir.join(format!("{version}.json")), &json!({ "archives": archives }))?;
        }
    }
    Ok(())
}

/// The hash `h1:` of the files in an archive.
fn hash_of(archive: &Path, dir: &Path) -> Result<EcoString, String> {
    let failed = |reason: &dyn std::fmt::Display| format!("the hash of {} is not known: {reason}", archive.display());
    let staging = Staging::new(dir).map_err(|error| failed(&error))?;
    let unpacked = staging.join("new");
    let sums = archive::unpack_summed(archive, &unpacked, Limits::default()).map_err(|error| failed(&error))?;
    let sums = fetch::named(&unpacked, sums).map_err(|error| failed(&error))?;
    Ok(hash::of_sums(sums.iter().map(|(name, sum)| (name, *sum))))
}

fn write(path: &Path, content: &Json) -> Result<(), String> {
    let _span = tracing::debug_span!("write file", path = %path.display()).entered();
    let new = path.with_extension("json.new");
    let text = format!("{content:#}");
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, path))
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))
}
