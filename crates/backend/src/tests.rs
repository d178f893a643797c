//! Tests of the crate as a whole: what is on disk after every kind of accident.

mod crash;
mod faults;
mod kit;
mod layout;
mod locking;
mod replaced;
mod stored;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;

use crate::files::StateFiles;
use crate::{
    Disk, Journal, JournalOperation, LocalBackend, LocalSettings, LockHolder, Reading, StateFile, StateStore,
    SuccessorCheck,
};

/// A directory that is removed with the test.
struct Sandbox(PathBuf);

/// This process as the holder of a lock.
fn ourselves(operation: &str) -> LockHolder {
    LockHolder::ourselves(operation, &yuba_net::Environment::default())
}

/// Takes the lock. A process that another test starts has a copy of every open file between its birth and its first
/// instruction, so a lock that was just given up may be held a moment longer.
fn take_lock(store: &mut StateFile) {
    for _ in 0..400 {
        if store.try_lock(ourselves("test")).is_ok() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    store.try_lock(ourselves("test")).expect("the lock is free");
}

impl Sandbox {
    fn new() -> Sandbox {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        // Files in memory where the system has them: these tests flush a lot.
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let number = COUNT.fetch_add(1, Ordering::SeqCst);
        let path = parent.join(format!("yuba-backend-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the directory for temporary files can be written");
        Sandbox(path)
    }
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    fn state(&self) -> PathBuf {
        self.path("terraform.tfstate")
    }
    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }
    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("the sandbox can be written");
    }
    /// Names of what is in it.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it was made").flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
    fn backend(&self, files: Arc<dyn StateFiles>) -> LocalBackend {
        let settings = LocalSettings {
            path: Some(self.state()),
            workspace_directory: Some(self.path("terraform.tfstate.d")),
            ..LocalSettings::default()
        };
        LocalBackend::new(files, settings)
    }
    fn store(&self) -> StateFile {
        self.store_over(Arc::new(Disk))
    }
    fn store_over(&self, files: Arc<dyn StateFiles>) -> StateFile {
        self.backend(files).store("default").expect("the default workspace needs no directory")
    }
    /// Reads with the lock: puts in order what was left.
    fn recover(&self) -> Reading {
        let mut store = self.store();
        take_lock(&mut store);
        let reading = store.read().expect("the state is readable");
        store.unlock().expect("it is ours");
        reading
    }
    /// Saves a state in the usual way.
    fn save(&self, state: &mut State) {
        let mut store = self.store();
        take_lock(&mut store);
        store.write(state).expect("the sandbox can be written");
        store.unlock().expect("it is ours");
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An object is made at `terraform_data.r[n]`.
fn edit(n: usize) -> Edit {
    let line = format!(
        r#"{{"edit":"set_object","addr":"terraform_data.r[{n}]","provider":"provider[\"terraform.io/builtin/terraform\"]","object":{{"schema_version":0,"attributes":{{"id":"{n:0>200}"}},"sensitive_attributes":[]}}}}"#
    );
    Edit::from_json_line(&line).expect("it is well-formed")
}

/// A state with the objects of these numbers.
fn state_of(numbers: impl IntoIterator<Item = usize>) -> State {
    let mut state = State::empty();
    numbers.into_iter().for_each(|n| state.apply(edit(n)));
    state
}

/// Numbers of the objects in a state.
fn numbers(state: Option<&State>) -> Vec<usize> {
    let instances = state.into_iter().flat_map(State::instances);
    let texts = instances.map(|(addr, ..)| addr.to_string());
    let mut found: Vec<usize> =
        texts.filter_map(|text| text.strip_prefix("terraform_data.r[")?.strip_suffix(']')?.parse().ok()).collect();
    found.sort_unstable();
    found
}

fn begin(journal: &mut dyn Journal, n: usize) -> crate::OperationId {
    journal.begin(JournalOperation { address: format!("terraform_data.r[{n}]").into(), action: "create".into() })
}

fn summaries(diagnostics: &Diagnostics) -> Vec<&str> {
    diagnostics.iter().map(|diagnostic| diagnostic.summary.as_str()).collect()
}
