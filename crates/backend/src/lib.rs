//! State storage: backends, locks, and protection against loss.
//!
//! A [`Backend`] has workspaces, each with a [`StateStore`]: lock, read, write, unlock. Kinds of backends are rows of one table
//! ([`kit`]). [`LocalBackend`] stores states in files of a directory, with the names, contents and locks of OpenTofu, so that both
//! tools can take turns on one directory. All other backends are byte stores ([`kit::store::Store`]), around which
//! encryption, journal, serials and retries are written once. While an apply runs its results go to a [`Journal`], and the
//! next command that reads the state completes it from there. `session` calls this crate; the engine sees the journal only.
//!
//! Invariant: every file operation goes through [`files::StateFiles`]. Nothing here knows configuration or plans.
//!
//! ```
//! use std::sync::Arc;
//! use yuba_backend::{Backend, Disk, LocalBackend, LocalSettings};
//!
//! let directory = std::env::temp_dir().join("yuba-backend-example");
//! let settings = LocalSettings { path: Some(directory.join("terraform.tfstate")), ..LocalSettings::default() };
//! let backend = LocalBackend::new(Arc::new(Disk), settings);
//! let mut store = backend.open("default").expect("because the default workspace needs no directory");
//! let reading = store.read().expect("because a missing file is no state yet");
//! assert!(reading.state.is_none());
//! ```

mod aws;
mod diagnostics;
pub mod encryption;
mod errored;
pub mod fake;
pub mod files;
mod journal;
mod kinds;
pub mod kit;
mod local;
mod lock;
mod process;
mod store;
mod stored;
mod timestamp;
pub mod workspace;

#[cfg(test)]
mod tests;

pub use diagnostics::recovered as recovered_diagnostic;
pub use diagnostics::{
    BACKEND_UNSUPPORTED, DEFAULT_WORKSPACE_NOT_SUPPORTED, WORKSPACES_NOT_SUPPORTED, backend_not_available,
    lock_left_behind, lock_refused,
};
pub use errored::{ERRORED_STATE, LastResort, save_errored};
pub use files::{Disk, DiskAt, StateFiles};
pub use journal::{Journal, JournalOperation, OperationId, Recovered};
pub use kit::workspaces::{Execution, Naming, StoredVariable, ValueSyntax, VersionMismatch, WorkspaceRemoval};
pub use kit::{BackendConfiguration, BackendEnvironment, BackendKind, Backends, CLOUD, Constructor, Storage};
pub use local::state_file::StateFile;
pub use local::{
    Backup, DEFAULT_STATE, DEFAULT_WORKSPACE_DIRECTORY, LocalBackend, LocalSettings, LockRecord, Paths, ReadAhead,
};
pub use lock::{LockHolder, LockRefusal};
pub use process::{Alive, alive, new_uuid};
pub use store::{
    Backend, EstateOperation, EstateWorkspace, LockOutcome, ObjectVersion, Reading, Reservation, Saved, StateCommit,
    StatePart, StateSelector, StateStore, SuccessorCheck, WayBack, lock, lock_with,
};
pub use timestamp::UtcTime;
