//! Reading a state file: what is in it, what an interrupted run has left beside it, and putting both in order.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

use super::replaced::{SaveFailure, Sum};
use super::snapshot::{Content, Settled, pending_path, put_aside, settle};
use super::state_file::{Leftover, StateFile, read_or_nothing};
use crate::diagnostics;
use crate::files::{Files, Open, beside, directory_of};
use crate::journal::line::{self, fingerprint};
use crate::journal::recovery::{Continuation, continuation, replay};
use crate::journal::writer::journal_path;
use crate::journal::{Operation, Recovered};
use crate::store::Reading;

/// What is read.
struct Place {
    files: Arc<dyn Files>,
    /// As the user calls it.
    path: PathBuf,
    /// Where that leads.
    target: PathBuf,
    /// We have the lock, so what was left is put in order on disk.
    in_order: bool,
}

/// Edits of an interrupted run.
struct Left {
    lineage: ecow::EcoString,
    edits: Vec<Edit>,
    under_way: Vec<Operation>,
    damaged: usize,
    /// The serial of the final state, which is in another file.
    rescued: Option<u64>,
    /// The run is not over: another process has the lock.
    live: bool,
    journal: Vec<u8>,
}

/// Reads the state. Files are changed only under our lock.
pub(super) fn read(store: &mut StateFile) -> Result<Reading, Diagnostics> {
    let files = store.files.clone();
    let path = store.paths.read.clone();
    let target = files.resolve(&path).map_err(|error| diagnostics::not_read(&path, &error))?;
    let in_order = store.held.is_some() && store.reads_what_it_writes();
    let place = Place { files, path, target, in_order };
    let mut said = Diagnostics::new();
    let (content, snapshot) =
        content(store, &place, &mut said).map_err(|error| diagnostics::not_read(&place.path, &error))?;
    let (clear, migrates) = store.unsealed(&content)?;
    store.migrates = migrates;
    let mut state = parse(&clear, &mut said)?;
    drop(clear);
    store.known = Some(state.clone());
    store.started = state.as_ref().map(|state| (state.lineage.clone(), state.serial));
    let left = journal(store, &place, state.as_ref(), &content, &mut said)
        .map_err(|error| diagnostics::not_read(&place.path, &error))?;
    let mut recovered = Recovered { snapshot, ..Recovered::default() };
    let mut journal = Vec::new();
    let mut live = false;
    if let Some(left) = left {
        if state.is_none() && !left.edits.is_empty() {
            let mut first = State::empty();
            first.lineage = left.lineage;
            state = Some(first);
        }
        if let Some(state) = &mut state {
            recovered = Recovered { snapshot, ..replay(state, left.edits) };
        }
        recovered.set_under_way(left.under_way);
        recovered.damaged_lines = left.damaged;
        recovered.rescued = left.rescued.map(|_| store.command_for_errored());
        (journal, live) = (left.journal, left.live);
    }
    if place.in_order {
        put_in_order(store, &place, state.as_mut(), &content, &journal, &mut recovered, &mut said);
    } else if recovered.damaged_lines > 0 && !live {
        said.push(diagnostics::damaged_journal(&place.path, Ok(journal_path(&place.target))));
    }
    let recovered = (!live && !recovered.is_nothing()).then_some(recovered);
    Ok(Reading { state, diagnostics: said, recovered })
}

/// The bytes that count, and whether they are those of a snapshot whose saving was interrupted.
fn content(store: &mut StateFile, place: &Place, said: &mut Diagnostics) -> io::Result<(Vec<u8>, bool)> {
    let files = place.files.as_ref();
    let current = if store.reads_what_it_writes() {
        let current = store.current(&place.target)?;
        store.on_disk = Some(Sum::of(&current));
        current
    } else {
        store.on_disk = None;
        read_or_nothing(files, &place.target)?
    };
    let path = pending_path(&place.target);
    let pending = read_or_nothing(files, &path)?;
    if pending.is_empty() {
        return Ok((current, false));
    }
    let in_clear = |bytes: &[u8]| store.unsealed(bytes).ok().map(|(clear, _)| clear.into_owned());
    match settle(&current, &pending, &in_clear) {
        Settled::Pending => return Ok((pending, true)),
        Settled::Conflict => {
            let kept = if place.in_order { put_aside(files, &path, "orphan") } else { Ok(path) };
            said.push(diagnostics::pending_kept(&place.path, kept));
        }
        // A side file that stays is looked at again the next time.
        Settled::Current if place.in_order => drop(files.remove(&path)),
        Settled::Current => {}
    }
    Ok((current, false))
}

/// Reads the bytes of a state file; nothing but white space is no state.
fn parse(content: &[u8], said: &mut Diagnostics) -> Result<Option<State>, Diagnostics> {
    // Quirk: a file without content is no state, not a damaged one: taking the lock makes such a file.
    if content.trim_ascii().is_empty() {
        return Ok(None);
    }
    let (state, more) = yuba_state::read(content)?;
    said.extend(more);
    Ok(Some(state))
}

