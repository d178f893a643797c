//! The real file system, seen from a directory that need not be the current one.

use std::io;
use std::path::{Path, PathBuf};

use super::{Disk, LockAttempt, Open, OpenFile, StateFiles};

/// The real file system; relative paths start in a directory.
#[derive(Clone, Debug)]
pub struct DiskAt {
    root: PathBuf,
}

impl DiskAt {
    /// Seen from an absolute directory.
    pub fn new(root: impl Into<PathBuf>) -> DiskAt {
        DiskAt { root: root.into() }
    }

    fn at(&self, path: &Path) -> PathBuf {
        self.root.join(path)
    }
}

impl StateFiles for DiskAt {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Disk.read(&self.at(path))
    }

    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn OpenFile>> {
        let file = Disk.open(&self.at(path), how)?;
        Ok(Box::new(FileAt { file, root: self.root.clone() }))
    }

    /// Relative paths stay relative where they lead to files below the directory, as messages show them.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let found = Disk.resolve(&self.at(path))?;
        Ok(match found.strip_prefix(&self.root) {
            Ok(below) if path.is_relative() => below.to_owned(),
            _ => found,
        })
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Disk.exists(&self.at(path))
    }

    fn permissions(&self, path: &Path) -> io::Result<std::fs::Permissions> {
        Disk.permissions(&self.at(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(&self.at(from), &self.at(to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(&self.at(path))
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        Disk.sync_directory(&self.at(path))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        Disk.create_directory(&self.at(path))
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        Disk.remove_directory(&self.at(path))
    }

    fn directories(&self, path: &Path) -> io::Result<Vec<String>> {
        Disk.directories(&self.at(path))
    }
    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        Disk.names(&self.at(path))
    }
}

/// An open file whose name is compared with paths that start in a directory.
#[derive(Debug)]
struct FileAt {
    file: Box<dyn OpenFile>,
    root: PathBuf,
}

impl OpenFile for FileAt {
    fn read_all(&mut self) -> io::Result<Vec<u8>> {
        self.file.read_all()
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, into)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn reserve(&mut self, len: u64) -> io::Result<()> {
        self.file.reserve(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn take_permissions_of(&mut self, other: &dyn OpenFile) -> io::Result<()> {
        self.file.take_permissions_of(other)
    }

    fn permissions(&self) -> io::Result<std::fs::Permissions> {
        self.file.permissions()
    }

    fn try_lock(&mut self) -> io::Result<LockAttempt> {
        self.file.try_lock()
    }

    fn locked_by_other(&mut self) -> io::Result<bool> {
        self.file.locked_by_other()
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.file.is_at(&self.root.join(path))
    }

    fn is_empty(&self) -> io::Result<bool> {
        self.file.is_empty()
    }
}
