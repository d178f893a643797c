//! Completing a state from the journal that an interrupted run has left.

use std::collections::{BTreeMap, BTreeSet};

use ecow::EcoString;
use yuba_state::{Edit, State};

use super::line::{Base, JournalOperation, Line, Lines, OperationId};

/// Findings about an interrupted run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Number of edits taken from the journal.
    pub edits: usize,
    /// The objects that they finished, in order, each once. Objects of operations in progress are not among them.
    pub addresses: Vec<EcoString>,
    /// Operations that had begun and of which no result is known.
    pub under_way: Vec<JournalOperation>,
    /// The last snapshot was being saved, and has been completed.
    pub snapshot: bool,
    /// Number of unreadable lines of the journal; it is saved for the user if there are any.
    pub damaged_lines: usize,
    /// Whether the completed state is on disk; otherwise it is in memory only.
    pub saved: bool,
    /// The changes were in the state before: each was saved when it was finished.
    pub is_in_state: bool,
    /// The run could not save its final state and left it in another file; this command saves it.
    pub rescued: Option<String>,
}

impl Recovered {
    /// Whether nothing was recovered.
    pub(crate) fn is_nothing(&self) -> bool {
        self.edits == 0 && self.under_way.is_empty() && !self.snapshot && self.damaged_lines == 0
    }

    /// Records operations without a result. Their addresses do not count as finished.
    pub(crate) fn set_under_way(&mut self, under_way: Vec<JournalOperation>) {
        self.addresses.retain(|address| under_way.iter().all(|operation| operation.address != *address));
        self.under_way = under_way;
    }
}

/// Relation of a journal to the snapshot beside it.
#[derive(Debug)]
pub(crate) enum Continuation {
    /// It continues the snapshot with these edits.
    Edits { base: Base, edits: Vec<Edit>, under_way: Vec<JournalOperation>, damaged: usize, rescued: Option<u64> },
    /// It belongs to another snapshot, which had this serial.
    Other {
        base: Base,
        edits: Vec<Edit>,
        addresses: Vec<EcoString>,
        under_way: Vec<JournalOperation>,
        rescued: Option<u64>,
    },
    /// Nothing was ever written to it.
    Blank,
    /// It cannot be read at all.
    Unreadable,
}

/// Compares a journal with the snapshot that has this fingerprint.
pub(crate) fn continuation(found: Lines, fingerprint: &str) -> Continuation {
    let damaged = found.damaged;
    let mut lines = found.lines.into_iter();
    let base = match lines.next() {
        Some(Line::Header(base)) => base,
        None if damaged == 0 => return Continuation::Blank,
        _ => return Continuation::Unreadable,
    };
    let mut continues = base.sha256 == fingerprint;
    let mut edits = Vec::new();
    let mut all_addresses = Addresses::default();
    let mut open: BTreeMap<OperationId, JournalOperation> = BTreeMap::new();
    let mut rescued = None;
    for line in lines {
        match line {
            // A header within the file is nothing that is written.
            Line::Header(_) => return Continuation::Unreadable,
            Line::Begin(id, operation) => {
                open.insert(id, operation);
            }
            Line::Edits(id, more) => {
                if let Some(id) = id {
                    open.remove(&id);
                }
                all_addresses.extend(&more);
                edits.extend(more);
            }
            // The snapshot was saved, though the journal was not restarted: everything before is in it.
            Line::Snapshot { sha256, .. } if sha256 == fingerprint => {
                continues = true;
                edits.clear();
            }
            Line::Snapshot { .. } => {}
            Line::Rescued { serial } => rescued = Some(serial),
        }
    }
    let under_way: Vec<JournalOperation> = open.into_values().collect();
    if continues {
        Continuation::Edits { base, edits, under_way, damaged, rescued }
    } else {
        let mut addresses = all_addresses.ordered;
        addresses.retain(|address| under_way.iter().all(|operation| operation.address != *address));
        Continuation::Other { base, edits, addresses, under_way, rescued }
    }
}

/// Whether a state already has everything that these edits do.
pub(crate) fn contains(state: &State, edits: &[Edit]) -> bool {
    let mut completed = state.clone();
    edits.iter().for_each(|edit| completed.apply(edit.clone()));
    completed.same_content(state)
}

/// Addresses in the order of their first appearance.
#[derive(Default)]
pub(crate) struct Addresses {
    seen: BTreeSet<EcoString>,
    pub(crate) ordered: Vec<EcoString>,
}

impl Addresses {
    pub(crate) fn extend(&mut self, edits: &[Edit]) {
        for address in edits.iter().filter_map(address) {
            if self.seen.insert(address.clone()) {
                self.ordered.push(address);
            }
        }
    }
}

/// The object or output that an edit is about, as text.
fn address(edit: &Edit) -> Option<EcoString> {
    Some(match edit {
        Edit::SetObject { addr, deposed: Some(key), .. } => ecow::eco_format!("{addr} (deposed object {key})"),
        Edit::SetObject { addr, deposed: None, .. } | Edit::Depose { addr, .. } | Edit::Restore { addr, .. } => {
            ecow::eco_format!("{addr}")
        }
        Edit::Move { to, .. } => ecow::eco_format!("{to}"),
        Edit::SetProvider { resource, .. } => ecow::eco_format!("{resource}"),
        Edit::SetOutput { name, .. } => ecow::eco_format!("output.{name}"),
        Edit::SetCheckResults(_) => return None,
    })
}

/// Makes the edits.
pub(crate) fn replay(state: &mut State, edits: Vec<Edit>) -> Recovered {
    let mut addresses = Addresses::default();
    addresses.extend(&edits);
    let count = edits.len();
    for edit in edits {
        state.apply(edit);
    }
    Recovered { edits: count, addresses: addresses.ordered, ..Recovered::default() }
}
