//! States in a byte store: encryption, journal, serial and lineage, retries and locks, written once for all stores.
//!
//! The journal of a running apply is always on this machine, in the data directory: a server that does not respond cannot
//! lose the result of an operation. It is named by the location of the state, so that another backend of the same working
//! directory never continues it.

mod recovery;
mod running;
mod watch;

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use yuba_state::State;
use yuba_syntax::{Code, Diagnostics};

use crate::diagnostics::{self, HeldBy};
use crate::encryption::Sealing;
use crate::files::{LockAttempt, Open, OpenFile, StateFiles};
use crate::journal::Journal;
use crate::journal::leftover::Leftover;
use crate::journal::line::{Base, fingerprint};
use crate::journal::writer::Writer;
use crate::kit::BackendEnvironment;
use crate::kit::store::{
    Beginning, Lifetime, LockId, Precondition, Store, StoreError, StoreErrorKind, StoreVersion, UnlockRefusal, Write,
};
use crate::kit::workspaces::{Execution, Naming, StoredVariable, VersionMismatch, WorkspaceRemoval, WorkspaceService};
use crate::lock::{LockHolder, LockRefusal};
use crate::store::{
    Backend, LockOutcome, Reading, Saved, StateStore, SuccessorCheck, WayBack, compared, number, pushed,
};
use crate::workspace::DEFAULT_WORKSPACE;
use running::Running;

/// A backend over a byte store.
#[derive(Clone, Debug)]
pub(crate) struct StoredBackend {
    store: Arc<dyn Store>,
    files: Arc<dyn StateFiles>,
    environment: BackendEnvironment,
    sealing: Option<Sealing>,
}

impl StoredBackend {
    /// Journals go to the data directory of the environment.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        files: Arc<dyn StateFiles>,
        environment: &BackendEnvironment,
    ) -> StoredBackend {
        StoredBackend { store, files, environment: environment.clone(), sealing: None }
    }

    /// The same with states encrypted.
    #[must_use]
    pub(crate) fn encrypted(self, sealing: Option<Sealing>) -> StoredBackend {
        StoredBackend { sealing, ..self }
    }

    /// The state of a workspace, whether or not it exists.
    pub(crate) fn state(&self, workspace: &str) -> StoredState {
        let workspace = if workspace.is_empty() { DEFAULT_WORKSPACE } else { workspace };
        let location = self.store.describe(workspace);
        let name: String = fingerprint(location.as_bytes()).chars().take(16).collect();
        StoredState {
            backend: self.clone(),
            workspace: workspace.to_owned(),
            journal: self.environment.journals(workspace).join(format!("{name}.journal")),
            location,
            held: Held::Nothing,
            known: None,
            version: None,
            read_content: String::new(),
            started: None,
            leftover: Leftover::None,
            migrates: false,
        }
    }

    /// Repeats a request while its failure may pass.
    fn retrying<T>(&self, mut request: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut attempt = 0;
        loop {
            match request() {
                Err(error) if self.repeats(&error, &mut attempt) => {}
                done => return done,
            }
        }
    }

    /// Waits before the next attempt, if the failure may pass. Returns false after the last attempt.
    fn repeats(&self, error: &StoreError, attempt: &mut u32) -> bool {
        let retries = self.store.retries().unwrap_or(self.environment.retries);
        *attempt += 1;
        if error.kind != StoreErrorKind::Transient || *attempt >= retries.attempts {
            return false;
        }
        let pause = retries.pause_after(*attempt, error.retry_after);
        tracing::debug!(attempt = *attempt, pause_ms = pause.as_millis() as u64, reason = %error, "repeating a request");
        std::thread::sleep(pause);
        true
    }

    /// Names of the workspaces with a state, or none where the store has one state only.
    fn listed(&self) -> Result<Option<Vec<String>>, Diagnostics> {
        match self.retrying(|| self.store.workspaces()) {
            Ok(names) => Ok(Some(names)),
            Err(error) if error.kind == StoreErrorKind::NoWorkspaces => Ok(None),
            Err(error) => {
                let location = self.store.describe(DEFAULT_WORKSPACE);
                Err(diagnostics::store_workspaces_not_listed(&location, &error).into())
            }
        }
    }

    /// A request to the server about a workspace besides its state.
    fn of_service<T>(
        &self,
        workspace: &str,
        title: &'static Code,
        request: impl FnMut() -> Result<T, StoreError>,
    ) -> Result<T, Diagnostics> {
        self.retrying(request).map_err(|error| match error.kind {
            StoreErrorKind::NoWorkspaces => diagnostics::no_workspaces().into(),
            StoreErrorKind::NoDefaultWorkspace => diagnostics::no_default_workspace().into(),
            _ => diagnostics::of_workspace(title, &self.store.describe(workspace), &error).into(),
        })
    }

    /// Writes the first state of a workspace, so that it is listed.
    fn begin(&self, workspace: &str) -> Result<(), Diagnostics> {
        let mut state = self.state(workspace);
        let holder = LockHolder::ourselves("init", &self.environment.variables);
        let refused = |refusal| diagnostics::lock_refused(&self.store.describe(workspace), &refusal);
        state.try_lock(holder).map_err(refused)?;
        let begun = match state.read()?.state {
            Some(_) => Ok(()),
            None => state.write(&mut State::empty()).map(drop),
        };
        begun.and(state.unlock())
    }
}

