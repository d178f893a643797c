//! A large state file, read and decoded on a thread of its own while the configuration is loaded.
//!
//! Invariant: a state that was read ahead is used only if the file has the same content when it is read under the lock.

use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use foldhash::quality::RandomState;
use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::files::{Open, StateFiles};

/// Size from which a file is read ahead. Below, a thread costs more than it saves.
const WORTHWHILE: u64 = 4 << 20;

/// Room for recursion over nested attributes. Address space only.
const STACK_BYTES: usize = 64 << 20;

/// A state file that is being read. Clones share it.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    path: PathBuf,
    hasher: RandomState,
    reading: Arc<Mutex<Option<JoinHandle<Option<Decoded>>>>>,
}

/// The content of a file.
struct Decoded {
    hash: u64,
    length: usize,
    state: State,
    warnings: Diagnostics,
}

impl ReadAhead {
    /// Begins to read a file, if it is large.
    pub fn start(files: Arc<dyn StateFiles>, path: PathBuf) -> Option<ReadAhead> {
        let mut file = files.open(&path, Open::Existing).ok()?;
        if !matches!(file.read_at(WORTHWHILE, &mut [0]), Ok(1)) {
            return None;
        }
        drop(file);
        let hasher = RandomState::default();
        let work = {
            let (path, hasher) = (path.clone(), hasher.clone());
            move || {
                let content = files.read(&path).ok()?;
                let (state, warnings) = yuba_state::read(&content).ok()?;
                Some(Decoded { hash: hash(&hasher, &content), length: content.len(), state, warnings })
            }
        };
        let thread = std::thread::Builder::new().name("state".to_owned()).stack_size(STACK_BYTES);
        let reading = Arc::new(Mutex::new(Some(thread.spawn(work).ok()?)));
        Some(ReadAhead { path, hasher, reading })
    }

    /// Whether this file is read.
    pub(crate) fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    /// The state of a content, if that is what was read. A second request finds nothing.
    pub(super) fn take(&self, content: &[u8]) -> Option<(State, Diagnostics)> {
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        // A failure is found again, and reported, when the content is parsed.
        let decoded = reading.join().ok()??;
        let is_same = decoded.length == content.len() && decoded.hash == hash(&self.hasher, content);
        is_same.then_some((decoded.state, decoded.warnings))
    }
}

fn hash(hasher: &RandomState, content: &[u8]) -> u64 {
    let mut hash = hasher.build_hasher();
    hash.write(content);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Disk;

    fn state_of(size: usize) -> String {
        let filler = "x".repeat(size);
        format!(
            r#"{{"version":4,"terraform_version":"1.12.0","serial":7,"lineage":"l","outputs":{{"o":{{"value":"{filler}","type":"string"}}}},"resources":[]}}"#
        )
    }

    #[test]
    fn a_state_that_was_read_ahead_is_used_once_and_only_for_the_same_content() {
        let sandbox = yuba_testkit::Sandbox::new("", "");
        let path = sandbox.dir().join("terraform.tfstate");
        let large = state_of(WORTHWHILE as usize);
        let start = || ReadAhead::start(Arc::new(Disk), path.clone());
        std::fs::write(&path, &large).expect("it is written");
        let ahead = start().expect("the file is large");
        let (state, _) = ahead.take(large.as_bytes()).expect("the content is the same");
        assert_eq!(state.serial, 7);
        assert!(ahead.take(large.as_bytes()).is_none(), "it is given away once");
        let other = large.replace("\"serial\":7", "\"serial\":8");
        assert!(
            start().expect("the file is large").take(other.as_bytes()).is_none(),
            "another run has saved its state"
        );
        std::fs::write(&path, state_of(9)).expect("it is written");
        assert!(start().is_none(), "the file is small");
        std::fs::write(&path, large.replace("\"version\":4", "\"version\":9")).expect("it is written");
        assert!(start().expect("the file is large").take(large.as_bytes()).is_none(), "it cannot be read");
    }
}
