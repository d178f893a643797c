//! Saving a state file so that neither a crash nor a full disk loses it, under a lock that other processes may be waiting for.
//!
//! A process that waits for the lock of a state file has that file open: OpenTofu goes on with the very file it has
//! waited for. If another file were renamed over it, the waiting process would read and write a file without a name. So
//! the file itself is overwritten, in an order that leaves a whole copy somewhere at every moment:
//!
//! 1. The new content is written to a side file and flushed ([`prepare`]). Then ([`commit`]) it is given the name
//!    `.NAME.new`.
//! 2. The state file is overwritten: first everything behind the head, then the head, which holds the serial. Until the
//!    last step it has the old serial, so a half-written file is never taken for the new one.
//! 3. The side file is removed.
//!
//! A reader that finds a side file decides by [`settle`]. When step 2 fails, for instance because the disk is full, the
//! side file replaces the state file after all: it is whole, and needs no more space.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use yuba_state::State;

use super::replaced::Sum;
use crate::files::{Access, OpenFile, PIECE, StateFiles, beside, directory_of, each_piece, write_new_by};
use crate::journal::line::Fingerprint;
use crate::timestamp::UtcTime;

/// The part of a state file that is written last. Version, serial and lineage are in it and nothing else, and it is smaller than
/// what disks write as a whole or not at all: there is no new serial over a mixture of contents.
const HEAD: usize = 120;

/// Path of the next content while the state file is overwritten.
pub(crate) fn pending_path(state: &Path) -> PathBuf {
    beside(state, "new")
}

/// New content of a state file.
pub(crate) enum Content<'a> {
    /// A state as text, made when it is written: as a whole it takes more room than the state.
    State(&'a State),
    /// Bytes that were encrypted or read.
    Bytes(Cow<'a, [u8]>),
}

impl Content<'_> {
    fn each_piece(&self, take: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match self {
            Content::State(state) => yuba_state::write_in_pieces(state, PIECE, take),
            Content::Bytes(bytes) => bytes.chunks(PIECE).try_for_each(take),
        }
    }
}

/// The next content under a temporary name, safe on disk.
pub(crate) struct Prepared {
    pub(crate) side: Box<dyn OpenFile>,
    temporary: PathBuf,
    /// The fingerprint of its bytes.
    pub(crate) fingerprint: String,
    /// Number of bytes.
    pub(crate) length: u64,
    /// The same, to be compared with what is on disk later.
    pub(crate) sum: Sum,
}

/// Writes the next content of a state file, which is open, to a side file.
pub(crate) fn prepare(
    files: &dyn StateFiles,
    state: &Path,
    file: &dyn OpenFile,
    content: &Content<'_>,
) -> io::Result<Prepared> {
    let temporary = beside(state, "tmp");
    let mut hash = Fingerprint::default();
    let mut sum = Sum::default();
    let side = write_new_by(files, &temporary, Access::Like(file), &mut |side| {
        content.each_piece(&mut |piece| {
            side.write_at(hash.length, piece)?;
            hash.add(piece);
            sum.add(piece);
            Ok(())
        })
    })?;
    Ok(Prepared { side, temporary, length: hash.length, fingerprint: hash.finish(), sum })
}

/// The next content is not wanted after all.
pub(crate) fn discard(files: &dyn StateFiles, prepared: &Prepared) {
    let _ = files.remove(&prepared.temporary);
}

/// An open state file that is overwritten.
pub(crate) struct StateTarget<'a> {
    pub(crate) path: &'a Path,
    pub(crate) file: &'a mut Box<dyn OpenFile>,
    /// This process holds the lock of the file.
    pub(crate) is_locked: bool,
}

/// Makes what was prepared the content of a state file, which is open. If it is locked it stays so; it is another file
/// afterwards when overwriting failed.
pub(crate) fn commit(files: &dyn StateFiles, target: StateTarget<'_>, prepared: Prepared) -> io::Result<()> {
    let StateTarget { path: state, file, is_locked } = target;
    let Prepared { mut side, temporary, .. } = prepared;
    let pending = pending_path(state);
    files.rename(&temporary, &pending).inspect_err(|_| drop(files.remove(&temporary)))?;
    files.sync_directory(directory_of(state))?;
    if let Err(error) = overwrite(file.as_mut(), side.as_mut()) {
        if is_locked {
            side.try_lock()?;
        }
        // The reason why overwriting failed is the one to report.
        files.rename(&pending, state).map_err(|_| error)?;
        *file = side;
        return files.sync_directory(directory_of(state));
    }
    // From here on the state is safe. A side file left behind is recognised as equal, and removed, by the next reader.
    let _ = files.remove(&pending);
    Ok(())
}

fn overwrite(file: &mut dyn OpenFile, side: &mut dyn OpenFile) -> io::Result<()> {
    let mut head = [0; HEAD];
    let length = side.read_at(0, &mut head)?;
    let end = each_piece(side, length as u64, &mut |at, piece| file.write_at(at, piece))?;
    file.set_len(end)?;
    file.sync()?;
    file.write_at(0, &head[..length])?;
    file.sync()
}

/// The valid one of the two contents, when a state file and a side file exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// The state file; the side file says nothing else.
    Current,
    /// The side file: the state file was not, or not wholly, overwritten.
    Pending,
    /// The state file. Another process wrote it without having seen the side file, which is saved for the user.
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

/// Renames a file to a free name that describes it. Returns that name.
pub(crate) fn put_aside(files: &dyn StateFiles, path: &Path, label: &str) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stamp = UtcTime::now().compact();
    let aside = unused_name(files, &path.with_file_name(format!("{name}.{label}-{stamp}")), "")?;
    files.rename(path, &aside)?;
    let _ = files.sync_directory(directory_of(path));
    Ok(aside)
}

/// A name that no file has: the given one with its ending, or with a number between them.
pub(crate) fn unused_name(files: &dyn StateFiles, name: &Path, ending: &str) -> io::Result<PathBuf> {
    let mut attempt = 0_u32;
    loop {
        let number = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let mut path = name.to_owned().into_os_string();
        path.push(format!("{number}{ending}"));
        let path = PathBuf::from(path);
        if !files.exists(&path)? {
            return Ok(path);
        }
        attempt += 1;
    }
}
