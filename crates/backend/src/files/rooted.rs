//! The real file system, seen from a directory that need not be the current one.

use std::io;
use std::path::{Path, PathBuf};

use super::{Disk, Open, OpenFile, StateFiles};

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
        Disk.open(&self.at(path), how)
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
