//! Hashes of packages for several platforms, for the lock file: what `providers lock` does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ecow::EcoString;
use yuba_addrs::{ProviderConstraints, ProviderSource, ProviderVersion};
use yuba_net::http::HttpClient;
use yuba_syntax::Diagnostics;

use super::diagnostics;
use super::installing::{self, SelectionPolicy};
use super::platform::Platform;
use super::registry::Signing;
use super::selected::PackageDir;
use super::source::PackageSources;
use super::staging::Staging;
use super::unpacked::UnpackedPackages;
use super::verified::Verified;
use crate::lock_file::{LockFile, ProviderLock};

/// Providers to lock.
pub struct ProviderLockRequest<'a> {
    /// The providers, and what is demanded of their versions.
    pub needed: &'a BTreeMap<ProviderSource, ProviderConstraints>,
    /// Previous selections.
    pub locks: &'a LockFile,
    /// Sources of packages.
    pub sources: &'a PackageSources,
    /// For packages from elsewhere.
    pub client: &'a HttpClient,
    /// For which platforms.
    pub platforms: &'a [Platform],
    /// Strictness about signatures.
    pub signing: Signing,
    /// The directory in which relative paths of packages start.
    pub directory: &'a Path,
    /// The directory for temporary files.
    pub temporary: &'a Path,
}

/// Progress events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockEvent {
    /// A package is fetched.
    Fetching(ProviderSource, ProviderVersion, Platform),
    /// A package is here; with who stands for it and the keys it is signed with.
    Retrieved(ProviderSource, ProviderVersion, Platform, &'static str, String),
    /// The hashes for a platform are known.
    Obtained(ProviderSource, Platform, Change),
}

/// Changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The provider.
    Provider,
    /// Hashes.
    Hashes,
    /// Nothing.
    Nothing,
}

/// Finds the hashes of all packages. Without errors there is a new lock file, and whether it says anything new.
pub fn lock(
    request: &ProviderLockRequest<'_>,
    emit: &mut dyn FnMut(LockEvent),
) -> Result<(LockFile, bool), Diagnostics> {
    let mut found: Vec<(&Platform, LockFile)> = Vec::new();
    for platform in request.platforms {
        let staging = Staging::new(request.temporary)
            .map_err(|error| Diagnostics::from(diagnostics::no_temporary_directory(&error)))?;
        let base = PackageDir::at(staging.join("packages"));
        let wanted = installing::InstallRequest {
            needed: request.needed,
            others: &BTreeSet::new(),
            locks: request.locks,
            sources: request.sources,
            client: request.client,
            directory: request.directory,
            base: &base,
            platform,
            cache: None,
            mode: SelectionPolicy::Rehash,
            signing: request.signing,
            verified: &Verified::default(),
            kept: &UnpackedPackages::default(),
        };
        let outcome = installing::install(&wanted, &mut |event| match event {
            installing::InstallEvent::Installing { provider, version, .. } => {
                emit(LockEvent::Fetching(provider, version, platform.clone()));
            }
            installing::InstallEvent::Installed { provider, version, verdict, keys, .. } => {
                emit(LockEvent::Retrieved(provider, version, platform.clone(), verdict, keys));
            }
            _ => {}
        });
        if !outcome.failures.is_empty() {
            return Err(diagnostics::not_locked(platform, &outcome.failures).into());
        }
        found.push((platform, outcome.locks));
    }
    let mut locks = request.locks.clone();
    let mut any_change = false;
    for provider in request.needed.keys() {
        let before = request.locks.providers.get(provider);
        let mut hashes: Vec<EcoString> = before.map(|lock| lock.hashes.clone()).unwrap_or_default();
        let mut last = None;
        for (platform, found) in &found {
            let Some(lock) = found.providers.get(provider) else { continue };
            let change = match before {
                None => Change::Provider,
                Some(before) if lock.hashes.iter().all(|hash| before.hashes.contains(hash)) => Change::Nothing,
                Some(_) => Change::Hashes,
            };
            any_change |= change != Change::Nothing;
            emit(LockEvent::Obtained(provider.clone(), (*platform).clone(), change));
            hashes.extend(lock.hashes.iter().cloned());
            last = Some(lock);
        }
        if let Some(lock) = last {
            let lock = ProviderLock::new(lock.version.clone(), lock.constraints.clone(), hashes);
            locks.providers.insert(provider.clone(), lock);
        }
    }
    Ok((locks, any_change))
}
