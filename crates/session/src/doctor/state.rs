//! The state of the selected workspace: its file, its lock, and what interrupted runs left behind.

use std::sync::Arc;
use std::time::Duration;

use yuba_backend::{Alive, BackendConfiguration, ERRORED_STATE, LocalBackend, Storage};

use super::{FileFacts, Findings, diagnostics};
use crate::project::Project;
use crate::workspaces::is_valid_name;

/// The state of the selected workspace.
#[derive(Clone, Debug, Default)]
pub struct StateFacts {
    /// Its file, if the state is a file of this machine.
    pub file: Option<FileFacts>,
    /// The holder of its lock, if the state is a file of this machine and is locked or was left locked.
    pub lock: Option<LockFacts>,
    /// A run has left a journal, or is writing one.
    pub has_journal: bool,
    /// `errored.tfstate` is in the working directory.
    pub has_errored_state: bool,
}

/// The holder of a lock.
#[derive(Clone, Debug)]
pub struct LockFacts {
    /// Its ID.
    pub id: String,
    /// The operation.
    pub operation: String,
    /// The process.
    pub pid: Option<u32>,
    /// Age of the lock.
    pub age: Option<Duration>,
    /// Whether the process runs.
    pub alive: Alive,
    /// Whether the file is locked at this moment.
    pub is_held: bool,
}

impl LockFacts {
    /// Whether the process of the holder runs, if this machine can determine that.
    pub fn is_running(&self) -> Option<bool> {
        match self.alive {
            Alive::Yes => Some(true),
            Alive::No => Some(false),
            Alive::Unknown => None,
        }
    }
}

/// Examines the state in a backend. Contacts no server.
pub(super) fn examine(project: &Project, used: Option<&BackendConfiguration>, found: &mut Findings) -> StateFacts {
    let workspace = project.workspace();
    if !is_valid_name(workspace) {
        found.own(diagnostics::workspace_name_invalid());
    }
    let has_errored_state = project.path(ERRORED_STATE).exists();
    if has_errored_state {
        found.own(diagnostics::errored_state());
    }
    let mut facts = StateFacts { has_errored_state, ..StateFacts::default() };
    let used = used.filter(|used| used.is_file()).map(|used| project.backends().open(used));
    if let Some(Ok(Storage::Files(settings))) = used {
        let backend = LocalBackend::new(Arc::clone(project.state_files()), settings);
        let path = backend.paths(workspace).write;
        let file = FileFacts::of(&project.path(&path), &path.to_string_lossy());
        if file.exists && !file.is_writable {
            found.own(diagnostics::not_writable(&file.shown));
        }
        facts.file = Some(file);
        facts.has_journal = backend.has_journal(workspace);
        let record = backend.lock_record(workspace);
        facts.lock = match record.holder {
            Some(holder) => Some(LockFacts {
                id: holder.id.clone(),
                operation: holder.operation.clone(),
                pid: holder.pid(),
                age: holder.age(),
                alive: holder.alive(),
                is_held: record.is_locked,
            }),
            None if record.is_locked => Some(LockFacts {
                id: String::new(),
                operation: String::new(),
                pid: None,
                age: None,
                alive: Alive::Unknown,
                is_held: true,
            }),
            None => None,
        };
    } else {
        facts.has_journal = project.backends().has_journal(workspace);
    }
    match &facts.lock {
        Some(lock) if !lock.is_held => found.own(diagnostics::lock_left_behind(lock.pid)),
        _ => {}
    }
    // A journal of a run in progress is as it should be.
    if facts.has_journal && !facts.lock.as_ref().is_some_and(|lock| lock.is_held) {
        found.own(diagnostics::journal_left_behind());
    }
    facts
}
