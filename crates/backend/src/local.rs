//! The `local` backend: state in files of a directory, named and locked as OpenTofu does it.

mod erasing;
mod read_ahead;
mod reading;
pub(crate) mod replaced;
mod running;
pub(crate) mod snapshot;
pub(crate) mod state_file;

pub use read_ahead::ReadAhead;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yuba_syntax::Diagnostics;

use crate::diagnostics;
use crate::encryption::Sealing;
use crate::files::{Open, StateFiles};
use crate::journal::writer::journal_path;
use crate::kit::workspaces::WorkspaceRemoval;
use crate::lock::{LockHolder, read_holder};
use crate::store::{Backend, StateStore};
use crate::workspace::DEFAULT_WORKSPACE;

/// The default name of a state file.
pub const DEFAULT_STATE: &str = "terraform.tfstate";
/// The default directory of the states of workspaces.
pub const DEFAULT_WORKSPACE_DIRECTORY: &str = "terraform.tfstate.d";

/// Settings of a `backend "local"` block and the command line.
#[derive(Clone, Debug, Default)]
pub struct LocalSettings {
    /// `path`: the state file of the default workspace.
    pub path: Option<PathBuf>,
    /// `workspace_dir`: where the other workspaces are.
    pub workspace_directory: Option<PathBuf>,
    /// `-state`: read this file, in any workspace.
    pub state: Option<PathBuf>,
    /// `-state-out`: write this file, in any workspace.
    pub state_out: Option<PathBuf>,
    /// `-backup`: file for the previous content; `-` disables the backup.
    pub backup: Option<PathBuf>,
    /// Every backup is a file of its own, named by this time in seconds.
    pub backup_time: Option<u64>,
    /// A state file that is being read already.
    pub ahead: Option<ReadAhead>,
}

impl LocalSettings {
    /// Errors in the settings.
    pub fn check(&self) -> Diagnostics {
        let mut found = Diagnostics::new();
        let is_empty = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path.as_os_str().is_empty());
        if is_empty(&self.path) {
            found.push(diagnostics::empty_path());
        }
        if is_empty(&self.workspace_directory) {
            found.push(diagnostics::empty_workspace_directory());
        }
        found
    }
}

/// The files of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The state is read from here.
    pub read: PathBuf,
    /// The state is written here, and this is what is locked.
    pub write: PathBuf,
    /// File for the previous content.
    pub backup: Backup,
    /// The command line named the file: commands without these flags do not find it.
    pub by_flag: bool,
}

/// File for the previous content of a state file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backup {
    /// Nowhere.
    None,
    /// In this file, which is replaced.
    Latest(PathBuf),
    /// In a file of its own with this name and extension; a number between them makes it unique.
    Each(PathBuf, &'static str),
}

impl Backup {
    /// The file, unless another backup has that name.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Backup::None => None,
            Backup::Latest(path) | Backup::Each(path, _) => Some(path),
        }
    }
}

/// The lock of a state file, as other processes left it.
#[derive(Clone, Debug, Default)]
pub struct LockRecord {
    /// Another process holds the lock.
    pub is_locked: bool,
    /// The record beside the file. It outlives the lock of a process that was killed.
    pub holder: Option<LockHolder>,
}

/// The `local` backend.
#[derive(Clone, Debug)]
pub struct LocalBackend {
    files: Arc<dyn StateFiles>,
    settings: LocalSettings,
    sealing: Option<Sealing>,
}

impl LocalBackend {
    /// A backend over a file system. Relative paths of the settings start where those of `files` do.
    pub fn new(files: Arc<dyn StateFiles>, settings: LocalSettings) -> LocalBackend {
        LocalBackend { files, settings, sealing: None }
    }

    /// The same with states encrypted.
    #[must_use]
    pub fn encrypted(self, sealing: Option<Sealing>) -> LocalBackend {
        LocalBackend { sealing, ..self }
    }

