//! Diagnostics of this crate: locations, workspaces, locks and saving. Those about journals are in `diagnostics/journals.rs`.

mod aws;
pub(crate) mod azure;
mod consul;
mod gcs;
mod http;
mod journals;
mod kubernetes;
mod pg;
mod sealing;
mod tfe;

use std::io;
use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_state::State;
use yuba_syntax::{Code, Diagnostic, Diagnostics, Severity};

use crate::errored::ERRORED_STATE;
use crate::kit::store::{LockId, StoreError, StoreErrorKind, UnlockRefusal};
use crate::local::replaced::Replaced;
use crate::lock::{LockHolder, LockRefusal};
use crate::process::Alive;
use crate::store::{Saved, WayBack};

pub(crate) use aws::*;
pub(crate) use consul::*;
pub(crate) use gcs::*;
pub(crate) use http::*;
pub use journals::recovered;
pub(crate) use journals::*;
pub(crate) use kubernetes::*;
pub(crate) use pg::*;
pub(crate) use sealing::*;
pub(crate) use tfe::*;

yuba_syntax::catalogue! {
    /// The `path` argument of the `local` backend is an empty string.
    LOCAL_PATH_EMPTY = error "local-path-empty", "Invalid local state file path";
    /// The `workspace_dir` argument of the `local` backend is an empty string.
    LOCAL_WORKSPACE_DIRECTORY_EMPTY = error "local-workspace-directory-empty", "Invalid local workspace directory path";
    /// The configuration names a backend that OpenTofu has and this version of Yuba does not support.
    pub BACKEND_UNSUPPORTED = error "backend-unsupported", "Backend not available";
    /// An environment variable sets an argument of a backend to a value of the wrong type.
    BACKEND_ENVIRONMENT_VALUE_INVALID = error "backend-environment-value-invalid", "Invalid backend configuration argument";
    /// The directory of a new workspace cannot be created.
    WORKSPACE_NOT_CREATED = error "workspace-not-created", "Failed to create workspace";
    /// The workspaces of a backend cannot be listed.
    WORKSPACES_NOT_LISTED = error "workspaces-not-listed", "Error loading workspaces";
    /// The backend stores one state and has no workspaces.
    pub WORKSPACES_NOT_SUPPORTED = error "workspaces-not-supported", "workspaces not supported";
    /// The backend has no workspace called `default`.
    pub DEFAULT_WORKSPACE_NOT_SUPPORTED = error "default-workspace-not-supported", "default workspace not supported";
    /// A workspace cannot be read or created on the server.
    WORKSPACE_NOT_OPENED = error "workspace-not-opened", "Error loading workspace";
    /// The settings of a workspace cannot be read from the server.
    WORKSPACE_NOT_READ = error "workspace-not-read", "Error looking up workspace";
    /// The variables of a workspace cannot be read from the server.
    WORKSPACE_VARIABLES_NOT_READ = error "workspace-variables-not-read", "error loading variables";
    /// A workspace with its state cannot be deleted.
    WORKSPACE_NOT_DELETED = error "workspace-not-deleted", "Workspace deletion failed";
    /// The default workspace is to be deleted.
    DEFAULT_WORKSPACE_DELETED = error "default-workspace-deleted", "Workspace deletion failed";
    /// A workspace has a name that cannot be part of a path.
    WORKSPACE_NAME_INVALID = error "workspace-name-invalid", "Invalid workspace name";
    /// The name of the selected workspace cannot be written to the data directory.
    WORKSPACE_SELECTION_NOT_WRITTEN = error "workspace-selection-not-written", "Failed to select workspace";
    /// The state was copied to another backend, and its local file cannot be emptied.
    STATE_NOT_ERASED = error "state-not-erased", "Error deleting local state after migration";
    /// The stored state cannot be read.
    STATE_NOT_READ = error "state-not-read", "Error loading state";
    /// The new state cannot be written.
    STATE_NOT_WRITTEN = error "state-not-written", "Failed to save state";
    /// Another process changed or removed the state while a command was using it.
    STATE_REPLACED = error "state-replaced", "Failed to save state";
    /// The lock of the state was lost before the state was saved.
    STATE_LOCK_LOST = error "state-lock-lost", "Failed to save state";
    /// The copy of the previous state cannot be written.
    STATE_BACKUP_NOT_WRITTEN = error "state-backup-not-written", "Failed to save state";
    /// The lock of the state cannot be acquired.
    STATE_LOCK_REFUSED = error "state-lock-refused", "Error acquiring the state lock";
    /// A process ended without releasing its lock.
    STATE_LOCK_LEFT_BEHIND = warning "state-lock-left-behind", "A previous run ended without releasing its lock";
    /// The lock of the state cannot be released.
    STATE_LOCK_NOT_RELEASED = error "state-lock-not-released", "Error releasing the state lock";
    /// The `force-unlock` command names a lock that is held by a running process, or that does not exist.
    FORCE_UNLOCK_REFUSED = error "force-unlock-refused", "Failed to unlock state";
    /// The `force-unlock` command is used on a state that is not locked.
    FORCE_UNLOCK_WITHOUT_LOCK = error "force-unlock-without-lock", "Failed to unlock state: LocalState not locked";
    /// A pushed state does not follow the stored state.
    STATE_NOT_SUCCESSOR = error "state-not-successor", "Failed to write the imported state";
    /// The new state cannot be saved and is written to a file in the working directory.
    STATE_WRITTEN_TO_ERRORED_FILE = error "state-written-to-errored-file", "Failed to persist state to backend";
    /// The file for a state that cannot be saved cannot be written either.
    ERRORED_FILE_NOT_WRITTEN = error "errored-file-not-written", "Failed to create local state file";
    /// The new state cannot be written to any file and is printed.
    STATE_PRINTED = error "state-printed", "Failed to persist state to backend";
}

