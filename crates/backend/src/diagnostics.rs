//! Everything this crate tells its users.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use ecow::{EcoString, eco_format};
use yuba_state::State;
use yuba_syntax::{Diagnostic, Diagnostics, Severity};

use crate::journal::line::Base;
use crate::journal::{Operation, Recovered};
use crate::lock::{LockHolder, LockRefusal};

/// How many addresses a message lists.
const SHOWN: usize = 20;

pub(crate) fn empty_path() -> Diagnostic {
    Diagnostic::error("Invalid local state file path", "The argument \"path\" of the local backend must not be empty.")
}

pub(crate) fn empty_workspace_directory() -> Diagnostic {
    Diagnostic::error(
        "Invalid local workspace directory path",
        "The argument \"workspace_dir\" of the local backend must not be empty.",
    )
}

pub(crate) fn workspace_not_made(name: &str, directory: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Failed to create workspace",
        eco_format!("The directory of workspace \"{name}\", {}, cannot be made: {error}.", directory.display()),
    )
}

pub(crate) fn workspaces_not_listed(directory: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Error loading workspaces",
        eco_format!("The directory of the workspaces, {}, cannot be read: {error}.", directory.display()),
    )
}

pub(crate) fn workspace_not_deleted(name: &str, directory: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Workspace deletion failed",
        eco_format!("The directory of workspace \"{name}\", {}, cannot be removed: {error}.", directory.display()),
    )
}

pub(crate) fn default_workspace_stays() -> Diagnostic {
    Diagnostic::error("Workspace deletion failed", "The default workspace is always there and cannot be deleted.")
}

pub(crate) fn invalid_workspace_name(name: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid workspace name",
        eco_format!(
            "\"{name}\" cannot be the name of a workspace: it has to be usable as one part of a path, without slashes, \
             spaces or other characters that need escaping."
        ),
    )
}

pub(crate) fn workspace_not_selected(name: &str, path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Failed to select workspace",
        eco_format!("The selection of workspace \"{name}\" cannot be written to {}: {error}.", path.display()),
    )
}

pub(crate) fn not_read(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error("Error loading state", eco_format!("The state file {} cannot be read: {error}.", path.display()))
}

pub(crate) fn not_saved(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Failed to save state",
        eco_format!("The state file {} cannot be written: {error}.", path.display()),
    )
}

pub(crate) fn no_backup(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Failed to save state",
        eco_format!(
            "Before the state changes its previous content is kept in {}, and that file cannot be written: {error}. \
             Choose another place with -backup=FILE, or none with -backup=-.",
            path.display()
        ),
    )
}

pub(crate) fn journal_not_written(journal: &Path, state: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Failed to save state",
        eco_format!(
            "What has been done so far cannot be added to the journal {} of the state {}: {error}.",
            journal.display(),
            state.display()
        ),
    )
}

pub(crate) fn journal_left(journal: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Failed to save state",
        eco_format!(
            "The journal {} of an earlier run is in the way and can be neither removed nor renamed: {error}.",
            journal.display()
        ),
    )
}

pub(crate) fn lock_refused(whereabouts: &str, refusal: &LockRefusal) -> Diagnostic {
    let mut detail = match refusal {
        LockRefusal::Ours => format!("This process has locked the state {whereabouts} already."),
        LockRefusal::Failed(error) => {
            let advice = match error.kind() {
                io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                    " Nothing can be written where it is; to look without changing anything, use -lock=false."
                }
                _ => "",
            };
            format!("The state {whereabouts} cannot be locked: {error}.{advice}")
        }
        LockRefusal::Held { holder: Some(holder), .. } => {
            format!("The state {whereabouts} is locked. {}\n\n{}", holder.in_words(), holder.to_block())
        }
        LockRefusal::Held { holder: None, pid: Some(pid) } => {
            format!("The state {whereabouts} is locked by process {pid} on this host.")
        }
        LockRefusal::Held { holder: None, pid: None } => {
            format!("The state {whereabouts} is locked by somebody who has not left a name.")
        }
    };
    if refusal.may_pass() {
        detail.push_str(
            "\nA lock keeps two runs from changing one state at the same time. Wait until the other run has ended, or let \
             this command wait with -lock-timeout=DURATION. With -lock=false it goes ahead without the lock, which can \
             damage the state.",
        );
    }
    Diagnostic::error("Error acquiring the state lock", detail)
}

