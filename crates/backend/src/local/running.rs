//! The journal of a state file while an apply runs.

use std::path::PathBuf;
use std::time::Instant;

use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

use super::state_file::StateFile;
use crate::diagnostics;
use crate::journal::Journal;
use crate::journal::line::{Base, Operation, OperationId};
use crate::journal::writer::{Writer, journal_path};
use crate::store::Saved;

/// A journal that is being written, with the store whose state it continues.
pub(super) struct Running<'a> {
    store: &'a mut StateFile,
    target: PathBuf,
    writer: Writer,
}

impl<'a> Running<'a> {
    pub(super) fn new(store: &'a mut StateFile, target: PathBuf, writer: Writer) -> Running<'a> {
        Running { store, target, writer }
    }

    fn failed(&self, error: &std::io::Error) -> Diagnostics {
        diagnostics::journal_not_written(&journal_path(&self.target), &self.store.paths.write, error).into()
    }
}

impl Journal for Running<'_> {
    fn begin(&mut self, operation: Operation) -> OperationId {
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
        self.writer.hand_over(files.as_ref()).map_err(|error| self.failed(&error))
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
        if !self.store.number(state) {
            return self.flush();
        }
        let content = self.store.content_of(state)?;
        let Running { store, target, writer } = self;
        let journal = (journal_path(target), store.paths.write.clone());
        let (sha256, length) = store.save(target, &content, &mut |fingerprint| {
            let announced = writer.announce_snapshot(files.as_ref(), state.serial, fingerprint);
            announced.map_err(|error| diagnostics::journal_not_written(&journal.0, &journal.1, &error).into())
        })?;
        store.migrates = false;
        store.known = Some(Some(state.clone()));
        let base = Base { lineage: state.lineage.clone(), serial: state.serial, sha256 };
        let restarted = writer.restart(files.as_ref(), base, length, started);
        restarted.map_err(|error| self.failed(&error))
    }

    fn close(mut self: Box<Self>, state: &mut State) -> Result<Saved, Diagnostics> {
        let files = self.store.files.clone();
        let changed = self.store.number(state);
        if changed || !self.store.is_as_written(&self.target, state) {
            let content = self.store.content_of(state)?;
            let Running { store, target, writer } = &mut *self;
            store.save(target, &content, &mut |fingerprint| {
                // When this fails the snapshot is all the more needed.
                let _ = writer.announce_snapshot(files.as_ref(), state.serial, fingerprint);
                Ok(())
            })?;
        }
        // A state of this size is not kept twice for somebody who may ask again.
        self.store.known = None;
        // A journal that stays says that all its edits are in the snapshot, so the next reader removes it.
        let _ = self.writer.remove(files.as_ref());
        Ok(if changed { Saved::Changed } else { Saved::Unchanged })
    }
}