impl Backend for StoredBackend {
    fn workspaces(&self) -> Result<Vec<String>, Diagnostics> {
        let Some(mut names) = self.listed()? else { return Err(diagnostics::no_workspaces().into()) };
        names.sort();
        if self.naming().has_default() {
            names.retain(|name| name != DEFAULT_WORKSPACE);
            names.insert(0, DEFAULT_WORKSPACE.to_owned());
        }
        Ok(names)
    }

    fn open(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        let state = self.state(workspace);
        if let Some(service) = self.store.workspace_service() {
            self.of_service(&state.workspace, &diagnostics::WORKSPACE_NOT_OPENED, || {
                service.prepare(&state.workspace)
            })?;
            return Ok(Box::new(state));
        }
        if self.store.beginning(&state.workspace) == Beginning::EmptyState {
            match self.listed()? {
                None if state.workspace != DEFAULT_WORKSPACE => return Err(diagnostics::no_workspaces().into()),
                Some(names) if !names.contains(&state.workspace) => self.begin(&state.workspace)?,
                _ => {}
            }
        }
        Ok(Box::new(state))
    }

    fn existing(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        Ok(Box::new(self.state(workspace)))
    }

    fn has_workspaces(&self) -> bool {
        !matches!(self.listed(), Ok(None))
    }

    fn naming(&self) -> Naming {
        self.store.workspace_service().map_or(Naming::WithDefault, WorkspaceService::naming)
    }

    fn execution(&self, workspace: &str) -> Result<Execution, Diagnostics> {
        let Some(service) = self.store.workspace_service() else { return Ok(Execution::Local) };
        self.of_service(workspace, &diagnostics::WORKSPACE_NOT_READ, || service.execution(workspace))
    }

    fn version_mismatch(&self, workspace: &str) -> Result<Option<VersionMismatch>, Diagnostics> {
        let Some(service) = self.store.workspace_service() else { return Ok(None) };
        self.of_service(workspace, &diagnostics::WORKSPACE_NOT_READ, || service.version_mismatch(workspace))
    }

    fn variables(&self, workspace: &str) -> Result<Vec<StoredVariable>, Diagnostics> {
        let Some(service) = self.store.workspace_service() else { return Ok(Vec::new()) };
        self.of_service(workspace, &diagnostics::WORKSPACE_VARIABLES_NOT_READ, || service.variables(workspace))
    }

