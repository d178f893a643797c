//! Cached facts about files, so that no file is hashed twice.
//!
//! A record says: the file with this inode number, size and times has this sum. A change of a file changes its inode's time of
//! change, which a process cannot set; so an old record never speaks for new content. A new or a lost link to a file changes
//! that time too. Whichever paths lead to a file, there is one record of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ecow::EcoString;
use yuba_addrs::ProviderSource;
use yuba_net::Environment;

use super::records::{self, State};
use super::{hash, package};

/// Approximate maximum number of records. When there are more, the cache is emptied.
const MAX_RECORDS: usize = 16_384;

/// The records of a user.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    dir: Option<PathBuf>,
}

/// Content of an unpacked package.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Its hash `h1:`.
    pub hash: EcoString,
    /// Its files.
    pub(crate) files: Vec<Known>,
}

/// A file of an unpacked package.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Its name, with slashes.
    pub(crate) name: String,
    /// Its SHA-256 sum.
    pub(crate) sum: [u8; 32],
    /// Its properties before it was read.
    pub(crate) state: State,
}

impl Contents {
    /// The executable in it.
    pub fn executable(&self, package: &Path, provider: &ProviderSource) -> io::Result<PathBuf> {
        let at_top = self.names().filter(|name| !name.contains('/'));
        package::program(at_top, provider).map(|name| package.join(name))
    }

    /// The names of its files.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.name.as_str())
    }
}

impl Verified {
    /// Stored in a directory, which need not exist yet; without one, caching is off.
    pub fn new(dir: Option<PathBuf>) -> Verified {
        Verified { dir }
    }

    /// In the user's directory for caches.
    pub fn of_user(environment: &Environment) -> Verified {
        Verified::new(environment.cache("sums"))
    }

    /// Content of an unpacked package.
    pub fn look(&self, package: &Path) -> io::Result<Contents> {
        let known = |name: String| {
            let path = package.join(&name);
            let state = State::of(&path)?;
            Ok(Known { sum: self.sum_of(&path, &state)?, name, state })
        };
        let files = hash::files(package)?.into_iter().map(known).collect::<io::Result<Vec<_>>>()?;
        let hash = hash::of_sums(files.iter().map(|file| (&file.name, file.sum)));
        Ok(Contents { hash, files })
    }

    /// The SHA-256 sum of a file.
    pub(crate) fn sum(&self, path: &Path) -> io::Result<[u8; 32]> {
        self.sum_of(path, &State::of(path)?)
    }

    fn sum_of(&self, path: &Path, before: &State) -> io::Result<[u8; 32]> {
        let Some(dir) = &self.dir else { return hash::sum(path) };
        if let Some(sum) = recall(&dir.join(&before.name), before) {
            return Ok(sum);
        }
        let is_settled = before.settle();
        let sum = hash::sum(path)?;
        // A file that changes while it is hashed has no sum to record.
        if is_settled && State::of(path)? == *before {
            self.remember(before, &sum);
        }
        Ok(sum)
    }

    /// Remembers the sum of a file. Without that it is hashed again next time, so failures do not matter.
    pub(crate) fn remember(&self, file: &State, sum: &[u8; 32]) {
        let Some(dir) = &self.dir else { return };
        // Some of those that write count for all.
        if sum[0] == 0 && fs::read_dir(dir).is_ok_and(|records| records.count() > MAX_RECORDS) {
            let _ = fs::remove_dir_all(dir);
        }
        let _ = records::write(dir, &file.name, &format!("{} {}\n", file.marks(), hash::hex(sum)));
    }
}

fn recall(record: &Path, state: &State) -> Option<[u8; 32]> {
    let text = fs::read_to_string(record).ok()?;
    hash::parse_sum(text.trim_end().strip_prefix(&state.marks())?.strip_prefix(' ')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_hashed_again() {
        let sandbox = yuba_testkit::Sandbox::new("", "//- package/x\none\n");
        let (package, records) = (sandbox.dir().join("package"), sandbox.dir().join("records"));
        let file = package.join("x");
        let verified = Verified::new(Some(records.clone()));
        let one = verified.sum(&file).expect("it can be read");
        assert_eq!(one, hash::sum(&file).expect("it can be read"));
        // A record that lies shows that the file is not looked at.
        let record = fs::read_dir(&records).expect("it exists").next().expect("one").expect("it is readable").path();
        let text = fs::read_to_string(&record).expect("it is text");
        let lie = [1; 32];
        fs::write(&record, text.replace(&hash::hex(&one), &hash::hex(&lie))).expect("it can be written");
        assert_eq!(verified.sum(&file).expect("it can be read"), lie);
        fs::write(&file, "two\n").expect("it can be written");
        assert_ne!(verified.sum(&file).expect("it can be read"), lie);
        fs::write(&record, "garbage").expect("it can be written");
        fs::write(&file, "one\n").expect("it can be written");
        assert_eq!(verified.sum(&file).expect("it can be read"), one);
        let hash = hash::of_dir(&package).expect("it can be read");
        assert_eq!(verified.look(&package).expect("it can be read").hash, hash);
        assert!(verified.look(&sandbox.dir().join("nowhere")).is_err());
        assert_eq!(Verified::default().look(&package).expect("it can be read").hash, hash);
    }
}
