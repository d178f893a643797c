//! Completing a state from the journal that a run has left, on this machine or on the server.

use std::path::PathBuf;

use yuba_state::State;
use yuba_syntax::Diagnostics;

use super::{Held, StoredState};
use crate::diagnostics;
use crate::errored::ERRORED_STATE;
use crate::files::{Access, Open, OpenFile, directory_of, write_new};
use crate::journal::leftover::{Examination, Leftover, announce_recovery, complete, continues, discard, read_journal};
use crate::journal::line::{fingerprint, last_announced};
use crate::kit::store::{RunState, ServerJournal, StoreError, StoreErrorKind, Stored};
use crate::store::Reading;

/// The journal that a run has left.
struct FoundJournal {
    bytes: Option<Vec<u8>>,
    /// Whether the server has a copy that is to be removed once the journal is settled.
    has_copy: bool,
}

/// Whether the journal that a run has left is put in order on disk.
pub(super) enum Repair {
    /// With the lock of the journal, if it exists.
    Allowed { _guard: Option<Box<dyn OpenFile>> },
    /// This process has no lock, or another process is writing the journal.
    Refused,
}

impl StoredState {
    /// Decides about repairs before the state is read. A store without locks does not exclude other runs, and a run without the
    /// lock of the store may go on: the lock of the journal excludes both.
    pub(super) fn repair(&self) -> Repair {
        let has_journal = || self.lasts() && self.backend.files.exists(&self.journal).unwrap_or(true);
        match self.held {
            Held::Nothing => Repair::Refused,
            _ if has_journal() => match self.try_guard() {
                Ok(Some(guard)) => Repair::Allowed { _guard: Some(guard) },
                Ok(None) => Repair::Refused,
                Err(error) => {
                    tracing::debug!(%error, "the lock of the journal cannot be taken");
                    Repair::Refused
                }
            },
            Held::Lock(_) => Repair::Allowed { _guard: None },
            Held::WithoutLock => Repair::Refused,
        }
    }

    /// Whether another process of this machine is writing the journal.
    fn is_live(&self) -> bool {
        let opened = self.backend.files.open(&self.journal_lock(), Open::Existing);
        opened.and_then(|mut file| file.locked_by_other()).unwrap_or(false)
    }

    /// The stored state. With the lock, a snapshot that an interrupted run of this machine has announced is accepted although the
    /// run did not complete the write.
    pub(super) fn stored(&self) -> Result<Option<Stored>, StoreError> {
        let announced = match self.held {
            Held::Lock(_) if self.lasts() => {
                // `recover` reports a journal that cannot be read.
                let journal = read_journal(self.backend.files.as_ref(), &self.journal).ok().flatten();
                journal.and_then(|journal| last_announced(&journal, self.backend.sealing.as_ref()))
            }
            _ => None,
        };
        self.backend.retrying(|| match &announced {
            Some(announced) => {
                let is_of_run = |content: &[u8]| fingerprint(content) == *announced;
                self.store().read_interrupted(&self.workspace, &is_of_run)
            }
            None => self.store().read(&self.workspace),
        })
    }

    /// Completes what was read from a journal that a run has left.
    pub(super) fn recover(
        &mut self,
        mut state: Option<State>,
        content: &[u8],
        repair: &Repair,
        mut said: Diagnostics,
    ) -> Result<Reading, Diagnostics> {
        let (files, journal_at, location) = (self.files(), self.journal.clone(), PathBuf::from(&self.location));
        let command = format!("yuba state push {ERRORED_STATE}");
        let in_order = matches!(repair, Repair::Allowed { .. });
        let sealing = self.backend.sealing.clone();
        let examination = Examination {
            files: files.as_ref(),
            journal: &journal_at,
            state: &location,
            sealing: sealing.as_ref(),
            in_order,
            command: &command,
        };
        let FoundJournal { bytes, has_copy } = self.found_journal(&examination, state.as_ref(), content, &mut said)?;
        let (leftover, mut left) = examination
            .run(bytes, state.as_ref(), content, || self.is_live(), &mut said)
            .map_err(|error| diagnostics::not_read(&journal_at, &error))?;
        self.leftover = leftover;
        let (journal, live) =
            left.as_mut().map_or_else(Default::default, |left| (std::mem::take(&mut left.journal), left.live));
        let mut recovered = left.map(|left| complete(&mut state, left, &command)).unwrap_or_default();
        if in_order {
            let saved = match state.as_mut().filter(|_| recovered.edits > 0) {
                Some(state) => self.save_recovered(state, &journal),
                None => Ok(()),
            };
            match saved {
                // Everything is still where it was, and in memory.
                Err(problems) => said.extend(diagnostics::as_warnings(problems)),
                Ok(()) => {
                    recovered.saved = true;
                    if self.leftover == Leftover::Included {
                        discard(files.as_ref(), &journal_at, &location, &recovered, &mut said);
                        self.leftover = Leftover::None;
                    }
                    if has_copy && self.leftover == Leftover::None {
                        self.remove_copy();
                    }
                }
            }
        } else if recovered.damaged_lines > 0 && !live {
            said.push(diagnostics::damaged_journal(&location, Ok(journal_at)));
        }
        let recovered = (!live && !recovered.is_nothing()).then_some(recovered);
        Ok(Reading { state, diagnostics: said, recovered })
    }

