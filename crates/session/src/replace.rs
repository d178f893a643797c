//! Replacing the content of a file: a reader finds either the old text or the new text in full, even if the process
//! ends in between.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Gives an existing file a new content. A symbolic or hard link stays one, and permissions and owner stay what they are.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let _span = tracing::debug_span!("write file", path = %path.display(), bytes = content.len()).entered();
    let target = fs::canonicalize(path)?;
    // A file that its owner has made read-only must not be written, though its directory would allow replacing it.
    let old = OpenOptions::new().write(true).open(&target)?;
    let beside = beside(&target);
    // The reason for a failure matters more than a file left behind.
    let clean_up = |_: &io::Error| drop(fs::remove_file(&beside));
    let can_take_its_place = write_like(&old, &beside, content).inspect_err(clean_up)?;
    if can_take_its_place {
        return fs::rename(&beside, &target).inspect_err(clean_up);
    }
    // The full text stays beside the file until the file has it too.
    overwrite(old, content).map_err(|error| {
        io::Error::other(format!("{error}; the content is in {}: rename that file", beside.display()))
    })?;
    fs::remove_file(&beside)
}

/// Replaces a file with one that only its owner may read.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let _span = tracing::debug_span!("write file", path = %path.display(), bytes = content.len()).entered();
    let beside = beside(path);
    let write = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&beside)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&beside, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// A name in the same directory that nothing else has, hidden so that no directory listing picks it up.
fn beside(target: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!(".{name}.{}-{count}.new", std::process::id()))
}

/// Writes a new file with the permissions of the old one; returns whether it can replace the old one.
fn write_like(old: &File, path: &Path, content: &[u8]) -> io::Result<bool> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    let metadata = old.metadata()?;
    file.set_permissions(metadata.permissions())?;
    // Without this a power cut soon after the renaming can leave an empty file on some file systems.
    file.sync_data()?;
    Ok(is_owned_alike(&file.metadata()?, &metadata))
}

/// Whether the new file has the same owner, and no other name of the file would still have the old text.
#[cfg(unix)]
fn is_owned_alike(new: &fs::Metadata, old: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (new.uid(), new.gid()) == (old.uid(), old.gid()) && old.nlink() == 1
}

#[cfg(not(unix))]
fn is_owned_alike(_new: &fs::Metadata, _old: &fs::Metadata) -> bool {
    true
}

fn overwrite(mut file: File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("yuba-replace-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn content_changes_and_nothing_is_left_behind() {
        let dir = directory("plain");
        let path = dir.join("a.tf");
        fs::write(&path, "a long old text").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = directory("link");
        let (path, link) = (dir.join("a.tf"), dir.join("b.tf"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("a.tf", &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn other_names_of_a_file_see_the_new_text() {
        let dir = directory("hard");
        let (path, other) = (dir.join("a.tf"), dir.join("b.tf"));
        fs::write(&path, "a long old text").unwrap();
        fs::hard_link(&path, &other).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2);
    }

    #[test]
    fn a_missing_file_is_not_made() {
        let path = directory("missing").join("a.tf");
        assert_eq!(replace(&path, b"new").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(!path.exists());
    }
}
