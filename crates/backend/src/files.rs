//! The door to the file system: every file operation of this crate goes through [`StateFiles`], so that tests can make each one
//! fail.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

mod disk;
#[cfg(test)]
pub(crate) mod faulty;
mod rooted;

pub use disk::Disk;
pub use rooted::DiskAt;

/// The file system operations that this crate requires.
pub trait StateFiles: Debug + Send + Sync {
    /// The content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Opens a file to read, write and lock it.
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn OpenFile>>;
    /// Resolves links of a path, whether or not the file exists.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;
    /// Whether a file or directory exists.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// The permissions of a file.
    fn permissions(&self, path: &Path) -> io::Result<std::fs::Permissions>;
    /// Gives a file another name, in place of what has that name now.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes names that were given or removed in a directory survive a power cut.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// Makes a directory and those above it.
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory with everything in it; succeeds if it does not exist.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// Names of the directories in a directory, in order.
    fn directories(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Names of everything in a directory, in order.
    fn names(&self, path: &Path) -> io::Result<Vec<String>>;
}

/// Mode of opening a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// The file must exist.
    Existing,
    /// A missing file is created, with the permissions of the user's umask.
    OrCreate,
    /// The file is created or truncated, with the permissions of the user's umask.
    Empty,
    /// It is made or emptied, for this user alone.
    EmptyPrivate,
}

/// An open file.
pub trait OpenFile: Debug + Send {
    /// Its whole content.
    fn read_all(&mut self) -> io::Result<Vec<u8>>;
    /// Fills a buffer with the content at an offset and returns the number of bytes read.
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize>;
    /// Writes all these bytes at an offset.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts it, or extends it with zeros.
    fn set_len(&mut self, len: u64) -> io::Result<()>;
    /// Makes room on the disk for the file to grow to a length, without growing it. Fine where the file system cannot.
    fn reserve(&mut self, len: u64) -> io::Result<()>;
    /// Makes the content survive a power cut.
    fn sync(&mut self) -> io::Result<()>;
    /// Gives it the permissions of another file.
    fn take_permissions_of(&mut self, other: &dyn OpenFile) -> io::Result<()>;
    /// Its permissions, where files have them.
    fn permissions(&self) -> io::Result<std::fs::Permissions>;
    /// Tries to lock it against other processes, without waiting. The lock ends with this value.
    fn try_lock(&mut self) -> io::Result<LockAttempt>;
    /// Whether another process has locked it.
    fn locked_by_other(&mut self) -> io::Result<bool>;
    /// Whether it is the file that has this name now.
    fn is_at(&self, path: &Path) -> io::Result<bool>;
    /// Whether nothing is in it.
    fn is_empty(&self) -> io::Result<bool>;
}

/// Result of the attempt to lock a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockAttempt {
    /// It is ours.
    Taken,
    /// Another process holds the lock; its number where the system reports it.
    Refused {
        /// The process that holds it, on this host.
        pid: Option<u32>,
    },
}

/// Size of the pieces in which the content of a file is processed. Tests have files of several pieces.
pub(crate) const PIECE: usize = if cfg!(test) { 1 << 12 } else { 1 << 17 };

/// Reads a file piece by piece from an offset. `take` gets each piece and its offset. Returns the offset of the end of the file.
pub(crate) fn each_piece(
    file: &mut dyn OpenFile,
    from: u64,
    take: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    let mut piece = vec![0; PIECE];
    let mut at = from;
    loop {
        let length = file.read_at(at, &mut piece)?;
        if length > 0 {
            take(at, &piece[..length])?;
        }
        at += length as u64;
        if length < PIECE {
            return Ok(at);
        }
    }
}

/// The directory of a file.
pub(crate) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A hidden name beside a file: `.NAME.suffix`, without doubling an existing dot.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_prefix('.').unwrap_or(&name);
    path.with_file_name(format!(".{name}.{suffix}"))
}

/// Permissions of a new file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access<'a> {
    /// This user alone.
    Private,
    /// All users that the umask allows.
    ByMask,
    /// Permissions to read this file.
    Like(&'a dyn OpenFile),
}

/// Replaces the content of a side file as a whole: a reader finds the old content or the new one.
///
/// Not for the state itself: see `local::snapshot`.
pub(crate) fn replace(files: &dyn StateFiles, path: &Path, content: &[u8], access: Access<'_>) -> io::Result<()> {
    replace_by(files, path, access, &mut |file| file.write_at(0, content))
}

/// The same for a content that is not in memory as a whole.
pub(crate) fn replace_by(files: &dyn StateFiles, path: &Path, access: Access<'_>, fill: Fill<'_>) -> io::Result<()> {
    let path = files.resolve(path)?;
    let temporary = beside(&path, "tmp");
    write_new_by(files, &temporary, access, fill)?;
    files.rename(&temporary, &path).inspect_err(|_| drop(files.remove(&temporary)))?;
    files.sync_directory(directory_of(&path))
}

/// Writes the content of a file that was just made.
pub(crate) type Fill<'f> = &'f mut dyn FnMut(&mut dyn OpenFile) -> io::Result<()>;

/// Writes a file under a new name, safe on disk when this returns.
pub(crate) fn write_new(
    files: &dyn StateFiles,
    path: &Path,
    content: &[u8],
    access: Access<'_>,
) -> io::Result<Box<dyn OpenFile>> {
    write_new_by(files, path, access, &mut |file| file.write_at(0, content))
}

/// The same for a content that is not in memory as a whole.
pub(crate) fn write_new_by(
    files: &dyn StateFiles,
    path: &Path,
    access: Access<'_>,
    fill: Fill<'_>,
) -> io::Result<Box<dyn OpenFile>> {
    let how = if matches!(access, Access::ByMask) { Open::Empty } else { Open::EmptyPrivate };
    let mut file = files.open(path, how)?;
    let mut write = || {
        fill(file.as_mut())?;
        if let Access::Like(other) = access {
            file.take_permissions_of(other)?;
        }
        file.sync()
    };
    // The reason for the failure matters more than a file left behind.
    write().inspect_err(|_| drop(files.remove(path)))?;
    Ok(file)
}
