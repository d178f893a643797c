//! Everything this crate tells its users.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use ecow::{EcoString, eco_format};
use yuba_state::State;
use yuba_syntax::{Diagnostic, Diagnostics, Severity};

use crate::errored::ERRORED_STATE;
use crate::journal::line::Base;
use crate::journal::{Operation, Recovered};
use crate::local::replaced::Replaced;
use crate::lock::{LockHolder, LockRefusal};
use crate::store::WayBack;

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

fn what_happened(path: &Path, replaced: &Replaced) -> String {
    let path = path.display();
    match replaced {
        Replaced::Removed => format!("Another program removed the state file {path}"),
        Replaced::Emptied => format!("Another program emptied the state file {path}"),
        Replaced::Newer { serial } => format!("Another run saved serial {serial} of the state to {path}"),
        Replaced::Older { serial } => {
            format!("Another program replaced the state file {path} with a state of serial {serial}")
        }
        Replaced::Other => format!("Another program replaced the state file {path} with a state of another lineage"),
        Replaced::NoState => {
            format!("Another program replaced the state file {path} with something that is not a state")
        }
        Replaced::Unreadable(error) => {
            format!("Another program replaced the state file {path} with something that cannot be read ({error})")
        }
    }
}

/// The state file is not the one that this process has read or written.
pub(crate) fn replaced(path: &Path, replaced: &Replaced) -> Diagnostic {
    let happened = what_happened(path, replaced);
    Diagnostic::error(
        "Failed to save state",
        eco_format!("{happened} while this command was running. The new state was not written to it."),
    )
}

/// The same before anything was done.
pub(crate) fn replaced_before(path: &Path, replaced: &Replaced) -> Diagnostic {
    let happened = what_happened(path, replaced);
    Diagnostic::error(
        "Failed to save state",
        eco_format!(
            "{happened} after this command had read it. No changes were made. Check the file, then plan again."
        ),
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
            "The results of operations cannot be written to the journal {} of the state {}: {error}. No further operation \
             starts.",
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
            "An earlier run that changed {} was interrupted, and its journal cannot be read. The journal may be damaged, or \
             written by a newer version. {}",
            path.display(),
            kept(aside)
        ),
    )
}

pub(crate) fn damaged_journal(path: &Path, aside: io::Result<PathBuf>) -> Diagnostic {
    Diagnostic::warning(
        "Damaged journal of an interrupted run",
        eco_format!(
            "The state {} was completed from a journal with damaged lines. Objects of the operations in those lines may be \
             missing in the state. {}",
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
    finished_and_under_way(&mut detail, addresses, under_way);
    detail.push_str("\n\nCheck whether the state has these objects, and import those that it does not have.");
    Diagnostic::warning("Journal of an interrupted run does not fit the state", detail)
}

fn finished_and_under_way(detail: &mut String, addresses: &[EcoString], under_way: &[Operation]) {
    if !addresses.is_empty() {
        detail.push_str("\n\nFinished changes:");
        list(detail, addresses.iter().map(EcoString::to_string));
    }
    if !under_way.is_empty() {
        detail.push_str("\n\nOperations that were under way:");
        list(detail, under_way.iter().map(|operation| format!("{} ({})", operation.address, operation.action)));
    }
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
    if !recovered.addresses.is_empty() {
        detail.push_str(" These changes were finished and have been added to the state from its journal:");
        list(&mut detail, recovered.addresses.iter().map(EcoString::to_string));
    }
    if !recovered.under_way.is_empty() {
        detail.push_str("\n\nThese operations were under way, and their results are unknown:");
        let operations = recovered.under_way.iter();
        list(&mut detail, operations.map(|operation| format!("{} ({})", operation.address, operation.action)));
        detail.push_str("\nCheck these objects: one may exist that is not in the state.");
    }
    if let Some(command) = &recovered.rescued {
        let _ = write!(detail, "\n\n{}", rescued_by(command));
    }
    if !recovered.saved {
        detail.push_str("\n\nThe completed state is not saved yet.");
    }
    Diagnostic::warning("State recovered from an interrupted run", detail)
}

fn rescued_by(command: &str) -> String {
    format!(
        "That run wrote its final state to {ERRORED_STATE}. Save that state before anything else changes the current one:\n    \
         {command}"
    )
}

/// A run could not save its final state, and the state that it has changed is not there any more.
pub(crate) fn rescued_elsewhere(
    path: &Path,
    journal: &Path,
    command: &str,
    addresses: &[EcoString],
    under_way: &[Operation],
) -> Diagnostic {
    let mut detail = format!(
        "The state file {} was removed or replaced while a run was changing it. The journal of that run is {}. {}",
        path.display(),
        journal.display(),
        rescued_by(command)
    );
    finished_and_under_way(&mut detail, addresses, under_way);
    Diagnostic::warning("State of an earlier run is not saved", detail)
}

pub(crate) fn errored_written(path: &Path, way: &WayBack) -> Diagnostic {
    let detail = eco_format!(
        "The new state was written to {} because it could not be saved. Nothing is lost.\n\n{}",
        path.display(),
        instructions(&path.display().to_string(), way)
    );
    Diagnostic::error("Failed to persist state to backend", detail)
}

/// How a state in a file gets to where it belongs.
fn instructions(errored: &str, way: &WayBack) -> String {
    let (moved, command) = match way {
        WayBack::Push { in_the_way } => (in_the_way.as_ref(), format!("yuba state push {errored}")),
        WayBack::Copy { to, is_in_the_way } => (is_in_the_way.then_some(to), format!("cp {errored} {to}")),
        WayBack::Merge { path, serial } => {
            return format!(
                "Serial {serial}, which the other run saved to {path}, does not have the changes of this run, and \
                 {errored} does not have those of the other run. Compare the two files. To keep both, import the missing \
                 objects into {path} with \"yuba import\". To discard the changes of the other run, run\n    yuba state push \
                 -force {errored}"
            );
        }
    };
    let moved = moved.map(|path| format!("    mv {path} {path}.replaced\n")).unwrap_or_default();
    format!(
        "Fix the cause, then save the state with\n{moved}    {command}\n\nDo not apply before that: the next run would work \
         with a state that does not have these changes."
    )
}

pub(crate) fn errored_not_written(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(
        "Failed to create local state file",
        eco_format!("The new state cannot be written to {} either: {error}.", path.display()),
    )
}

pub(crate) fn errored_printed(way: &WayBack) -> Diagnostic {
    let detail = eco_format!(
        "The new state could not be written to any file. It is printed above as JSON instead.\n\nCopy it, from the first {{ \
         to the last }}, to a file {ERRORED_STATE}. {}",
        instructions(ERRORED_STATE, way)
    );
    Diagnostic::error("Failed to persist state to backend", detail)
}
