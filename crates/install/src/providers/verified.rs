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

use super::hash;

/// How many records are kept. When there are more, the memory starts anew.
const MAX_RECORDS: usize = 4096;

/// The records of a user.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    dir: Option<PathBuf>,
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

    /// The hash `h1:` of an unpacked package.
    pub fn hash(&self, package: &Path) -> io::Result<EcoString> {
        let real = fs::canonicalize(package)?;
        let before = fingerprint(&real)?;
        if let Some(known) = self.recall(&real, &before) {
            return Ok(known);
        }
        let hash = hash::of_dir(&real)?;
        // Files that change while they are hashed have no hash that could be kept.
        if fingerprint(&real)? == before {
            self.keep(&real, &before, &hash);
        }
        Ok(hash)
    }

    /// Remembers the hash of a package that has just been unpacked.
    pub fn remember(&self, package: &Path, hash: &str) {
        if let Ok(real) = fs::canonicalize(package)
            && let Ok(print) = fingerprint(&real)
        {
            self.keep(&real, &print, hash);
        }
    }

    fn record(&self, real: &Path) -> Option<PathBuf> {
        let name = hash::hex(&Sha256::digest(real.as_os_str().as_encoded_bytes())[..16]);
        self.dir.as_ref().map(|dir| dir.join(name))
    }

    fn recall(&self, real: &Path, print: &str) -> Option<EcoString> {
        let text = fs::read_to_string(self.record(real)?).ok()?;
        let (kept, hash) = text.trim_end().split_once(' ')?;
        (kept == print && hash.starts_with("h1:")).then(|| hash.into())
    }

    /// Without a record the package is hashed again next time, so failures do not matter.
    fn keep(&self, real: &Path, print: &str, hash: &str) {
        let Some(record) = self.record(real) else { return };
        let Some(dir) = record.parent() else { return };
        let write = || {
            fs::create_dir_all(dir)?;
            if fs::read_dir(dir)?.count() > MAX_RECORDS {
                fs::remove_dir_all(dir)?;
                fs::create_dir_all(dir)?;
            }
            let new = record.with_extension(format!("{}.new", std::process::id()));
            fs::write(&new, format!("{print} {hash}\n"))?;
            fs::rename(&new, &record)
        };
        let _: io::Result<()> = write();
    }
}

/// Everything about the files of a package besides their content.
fn fingerprint(dir: &Path) -> io::Result<String> {
    let mut text = String::new();
    for name in hash::files(dir)? {
        let found = fs::metadata(dir.join(&name))?;
        // Writing to a text does not fail.
        let _ = writeln!(text, "{name}\n{} {}", found.len(), marks(&found));
    }
    Ok(hash::hex(&Sha256::digest(text)))
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
        let one = verified.hash(&package).expect("it can be read");
        assert_eq!(one, hash::of_dir(&package).expect("it can be read"));
        // A record that lies shows that the files are not looked at.
        let record = fs::read_dir(&records).expect("it exists").next().expect("one").expect("it is readable").path();
        let text = fs::read_to_string(&record).expect("it is text");
        fs::write(&record, text.replace(one.as_str(), "h1:kept")).expect("it can be written");
        assert_eq!(verified.hash(&package).expect("it can be read"), "h1:kept");
        fs::write(package.join("x"), "two\n").expect("it can be written");
        assert_ne!(verified.hash(&package).expect("it can be read"), "h1:kept");
        fs::write(&record, "garbage").expect("it can be written");
        fs::write(package.join("x"), "one\n").expect("it can be written");
        assert_eq!(verified.hash(&package).expect("it can be read"), one);
        assert!(verified.hash(&sandbox.dir().join("nowhere")).is_err());
        assert_eq!(Verified::default().hash(&package).expect("it can be read"), one);
    }
}
