//! The cache of unpacked packages. An archive that is unpacked for one working directory is not downloaded and unpacked
//! again for another one.
//!
//! A cached package shares its files with the directories that it is installed in, so it takes no space as long as one
//! of them exists. Unused packages are removed after a while.
//!
//! Invariant: a package from here has the requested hash, computed from its present files. The content of an archive is
//! known only as long as neither the archive nor the cached package were changed, moved or copied: a directory filled
//! by another process proves nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ecow::EcoString;
use yuba_net::Environment;

use super::authentication::ArchiveFacts;
use super::records::{self, State};
use super::staging::Staging;
use super::verified::Verified;
use super::{hash, package};

/// Lifetime of unused packages.
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Maximum total size of unused packages in bytes.
const MOST_UNUSED: u64 = 4 << 30;

/// About how many archives are known at most. When there are more, the cache is emptied.
const MAX_ARCHIVES: usize = 4096;

/// The cached packages of a user.
#[derive(Clone, Debug, Default)]
pub struct UnpackedPackages {
    dir: Option<PathBuf>,
}

impl UnpackedPackages {
    /// In a directory, which need not exist yet; without one, caching is off.
    pub fn new(dir: Option<PathBuf>) -> UnpackedPackages {
        UnpackedPackages { dir }
    }

    /// In the user's directory for caches, unless the user does not want that.
    pub fn of_user(environment: &Environment) -> UnpackedPackages {
        let is_wanted = !environment.is_off("YUBA_KEEP_PACKAGES");
        UnpackedPackages::new(is_wanted.then(|| environment.cache("kept")).flatten())
    }

    /// The hash of the files in an archive on this machine.
    pub(crate) fn of_file(&self, archive: &State) -> Option<EcoString> {
        self.recall(&archive.name, &archive.marks()).map(|(_, h1)| h1)
    }

    /// Facts about an archive with a hash `zh:`, or about one whose files have a hash `h1:`.
    pub(crate) fn of_hash(&self, hash: &str) -> Option<ArchiveFacts> {
        if hash.starts_with("h1:") {
            let is_there = self.package_dir(hash)?.is_dir();
            return is_there.then(|| ArchiveFacts { sum: None, size: 0, h1: Some(hash.into()) });
        }
        let sum = hash::parse_sum(hash.strip_prefix("zh:")?)?;
        let (size, h1) = self.recall(&hash::hex(&sum), NO_FILE)?;
        Some(ArchiveFacts { sum: Some(sum), size, h1: Some(h1) })
    }

    /// Links the files with a hash into a new directory. Creates no directory if the files no longer exist.
    pub(crate) fn take(&self, h1: &str, verified: &Verified, into: &Path) -> bool {
        let Some(package_dir) = self.package_dir(h1) else { return false };
        let is_taken = take(&package_dir, h1, verified, into).unwrap_or_default();
        if !is_taken {
            let _ = fs::remove_dir_all(into);
        }
        is_taken
    }

    /// Caches an unpacked package, where that takes no space. `archive` is its source, and `file` the archive on this
    /// machine, if it stays there.
    pub(crate) fn keep(&self, package: &Path, archive: &ArchiveFacts, file: Option<&State>) {
        // Next time it is unpacked again.
        let _ = self.try_to_keep(package, archive, file);
    }

    fn try_to_keep(&self, package: &Path, archive: &ArchiveFacts, file: Option<&State>) -> io::Result<()> {
        let Some(h1) = &archive.h1 else { return Ok(()) };
        let (Some(dir), Some(package_dir)) = (&self.dir, self.package_dir(h1)) else { return Ok(()) };
        if !package_dir.is_dir() {
            let staging = Staging::new(dir)?;
            let new = staging.join("new");
            package::transfer(package, &new, &hash::files(package)?, |from, to| fs::hard_link(from, to))?;
            fs::create_dir_all(dir.join(PACKAGES))?;
            // Another process may have been faster.
            let _ = fs::rename(new, &package_dir);
            self.clean(now(), MOST_UNUSED)?;
        }
        let kept = State::of(&package_dir)?;
        let write = |name: &str, marks: &str| {
            let text = format!("{marks}|{} {}|{}|{h1}\n", kept.name, kept.marks(), archive.size);
            records::write(&dir.join(ARCHIVES), name, &text)
        };
        if let Some(file) = file {
            write(&file.name, &file.marks())?;
        }
        archive.sum.map_or(Ok(()), |sum| write(&hash::hex(&sum), NO_FILE))
    }

