//! The byte store: the only interface that a backend must implement.
//!
//! A store moves bytes and takes locks. It knows nothing of states, encryption, journals or serials.
//!
//! The trait is synchronous. A run reads and saves one state at a time, and its callers are synchronous: the engine's loop
//! waits for the journal before it reports a result, and `init` copies one workspace after the other. A store over the
//! network blocks on the runtime of the HTTP client ([`yuba_net::http::HttpClient::block_on`]), which has its own threads, so a
//! store can be called from any thread. Data sources that read remote states call their store on a thread of its own.

use std::fmt;
use std::time::Duration;

use super::Retries;
use super::workspaces::{Snapshots, WorkspaceService};
use crate::journal::line::fingerprint;
use crate::lock::{LockHolder, LockRefusal};
use crate::workspace::DEFAULT_WORKSPACE;

/// A store of bytes of states, by workspace.
///
/// Failures are [`StoreError`]s: the kind decides what the caller does, the reason is for people and contains no secret.
pub trait Store: fmt::Debug + Send + Sync {
    /// Names of the workspaces with a state, in any order. [`StoreErrorKind::NoWorkspaces`] if there is only one state.
    fn workspaces(&self) -> Result<Vec<String>, StoreError>;
    /// The content of a state; none if it was never written.
    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError>;
    /// Like [`Store::read`], for a caller that holds the lock and whose interrupted run was writing a content. A store that compares contents
    /// with a record of its own completes that write: it accepts this content, and corrects the record.
    fn read_interrupted(
        &self,
        workspace: &str,
        _is_of_run: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Stored>, StoreError> {
        self.read(workspace)
    }
    /// Writes the content of a state and returns its new version. Fails with [`StoreErrorKind::Conflict`], and changes
    /// nothing, if the precondition fails.
    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError>;
    /// Removes a workspace with its state and everything else that the store has about it.
    fn delete(&self, workspace: &str) -> Result<(), StoreError>;
    /// Tries to take the lock of a state, without waiting. Returns the id that `unlock` and users need, which may be another
    /// one than the holder's; none if the store has no locks.
    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal>;
    /// Releases the lock with this id, also if another process holds it.
    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal>;
    /// Whether its arguments enable locks.
    fn has_locks(&self) -> bool {
        true
    }
    /// Releases the lock that a request without response may have taken, if it has. The lock of another process stays.
    fn abandon_lock(&self, workspace: &str, holder: &LockHolder) -> Result<(), UnlockRefusal> {
        self.unlock(workspace, &LockId(holder.id.clone()))
    }
    /// Whether the lock with this id is still held. A running apply asks from a thread of its own, at intervals. A
    /// store that must renew its lock does it here or in a thread of its own.
    fn check_lock(&self, _workspace: &str, _id: &LockId) -> Result<LockCheck, StoreError> {
        Ok(LockCheck::Unsupported)
    }
    /// The journal of a running apply on the server, where appending to it is cheap.
    fn server_journal(&self) -> Option<&dyn ServerJournal> {
        None
    }
    /// The workspace features of the server besides states; none for servers that store states only.
    fn workspace_service(&self) -> Option<&dyn WorkspaceService> {
        None
    }
    /// When a running apply saves its state before it ends.
    fn snapshots(&self) -> Snapshots {
        Snapshots::Usual
    }
    /// Retries that its arguments ask for, instead of the usual ones.
    fn retries(&self) -> Option<Retries> {
        None
    }
    /// Location of the state of a workspace, for messages: a path or a URL without credentials. It identifies the
    /// state: two states never have the same description.
    fn describe(&self, workspace: &str) -> String;
    /// Initial content of a workspace.
    fn beginning(&self, workspace: &str) -> Beginning {
        match workspace == DEFAULT_WORKSPACE {
            true => Beginning::Nothing,
            false => Beginning::EmptyState,
        }
    }
    /// Lifetime of states.
    fn lifetime(&self) -> Lifetime {
        Lifetime::Lasting
    }
}

/// Whether a lock is still held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockCheck {
    /// It does.
    Held,
    /// It is gone, or another process holds it. The reason is the second half of a sentence: "the lease was broken".
    Lost(String),
    /// The store cannot find out, or its locks cannot be lost.
    Unsupported,
}

