//! Installs a package: verified, whole or not at all, and hashed once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ecow::EcoString;
use yuba_addrs::{ProviderSource, ProviderVersion};
use yuba_net::environment::absolute;
use yuba_net::http::{DownloadProgress, HttpClient};

use super::authentication::{self, ArchiveFacts, PackageAuthentication, PackageCheck};
use super::hash;
use super::package;
use super::records::State;
use super::selected::PackageDir;
use super::source::{Offer, PackageContent};
use super::staging::Staging;
use super::unpacked::UnpackedPackages;
use super::verified::Verified;
use crate::archive::{self, Limits};

/// Directory of a package before it moves to its final directory.
const NEW: &str = "new";

/// A package that has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// The signer; none for a package from a directory.
    pub(crate) verdict: Option<PackageAuthentication>,
    /// The hash of its files.
    pub(crate) hash: EcoString,
}

/// A package and its destination.
pub(crate) struct Delivery<'a> {
    /// The provider.
    pub(crate) provider: &'a ProviderSource,
    /// Its version.
    pub(crate) version: &'a ProviderVersion,
    /// The directory in which relative paths of other packages start.
    pub(crate) directory: &'a Path,
    /// The directory of packages.
    pub(crate) base: &'a PackageDir,
    /// The directory of the package below it.
    pub(crate) target: &'a Path,
    /// Hashes of which the package must have one, if there are any.
    pub(crate) allowed: &'a [EcoString],
    /// Caches of packages.
    pub(crate) verified: &'a Verified,
    /// Packages that were unpacked before.
    pub(crate) kept: &'a UnpackedPackages,
    /// For packages from elsewhere.
    pub(crate) client: &'a HttpClient,
}

