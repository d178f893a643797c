//! The interface of all backends: workspaces, each with a store for its state.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ecow::EcoString;
use yuba_addrs::{AbsResource, AbsResourceInstance, ConfigResource};
use yuba_state::{Output, State};
use yuba_syntax::Diagnostics;

use crate::journal::{Journal, Recovered};
use crate::kit::workspaces::{Execution, Naming, StoredVariable, VersionMismatch, WorkspaceRemoval};
use crate::lock::{LockHolder, LockRefusal, delays};
use crate::timestamp::UtcTime;

/// A backend that stores the states of workspaces.
pub trait Backend {
    /// Names of all workspaces, `default` first.
    fn workspaces(&self) -> Result<Vec<String>, Diagnostics>;
    /// The store of a workspace, created if it does not exist.
    fn open(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics>;
    /// The store of a workspace that another configuration uses, to read it. It is not created.
    fn existing(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics>;
    /// Whether there can be other workspaces than `default`.
    fn has_workspaces(&self) -> bool;
    /// Removes a workspace with its state.
    fn delete_workspace(&self, workspace: &str, removal: WorkspaceRemoval) -> Result<(), Diagnostics>;
    /// Which workspaces it has.
    fn naming(&self) -> Naming {
        Naming::WithDefault
    }
    /// Where operations of a workspace run.
    fn execution(&self, _workspace: &str) -> Result<Execution, Diagnostics> {
        Ok(Execution::Local)
    }
    /// Why this version must not write the state of a workspace; none if it can.
    fn version_mismatch(&self, _workspace: &str) -> Result<Option<VersionMismatch>, Diagnostics> {
        Ok(None)
    }
    /// SQL that creates roles and grants what each of them needs, where the backend has such roles. Their names begin with `prefix`.
    fn grants(&self, _prefix: Option<&str>) -> Option<String> {
        None
    }
    /// All workspaces of all configurations in the same database, where the backend knows them.
    fn estate(&self) -> Option<Result<Vec<EstateWorkspace>, Diagnostics>> {
        None
    }
    /// Values of variables of the root module that are stored with a workspace.
    fn variables(&self, _workspace: &str) -> Result<Vec<StoredVariable>, Diagnostics> {
        Ok(Vec::new())
    }
}

/// The state of one workspace.
pub trait StateStore: Send {
    /// Tries to take the lock, without waiting.
    fn try_lock(&mut self, holder: LockHolder) -> Result<LockOutcome, LockRefusal>;
    /// Announces a run that changes a part of the state. A store that locks a state as a whole takes the lock, as
    /// [`StateStore::try_lock`] does; one that locks parts takes none here, and waits for up to `patience` where it saves.
    fn try_lock_part(&mut self, holder: LockHolder, _patience: Duration) -> Result<LockOutcome, LockRefusal> {
        self.try_lock(holder)
    }
    /// Locks everything that a plan reads and writes, or nothing, for a run that was announced with
    /// [`StateStore::try_lock_part`], and compares the objects that the plan read with the present state. If other runs exclude
    /// it, the run loses the locks that it has. `since` is the snapshot that the plan was made from, if it is not the one that
    /// this store has read. A store that locks a state as a whole holds its lock already.
    fn reserve(&mut self, _since: Option<u64>, _part: &StatePart) -> Result<Reservation, LockRefusal> {
        Ok(Reservation::Held)
    }
    /// Waits until a run that has excluded the last request for locks has ended, for at most `limit`. Returns false at once where the
    /// store does not know when that is.
    fn wait_for_holder(&mut self, _limit: Duration) -> bool {
        false
    }
    /// Number of the snapshot that was read, where a plan is stale only if a part that it has read changes. None where it is stale if
    /// anything has changed.
    fn snapshot(&self) -> Option<u64> {
        None
    }
    /// Releases the lock that this store has taken.
    fn unlock(&mut self) -> Result<(), Diagnostics>;
    /// Removes the stale lock of another process.
    fn force_unlock(&mut self, id: &str) -> Result<(), Diagnostics>;
    /// Reads the state, including the results of an interrupted run. When this store has the lock, it also puts them in order
    /// on disk.
    fn read(&mut self) -> Result<Reading, Diagnostics>;
    /// The outputs of the state, for another configuration. None if the state does not exist.
    fn outputs(&mut self) -> Result<Option<BTreeMap<EcoString, Output>>, Diagnostics> {
        Ok(self.read()?.state.map(|state| state.outputs))
    }
    /// The state as it was at a time, where the store has a history. The state does not exist before the first commit.
    fn at(&mut self, _time: UtcTime) -> Option<Result<Option<State>, Diagnostics>> {
        None
    }
    /// Stored versions of the objects of an instance, oldest first, where the store has a history.
    fn history(&mut self, _addr: &AbsResourceInstance) -> Option<Result<Vec<ObjectVersion>, Diagnostics>> {
        None
    }
    /// Saves a state. Lineage and serial are set: the serial goes up when the content has changed.
    fn write(&mut self, state: &mut State) -> Result<Saved, Diagnostics>;
    /// Saves a state with its own lineage and serial.
    fn push(&mut self, state: &State, check: SuccessorCheck) -> Result<Saved, Diagnostics>;
    /// Saves a state for `state push`. Stores on servers number it as OpenTofu does: over another state it gets the serial after its own.
    fn replace(&mut self, state: &State, check: SuccessorCheck) -> Result<Saved, Diagnostics> {
        self.push(state, check)
    }
    /// Starts a journal for changes to `start`, which is saved first when it is not what is on disk.
    fn journal<'a>(&'a mut self, start: &mut State) -> Result<Box<dyn Journal + 'a>, Diagnostics>;
    /// Location of the state, for a message.
    fn whereabouts(&self) -> String;
    /// Advice for saving a state later that could not be saved.
    fn way_back(&mut self) -> WayBack;
}

/// Objects and outputs that a plan reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatePart {
    /// Objects that decisions of the plan depend on.
    pub reads: BTreeSet<StateSelector>,
    /// Objects and outputs that it changes.
    pub writes: BTreeSet<StateSelector>,
}