/// A lock that nobody holds any more was found and taken over.
pub fn lock_left_behind(holder: &LockHolder) -> Diagnostic {
    Diagnostic::warning(
        "A previous run ended without releasing its lock",
        eco_format!("{} The lock was not held any more and has been taken over.", holder.in_words()),
    )
}

pub(crate) fn not_unlocked(info: &Path, id: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Error releasing the state lock",
        eco_format!(
            "The lock {id} is released, but the file {} that describes it cannot be removed: {error}. It does not keep \
             others from taking the lock; please remove it.",
            info.display()
        ),
    )
}

pub(crate) fn not_force_unlocked(id: &str, holder: Option<&LockHolder>, is_held: bool) -> Diagnostic {
    let detail = match holder {
        _ if is_held => {
            let holder = holder.map(|holder| format!(" {}\n\n{}", holder.in_words(), holder.to_block()));
            format!(
                "A running process holds the lock of this state, and the system releases it when that process ends.{}",
                holder.unwrap_or_default()
            )
        }
        None => "The state is not locked.".to_owned(),
        Some(holder) => {
            format!("\"{id}\" is not the ID of the lock that was left.\n\n{}", holder.to_block())
        }
    };
    let title = match holder {
        None if !is_held => "Failed to unlock state: LocalState not locked",
        _ => "Failed to unlock state",
    };
    Diagnostic::error(title, detail)
}

/// Says whether a state may follow the one that is there.
pub(crate) fn check_successor(next: &State, known: &State, changed: bool) -> Result<(), Diagnostic> {
    let detail = if next.lineage.is_empty() || known.lineage.is_empty() {
        return Ok(());
    } else if next.lineage != known.lineage {
        eco_format!(
            "The new state has lineage \"{}\", the state that is there has \"{}\": they belong to different \
             configurations or working directories.",
            next.lineage,
            known.lineage
        )
    } else if next.serial < known.serial {
        eco_format!("The new state has serial {}, the state that is there is newer: {}.", next.serial, known.serial)
    } else if next.serial == known.serial && changed {
        eco_format!("The state that is there has the same serial {} and another content.", next.serial)
    } else {
        return Ok(());
    };
    let hint = "To replace the state that is there nevertheless, use -force.";
    Err(Diagnostic::error("Failed to write the imported state", eco_format!("{detail} {hint}")))
}

/// The same as warnings: what they are about has been worked around.
pub(crate) fn as_warnings(problems: Diagnostics) -> impl Iterator<Item = Diagnostic> {
    problems.into_iter().map(|problem| Diagnostic { severity: Severity::Warning, ..problem })
}

fn kept(result: io::Result<PathBuf>) -> String {
    match result {
        Ok(path) => format!("It is kept as {}.", path.display()),
        Err(error) => format!("It stays where it is, because it cannot be renamed: {error}."),
    }
}

pub(crate) fn pending_kept(path: &Path, aside: io::Result<PathBuf>) -> Diagnostic {
    Diagnostic::warning(
        "Unsaved state of an interrupted run",
        eco_format!(
            "An earlier run was interrupted while it saved {}, and the state has been changed by somebody else since. The \
             unsaved state is not used. {} Compare the two before you go on.",
            path.display(),
            kept(aside)
        ),
    )
}

pub(crate) fn unreadable_journal(path: &Path, aside: io::Result<PathBuf>) -> Diagnostic {
    Diagnostic::warning(
        "Unreadable journal of an interrupted run",
        eco_format!(
            "An earlier run that changed {} was interrupted, and the journal of what it has done cannot be read. It may be \
             damaged, or written by a newer version. {}",
            path.display(),
            kept(aside)
        ),
    )
}