    /// The journal of this machine, or that of another machine from the server. With the lock, the latter gets a file here, so
    /// that everything that happens to journals happens to it.
    fn found_journal(
        &self,
        examination: &Examination<'_>,
        state: Option<&State>,
        content: &[u8],
        said: &mut Diagnostics,
    ) -> Result<FoundJournal, Diagnostics> {
        let unreadable = |error: std::io::Error| Diagnostics::from(diagnostics::not_read(&self.journal, &error));
        let bytes = read_journal(examination.files, &self.journal).map_err(unreadable)?;
        let Some(server) = self.backend.store.server_journal() else {
            return Ok(FoundJournal { bytes, has_copy: false });
        };
        let Some(lines) = self.left_on_server(server, examination)? else {
            return Ok(FoundJournal { bytes, has_copy: false });
        };
        // The journal of the same run on this machine has all lines of its copy.
        let is_better = |bytes: &Vec<u8>| bytes.starts_with(&lines) || continues(bytes, content, examination.sealing);
        if bytes.as_ref().is_some_and(is_better) {
            return Ok(FoundJournal { bytes, has_copy: true });
        }
        if examination.in_order {
            // A journal of this machine that belongs to another state is saved for the user first.
            examination.run(bytes, state, content, || false, said).map_err(unreadable)?;
            let write = || {
                examination.files.create_directory(directory_of(&self.journal))?;
                write_new(examination.files, &self.journal, &lines, Access::Private).map(drop)
            };
            write().map_err(unreadable)?;
        }
        Ok(FoundJournal { bytes: Some(lines), has_copy: true })
    }

    /// The lines that a run has left on the server; none while that run may go on.
    fn left_on_server(
        &self,
        server: &dyn ServerJournal,
        examination: &Examination<'_>,
    ) -> Result<Option<Vec<u8>>, Diagnostics> {
        match self.backend.retrying(|| server.read(&self.workspace)) {
            Ok(Some(left)) if examination.in_order || left.run == RunState::Over => Ok(Some(left.lines)),
            Ok(_) => Ok(None),
            // Without the lock nothing is decided by it.
            Err(error) if !examination.in_order && error.kind != StoreErrorKind::Transient => Ok(None),
            Err(error) => Err(diagnostics::store_not_read(&self.location, &error).into()),
        }
    }

    /// Removes the copy of the journal on the server. One that stays says that all its edits are in the state.
    fn remove_copy(&self) {
        if let Some(server) = self.backend.store.server_journal()
            && let Err(error) = self.backend.retrying(|| server.remove(&self.workspace))
        {
            tracing::debug!(reason = %error, "the journal on the server stays");
        }
    }

    fn save_recovered(&mut self, state: &mut State, journal: &[u8]) -> Result<(), Diagnostics> {
        self.number(state);
        let (files, path, serial) = (self.files(), self.journal.clone(), state.serial);
        let mut announce = |hash: &str| announce_recovery(files.as_ref(), &path, journal, serial, hash);
        self.save(state, &mut announce).map_err(|failure| self.not_saved(failure))?;
        self.keep_known(state.clone());
        Ok(())
    }
}