/// Objects of a state, which need not exist.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateSelector {
    /// All instances of a resource in all instances of its module.
    Config(ConfigResource),
    /// All instances of a resource in one instance of its module.
    Resource(AbsResource),
    /// One instance.
    Instance(AbsResourceInstance),
    /// An output value of the root module.
    Output(EcoString),
}

/// A version of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectVersion {
    /// The key of a deposed object.
    pub deposed: Option<String>,
    /// Whether it is tainted.
    pub is_tainted: bool,
    /// The object as a state file has it, as JSON.
    pub object: String,
    /// The commit that wrote it.
    pub begin: StateCommit,
    /// The commit that replaced or removed it.
    pub end: Option<StateCommit>,
}

/// A commit of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateCommit {
    /// Its number in the workspace.
    pub revision: i64,
    /// When it was made.
    pub time: Option<UtcTime>,
    /// `user@host`
    pub who: String,
    /// The operation of the run: `OperationTypeApply`.
    pub operation: String,
    /// The commit of the configuration.
    pub source_commit: String,
    /// The id of the run.
    pub run: String,
}

/// A workspace of any configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstateWorkspace {
    /// The schema of the database.
    pub schema: String,
    /// The table in it.
    pub table: String,
    /// The name.
    pub workspace: String,
    /// The serial of its state.
    pub serial: u64,
    /// Number of objects.
    pub objects: i64,
    /// Number of outputs.
    pub outputs: i64,
    /// Number of locks.
    pub locks: i64,
    /// The operation that began last.
    pub last: Option<EstateOperation>,
}