pub(crate) fn empty_path() -> Diagnostic {
    Diagnostic::new(&LOCAL_PATH_EMPTY, "The argument \"path\" of the local backend must not be empty.")
}

pub(crate) fn empty_workspace_directory() -> Diagnostic {
    let detail = "The argument \"workspace_dir\" of the local backend must not be empty.";
    Diagnostic::new(&LOCAL_WORKSPACE_DIRECTORY_EMPTY, detail)
}

/// A backend that OpenTofu has and this version does not.
pub fn backend_not_available(kind: &str) -> Diagnostic {
    let detail = eco_format!("This version of Yuba does not support the backend \"{kind}\".");
    Diagnostic::new(&BACKEND_UNSUPPORTED, detail)
}

/// The value itself may be a credential.
pub(crate) fn invalid_environment_default(variable: &str, argument: &str, reason: &str) -> Diagnostic {
    let detail = eco_format!("The environment variable {variable} sets the backend argument \"{argument}\": {reason}.");
    Diagnostic::new(&BACKEND_ENVIRONMENT_VALUE_INVALID, detail).hint(eco_format!("Change or unset {variable}."))
}

pub(crate) fn workspace_not_made(name: &str, directory: &Path, error: &io::Error) -> Diagnostic {
    let directory = directory.display();
    let detail = eco_format!("Failed to create the directory {directory} of workspace \"{name}\": {error}.");
    Diagnostic::new(&WORKSPACE_NOT_CREATED, detail)
}

pub(crate) fn workspaces_not_listed(directory: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to read the workspace directory {}: {error}.", directory.display());
    Diagnostic::new(&WORKSPACES_NOT_LISTED, detail)
}

pub(crate) fn store_workspaces_not_listed(location: &str, error: &StoreError) -> Diagnostic {
    let detail = eco_format!("Failed to list the workspaces of the backend with the state {location}: {error}.");
    Diagnostic::new(&WORKSPACES_NOT_LISTED, detail)
}

pub(crate) fn no_workspaces() -> Diagnostic {
    let detail = "This backend stores a single state and supports the workspace \"default\" only.";
    Diagnostic::new(&WORKSPACES_NOT_SUPPORTED, detail)
}

/// A backend without a workspace `default`.
pub(crate) fn no_default_workspace() -> Diagnostic {
    let detail = "This backend has no workspace \"default\".";
    Diagnostic::new(&DEFAULT_WORKSPACE_NOT_SUPPORTED, detail).hint(
        "Run \"yuba workspace select NAME\" to use an existing workspace, or \"yuba workspace new NAME\" to create one.",
    )
}

/// A request about a workspace besides its state.
pub(crate) fn of_workspace(title: &'static Code, location: &str, error: &StoreError) -> Diagnostic {
    Diagnostic::new(title, eco_format!("The request for workspace {location} failed: {error}."))
}

