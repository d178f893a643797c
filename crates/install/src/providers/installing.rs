//! Selects versions of providers and installs their packages: what `init` and `providers lock` do.
//!
//! A provider whose locked version is installed already costs a look at its files: nothing is asked, nothing is hashed.
//! All other work happens for several providers at a time. A failure of one does not prevent the installation of the
//! other providers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ecow::EcoString;
use yuba_addrs::{ProviderConstraints, ProviderSource, ProviderVersion};
use yuba_net::http::HttpClient;

use super::authentication::PackageAuthentication;
use super::fetch::{Arrival, Delivery};
use super::package;
use super::parallel::parallel;
use super::platform::Platform;
use super::registry::Signing;
use super::selected::PackageDir;
use super::source::{PackageSources, QueryError};
use super::staging::PlaceLock;
use super::unpacked::UnpackedPackages;
use super::verified::Verified;
use crate::lock_file::{LockFile, ProviderLock};

/// Providers to install.
pub struct InstallRequest<'a> {
    /// The providers, and what is demanded of their versions. Built-in ones are not among them.
    pub needed: &'a BTreeMap<ProviderSource, ProviderConstraints>,
    /// Those of them that are attached to a running process.
    pub others: &'a BTreeSet<ProviderSource>,
    /// Previous selections.
    pub locks: &'a LockFile,
    /// Sources of packages.
    pub sources: &'a PackageSources,
    /// For packages from elsewhere.
    pub client: &'a HttpClient,
    /// The directory in which relative paths of other packages start.
    pub directory: &'a Path,
    /// The directory of packages.
    pub base: &'a PackageDir,
    /// For which platform.
    pub platform: &'a Platform,
    /// A directory of packages that working directories share.
    pub cache: Option<&'a Cache>,
    /// Installation mode.
    pub mode: SelectionPolicy,
    /// Strictness about signatures.
    pub signing: Signing,
    /// Caches of packages.
    pub verified: &'a Verified,
    /// Packages that were unpacked before.
    pub kept: &'a UnpackedPackages,
}

/// A directory of packages that working directories share.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Its directory.
    pub dir: PathBuf,
    /// Use existing packages even if that leaves the lock file incomplete.
    pub may_break_lock_file: bool,
}

/// Treatment of previous selections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionPolicy {
    /// It stays.
    Keep,
    /// The newest versions are selected.
    Upgrade,
    /// It stays, and its hashes are computed again.
    Rehash,
}

/// Progress events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstallEvent {
    /// A locked version is used.
    Reusing(ProviderSource),
    /// A version is looked for.
    Finding(ProviderSource, ProviderConstraints),
    /// It is installed already.
    Present {
        /// The provider.
        provider: ProviderSource,
        /// Its version.
        version: ProviderVersion,
        /// There means in the shared directory.
        in_cache: bool,
    },
    /// It is being installed.
    Installing {
        /// The provider.
        provider: ProviderSource,
        /// Its version.
        version: ProviderVersion,
        /// Into the shared directory.
        to_cache: bool,
    },
    /// It comes from the shared directory.
    FromCache(ProviderSource, ProviderVersion),
    /// Another process has locked the shared directory for long.
    Waiting(PathBuf),
    /// A download goes on.
    Progress {
        /// The provider.
        provider: ProviderSource,
        /// Bytes so far.
        received: u64,
        /// Bytes in all.
        total: Option<u64>,
    },
    /// It is installed.
    Installed {
        /// The provider.
        provider: ProviderSource,
        /// Its version.
        version: ProviderVersion,
        /// Kind of signer, in a word.
        verdict: &'static str,
        /// The keys it is signed with.
        keys: String,
        /// The registry has no keys for it.
        is_signing_skipped: bool,
    },
    /// At the end: some of the installed providers are signed, even if the installation of other providers failed.
    Signed,
}

