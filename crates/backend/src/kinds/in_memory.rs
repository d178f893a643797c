//! `backend "inmem"`: states that end with the process, for experiments, as in OpenTofu.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use yuba_syntax::Diagnostics;
use yuba_value::Type;

use crate::kit::BackendEnvironment;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::store::{
    Lifetime, LockId, Store, StoreError, StoreErrorKind, StoreVersion, Stored, UnlockRefusal, Write,
};
use crate::lock::{LockHolder, LockRefusal};
use crate::workspace::DEFAULT_WORKSPACE;

pub(super) fn schema() -> ArgumentSchema {
    ArgumentSchema::new([Argument::optional("lock_id", Type::string())
        .described("The default workspace starts locked, by a lock with this ID.")])
}

pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn Store>, Diagnostics> {
    let mut locks = BTreeMap::new();
    if let Some(id) = arguments.text("lock_id").filter(|id| !id.is_empty()) {
        let info = "lock_id of the backend".to_owned();
        let holder = LockHolder { id: id.into(), info, ..LockHolder::ourselves("test", &environment.variables) };
        locks.insert(DEFAULT_WORKSPACE.to_owned(), holder);
    }
    Ok(Arc::new(InMemory(Mutex::new(Shelf { states: BTreeMap::new(), locks }))))
}

/// States and locks by the names of workspaces.
#[derive(Debug)]
struct Shelf {
    states: BTreeMap<String, Stored>,
    locks: BTreeMap<String, LockHolder>,
}

#[derive(Debug)]
struct InMemory(Mutex<Shelf>);

impl InMemory {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for InMemory {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.shelf().states.keys().cloned().collect())
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        Ok(self.shelf().states.get(workspace).cloned())
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let mut shelf = self.shelf();
        if !write.precondition.holds(shelf.states.get(workspace).map(|stored| &stored.version)) {
            return Err(StoreError::new(StoreErrorKind::Conflict, "the state has changed since it was read"));
        }
        let version = StoreVersion::of(write.content);
        let stored = Stored { content: write.content.to_vec(), version: version.clone() };
        shelf.states.insert(workspace.to_owned(), stored);
        Ok(version)
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        self.shelf().states.remove(workspace);
        Ok(())
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        let mut shelf = self.shelf();
        if let Some(holder) = shelf.locks.get(workspace) {
            return Err(LockRefusal::Held { holder: Some(Box::new(holder.clone())), pid: None });
        }
        shelf.locks.insert(workspace.to_owned(), holder.clone());
        Ok(Some(LockId(holder.id.clone())))
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let mut shelf = self.shelf();
        match shelf.locks.get(workspace) {
            None => Err(UnlockRefusal::NotLocked),
            Some(holder) if holder.id != id.0 => Err(UnlockRefusal::OtherLock(Some(Box::new(holder.clone())))),
            Some(_) => {
                shelf.locks.remove(workspace);
                Ok(())
            }
        }
    }

    fn describe(&self, workspace: &str) -> String {
        match workspace {
            DEFAULT_WORKSPACE => "in the memory of this process".to_owned(),
            name => format!("\"{name}\" in the memory of this process"),
        }
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::Process
    }
}
