//! Diagnostics about journals of interrupted runs.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use ecow::{EcoString, eco_format};
use yuba_syntax::Diagnostic;

use crate::errored::ERRORED_STATE;
use crate::journal::line::Base;
use crate::journal::{JournalOperation, Recovered};

/// Maximum number of addresses in a message.
const SHOWN: usize = 20;

yuba_syntax::catalogue! {
    /// The results of operations cannot be written to the journal of the state.
    JOURNAL_NOT_WRITTEN = error "journal-not-written", "Failed to save state";
    /// The journal of an earlier run can be neither removed nor renamed.
    JOURNAL_NOT_REMOVED = error "journal-not-removed", "Failed to save state";
    /// A run was interrupted while it saved the state, and another process has changed the state since.
    UNSAVED_STATE_KEPT = warning "unsaved-state-kept", "Unsaved state of an interrupted run";
    /// The journal of an interrupted run is damaged or has an unknown format.
    JOURNAL_UNREADABLE = warning "journal-unreadable", "Unreadable journal of an interrupted run";
    /// Some lines in the journal of an interrupted run are damaged.
    JOURNAL_DAMAGED = warning "journal-damaged", "Damaged journal of an interrupted run";
    /// The journal of an interrupted run continues another state than the stored one.
    JOURNAL_OF_ANOTHER_STATE = warning "journal-of-another-state", "Journal of an interrupted run does not fit the state";
    /// A command completed the state from the journal of an interrupted run.
    STATE_RECOVERED = warning "state-recovered", "State recovered from an interrupted run";
    /// An earlier run wrote its final state to another file, and that state is not saved yet.
    ERRORED_STATE_NOT_PUSHED = warning "errored-state-not-pushed", "State of an earlier run is not saved";
}

pub(crate) fn journal_not_written(journal: &Path, state: &Path, error: &io::Error) -> Diagnostic {
    let detail = eco_format!(
        "Failed to write the results of operations to the journal {} of the state {}: {error}. No further operation starts.",
        journal.display(),
        state.display()
    );
    Diagnostic::new(&JOURNAL_NOT_WRITTEN, detail)
}

pub(crate) fn journal_left(journal: &Path, error: &io::Error) -> Diagnostic {
    let detail =
        eco_format!("The journal {} of an earlier run can be neither removed nor renamed: {error}.", journal.display());
    Diagnostic::new(&JOURNAL_NOT_REMOVED, detail)
}

fn kept(result: io::Result<PathBuf>) -> String {
    match result {
        Ok(path) => format!("The journal is stored as {}.", path.display()),
        Err(error) => format!("Failed to rename the journal: {error}."),
    }
}

pub(crate) fn pending_kept(path: &Path, aside: io::Result<PathBuf>) -> Diagnostic {
    let detail = eco_format!(
        "An earlier run was interrupted while it saved {}, and another process has changed the state since. The unsaved state \
         is not used. {}",
        path.display(),
        kept(aside)
    );
    Diagnostic::new(&UNSAVED_STATE_KEPT, detail).hint("Compare the two states before the next apply.")
}

pub(crate) fn unreadable_journal(path: &Path, aside: io::Result<PathBuf>) -> Diagnostic {
    let detail = eco_format!(
        "An earlier run that changed {} was interrupted, and its journal cannot be read. The journal is damaged, or a newer \
         version of Yuba wrote it. {}",
        path.display(),
        kept(aside)
    );
    Diagnostic::new(&JOURNAL_UNREADABLE, detail)
}

pub(crate) fn damaged_journal(path: &Path, aside: io::Result<PathBuf>) -> Diagnostic {
    let detail = eco_format!(
        "The state {} was completed from a journal with damaged lines. Objects of the operations in those lines may be \
         missing in the state. {}",
        path.display(),
        kept(aside)
    );
    Diagnostic::new(&JOURNAL_DAMAGED, detail)
}

pub(crate) fn other_journal(
    path: &Path,
    aside: io::Result<PathBuf>,
    base: &Base,
    current: Option<(EcoString, u64)>,
    addresses: &[EcoString],
    under_way: &[JournalOperation],
) -> Diagnostic {
    let why = match current {
        Some((lineage, serial)) if lineage == base.lineage => format!(
            "The journal continues serial {}, and the state now has serial {serial}: another process has written it since.",
            base.serial
        ),
        Some(_) => "The journal belongs to a state of another lineage.".to_owned(),
        None => "The state that it continues no longer exists.".to_owned(),
    };
    let mut detail = format!(
        "An earlier run that changed {} was interrupted, and its changes cannot be added to the state. {why} {}",
        path.display(),
        kept(aside)
    );
    finished_and_under_way(&mut detail, addresses, under_way);
    Diagnostic::new(&JOURNAL_OF_ANOTHER_STATE, detail)
        .hint("Check whether the state contains these objects, and import those that it does not contain.")
}

fn finished_and_under_way(detail: &mut String, addresses: &[EcoString], under_way: &[JournalOperation]) {
    if !addresses.is_empty() {
        detail.push_str("\n\nFinished changes:");
        list(detail, addresses.iter().map(EcoString::to_string));
    }
    if !under_way.is_empty() {
        detail.push_str("\n\nOperations in progress:");
        list(detail, under_way.iter().map(|operation| format!("{} ({})", operation.address, operation.action)));
    }
}

fn list(out: &mut String, items: impl ExactSizeIterator<Item = String>) {
    let rest = items.len().saturating_sub(SHOWN);
    for item in items.take(SHOWN) {
        let _ = write!(out, "\n  - {item}");
    }
    if rest > 0 {
        let _ = write!(out, "\n  - and {rest} more objects");
    }
}

/// Reports changes that were recovered from the journal of an interrupted run.
pub fn recovered(recovered: &Recovered, location: &str) -> Diagnostic {
    let mut detail = format!("An earlier run that changed {location} was interrupted.");
    if recovered.snapshot {
        detail.push_str(" The state that it was saving has been completed.");
    }
    if !recovered.addresses.is_empty() {
        detail.push_str(match recovered.is_in_state {
            true => " These changes were finished and are in the state:",
            false => " These changes were finished and have been added to the state from its journal:",
        });
        list(&mut detail, recovered.addresses.iter().map(EcoString::to_string));
    }
    if !recovered.under_way.is_empty() {
        detail.push_str("\n\nThese operations were in progress, and their results are unknown:");
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
    Diagnostic::new(&STATE_RECOVERED, detail)
}

fn rescued_by(command: &str) -> String {
    format!(
        "That run wrote its final state to {ERRORED_STATE}. Save that state before another run changes the current one:\n    \
         {command}"
    )
}

/// A run could not save its final state, and the state that it has changed is no longer stored.
pub(crate) fn rescued_elsewhere(
    path: &Path,
    journal: &Path,
    command: &str,
    addresses: &[EcoString],
    under_way: &[JournalOperation],
) -> Diagnostic {
    let mut detail = format!(
        "The state {} was removed or replaced while a run was changing it. The journal of that run is {}. {}",
        path.display(),
        journal.display(),
        rescued_by(command)
    );
    finished_and_under_way(&mut detail, addresses, under_way);
    Diagnostic::new(&ERRORED_STATE_NOT_PUSHED, detail)
}
