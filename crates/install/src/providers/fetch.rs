//! Brings a package to its place: verified, whole or not at all, and hashed once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ecow::EcoString;
use yuba_addrs::{ProviderSource, ProviderVersion};

use super::authentication::{self, ArchiveFacts, Check, Verdict};
use super::hash;
use super::package;
use super::source::{Content, Offer};
use super::staging::Staging;
use super::verified::Verified;
use crate::archive::{self, Format, Limits};
use crate::http::{Client, Progress};

/// A package that has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    /// Who stands for it; nobody for one from a directory.
    pub(crate) verdict: Option<Verdict>,
    /// The hash of its files.
    pub(crate) hash: EcoString,
}

/// What a package is, and where it goes.
pub(crate) struct Delivery<'a> {
    /// The provider.
    pub(crate) provider: &'a ProviderSource,
    /// Its version.
    pub(crate) version: &'a ProviderVersion,
    /// The directory of packages.
    pub(crate) base: &'a Path,
    /// The place of the package below it.
    pub(crate) target: &'a Path,
    /// Hashes of which the package must have one, if there are any.
    pub(crate) allowed: &'a [EcoString],
    /// What is known of packages.
    pub(crate) verified: &'a Verified,
    /// For packages from elsewhere.
    pub(crate) client: &'a Client,
}