/// Result.
#[derive(Clone, Debug, Default)]
pub struct InstallOutcome {
    /// The new selection. If providers failed, it is incomplete and need not be saved.
    pub locks: LockFile,
    /// Errors.
    pub failures: BTreeMap<ProviderSource, Failure>,
    /// Warnings of registries.
    pub warnings: BTreeMap<ProviderSource, Vec<String>>,
    /// Providers whose hashes are known for this platform only.
    pub incomplete: Vec<ProviderSource>,
}

/// An error of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It is not known which versions there are.
    Query(QueryError),
    /// No version can be selected, for a reason that ends no sentence.
    Select(String),
    /// It is not known where its package is.
    Offer(ProviderVersion, QueryError),
    /// Its package cannot be installed, for a reason that ends no sentence.
    Install(ProviderVersion, String),
    /// Its package in the shared directory cannot be used, for a reason that ends no sentence.
    Link(ProviderVersion, String),
}

/// Result for one provider.
struct Done {
    version: ProviderVersion,
    hashes: Vec<EcoString>,
    is_incomplete: bool,
    is_signed: bool,
}

/// Installs what is needed.
pub fn install(request: &InstallRequest<'_>, emit: &mut dyn FnMut(InstallEvent)) -> InstallOutcome {
    let mut outcome = InstallOutcome::default();
    let needed: Vec<&ProviderSource> =
        request.needed.keys().filter(|provider| !request.others.contains(*provider)).collect();
    for provider in &needed {
        emit(match request.locked(provider) {
            Some(_) => InstallEvent::Reusing((*provider).clone()),
            None => InstallEvent::Finding((*provider).clone(), request.needed[*provider].clone()),
        });
    }
    let results = parallel(&needed, emit, |provider, events| {
        let mut warnings = Vec::new();
        let done = Job { request, provider, events }.run(&mut warnings);
        (done, warnings)
    });
    let mut any_signed = false;
    let mut locks = request.locks.clone();
    for (provider, (done, warnings)) in needed.into_iter().zip(results) {
        if !warnings.is_empty() {
            outcome.warnings.insert(provider.clone(), warnings);
        }
        match done {
            Ok(done) => {
                let constraints = request.needed[provider].clone();
                locks.providers.insert(provider.clone(), ProviderLock::new(done.version, constraints, done.hashes));
                any_signed |= done.is_signed;
                if done.is_incomplete {
                    outcome.incomplete.push(provider.clone());
                }
            }
            Err(failure) => drop(outcome.failures.insert(provider.clone(), failure)),
        }
    }
    if any_signed {
        emit(InstallEvent::Signed);
    }
    locks.providers.retain(|provider, _| request.needed.contains_key(provider));
    outcome.locks = locks;
    outcome
}

/// Receives progress events of the workers.
type Emit<'a> = &'a (dyn Fn(InstallEvent) + Sync);

impl InstallRequest<'_> {
    /// Remaining selection of a provider.
    fn locked(&self, provider: &ProviderSource) -> Option<&ProviderLock> {
        self.locks.providers.get(provider).filter(|_| self.mode != SelectionPolicy::Upgrade)
    }
}

/// The work for one provider.
struct Job<'a> {
    request: &'a InstallRequest<'a>,
    provider: &'a ProviderSource,
    events: Emit<'a>,
}

