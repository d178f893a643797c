//! A scripted backend for tests of this crate and of `session`: versions, conditional writes, locks, and failures on demand.
//! It is not a row of the shipped table.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use yuba_provider::schema::AttributeType;
use yuba_provider::{Attribute, BlockSchema, NestedAttribute, NestedBlock, Nesting};
use yuba_syntax::Diagnostics;
use yuba_value::{Type, Value};

use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::store::{
    Appending, LeftJournal, LockCheck, LockId, RunState, ServerJournal, Store, StoreError, StoreErrorKind,
    StoreVersion, Stored, UnlockRefusal, Write,
};
use crate::kit::{BackendEnvironment, BackendKind, Constructor};
use crate::lock::{LockHolder, LockRefusal};

/// The row of the fake backend. Configurations that name the same bucket share a store: see [`FakeStore::of_bucket`].
pub const FAKE: BackendKind =
    BackendKind { name: "fake", schema, check: |_| Diagnostics::new(), open: Constructor::Store(open) };

/// Arguments of every sort that real backends have.
fn schema() -> ArgumentSchema {
    let endpoints = NestedAttribute {
        nesting: Nesting::Single,
        attributes: [("s3".into(), Attribute::optional(Type::string()))].into(),
    };
    let endpoints = Attribute { ty: AttributeType::Nested(endpoints), ..Attribute::optional(Type::string()) };
    let workspaces = BlockSchema::new([("prefix", Attribute::optional(Type::string()))]);
    ArgumentSchema::new([
        Argument::required("bucket", Type::string()).from_environment(&["FAKE_BUCKET"]),
        Argument::optional("key", Type::string()).default_to(Value::string("terraform.tfstate")),
        Argument::optional("region", Type::string()).from_environment(&["FAKE_REGION", "FAKE_DEFAULT_REGION"]),
        Argument::optional("access_key", Type::string()).from_environment(&["FAKE_ACCESS_KEY"]).secret(),
        Argument::optional("max_retries", Type::number()).from_environment(&["FAKE_RETRIES"]),
        Argument::optional("use_lockfile", Type::bool()),
        Argument::optional("allowed", Type::list(Type::string())),
        Argument::of("endpoints", endpoints),
    ])
    .with_blocks([("workspaces", NestedBlock { nesting: Nesting::Single, min: 0, max: 1, block: workspaces })])
}

static BUCKETS: LazyLock<Mutex<BTreeMap<String, Arc<FakeStore>>>> = LazyLock::new(Mutex::default);