/// The journal of a running apply on the server, so that another machine can complete the state when this one is gone.
///
/// It contains the same lines as the journal on this machine, which is written first. Lines are opaque bytes, encrypted if
/// the state is.
pub trait ServerJournal: Send + Sync {
    /// All lines that a run has left, or none if the journal does not exist.
    fn read(&self, workspace: &str) -> Result<Option<LeftJournal>, StoreError>;
    /// Appends lines, or replaces all with them, in one transaction.
    fn append(&self, workspace: &str, lines: &[u8], mode: Appending) -> Result<(), StoreError>;
    /// Removes all lines, after they are in the state.
    fn remove(&self, workspace: &str) -> Result<(), StoreError>;
}

/// The journal that a run has left on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftJournal {
    /// Its lines.
    pub lines: Vec<u8>,
    /// Whether a process holds the lock of the state now.
    pub run: RunState,
}

/// Whether the run that writes a journal has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// A process holds the lock.
    Running,
    /// No process holds the lock.
    Over,
}

/// Treatment of lines that are on the server already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appending {
    /// They stay.
    Continue,
    /// They are replaced.
    Restart,
}

/// Initial content of a workspace on its first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// No state, until a command saves one.
    Nothing,
    /// A state without content, so that the workspace is listed.
    EmptyState,
}

/// Lifetime of states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until they are deleted.
    Lasting,
    /// As long as this process. They have no journal, which would outlive them.
    Process,
}

/// The content of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its bytes.
    pub content: Vec<u8>,
    /// Its version.
    pub version: StoreVersion,
}

/// The version of a content, as the store knows it: an ETag, a generation, a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreVersion(pub String);

impl StoreVersion {
    /// For stores without versions of their own: a hash of the content. Such a store compares it right before it writes.
    pub fn of(content: &[u8]) -> StoreVersion {
        StoreVersion(fingerprint(content))
    }
}

/// A write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The new content.
    pub content: &'a [u8],
    /// Condition of a write.
    pub precondition: Precondition<'a>,
    /// The lock that the caller holds.
    pub lock: Option<&'a LockId>,
}

/// Required version of the object for a write to succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition<'a> {
    /// Nothing: the state was never written.
    Absent,
    /// The content of this version.
    Version(&'a StoreVersion),
}

impl Precondition<'_> {
    /// Whether the stored object meets the condition.
    pub fn holds(self, present: Option<&StoreVersion>) -> bool {
        match self {
            Precondition::Absent => present.is_none(),
            Precondition::Version(version) => present == Some(version),
        }
    }
}

/// The id of a lock, as users see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockId(pub String);

impl fmt::Display for LockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reason why a lock was not released.
#[derive(Debug)]
pub enum UnlockRefusal {
    /// The state is not locked.
    NotLocked,
    /// It is locked by another lock.
    OtherLock(Option<Box<LockHolder>>),
    /// The store failed.
    Failed(StoreError),
}

/// Reason of a failed request to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// Decides what the caller does.
    pub kind: StoreErrorKind,
    /// The reason, as the second half of a sentence, without secrets.
    pub reason: String,
    /// The pause that the server asks for before the request is repeated.
    pub retry_after: Option<Duration>,
}

/// Possible reaction of a caller to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// Repeat the request: a timeout, an overloaded server.
    Transient,
    /// The precondition of a write failed: another process has written the state.
    Conflict,
    /// The lock that the caller holds is gone.
    LockLost,
    /// The store has one state only.
    NoWorkspaces,
    /// The store has no workspace `default`.
    NoDefaultWorkspace,
    /// Nothing: access denied, no such bucket.
    Lasting,
}

impl StoreError {
    /// A failure of a kind.
    pub fn new(kind: StoreErrorKind, reason: impl Into<String>) -> StoreError {
        StoreError { kind, reason: reason.into(), retry_after: None }
    }

    /// A failure that cannot be repeated away.
    pub fn lasting(reason: impl Into<String>) -> StoreError {
        StoreError::new(StoreErrorKind::Lasting, reason)
    }

    /// A failure that may pass.
    pub fn transient(reason: impl Into<String>) -> StoreError {
        StoreError::new(StoreErrorKind::Transient, reason)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for StoreError {}
