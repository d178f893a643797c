//! The store of one workspace of the local backend: a state file with its lock, its backup and its journal.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use yuba_state::State;
use yuba_syntax::Diagnostics;

use super::replaced::{SaveFailure, Sum};
use super::snapshot::{self, Content, StateTarget};
use super::{Backup, Paths, ReadAhead};
use crate::diagnostics::{self, HeldBy};
use crate::encryption::Sealing;
use crate::files::{Access, LockAttempt, Open, OpenFile, PIECE, StateFiles, directory_of, each_piece, replace_by};
use crate::journal::Journal;
use crate::journal::leftover::Leftover;
use crate::journal::line::{Base, Fingerprint};
use crate::journal::writer::{Writer, journal_path};
use crate::local::running::Running;
use crate::lock::{self, LockHolder, LockRefusal};
use crate::store::{LockOutcome, Reading, Saved, StateStore, SuccessorCheck, WayBack, compared, number, pushed};

/// A state file.
#[derive(Debug)]
pub struct StateFile {
    pub(super) files: Arc<dyn StateFiles>,
    pub(super) paths: Paths,
    pub(super) held: Option<Held>,
    /// The last state that was read or saved; outer none before the first read.
    pub(super) known: Option<Option<State>>,
    pub(super) backup_made: bool,
    pub(super) leftover: Leftover,
    pub(super) sealing: Option<Sealing>,
    /// The encryption on disk differs from the present settings.
    pub(super) migrates: bool,
    /// The content of the file that is written, as this process knows it; none before it was read or written.
    pub(super) on_disk: Option<Sum>,
    /// Lineage and serial of that content, or of the state that a running apply continues.
    pub(super) started: Option<(ecow::EcoString, u64)>,
    /// The file as it was before the lock was taken.
    pub(super) ahead: Option<ReadAhead>,
}

/// The lock that we hold.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) file: Box<dyn OpenFile>,
    id: String,
    /// Locking created the file; it is removed again when nothing is written to it.
    created: bool,
}

impl StateFile {
    pub(super) fn new(files: Arc<dyn StateFiles>, paths: Paths, sealing: Option<Sealing>) -> StateFile {
        StateFile {
            files,
            paths,
            held: None,
            known: None,
            backup_made: false,
            leftover: Leftover::None,
            sealing,
            migrates: false,
            on_disk: None,
            started: None,
            ahead: None,
        }
    }

    /// The same, with the content of the file from a thread that reads it already.
    pub(super) fn reading(mut self, ahead: Option<ReadAhead>) -> StateFile {
        self.ahead = ahead;
        self
    }