fn open(arguments: &Arguments, _: &BackendEnvironment) -> Result<Arc<dyn Store>, Diagnostics> {
    Ok(FakeStore::of_bucket(&arguments.text("bucket").unwrap_or_default()))
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails and changes nothing.
    Fails(StoreErrorKind),
    /// It does what it should, and its response is lost.
    ResponseLost,
    /// Another process writes the state with a higher serial right before.
    OtherWrites,
    /// It releases the lock, another process takes it, and its response is lost.
    OtherLocks,
}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Store::read`]
    Read,
    /// [`Store::write`]
    Write,
    /// [`Store::lock`]
    Lock,
    /// [`Store::unlock`]
    Unlock,
    /// [`ServerJournal::append`]
    Append,
}

/// The store of the fake backend.
#[derive(Debug, Default)]
pub struct FakeStore {
    name: String,
    locking: Locking,
    inside: Mutex<Inside>,
}

/// Whether the store has locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Locking {
    #[default]
    Supported,
    /// As `s3` without `use_lockfile` and `dynamodb_table`. It has no journal either.
    Absent,
}

#[derive(Debug, Default)]
struct Inside {
    states: BTreeMap<String, (Vec<u8>, u64)>,
    locks: BTreeMap<String, LockHolder>,
    journals: BTreeMap<String, Vec<u8>>,
    script: VecDeque<(Call, Fault)>,
    calls: Vec<Call>,
}

impl FakeStore {
    /// The store of a bucket, which is made when it is first named.
    pub fn of_bucket(name: &str) -> Arc<FakeStore> {
        let mut buckets = BUCKETS.lock().unwrap_or_else(PoisonError::into_inner);
        let store = || Arc::new(FakeStore { name: name.to_owned(), ..FakeStore::default() });
        Arc::clone(buckets.entry(name.to_owned()).or_insert_with(store))
    }

    /// A store of its own without locks.
    pub fn without_locks(name: &str) -> Arc<FakeStore> {
        Arc::new(FakeStore { name: name.to_owned(), locking: Locking::Absent, ..FakeStore::default() })
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next requests of these kinds end like this, each once, in this order.
    pub fn script(&self, faults: impl IntoIterator<Item = (Call, Fault)>) {
        self.inside().script.extend(faults);
    }

    /// Requests since the last time this was called.
    pub fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.inside().calls)
    }

    /// The bytes and the version of a state.
    pub fn content(&self, workspace: &str) -> Option<(Vec<u8>, u64)> {
        self.inside().states.get(workspace).cloned()
    }

    /// Replaces the bytes of a state, as another process would.
    pub fn put(&self, workspace: &str, content: &[u8]) {
        let mut inside = self.inside();
        let version = inside.states.get(workspace).map_or(0, |(_, version)| *version);
        inside.states.insert(workspace.to_owned(), (content.to_vec(), version + 1));
    }

    /// The journal of a state on the server.
    pub fn journal(&self, workspace: &str) -> Option<Vec<u8>> {
        self.inside().journals.get(workspace).cloned()
    }

    /// Whether a state is locked.
    pub fn is_locked(&self, workspace: &str) -> bool {
        self.inside().locks.contains_key(workspace)
    }
}

impl Inside {
    /// Scripted outcomes of requests.
    fn fault(&mut self, call: Call) -> Option<Fault> {
        self.calls.push(call);
        let (next, fault) = *self.script.front()?;
        (next == call).then(|| {
            self.script.pop_front();
            fault
        })
    }
}

fn lost() -> StoreError {
    StoreError::new(StoreErrorKind::Transient, "the connection was reset")
}

impl Store for FakeStore {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.inside().states.keys().cloned().collect())
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        let mut inside = self.inside();
        if let Some(Fault::Fails(kind)) = inside.fault(Call::Read) {
            return Err(StoreError::new(kind, "reading is scripted to fail"));
        }
        let stored = |(content, version): &(Vec<u8>, u64)| Stored {
            content: content.clone(),
            version: StoreVersion(version.to_string()),
        };
        Ok(inside.states.get(workspace).map(stored))
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let mut inside = self.inside();
        let fault = inside.fault(Call::Write);
        match fault {
            Some(Fault::Fails(kind)) => return Err(StoreError::new(kind, "writing is scripted to fail")),
            Some(Fault::OtherWrites) => {
                let (content, version) = inside.states.get(workspace).cloned().unwrap_or_default();
                let mut state =
                    yuba_state::read(&content).map_or_else(|_| yuba_state::State::empty(), |(state, _)| state);
                state.serial += 5;
                let mut content = Vec::new();
                yuba_state::write_compact(&state, &mut content);
                inside.states.insert(workspace.to_owned(), (content, version + 1));
            }
            Some(Fault::ResponseLost | Fault::OtherLocks) | None => {}
        }
        let version = inside.states.get(workspace).map(|(_, version)| *version);
        if !write.precondition.holds(version.map(|version| StoreVersion(version.to_string())).as_ref()) {
            return Err(StoreError::new(StoreErrorKind::Conflict, "the version is another one"));
        }
        let next = version.unwrap_or_default() + 1;
        inside.states.insert(workspace.to_owned(), (write.content.to_vec(), next));
        match fault {
            Some(Fault::ResponseLost) => Err(lost()),
            _ => Ok(StoreVersion(next.to_string())),
        }
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        let mut inside = self.inside();
        inside.states.remove(workspace);
        inside.journals.remove(workspace);
        Ok(())
    }

    fn check_lock(&self, workspace: &str, id: &LockId) -> Result<LockCheck, StoreError> {
        Ok(match self.inside().locks.get(workspace) {
            Some(holder) if holder.id == id.0 => LockCheck::Held,
            Some(_) => LockCheck::Lost("another process took it".to_owned()),
            None => LockCheck::Lost("another process released it".to_owned()),
        })
    }

    fn server_journal(&self) -> Option<&dyn ServerJournal> {
        (self.locking == Locking::Supported).then_some(self as &dyn ServerJournal)
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        if self.locking == Locking::Absent {
            return Ok(None);
        }
        let mut inside = self.inside();
        let fault = inside.fault(Call::Lock);
        if let Some(Fault::Fails(kind)) = fault {
            return Err(LockRefusal::Store(StoreError::new(kind, "locking is scripted to fail")));
        }
        if let Some(holder) = inside.locks.get(workspace) {
            return Err(LockRefusal::Held { holder: Some(Box::new(holder.clone())), pid: None });
        }
        inside.locks.insert(workspace.to_owned(), holder.clone());
        match fault {
            Some(Fault::ResponseLost) => Err(LockRefusal::Store(lost())),
            _ => Ok(Some(LockId(holder.id.clone()))),
        }
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let mut inside = self.inside();
        let fault = inside.fault(Call::Unlock);
        if let Some(Fault::Fails(kind)) = fault {
            return Err(UnlockRefusal::Failed(StoreError::new(kind, "unlocking is scripted to fail")));
        }
        match inside.locks.get(workspace) {
            None => return Err(UnlockRefusal::NotLocked),
            Some(holder) if holder.id != id.0 => {
                return Err(UnlockRefusal::OtherLock(Some(Box::new(holder.clone()))));
            }
            Some(_) => drop(inside.locks.remove(workspace)),
        }
        if fault == Some(Fault::OtherLocks) {
            let other = LockHolder::ourselves("OperationTypePlan", &yuba_net::Environment::default());
            inside.locks.insert(workspace.to_owned(), other);
        }
        match fault {
            Some(Fault::ResponseLost | Fault::OtherLocks) => Err(UnlockRefusal::Failed(lost())),
            _ => Ok(()),
        }
    }

    fn describe(&self, workspace: &str) -> String {
        format!("fake://{}/{workspace}", self.name)
    }
}

impl ServerJournal for FakeStore {
    fn read(&self, workspace: &str) -> Result<Option<LeftJournal>, StoreError> {
        let inside = self.inside();
        let run = if inside.locks.contains_key(workspace) { RunState::Running } else { RunState::Over };
        Ok(inside.journals.get(workspace).map(|lines| LeftJournal { lines: lines.clone(), run }))
    }

    fn append(&self, workspace: &str, lines: &[u8], mode: Appending) -> Result<(), StoreError> {
        let mut inside = self.inside();
        if let Some(Fault::Fails(kind)) = inside.fault(Call::Append) {
            return Err(StoreError::new(kind, "appending is scripted to fail"));
        }
        let journal = inside.journals.entry(workspace.to_owned()).or_default();
        if mode == Appending::Restart {
            journal.clear();
        }
        journal.extend_from_slice(lines);
        Ok(())
    }

    fn remove(&self, workspace: &str) -> Result<(), StoreError> {
        self.inside().journals.remove(workspace);
        Ok(())
    }
}
