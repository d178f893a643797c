//! The door to the files of a configuration: a disk, unsaved buffers of an editor over another door, or memory.
//!
//! Configuration, variable files, the module manifest and the lock file are read through it, so that an editor and a test
//! see the same engine as the command line. Paths are those that messages show, relative to the root directory or absolute.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::io;
use std::sync::Arc;

use ecow::{EcoString, eco_format};

/// Reads files of a configuration.
pub trait Files: Send + Sync {
    /// The bytes of a file.
    fn read(&self, path: &str) -> io::Result<Arc<[u8]>>;
    /// Names of the entries of a directory that are not directories themselves, sorted.
    fn names(&self, dir: &str) -> io::Result<Vec<EcoString>>;
    /// Whether a path leads to a directory. Fails where nothing is at the path.
    fn is_dir(&self, path: &str) -> io::Result<bool>;
    /// A number that changes with the content of a file.
    fn version(&self, path: &str) -> io::Result<u64> {
        self.read(path).map(|bytes| BuildHasherDefault::<DefaultHasher>::default().hash_one(bytes))
    }
    /// One string for all paths of a directory, so that cycles of symbolic links are found.
    fn identity(&self, dir: &str) -> EcoString {
        dir.into()
    }
    /// Runs two computations about files. A host with threads runs them at the same time.
    fn both(&self, first: &mut (dyn FnMut() + Send), second: &mut (dyn FnMut() + Send)) {
        first();
        second();
    }
}

/// The path of an entry of a directory, as messages show it.
pub fn entry_path(dir: &str, name: &str) -> EcoString {
    match dir {
        "" | "." => name.into(),
        dir => eco_format!("{dir}/{name}"),
    }
}

/// The directory of a path and the name in it.
pub fn split_path(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

/// Files in memory, by path. A directory without files is empty: memory does not know which directories exist.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(BTreeMap<EcoString, Arc<[u8]>>);

impl MemoryFiles {
    /// These files.
    pub fn new(files: BTreeMap<EcoString, Arc<[u8]>>) -> MemoryFiles {
        MemoryFiles(files)
    }
    /// Adds a file, or replaces its content.
    pub fn write(&mut self, path: &str, bytes: impl Into<Arc<[u8]>>) {
        self.0.insert(path.into(), bytes.into());
    }
    /// Removes a file.
    pub fn remove(&mut self, path: &str) {
        self.0.remove(path);
    }
    /// All files by path.
    pub fn iter(&self) -> impl Iterator<Item = (&EcoString, &Arc<[u8]>)> {
        self.0.iter()
    }
    /// Paths of the files below a directory, without the directory.
    fn below(&self, dir: &str) -> impl Iterator<Item = &str> {
        let prefix = match dir {
            "" | "." => EcoString::new(),
            dir => eco_format!("{dir}/"),
        };
        let inside = self.0.range(prefix.clone()..).take_while({
            let prefix = prefix.clone();
            move |(path, _)| path.starts_with(prefix.as_str())
        });
        inside.map(move |(path, _)| &path[prefix.len()..])
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &str) -> io::Result<Arc<[u8]>> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn names(&self, dir: &str) -> io::Result<Vec<EcoString>> {
        Ok(self.below(dir).filter(|name| !name.contains('/')).map(EcoString::from).collect())
    }
    fn is_dir(&self, path: &str) -> io::Result<bool> {
        match self.0.contains_key(path) {
            true => Ok(false),
            false if self.below(path).next().is_some() => Ok(true),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Buffers that are not saved yet, over other files.
pub struct Overlay {
    below: Arc<dyn Files>,
    buffers: MemoryFiles,
}

impl Overlay {
    /// Buffers by path. A path that the other files do not have is a new file.
    pub fn new(below: Arc<dyn Files>, buffers: MemoryFiles) -> Overlay {
        Overlay { below, buffers }
    }
}

impl Files for Overlay {
    fn read(&self, path: &str) -> io::Result<Arc<[u8]>> {
        self.buffers.read(path).or_else(|_| self.below.read(path))
    }
    fn names(&self, dir: &str) -> io::Result<Vec<EcoString>> {
        match (self.buffers.names(dir), self.below.names(dir)) {
            (Ok(buffers), Ok(saved)) => {
                let all: BTreeSet<EcoString> = buffers.into_iter().chain(saved).collect();
                Ok(all.into_iter().collect())
            }
            (Ok(buffers), Err(_)) if !buffers.is_empty() => Ok(buffers),
            (_, saved) => saved,
        }
    }
    fn is_dir(&self, path: &str) -> io::Result<bool> {
        self.buffers.is_dir(path).or_else(|_| self.below.is_dir(path))
    }
    fn version(&self, path: &str) -> io::Result<u64> {
        self.buffers.version(path).or_else(|_| self.below.version(path))
    }
    fn identity(&self, dir: &str) -> EcoString {
        self.below.identity(dir)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Files, MemoryFiles, Overlay, entry_path, split_path};

    fn memory(paths: &[&str]) -> MemoryFiles {
        let mut files = MemoryFiles::default();
        paths.iter().for_each(|path| files.write(path, path.as_bytes()));
        files
    }

    #[test]
    fn memory_has_directories() {
        let files = memory(&["main.tf", "m/a.tf", "m/n/b.tf", "mm/c.tf"]);
        assert_eq!(files.names(".").ok(), Some(vec!["main.tf".into()]));
        assert_eq!(files.names("m").ok(), Some(vec!["a.tf".into()]));
        assert_eq!(files.names("x").ok(), Some(vec![]));
        assert_eq!(["m", "m/n", "main.tf"].map(|path| files.is_dir(path).ok()), [Some(true), Some(true), Some(false)]);
        assert!(files.is_dir("x").is_err());
    }

    #[test]
    fn buffers_lie_over_saved_files() {
        let mut buffers = MemoryFiles::default();
        buffers.write("m/a.tf", b"changed".as_slice());
        buffers.write("m/new.tf", b"new".as_slice());
        let files = Overlay::new(Arc::new(memory(&["m/a.tf", "m/b.tf"])), buffers);
        assert_eq!(files.names("m").ok(), Some(vec!["a.tf".into(), "b.tf".into(), "new.tf".into()]));
        assert_eq!(files.read("m/a.tf").ok().as_deref(), Some(b"changed".as_slice()));
        assert_eq!(files.read("m/b.tf").ok().as_deref(), Some(b"m/b.tf".as_slice()));
        let saved = memory(&["m/a.tf", "m/b.tf"]);
        let is_as_saved = |path| files.version(path).ok() == saved.version(path).ok();
        assert_eq!([is_as_saved("m/a.tf"), is_as_saved("m/b.tf")], [false, true]);
        assert!(files.version("m/none.tf").is_err());
    }

    #[test]
    fn paths_are_split_and_joined() {
        for path in ["a.tf", "m/a.tf", "/x/a.tf"] {
            let (dir, name) = split_path(path);
            assert_eq!(entry_path(dir, name), path);
        }
    }
}
