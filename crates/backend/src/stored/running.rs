//! The journal of a state in a byte store while an apply runs.

use std::sync::Arc;
use std::time::Instant;

use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

use super::watch::LockWatch;
use super::{SaveFailure, StoredState};
use crate::files::{OpenFile, StateFiles};
use crate::journal::line::Base;
use crate::journal::writer::{Unsent, Writer};
use crate::journal::{ABOVE_RECOVERY, Journal, JournalOperation, OperationId};
use crate::kit::store::{Appending, StoreError, StoreErrorKind};
use crate::kit::workspaces::Snapshots;
use crate::store::Saved;

/// A journal that is being written, with the state that it continues.
pub(super) struct Running<'a> {
    state: &'a mut StoredState,
    file: Option<JournalFile>,
    /// Operations so far, if the file does not exist.
    begun: u32,
    /// Reason why the store did not save a snapshot, reported already.
    reported: Option<StoreErrorKind>,
    watch: LockWatch,
    copy: JournalCopy,
    /// When the last snapshot was saved, or the journal was started.
    saved_at: Instant,
}

/// Whether the server gets a copy of the journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JournalCopy {
    Sent,
    /// The server refused lines. It has the beginning of the journal, and nothing is appended after the gap.
    Refused,
}

struct JournalFile {
    writer: Writer,
    files: Arc<dyn StateFiles>,
    /// Prevents other processes of this machine from treating the journal as abandoned.
    _guard: Box<dyn OpenFile>,
}

impl<'a> Running<'a> {
    pub(super) fn new(state: &'a mut StoredState, writer: Option<(Writer, Box<dyn OpenFile>)>) -> Running<'a> {
        let files = state.files();
        let file = writer.map(|(writer, guard)| JournalFile { writer, files, _guard: guard });
        let (store, environment) = (&state.backend.store, &state.backend.environment);
        let watch = LockWatch::new(store, &state.workspace, state.lock_id(), environment.lock_checks);
        Running { state, file, begun: 0, reported: None, watch, copy: JournalCopy::Sent, saved_at: Instant::now() }
    }

    /// The lock is lost: nothing new starts, and the state is not written to the store.
    fn lost(&self) -> Option<StoreError> {
        self.watch.lost().map(|reason| StoreError::new(StoreErrorKind::LockLost, reason))
    }

    /// Sends what the copy of the journal on the server lacks. Everything is on this machine already, so a failure takes nothing
    /// back. If it shows that the lock is lost, no further operation starts.
    fn send_copy(&mut self) {
        let is_sent = self.copy == JournalCopy::Sent;
        let Some(server) = self.state.backend.store.server_journal().filter(|_| is_sent) else { return };
        let unsent = self.file.as_mut().and_then(|file| file.writer.unsent());
        let Some(Unsent { lines, replaces }) = unsent else { return };
        let mode = if replaces { Appending::Restart } else { Appending::Continue };
        let _span = tracing::debug_span!("append to server journal", bytes = lines.len()).entered();
        let sent = self.state.backend.retrying(|| server.append(&self.state.workspace, &lines, mode));
        match sent {
            Ok(()) => {}
            Err(error) if error.kind == StoreErrorKind::LockLost => self.watch.note(error.reason),
            Err(error) => {
                self.copy = JournalCopy::Refused;
                tracing::warn!(reason = %error, "the journal has no copy on the server from here on");
            }
        }
    }

    fn with_file(
        &mut self,
        work: impl FnOnce(&mut Writer, &dyn StateFiles) -> std::io::Result<()>,
    ) -> Result<(), Diagnostics> {
        let Some(JournalFile { writer, files, .. }) = &mut self.file else { return Ok(()) };
        work(writer, files.as_ref()).map_err(|error| self.state.not_saved(SaveFailure::Journal(error)))
    }
}

impl Journal for Running<'_> {
    fn begin(&mut self, operation: JournalOperation) -> OperationId {
        match &mut self.file {
            Some(file) => file.writer.begin(operation),
            None => {
                self.begun = self.begun.wrapping_add(1);
                OperationId(self.begun)
            }
        }
    }

    fn finish(&mut self, operation: OperationId, edits: &[Edit]) {
        if let Some(file) = &mut self.file {
            file.writer.edits(Some(operation), edits);
        }
    }

