//! The `inmem` backend: states that end with the process. It is there to try things out, as in OpenTofu.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

use crate::diagnostics;
use crate::journal::{Journal, Operation, OperationId};
use crate::lock::{LockHolder, LockRefusal};
use crate::store::{Backend, Locked, Reading, Saved, StateStore, WayBack, compared, number, pushed};
use crate::workspace::DEFAULT_WORKSPACE;

/// The `inmem` backend. Clones share their states and locks.
#[derive(Clone, Debug)]
pub struct InMemory {
    shelf: Arc<Mutex<Shelf>>,
}

/// What there is, by the names of workspaces.
#[derive(Debug)]
struct Shelf {
    states: BTreeMap<String, Option<State>>,
    locks: BTreeMap<String, LockHolder>,
}

impl InMemory {
    /// A backend without states. With `lock_id` the default workspace begins locked, by a lock of this name.
    pub fn new(lock_id: Option<&str>) -> InMemory {
        let mut locks = BTreeMap::new();
        if let Some(id) = lock_id.filter(|id| !id.is_empty()) {
            let info = "lock_id of the backend".to_owned();
            let holder = LockHolder { id: id.to_owned(), info, ..LockHolder::ourselves("test") };
            locks.insert(DEFAULT_WORKSPACE.to_owned(), holder);
        }
        let states = BTreeMap::from([(DEFAULT_WORKSPACE.to_owned(), None)]);
        InMemory { shelf: Arc::new(Mutex::new(Shelf { states, locks })) }
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for InMemory {
    fn workspaces(&self) -> Result<Vec<String>, Diagnostics> {
        let shelf = self.shelf();
        let others = shelf.states.keys().filter(|name| *name != DEFAULT_WORKSPACE);
        Ok(std::iter::once(DEFAULT_WORKSPACE).chain(others.map(String::as_str)).map(str::to_owned).collect())
    }

    fn open(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        let workspace = if workspace.is_empty() { DEFAULT_WORKSPACE } else { workspace }.to_owned();
        self.shelf().states.entry(workspace.clone()).or_default();
        Ok(Box::new(Store { backend: self.clone(), workspace, held: None }))
    }

    fn delete_workspace(&self, workspace: &str) -> Result<(), Diagnostics> {
        if workspace.is_empty() || workspace == DEFAULT_WORKSPACE {
            return Err(diagnostics::default_workspace_stays().into());
        }
        self.shelf().states.remove(workspace);
        Ok(())
    }
}

/// The state of one workspace.
struct Store {
    backend: InMemory,
    workspace: String,
    /// The id of the lock that we hold.
    held: Option<String>,
}

impl Store {
    fn known(&self) -> Option<State> {
        self.backend.shelf().states.get(&self.workspace).cloned().flatten()
    }

    fn keep(&self, state: State) {
        self.backend.shelf().states.insert(self.workspace.clone(), Some(state));
    }
}

/// A store that goes out of use lets others in, however that came about.
impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.unlock();
    }
}

impl StateStore for Store {
    fn try_lock(&mut self, holder: LockHolder) -> Result<Locked, LockRefusal> {
        if self.held.is_some() {
            return Err(LockRefusal::Ours);
        }
        let mut shelf = self.backend.shelf();
        if let Some(holder) = shelf.locks.get(&self.workspace) {
            return Err(LockRefusal::Held { holder: Some(Box::new(holder.clone())), pid: None });
        }
        let id = holder.id.clone();
        shelf.locks.insert(self.workspace.clone(), holder);
        drop(shelf);
        self.held = Some(id.clone());
        Ok(Locked { id, left_behind: None })
    }

    fn unlock(&mut self) -> Result<(), Diagnostics> {
        match self.held.take() {
            Some(id) => self.force_unlock(&id),
            None => Ok(()),
        }
    }

    fn force_unlock(&mut self, id: &str) -> Result<(), Diagnostics> {
        let mut shelf = self.backend.shelf();
        let holder = shelf.locks.get(&self.workspace);
        if holder.is_none_or(|holder| holder.id != id) {
            return Err(diagnostics::not_force_unlocked(id, holder, false).into());
        }
        shelf.locks.remove(&self.workspace);
        Ok(())
    }

    fn read(&mut self) -> Result<Reading, Diagnostics> {
        Ok(Reading { state: self.known(), ..Reading::default() })
    }