    fn delete_workspace(&self, workspace: &str, removal: WorkspaceRemoval) -> Result<(), Diagnostics> {
        if (workspace.is_empty() || workspace == DEFAULT_WORKSPACE) && self.naming().has_default() {
            return Err(diagnostics::default_workspace_stays().into());
        }
        let deleted = self.retrying(|| match (self.store.workspace_service(), removal) {
            (Some(service), WorkspaceRemoval::OnlyEmpty) => service.delete_if_safe(workspace),
            _ => self.store.delete(workspace),
        });
        deleted.map_err(|error| {
            diagnostics::store_workspace_not_deleted(workspace, &self.store.describe(workspace), &error).into()
        })
    }
}

/// Whether this process has the lock of a state.
#[derive(Debug)]
enum Held {
    Nothing,
    /// The store has no locks.
    WithoutLock,
    Lock(LockId),
}

/// The state of one workspace in a byte store.
#[derive(Debug)]
pub(crate) struct StoredState {
    backend: StoredBackend,
    workspace: String,
    /// The description of the store.
    location: String,
    journal: PathBuf,
    held: Held,
    /// The last state that was read or saved; outer none before the first read.
    known: Option<Option<State>>,
    /// The version of that, or none if there was no state.
    version: Option<StoreVersion>,
    /// Fingerprint of that; empty if there was no state.
    read_content: String,
    /// Lineage and serial of that, or of the state that a running apply continues.
    started: Option<(ecow::EcoString, u64)>,
    leftover: Leftover,
    /// The encryption of the stored state differs from the present settings.
    migrates: bool,
}

/// Reason why a state was not saved.
#[derive(Debug)]
enum SaveFailure {
    Store(StoreError),
    Journal(io::Error),
    Other(Diagnostics),
}

impl StoredState {
    fn store(&self) -> &dyn Store {
        self.backend.store.as_ref()
    }

    fn files(&self) -> Arc<dyn StateFiles> {
        self.backend.files.clone()
    }

    /// Held by a process of this machine while it writes the journal.
    fn journal_lock(&self) -> PathBuf {
        self.journal.with_extension("lock")
    }

    fn lasts(&self) -> bool {
        self.store().lifetime() == Lifetime::Lasting
    }