    /// The content of the file that holds a state.
    pub(super) fn content_of<'s>(&self, state: &'s State) -> Result<Content<'s>, Diagnostics> {
        let Some(sealing) = &self.sealing else { return Ok(Content::State(state)) };
        let mut content = Vec::new();
        yuba_state::write(state, &mut content);
        Ok(Content::Bytes(sealing.seal(&content, Some((state.serial, &state.lineage)))?.into()))
    }

    /// The state in the clear, as the bytes of a file hold it, and whether it would be encrypted otherwise now.
    pub(super) fn unsealed<'b>(&self, bytes: &'b [u8]) -> Result<(Cow<'b, [u8]>, bool), Diagnostics> {
        match &self.sealing {
            Some(sealing) if !bytes.trim_ascii().is_empty() => {
                let unsealed = sealing.unseal(bytes, |bytes| yuba_state::read(bytes).is_ok())?;
                Ok((Cow::Owned(unsealed.content), unsealed.migrates))
            }
            _ => Ok((Cow::Borrowed(bytes), false)),
        }
    }

    /// Whether the file says in the same words what would be written now.
    pub(super) fn is_as_written(&mut self, target: &Path, state: &State) -> bool {
        let mut content = Vec::new();
        yuba_state::write(state, &mut content);
        let Ok(current) = self.current(target) else { return false };
        match self.unsealed(&current) {
            Ok((current, migrates)) => !migrates && *current == *content,
            Err(_) => false,
        }
    }

    /// The files it uses.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    pub(super) fn target(&self) -> Result<PathBuf, Diagnostics> {
        self.files.resolve(&self.paths.write).map_err(|error| diagnostics::not_read(&self.paths.write, &error).into())
    }

    /// Whether the file that is read is the one that is written.
    pub(super) fn reads_what_it_writes(&self) -> bool {
        self.paths.read == self.paths.write
    }

    /// The bytes of the file that is written, or none if it does not exist.
    pub(super) fn current(&mut self, target: &Path) -> io::Result<Vec<u8>> {
        match &mut self.held {
            Some(held) => held.file.read_all(),
            None => read_or_nothing(self.files.as_ref(), target),
        }
    }

    /// The fingerprint and the length of the file that is written.
    fn current_fingerprint(&mut self, target: &Path) -> io::Result<(String, u64)> {
        let mut hash = Fingerprint::default();
        match &mut self.held {
            Some(held) => {
                each_piece(held.file.as_mut(), 0, &mut |_, piece| {
                    hash.add(piece);
                    Ok(())
                })?;
            }
            None => hash.add(&read_or_nothing(self.files.as_ref(), target)?),
        }
        let length = hash.length;
        Ok((hash.finish(), length))
    }

    /// Saves the next content of the file. `announce` gets its fingerprint before it counts as the state. Returns the
    /// fingerprint and the number of bytes. Fails when another process has changed the file, before or while it is saved.
    pub(super) fn save(
        &mut self,
        target: &Path,
        content: &Content<'_>,
        announce: &mut dyn FnMut(&str) -> Result<(), SaveFailure>,
    ) -> Result<(String, u64), SaveFailure> {
        let _span = tracing::debug_span!("write state snapshot", path = %target.display()).entered();
        if let Some(replaced) = self.replaced().map_err(SaveFailure::File)? {
            return Err(SaveFailure::Replaced(replaced));
        }
        let files = self.files.as_ref();
        let is_locked = self.held.is_some();
        let mut opened;
        let file = match &mut self.held {
            Some(held) => &mut held.file,
            None => {
                files.create_directory(directory_of(target)).map_err(SaveFailure::File)?;
                opened = files.open(target, Open::OrCreate).map_err(SaveFailure::File)?;
                &mut opened
            }
        };
        let mut prepared = snapshot::prepare(files, target, file.as_ref(), content).map_err(SaveFailure::File)?;
        let mut back_up = || match self.backup_made {
            true => Ok(()),
            false => {
                back_up(files, &self.paths.backup, file.as_mut(), prepared.side.as_mut()).map_err(SaveFailure::Backup)
            }
        };
        if let Err(failure) = back_up().and_then(|()| announce(&prepared.fingerprint)) {
            snapshot::discard(files, &prepared);
            return Err(failure);
        }
        self.backup_made = true;
        let saved = (prepared.fingerprint.clone(), prepared.length);
        // Until the write is complete, the content is unknown.
        self.on_disk = None;
        let sum = prepared.sum.clone();
        snapshot::commit(files, StateTarget { path: target, file, is_locked }, prepared).map_err(SaveFailure::File)?;
        let is_there = file.is_at(&self.paths.write).map_err(SaveFailure::File)?;
        self.on_disk = Some(sum);
        if !is_there {
            return Err(SaveFailure::Replaced(self.instead()));
        }
        self.paths.read.clone_from(&self.paths.write);
        Ok(saved)
    }

    fn told(&self, failure: SaveFailure) -> Diagnostics {
        failure.diagnostics(&self.paths)
    }

    /// Gives a state its lineage and its serial; returns whether its content differs from the known state.
    pub(super) fn number(&mut self, state: &mut State) -> Saved {
        let known = self.known.as_ref().and_then(Option::as_ref);
        let saved = if self.migrates { Saved::Changed } else { compared(state, known) };
        number(state, known, saved);
        saved
    }

    /// Remembers what is on disk now.
    pub(super) fn keep_known(&mut self, state: State) {
        self.started = Some((state.lineage.clone(), state.serial));
        self.known = Some(Some(state));
    }

    /// The state, read now if it was not read before.
    pub(super) fn ensure_known(&mut self) -> Result<(), Diagnostics> {
        if self.known.is_none() {
            self.read()?;
        }
        Ok(())
    }

    /// Deals with a journal whose edits are on disk now, or that belongs to something else.
    pub(super) fn settle_leftover(&mut self, target: &Path) -> io::Result<()> {
        self.leftover.settle(self.files.as_ref(), &journal_path(target))
    }
}

