//! The real file system.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::{LockAttempt, Open, OpenFile, StateFiles};

/// Maximum number of links in a row; longer chains are loops.
const MAX_LINKS: usize = 40;

/// The real file system; relative paths start in the current directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl StateFiles for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn OpenFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        match how {
            Open::Existing => {}
            Open::OrCreate => {
                options.create(true).truncate(false);
            }
            Open::Empty => {
                options.create(true).truncate(true);
            }
            Open::EmptyPrivate => {
                options.create(true).truncate(true);
                private(&mut options);
            }
        }
        Ok(Box::new(DiskFile(options.open(path)?)))
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_symlink() => {
                    let target = fs::read_link(&path)?;
                    path = super::directory_of(&path).join(target);
                }
                Ok(_) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("too many links in a row"))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn permissions(&self, path: &Path) -> io::Result<std::fs::Permissions> {
        Ok(std::fs::metadata(path)?.permissions())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        sync_directory(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn directories(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let entries: io::Result<Vec<_>> = fs::read_dir(path)?.collect();
        let mut names: Vec<_> =
            entries?.into_iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }
}

#[derive(Debug)]
struct DiskFile(File);

impl OpenFile for DiskFile {
    fn read_all(&mut self) -> io::Result<Vec<u8>> {
        self.0.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        self.0.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.0.seek(SeekFrom::Start(offset))?;
        let mut filled = 0;
        while filled < into.len() {
            match self.0.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.write_all(bytes)
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn reserve(&mut self, len: u64) -> io::Result<()> {
        reserve(&self.0, len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn take_permissions_of(&mut self, other: &dyn OpenFile) -> io::Result<()> {
        self.0.set_permissions(other.permissions()?)
    }

    fn permissions(&self) -> io::Result<fs::Permissions> {
        Ok(self.0.metadata()?.permissions())
    }

    fn try_lock(&mut self) -> io::Result<LockAttempt> {
        record_lock::try_lock(&self.0)
    }

    fn locked_by_other(&mut self) -> io::Result<bool> {
        Ok(record_lock::holder(&self.0)?.is_some())
    }

    fn is_at(&self, path: &Path) -> io::Result<bool> {
        match fs::metadata(path) {
            Ok(there) => Ok(is_same(&self.0.metadata()?, &there)),
            Err(error) if is_nowhere(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.0.metadata()?.len() == 0)
    }
}

/// Whether nothing has the name that was asked for.
fn is_nowhere(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn private(_options: &mut OpenOptions) {}

#[cfg(target_os = "linux")]
fn reserve(file: &File, len: u64) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{FallocateFlags, fallocate};
    let Ok(len) = i64::try_from(len) else { return Ok(()) };
    loop {
        return match fallocate(file, FallocateFlags::FALLOC_FL_KEEP_SIZE, 0, len) {
            Err(Errno::EINTR) => continue,
            Err(error @ (Errno::ENOSPC | Errno::EDQUOT)) => Err(error.into()),
            // Not every file system can.
            _ => Ok(()),
        };
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _len: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_one: &fs::Metadata, _other: &fs::Metadata) -> bool {
    true
}

/// POSIX record locks over the whole file, the kind OpenTofu takes on a state file.
///
/// Where the system supports it, the lock belongs to the open file instead of the process: it conflicts with OpenTofu's
/// all the same, works between two users of this crate in one process, and is not lost when other code in this process
/// opens and closes the state file.
#[cfg(unix)]
mod record_lock {
    use std::fs::File;
    use std::io;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    use super::LockAttempt;

    // The constants have different integer types on different systems.
    #[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)]
    fn whole_file() -> libc::flock {
        libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: 0,
            l_len: 0,
            l_pid: 0,
        }
    }

    #[cfg(target_os = "linux")]
    fn set(lock: &libc::flock) -> FcntlArg<'_> {
        FcntlArg::F_OFD_SETLK(lock)
    }

    #[cfg(not(target_os = "linux"))]
    fn set(lock: &libc::flock) -> FcntlArg<'_> {
        FcntlArg::F_SETLK(lock)
    }

    #[cfg(target_os = "linux")]
    fn get(lock: &mut libc::flock) -> FcntlArg<'_> {
        FcntlArg::F_OFD_GETLK(lock)
    }

    #[cfg(not(target_os = "linux"))]
    fn get(lock: &mut libc::flock) -> FcntlArg<'_> {
        FcntlArg::F_GETLK(lock)
    }

    pub(super) fn try_lock(file: &File) -> io::Result<LockAttempt> {
        match fcntl(file, set(&whole_file())) {
            Ok(_) => Ok(LockAttempt::Taken),
            Err(Errno::EAGAIN | Errno::EACCES) => {
                Ok(LockAttempt::Refused { pid: holder(file).unwrap_or_default().flatten() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether another process holds a lock, and its number where the system reports it.
    #[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)]
    pub(super) fn holder(file: &File) -> io::Result<Option<Option<u32>>> {
        let mut lock = whole_file();
        fcntl(file, get(&mut lock))?;
        if lock.l_type == libc::F_UNLCK as libc::c_short {
            return Ok(None);
        }
        Ok(Some(u32::try_from(lock.l_pid).ok().filter(|pid| *pid > 0)))
    }
}

/// Elsewhere: the locks of the standard library.
#[cfg(not(unix))]
mod record_lock {
    use std::fs::{File, TryLockError};
    use std::io;

    use super::LockAttempt;

    pub(super) fn try_lock(file: &File) -> io::Result<LockAttempt> {
        match file.try_lock() {
            Ok(()) => Ok(LockAttempt::Taken),
            Err(TryLockError::WouldBlock) => Ok(LockAttempt::Refused { pid: None }),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    pub(super) fn holder(file: &File) -> io::Result<Option<Option<u32>>> {
        match try_lock(file)? {
            LockAttempt::Taken => file.unlock().map(|()| None),
            LockAttempt::Refused { pid } => Ok(Some(pid)),
        }
    }
}