    /// The size of an archive and the hash of its files.
    fn recall(&self, name: &str, marks: &str) -> Option<(u64, EcoString)> {
        let text = fs::read_to_string(self.dir.as_ref()?.join(ARCHIVES).join(name)).ok()?;
        let mut parts = text.trim_end().split('|');
        let (archive, kept, size, h1) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let state = State::of(&self.package_dir(h1)?).ok()?;
        let is_valid = archive == marks && kept == format!("{} {}", state.name, state.marks());
        is_valid.then(|| Some((size.parse().ok()?, h1.into())))?
    }

    fn package_dir(&self, h1: &str) -> Option<PathBuf> {
        let sum = STANDARD.decode(h1.strip_prefix("h1:")?).ok().filter(|sum| sum.len() == 32)?;
        Some(self.dir.as_ref()?.join(PACKAGES).join(hash::hex(&sum)))
    }

    /// Removes unused packages: those that were unused for long, and as many as necessary so that the rest takes at
    /// most `most` bytes.
    fn clean(&self, now: Duration, most: u64) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let mut unused = Vec::new();
        for entry in fs::read_dir(dir.join(PACKAGES))?.flatten() {
            if let Ok(Some((since, bytes))) = unused_since(&entry.path()) {
                unused.push((since, bytes, entry.path()));
            }
        }
        unused.sort();
        let (oldest, mut bytes) = (now.saturating_sub(PATIENCE), unused.iter().map(|(_, bytes, _)| bytes).sum::<u64>());
        for (since, its_bytes, path) in unused {
            if since < oldest || bytes > most {
                fs::remove_dir_all(path)?;
                bytes = bytes.saturating_sub(its_bytes);
            }
        }
        if fs::read_dir(dir.join(ARCHIVES)).is_ok_and(|records| records.count() > MAX_ARCHIVES) {
            fs::remove_dir_all(dir.join(ARCHIVES))?;
        }
        Ok(())
    }
}

/// Directory of the packages, below the cache directory.
const PACKAGES: &str = "packages";
/// Directory of the records about archives.
const ARCHIVES: &str = "archives";
/// Stands for the properties of the archive's file where it is not on this machine.
const NO_FILE: &str = "-";

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn take(package_dir: &Path, h1: &str, verified: &Verified, into: &Path) -> io::Result<bool> {
    let contents = verified.look(package_dir)?;
    if contents.hash != h1 {
        // Another process has changed it.
        fs::remove_dir_all(package_dir)?;
        return Ok(false);
    }
    package::transfer(package_dir, into, contents.names(), |from, to| {
        fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
    })?;
    let mut are_same = true;
    for file in &contents.files {
        let now = State::of(&into.join(&file.name))?;
        match file.state.is_same_file(&now) {
            true => verified.remember(&now, &file.sum),
            false => are_same = false,
        }
    }
    Ok(are_same || verified.look(into)?.hash == h1)
}

/// Since when the files of a package are unused (as time since 1970), and their size in bytes.
fn unused_since(package_dir: &Path) -> io::Result<Option<(Duration, u64)>> {
    let (mut since, mut bytes) = (Duration::ZERO, 0);
    for name in hash::files(package_dir)? {
        let state = State::of(&package_dir.join(name))?;
        if state.links > 1 {
            return Ok(None);
        }
        let (seconds, _) = state.changed;
        since = since.max(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
        bytes += state.length;
    }
    Ok(Some((since, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_packages_are_removed_after_a_while() {
        let sandbox = yuba_testkit::Sandbox::new("", "//- a/x\n12345678\n//- b/x\n123\n//- c/x\n1\n");
        let kept = UnpackedPackages::new(Some(sandbox.dir().join("kept")));
        for name in ["a", "b", "c"] {
            let package = sandbox.dir().join(name);
            let h1 = Some(hash::of_dir(&package).expect("it can be read"));
            kept.try_to_keep(&package, &ArchiveFacts { sum: None, size: 0, h1 }, None).expect("it can be cached");
        }
        let count = || fs::read_dir(sandbox.dir().join("kept/packages")).expect("it exists").count();
        let later = now() + PATIENCE * 2;
        // All are installed somewhere.
        kept.clean(later, 0).expect("it can be cleaned");
        assert_eq!(count(), 3);
        fs::remove_dir_all(sandbox.dir().join("a")).expect("it exists");
        fs::remove_dir_all(sandbox.dir().join("b")).expect("it exists");
        kept.clean(now(), 100).expect("it can be cleaned");
        assert_eq!(count(), 3);
        // There is room for one of them.
        kept.clean(now(), 10).expect("it can be cleaned");
        assert_eq!(count(), 2);
        kept.clean(later, 100).expect("it can be cleaned");
        assert_eq!(count(), 1);
    }
}
