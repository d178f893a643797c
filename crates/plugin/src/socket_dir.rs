//! Directories for the sockets of providers: private, with short names, and gone as soon as the connection stands.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// Names of such directories begin so; the space of process ids follows, and the id of the process that made it.
const PREFIX: &str = "yuba-plugin-";

/// The path of a socket has at most 104 bytes on some systems, and its file name about 20.
const LONGEST: usize = 80;

/// Age after which an unused directory is removed, if its owner is unknown.
const STALE: Duration = Duration::from_secs(600);

/// A directory for the socket of one provider. Is removed with this.
#[derive(Debug)]
pub(crate) struct SocketDir(PathBuf);

impl SocketDir {
    /// In the directory for temporary files, where that has a short name.
    pub(crate) fn new(temporary: &Path) -> io::Result<SocketDir> {
        let mut random = [0_u8; 6];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let random = random.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let name = format!("{PREFIX}{:x}-{}-{random}", pid_space(), std::process::id());
        let mut parent = temporary.to_owned();
        if parent.as_os_str().len() + 1 + name.len() > LONGEST {
            parent = PathBuf::from("/tmp");
        }
        let path = parent.join(name);
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        Ok(SocketDir(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Namespace of our process id: containers may share directories for temporary files, but not process ids. 0 if
/// unknown.
fn pid_space() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |data| std::os::unix::fs::MetadataExt::ino(&data))
}

/// Removes directories of processes that were killed while a provider was starting.
pub(crate) fn remove_stale(temporary: &Path) {
    let Ok(entries) = fs::read_dir(temporary) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let mut parts = rest.split('-');
        let space = parts.next().and_then(|space| u64::from_str_radix(space, 16).ok());
        let pid = parts.next().and_then(|pid| pid.parse().ok());
        let is_gone = pid.is_some_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH));
        let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|at| at.elapsed().ok());
        let is_ours = space.is_some_and(|space| space != 0 && space == pid_space());
        if is_gone && (is_ours || age.is_some_and(|age| age > STALE)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_lives_as_long_as_it_is_held() {
        let dir = SocketDir::new(&std::env::temp_dir()).expect("because a directory for temporary files exists");
        let path = dir.path().to_owned();
        fs::write(path.join("socket"), "").expect("because the directory is ours");
        assert!(path.as_os_str().len() <= LONGEST);
        // Of a process that cannot be: ids are not that high.
        let stale = SocketDir(path.with_file_name(format!("{PREFIX}{:x}-{}-test", pid_space(), i32::MAX)));
        fs::create_dir_all(stale.path()).expect("because a directory for temporary files exists");
        remove_stale(&std::env::temp_dir());
        assert!(path.exists());
        assert!(!stale.path().exists() || pid_space() == 0);
        drop(dir);
        assert!(!path.exists());
    }
}
