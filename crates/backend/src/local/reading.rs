//! Reading a state file: what is in it, what an interrupted run has left beside it, and putting both in order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use yuba_state::State;
use yuba_syntax::Diagnostics;

use super::replaced::{SaveFailure, Sum};
use super::snapshot::{Content, Settled, pending_path, put_aside, settle};
use super::state_file::{StateFile, read_or_nothing};
use crate::diagnostics;
use crate::files::{Open, StateFiles};
use crate::journal::Recovered;
use crate::journal::leftover::{Examination, Leftover, announce_recovery, complete, discard, read_journal};
use crate::journal::writer::journal_path;
use crate::store::Reading;

/// File to read.
struct StateFileRead {
    files: Arc<dyn StateFiles>,
    /// As the user calls it.
    path: PathBuf,
    /// Resolved path of that.
    target: PathBuf,
    /// We have the lock, so what was left is put in order on disk.
    in_order: bool,
}

/// Reads the state. Files are changed only under our lock.
pub(super) fn read(store: &mut StateFile) -> Result<Reading, Diagnostics> {
    let files = store.files.clone();
    let path = store.paths.read.clone();
    let target = files.resolve(&path).map_err(|error| diagnostics::not_read(&path, &error))?;
    let in_order = store.held.is_some() && store.reads_what_it_writes();
    let file = StateFileRead { files, path, target, in_order };
    let mut warnings = Diagnostics::new();
    let (content, snapshot) =
        content(store, &file, &mut warnings).map_err(|error| diagnostics::not_read(&file.path, &error))?;
    let (clear, migrates) = store.unsealed(&content)?;
    store.migrates = migrates;
    let mut state = match store.ahead.take().and_then(|ahead| ahead.take(&clear)) {
        Some((state, more)) => {
            warnings.extend(more);
            Some(state)
        }
        None => parse(&clear, &mut warnings)?,
    };
    drop(clear);
    store.known = Some(state.clone());
    store.started = state.as_ref().map(|state| (state.lineage.clone(), state.serial));
    let command = store.command_for_errored();
    let journal_at = journal_path(&file.target);
    let examination = Examination {
        files: file.files.as_ref(),
        journal: &journal_at,
        state: &file.path,
        sealing: store.sealing.as_ref(),
        in_order: file.in_order,
        command: &command,
    };
    let found =
        read_journal(examination.files, &journal_at).map_err(|error| diagnostics::not_read(&file.path, &error))?;
    let (leftover, mut left) = examination
        .run(found, state.as_ref(), &content, || is_locked_by_other(&file), &mut warnings)
        .map_err(|error| diagnostics::not_read(&file.path, &error))?;
    let (journal, live) =
        left.as_mut().map_or_else(Default::default, |left| (std::mem::take(&mut left.journal), left.live));
    let recovered = left.map(|left| complete(&mut state, left, &command)).unwrap_or_default();
    let mut recovered = Recovered { snapshot, ..recovered };
    store.leftover = leftover;
    if file.in_order {
        put_in_order(store, &file, state.as_mut(), &content, &journal, &mut recovered, &mut warnings);
    } else if recovered.damaged_lines > 0 && !live {
        warnings.push(diagnostics::damaged_journal(&file.path, Ok(journal_path(&file.target))));
    }
    let recovered = (!live && !recovered.is_nothing()).then_some(recovered);
    Ok(Reading { state, diagnostics: warnings, recovered })
}

/// The bytes that count, and whether they are those of a snapshot whose saving was interrupted.
fn content(store: &mut StateFile, file: &StateFileRead, warnings: &mut Diagnostics) -> io::Result<(Vec<u8>, bool)> {
    let files = file.files.as_ref();
    let current = if store.reads_what_it_writes() {
        let current = store.current(&file.target)?;
        store.on_disk = Some(Sum::of(&current));
        current
    } else {
        store.on_disk = None;
        read_or_nothing(files, &file.target)?
    };
    let path = pending_path(&file.target);
    let pending = read_or_nothing(files, &path)?;
    if pending.is_empty() {
        return Ok((current, false));
    }
    let in_clear = |bytes: &[u8]| store.unsealed(bytes).ok().map(|(clear, _)| clear.into_owned());
    match settle(&current, &pending, &in_clear) {
        Settled::Pending => return Ok((pending, true)),
        Settled::Conflict => {
            let kept = if file.in_order { put_aside(files, &path, "orphan") } else { Ok(path) };
            warnings.push(diagnostics::pending_kept(&file.path, kept));
        }
        // A side file that stays is looked at again the next time.
        Settled::Current if file.in_order => drop(files.remove(&path)),
        Settled::Current => {}
    }
    Ok((current, false))
}

/// Reads the bytes of a state file; a file with only white space is treated as missing.
fn parse(content: &[u8], warnings: &mut Diagnostics) -> Result<Option<State>, Diagnostics> {
    // Quirk: an empty file is treated as missing, not as damaged: taking the lock creates such a file.
    if content.trim_ascii().is_empty() {
        return Ok(None);
    }
    let (state, more) = yuba_state::read(content)?;
    warnings.extend(more);
    Ok(Some(state))
}

fn is_locked_by_other(file: &StateFileRead) -> bool {
    let opened = file.files.open(&file.target, Open::Existing);
    opened.and_then(|mut file| file.locked_by_other()).unwrap_or(false)
}

/// Saves recovered changes and removes their sources. Ignores failures: the sources still exist, and the changes are in
/// memory.
fn put_in_order(
    store: &mut StateFile,
    file: &StateFileRead,
    state: Option<&mut State>,
    content: &[u8],
    journal: &[u8],
    recovered: &mut Recovered,
    warnings: &mut Diagnostics,
) {
    if recovered.snapshot {
        // The current content of the file is a half-written snapshot. The run that was writing it has made the backup.
        store.backup_made = true;
    }
    let saved = match state {
        Some(state) if recovered.edits > 0 => save_recovered(store, file, state, journal),
        Some(_) if recovered.snapshot => {
            let saved = store.save(&file.target, &Content::Bytes(content.into()), &mut |_| Ok(()));
            saved.map(drop).map_err(|failure| failure.diagnostics(&store.paths))
        }
        _ => Ok(()),
    };
    if let Err(problems) = saved {
        warnings.extend(diagnostics::as_warnings(problems));
        return;
    }
    recovered.saved = true;
    if store.leftover == Leftover::Included {
        discard(file.files.as_ref(), &journal_path(&file.target), &file.path, recovered, warnings);
        store.leftover = Leftover::None;
    }
}

/// Saves a state that was completed from a journal, so that being interrupted here does no harm either.
fn save_recovered(
    store: &mut StateFile,
    file: &StateFileRead,
    state: &mut State,
    journal: &[u8],
) -> Result<(), Diagnostics> {
    store.number(state);
    let serial = state.serial;
    let announce = |fingerprint: &str| {
        announce_recovery(file.files.as_ref(), &journal_path(&file.target), journal, serial, fingerprint)
    };
    let content = store.content_of(state)?;
    let saved = store.save(&file.target, &content, &mut |fingerprint| announce(fingerprint).map_err(SaveFailure::File));
    saved.map_err(|failure| failure.diagnostics(&store.paths))?;
    store.keep_known(state.clone());
    Ok(())
}