pub(crate) fn damaged_journal(path: &Path, aside: io::Result<PathBuf>) -> Diagnostic {
    Diagnostic::warning(
        "Damaged journal of an interrupted run",
        eco_format!(
            "The state {} was completed from a journal of which some lines are damaged. Objects that were created by those \
             operations may be missing in the state. {}",
            path.display(),
            kept(aside)
        ),
    )
}

pub(crate) fn other_journal(
    path: &Path,
    aside: io::Result<PathBuf>,
    base: &Base,
    current: Option<(EcoString, u64)>,
    addresses: &[EcoString],
    under_way: &[Operation],
) -> Diagnostic {
    let why = match current {
        Some((lineage, serial)) if lineage == base.lineage => format!(
            "The journal continues serial {}, and the state has serial {serial} now: somebody else has written it since.",
            base.serial
        ),
        Some(_) => "The journal belongs to a state of another lineage.".to_owned(),
        None => "The state that it continues is not there any more.".to_owned(),
    };
    let mut detail = format!(
        "An earlier run that changed {} was interrupted, and what it has done cannot be added to the state. {why} {}",
        path.display(),
        kept(aside)
    );
    if !addresses.is_empty() {
        detail.push_str("\n\nIt has finished changes to:");
        list(&mut detail, addresses.iter().map(EcoString::to_string));
    }
    if !under_way.is_empty() {
        detail.push_str("\n\nThese operations were under way:");
        list(&mut detail, under_way.iter().map(|operation| format!("{} ({})", operation.address, operation.action)));
    }
    detail.push_str("\n\nCheck whether the state knows these objects, and import those that it does not.");
    Diagnostic::warning("Journal of an interrupted run does not fit the state", detail)
}

fn list(out: &mut String, items: impl ExactSizeIterator<Item = String>) {
    let rest = items.len().saturating_sub(SHOWN);
    for item in items.take(SHOWN) {
        let _ = write!(out, "\n  - {item}");
    }
    if rest > 0 {
        let _ = write!(out, "\n  - and {rest} more");
    }
}

/// What was recovered, for the user.
pub fn recovered(recovered: &Recovered, whereabouts: &str) -> Diagnostic {
    let mut detail = format!("An earlier run that changed {whereabouts} was interrupted.");
    if recovered.snapshot {
        detail.push_str(" The state that it was about to save has been completed.");
    }
    if recovered.edits > 0 {
        let _ = write!(detail, " What it had finished was taken from its journal:");
        list(&mut detail, recovered.addresses.iter().map(EcoString::to_string));
    }
    if !recovered.under_way.is_empty() {
        detail.push_str("\n\nOf these operations, which were under way, no result is known:");
        let operations = recovered.under_way.iter();
        list(&mut detail, operations.map(|operation| format!("{} ({})", operation.address, operation.action)));
        detail.push_str("\nPlease check what they have left: an object may exist that the state does not know.");
    }
    if !recovered.saved {
        detail.push_str("\n\nThe completed state is not saved yet.");
    }
    Diagnostic::warning("State recovered from an interrupted run", detail)
}

pub(crate) fn errored_written(path: &Path) -> Diagnostic {
    Diagnostic::error(
        "Failed to persist state to backend",
        eco_format!(
            "The error above kept the new state from being saved. It has been written to {} instead, so nothing is lost.\n\n\
             Solve the cause first, then save the state with\n    yuba state push errored.tfstate\n\nDo not apply again \
             before that: the result would be a second state without these changes.",
            path.display()
        ),
    )
}

pub(crate) fn errored_not_written(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Failed to create local state file",
        eco_format!("The new state cannot be written to {} either: {error}.", path.display()),
    )
}

pub(crate) fn errored_printed() -> Diagnostic {
    Diagnostic::error(
        "Failed to persist state to backend",
        "The errors above kept the new state from being saved anywhere on disk. It is printed above as JSON instead.\n\n\
         Copy it, from the first { to the last }, to a file errored.tfstate, solve the cause, then save the state with\n    \
         yuba state push errored.tfstate",
    )
}
