//! What is known about unpacked packages from before, so that no package is hashed twice.
//!
//! A record says: the files of this directory, with these names, sizes, times and inode numbers, have this hash. A change of
//! a file changes its inode's time of change, which a program cannot set; so an old record never speaks for new content.

use std::fmt::Write as _;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use ecow::EcoString;
use sha2::{Digest as _, Sha256};
use yuba_addrs::ProviderSource;

use super::{hash, package};

/// About how many records are kept. When there are more, the memory starts anew.
const MAX_RECORDS: usize = 4096;

/// The records of a user.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    dir: Option<PathBuf>,
}

/// What an unpacked package has in it.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Its hash `h1:`.
    pub hash: EcoString,
    /// The names of its files.
    files: Vec<String>,
}

impl Contents {
    /// The program in it.
    pub fn executable(&self, package: &Path, provider: &ProviderSource) -> io::Result<PathBuf> {
        let at_top = self.files.iter().map(String::as_str).filter(|name| !name.contains('/'));
        package::program(at_top, provider).map(|name| package.join(name))
    }
}

impl Verified {
    /// Kept in a directory, which need not exist yet; without one nothing is remembered.
    pub fn new(dir: Option<PathBuf>) -> Verified {
        Verified { dir }
    }

    /// In the user's directory for caches.
    pub fn of_user() -> Verified {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        Verified { dir: caches.map(|caches| caches.join("yuba").join("packages")) }
    }

    /// What an unpacked package has in it.
    pub fn look(&self, package: &Path) -> io::Result<Contents> {
        let record = self.record(package)?;
        let files = hash::files(package)?;
        let before = fingerprint(package, &files)?;
        if let Some(hash) = record.as_deref().and_then(|record| recall(record, &before)) {
            return Ok(Contents { hash, files });
        }
        let hash = hash::of_files(package, &files)?;
        // Files that change while they are hashed have no hash that could be kept.
        if let Some(record) = record
            && fingerprint(package, &hash::files(package)?)? == before
        {
            keep(&record, &before, &hash);
        }
        Ok(Contents { hash, files })
    }

    /// Remembers the hash of a package that has just been unpacked.
    pub fn remember(&self, package: &Path, hash: &str) {
        if let Ok(Some(record)) = self.record(package)
            && let Ok(files) = hash::files(package)
            && let Ok(print) = fingerprint(package, &files)
        {
            keep(&record, &print, hash);
        }
    }

    /// Where the record of a package is. Whichever way leads to a package, there is one record of it.
    fn record(&self, package: &Path) -> io::Result<Option<PathBuf>> {
        let Some(dir) = &self.dir else { return Ok(None) };
        Ok(Some(dir.join(identity(package)?)))
    }
}

fn recall(record: &Path, print: &str) -> Option<EcoString> {
    let text = fs::read_to_string(record).ok()?;
    let (kept, hash) = text.trim_end().split_once(' ')?;
    (kept == print && hash.starts_with("h1:")).then(|| hash.into())
}

/// Without a record the package is hashed again next time, so failures do not matter.
fn keep(record: &Path, print: &str, hash: &str) {
    let Some(dir) = record.parent() else { return };
    // Some of those that write count for all.
    if print.starts_with("00") && fs::read_dir(dir).is_ok_and(|records| records.count() > MAX_RECORDS) {
        let _ = fs::remove_dir_all(dir);
    }
    let new = record.with_extension(format!("{}.new", std::process::id()));
    let text = format!("{print} {hash}\n");
    let write = || fs::write(&new, &text).and_then(|()| fs::rename(&new, record));
    if write().is_err() && fs::create_dir_all(dir).is_ok() {
        let _ = write();
    }
}

/// Everything about the files of a package besides their content.
fn fingerprint(dir: &Path, files: &[String]) -> io::Result<String> {
    let mut text = String::new();
    for name in files {
        let found = fs::metadata(dir.join(name))?;
        // Writing to a text does not fail.
        let _ = writeln!(text, "{name}\n{} {}", found.len(), marks(&found));
    }
    Ok(hash::hex(&Sha256::digest(text)))
}

/// A name for a directory, whichever path leads to it.
#[cfg(unix)]
fn identity(dir: &Path) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(dir).map(|found| format!("{:x}-{:x}", found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(dir: &Path) -> io::Result<String> {
    Ok(hash::hex(&Sha256::digest(fs::canonicalize(dir)?.as_os_str().as_encoded_bytes())[..16]))
}

#[cfg(unix)]
fn marks(found: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let (modified, changed) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    format!("{} {} {modified:?} {changed:?}", found.dev(), found.ino())
}

#[cfg(not(unix))]
fn marks(found: &Metadata) -> String {
    format!("{:?} {:?}", found.modified().ok(), found.created().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_package_is_hashed_again() {
        let sandbox = yuba_testkit::Sandbox::new("", "//- package/x\none\n");
        let (package, records) = (sandbox.dir().join("package"), sandbox.dir().join("records"));
        let verified = Verified::new(Some(records.clone()));
        let hash = |verified: &Verified| verified.look(&package).expect("it can be read").hash;
        let one = hash(&verified);
        assert_eq!(one, hash::of_dir(&package).expect("it can be read"));
        // A record that lies shows that the files are not looked at.
        let record = fs::read_dir(&records).expect("it exists").next().expect("one").expect("it is readable").path();
        let text = fs::read_to_string(&record).expect("it is text");
        fs::write(&record, text.replace(one.as_str(), "h1:kept")).expect("it can be written");
        assert_eq!(hash(&verified), "h1:kept");
        fs::write(package.join("x"), "two\n").expect("it can be written");
        assert_ne!(hash(&verified), "h1:kept");
        fs::write(&record, "garbage").expect("it can be written");
        fs::write(package.join("x"), "one\n").expect("it can be written");
        assert_eq!(hash(&verified), one);
        assert!(verified.look(&sandbox.dir().join("nowhere")).is_err());
        assert_eq!(hash(&Verified::default()), one);
    }
}