    fn write(&mut self, state: &mut State) -> Result<Saved, Diagnostics> {
        let known = self.known();
        let saved = compared(state, known.as_ref());
        number(state, known.as_ref(), saved);
        self.keep(state.clone());
        Ok(saved)
    }

    fn push(&mut self, state: &State, force: bool) -> Result<Saved, Diagnostics> {
        let (state, saved) = pushed(state, self.known().as_ref(), force)?;
        self.keep(state);
        Ok(saved)
    }

    fn journal<'a>(&'a mut self, start: &mut State) -> Result<Box<dyn Journal + 'a>, Diagnostics> {
        self.write(start)?;
        Ok(Box::new(Unwritten { store: self, begun: 0 }))
    }

    fn whereabouts(&self) -> String {
        "in the memory of this process".to_owned()
    }

    fn way_back(&mut self) -> WayBack {
        WayBack::Push { in_the_way: None }
    }
}

/// A journal of which nothing is kept: it would end with the states that it is for.
struct Unwritten<'a> {
    store: &'a mut Store,
    begun: u32,
}

impl Journal for Unwritten<'_> {
    fn begin(&mut self, _: Operation) -> OperationId {
        self.begun += 1;
        OperationId(self.begun)
    }

    fn finish(&mut self, _: OperationId, _: &[Edit]) {}

    fn append(&mut self, _: &[Edit]) {}

    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }

    fn due(&self) -> bool {
        true
    }

    fn wants_checkpoint(&self) -> bool {
        false
    }

    fn checkpoint(&mut self, state: &mut State) -> Result<(), Diagnostics> {
        self.store.write(state).map(drop)
    }

    fn close(self: Box<Self>, state: &mut State) -> Result<Saved, Diagnostics> {
        self.store.write(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage_and_serial(store: &mut dyn StateStore) -> Option<(String, u64)> {
        let state = store.read().expect("memory can be read").state?;
        Some((state.lineage.to_string(), state.serial))
    }

    #[test]
    fn states_are_shared_by_all_stores_of_a_workspace() {
        let backend = InMemory::new(None);
        let open = |name| backend.open(name).expect("there is room");
        assert_eq!(lineage_and_serial(open("default").as_mut()), None);
        let mut state = State::empty();
        assert_eq!(open("default").write(&mut state).ok(), Some(Saved::Changed));
        assert_eq!(open("").write(&mut state.clone()).ok(), Some(Saved::Unchanged));
        assert_eq!(lineage_and_serial(open("default").as_mut()), Some((state.lineage.to_string(), 1)));
        assert_eq!(lineage_and_serial(open("b").as_mut()), None);
        assert_eq!(backend.workspaces().expect("they are in memory"), ["default", "b"]);
        assert!(backend.delete_workspace("b").is_ok() && backend.delete_workspace("default").is_err());
        assert_eq!(backend.workspaces().expect("they are in memory"), ["default"]);

        let mut other = State::empty();
        (other.lineage, other.serial) = ("other".into(), 7);
        let mut store = open("default");
        // An empty state has nothing to protect, so anything may follow it.
        assert_eq!(store.push(&other, false).ok(), Some(Saved::Unchanged));
        assert_eq!(lineage_and_serial(store.as_mut()), Some(("other".to_owned(), 7)));
    }

    #[test]
    fn one_lock_at_a_time() {
        let backend = InMemory::new(None);
        let mut first = backend.open("default").expect("there is room");
        let mut second = backend.open("default").expect("there is room");
        let me = || LockHolder::ourselves("OperationTypePlan");
        assert!(first.try_lock(me()).is_ok());
        assert!(matches!(first.try_lock(me()), Err(LockRefusal::Ours)));
        assert!(matches!(second.try_lock(me()), Err(LockRefusal::Held { .. })));
        assert!(backend.open("other").expect("there is room").try_lock(me()).is_ok());
        drop(first);
        assert!(second.try_lock(me()).is_ok());
    }

    #[test]
    fn a_lock_from_the_configuration() {
        let backend = InMemory::new(Some("abc"));
        let mut store = backend.open("default").expect("there is room");
        let me = || LockHolder::ourselves("OperationTypePlan");
        assert!(
            matches!(store.try_lock(me()), Err(LockRefusal::Held { holder: Some(holder), .. }) if holder.id == "abc")
        );
        assert!(store.force_unlock("abd").is_err());
        assert!(store.force_unlock("abc").is_ok());
        assert!(store.force_unlock("abc").is_err());
        assert!(store.try_lock(me()).is_ok());
    }
}