impl Delivery<'_> {
    /// Brings the package; the reason why it fails is in words that end no sentence.
    pub(crate) fn bring(&self, offer: &Offer, progress: Progress<'_>) -> Result<Arrival, String> {
        match &offer.at {
            Content::Dir(dir) => self.link(dir),
            Content::Archive(path) => self.unpack(path, &offer.checks),
            Content::Remote(request) => {
                let staging = self.staging()?;
                let file = staging.join("package.zip");
                let response = self.client.download(request, &file, progress).map_err(|error| error.to_string())?;
                if !response.is_success() {
                    let shown = crate::http::shown(&request.url);
                    return Err(format!("{shown} answered \"{}\"", response.status_text()));
                }
                self.unpack(&file, &offer.checks)
            }
            Content::Blob(repository, layer) => {
                let staging = self.staging()?;
                let file = staging.join("package.zip");
                repository.blob(layer, &file, progress)?;
                self.unpack(&file, &offer.checks)
            }
        }
    }

    fn staging(&self) -> Result<Staging, String> {
        Staging::new(self.base).map_err(|error| format!("nothing can be written to {}: {error}", self.base.display()))
    }

    /// The words for a package that is not the one that was locked.
    fn not_locked(&self, which: &str) -> String {
        let (provider, version) = (self.provider, self.version);
        format!(
            "the {which} package for {provider} {version} doesn't match any of the checksums previously recorded in the \
             dependency lock file. If the lock file was made on another platform, run \"yuba providers lock\" with \
             -platform for each platform that you use; if not, somebody has changed the package"
        )
    }

    /// A link to a directory, or a copy where links are not possible.
    pub(crate) fn link(&self, dir: &Path) -> Result<Arrival, String> {
        let unusable = |error: io::Error| format!("the package in {} cannot be used: {error}", dir.display());
        if fs::symlink_metadata(self.target).is_ok_and(|found| found.is_dir())
            && fs::canonicalize(self.target).ok() == fs::canonicalize(dir).ok()
        {
            return Err(format!("{} would have to be installed from itself", dir.display()));
        }
        let contents = self.verified.look(dir).map_err(unusable)?;
        // The archive is not there, so its hash cannot be checked.
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
        let shown = std::path::absolute(dir)?;
        if let Some(parent) = self.target.parent() {
            fs::create_dir_all(parent)?;
        }
        // Where there is nothing yet, a link is there in one step.
        if symlink(&shown, self.target).is_ok() {
            return Ok(());
        }
        let staging = Staging::new(self.base)?;
        if symlink(&shown, &staging.join("new")).is_err() {
            copy(&shown, &staging.join("new"))?;
        }
        staging.publish("new", self.target)
    }

    /// Unpacks an archive after all checks.
    fn unpack(&self, path: &Path, checks: &[Check]) -> Result<Arrival, String> {
        let unreadable = |error: io::Error| format!("the archive {} cannot be read: {error}", path.display());
        let size = fs::metadata(path).map_err(unreadable)?.len();
        // Where nobody asks for the sum of the archive, the hash of its files is enough.
        let is_asked = !checks.is_empty() || self.allowed.iter().any(|allowed| allowed.starts_with("zh:"));
        let sum = match is_asked {
            true => hash::sum(path).map_err(unreadable)?,
            false => [0; 32],
        };
        let mut facts = ArchiveFacts { sum, size, h1: None };
        // What can be checked without unpacking is checked before.
        let early = !authentication::needs_h1(checks);
        let mut verdict = match early {
            true => authentication::check(checks, &facts)?,
            false => Verdict::default(),
        };
        let is_known = self.allowed.is_empty() || is_asked && self.allowed.contains(&hash::of_archive_sum(&sum));
        if !is_known && !self.allowed.iter().any(|allowed| allowed.starts_with("h1:")) {
            return Err(self.not_locked("current"));
        }
        let staging = self.staging()?;
        let new = staging.join("new");
        let sums = archive::unpack_summed(path, Format::Zip, &new, Limits::default());
        let sums = sums.map_err(|error| error.to_string())?;
        let hash = hash_of(&new, sums).map_err(|error| format!("the unpacked files cannot be read: {error}"))?;
        if !is_known && !self.allowed.contains(&hash) {
            return Err(self.not_locked("current"));
        }
        facts.h1 = Some(hash.clone());
        if !early {
            verdict = authentication::check(checks, &facts)?;
        }
        package::executable(&new, self.provider).map_err(|error| no_program(&error))?;
        if let Ok(existing) = fs::symlink_metadata(self.target)
            && existing.is_dir()
        {
            return match self.verified.look(self.target) {
                Ok(existing) if existing.hash == hash => Ok(self.arrival(verdict, checks, hash)),
                Ok(_) => Err(format!(
                    "what is in {} already is not what the package has in it; does it contain local modifications? \
                     Remove the directory to install the package again",
                    self.target.display()
                )),
                Err(error) => Err(format!("{} cannot be read: {error}", self.target.display())),
            };
        }
        let unwritable = |error: io::Error| format!("{} cannot be written: {error}", self.target.display());
        staging.publish("new", self.target).map_err(unwritable)?;
        self.verified.remember(self.target, &hash);
        Ok(self.arrival(verdict, checks, hash))
    }

    fn arrival(&self, verdict: Verdict, checks: &[Check], hash: EcoString) -> Arrival {
        Arrival { verdict: (!checks.is_empty()).then_some(verdict), hash }
    }
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

/// The hash of a package that was just unpacked, with what its files were summed up to on the way. They are read again only
/// where the file system has other names for them.
fn hash_of(new: &Path, sums: Option<archive::Sums>) -> io::Result<EcoString> {
    let named = |(path, sum): (PathBuf, [u8; 32])| path.into_os_string().into_string().ok().map(|name| (name, sum));
    let sums = sums.and_then(|sums| sums.into_iter().map(named).collect::<Option<Vec<_>>>());
    match sums {
        Some(mut sums) if std::path::MAIN_SEPARATOR == '/' => {
            sums.sort();
            match hash::files(new)?.iter().eq(sums.iter().map(|(name, _)| name)) {
                true => Ok(hash::of_sums(sums)),
                false => hash::of_dir(new),
            }
        }
        _ => hash::of_dir(new),
    }
}

/// Copies the files of a package.
fn copy(source: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(target)?;
    for name in hash::files(source)? {
        let to = target.join(&name);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(source.join(&name), to)?;
    }
    Ok(())
}