impl Delivery<'_> {
    /// Installs the package; fails with a reason that is part of a sentence.
    pub(crate) fn bring(&self, offer: &Offer, progress: DownloadProgress<'_>) -> Result<Arrival, String> {
        match &offer.at {
            PackageContent::Dir(dir) => self.link(dir),
            PackageContent::Archive(path) => self.local(path, &offer.checks),
            PackageContent::Remote(request) => self.remote(&offer.checks, |file| {
                let response = self.client.download(request, file, progress).map_err(|error| error.to_string())?;
                if !response.is_success() {
                    return Err(response.failed_download(&request.url));
                }
                Ok(())
            }),
            PackageContent::Blob(repository, layer) => {
                self.remote(&offer.checks, |file| repository.blob(layer, file, progress))
            }
        }
    }

    /// From an archive on this machine.
    fn local(&self, path: &Path, checks: &[PackageCheck]) -> Result<Arrival, String> {
        let state = State::of(path).map_err(|error| unreadable(path, &error))?;
        let facts = self.facts(path, checks, |path| self.verified.sum(path))?;
        let staging = self.staging()?;
        if let Some(h1) = self.kept.of_file(&state)
            && self.kept.take(&h1, self.verified, &staging.join(NEW))
        {
            return self.settle(&staging, &ArchiveFacts { h1: Some(h1), ..facts }, checks, None);
        }
        self.unpack(&staging, path, facts, checks, state.settle().then_some(&state))
    }

    /// From an archive elsewhere, unless what it is said to be was unpacked before.
    fn remote(
        &self,
        checks: &[PackageCheck],
        bring: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<Arrival, String> {
        let staging = self.staging()?;
        // The lock file may have other hashes that match the archive all the same.
        let known = authentication::announced(checks).iter().find_map(|hash| self.kept.of_hash(hash));
        if let Some(facts @ ArchiveFacts { h1: Some(h1), .. }) = &known
            && self.is_allowed(facts)
            && self.kept.take(h1, self.verified, &staging.join(NEW))
        {
            return self.settle(&staging, facts, checks, None);
        }
        let file = staging.join("package.zip");
        bring(&file)?;
        let facts = self.facts(&file, checks, hash::sum)?;
        self.unpack(&staging, &file, facts, checks, None)
    }

    /// Facts about an archive that do not require unpacking.
    fn facts(
        &self,
        path: &Path,
        checks: &[PackageCheck],
        sum: impl Fn(&Path) -> io::Result<[u8; 32]>,
    ) -> Result<ArchiveFacts, String> {
        // Where the sum of the archive is not needed, the hash of its files is enough.
        let is_asked = !checks.is_empty() || self.allowed.iter().any(|allowed| allowed.starts_with("zh:"));
        let facts = || -> io::Result<ArchiveFacts> {
            let sum = is_asked.then(|| sum(path)).transpose()?;
            Ok(ArchiveFacts { sum, size: fs::metadata(path)?.len(), h1: None })
        };
        facts().map_err(|error| unreadable(path, &error))
    }

    /// Whether an archive is one that was locked, as far as is known.
    fn is_allowed(&self, archive: &ArchiveFacts) -> bool {
        let is_allowed = |hash: &EcoString| self.allowed.contains(hash);
        self.allowed.is_empty()
            || archive.sum.is_some_and(|sum| is_allowed(&hash::of_archive_sum(&sum)))
            || archive.h1.as_ref().is_some_and(is_allowed)
    }

    fn staging(&self) -> Result<Staging, String> {
        Staging::new(&self.base.path)
            .map_err(|error| format!("nothing can be written to {}: {error}", self.base.shown.display()))
    }

    /// The words for a package that is not the one that was locked.
    fn not_locked(&self, which: &str) -> String {
        let (provider, version) = (self.provider, self.version);
        format!(
            "the {which} package for {provider} {version} doesn't match any of the checksums previously recorded in the \
             dependency lock file. If the lock file was made on another platform, run \"yuba providers lock\" with \
             -platform for each platform that you use; if not, the package has been changed"
        )
    }

    /// A link to a directory, or a copy where links are not possible.
    pub(crate) fn link(&self, dir: &Path) -> Result<Arrival, String> {
        let unusable = |error: io::Error| format!("the package in {} cannot be used: {error}", dir.display());
        if fs::symlink_metadata(self.target).is_ok_and(|found| found.is_dir())
            && fs::canonicalize(self.target).ok() == fs::canonicalize(dir).ok()
        {
            return Err(format!("{} cannot be installed from itself", dir.display()));
        }
        let contents = self.verified.look(dir).map_err(unusable)?;
        // The archive is not available, so its hash cannot be checked.
        let mut checkable = self.allowed.iter().filter(|hash| !hash.starts_with("zh:")).peekable();
        if checkable.peek().is_some() && !checkable.any(|allowed| *allowed == contents.hash) {
            return Err(self.not_locked("local"));
        }
        contents.executable(dir, self.provider).map_err(|error| no_program(&error))?;
        self.publish_link(dir).map_err(|error| format!("{} cannot be written: {error}", self.target.display()))?;
        Ok(Arrival { verdict: None, hash: contents.hash })
    }

    fn publish_link(&self, dir: &Path) -> io::Result<()> {
        // People should see the path that they have configured.
        let shown = absolute(self.directory, dir);
        if let Some(parent) = self.target.parent() {
            fs::create_dir_all(parent)?;
        }
        // Where the directory does not exist, a link is created in one step.
        if symlink(&shown, self.target).is_ok() {
            return Ok(());
        }
        let staging = Staging::new(&self.base.path)?;
        let new = staging.join(NEW);
        if symlink(&shown, &new).is_err() {
            package::transfer(&shown, &new, hash::files(&shown)?, |from, to| fs::copy(from, to).map(drop))?;
        }
        staging.publish(NEW, self.target)
    }

    /// Unpacks an archive after all checks that do not need its files. One that stays where it is was in this state when the
    /// facts about it were found.
    fn unpack(
        &self,
        staging: &Staging,
        path: &Path,
        mut facts: ArchiveFacts,
        checks: &[PackageCheck],
        state: Option<&State>,
    ) -> Result<Arrival, String> {
        let verdict = match authentication::needs_h1(checks) {
            true => None,
            false => Some(authentication::check(checks, &facts)?),
        };
        if !self.is_allowed(&facts) && !self.allowed.iter().any(|allowed| allowed.starts_with("h1:")) {
            return Err(self.not_locked("current"));
        }
        let new = staging.join(NEW);
        let sums = archive::unpack_summed(path, &new, Limits::default());
        let sums = sums.map_err(|error| error.to_string())?;
        let sums = named(&new, sums).map_err(|error| format!("the unpacked files cannot be read: {error}"))?;
        facts.h1 = Some(hash::of_sums(sums.iter().map(|(name, sum)| (name, *sum))));
        let arrival = self.settle(staging, &facts, checks, verdict)?;
        // A changed file may be another archive now.
        if state.is_none_or(|before| State::of(path).is_ok_and(|now| now == *before)) {
            self.kept.keep(self.target, &facts, state);
        }
        for (name, sum) in &sums {
            if let Ok(state) = State::of(&self.target.join(name)) {
                self.verified.remember(&state, sum);
            }
        }
        Ok(arrival)
    }

    /// Moves unpacked files to their directory, after all checks that were not made before.
    fn settle(
        &self,
        staging: &Staging,
        facts: &ArchiveFacts,
        checks: &[PackageCheck],
        verdict: Option<PackageAuthentication>,
    ) -> Result<Arrival, String> {
        if !self.is_allowed(facts) {
            return Err(self.not_locked("current"));
        }
        let verdict = verdict.map_or_else(|| authentication::check(checks, facts), Ok)?;
        package::executable(&staging.join(NEW), self.provider).map_err(|error| no_program(&error))?;
        let hash = facts.h1.clone().unwrap_or_default();
        if let Ok(existing) = fs::symlink_metadata(self.target)
            && existing.is_dir()
        {
            return match self.verified.look(self.target) {
                Ok(existing) if existing.hash == hash => Ok(self.arrival(verdict, checks, hash)),
                Ok(_) => Err(format!(
                    "the content of {} differs from the package and may contain local modifications. \
                     Remove the directory to install the package again",
                    self.target.display()
                )),
                Err(error) => Err(format!("{} cannot be read: {error}", self.target.display())),
            };
        }
        let unwritable = |error: io::Error| format!("{} cannot be written: {error}", self.target.display());
        staging.publish(NEW, self.target).map_err(unwritable)?;
        Ok(self.arrival(verdict, checks, hash))
    }

    fn arrival(&self, verdict: PackageAuthentication, checks: &[PackageCheck], hash: EcoString) -> Arrival {
        Arrival { verdict: (!checks.is_empty()).then_some(verdict), hash }
    }
}

fn unreadable(archive: &Path, error: &io::Error) -> String {
    format!("the archive {} cannot be read: {error}", archive.display())
}

fn no_program(error: &io::Error) -> String {
    format!("provider binary not found: {error}")
}

#[cfg(unix)]
fn symlink(source: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(source, target)
}

#[cfg(not(unix))]
fn symlink(source: &Path, target: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_dir(source, target)
}

/// The sums of the files of a package that was just unpacked, with what they were summed up to on the way. They are read again
/// only where the file system has other names for them.
pub(super) fn named(new: &Path, sums: archive::Sums) -> io::Result<Vec<(String, [u8; 32])>> {
    let named = |(path, sum): (PathBuf, [u8; 32])| path.into_os_string().into_string().ok().map(|name| (name, sum));
    match sums.into_iter().map(named).collect::<Option<Vec<_>>>() {
        Some(mut sums) if std::path::MAIN_SEPARATOR == '/' => {
            sums.sort();
            match hash::files(new)?.iter().eq(sums.iter().map(|(name, _)| name)) {
                true => Ok(sums),
                false => hash::sums(new),
            }
        }
        _ => hash::sums(new),
    }
}