    fn unsealed<'b>(&self, bytes: &'b [u8]) -> Result<(Cow<'b, [u8]>, bool), Diagnostics> {
        match &self.backend.sealing {
            Some(sealing) if !bytes.trim_ascii().is_empty() => {
                let unsealed = sealing.unseal(bytes, |bytes| yuba_state::read(bytes).is_ok())?;
                Ok((Cow::Owned(unsealed.content), unsealed.migrates))
            }
            _ => Ok((Cow::Borrowed(bytes), false)),
        }
    }

    /// The stored form of a state: compact JSON, as OpenTofu writes it, encrypted if that is configured.
    fn content_of(&self, state: &State) -> Result<Vec<u8>, Diagnostics> {
        let mut content = Vec::new();
        yuba_state::write_compact(state, &mut content);
        match &self.backend.sealing {
            Some(sealing) => Ok(sealing.seal(&content, Some((state.serial, &state.lineage)))?),
            None => Ok(content),
        }
    }

    /// Writes a content over what this process has read. A request whose response was lost is looked up before it counts as
    /// failed.
    fn put(&self, content: &[u8]) -> Result<StoreVersion, StoreError> {
        let precondition = self.version.as_ref().map_or(Precondition::Absent, Precondition::Version);
        let lock = self.lock_id();
        let mut attempt = 0;
        loop {
            let error = match self.store().write(&self.workspace, &Write { content, precondition, lock }) {
                Ok(version) => return Ok(version),
                Err(error) => error,
            };
            let is_first = attempt == 0;
            if self.backend.repeats(&error, &mut attempt) {
                continue;
            }
            let may_have_arrived = match error.kind {
                StoreErrorKind::Transient => true,
                StoreErrorKind::Conflict => !is_first,
                _ => false,
            };
            let present = || self.store().read(&self.workspace).ok().flatten();
            return match may_have_arrived.then(present).flatten().filter(|stored| stored.content == content) {
                Some(stored) => Ok(stored.version),
                None => Err(error),
            };
        }
    }

    /// Saves a state. `announce` gets its fingerprint before it counts. Returns the fingerprint and the number of bytes.
    fn save(
        &mut self,
        state: &State,
        announce: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<(String, u64), SaveFailure> {
        let content = self.content_of(state).map_err(SaveFailure::Other)?;
        let hash = fingerprint(&content);
        announce(&hash).map_err(SaveFailure::Journal)?;
        self.store_content(&content, &hash)?;
        Ok((hash, content.len() as u64))
    }

    /// Writes the content of a state, which has this fingerprint, to the store.
    fn store_content(&mut self, content: &[u8], hash: &str) -> Result<(), SaveFailure> {
        self.version = Some(self.put(content).map_err(SaveFailure::Store)?);
        hash.clone_into(&mut self.read_content);
        self.migrates = false;
        Ok(())
    }

    /// The lock that this process holds.
    fn lock_id(&self) -> Option<&LockId> {
        match &self.held {
            Held::Lock(id) => Some(id),
            Held::Nothing | Held::WithoutLock => None,
        }
    }

    fn not_saved(&self, failure: SaveFailure) -> Diagnostics {
        match failure {
            SaveFailure::Store(error) => diagnostics::store_not_written(&self.location, &error).into(),
            SaveFailure::Journal(error) => {
                diagnostics::journal_not_written(&self.journal, Path::new(&self.location), &error).into()
            }
            SaveFailure::Other(problems) => problems,
        }
    }

    fn number(&self, state: &mut State) -> Saved {
        let known = self.known.as_ref().and_then(Option::as_ref);
        let saved = if self.migrates { Saved::Changed } else { compared(state, known) };
        number(state, known, saved);
        saved
    }

    fn keep_known(&mut self, state: State) {
        self.started = Some((state.lineage.clone(), state.serial));
        self.known = Some(Some(state));
    }

    fn ensure_known(&mut self) -> Result<(), Diagnostics> {
        if self.known.is_none() {
            self.read()?;
        }
        Ok(())
    }

    fn settle_leftover(&mut self) -> Result<(), Diagnostics> {
        let settled = self.leftover.settle(self.backend.files.as_ref(), &self.journal);
        settled.map_err(|error| diagnostics::journal_left(&self.journal, &error).into())
    }

    /// Removes a journal whose edits were saved, unless another process is writing it now.
    fn settle_included(&mut self) -> Result<(), Diagnostics> {
        match self.try_guard() {
            Ok(None) => Ok(()),
            Ok(Some(_guard)) => self.settle_leftover(),
            Err(error) => Err(diagnostics::journal_left(&self.journal, &error).into()),
        }
    }

    /// Without a lock, another run may have left a journal after the state was read.
    fn note_new_leftover(&mut self) {
        let is_new = || self.backend.files.exists(&self.journal).unwrap_or(false);
        if self.leftover == Leftover::None && self.lock_id().is_none() && self.lasts() && is_new() {
            self.leftover = Leftover::Foreign;
        }
    }

    /// Locks the journal against other processes of this machine. None if another process has locked it.
    fn try_guard(&self) -> io::Result<Option<Box<dyn OpenFile>>> {
        let (files, path) = (self.files(), self.journal_lock());
        files.create_directory(crate::files::directory_of(&path))?;
        loop {
            let mut file = files.open(&path, Open::OrCreate)?;
            match file.try_lock()? {
                LockAttempt::Refused { .. } => return Ok(None),
                LockAttempt::Taken if file.is_at(&path)? => return Ok(Some(file)),
                // A run that ends removes the file, and the lock of a removed file excludes no process.
                LockAttempt::Taken => {}
            }
        }
    }

    /// The lock of the journal, or none where states end with the process.
    fn journal_guard(&self) -> Result<Option<Box<dyn OpenFile>>, Diagnostics> {
        if !self.lasts() {
            return Ok(None);
        }
        let busy = || io::Error::new(io::ErrorKind::ResourceBusy, "another process is writing it");
        let guard = self.try_guard().and_then(|guard| guard.ok_or_else(busy));
        let failed = |error| diagnostics::journal_not_written(&self.journal, Path::new(&self.location), &error);
        Ok(Some(guard.map_err(failed)?))
    }

    /// A journal that continues the stored state.
    fn writer(&self, start: &State) -> Writer {
        let base = Base { lineage: start.lineage.clone(), serial: start.serial, sha256: self.read_content.clone() };
        let sealing = self.backend.sealing.clone().filter(|sealing| !sealing.is_clear());
        let writer = Writer::new(self.journal.clone(), base, 0, sealing);
        if self.store().server_journal().is_some() { writer.copied() } else { writer }
    }
}