    /// The files of a workspace.
    pub fn paths(&self, workspace: &str) -> Paths {
        let given = |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
        let settings = &self.settings;
        let is_default = workspace.is_empty() || workspace == DEFAULT_WORKSPACE;
        let read = given(&settings.state).unwrap_or_else(|| {
            if is_default {
                given(&settings.path).unwrap_or_else(|| DEFAULT_STATE.into())
            } else {
                self.workspace_directory().join(workspace).join(DEFAULT_STATE)
            }
        });
        let write = given(&settings.state_out).unwrap_or_else(|| read.clone());
        let beside = |ending: &str| {
            let mut path = write.clone().into_os_string();
            path.push(ending);
            PathBuf::from(path)
        };
        let named = given(&settings.backup);
        let backup = match (named.filter(|path| path != Path::new("-")), settings.backup_time) {
            (Some(path), _) => Backup::Latest(path),
            (None, Some(seconds)) => Backup::Each(beside(&format!(".{seconds}")), ".backup"),
            (None, None) if settings.backup.as_deref() == Some(Path::new("-")) => Backup::None,
            (None, None) => Backup::Latest(beside(".backup")),
        };
        let by_flag = given(&settings.state).or_else(|| given(&settings.state_out)).is_some();
        Paths { read, write, backup, by_flag }
    }

    /// Whether a run has left a journal beside the state of a workspace, or is writing one.
    pub fn has_journal(&self, workspace: &str) -> bool {
        let target = self.files.resolve(&self.paths(workspace).read);
        target.is_ok_and(|target| self.files.exists(&journal_path(&target)).unwrap_or(false))
    }

    /// The lock of the state of a workspace, without waiting for it and without changing it.
    pub fn lock_record(&self, workspace: &str) -> LockRecord {
        let target = self.files.resolve(&self.paths(workspace).write);
        let Ok(target) = target else { return LockRecord::default() };
        let opened = self.files.open(&target, Open::Existing);
        let is_locked = opened.and_then(|mut file| file.locked_by_other()).unwrap_or(false);
        LockRecord { is_locked, holder: read_holder(self.files.as_ref(), &target) }
    }

    /// The store of a workspace.
    pub fn store(&self, workspace: &str) -> Result<state_file::StateFile, Diagnostics> {
        if !workspace.is_empty() && workspace != DEFAULT_WORKSPACE {
            let directory = self.workspace_directory().join(workspace);
            self.files
                .create_directory(&directory)
                .map_err(|error| diagnostics::workspace_not_made(workspace, &directory, &error))?;
        }
        let paths = self.paths(workspace);
        let ahead = self.settings.ahead.clone().filter(|ahead| self.sealing.is_none() && ahead.is_of(&paths.read));
        Ok(state_file::StateFile::new(self.files.clone(), paths, self.sealing.clone()).reading(ahead))
    }

    fn workspace_directory(&self) -> PathBuf {
        let given = self.settings.workspace_directory.clone();
        given.filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| DEFAULT_WORKSPACE_DIRECTORY.into())
    }
}

impl Backend for LocalBackend {
    fn workspaces(&self) -> Result<Vec<String>, Diagnostics> {
        let directory = self.workspace_directory();
        let mut names = vec![DEFAULT_WORKSPACE.to_owned()];
        match self.files.directories(&directory) {
            Ok(found) => names.extend(found),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(diagnostics::workspaces_not_listed(&directory, &error).into()),
        }
        Ok(names)
    }

    fn open(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        Ok(Box::new(self.store(workspace)?))
    }

    fn existing(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        let (paths, sealing) = (self.paths(workspace), self.sealing.clone());
        Ok(Box::new(state_file::StateFile::new(self.files.clone(), paths, sealing)))
    }

    fn has_workspaces(&self) -> bool {
        true
    }

    fn delete_workspace(&self, workspace: &str, _: WorkspaceRemoval) -> Result<(), Diagnostics> {
        if workspace.is_empty() || workspace == DEFAULT_WORKSPACE {
            return Err(diagnostics::default_workspace_stays().into());
        }
        // A name from elsewhere must not lead out of the directory.
        if !crate::workspace::is_valid_name(workspace) {
            return Err(diagnostics::invalid_workspace_name(workspace).into());
        }
        let directory = self.workspace_directory().join(workspace);
        self.files
            .remove_directory(&directory)
            .map_err(|error| diagnostics::workspace_not_deleted(workspace, &directory, &error).into())
    }
}
