//! Emptying the files of states that were copied to another backend.

use std::io;

use yuba_syntax::Diagnostics;

use super::LocalBackend;
use crate::diagnostics;
use crate::files::{Access, LockAttempt, Open, replace};

impl LocalBackend {
    /// Whether the state of a workspace is the same file here and there, however the paths are spelled. Also true if that
    /// cannot be determined.
    pub fn shares_file_with(&self, other: &LocalBackend, workspace: &str) -> bool {
        let is_same = || -> io::Result<bool> {
            let here = self.files.resolve(&self.paths(workspace).write)?;
            let there = self.files.resolve(&other.paths(workspace).write)?;
            Ok(!self.files.exists(&there)? || self.files.open(&here, Open::Existing)?.is_at(&there)?)
        };
        is_same().unwrap_or(true)
    }

    /// Empties the state file of a workspace whose state was copied to another backend. The backup has the state. A file with a
    /// journal stays: the journal has operations that the copy may lack.
    pub fn erase(&self, workspace: &str) -> Result<(), Diagnostics> {
        if self.has_journal(workspace) {
            return Ok(());
        }
        let paths = self.paths(workspace);
        let erase = || -> io::Result<()> {
            let mut file = self.files.open(&self.files.resolve(&paths.write)?, Open::Existing)?;
            if let LockAttempt::Refused { .. } = file.try_lock()? {
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process has locked it"));
            }
            let content = file.read_all()?;
            if let Some(backup) = paths.backup.path().filter(|_| !content.is_empty()) {
                replace(self.files.as_ref(), backup, &content, Access::Like(file.as_ref()))?;
            }
            file.set_len(0)?;
            file.sync()
        };
        erase().map_err(|error| diagnostics::not_erased(&paths.write, &error).into())
    }
}
