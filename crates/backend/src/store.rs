//! What any backend offers: workspaces, each with a store for its state.

use std::time::Duration;

use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::journal::{Journal, Recovered};
use crate::lock::{LockHolder, LockRefusal, delays};

/// A place that keeps the states of workspaces.
pub trait Backend {
    /// Names of all workspaces, `default` first.
    fn workspaces(&self) -> Result<Vec<String>, Diagnostics>;
    /// The store of a workspace, which is made when it is not there.
    fn open(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics>;
    /// The store of a workspace that another configuration uses, to read it. It is not made when it is not there.
    fn existing(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics>;
    /// Whether there can be other workspaces than `default`.
    fn has_workspaces(&self) -> bool;
    /// Removes a workspace with its state.
    fn delete_workspace(&self, workspace: &str) -> Result<(), Diagnostics>;
}

/// The state of one workspace.
pub trait StateStore: Send {
    /// Tries to take the lock, without waiting.
    fn try_lock(&mut self, holder: LockHolder) -> Result<LockOutcome, LockRefusal>;
    /// Releases the lock that this store has taken.
    fn unlock(&mut self) -> Result<(), Diagnostics>;
    /// Removes a lock that somebody else has left.
    fn force_unlock(&mut self, id: &str) -> Result<(), Diagnostics>;
    /// Reads the state. What an interrupted run has left is taken into account, and put in order on disk when this store
    /// has the lock.
    fn read(&mut self) -> Result<Reading, Diagnostics>;
    /// Saves a state. Lineage and serial are set: the serial goes up when the content has changed.
    fn write(&mut self, state: &mut State) -> Result<Saved, Diagnostics>;
    /// Saves a state that comes with its own lineage and serial. Without `force` it has to be a successor of the one that
    /// is there.
    fn push(&mut self, state: &State, force: bool) -> Result<Saved, Diagnostics>;
    /// Starts a journal for changes to `start`, which is saved first when it is not what is on disk.
    fn journal<'a>(&'a mut self, start: &mut State) -> Result<Box<dyn Journal + 'a>, Diagnostics>;
    /// Where the state is, for a message.
    fn whereabouts(&self) -> String;
    /// What brings a state that could not be saved to where it belongs.
    fn way_back(&mut self) -> WayBack;
}

/// What a user does with a state that could not be saved and was written to another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WayBack {
    /// `state push` saves it.
    Push {
        /// A file that has to be moved away before: something else than an earlier version of the state.
        in_the_way: Option<String>,
    },
    /// It is copied to the state file: flags of the command line name that file, so `state push` does not reach it.
    Copy {
        /// The state file.
        to: String,
        /// Something else has that name and has to be moved away before.
        is_in_the_way: bool,
    },
    /// Another run has saved its state in the meantime. Both have changes that the other one lacks.
    Merge {
        /// The state file.
        path: String,
        /// The serial of the state that the other run has saved.
        serial: u64,
    },
}

/// The lock is ours.
#[derive(Debug)]
pub struct LockOutcome {
    /// Its id.
    pub id: String,
    /// Who had left a lock without holding it any more: a process that was killed.
    pub left_behind: Option<LockHolder>,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// The state; none when there is none yet.
    pub state: Option<State>,
    /// What there is to say about it; no errors.
    pub diagnostics: Diagnostics,
    /// What was recovered of an interrupted run.
    pub recovered: Option<Recovered>,
}

/// What saving came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The content has changed, and the serial with it.
    Changed,
    /// Nothing had changed.
    Unchanged,
}

/// What saving a state comes to where another one is known.
pub(crate) fn compared(state: &State, known: Option<&State>) -> Saved {
    match known {
        Some(known) if known.same_content(state) => Saved::Unchanged,
        _ => Saved::Changed,
    }
}

/// Gives a state its lineage and its serial, as the successor of the one that is known.
pub(crate) fn number(state: &mut State, known: Option<&State>, saved: Saved) {
    if let Some(known) = known {
        if !known.lineage.is_empty() {
            state.lineage = known.lineage.clone();
        }
        // Whoever wrote the largest number by hand keeps it: beginning anew would look like an older state.
        state.serial = known.serial.saturating_add(u64::from(saved == Saved::Changed));
    } else {
        state.serial = 1;
    }
    if state.lineage.is_empty() {
        state.lineage = crate::process::new_uuid().into();
    }
}

/// A state that comes with its own lineage and serial, if it may follow the one that is known.
pub(crate) fn pushed(state: &State, known: Option<&State>, force: bool) -> Result<(State, Saved), Diagnostics> {
    let saved = compared(state, known);
    if let Some(known) = known.filter(|known| !force && !known.is_empty()) {
        crate::diagnostics::check_successor(state, known, saved == Saved::Changed)?;
    }
    let mut state = state.clone();
    if state.lineage.is_empty() {
        state.lineage = known.map(|known| known.lineage.clone()).unwrap_or_default();
    }
    if state.lineage.is_empty() {
        state.lineage = crate::process::new_uuid().into();
    }
    Ok((state, saved))
}

/// Takes the lock, and tries again until `timeout` has passed. `wait` is called with each delay and sleeps; it answers
/// whether to go on, so that the user can give up.
pub fn lock(
    store: &mut dyn StateStore,
    holder: &LockHolder,
    timeout: Duration,
    wait: &mut dyn FnMut(Duration) -> bool,
) -> Result<LockOutcome, Diagnostics> {
    let mut delays = delays(timeout);
    loop {
        let refusal = match store.try_lock(holder.clone()) {
            Ok(locked) => return Ok(locked),
            Err(refusal) => refusal,
        };
        let delay = if refusal.may_pass() { delays.next() } else { None };
        if !delay.is_some_and(&mut *wait) {
            return Err(crate::diagnostics::lock_refused(&store.whereabouts(), &refusal).into());
        }
    }
}