/// What a journal says that continues this content. Any other journal is kept for the user.
fn journal(
    store: &mut StateFile,
    place: &Place,
    state: Option<&State>,
    content: &[u8],
    said: &mut Diagnostics,
) -> io::Result<Option<Left>> {
    store.leftover = Leftover::None;
    let files = place.files.as_ref();
    let path = journal_path(&place.target);
    if !files.exists(&path)? {
        return Ok(None);
    }
    let bytes = files.read(&path)?;
    let (label, explain): (_, Box<dyn FnOnce(io::Result<PathBuf>) -> _>) =
        match continuation(line::parse(&bytes, store.sealing.as_ref()), &fingerprint(content)) {
            Continuation::Blank => {
                store.leftover = Leftover::Included;
                return Ok(None);
            }
            Continuation::Edits { base, edits, under_way, damaged, rescued } => {
                let live = !place.in_order && is_locked_by_other(place);
                store.leftover = if live { Leftover::Foreign } else { Leftover::Included };
                let lineage = base.lineage;
                return Ok(Some(Left { lineage, edits, under_way, damaged, rescued, live, journal: bytes }));
            }
            Continuation::Other { base, rescued: Some(serial), addresses, under_way } => {
                let follows = |state: &State| state.lineage == base.lineage && state.serial >= serial;
                if state.is_some_and(follows) {
                    // The final state of that run has arrived.
                    store.leftover = Leftover::Included;
                } else {
                    store.leftover = Leftover::Foreign;
                    let command = store.command_for_errored();
                    said.push(diagnostics::rescued_elsewhere(&place.path, &path, &command, &addresses, &under_way));
                }
                return Ok(None);
            }
            Continuation::Other { base, addresses, under_way, rescued: None } => {
                let current = state.map(|state| (state.lineage.clone(), state.serial));
                let path = &place.path;
                let explain =
                    move |kept| diagnostics::other_journal(path, kept, &base, current, &addresses, &under_way);
                ("orphan", Box::new(explain))
            }
            Continuation::Unreadable => {
                ("damaged", Box::new(|kept| diagnostics::unreadable_journal(&place.path, kept)))
            }
        };
    store.leftover = Leftover::Foreign;
    let kept = if place.in_order { put_aside(files, &path, label) } else { Ok(path) };
    if place.in_order && kept.is_ok() {
        store.leftover = Leftover::None;
    }
    said.push(explain(kept));
    Ok(None)
}

fn is_locked_by_other(place: &Place) -> bool {
    let opened = place.files.open(&place.target, Open::Existing);
    opened.and_then(|mut file| file.locked_by_other()).unwrap_or(false)
}

/// Saves what was recovered and removes what it was recovered from. Failing that is no reason to stop: everything is
/// still where it was, and in memory.
fn put_in_order(
    store: &mut StateFile,
    place: &Place,
    state: Option<&mut State>,
    content: &[u8],
    journal: &[u8],
    recovered: &mut Recovered,
    said: &mut Diagnostics,
) {
    if recovered.snapshot {
        // What the file has now is a half-written snapshot. The run that was writing it has made the backup.
        store.backup_made = true;
    }
    let saved = match state {
        Some(state) if recovered.edits > 0 => save_recovered(store, place, state, journal),
        Some(_) if recovered.snapshot => {
            let saved = store.save(&place.target, &Content::Bytes(content.into()), &mut |_| Ok(()));
            saved.map(drop).map_err(|failure| failure.diagnostics(&store.paths))
        }
        _ => Ok(()),
    };
    if let Err(problems) = saved {
        said.extend(diagnostics::as_warnings(problems));
        return;
    }
    recovered.saved = true;
    if store.leftover == Leftover::Included {
        let path = journal_path(&place.target);
        if recovered.damaged_lines > 0 {
            let kept = put_aside(place.files.as_ref(), &path, "damaged");
            said.push(diagnostics::damaged_journal(&place.path, kept));
        } else if place.files.remove(&path).is_ok() {
            let _ = place.files.remove(&beside(&path, "tmp"));
            let _ = place.files.sync_directory(directory_of(&path));
        }
        store.leftover = Leftover::None;
    }
}

/// Saves a state that was completed from a journal, so that being interrupted here does no harm either.
fn save_recovered(store: &mut StateFile, place: &Place, state: &mut State, journal: &[u8]) -> Result<(), Diagnostics> {
    store.number(state);
    let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    let announce = |fingerprint: &str| {
        let mut note = Vec::new();
        line::push_snapshot(&mut note, state.serial, fingerprint);
        let mut file = place.files.open(&journal_path(&place.target), Open::Existing)?;
        file.set_len(whole)?;
        file.write_at(whole, &note)?;
        file.sync()
    };
    let content = store.content_of(state)?;
    let saved =
        store.save(&place.target, &content, &mut |fingerprint| announce(fingerprint).map_err(SaveFailure::File));
    saved.map_err(|failure| failure.diagnostics(&store.paths))?;
    store.keep_known(state.clone());
    Ok(())
}
