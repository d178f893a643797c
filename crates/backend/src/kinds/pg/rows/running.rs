//! A running apply over rows: each flush is one transaction with the rows that finished operations have changed.
//!
//! The transaction takes the place of the journal on this machine: what it has committed is in the state already, and another machine
//! sees it at once. Where the database cannot be reached, or the locks are lost, results go to a file of this machine. They are
//! reported as saved on this machine only, and no further operation starts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use yuba_state::{Edit, RowKey, State};
use yuba_syntax::Diagnostics;

use super::changes::OperationColumns;
use super::state::{Numbering, RowState, SaveFailure, Takeover};
use crate::diagnostics;
use crate::journal::{ABOVE_RECOVERY, Journal, JournalOperation, OperationId};
use crate::kit::store::{StoreError, StoreErrorKind};
use crate::store::Saved;

/// Edits that are worth a transaction.
const MANY: usize = 500;
/// Maximum time that finished operations wait for further operations before a commit.
const LONG: Duration = Duration::from_millis(50);

/// A run in progress.
pub(super) struct Running<'a> {
    state: &'a mut RowState,
    /// The state with all edits so far.
    current: State,
    /// Rows that differ from those in the database, and whether their rows exist there.
    dirty: BTreeMap<RowKey, bool>,
    /// Edits that are not in the database.
    edits: Vec<Edit>,
    operations: OperationColumns,
    begun: u32,
    /// Since when edits wait.
    waiting: Option<Instant>,
    checked: Instant,
    has_changed: bool,
    /// Why nothing more is written to the database.
    failed: Option<StoreError>,
    /// The failure is among the diagnostics of the run.
    is_reported: bool,
}

impl<'a> Running<'a> {
    pub(super) fn new(state: &'a mut RowState, current: State) -> Running<'a> {
        Running {
            state,
            current,
            dirty: BTreeMap::new(),
            edits: Vec::new(),
            operations: OperationColumns::default(),
            begun: 0,
            waiting: None,
            checked: Instant::now(),
            has_changed: false,
            failed: None,
            is_reported: false,
        }
    }

    fn note(&mut self, edits: &[Edit]) {
        for edit in edits {
            let mut keys = BTreeSet::new();
            self.current.rows_of_edit(edit, &mut keys);
            for key in keys {
                let exists = self.current.has_row(&key);
                self.dirty.entry(key).or_insert(exists);
            }
            self.current.apply(edit.clone());
        }
        self.edits.extend_from_slice(edits);
        self.waiting.get_or_insert_with(Instant::now);
    }

    /// Writes what has changed. After a failure everything is still here.
    fn commit(&mut self, numbering: &Numbering) -> Result<(), SaveFailure> {
        if self.dirty.is_empty() && self.operations.is_empty() && !numbering.creates {
            return Ok(());
        }
        let _span = tracing::debug_span!("commit rows", rows = self.dirty.len()).entered();
        self.state.commit(&self.dirty, &self.current, numbering, &self.operations, Takeover::Refused)?;
        self.has_changed |= !self.dirty.is_empty();
        self.dirty.clear();
        self.edits.clear();
        self.operations = OperationColumns::default();
        self.waiting = None;
        self.checked = Instant::now();
        Ok(())
    }

    /// Notes why nothing more can be written. Results of content are reported, and not noted.
    fn fail(&mut self, failure: &SaveFailure) {
        if let SaveFailure::Store(error) = failure {
            self.failed = Some(error.clone());
        }
    }

    fn reported(&mut self, failure: SaveFailure) -> Diagnostics {
        self.is_reported = true;
        self.state.not_saved(failure)
    }

    /// Writes the edits that the database lacks to a local file. Returns diagnostics about results that only this machine has.
    fn saved_here(&mut self, error: StoreError) -> Diagnostics {
        self.is_reported = true;
        self.waiting = None;
        match self.state.keep_unsaved(&self.current, &self.edits) {
            Ok(None) => self.state.not_saved(SaveFailure::Store(error)),
            Ok(Some(path)) => diagnostics::pg_saved_here(&self.state.location, &path, &error).into(),
            Err(problems) => {
                let mut all = self.state.not_saved(SaveFailure::Store(error));
                all.extend(problems);
                all
            }
        }
    }
}

impl Journal for Running<'_> {
    fn begin(&mut self, operation: JournalOperation) -> OperationId {
        self.begun = self.begun.wrapping_add(1);
        self.operations.begun.push(i64::from(self.begun));
        self.operations.address.push(operation.address.to_string());
        self.operations.action.push(operation.action.to_string());
        OperationId(self.begun)
    }

    fn finish(&mut self, operation: OperationId, edits: &[Edit]) {
        self.operations.end(operation, "finished");
        self.note(edits);
    }

    fn fail(&mut self, operation: OperationId, edits: &[Edit]) {
        self.operations.end(operation, "failed");
        self.note(edits);
    }

    fn append(&mut self, edits: &[Edit]) {
        if !edits.is_empty() {
            self.note(edits);
        }
    }

    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        if self.failed.is_none()
            && let Err(failure) = self.commit(&Numbering::default())
        {
            self.fail(&failure);
            return Err(match failure {
                SaveFailure::Store(error) => self.saved_here(error),
                failure => self.reported(failure),
            });
        }
        if self.failed.is_none() && self.checked.elapsed() >= self.state.rows.environment.lock_checks {
            self.checked = Instant::now();
            self.failed = self.state.check_run().err();
        }
        match self.failed.clone() {
            Some(error) => Err(self.saved_here(error)),
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> Result<(), Diagnostics> {
        if self.failed.is_none() {
            match self.commit(&Numbering::default()) {
                Ok(()) => return Ok(()),
                Err(failure @ SaveFailure::Content(_)) => return Err(self.reported(failure)),
                Err(failure @ SaveFailure::Store(_)) => self.fail(&failure),
            }
        }
        // Results that only this machine has are not finished for other machines.
        match self.failed.clone() {
            Some(error) if !self.dirty.is_empty() => Err(self.saved_here(error)),
            _ => Ok(()),
        }
    }

    fn due(&self) -> bool {
        self.edits.len() >= MANY || self.waiting.is_some_and(|since| since.elapsed() >= LONG)
    }

    fn wants_checkpoint(&self) -> bool {
        false
    }

    fn checkpoint(&mut self, _state: &mut State) -> Result<(), Diagnostics> {
        Ok(())
    }

    fn close(mut self: Box<Self>, state: &mut State) -> Result<Saved, Diagnostics> {
        for key in self.current.rows_that_differ(state) {
            let exists = self.current.has_row(&key);
            self.dirty.entry(key).or_insert(exists);
        }
        self.current = state.clone();
        let was_reported = self.is_reported;
        let lost = self.failed.clone().filter(|error| error.kind == StoreErrorKind::LockLost);
        let closed = match lost {
            Some(error) => Err(SaveFailure::Store(error)),
            None => self.commit(&Numbering {
                creates: self.state.known.as_ref().is_none_or(Option::is_none),
                ..Numbering::default()
            }),
        };
        match closed {
            Ok(()) => {
                state.serial = self.state.serial;
                let has_changed = self.has_changed;
                self.state.forget_unsaved();
                // A second copy of a state of this size costs too much memory.
                self.state.known = None;
                Ok(if has_changed { Saved::Changed } else { Saved::Unchanged })
            }
            Err(failure) => {
                state.serial = self.state.serial.saturating_add(ABOVE_RECOVERY);
                match was_reported {
                    true => Err(Diagnostics::new()),
                    false => Err(self.reported(failure)),
                }
            }
        }
    }
}
