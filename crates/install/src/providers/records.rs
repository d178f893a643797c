//! Records about files and directories, and the properties that show whether a record is still valid.

use std::fs::{self, Metadata};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Everything about a file or a directory besides its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Its identity, whichever path leads to it.
    pub(crate) name: String,
    pub(crate) length: u64,
    modified: (i64, i64),
    /// Time of the last change of its content or of the links to it.
    pub(crate) changed: (i64, i64),
    /// Number of its names, if known.
    pub(crate) links: u64,
}

impl State {
    pub(crate) fn of(path: &Path) -> io::Result<State> {
        let found = fs::metadata(path)?;
        let (name, modified, changed) = (name(path, &found)?, modified(&found), changed(&found));
        Ok(State { name, length: found.len(), modified, changed, links: links(&found) })
    }

    /// Properties that differ after a change.
    pub(crate) fn marks(&self) -> String {
        let ((modified, part), (changed, other_part)) = (self.modified, self.changed);
        format!("{} {modified}.{part} {changed}.{other_part}", self.length)
    }

    /// Waits until the next change would show in the time of change. The clock that files get their times from goes in steps
    /// of some milliseconds on most systems, and what changes twice within a step has the same time twice. Gives back whether
    /// waiting helped: a time from the future is of no use.
    pub(crate) fn settle(&self) -> bool {
        let is_over = || clock_of_files().is_none_or(|now| now > self.changed);
        (0..LONGEST_STEP).any(|_| {
            is_over() || {
                std::thread::sleep(Duration::from_millis(1));
                false
            }
        })
    }

    /// Whether this is the same file with the same content, although it has another link to it now.
    pub(crate) fn is_same_file(&self, other: &State) -> bool {
        let is_same = cfg!(not(unix)) || self.name == other.name;
        is_same && self.length == other.length && self.modified == other.modified
    }
}

#[cfg(unix)]
fn name(_: &Path, found: &Metadata) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(format!("{:x}-{:x}", found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn name(path: &Path, _: &Metadata) -> io::Result<String> {
    use super::hash;
    use sha2::{Digest as _, Sha256};
    Ok(hash::hex(&Sha256::digest(fs::canonicalize(path)?.as_os_str().as_encoded_bytes())[..16]))
}

#[cfg(unix)]
fn modified(found: &Metadata) -> (i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (found.mtime(), found.mtime_nsec())
}

#[cfg(unix)]
fn changed(found: &Metadata) -> (i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (found.ctime(), found.ctime_nsec())
}

#[cfg(unix)]
fn links(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(found)
}

#[cfg(not(unix))]
fn links(_: &Metadata) -> u64 {
    1
}

#[cfg(not(unix))]
fn modified(found: &Metadata) -> (i64, i64) {
    since_epoch(found.modified())
}

#[cfg(not(unix))]
fn changed(found: &Metadata) -> (i64, i64) {
    since_epoch(found.created())
}

#[cfg(not(unix))]
fn since_epoch(time: io::Result<std::time::SystemTime>) -> (i64, i64) {
    let since = time.ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok()).unwrap_or_default();
    (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()))
}

/// Maximum step of the clock in milliseconds, with a margin.
const LONGEST_STEP: u32 = 30;

/// The time that a file would have if it changed now, where clocks go in steps.
#[cfg(target_os = "linux")]
fn clock_of_files() -> Option<(i64, i64)> {
    let now = nix::time::ClockId::CLOCK_REALTIME_COARSE.now().ok()?;
    Some((now.tv_sec(), now.tv_nsec()))
}

#[cfg(not(target_os = "linux"))]
fn clock_of_files() -> Option<(i64, i64)> {
    None
}

/// Writes a record into a directory in one step. The directory need not exist yet.
pub(crate) fn write(dir: &Path, name: &str, text: &str) -> io::Result<()> {
    let record = dir.join(name);
    let new = record.with_extension(format!("{}.new", std::process::id()));
    let write = || fs::write(&new, text).and_then(|()| fs::rename(&new, &record));
    match write() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir_all(dir).and_then(|()| write()),
        written => written,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_has_just_changed_settles_before_the_next_change() {
        let sandbox = yuba_testkit::Sandbox::new("", "");
        let path = sandbox.dir().join("x");
        for round in 0..20 {
            fs::write(&path, round.to_string()).expect("it can be written");
            let state = State::of(&path).expect("it exists");
            assert!(state.settle());
            assert!(clock_of_files().is_some_and(|now| now > state.changed));
        }
        let future = State { changed: (i64::MAX, 0), ..State::of(&path).expect("it exists") };
        assert!(!future.settle());
    }
}