/// Dropping a state releases its lock in every case.
impl Drop for StoredState {
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}

impl StateStore for StoredState {
    fn try_lock(&mut self, mut holder: LockHolder) -> Result<LockOutcome, LockRefusal> {
        if !matches!(self.held, Held::Nothing) {
            return Err(LockRefusal::Ours);
        }
        holder.path.clone_from(&self.location);
        let mut attempt = 0;
        let id = loop {
            match self.store().lock(&self.workspace, &holder) {
                Ok(id) => break id,
                // The response to an attempt before was lost, of this call or of the last one: no other process has this ID.
                Err(LockRefusal::Held { holder: Some(present), .. }) if present.id == holder.id => {
                    break Some(LockId(present.id));
                }
                Err(LockRefusal::Store(error)) if self.backend.repeats(&error, &mut attempt) => {}
                Err(LockRefusal::Store(error)) if error.kind == StoreErrorKind::Transient => {
                    if let Err(refusal) = self.store().abandon_lock(&self.workspace, &holder) {
                        tracing::debug!(?refusal, "no lock was released after the failed attempts to take it");
                    }
                    return Err(LockRefusal::Store(error));
                }
                Err(refusal) => return Err(refusal),
            }
        };
        // A state that was read without the lock may be outdated.
        self.known = None;
        let shown = id.as_ref().map(LockId::to_string).unwrap_or_default();
        self.held = id.map_or(Held::WithoutLock, Held::Lock);
        Ok(LockOutcome { id: shown, left_behind: None })
    }

    fn unlock(&mut self) -> Result<(), Diagnostics> {
        let Held::Lock(id) = std::mem::replace(&mut self.held, Held::Nothing) else { return Ok(()) };
        let (mut attempt, backend) = (0, self.backend.clone());
        loop {
            let refusal = match self.store().unlock(&self.workspace, &id) {
                Ok(()) => return Ok(()),
                // The response to the attempt before was lost, and another process may have taken the lock since.
                Err(UnlockRefusal::NotLocked | UnlockRefusal::OtherLock(_)) if attempt > 0 => return Ok(()),
                Err(refusal) => refusal,
            };
            match refusal {
                UnlockRefusal::Failed(error) if backend.repeats(&error, &mut attempt) => {}
                refusal => return Err(diagnostics::store_not_unlocked(&self.location, &id, &refusal).into()),
            }
        }
    }

    fn force_unlock(&mut self, id: &str) -> Result<(), Diagnostics> {
        let id = LockId(id.to_owned());
        self.store().unlock(&self.workspace, &id).map_err(|refusal| match refusal {
            UnlockRefusal::NotLocked => diagnostics::store_not_locked(&self.location).into(),
            UnlockRefusal::OtherLock(Some(holder)) => {
                diagnostics::not_force_unlocked(&id.0, Some(&holder), HeldBy::NoProcess).into()
            }
            refusal => diagnostics::store_not_force_unlocked(&self.location, &id, &refusal).into(),
        })
    }