/// An operation on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstateOperation {
    /// The address of the object.
    pub address: String,
    /// Names of the actions.
    pub action: String,
    /// When it began.
    pub started: Option<UtcTime>,
    /// `finished`, `failed`, `running` or `unknown`.
    pub result: String,
    /// `user@host`
    pub who: String,
}

/// Whether the parts of a state that a plan reads and writes are locked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reservation {
    /// They are, and they are what the plan has read.
    Held,
    /// Other runs have changed these objects after the plan has read them. They are locked for a plan that is made again. Without
    /// addresses, the store does not know which objects have changed.
    Stale(Vec<String>),
}

/// Advice for a state that could not be saved and was written to another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WayBack {
    /// `state push` saves it.
    Push {
        /// A file that must be moved away first: it is not an earlier version of the state.
        in_the_way: Option<String>,
    },
    /// It is copied to the state file: flags of the command line name that file, so `state push` does not reach it.
    Copy {
        /// The state file.
        to: String,
        /// Another file has that name and must be moved away first.
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

/// Whether a pushed state must continue the stored one: the same lineage, and a greater serial where the content differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuccessorCheck {
    /// Any other state is refused.
    Required,
    /// Any state replaces the stored one, as with `-force`.
    Skipped,
}

/// The lock is ours.
#[derive(Debug)]
pub struct LockOutcome {
    /// Its id.
    pub id: String,
    /// Holder of a stale lock: a process that was killed.
    pub left_behind: Option<LockHolder>,
}

/// The result of reading.
#[derive(Debug, Default)]
pub struct Reading {
    /// The state, or none if it does not exist yet.
    pub state: Option<State>,
    /// Warnings, without errors.
    pub diagnostics: Diagnostics,
    /// Changes recovered from an interrupted run.
    pub recovered: Option<Recovered>,
}

/// The result of saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The content has changed, and the serial with it.
    Changed,
    /// Nothing had changed.
    Unchanged,
}

/// The result of saving a state over a known one.
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
        // A manually written maximum serial stays: starting again at zero would look like an older state.
        state.serial = known.serial.saturating_add(u64::from(saved == Saved::Changed));
    } else {
        state.serial = 1;
    }
    if state.lineage.is_empty() {
        state.lineage = crate::process::new_uuid().into();
    }
}

/// A state that comes with its own lineage and serial, if it may follow the one that is known.
pub(crate) fn pushed(
    state: &State,
    known: Option<&State>,
    check: SuccessorCheck,
) -> Result<(State, Saved), Diagnostics> {
    let saved = compared(state, known);
    if let Some(known) = known.filter(|known| check == SuccessorCheck::Required && !known.is_empty()) {
        crate::diagnostics::check_successor(state, known, saved)?;
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

/// Takes the lock, and tries again until `timeout` has passed. `wait` is called with each delay and sleeps; it returns
/// whether to go on, so that the user can give up.
pub fn lock(
    store: &mut dyn StateStore,
    holder: &LockHolder,
    timeout: Duration,
    wait: &mut dyn FnMut(Duration) -> bool,
) -> Result<LockOutcome, Diagnostics> {
    lock_with(store, &mut |store| store.try_lock(holder.clone()), timeout, wait)
}

/// The same for any request that takes a lock.
pub fn lock_with<T>(
    store: &mut dyn StateStore,
    request: &mut dyn FnMut(&mut dyn StateStore) -> Result<T, LockRefusal>,
    timeout: Duration,
    wait: &mut dyn FnMut(Duration) -> bool,
) -> Result<T, Diagnostics> {
    let mut delays = delays(timeout);
    loop {
        let refusal = match request(store) {
            Ok(locked) => return Ok(locked),
            Err(refusal) => refusal,
        };
        let delay = if refusal.may_pass() { delays.next() } else { None };
        if !delay.is_some_and(&mut *wait) {
            return Err(crate::diagnostics::lock_refused(&store.whereabouts(), &refusal).into());
        }
    }
}