/// Dropping a store releases its lock in every case.
impl Drop for StateFile {
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}

impl StateStore for StateFile {
    fn try_lock(&mut self, mut holder: LockHolder) -> Result<LockOutcome, LockRefusal> {
        if self.held.is_some() {
            return Err(LockRefusal::Ours);
        }
        let files = self.files.clone();
        let path = self.paths.write.clone();
        files.create_directory(directory_of(&path)).map_err(LockRefusal::Failed)?;
        let created = !files.exists(&path).map_err(LockRefusal::Failed)?;
        let mut file = files.open(&path, Open::OrCreate).map_err(LockRefusal::Failed)?;
        if let LockAttempt::Refused { pid } = file.try_lock().map_err(LockRefusal::Failed)? {
            let holder = lock::read_holder(files.as_ref(), &path).map(Box::new);
            return Err(LockRefusal::Held { holder, pid });
        }
        // The locked file may have been removed after it was opened; then another process can lock its successor.
        if !file.is_at(&path).map_err(LockRefusal::Failed)? {
            return Err(LockRefusal::Held { holder: None, pid: None });
        }
        let left_behind = lock::read_holder(files.as_ref(), &path);
        holder.path = self.paths.read.display().to_string();
        lock::write_holder(files.as_ref(), &path, &holder).map_err(LockRefusal::Failed)?;
        let id = holder.id.clone();
        self.held = Some(Held { file, id: holder.id, created });
        // A state that was read without the lock may be outdated.
        (self.known, self.on_disk) = (None, None);
        Ok(LockOutcome { id, left_behind })
    }

