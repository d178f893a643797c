//! Saving a state file so that neither a crash nor a full disk loses it, under a lock that others may be waiting for.
//!
//! A process that waits for the lock of a state file has that file open: OpenTofu goes on with the very file it has
//! waited for. Were another file renamed into its place, the waiting process would read and write a file that no name
//! leads to any more. So the file itself is overwritten, in an order that leaves a whole copy somewhere at every moment:
//!
//! 1. The new content is written to a side file, flushed, and given the name `.NAME.new`.
//! 2. The state file is overwritten: first everything behind the head, then the head, which holds the serial. Until the
//!    last step it has the old serial, so nobody takes a half-written file for the new one.
//! 3. The side file is removed.
//!
//! Whoever reads a state with a side file present decides by [`settle`]. When step 2 fails, for instance because the disk
//! is full, the side file takes the place of the state file after all: it is whole, and needs no more space.

use std::io;
use std::path::{Path, PathBuf};

use crate::files::{Access, Files, Open, OpenFile, beside, directory_of, write_new};
use crate::timestamp::Timestamp;

/// The part of a state file that is written last. Version, serial and lineage are at its start.
const HEAD: usize = 4096;

/// Where the next content waits while the state file is overwritten.
pub(crate) fn pending_path(state: &Path) -> PathBuf {
    beside(state, "new")
}

/// Saves the content of a state file. With `held` the file is open and locked; it stays so, and is another one afterwards
/// when overwriting failed.
pub(crate) fn save(
    files: &dyn Files,
    state: &Path,
    held: Option<&mut Box<dyn OpenFile>>,
    content: &[u8],
) -> io::Result<()> {
    let locked = held.is_some();
    let mut opened;
    let file = match held {
        Some(file) => file,
        None => {
            files.create_directory(directory_of(state))?;
            opened = files.open(state, Open::OrCreate)?;
            &mut opened
        }
    };
    let (temporary, pending) = (beside(state, "tmp"), pending_path(state));
    let mut side = write_new(files, &temporary, content, Access::Like(file.as_ref()))?;
    files.rename(&temporary, &pending).inspect_err(|_| drop(files.remove(&temporary)))?;
    files.sync_directory(directory_of(state))?;
    if let Err(error) = overwrite(file.as_mut(), content) {
        if locked {
            side.try_lock()?;
        }
        // The reason why overwriting failed is the one to tell.
        files.rename(&pending, state).map_err(|_| error)?;
        *file = side;
        return files.sync_directory(directory_of(state));
    }
    // From here on the state is safe. A side file left behind is recognised as equal, and removed, by the next reader.
    let _ = files.remove(&pending);
    Ok(())
}

fn overwrite(file: &mut dyn OpenFile, content: &[u8]) -> io::Result<()> {
    let (head, tail) = content.split_at(content.len().min(HEAD));
    if !tail.is_empty() {
        file.write_at(head.len() as u64, tail)?;
    }
    file.set_len(content.len() as u64)?;
    file.sync()?;
    file.write_at(0, head)?;
    file.sync()
}

/// Which of the two contents counts, when a state file and a side file are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The state file; the side file says nothing else.
    Current,
    /// The side file: the state file was not, or not wholly, overwritten.
    Pending,
    /// The state file, but somebody wrote it without having seen the side file, which is to be kept for the user.
    Conflict,
}

/// Decides between the content of a state file and that of the side file.
pub(crate) fn settle(current: &[u8], pending: &[u8], in_clear: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Settled {
    if current == pending {
        return Settled::Current;
    }
    let read = |bytes: &[u8]| yuba_state::read(&in_clear(bytes)?).ok();
    let Some((next, _)) = read(pending) else { return Settled::Conflict };
    // A file that is not whole is one whose overwriting was interrupted.
    let Some((now, _)) = read(current) else { return Settled::Pending };
    if now.lineage != next.lineage && !now.lineage.is_empty() {
        Settled::Conflict
    } else if now.serial < next.serial {
        Settled::Pending
    } else if now.serial == next.serial && now.same_content(&next) {
        Settled::Current
    } else {
        Settled::Conflict
    }
}

/// Puts a file out of the way under a name that tells what it was; answers that name.
pub(crate) fn put_aside(files: &dyn Files, path: &Path, label: &str) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stamp = Timestamp::now().compact();
    for attempt in 0.. {
        let suffix = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let aside = path.with_file_name(format!("{name}.{label}-{stamp}{suffix}"));
        if attempt == 1000 || !files.exists(&aside)? {
            files.rename(path, &aside)?;
            let _ = files.sync_directory(directory_of(path));
            return Ok(aside);
        }
    }
    Err(io::Error::other("because the loop above has no end, this is not reached"))
}