pub(crate) fn workspace_not_deleted(name: &str, directory: &Path, error: &io::Error) -> Diagnostic {
    let directory = directory.display();
    let detail = eco_format!("Failed to remove the directory {directory} of workspace \"{name}\": {error}.");
    Diagnostic::new(&WORKSPACE_NOT_DELETED, detail)
}

pub(crate) fn store_workspace_not_deleted(name: &str, location: &str, error: &StoreError) -> Diagnostic {
    let detail = eco_format!("Failed to delete the state {location} of workspace \"{name}\": {error}.");
    Diagnostic::new(&WORKSPACE_NOT_DELETED, detail)
}

pub(crate) fn default_workspace_stays() -> Diagnostic {
    Diagnostic::new(&DEFAULT_WORKSPACE_DELETED, "The default workspace always exists and cannot be deleted.")
}

pub(crate) fn invalid_workspace_name(name: &str) -> Diagnostic {
    let detail = eco_format!(
        "\"{name}\" is not a valid workspace name. A name is one part of a path: it contains no slashes, spaces or other \
         characters that need escaping."
    );
    Diagnostic::new(&WORKSPACE_NAME_INVALID, detail)
}

pub(crate) fn workspace_not_selected(name: &str, path: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to write the selected workspace \"{name}\" to {}: {error}.", path.display());
    Diagnostic::new(&WORKSPACE_SELECTION_NOT_WRITTEN, detail)
}

pub(crate) fn not_read(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::new(&STATE_NOT_READ, eco_format!("Failed to read the state file {}: {error}.", path.display()))
}

pub(crate) fn not_erased(path: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!(
        "The state was copied to the new backend. Failed to write its backup or to empty the state file {}: {error}.",
        path.display()
    );
    Diagnostic::new(&STATE_NOT_ERASED, detail)
        .hint("Make the directory of the file writable, then run \"yuba init\" again.")
}

pub(crate) fn store_not_read(location: &str, error: &StoreError) -> Diagnostic {
    Diagnostic::new(&STATE_NOT_READ, eco_format!("Failed to read the state {location}: {error}."))
}

pub(crate) fn not_saved(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::new(&STATE_NOT_WRITTEN, eco_format!("Failed to write the state file {}: {error}.", path.display()))
}

pub(crate) fn store_not_written(location: &str, error: &StoreError) -> Diagnostic {
    match error.kind {
        StoreErrorKind::Conflict => {
            let detail = "Another process wrote the state after this command read it";
            let detail = eco_format!("{detail}. The new state was not written to {location}: {error}.");
            Diagnostic::new(&STATE_REPLACED, detail)
        }
        StoreErrorKind::LockLost => {
            let detail =
                eco_format!("The lock of the state {location} is lost, so the new state was not written: {error}.");
            Diagnostic::new(&STATE_LOCK_LOST, detail)
        }
        _ => Diagnostic::new(&STATE_NOT_WRITTEN, eco_format!("Failed to write the state {location}: {error}.")),
    }
}

fn what_happened(path: &Path, replaced: &Replaced) -> String {
    let path = path.display();
    match replaced {
        Replaced::Removed => format!("Another process removed the state file {path}"),
        Replaced::Emptied => format!("Another process emptied the state file {path}"),
        Replaced::Newer { serial } => format!("Another run saved serial {serial} of the state to {path}"),
        Replaced::Older { serial } => {
            format!("Another process replaced the state file {path} with a state of serial {serial}")
        }
        Replaced::Other => format!("Another process replaced the state file {path} with a state of another lineage"),
        Replaced::NoState => {
            format!("Another process replaced the state file {path} with a file that is not a state")
        }
        Replaced::Unreadable(error) => {
            format!("Another process replaced the state file {path} with a file that cannot be read ({error})")
        }
    }
}

/// The state file is not the one that this process has read or written.
pub(crate) fn replaced(path: &Path, replaced: &Replaced) -> Diagnostic {
    let happened = what_happened(path, replaced);
    let detail = eco_format!("{happened} while this command was running. The new state was not written to it.");
    Diagnostic::new(&STATE_REPLACED, detail)
}

/// The same before anything was done.
pub(crate) fn replaced_before(path: &Path, replaced: &Replaced) -> Diagnostic {
    let happened = what_happened(path, replaced);
    let detail = eco_format!("{happened} after this command had read it. No changes were made.");
    Diagnostic::new(&STATE_REPLACED, detail).hint("Check the file, then plan again.")
}