    fn unlock(&mut self) -> Result<(), Diagnostics> {
        let Some(held) = self.held.take() else { return Ok(()) };
        let path = &self.paths.write;
        let is_ours = held.created && held.file.is_at(path).unwrap_or(false);
        if is_ours && held.file.is_empty().unwrap_or(false) {
            // A process that waits for this lock checks whether the file still has its name.
            let _ = self.files.remove(path);
        }
        let info = lock::holder_path(path);
        match self.files.remove(&info) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(diagnostics::not_unlocked(&info, &held.id, &error).into())
            }
            _ => Ok(()),
        }
    }

    fn force_unlock(&mut self, id: &str) -> Result<(), Diagnostics> {
        let path = self.paths.write.clone();
        let holder = lock::read_holder(self.files.as_ref(), &path);
        let opened = self.files.open(&path, Open::Existing);
        let held = match opened.and_then(|mut file| file.locked_by_other()).unwrap_or(false) {
            true => HeldBy::RunningProcess,
            false => HeldBy::NoProcess,
        };
        if held == HeldBy::RunningProcess || holder.as_ref().is_none_or(|holder| holder.id != id) {
            return Err(diagnostics::not_force_unlocked(id, holder.as_ref(), held).into());
        }
        let info = lock::holder_path(&path);
        self.files.remove(&info).map_err(|error| diagnostics::not_unlocked(&info, id, &error).into())
    }

    fn read(&mut self) -> Result<Reading, Diagnostics> {
        super::reading::read(self)
    }

    fn write(&mut self, state: &mut State) -> Result<Saved, Diagnostics> {
        self.ensure_known()?;
        let target = self.target()?;
        let saved = self.number(state);
        // Nothing has changed, and the file says it in the same words.
        if saved == Saved::Changed || !self.is_as_written(&target, state) {
            let content = self.content_of(state)?;
            self.save(&target, &content, &mut |_| Ok(())).map_err(|failure| self.told(failure))?;
            self.migrates = false;
        }
        self.keep_known(state.clone());
        if self.leftover == Leftover::Included {
            self.settle_leftover(&target).map_err(|error| diagnostics::journal_left(&journal_path(&target), &error))?;
        }
        Ok(saved)
    }

    fn push(&mut self, state: &State, check: SuccessorCheck) -> Result<Saved, Diagnostics> {
        self.ensure_known()?;
        let target = self.target()?;
        let (state, saved) = pushed(state, self.known.as_ref().and_then(Option::as_ref), check)?;
        let content = self.content_of(&state)?;
        self.save(&target, &content, &mut |_| Ok(())).map_err(|failure| self.told(failure))?;
        self.migrates = false;
        drop(content);
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
        // The edits of the journal continue the state on disk, so the state on disk must be the one that they start from.
        if !(as_known && self.reads_what_it_writes() && self.leftover != Leftover::Included && !self.migrates) {
            self.write(start)?;
        } else if let Some(known) = known {
            start.lineage = known.lineage.clone();
            start.serial = known.serial;
        }
        if start.lineage.is_empty() {
            start.lineage = crate::process::new_uuid().into();
        }
        let target = self.target()?;
        match self.replaced() {
            Ok(None) => {}
            Ok(Some(replaced)) => return Err(diagnostics::replaced_before(&self.paths.write, &replaced).into()),
            Err(error) => return Err(diagnostics::not_read(&target, &error).into()),
        }
        self.started = Some((start.lineage.clone(), start.serial));
        let path = journal_path(&target);
        self.settle_leftover(&target).map_err(|error| diagnostics::journal_left(&path, &error))?;
        let current = self.current_fingerprint(&target);
        let (sha256, length) = current.map_err(|error| diagnostics::not_read(&target, &error))?;
        let base = Base { lineage: start.lineage.clone(), serial: start.serial, sha256 };
        let sealing = self.sealing.clone().filter(|sealing| !sealing.is_clear());
        let writer = Writer::new(journal_path(&target), base, length, sealing);
        Ok(Box::new(Running::new(self, target, writer)))
    }

    fn whereabouts(&self) -> String {
        self.paths.write.display().to_string()
    }

    fn way_back(&mut self) -> WayBack {
        self.way()
    }
}

/// Backs up the content of a state file, unless it is empty or equal to the new content.
fn back_up(files: &dyn StateFiles, backup: &Backup, now: &mut dyn OpenFile, next: &mut dyn OpenFile) -> io::Result<()> {
    if *backup == Backup::None || now.is_empty()? || is_same(now, next)? {
        return Ok(());
    }
    let path = match backup {
        Backup::None => return Ok(()),
        Backup::Latest(path) => path.clone(),
        Backup::Each(path, ending) => snapshot::unused_name(files, path, ending)?,
    };
    // The next content has the permissions already.
    replace_by(files, &path, Access::Like(next), &mut |copy| {
        each_piece(now, 0, &mut |at, piece| copy.write_at(at, piece)).map(drop)
    })
}

/// Whether two files have the same content.
fn is_same(one: &mut dyn OpenFile, other: &mut dyn OpenFile) -> io::Result<bool> {
    let (mut here, mut there) = (vec![0; PIECE], vec![0; PIECE]);
    let mut at = 0;
    loop {
        let length = one.read_at(at, &mut here)?;
        let as_long = other.read_at(at, &mut there)?;
        if here[..length] != there[..as_long] {
            return Ok(false);
        }
        if length < PIECE {
            return Ok(true);
        }
        at += length as u64;
    }
}

/// The bytes of a file, or none if it does not exist.
pub(super) fn read_or_nothing(files: &dyn StateFiles, path: &Path) -> io::Result<Vec<u8>> {
    match files.read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other,
    }
}