impl Job<'_> {
    fn emit(&self, event: InstallEvent) {
        (self.events)(event);
    }

    fn run(&self, warnings: &mut Vec<String>) -> Result<Done, Failure> {
        let request = self.request;
        let version = match request.locked(self.provider) {
            Some(lock) => self.check_locked(lock, warnings)?,
            None => self.newest(warnings)?,
        };
        // Other hashes are to be expected of another version.
        let lock = request.locks.providers.get(self.provider).filter(|lock| lock.version == version);
        let allowed: Vec<EcoString> = lock.into_iter().flat_map(ProviderLock::checkable).cloned().collect();
        let target = package::unpacked(&request.base.path, self.provider, &version, request.platform);
        if let Some(lock) = lock
            && self.allowed_there(&target, &allowed).is_some()
        {
            self.emit(InstallEvent::Present {
                provider: self.provider.clone(),
                version: version.clone(),
                in_cache: false,
            });
            return Ok(Done::unchanged(lock));
        }
        let Some(cache) = request.cache else {
            return self.install(request.base, &target, &version, lock, &allowed, None);
        };
        let cached = package::unpacked(&cache.dir, self.provider, &version, request.platform);
        let done = match lock {
            Some(lock) if self.allowed_there(&cached, &allowed).is_some() => {
                let provider = self.provider.clone();
                self.emit(InstallEvent::Present { provider, version: version.clone(), in_cache: true });
                Done::unchanged(lock)
            }
            lock => self.install(&PackageDir::at(&cache.dir), &cached, &version, lock, &allowed, Some(cache))?,
        };
        self.emit(InstallEvent::FromCache(self.provider.clone(), version.clone()));
        let delivery = self.delivery(request.base, &target, &version, &[]);
        delivery.link(&cached).map_err(|reason| Failure::Link(version, reason))?;
        Ok(done)
    }

    /// The locked version, if it can stay.
    fn check_locked(&self, lock: &ProviderLock, warnings: &mut Vec<String>) -> Result<ProviderVersion, Failure> {
        let request = self.request;
        let (provider, version, constraints) = (self.provider, &lock.version, &request.needed[self.provider]);
        if !constraints.allows(version) {
            let reason = match constraints.is_empty() {
                true => "is a pre-release, and version constraints no longer name it".to_owned(),
                false => format!("does not match configured version constraint {constraints}"),
            };
            return Err(Failure::Select(format!(
                "locked provider {provider} {version} {reason}; run \"yuba init -upgrade\" to select another version"
            )));
        }
        self.check_specified(version)?;
        // An installed package need not be available elsewhere.
        let bases = [Some(request.base.path.as_path()), request.cache.map(|cache| cache.dir.as_path())];
        let is_here = |base: &Path| package::unpacked(base, provider, version, request.platform).is_dir();
        if bases.into_iter().flatten().any(is_here) {
            return Ok(version.clone());
        }
        let found = request.sources.versions(provider).map_err(Failure::Query)?;
        warnings.extend(found.warnings);
        match found.list.contains(version) {
            true => Ok(version.clone()),
            false => Err(Failure::Select(format!(
                "the previously-selected version {version} is no longer available; run \"yuba init -upgrade\" to select \
                 another one"
            ))),
        }
    }

    /// The newest version that meets what is demanded.
    fn newest(&self, warnings: &mut Vec<String>) -> Result<ProviderVersion, Failure> {
        let constraints = &self.request.needed[self.provider];
        if constraints.to_string() == ProviderVersion::default().to_string() {
            self.check_specified(&ProviderVersion::default())?;
        }
        let found = self.request.sources.versions(self.provider).map_err(Failure::Query)?;
        warnings.extend(found.warnings);
        let is_good =
            |version: &&ProviderVersion| **version != ProviderVersion::default() && constraints.allows(version);
        let newest = found.list.iter().rev().find(is_good).cloned();
        newest.ok_or_else(|| {
            let newest = found.list.iter().rev().take(3).map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let there_are = match found.list.len() {
                0 => String::new(),
                1..=3 => format!("; available: {newest}"),
                _ => format!("; the newest available are {newest}"),
            };
            Failure::Select(match constraints.is_empty() {
                true => format!("no available releases{there_are}"),
                false => format!("no available releases match the given constraints {constraints}{there_are}"),
            })
        })
    }

    fn check_specified(&self, version: &ProviderVersion) -> Result<(), Failure> {
        if *version != ProviderVersion::default() {
            return Ok(());
        }
        let reason = "0.0.0 is not a valid provider version. For a provider that is not published, use dev_overrides in the \
                      CLI configuration";
        Err(Failure::Select(reason.to_owned()))
    }

    /// The hash of an unpacked package if it is one of those that are allowed.
    fn allowed_there(&self, package: &Path, allowed: &[EcoString]) -> Option<EcoString> {
        if self.request.mode == SelectionPolicy::Rehash || !allowed.iter().any(|hash| hash.starts_with("h1:")) {
            return None;
        }
        self.hash(package).filter(|hash| allowed.contains(hash))
    }

    /// The hash of an unpacked package. None if it cannot be read or does not contain an executable.
    fn hash(&self, package: &Path) -> Option<EcoString> {
        let contents = self.request.verified.look(package).ok()?;
        contents.executable(package, self.provider).ok().map(|_| contents.hash)
    }

    fn delivery<'b>(
        &'b self,
        base: &'b PackageDir,
        target: &'b Path,
        version: &'b ProviderVersion,
        allowed: &'b [EcoString],
    ) -> Delivery<'b> {
        let InstallRequest { verified, kept, client, directory, .. } = self.request;
        Delivery { provider: self.provider, version, directory, base, target, allowed, verified, kept, client }
    }

    /// Installs a package into a directory of packages.
    fn install(
        &self,
        base: &PackageDir,
        target: &Path,
        version: &ProviderVersion,
        lock: Option<&ProviderLock>,
        known: &[EcoString],
        cache: Option<&Cache>,
    ) -> Result<Done, Failure> {
        let request = self.request;
        let offer = request.sources.offer(self.provider, version, request.platform);
        let offer = offer.map_err(|error| Failure::Offer(version.clone(), error))?;
        let provider = self.provider.clone();
        self.emit(InstallEvent::Installing { provider, version: version.clone(), to_cache: cache.is_some() });
        let failed = |reason: String| Failure::Install(version.clone(), reason);
        let place_lock = PlaceLock::acquire(target, &mut || self.emit(InstallEvent::Waiting(base.shown.clone())));
        let place_lock =
            place_lock.map_err(|error| failed(format!("{} cannot be written: {error}", base.shown.display())))?;
        let allowed = if request.mode == SelectionPolicy::Rehash { &[][..] } else { known };
        let arrival = match self.already(target, allowed, cache) {
            Some(arrival) => arrival,
            None => {
                let mut progress = |received, total| {
                    self.emit(InstallEvent::Progress { provider: self.provider.clone(), received, total });
                };
                let delivery = self.delivery(base, target, version, allowed);
                delivery.bring(&offer, &mut progress).map_err(failed)?
            }
        };
        drop(place_lock);
        let verdict = arrival.verdict.unwrap_or_default();
        let mut local = verdict.local();
        local.push(arrival.hash.clone());
        local.sort();
        local.dedup();
        let vouched = match request.signing.is_required(self.provider) {
            true => verdict.signed(),
            false => verdict.listed(),
        };
        // Hashes from other tools in the lock file are trusted.
        let is_incomplete = vouched.is_empty() && (lock.is_none() || known.is_empty() || local == known);
        self.emit(InstallEvent::Installed {
            provider: self.provider.clone(),
            version: version.clone(),
            verdict: verdict.summary(),
            keys: verdict.keys(),
            is_signing_skipped: verdict.is_signing_skipped(),
        });
        let hashes = known.iter().cloned().chain(local).chain(vouched).collect();
        Ok(Done { version: version.clone(), hashes, is_incomplete, is_signed: verdict.is_signed() })
    }

    /// Package installed by another process in the meantime.
    fn already(&self, target: &Path, allowed: &[EcoString], cache: Option<&Cache>) -> Option<Arrival> {
        if cache.is_some_and(|cache| cache.may_break_lock_file) && allowed.is_empty() {
            return Some(Arrival { verdict: None, hash: self.hash(target)? });
        }
        let hash = self.allowed_there(target, allowed)?;
        Some(Arrival { verdict: Some(PackageAuthentication::of_local([hash.clone()])), hash })
    }
}

impl Done {
    fn unchanged(lock: &ProviderLock) -> Done {
        let (version, hashes) = (lock.version.clone(), lock.hashes.clone());
        Done { version, hashes, is_incomplete: false, is_signed: false }
    }
}
