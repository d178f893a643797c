//! Staging directories beside installed packages. Leftovers of a killed process are removed later; a finished package
//! moves to its directory in one step.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// The directory below a directory of packages.
const NAME: &str = ".unfinished";

/// Age after which an unused directory is removed.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A directory that is removed when dropped.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
    /// Marks the directory as in use, where that is possible: a process that ends releases its lock.
    _lock: Option<File>,
}

impl Staging {
    /// A new directory below a directory of packages.
    pub(crate) fn new(base: &Path) -> io::Result<Staging> {
        let parent = base.join(NAME);
        clean(&parent);
        let path = parent.join(format!("{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed)));
        // This name is unique, unless another container uses the same directory.
        for attempt in 0..100 {
            let path = if attempt == 0 { path.clone() } else { path.with_extension(attempt.to_string()) };
            // A process that is done removes the parent if it is empty, which may be at any moment in here.
            match fs::create_dir_all(&parent).and_then(|()| fs::create_dir(&path)) {
                Ok(()) => match lock(&path) {
                    // Another process removed it before it was locked.
                    Lock::Others => {}
                    _ if !path.is_dir() => {}
                    Lock::Ours(file) => return Ok(Staging { path, _lock: Some(file) }),
                    Lock::Unknown => return Ok(Staging { path, _lock: None }),
                },
                Err(error) if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{} is not free", path.display())))
    }

    /// A path in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Moves an entry of this directory to its destination, replacing the existing one.
    pub(crate) fn publish(&self, name: &str, target: &Path) -> io::Result<()> {
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        let new = self.join(name);
        let Ok(old) = fs::symlink_metadata(target) else { return fs::rename(&new, target) };
        if !old.is_dir() && !new.is_dir() || old.is_symlink() && fs::symlink_metadata(&new)?.is_symlink() {
            return fs::rename(&new, target);
        }
        // A directory cannot be replaced in one step: it goes aside, and comes back if that was in vain.
        let aside = self.join("old");
        fs::rename(target, &aside)?;
        fs::rename(&new, target).inspect_err(|_| {
            let _ = fs::rename(&aside, target);
        })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Directories that cannot be removed now are removed later.
        let _ = fs::remove_dir_all(&self.path);
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

/// A lock on a directory.
enum Lock {
    /// It is free.
    Ours(File),
    /// A process works there.
    Others,
    /// The file system knows no such locks.
    Unknown,
}

fn lock(dir: &Path) -> Lock {
    let Ok(file) = File::open(dir) else { return Lock::Unknown };
    match file.try_lock() {
        Ok(()) => Lock::Ours(file),
        Err(TryLockError::WouldBlock) => Lock::Others,
        Err(TryLockError::Error(_)) => Lock::Unknown,
    }
}

/// Removes what processes have left that were killed.
fn clean(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let _lock = match lock(&entry.path()) {
            Lock::Ours(file) => Some(file),
            Lock::Unknown if is_forgotten(&entry) => None,
            Lock::Unknown | Lock::Others => continue,
        };
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// Whether no process can be working there, as far as is visible.
fn is_forgotten(entry: &fs::DirEntry) -> bool {
    let age = entry.metadata().and_then(|found| found.modified()).ok();
    let age = age.and_then(|time| SystemTime::now().duration_since(time).ok()).unwrap_or_default();
    let name = entry.file_name();
    let process = name.to_str().and_then(|name| name.split('-').next()?.parse::<i32>().ok());
    age > FORGOTTEN && !process.is_some_and(is_alive)
}

#[cfg(unix)]
fn is_alive(process: i32) -> bool {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), None) != Err(nix::errno::Errno::ESRCH)
}

#[cfg(not(unix))]
fn is_alive(_: i32) -> bool {
    true
}

/// A lock on the directory of a package, which all installing processes respect, OpenTofu included. It ends when
/// dropped.
#[derive(Debug)]
pub(crate) struct PlaceLock {
    _file: File,
}

impl PlaceLock {
    /// Waits for the lock on the directory of a package, and calls `waiting` if that takes long.
    pub(crate) fn acquire(package: &Path, waiting: &mut dyn FnMut()) -> io::Result<PlaceLock> {
        let mut name = package.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let path = package.with_file_name(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
        wait_for(&file, waiting)?;
        Ok(PlaceLock { _file: file })
    }
}

/// Interval for checking whether a lock is free.
#[cfg(unix)]
const PAUSE: Duration = Duration::from_millis(25);
/// Time after which the wait is reported.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes a lock that excludes other processes (also with POSIX record locks, as OpenTofu takes them) and other threads.
#[cfg(unix)]
fn wait_for(file: &File, waiting: &mut dyn FnMut()) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    let lock = nix::libc::flock {
        l_type: nix::libc::F_WRLCK as _,
        l_whence: nix::libc::SEEK_SET as _,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    let mut waited = Duration::ZERO;
    let mut is_told = false;
    loop {
        #[cfg(target_os = "linux")]
        let taken = fcntl(file, FcntlArg::F_OFD_SETLK(&lock));
        #[cfg(not(target_os = "linux"))]
        let taken = fcntl(file, FcntlArg::F_SETLK(&lock));
        match taken {
            Ok(_) => return Ok(()),
            Err(Errno::EAGAIN | Errno::EACCES | Errno::EINTR | Errno::EDEADLK) => {}
            // A file system that does not support locks is used without a lock.
            Err(Errno::ENOLCK | Errno::EINVAL | Errno::EOPNOTSUPP | Errno::ENOSYS) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if waited >= PATIENCE && !is_told {
            is_told = true;
            waiting();
        }
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}

#[cfg(not(unix))]
fn wait_for(file: &File, waiting: &mut dyn FnMut()) -> io::Result<()> {
    if file.try_lock().is_err() {
        waiting();
        file.lock()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_come_and_go_at_once() {
        let sandbox = yuba_testkit::Sandbox::new("", "");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        let staging = Staging::new(&sandbox.dir()).expect("there is room for all");
                        fs::write(staging.join("x"), "").expect("no other process removes it");
                    }
                });
            }
        });
        assert!(!sandbox.dir().join(NAME).exists());
    }

    #[test]
    fn packages_move_to_their_directory_in_one_step() {
        let sandbox = yuba_testkit::Sandbox::new("", "//- other/x\nother\n");
        let base = sandbox.dir().join("packages");
        let target = base.join("a/b");
        let content = || fs::read_to_string(target.join("x")).unwrap_or_else(|_| "-".to_owned());
        let publish = |text: &str| {
            let staging = Staging::new(&base).expect("it can be made");
            fs::create_dir(staging.join("new")).expect("it can be made");
            fs::write(staging.join("new").join("x"), text).expect("it can be written");
            staging.publish("new", &target).expect("it can be renamed");
        };
        let link = || {
            let staging = Staging::new(&base).expect("it can be made");
            std::os::unix::fs::symlink(sandbox.dir().join("other"), staging.join("new")).expect("it can be made");
            staging.publish("new", &target).expect("it can be renamed");
        };
        publish("one");
        assert_eq!(content(), "one");
        publish("two");
        assert_eq!(content(), "two");
        link();
        assert_eq!(content(), "other\n");
        link();
        assert_eq!(content(), "other\n");
        publish("three");
        assert_eq!(content(), "three");
        assert_eq!(fs::read_to_string(sandbox.dir().join("other/x")).expect("it exists"), "other\n");
        assert_eq!(fs::read_dir(&base).expect("it exists").count(), 1);
    }

    #[test]
    fn what_killed_processes_leave_is_removed() {
        let sandbox = yuba_testkit::Sandbox::new("", "//- packages/.unfinished/4000000-0/new/x\nhalf\n");
        let base = sandbox.dir().join("packages");
        let names = || {
            let entries = fs::read_dir(base.join(NAME)).into_iter().flatten().flatten();
            let mut names: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            names.sort();
            names
        };
        let one = Staging::new(&base).expect("it can be made");
        assert_eq!(names(), [one.join("")].map(|path| path.components().collect::<PathBuf>()));
        let two = Staging::new(&base).expect("it can be made");
        assert!(one.join("").is_dir() && two.join("").is_dir());
        drop((one, two));
        assert!(!base.join(NAME).exists());
    }

    #[test]
    fn one_at_a_time() {
        let sandbox = yuba_testkit::Sandbox::new("", "");
        let package = sandbox.dir().join("v/linux_amd64");
        let inside = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let lock = PlaceLock::acquire(&package, &mut || ()).expect("it can be locked");
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(lock);
                });
            }
        });
    }
}