    fn read(&mut self) -> Result<Reading, Diagnostics> {
        let repair = self.repair();
        let stored = self.stored().map_err(|error| diagnostics::store_not_read(&self.location, &error))?;
        let (content, version) = stored.map_or_else(Default::default, |stored| (stored.content, Some(stored.version)));
        (self.version, self.read_content) = (version, fingerprint(&content));
        let (clear, migrates) = self.unsealed(&content)?;
        let mut said = Diagnostics::new();
        let mut state = None;
        // Quirk: an empty state counts as a missing one, not as damaged: taking the lock creates such a state in some
        // stores.
        if !clear.trim_ascii().is_empty() {
            let (found, more) = yuba_state::read(&clear)?;
            said.extend(more);
            state = Some(found);
        }
        drop(clear);
        self.migrates = migrates;
        self.started = state.as_ref().map(|state| (state.lineage.clone(), state.serial));
        self.known = Some(state.clone());
        match self.lasts() {
            true => self.recover(state, &content, &repair, said),
            false => Ok(Reading { state, diagnostics: said, recovered: None }),
        }
    }

    fn write(&mut self, state: &mut State) -> Result<Saved, Diagnostics> {
        self.ensure_known()?;
        let saved = self.number(state);
        let is_new = self.version.is_none();
        if saved == Saved::Changed || is_new {
            self.save(state, &mut |_| Ok(())).map_err(|failure| self.not_saved(failure))?;
        }
        self.keep_known(state.clone());
        if self.leftover == Leftover::Included {
            self.settle_included()?;
        }
        Ok(saved)
    }

    fn push(&mut self, state: &State, check: SuccessorCheck) -> Result<Saved, Diagnostics> {
        self.ensure_known()?;
        let (state, saved) = pushed(state, self.known.as_ref().and_then(Option::as_ref), check)?;
        self.save(&state, &mut |_| Ok(())).map_err(|failure| self.not_saved(failure))?;
        self.keep_known(state);
        Ok(saved)
    }

    fn replace(&mut self, state: &State, check: SuccessorCheck) -> Result<Saved, Diagnostics> {
        self.ensure_known()?;
        let Some(known) = self.known.as_ref().and_then(Option::as_ref) else { return self.push(state, check) };
        let (mut state, saved) = pushed(state, Some(known), check)?;
        let is_same = saved == Saved::Unchanged && state.serial == known.serial && state.lineage == known.lineage;
        if is_same && !self.migrates && self.leftover == Leftover::None {
            return Ok(Saved::Unchanged);
        }
        // Quirk: a state that replaces another one on a server gets the serial after its own, as with OpenTofu.
        state.serial = state.serial.saturating_add(1);
        self.save(&state, &mut |_| Ok(())).map_err(|failure| self.not_saved(failure))?;
        self.keep_known(state);
        Ok(saved)
    }

    fn journal<'a>(&'a mut self, start: &mut State) -> Result<Box<dyn Journal + 'a>, Diagnostics> {
        self.ensure_known()?;
        let known = self.known.as_ref().and_then(Option::as_ref);
        let as_known = match known {
            Some(known) => known.same_content(start),
            None => start.is_empty(),
        };
        // Before anything changes: a journal that another process is writing stays as it is.
        let guard = self.journal_guard()?;
        // The edits of the journal continue the stored state, so the stored state must be the one that they start from.
        if !(as_known && self.leftover != Leftover::Included && !self.migrates) {
            self.write(start)?;
        } else if let Some(known) = known {
            start.lineage = known.lineage.clone();
            start.serial = known.serial;
        }
        if start.lineage.is_empty() {
            start.lineage = crate::process::new_uuid().into();
        }
        self.started = Some((start.lineage.clone(), start.serial));
        self.note_new_leftover();
        self.settle_leftover()?;
        let writer = guard.map(|guard| (self.writer(start), guard));
        Ok(Box::new(Running::new(self, writer)))
    }

    fn whereabouts(&self) -> String {
        self.location.clone()
    }

    fn way_back(&mut self) -> WayBack {
        let present = || {
            let stored = self.store().read(&self.workspace).ok().flatten()?;
            let (clear, _) = self.unsealed(&stored.content).ok()?;
            Some(yuba_state::read(&clear).ok()?.0)
        };
        match (present(), &self.started) {
            (Some(present), Some((lineage, serial))) if present.lineage == *lineage && present.serial > *serial => {
                WayBack::Merge { path: self.location.clone(), serial: present.serial }
            }
            _ => WayBack::Push { in_the_way: None },
        }
    }
}
