//! Noticing that another process has removed, replaced or changed a state file that this process works with.
//!
//! The lock excludes only processes that take it. A checkout, an editor or `rm` does not take it. Their result is never
//! overwritten, and a file without a name is never regarded as the saved state.

use std::io;

use super::state_file::{StateFile, read_or_nothing};
use crate::diagnostics;
use crate::errored::ERRORED_STATE;
use crate::files::{OpenFile, each_piece};
use crate::store::WayBack;

/// A cheap fingerprint of a file that detects changes by other processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    crc32: crc32fast::Hasher,
    length: u64,
}

impl Sum {
    pub(crate) fn of(bytes: &[u8]) -> Sum {
        let mut sum = Sum::default();
        sum.add(bytes);
        sum
    }
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.crc32.update(bytes);
        self.length += bytes.len() as u64;
    }
    fn of_file(file: &mut dyn OpenFile) -> io::Result<Sum> {
        let mut sum = Sum::default();
        each_piece(file, 0, &mut |_, piece| {
            sum.add(piece);
            Ok(())
        })?;
        Ok(sum)
    }
}

impl PartialEq for Sum {
    fn eq(&self, other: &Sum) -> bool {
        (self.length, self.crc32.clone().finalize()) == (other.length, other.crc32.clone().finalize())
    }
}

/// Replacement of the file that this process has read or written.
#[derive(Debug)]
pub(crate) enum Replaced {
    /// The name no longer exists.
    Removed,
    /// A file without content.
    Emptied,
    /// The same state with a serial that this process has not seen: another run has saved it.
    Newer { serial: u64 },
    /// The same state, as it was before or changed by hand.
    Older { serial: u64 },
    /// A state of another lineage.
    Other,
    /// Anything else.
    NoState,
    /// It cannot be read.
    Unreadable(io::Error),
}

impl StateFile {
    /// Change of the file by another process since this process has read or written it.
    pub(super) fn replaced(&mut self) -> io::Result<Option<Replaced>> {
        let path = self.paths.write.clone();
        let is_ours = match &mut self.held {
            Some(held) => {
                held.file.is_at(&path)?
                    && match &self.on_disk {
                        Some(known) => Sum::of_file(held.file.as_mut())? == *known,
                        None => true,
                    }
            }
            None => match &self.on_disk {
                Some(known) => Sum::of(&read_or_nothing(self.files.as_ref(), &path)?) == *known,
                None => true,
            },
        };
        Ok((!is_ours).then(|| self.instead()))
    }

    /// The current file of that name.
    pub(super) fn instead(&self) -> Replaced {
        let bytes = match self.files.read(&self.paths.write) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Replaced::Removed,
            Err(error) => return Replaced::Unreadable(error),
        };
        if bytes.trim_ascii().is_empty() {
            return Replaced::Emptied;
        }
        let clear = self.unsealed(&bytes).ok();
        let Some((state, _)) = clear.and_then(|(clear, _)| yuba_state::read(&clear).ok()) else {
            return Replaced::NoState;
        };
        match self.seen() {
            Some((lineage, _)) if *lineage != state.lineage => Replaced::Other,
            Some((_, serial)) if state.serial > serial => Replaced::Newer { serial: state.serial },
            None => Replaced::Other,
            Some(_) => Replaced::Older { serial: state.serial },
        }
    }

    /// Lineage and serial of what this process has read or written.
    fn seen(&self) -> Option<(&ecow::EcoString, u64)> {
        self.started.as_ref().map(|(lineage, serial)| (lineage, *serial))
    }

    /// The command that saves the final state of a run that could not.
    pub(super) fn command_for_errored(&self) -> String {
        match self.paths.by_flag {
            true => format!("cp {ERRORED_STATE} {}", self.paths.write.display()),
            false => format!("yuba state push {ERRORED_STATE}"),
        }
    }

    /// Advice for saving a state later that could not be saved.
    pub(super) fn way(&mut self) -> WayBack {
        let path = self.paths.write.display().to_string();
        let replaced = self.replaced().unwrap_or_default();
        let is_in_the_way = matches!(replaced, Some(Replaced::Other | Replaced::NoState));
        match replaced {
            Some(Replaced::Newer { serial }) => WayBack::Merge { path, serial },
            _ if self.paths.by_flag => WayBack::Copy { to: path, is_in_the_way },
            _ => WayBack::Push { in_the_way: is_in_the_way.then_some(path) },
        }
    }
}

/// Reason why the next content of a state file was not saved.
#[derive(Debug)]
pub(crate) enum SaveFailure {
    /// Another process has changed the file.
    Replaced(Replaced),
    /// The file cannot be written.
    File(io::Error),
    /// The copy of the previous content cannot be written.
    Backup(io::Error),
    /// Another cause, to be reported.
    Other(yuba_syntax::Diagnostics),
}

impl SaveFailure {
    /// The kind of a cause, for comparison.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self {
            SaveFailure::Replaced(_) => Some(Cause::Replaced),
            SaveFailure::File(error) | SaveFailure::Backup(error) => Some(Cause::Io(error.kind())),
            SaveFailure::Other(_) => None,
        }
    }

    pub(crate) fn diagnostics(self, paths: &super::Paths) -> yuba_syntax::Diagnostics {
        match self {
            SaveFailure::Replaced(replaced) => diagnostics::replaced(&paths.write, &replaced).into(),
            SaveFailure::File(error) => diagnostics::not_saved(&paths.write, &error).into(),
            SaveFailure::Backup(error) => {
                diagnostics::no_backup(paths.backup.path().unwrap_or(&paths.write), &error).into()
            }
            SaveFailure::Other(problems) => problems,
        }
    }
}

/// Reason why something could not be saved, reported once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Replaced,
    Io(io::ErrorKind),
}