pub(crate) fn no_backup(path: &Path, error: &io::Error) -> Diagnostic {
    let path = path.display();
    let detail = eco_format!("Failed to write the backup {path} of the previous state: {error}.");
    Diagnostic::new(&STATE_BACKUP_NOT_WRITTEN, detail)
        .hint("Set another file with -backup=FILE, or write no backup with -backup=-.")
}

/// A lock was not acquired: who has it, or why not.
pub fn lock_refused(location: &str, refusal: &LockRefusal) -> Diagnostic {
    let detail = match refusal {
        LockRefusal::Ours => format!("This process has already locked the state {location}."),
        LockRefusal::Store(error) => format!("Failed to lock the state {location}: {error}."),
        LockRefusal::Failed(error) => {
            let problem =
                Diagnostic::new(&STATE_LOCK_REFUSED, eco_format!("Failed to lock the state {location}: {error}."));
            return match error.kind() {
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                    problem.hint("To read the state without changing it, use -lock=false.")
                }
                _ => problem,
            };
        }
        LockRefusal::Held { holder: Some(holder), .. } => {
            format!("The state {location} is locked. {}\n\n{}", holder.in_words(), holder.to_block())
        }
        LockRefusal::Held { holder: None, pid: Some(pid) } => {
            format!("The state {location} is locked by process {pid} on this host.")
        }
        LockRefusal::Held { holder: None, pid: None } => {
            format!("The state {location} is locked by an unknown process.")
        }
    };
    let problem = Diagnostic::new(&STATE_LOCK_REFUSED, detail.trim_end());
    match refusal {
        // The lock of a file ends with its process. The lock of a server does not.
        LockRefusal::Held { holder: Some(holder), pid: None } if holder.alive() == Alive::No => {
            problem.hint(eco_format!(
                "Check that no other process changes this state, then run `yuba force-unlock {}`. The next command \
             completes the state if the ended process left a journal in this directory.",
                holder.id
            ))
        }
        LockRefusal::Held { .. } => problem.hint(
            "Wait until the other run has ended, or let this command wait with -lock-timeout=DURATION. -lock=false \
             runs without the lock and can damage the state.",
        ),
        _ => problem,
    }
}

/// A stale lock, whose process has ended, was found and taken over.
pub fn lock_left_behind(holder: &LockHolder) -> Diagnostic {
    let detail = eco_format!("{} This command acquired the free lock.", holder.in_words());
    Diagnostic::new(&STATE_LOCK_LEFT_BEHIND, detail)
}

pub(crate) fn not_unlocked(info: &Path, id: &str, error: &io::Error) -> Diagnostic {
    let info = info.display();
    let detail = eco_format!(
        "The lock {id} is released, but the file {info} that describes it cannot be removed: {error}. The file does not \
         prevent other runs from taking the lock."
    );
    Diagnostic::new(&STATE_LOCK_NOT_RELEASED, detail).hint(eco_format!("Remove {info}."))
}

pub(crate) fn store_not_unlocked(location: &str, id: &LockId, refusal: &UnlockRefusal) -> Diagnostic {
    let detail = eco_format!("Failed to release the lock {id} of the state {location}: {}.", unlock_reason(refusal));
    Diagnostic::new(&STATE_LOCK_NOT_RELEASED, detail)
        .hint(eco_format!("If the state stays locked, run `yuba force-unlock {id}`."))
}

fn unlock_reason(refusal: &UnlockRefusal) -> String {
    match refusal {
        UnlockRefusal::NotLocked => "the state is no longer locked".to_owned(),
        UnlockRefusal::OtherLock(Some(holder)) => format!("the state is locked by another lock, {}", holder.id),
        UnlockRefusal::OtherLock(None) => "the state is locked by another lock".to_owned(),
        UnlockRefusal::Failed(error) => error.to_string(),
    }
}

pub(crate) fn store_not_locked(location: &str) -> Diagnostic {
    Diagnostic::new(&FORCE_UNLOCK_REFUSED, eco_format!("The state {location} is not locked."))
}

pub(crate) fn store_not_force_unlocked(location: &str, id: &LockId, refusal: &UnlockRefusal) -> Diagnostic {
    let detail = eco_format!("Failed to release the lock {id} of the state {location}: {}.", unlock_reason(refusal));
    Diagnostic::new(&FORCE_UNLOCK_REFUSED, detail)
}

