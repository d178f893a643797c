//! A backend on a server: which arguments reach it, what it can do, and how to disturb it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value as Json};
use yuba_addrs::Hostname;
use yuba_backend::fake::FAKE;
use yuba_backend::kit::Retries;
use yuba_backend::{Backend, BackendConfiguration, BackendEnvironment, Backends, LockHolder, StateStore, Storage};
use yuba_net::Environment;
use yuba_net::credentials::Credentials;
use yuba_net::discovery::Services;
use yuba_net::http::{ClientOptions, HttpClient, HttpSettings};
use yuba_syntax::Diagnostics;

use crate::Started;

/// The beginning of the names of states in tests that interrupt their server. The other tests go on meanwhile.
pub(crate) const OUTAGE: &str = "outage";

/// A backend on a server that runs.
pub(crate) trait Subject: Send + Sync {
    /// The name of the backend: `s3`.
    fn kind(&self) -> &'static str;
    /// Arguments for a state of its own; the same name gives the same state.
    fn arguments(&self, state: &str) -> Json;
    /// Environment variables that the backend sees.
    fn environment(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// A name of a workspace with all kinds of characters that the server allows.
    fn workspace(&self) -> &'static str {
        "feature-x_1.2"
    }
    /// The workspace that takes the place of `default`, for a backend without one.
    fn main_workspace(&self) -> &'static str {
        "default"
    }
    /// Services of hosts that a CLI configuration sets, with which the state is reached.
    fn services(&self, _state: &str) -> BTreeMap<Hostname, Map<String, Json>> {
        BTreeMap::new()
    }
    /// How its HTTP client differs from that of a run without CLI configuration.
    fn client_options(&self) -> ClientOptions {
        ClientOptions::default()
    }
    /// How often it repeats requests.
    fn retries(&self) -> Retries {
        Retries { attempts: 4, pause: Duration::from_millis(50), longest: Duration::from_millis(500) }
    }
    /// What it can do.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }
    /// The address of the server of a state, if it speaks HTTP without TLS. The arguments name it.
    fn server_of(&self, _state: &str) -> Option<String> {
        None
    }
    /// How the HTTP client differs where a relay stands before that server.
    fn client_options_at(&self, _relay: SocketAddr) -> ClientOptions {
        self.client_options()
    }
    /// Releases a lock that does not name its id, as the administrator of the server does. Returns false where locks always name it.
    fn release_nameless_lock(&self, _state: &str) -> bool {
        false
    }
    /// Overwrites the stored content of the default workspace behind the back of the backend. Returns false if the test does
    /// not know how.
    fn overwrite(&self, _state: &str, _content: &[u8]) -> bool {
        false
    }
    /// Makes the server unreachable for states whose names begin with [`OUTAGE`], until [`Subject::resume`]. Returns false if the test
    /// does not know how.
    fn interrupt(&self) -> bool {
        false
    }
    /// Makes the server reachable again, with its data.
    fn resume(&self) {}
}

/// What a backend can do on a server.
#[derive(Clone, Copy)]
pub(crate) struct Abilities {
    pub(crate) workspaces: bool,
    pub(crate) locks: bool,
    /// A refused lock names its holder.
    pub(crate) names_holder: bool,
    /// A write over a state that has changed since it was read is refused, also without a lock.
    pub(crate) conditional_writes: bool,
    /// `force_unlock` with the id that a refused lock names releases the lock.
    pub(crate) force_unlock: bool,
    /// The release of a lock that is gone fails.
    pub(crate) release_is_checked: bool,
    /// States live as long as the value that opened them.
    pub(crate) is_memory: bool,
    /// The journal of a run is on the server too.
    pub(crate) server_journal: bool,
    /// A running apply notices that its lock is gone.
    pub(crate) notices_lost_locks: bool,
    /// States are on a server, which can be unreachable.
    pub(crate) has_server: bool,
}

impl Default for Abilities {
    fn default() -> Abilities {
        Abilities {
            workspaces: true,
            locks: true,
            names_holder: true,
            conditional_writes: true,
            force_unlock: true,
            release_is_checked: true,
            is_memory: false,
            server_journal: false,
            notices_lost_locks: true,
            has_server: true,
        }
    }
}

/// A subject whose server starts with the first test that needs it.
pub(crate) struct Lazy {
    /// The name of the backend, the server and the variant: `s3 on moto with lock files`.
    pub(crate) name: &'static str,
    /// The name of the server, as `cargo xtask servers` has it.
    pub(crate) server: &'static str,
    pub(crate) is_installed: bool,
    /// Whether connections to its server can be cut at a request.
    pub(crate) has_cuts: bool,
    start: fn() -> Option<Started>,
    started: OnceLock<Option<Started>>,
}

static STARTED: Mutex<Vec<Started>> = Mutex::new(Vec::new());

