//! A file system with injected faults, over the real one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Disk, LockAttempt, Open, OpenFile, StateFiles};

/// Fault of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Only that operation fails. If it is a write, half of its bytes are written.
    Once,
    /// It and all later ones fail and change nothing more: the process is dead, or the directory is gone.
    FromThen,
    /// From then on nothing can be written or made, as on a full disk. Removing and renaming works.
    Full,
}

#[derive(Debug)]
struct Plan {
    fault: Fault,
    at: usize,
    count: AtomicUsize,
}

/// A file system that fails at the n-th operation that can fail.
#[derive(Clone, Debug)]
pub(crate) struct Faulty(Arc<Plan>);

impl Faulty {
    /// Fails at operation `at`, counted from one.
    pub(crate) fn new(fault: Fault, at: usize) -> Faulty {
        Faulty(Arc::new(Plan { fault, at, count: AtomicUsize::new(0) }))
    }
    /// Whether the fault was reached.
    pub(crate) fn was_hit(&self) -> bool {
        self.0.count.load(Ordering::SeqCst) >= self.0.at
    }
    /// Counts an operation that works on a full disk and returns its number. Fails where the fault is.
    fn step(&self) -> io::Result<usize> {
        let Plan { fault, at, count } = &*self.0;
        let now = count.fetch_add(1, Ordering::SeqCst) + 1;
        match fault {
            Fault::Once if now == *at => Err(io::Error::other("a fault was injected")),
            Fault::FromThen if now >= *at => Err(io::Error::new(io::ErrorKind::NotFound, "everything is gone")),
            _ => Ok(now),
        }
    }
    /// The same for an operation that fails on a full disk.
    fn step_using_space(&self) -> io::Result<usize> {
        let now = self.step()?;
        match self.0.fault == Fault::Full && now >= self.0.at {
            true => Err(io::Error::new(io::ErrorKind::StorageFull, "no space left")),
            false => Ok(now),
        }
    }
    /// Whether the write that is refused now still leaves a half behind.
    fn leaves_half(&self) -> bool {
        self.0.fault != Fault::FromThen || self.0.count.load(Ordering::SeqCst) == self.0.at
    }
}

impl StateFiles for Faulty {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.step()?;
        Disk.read(path)
    }
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn OpenFile>> {
        match how == Open::Existing || Disk.exists(path)? {
            true => self.step()?,
            false => self.step_using_space()?,
        };
        Ok(Box::new(FaultyFile(Disk.open(path, how)?, self.clone())))
    }
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.step()?;
        Disk.resolve(path)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.step()?;
        Disk.exists(path)
    }
    fn permissions(&self, path: &Path) -> io::Result<std::fs::Permissions> {
        self.step()?;
        Disk.permissions(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        Disk.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        Disk.remove(path)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        Disk.sync_directory(path)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        match Disk.exists(path)? {
            true => self.step()?,
            false => self.step_using_space()?,
        };
        Disk.create_directory(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        Disk.remove_directory(path)
    }
    fn directories(&self, path: &Path) -> io::Result<Vec<String>> {
        self.step()?;
        Disk.directories(path)
    }
    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        self.step()?;
        Disk.names(path)
    }
}

#[derive(Debug)]
struct FaultyFile(Box<dyn OpenFile>, Faulty);

impl OpenFile for FaultyFile {
    fn read_all(&mut self) -> io::Result<Vec<u8>> {
        self.1.step()?;
        self.0.read_all()
    }
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.1.step()?;
        self.0.read_at(offset, into)
    }
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.1.step_using_space() {
            if self.1.leaves_half() {
                self.0.write_at(offset, &bytes[..bytes.len() / 2])?;
            }
            return Err(error);
        }
        self.0.write_at(offset, bytes)
    }
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.1.step()?;
        self.0.set_len(len)
    }
    fn reserve(&mut self, len: u64) -> io::Result<()> {
        self.1.step_using_space()?;
        self.0.reserve(len)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.1.step()?;
        self.0.sync()
    }
    fn take_permissions_of(&mut self, other: &dyn OpenFile) -> io::Result<()> {
        self.1.step()?;
        self.0.take_permissions_of(other)
    }
    fn permissions(&self) -> io::Result<std::fs::Permissions> {
        self.1.step()?;
        self.0.permissions()
    }
    fn try_lock(&mut self) -> io::Result<LockAttempt> {
        self.1.step()?;
        self.0.try_lock()
    }
    fn locked_by_other(&mut self) -> io::Result<bool> {
        self.1.step()?;
        self.0.locked_by_other()
    }
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.1.step()?;
        self.0.is_at(path)
    }
    fn is_empty(&self) -> io::Result<bool> {
        self.1.step()?;
        self.0.is_empty()
    }
}