pub(crate) fn not_force_unlocked(id: &str, holder: Option<&LockHolder>, held: HeldBy) -> Diagnostic {
    match (held, holder) {
        (HeldBy::RunningProcess, holder) => {
            let holder = holder.map(|holder| format!(" {}\n\n{}", holder.in_words(), holder.to_block()));
            let detail = format!(
                "A running process holds the lock of this state, and the system releases it when that process ends.{}",
                holder.unwrap_or_default()
            );
            Diagnostic::new(&FORCE_UNLOCK_REFUSED, detail)
        }
        (HeldBy::NoProcess, None) => Diagnostic::new(&FORCE_UNLOCK_WITHOUT_LOCK, "The state is not locked."),
        (HeldBy::NoProcess, Some(holder)) => {
            let detail = format!("\"{id}\" is not the ID of the lock of this state.\n\n{}", holder.to_block());
            Diagnostic::new(&FORCE_UNLOCK_REFUSED, detail)
        }
    }
}

/// Whether the system knows of a process that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeldBy {
    RunningProcess,
    NoProcess,
}

/// Says whether a state may follow the stored one.
pub(crate) fn check_successor(next: &State, known: &State, saved: Saved) -> Result<(), Diagnostic> {
    let detail: EcoString = if next.lineage.is_empty() || known.lineage.is_empty() {
        return Ok(());
    } else if next.lineage != known.lineage {
        eco_format!(
            "The new state has lineage \"{}\" and the stored state has lineage \"{}\": they belong to different \
             configurations or working directories.",
            next.lineage,
            known.lineage
        )
    } else if next.serial < known.serial {
        eco_format!("The new state has serial {}, and the stored state is newer: serial {}.", next.serial, known.serial)
    } else if next.serial == known.serial && saved == Saved::Changed {
        eco_format!("The stored state has the same serial {} and different content.", next.serial)
    } else {
        return Ok(());
    };
    Err(Diagnostic::new(&STATE_NOT_SUCCESSOR, detail).hint("To replace the stored state anyway, use -force."))
}

/// The same as warnings, for problems that have been worked around.
pub(crate) fn as_warnings(problems: Diagnostics) -> impl Iterator<Item = Diagnostic> {
    problems.into_iter().map(|problem| problem.with_severity(Severity::Warning))
}

pub(crate) fn errored_written(path: &Path, way: &WayBack) -> Diagnostic {
    let path = path.display();
    let detail = eco_format!("The new state could not be saved and was written to {path}. Nothing is lost.");
    with_instructions(&STATE_WRITTEN_TO_ERRORED_FILE, &detail, &path.to_string(), way)
}

pub(crate) fn errored_not_written(path: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!("Failed to write the new state to {}: {error}.", path.display());
    Diagnostic::new(&ERRORED_FILE_NOT_WRITTEN, detail)
}

pub(crate) fn errored_printed(way: &WayBack) -> Diagnostic {
    let detail = eco_format!(
        "The new state could not be written to any file. It is printed above as JSON instead.\n\nCopy it, from the first {{ \
         to the last }}, to a file {ERRORED_STATE}."
    );
    with_instructions(&STATE_PRINTED, &detail, ERRORED_STATE, way)
}

/// With the commands that push a state from a file to its backend.
fn with_instructions(code: &'static yuba_syntax::Code, detail: &str, errored: &str, way: &WayBack) -> Diagnostic {
    let (moved, command) = match way {
        WayBack::Push { in_the_way } => (in_the_way.as_ref(), format!("yuba state push {errored}")),
        WayBack::Copy { to, is_in_the_way } => (is_in_the_way.then_some(to), format!("cp {errored} {to}")),
        WayBack::Merge { path, serial } => {
            let detail = eco_format!(
                "{detail}\n\nThe other run saved serial {serial} to {path}, without the changes of this run. \
                 {errored} does not contain those of the other run."
            );
            return Diagnostic::new(code, detail).hint(eco_format!(
                "Compare the two states. To keep both, import the missing objects into {path} with \"yuba import\". To discard \
                 the changes of the other run, run\n    yuba state push -force {errored}"
            ));
        }
    };
    let moved = moved.map(|path| format!("    mv {path} {path}.replaced\n")).unwrap_or_default();
    let detail = eco_format!(
        "{detail}\n\nThe next run would work with a state that does not contain these changes, so do not apply before the \
         state is saved."
    );
    Diagnostic::new(code, detail).hint(eco_format!("Fix the cause, then save the state with\n{moved}    {command}"))
}