impl Lazy {
    pub(crate) fn new(
        name: &'static str,
        server: &'static str,
        is_installed: bool,
        start: fn() -> Option<Started>,
    ) -> Lazy {
        Lazy { name, server, is_installed, has_cuts: false, start, started: OnceLock::new() }
    }

    /// With the test of cuts: the subject says where its server is.
    pub(crate) fn with_cuts(self) -> Lazy {
        Lazy { has_cuts: true, ..self }
    }

    pub(crate) fn is_required(&self) -> bool {
        std::env::var("YUBA_REQUIRE").is_ok_and(|list| list.split(',').any(|listed| listed == self.server))
    }

    pub(crate) fn get(&self) -> Option<Started> {
        let started = self.started.get_or_init(|| {
            let started = (self.start)()?;
            STARTED.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&started));
            Some(started)
        });
        started.clone()
    }
}

/// Drops what keeps servers running.
pub(crate) fn stop_all() {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// A working directory on one machine: its data directory and its connection to the backend.
pub(crate) struct Machine {
    pub(crate) backends: Backends,
    pub(crate) storage: Storage,
    main_workspace: &'static str,
    data_dir: PathBuf,
}

/// A name that no other test uses.
pub(crate) fn unique(name: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst))
}

/// Configuration of the backend of a subject for a state.
fn configuration(subject: &dyn Subject, backends: &Backends, state: &str) -> BackendConfiguration {
    let kind = backends.find(subject.kind()).expect("the backend is a row of the table");
    BackendConfiguration::of_json(kind, &subject.arguments(state))
}

impl Machine {
    /// A new machine that uses a state of the subject.
    pub(crate) fn new(subject: &dyn Subject, state: &str) -> Machine {
        Machine::opened(subject, state).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    /// The same, where the server may be out of reach.
    pub(crate) fn opened(subject: &dyn Subject, state: &str) -> Result<Machine, Diagnostics> {
        let data_dir = std::env::temp_dir().join(unique("yuba-servers"));
        std::fs::create_dir_all(&data_dir).expect("the directory for temporary files can be written");
        let home = data_dir.join("home");
        let variables = subject.environment().into_iter();
        let variables = Environment::new(variables, Some(home), data_dir.clone());
        let settings = HttpSettings { backoff: Duration::from_millis(20), ..HttpSettings::default() };
        let client = HttpClient::new(settings).with_options(subject.client_options());
        let credentials = Arc::new(Credentials::new(Default::default(), &variables));
        let services = Arc::new(Services::new(client, credentials, subject.services(state)));
        let environment = BackendEnvironment {
            services,
            retries: subject.retries(),
            lock_checks: Duration::from_millis(200),
            ..BackendEnvironment::new(variables, &data_dir)
        };
        let backends = Backends::new(environment).with(&[FAKE]);
        let configuration = configuration(subject, &backends, state);
        let problems = configuration.check();
        assert!(!problems.has_errors(), "{problems:?}");
        let storage = backends.open(&configuration)?;
        Ok(Machine { backends, storage, main_workspace: subject.main_workspace(), data_dir })
    }

    /// The same working directory in a new process.
    pub(crate) fn restarted(&self, subject: &dyn Subject, state: &str) -> Machine {
        self.try_restarted(subject, state).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    /// The same working directory in a new process, unless its storage cannot be opened.
    pub(crate) fn try_restarted(&self, subject: &dyn Subject, state: &str) -> Result<Machine, Diagnostics> {
        let storage = match subject.abilities().is_memory {
            true => self.storage.clone(),
            false => self.backends.open(&configuration(subject, &self.backends, state))?,
        };
        let (backends, main_workspace) = (self.backends.clone(), self.main_workspace);
        Ok(Machine { backends, storage, main_workspace, data_dir: PathBuf::new() })
    }

    /// Another machine. It shares nothing but the server.
    pub(crate) fn other(&self, subject: &dyn Subject, state: &str) -> Machine {
        match subject.abilities().is_memory {
            true => self.restarted(subject, state),
            false => Machine::new(subject, state),
        }
    }

    pub(crate) fn backend(&self) -> Box<dyn Backend> {
        self.backends.backend(&self.storage, None)
    }

    pub(crate) fn try_open(&self, workspace: &str) -> Result<Box<dyn StateStore>, Diagnostics> {
        self.backend().open(if workspace == "default" { self.main_workspace } else { workspace })
    }

    pub(crate) fn open(&self, workspace: &str) -> Box<dyn StateStore> {
        self.try_open(workspace).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    /// This process as the holder of a lock.
    pub(crate) fn holder(&self) -> LockHolder {
        LockHolder::ourselves("OperationTypeApply", &self.backends.environment.variables)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.data_dir != Path::new("") {
            let _ = std::fs::remove_dir_all(&self.data_dir);
        }
    }
}
