//! The journal of a state file while an apply runs.

use std::path::PathBuf;
use std::time::Instant;

use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

use super::replaced::{Cause, Replaced, SaveFailure};
use super::state_file::StateFile;
use crate::diagnostics;
use crate::journal::line::{Base, JournalOperation, OperationId};
use crate::journal::writer::{Writer, journal_path};
use crate::journal::{ABOVE_RECOVERY, Journal};
use crate::store::Saved;

/// A journal that is being written, with the store whose state it continues.
pub(super) struct Running<'a> {
    store: &'a mut StateFile,
    target: PathBuf,
    writer: Writer,
    /// Reason why something could not be saved, reported already.
    told: Vec<Cause>,
}

impl<'a> Running<'a> {
    pub(super) fn new(store: &'a mut StateFile, target: PathBuf, writer: Writer) -> Running<'a> {
        Running { store, target, writer, told: Vec::new() }
    }

    fn failed(&mut self, error: &std::io::Error) -> Diagnostics {
        self.told.push(Cause::Io(error.kind()));
        diagnostics::journal_not_written(&journal_path(&self.target), &self.store.paths.write, error).into()
    }
}

impl Journal for Running<'_> {
    fn begin(&mut self, operation: JournalOperation) -> OperationId {
        self.writer.begin(operation)
    }

    fn finish(&mut self, operation: OperationId, edits: &[Edit]) {
        self.writer.edits(Some(operation), edits);
    }

    fn append(&mut self, edits: &[Edit]) {
        if !edits.is_empty() {
            self.writer.edits(None, edits);
        }
    }

    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        let files = self.store.files.clone();
        let reserved = self.writer.reserve(files.as_ref());
        reserved.and_then(|()| self.writer.hand_over(files.as_ref())).map_err(|error| self.failed(&error))
    }

    fn flush(&mut self) -> Result<(), Diagnostics> {
        let files = self.store.files.clone();
        self.writer.flush(files.as_ref()).map_err(|error| self.failed(&error))
    }

    fn due(&self) -> bool {
        self.writer.due()
    }

    fn wants_checkpoint(&self) -> bool {
        self.writer.wants_checkpoint()
    }

    fn checkpoint(&mut self, state: &mut State) -> Result<(), Diagnostics> {
        let (files, started) = (self.store.files.clone(), Instant::now());
        if self.store.number(state) == Saved::Unchanged {
            return self.flush();
        }
        let content = self.store.content_of(state)?;
        let Running { store, target, writer, .. } = self;
        let saved = store.save(target, &content, &mut |fingerprint| {
            writer.announce_snapshot(files.as_ref(), state.serial, fingerprint).map_err(SaveFailure::File)
        });
        let (sha256, length) = saved.map_err(|failure| {
            self.told.extend(failure.cause());
            failure.diagnostics(&self.store.paths)
        })?;
        drop(content);
        self.store.migrates = false;
        self.store.keep_known(state.clone());
        let base = Base { lineage: state.lineage.clone(), serial: state.serial, sha256 };
        let restarted = self.writer.restart(files.as_ref(), base, length, started);
        restarted.map_err(|error| self.failed(&error))
    }

    fn close(mut self: Box<Self>, state: &mut State) -> Result<Saved, Diagnostics> {
        let files = self.store.files.clone();
        let saved = self.store.number(state);
        self.writer.release();
        if let Err(failure) = self.save_last(state, saved) {
            // Recovery saves what the journal has under a lower serial, so that this state may follow it. A state that
            // another run has saved stays: what to do about it is for the user to decide.
            if !matches!(failure, SaveFailure::Replaced(Replaced::Newer { .. })) {
                state.serial = state.serial.saturating_add(ABOVE_RECOVERY);
            }
            self.writer.give_up(files.as_ref(), state.serial);
            let is_told = failure.cause().is_some_and(|cause| self.told.contains(&cause));
            return Err(if is_told { Diagnostics::new() } else { failure.diagnostics(&self.store.paths) });
        }
        // A second copy of a state of this size costs too much memory.
        self.store.known = None;
        // A journal that stays says that all its edits are in the snapshot, so the next reader removes it.
        let _ = self.writer.remove(files.as_ref());
        Ok(saved)
    }
}

impl Running<'_> {
    fn save_last(&mut self, state: &State, saved: Saved) -> Result<(), SaveFailure> {
        let Running { store, target, writer, .. } = self;
        if saved == Saved::Unchanged && store.is_as_written(target, state) {
            return match store.replaced().map_err(SaveFailure::File)? {
                Some(replaced) => Err(SaveFailure::Replaced(replaced)),
                None => Ok(()),
            };
        }
        let files = store.files.clone();
        let content = store.content_of(state).map_err(SaveFailure::Other)?;
        store.save(target, &content, &mut |fingerprint| {
            // If this fails, the snapshot is all the more necessary.
            let _ = writer.announce_snapshot(files.as_ref(), state.serial, fingerprint);
            Ok(())
        })?;
        Ok(())
    }
}
