//! The file of a journal: lines gathered, written, flushed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::encryption::Sealing;

use super::line::{self, Base, JournalOperation, OperationId};
use crate::files::{Access, Open, OpenFile, StateFiles, beside, directory_of, write_new};

/// Lines gather at most this long before a flush is due.
const FLUSH_AFTER: Duration = Duration::from_millis(20);
/// Lines gather at most to this size before a flush is due.
const FLUSH_SIZE: usize = 1 << 20;
/// A journal shorter than this is not worth a snapshot because of its size.
const CHECKPOINT_SIZE: u64 = 32 << 20;
/// A journal younger than this is not worth a snapshot because of its age.
const CHECKPOINT_AGE: Duration = Duration::from_secs(20);
/// A snapshot because of age may take at most this part of the time.
const CHECKPOINT_SHARE: u32 = 50;

/// The least that is reserved on the disk for the result of an operation.
const RESULT_SIZE: u64 = 4 << 10;
/// Room is reserved in steps of this size, where the disk has it.
const RESERVE_STEP: u64 = 64 << 10;

/// Path of the journal of a state file.
pub(crate) fn journal_path(state: &Path) -> PathBuf {
    beside(state, "journal")
}

/// The file of a journal that is being written. The file is made with the first lines.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    file: Option<Box<dyn OpenFile>>,
    /// The header, until the file is made.
    base: Base,
    /// Lines that are not in the file yet.
    gathered: Vec<u8>,
    /// Length of the valid part of the file.
    length: u64,
    /// Up to here there is room on the disk for the file.
    reserved: u64,
    /// The longest result so far.
    longest: u64,
    /// Whether everything in the file is on disk.
    synced: bool,
    gathering_since: Option<Instant>,
    /// Operations that have begun and not ended.
    open: std::collections::BTreeMap<OperationId, JournalOperation>,
    next: u32,
    /// Time, duration and size of the last snapshot.
    last_snapshot: (Instant, Duration, u64),
    /// Keys for encrypting lines about objects.
    sealing: Option<Sealing>,
    /// Bytes that the remote copy of the file lacks.
    copy: Option<Unsent>,
}

/// Bytes of a journal that its copy on a server does not have yet.
#[derive(Debug)]
pub(crate) struct Unsent {
    pub(crate) lines: Vec<u8>,
    /// They replace all that the copy has.
    pub(crate) replaces: bool,
}

impl Writer {
    /// A journal at a path that continues a snapshot of a size.
    pub(crate) fn new(path: PathBuf, base: Base, snapshot_size: u64, sealing: Option<Sealing>) -> Writer {
        Writer {
            path,
            file: None,
            base,
            gathered: Vec::new(),
            length: 0,
            reserved: 0,
            longest: 0,
            synced: true,
            gathering_since: None,
            open: std::collections::BTreeMap::new(),
            next: 0,
            last_snapshot: (Instant::now(), Duration::ZERO, snapshot_size),
            sealing,
            copy: None,
        }
    }

    /// The same with a copy elsewhere: [`Writer::unsent`] returns what it lacks.
    #[must_use]
    pub(crate) fn copied(mut self) -> Writer {
        self.copy = Some(Unsent { lines: Vec::new(), replaces: true });
        self
    }

    /// Bytes that are in the file and not yet in its copy, or none. They are regarded as sent from now on.
    pub(crate) fn unsent(&mut self) -> Option<Unsent> {
        let copy = self.copy.as_mut().filter(|copy| !copy.lines.is_empty())?;
        Some(std::mem::replace(copy, Unsent { lines: Vec::new(), replaces: false }))
    }

    pub(crate) fn begin(&mut self, operation: JournalOperation) -> OperationId {
        let id = OperationId(self.next);
        self.next = self.next.wrapping_add(1);
        let mut lines = Vec::new();
        line::push_begin(&mut lines, id, &operation);
        self.gather(lines);
        self.open.insert(id, operation);
        id
    }

    /// Lines wait to be written, encrypted if the state is.
    fn gather(&mut self, lines: Vec<u8>) {
        match &self.sealing {
            None => self.gathered.extend(lines),
            Some(sealing) => line::push_sealed(&mut self.gathered, sealing, &lines),
        }
    }

    pub(crate) fn edits(&mut self, id: Option<OperationId>, edits: &[yuba_state::Edit]) {
        if let Some(id) = id {
            self.open.remove(&id);
        }
        let mut lines = Vec::new();
        line::push_edits(&mut lines, id, edits);
        let before = self.gathered.len();
        self.gather(lines);
        self.longest = self.longest.max((self.gathered.len() - before) as u64);
        self.gathering_since.get_or_insert_with(Instant::now);
    }

