//! A private directory for the files of one SSH connection, removed in the end.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A directory of our own.
pub(super) struct Room {
    path: PathBuf,
}

impl Room {
    pub(super) fn new(temporary: &Path) -> io::Result<Room> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|problem| io::Error::other(problem.to_string()))?;
        let path = temporary.join(format!("yuba-ssh-{:016x}", u64::from_le_bytes(bytes)));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Fails if the directory exists.
        builder.create(&path)?;
        Ok(Room { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file that only this user can read. An existing file is replaced.
    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        self.file_with_mode(name, 0o600)
    }

    fn file_with_mode(&self, name: &str, mode: u32) -> io::Result<File> {
        self.remove(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        options.open(self.path.join(name))
    }

    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        self.file(name)?.write_all(text.as_bytes())
    }

    pub(super) fn write_program(&self, name: &str, text: &str) -> io::Result<()> {
        self.file_with_mode(name, 0o700)?.write_all(text.as_bytes())
    }

    pub(super) fn remove(&self, name: &str) {
        let _ = std::fs::remove_file(self.path.join(name));
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_directory_is_private_and_removed() {
        let mode = |path: &Path| path.metadata().map(|found| found.permissions().mode() & 0o777).ok();
        let room = Room::new(&std::env::temp_dir()).expect("because the directory for temporary files is writable");
        let path = room.path().to_owned();
        for text in ["secret", "other"] {
            room.write("file", text).expect("because the room is ours");
            assert_eq!(std::fs::read_to_string(path.join("file")).ok().as_deref(), Some(text));
        }
        room.write_program("program", "").expect("because the room is ours");
        let modes = [&path, &path.join("file"), &path.join("program")].map(|path| mode(path));
        assert_eq!(modes, [Some(0o700), Some(0o600), Some(0o700)]);
        drop(room);
        assert_eq!(mode(&path), None);
    }
}
