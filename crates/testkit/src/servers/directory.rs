//! Temporary directories of servers.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A fresh directory, removed when dropped.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
}

static COUNTER: AtomicU32 = AtomicU32::new(0);

impl Directory {
    /// Creates a directory for the server of this name.
    ///
    /// # Panics
    /// If it cannot be created.
    pub(crate) fn new(server: &str) -> Directory {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("yuba-{server}-{}-{number}", std::process::id()));
        // A directory of an earlier process with the same id: nothing of it may reach this test.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("because the directory for temporary files is writable");
        Directory { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in the directory, as an argument of a command.
    pub(crate) fn file(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// Writes a file into the directory and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path.join(name), text).expect("because the directory of the server is writable");
        self.file(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory left behind does no harm.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
