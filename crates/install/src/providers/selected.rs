//! The executable of each provider of a working directory: selected by the lock file and installed by `init`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ecow::{EcoString, eco_format};
use yuba_addrs::{ProviderConstraints, ProviderSource, ProviderVersion};
use yuba_syntax::Diagnostic;

use super::diagnostics;
use super::package;
use super::parallel::parallel;
use super::platform::Platform;
use super::verified::Verified;
use crate::lock_file::{LockFile, ProviderLock};

/// A provider that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its version; none for one under development.
    pub version: Option<ProviderVersion>,
    /// Directory of its files.
    pub dir: PathBuf,
    /// Its executable.
    pub executable: PathBuf,
    /// The hash `h1:` of its files; none for one under development, which may change at any time.
    pub hash: Option<EcoString>,
}

/// Reason why a provider cannot be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// It is selected and not installed: nothing can be done before `init`.
    Missing(EcoString),
    /// The installed package is not the selected one. It is an error when the provider is needed.
    Damaged(EcoString),
}

impl Unusable {
    /// In words that end no sentence.
    pub fn reason(&self) -> &EcoString {
        match self {
            Unusable::Missing(reason) | Unusable::Damaged(reason) => reason,
        }
    }
}

/// The providers of a working directory.
#[derive(Clone, Debug, Default)]
pub struct SelectedProviders {
    /// By source.
    pub packages: BTreeMap<ProviderSource, Result<Package, Unusable>>,
}

/// Finds the packages of the providers that a lock file selects, in the data directory of a working directory.
/// `overrides` are directories of providers under development, which take precedence; `others` are attached providers.
pub fn selected(
    packages: &PackageDir,
    locks: &LockFile,
    overrides: &BTreeMap<ProviderSource, PathBuf>,
    others: &BTreeSet<ProviderSource>,
    verified: &Verified,
) -> SelectedProviders {
    let platform = Platform::current();
    let is_ours = |provider: &ProviderSource| !overrides.contains_key(provider) && !others.contains(provider);
    let locked: Vec<_> = locks.providers.iter().filter(|(provider, _)| is_ours(provider)).collect();
    let found = parallel(&locked, &mut |()| (), |(provider, lock), _| {
        (provider.clone(), installed(packages, provider, lock, &platform, verified))
    });
    let mut packages: BTreeMap<_, _> = found.into_iter().collect();
    for (provider, dir) in overrides {
        if !others.contains(provider) {
            let found = match package::executable(dir, provider) {
                Ok(executable) => Ok(Package { version: None, dir: dir.clone(), executable, hash: None }),
                Err(error) => Err(Unusable::Damaged(eco_format!(
                    "the directory {} that dev_overrides names for it cannot be used: {error}",
                    dir.display()
                ))),
            };
            packages.insert(provider.clone(), found);
        }
    }
    SelectedProviders { packages }
}

/// A directory of unpacked packages.
#[derive(Clone, Debug)]
pub struct PackageDir {
    /// The directory on this machine.
    pub path: PathBuf,
    /// The directory as messages show it.
    pub shown: PathBuf,
}

impl PackageDir {
    /// Directory of installed packages: in the data directory, which is relative to a working directory.
    pub fn of_project(root: &Path, data_dir: &Path) -> PackageDir {
        let shown = data_dir.join("providers");
        PackageDir { path: root.join(&shown), shown }
    }

    /// A directory that messages show as it is.
    pub fn at(path: impl Into<PathBuf>) -> PackageDir {
        let path = path.into();
        PackageDir { shown: path.clone(), path }
    }
}

fn installed(
    packages: &PackageDir,
    provider: &ProviderSource,
    lock: &ProviderLock,
    platform: &Platform,
    verified: &Verified,
) -> Result<Package, Unusable> {
    let dir = package::unpacked(&packages.path, provider, &lock.version, platform);
    let (shown, version) = (packages.shown.display(), &lock.version);
    if !dir.is_dir() {
        // Tools look for these words.
        return Err(Unusable::Missing(eco_format!("there is no package for {provider} {version} cached in {shown}")));
    }
    let damaged = |reason: &dyn std::fmt::Display| {
        Unusable::Damaged(eco_format!("the package for {provider} {version} in {shown} cannot be used: {reason}"))
    };
    let contents = verified.look(&dir).map_err(|error| damaged(&error))?;
    let executable = contents.executable(&dir, provider).map_err(|error| damaged(&error))?;
    let hash = contents.hash;
    if lock.checkable().next().is_some() && !lock.hashes.contains(&hash) {
        return Err(Unusable::Damaged(eco_format!(
            "the cached package for {provider} {version} (in {shown}) does not match any of the checksums recorded in the \
             dependency lock file; run \"yuba init\" to install what is recorded there"
        )));
    }
    Ok(Package { version: Some(lock.version.clone()), dir, executable, hash: Some(hash) })
}

impl SelectedProviders {
    fn missing(&self) -> Vec<(&ProviderSource, &EcoString)> {
        let missing = self.packages.iter().filter_map(|(provider, found)| match found {
            Err(Unusable::Missing(reason)) => Some((provider, reason)),
            _ => None,
        });
        missing.collect()
    }

    /// An error if anything that is selected is not installed.
    pub fn missing_plugins(&self) -> Option<Diagnostic> {
        let missing = self.missing();
        if missing.is_empty() {
            return None;
        }
        let list: String = missing.iter().map(|(provider, reason)| format!("\n  - {provider}: {reason}")).collect();
        Some(diagnostics::not_installed(&list))
    }

    /// The same for commands that need no state, where it is all in the title.
    pub fn missing_plugins_short(&self) -> Option<Diagnostic> {
        let missing = self.missing();
        let summary = match missing.as_slice() {
            [] => return None,
            [(provider, reason)] => format!("{provider}: {reason}"),
            several => {
                let list = several.iter().map(|(provider, reason)| format!("\n  - {provider}: {reason}"));
                format!("missing or corrupted provider plugins:{}", list.collect::<String>())
            }
        };
        Some(diagnostics::not_installed_short(summary))
    }
}

/// An error if a lock file does not select what a configuration needs. `overridden` providers need no selection.
pub fn check_selections<'a>(
    needed: impl IntoIterator<Item = (&'a ProviderSource, &'a ProviderConstraints)>,
    locks: &LockFile,
    overridden: &dyn Fn(&ProviderSource) -> bool,
) -> Option<Diagnostic> {
    let mut wrong: Vec<String> = needed
        .into_iter()
        .filter(|(provider, _)| !provider.is_builtin() && !provider.is_legacy() && !overridden(provider))
        .filter_map(|(provider, constraints)| mismatch(provider, constraints, locks.providers.get(provider)))
        .collect();
    if wrong.is_empty() {
        return None;
    }
    wrong.sort();
    let list: String = wrong.iter().map(|reason| format!("\n  - {reason}")).collect();
    Some(diagnostics::inconsistent_lock_file(&list, locks))
}

fn mismatch(
    provider: &ProviderSource,
    constraints: &ProviderConstraints,
    lock: Option<&ProviderLock>,
) -> Option<String> {
    let Some(lock) = lock else {
        return Some(format!("provider {provider}: required by this configuration but no version is selected"));
    };
    if constraints.allows(&lock.version) {
        return None;
    }
    let (now, version) = (constraints.to_string(), &lock.version);
    Some(match now == lock.constraints.to_string() {
        false => format!(
            "provider {provider}: locked version selection {version} doesn't match the updated version constraints {now:?}"
        ),
        true => format!(
            "provider {provider}: version constraints {now:?} don't match the locked version selection {version}"
        ),
    })
}