    fn append(&mut self, edits: &[Edit]) {
        if let Some(file) = self.file.as_mut().filter(|_| !edits.is_empty()) {
            file.writer.edits(None, edits);
        }
    }

    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        if let Some(lost) = self.lost() {
            self.reported = Some(StoreErrorKind::LockLost);
            return Err(self.state.not_saved(SaveFailure::Store(lost)));
        }
        self.with_file(|writer, files| {
            writer.reserve(files)?;
            writer.hand_over(files)
        })
    }

    fn flush(&mut self) -> Result<(), Diagnostics> {
        self.with_file(Writer::flush)?;
        self.send_copy();
        Ok(())
    }

    fn due(&self) -> bool {
        self.file.as_ref().is_none_or(|file| file.writer.due())
    }

    fn wants_checkpoint(&self) -> bool {
        // A lost lock is reported where snapshots are: operations that have ended count as finished.
        let is_lost = self.watch.lost().is_some() && self.reported != Some(StoreErrorKind::LockLost);
        let is_allowed = match self.state.backend.store.snapshots() {
            Snapshots::Usual => true,
            Snapshots::AtMostEvery(interval) => self.saved_at.elapsed() >= interval,
            Snapshots::None => false,
        };
        is_lost || is_allowed && self.file.as_ref().is_some_and(|file| file.writer.wants_checkpoint())
    }

    fn checkpoint(&mut self, state: &mut State) -> Result<(), Diagnostics> {
        let started = Instant::now();
        if let Some(lost) = self.lost() {
            self.reported = Some(StoreErrorKind::LockLost);
            return Err(self.state.not_saved(SaveFailure::Store(lost)));
        }
        if self.state.number(state) == Saved::Unchanged {
            return self.flush();
        }
        let serial = state.serial;
        let saved = self.save_announced(state, serial, Announcement::Required);
        let (sha256, length) = saved.map_err(|failure| {
            if let SaveFailure::Store(error) = &failure {
                self.reported = Some(error.kind);
            }
            self.state.not_saved(failure)
        })?;
        self.saved_at = Instant::now();
        self.state.keep_known(state.clone());
        let base = Base { lineage: state.lineage.clone(), serial: state.serial, sha256 };
        self.with_file(|writer, files| writer.restart(files, base, length, started))
    }

    fn close(mut self: Box<Self>, state: &mut State) -> Result<Saved, Diagnostics> {
        let changed = self.state.number(state);
        if let Some(file) = &mut self.file {
            file.writer.release();
        }
        if let Some(lost) = self.lost() {
            return Err(self.give_up(state, SaveFailure::Store(lost)));
        }
        if changed == Saved::Changed || self.state.version.is_none() {
            let serial = state.serial;
            // If the announcement fails, the snapshot is all the more necessary.
            if let Err(failure) = self.save_announced(state, serial, Announcement::Tried) {
                return Err(self.give_up(state, failure));
            }
        }
        // A second copy of a state of this size costs too much memory.
        self.state.known = None;
        if let Some(file) = &mut self.file {
            // A journal that stays says that all its edits are in the snapshot, so the next reader removes it.
            let _ = file.writer.remove(file.files.as_ref());
            let _ = file.files.remove(&self.state.journal_lock());
        }
        if let Some(server) = self.state.backend.store.server_journal() {
            let _ = server.remove(&self.state.workspace);
        }
        Ok(changed)
    }
}

/// Whether a snapshot needs its announcement in the journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announcement {
    Required,
    Tried,
}

impl Running<'_> {
    /// Saves a snapshot that the journal, and its copy on the server, announce first.
    fn save_announced(
        &mut self,
        state: &State,
        serial: u64,
        announcement: Announcement,
    ) -> Result<(String, u64), SaveFailure> {
        let content = self.state.content_of(state).map_err(SaveFailure::Other)?;
        let hash = crate::journal::line::fingerprint(&content);
        if let Some(file) = &mut self.file {
            let announced = file.writer.announce_snapshot(file.files.as_ref(), serial, &hash);
            if announcement == Announcement::Required {
                announced.map_err(SaveFailure::Journal)?;
            }
        }
        self.send_copy();
        if let Some(lost) = self.lost() {
            return Err(SaveFailure::Store(lost));
        }
        self.state.store_content(&content, &hash)?;
        Ok((hash, content.len() as u64))
    }

    /// The final state could not be saved. The journal stays, and says that the state is in another file.
    fn give_up(&mut self, state: &mut State, failure: SaveFailure) -> Diagnostics {
        let kind = match &failure {
            SaveFailure::Store(error) => Some(error.kind),
            SaveFailure::Journal(_) | SaveFailure::Other(_) => None,
        };
        // Recovery saves what the journal has under a lower serial, so that this state may follow it. A state that another
        // run has saved stays, and has a higher serial: the journal must not be taken for one whose state has arrived.
        let is_conflict = kind == Some(StoreErrorKind::Conflict);
        if !is_conflict {
            state.serial = state.serial.saturating_add(ABOVE_RECOVERY);
        }
        if let Some(file) = &mut self.file {
            let files = file.files.as_ref();
            match is_conflict {
                true => drop(file.writer.flush(files)),
                false => file.writer.give_up(files, state.serial),
            }
        }
        match kind.is_some() && kind == self.reported {
            true => Diagnostics::new(),
            false => self.state.not_saved(failure),
        }
    }
}
