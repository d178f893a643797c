//! A journal that exists when a state is read: whether it continues that state, and what it adds.

use std::io;
use std::path::{Path, PathBuf};

use ecow::EcoString;
use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

use super::line::{self, fingerprint};
use super::recovery::{Continuation, contains, continuation, replay};
use super::{JournalOperation, Recovered};
use crate::diagnostics;
use crate::encryption::Sealing;
use crate::files::{StateFiles, beside, directory_of};
use crate::local::snapshot::put_aside;

/// Meaning of a leftover journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftover {
    /// No journal.
    None,
    /// Its edits are in the state that was read.
    Included,
    /// It belongs to something else and must not be lost.
    Foreign,
}

impl Leftover {
    /// Deals with a journal whose edits are saved now, or that belongs to something else.
    pub(crate) fn settle(&mut self, files: &dyn StateFiles, journal: &Path) -> io::Result<()> {
        match std::mem::replace(self, Leftover::None) {
            Leftover::None => Ok(()),
            Leftover::Included => match files.remove(journal) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            // A run that was not over when the journal was read may have removed it.
            Leftover::Foreign if !files.exists(journal)? => Ok(()),
            Leftover::Foreign => put_aside(files, journal, "orphan").map(drop),
        }
    }
}

/// The bytes of a journal, if the file exists.
pub(crate) fn read_journal(files: &dyn StateFiles, journal: &Path) -> io::Result<Option<Vec<u8>>> {
    match files.exists(journal)? {
        true => files.read(journal).map(Some),
        false => Ok(None),
    }
}

/// Whether a journal continues a state with this content.
pub(crate) fn continues(journal: &[u8], content: &[u8], sealing: Option<&Sealing>) -> bool {
    matches!(continuation(line::parse(journal, sealing), &fingerprint(content)), Continuation::Edits { .. })
}

/// Edits of an interrupted run.
#[derive(Debug)]
pub(crate) struct Left {
    lineage: EcoString,
    edits: Vec<Edit>,
    under_way: Vec<JournalOperation>,
    damaged: usize,
    /// The final state is in another file.
    is_rescued: bool,
    /// The run is not over: another process has the lock.
    pub(crate) live: bool,
    /// The bytes of the journal.
    pub(crate) journal: Vec<u8>,
}

/// Path of a journal, and the state to compare it with.
pub(crate) struct Examination<'a> {
    pub(crate) files: &'a dyn StateFiles,
    pub(crate) journal: &'a Path,
    /// The state, as messages call it.
    pub(crate) state: &'a Path,
    pub(crate) sealing: Option<&'a Sealing>,
    /// We have the lock, so what was left is put in order on disk.
    pub(crate) in_order: bool,
    /// Advice for saving the final state of a run that could not save it.
    pub(crate) command: &'a str,
}

impl Examination<'_> {
    /// The entries of a journal that continues this content. Any other journal is saved for the user.
    pub(crate) fn run(
        &self,
        found: Option<Vec<u8>>,
        state: Option<&State>,
        content: &[u8],
        is_live: impl FnOnce() -> bool,
        said: &mut Diagnostics,
    ) -> io::Result<(Leftover, Option<Left>)> {
        let Some(bytes) = found else { return Ok((Leftover::None, None)) };
        let (label, explain): (_, Box<dyn FnOnce(io::Result<PathBuf>) -> _>) =
            match continuation(line::parse(&bytes, self.sealing), &fingerprint(content)) {
                Continuation::Blank => return Ok((Leftover::Included, None)),
                Continuation::Edits { base, edits, under_way, damaged, rescued } => {
                    let live = !self.in_order && is_live();
                    let leftover = if live { Leftover::Foreign } else { Leftover::Included };
                    let (lineage, is_rescued) = (base.lineage, rescued.is_some());
                    let left = Left { lineage, edits, under_way, damaged, is_rescued, live, journal: bytes };
                    return Ok((leftover, Some(left)));
                }
                Continuation::Other { base, rescued: Some(serial), addresses, under_way, .. } => {
                    let follows = |state: &State| state.lineage == base.lineage && state.serial >= serial;
                    if state.is_some_and(follows) {
                        // The final state of that run has arrived.
                        return Ok((Leftover::Included, None));
                    }
                    let (path, command) = (self.state, self.command);
                    said.push(diagnostics::rescued_elsewhere(path, self.journal, command, &addresses, &under_way));
                    return Ok((Leftover::Foreign, None));
                }
                // Another machine has completed the state from the copy of this journal on the server.
                Continuation::Other { base, edits, rescued: None, .. }
                    if !edits.is_empty()
                        && state.is_some_and(|state| state.lineage == base.lineage && contains(state, &edits)) =>
                {
                    return Ok((Leftover::Included, None));
                }
                Continuation::Other { base, addresses, under_way, rescued: None, .. } => {
                    let current = state.map(|state| (state.lineage.clone(), state.serial));
                    let path = self.state;
                    let explain =
                        move |kept| diagnostics::other_journal(path, kept, &base, current, &addresses, &under_way);
                    ("orphan", Box::new(explain))
                }
                Continuation::Unreadable => {
                    ("damaged", Box::new(|kept| diagnostics::unreadable_journal(self.state, kept)))
                }
            };
        let kept = match self.in_order {
            true => put_aside(self.files, self.journal, label),
            false => Ok(self.journal.to_owned()),
        };
        let leftover = if self.in_order && kept.is_ok() { Leftover::None } else { Leftover::Foreign };
        said.push(explain(kept));
        Ok((leftover, None))
    }
}

/// Removes a journal whose edits are saved. One with damaged lines is saved for the user.
pub(crate) fn discard(
    files: &dyn StateFiles,
    journal: &Path,
    state: &Path,
    recovered: &Recovered,
    said: &mut Diagnostics,
) {
    if recovered.damaged_lines > 0 {
        said.push(diagnostics::damaged_journal(state, put_aside(files, journal, "damaged")));
    } else if files.remove(journal).is_ok() {
        let _ = files.remove(&beside(journal, "tmp"));
        let _ = files.sync_directory(directory_of(journal));
    }
}

/// Completes a state from what was left.
pub(crate) fn complete(state: &mut Option<State>, left: Left, command: &str) -> Recovered {
    if state.is_none() && !left.edits.is_empty() {
        let mut first = State::empty();
        first.lineage = left.lineage;
        *state = Some(first);
    }
    let mut recovered = state.as_mut().map(|state| replay(state, left.edits)).unwrap_or_default();
    recovered.set_under_way(left.under_way);
    recovered.damaged_lines = left.damaged;
    recovered.rescued = left.is_rescued.then(|| command.to_owned());
    recovered
}

/// Notes in a journal that a snapshot with everything in it is about to be saved, so that being interrupted there does no harm.
pub(crate) fn announce_recovery(
    files: &dyn StateFiles,
    path: &Path,
    journal: &[u8],
    serial: u64,
    fingerprint: &str,
) -> io::Result<()> {
    let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    let mut note = Vec::new();
    line::push_snapshot(&mut note, serial, fingerprint);
    let mut file = files.open(path, crate::files::Open::Existing)?;
    file.set_len(whole)?;
    file.write_at(whole, &note)?;
    file.sync()
}