    /// Notes that a snapshot with everything so far is about to be saved, and puts that on disk. Without a file there is
    /// nothing that the snapshot could be confused with.
    pub(crate) fn announce_snapshot(
        &mut self,
        files: &dyn StateFiles,
        serial: u64,
        fingerprint: &str,
    ) -> io::Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        line::push_snapshot(&mut self.gathered, serial, fingerprint);
        self.flush(files)
    }

    pub(crate) fn due(&self) -> bool {
        self.gathered.len() >= FLUSH_SIZE || self.gathering_since.is_some_and(|since| since.elapsed() >= FLUSH_AFTER)
    }

    pub(crate) fn wants_checkpoint(&self) -> bool {
        let (at, took, size) = self.last_snapshot;
        // Twice the size of the snapshot: what is written in all stays in proportion to the final state.
        if self.length >= CHECKPOINT_SIZE.max(size.saturating_mul(2)) {
            return true;
        }
        self.length > 0 && at.elapsed() >= CHECKPOINT_AGE.max(took * CHECKPOINT_SHARE)
    }

    pub(crate) fn hand_over(&mut self, files: &dyn StateFiles) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            self.create(files)?;
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        self.synced = false;
        // After a failure the same position is written again: partly written lines are never read twice.
        file.write_at(self.length, &self.gathered)?;
        self.length += self.gathered.len() as u64;
        if let Some(copy) = &mut self.copy {
            copy.lines.extend_from_slice(&self.gathered);
        }
        self.gathered.clear();
        Ok(())
    }

    /// Makes sure that the disk has room for the results of all operations that have begun: whatever fills it later, what is
    /// done can be written down. An object is noted twice where provisioners follow its creation.
    pub(crate) fn reserve(&mut self, files: &dyn StateFiles) -> io::Result<()> {
        if self.file.is_none() {
            self.create(files)?;
        }
        let each = RESULT_SIZE.max(self.longest.saturating_mul(2));
        let results = each.saturating_mul(self.open.len() as u64);
        let needed = self.length.saturating_add(self.gathered.len() as u64).saturating_add(results);
        let Some(file) = self.file.as_mut().filter(|_| needed > self.reserved) else { return Ok(()) };
        let ample = needed.saturating_add(RESERVE_STEP);
        self.reserved = match file.reserve(ample) {
            Ok(()) => ample,
            Err(_) => file.reserve(needed).map(|()| needed)?,
        };
        Ok(())
    }

    /// Notes that the final state could not be saved, and will be found elsewhere with this serial. Room that was reserved is
    /// given back.
    pub(crate) fn give_up(&mut self, files: &dyn StateFiles, serial: u64) {
        if self.file.is_none() && self.gathered.is_empty() {
            return;
        }
        line::push_rescued(&mut self.gathered, serial);
        let _ = self.flush(files);
        self.release();
    }

    /// Gives back the room that was reserved: no more operations begin.
    pub(crate) fn release(&mut self) {
        if let Some(file) = self.file.as_mut().filter(|_| self.reserved > self.length) {
            let _ = file.set_len(self.length);
            self.reserved = self.length;
        }
    }

    pub(crate) fn flush(&mut self, files: &dyn StateFiles) -> io::Result<()> {
        let _span = tracing::debug_span!("flush journal", path = %self.path.display()).entered();
        self.hand_over(files)?;
        if let Some(file) = &self.file
            && !file.is_at(&self.path)?
        {
            return Err(io::Error::new(io::ErrorKind::NotFound, "another process removed the file"));
        }
        if !self.synced
            && let Some(file) = &mut self.file
        {
            file.sync()?;
            self.synced = true;
        }
        self.gathering_since = None;
        Ok(())
    }

    fn create(&mut self, files: &dyn StateFiles) -> io::Result<()> {
        let mut header = Vec::new();
        line::push_header(&mut header, &self.base);
        let mut file = files.open(&self.path, Open::EmptyPrivate)?;
        file.write_at(0, &header)?;
        files.sync_directory(directory_of(&self.path))?;
        self.length = header.len() as u64;
        self.file = Some(file);
        if let Some(copy) = &mut self.copy {
            *copy = Unsent { lines: header, replaces: true };
        }
        Ok(())
    }

    /// Starts again after a snapshot. When the new file cannot be written the old one goes on: it says which edits are in
    /// the snapshot.
    pub(crate) fn restart(
        &mut self,
        files: &dyn StateFiles,
        base: Base,
        size: u64,
        started: Instant,
    ) -> io::Result<()> {
        self.last_snapshot = (Instant::now(), started.elapsed(), size);
        self.base = base;
        let mut content = Vec::new();
        if self.file.is_none() {
            for (id, operation) in &self.open {
                line::push_begin(&mut content, *id, operation);
            }
            self.gathered.clear();
            if !content.is_empty() {
                self.gather(content);
            }
            return Ok(());
        }
        line::push_header(&mut content, &self.base);
        let mut begun = Vec::new();
        for (id, operation) in &self.open {
            line::push_begin(&mut begun, *id, operation);
        }
        match &self.sealing {
            Some(sealing) if !begun.is_empty() => line::push_sealed(&mut content, sealing, &begun),
            _ => content.extend(begun),
        }
        let temporary = beside(&self.path, "tmp");
        let file = write_new(files, &temporary, &content, Access::Private)?;
        files.rename(&temporary, &self.path).inspect_err(|_| drop(files.remove(&temporary)))?;
        self.file = Some(file);
        self.length = content.len() as u64;
        self.reserved = 0;
        self.synced = true;
        if let Some(copy) = &mut self.copy {
            *copy = Unsent { lines: content, replaces: true };
        }
        files.sync_directory(directory_of(&self.path))
    }

    /// Removes the file after everything in it is in a snapshot.
    pub(crate) fn remove(&mut self, files: &dyn StateFiles) -> io::Result<()> {
        if self.file.take().is_some() {
            files.remove(&self.path)?;
            files.sync_directory(directory_of(&self.path))?;
        }
        Ok(())
    }
}
