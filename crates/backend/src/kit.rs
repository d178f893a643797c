//! The backend kit: a backend is one row of a table, with a name, an argument schema and a constructor.
//!
//! A new backend implements [`Store`](store::Store), which moves bytes and locks. Everything else is written once around it
//! ([`crate::stored`]): encryption, the local journal, serial and lineage, retries, lock ids, and what happens to a state that
//! cannot be saved. A backend cannot leave any of that out.

pub mod arguments;
pub(crate) mod requests;
pub mod store;
pub mod workspaces;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;
use yuba_net::Environment;
use yuba_net::credentials::Credentials;
use yuba_net::discovery::Services;
use yuba_net::http::{HttpClient, HttpSettings};
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use crate::diagnostics;
use crate::encryption::Sealing;
use crate::files::{Disk, StateFiles};
use crate::kinds::BACKENDS;
use crate::local::{DEFAULT_STATE, LocalBackend, LocalSettings};
use crate::store::Backend;
use crate::stored::StoredBackend;
use arguments::{ArgumentSchema, Arguments};
use store::Store;

/// One kind of backend: a row of the table in `kinds.rs`.
#[derive(Clone, Copy)]
pub struct BackendKind {
    /// Its label in a `backend` block.
    pub name: &'static str,
    /// The arguments of its block.
    pub schema: fn() -> ArgumentSchema,
    /// Errors in arguments of the right types, before anything is opened.
    pub check: fn(&Arguments) -> Diagnostics,
    /// Makes the storage.
    pub open: Constructor,
}

/// The name that the `cloud` block has among the kinds of backends, in the record of `init` and in plans.
pub const CLOUD: &str = "cloud";

/// Opens a byte store.
pub type OpenStore = fn(&Arguments, &BackendEnvironment) -> Result<Arc<dyn Store>, Diagnostics>;

/// Opens a storage whose arguments decide what it is.
pub type OpenStorage = fn(&Arguments, &BackendEnvironment) -> Result<Storage, Diagnostics>;

/// A storage that knows states, not only bytes.
pub trait ObjectStorage: fmt::Debug + Send + Sync {
    /// The backend over it.
    fn backend(
        self: Arc<Self>,
        files: &Arc<dyn StateFiles>,
        environment: &BackendEnvironment,
        sealing: Option<Sealing>,
    ) -> Box<dyn Backend>;
}

/// Creates the storage of a backend.
#[derive(Clone, Copy)]
pub enum Constructor {
    /// Files of this machine, with the guarantees of [`LocalBackend`].
    Files(fn(&Arguments) -> LocalSettings),
    /// A byte store.
    Store(OpenStore),
    /// A byte store or a storage of objects, as its arguments say.
    Storage(OpenStorage),
    /// OpenTofu has this backend and this version of Yuba does not.
    NotAvailable,
}

impl fmt::Debug for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BackendKind").field(&self.name).finish()
    }
}

impl BackendKind {
    /// Whether this version can open it.
    pub fn is_available(&self) -> bool {
        !matches!(self.open, Constructor::NotAvailable)
    }
}

/// Environment of a backend. It arrives as a value: nothing here asks the process.
#[derive(Clone)]
pub struct BackendEnvironment {
    /// Environment variables.
    pub variables: Environment,
    /// The HTTP client, credentials and services of hosts.
    pub services: Arc<Services>,
    /// The directory that belongs to the working directory: `.terraform` usually. Journals of remote states are in it.
    pub data_dir: PathBuf,
    /// Files of states and journals. Relative paths start where they say.
    pub files: Arc<dyn StateFiles>,
    /// Retries of requests that may pass.
    pub retries: Retries,
    /// Interval at which a running apply checks that its lock still exists.
    pub lock_checks: Duration,
    /// The commit of the configuration in its repository. Called by backends that record it.
    pub source_commit: SourceCommit,
}

/// Finds the commit of a configuration.
pub type SourceCommit = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Interval of lock checks, unless a test sets another.
const LOCK_CHECKS: Duration = Duration::from_secs(15);

/// Number of retries of a failed request to a store, and the pauses between them.
#[derive(Clone, Copy, Debug)]
pub struct Retries {
    /// Number of attempts in all.
    pub attempts: u32,
    /// The pause before the second attempt. It doubles with each attempt and varies by up to half.
    pub pause: Duration,
    /// The longest pause, also where a server asks for a longer one.
    pub longest: Duration,
}

impl Default for Retries {
    fn default() -> Retries {
        Retries { attempts: 5, pause: Duration::from_millis(500), longest: Duration::from_secs(30) }
    }
}

impl Retries {
    /// The pause after this number of failed attempts, starting with 1.
    pub(crate) fn pause_after(&self, failed: u32, asked_for: Option<Duration>) -> Duration {
        let full = self.pause.saturating_mul(1 << failed.saturating_sub(1).min(16)).min(self.longest);
        let mut random = [0; 2];
        // Without random bytes the pause is the longest one.
        let share = getrandom::fill(&mut random).map_or(1.0, |()| f64::from(u16::from_le_bytes(random)) / 65_535.0);
        full.mul_f64(0.5 + share / 2.0).max(asked_for.unwrap_or_default().min(self.longest))
    }
}

impl fmt::Debug for BackendEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendEnvironment").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}

impl BackendEnvironment {
    /// With a client and credentials as they are without a CLI configuration.
    pub fn new(variables: Environment, data_dir: impl Into<PathBuf>) -> BackendEnvironment {
        let credentials = Arc::new(Credentials::new(Default::default(), &variables));
        let services = Services::new(HttpClient::new(HttpSettings::default()), credentials, Default::default());
        BackendEnvironment {
            variables,
            services: Arc::new(services),
            data_dir: data_dir.into(),
            files: Arc::new(Disk),
            retries: Retries::default(),
            lock_checks: LOCK_CHECKS,
            source_commit: Arc::new(|| None),
        }
    }

    /// With the client and the credentials of a CLI configuration. An interrupt does not stop requests about states: locks are
    /// released after it.
    #[must_use]
    pub fn with_services(self, services: &Services) -> BackendEnvironment {
        BackendEnvironment { services: Arc::new(services.uninterrupted()), ..self }
    }

    /// Journals of a workspace whose state is in another backend.
    pub(crate) fn journals(&self, workspace: &str) -> PathBuf {
        self.data_dir.join("journals").join(workspace)
    }
}

/// The backends that a run can use, with what they may use themselves.
#[derive(Clone, Debug)]
pub struct Backends {
    kinds: Arc<[BackendKind]>,
    /// Their environment.
    pub environment: BackendEnvironment,
}

impl Backends {
    /// All backends of this version.
    pub fn new(environment: BackendEnvironment) -> Backends {
        Backends { kinds: BACKENDS.into(), environment }
    }

    /// With further kinds of backends.
    #[must_use]
    pub fn with(self, kinds: &[BackendKind]) -> Backends {
        Backends { kinds: self.kinds.iter().chain(kinds).copied().collect(), ..self }
    }

    /// With other files, such as those that are seen from another directory.
    #[must_use]
    pub fn with_files(self, files: Arc<dyn StateFiles>) -> Backends {
        Backends { environment: BackendEnvironment { files, ..self.environment }, ..self }
    }

    /// The row with this name.
    pub fn find(&self, name: &str) -> Option<BackendKind> {
        self.kinds.iter().copied().find(|kind| kind.name == name)
    }

    /// All names that a `backend` block can have, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|kind| kind.name).filter(|name| *name != CLOUD)
    }

    /// Whether a run has left a journal of a state in another backend, or is writing one. Opens nothing.
    pub fn has_journal(&self, workspace: &str) -> bool {
        let names = self.environment.files.names(&self.environment.journals(workspace)).unwrap_or_default();
        names.iter().any(|name| name.ends_with(".journal"))
    }

    /// Opens what a configuration names.
    pub fn open(&self, configuration: &BackendConfiguration) -> Result<Storage, Diagnostics> {
        let BackendConfiguration { kind, arguments } = configuration;
        let schema = (kind.schema)();
        let resolved = arguments.resolved(&schema, &self.environment.variables)?;
        match kind.open {
            Constructor::Files(settings) => Ok(Storage::Files(settings(&resolved))),
            Constructor::Store(open) => open(&resolved, &self.environment).map(Storage::Store),
            Constructor::Storage(open) => open(&resolved, &self.environment),
            Constructor::NotAvailable => Err(diagnostics::backend_not_available(kind.name).into()),
        }
    }

    /// The backend over a storage.
    pub fn backend(&self, storage: &Storage, sealing: Option<Sealing>) -> Box<dyn Backend> {
        match storage {
            Storage::Files(settings) => {
                Box::new(LocalBackend::new(Arc::clone(&self.environment.files), settings.clone()).encrypted(sealing))
            }
            Storage::Objects(storage) => {
                Arc::clone(storage).backend(&self.environment.files, &self.environment, sealing)
            }
            Storage::Store(store) => Box::new(
                StoredBackend::new(store.clone(), Arc::clone(&self.environment.files), &self.environment)
                    .encrypted(sealing),
            ),
        }
    }
}

/// A backend with its connection. Clones share it.
#[derive(Clone, Debug)]
pub enum Storage {
    /// Files of this machine.
    Files(LocalSettings),
    /// A byte store.
    Store(Arc<dyn Store>),
    /// A storage of objects.
    Objects(Arc<dyn ObjectStorage>),
}

/// A kind of backend with its arguments, as a `backend` block, the record of `init` or a data source gives them.
#[derive(Clone, Debug)]
pub struct BackendConfiguration {
    kind: BackendKind,
    arguments: Arguments,
}

/// Files of the working directory, where no configuration says otherwise.
impl Default for BackendConfiguration {
    fn default() -> BackendConfiguration {
        let kind = crate::kinds::LOCAL;
        BackendConfiguration { kind, arguments: Arguments::empty(&(kind.schema)()) }
    }
}

impl BackendConfiguration {
    /// With arguments that have the types of the schema.
    pub fn new(kind: BackendKind, arguments: Value) -> BackendConfiguration {
        BackendConfiguration { kind, arguments: Arguments::new(arguments) }
    }

    /// Arguments as a record or another tool has stored them. Values of other types are left out.
    pub fn of_json(kind: BackendKind, stored: &Json) -> BackendConfiguration {
        BackendConfiguration { kind, arguments: Arguments::of_json(&(kind.schema)(), stored) }
    }

    /// The name of its kind.
    pub fn kind(&self) -> &'static str {
        self.kind.name
    }

    /// The schema of its arguments.
    pub fn schema(&self) -> ArgumentSchema {
        (self.kind.schema)()
    }

    /// Its arguments, without defaults.
    pub fn arguments(&self) -> &Arguments {
        &self.arguments
    }

    /// Its arguments as OpenTofu records them: those that OpenTofu does not have are left out where they are not set.
    pub fn recorded(&self) -> Arguments {
        let schema = self.schema();
        if schema.is_shared() {
            return self.arguments.clone();
        }
        let entries = self.arguments.value().entries().unwrap_or_default().into_iter();
        let recorded = entries.filter(|(name, value)| !(schema.is_own(name) && value.is_null()));
        Arguments::new(Value::object(recorded.collect()))
    }

    /// The same with other arguments.
    #[must_use]
    pub fn with(&self, arguments: Arguments) -> BackendConfiguration {
        BackendConfiguration { kind: self.kind, arguments }
    }

    /// Errors in its arguments, apart from missing ones.
    pub fn check(&self) -> Diagnostics {
        (self.kind.check)(&self.arguments)
    }

    /// Required arguments that neither the arguments nor the environment set.
    pub fn missing(&self, environment: &Environment) -> Vec<&'static str> {
        self.arguments.missing(&self.schema(), environment)
    }

    /// Whether states are at the same location: the same kind, and the same arguments with their defaults.
    pub fn is_same_location(&self, other: &BackendConfiguration) -> bool {
        let schema = self.schema();
        self.kind.name == other.kind.name
            && self.arguments.with_defaults(&schema) == other.arguments.with_defaults(&schema)
    }

    /// Whether states are files of this machine.
    pub fn is_file(&self) -> bool {
        matches!(self.kind.open, Constructor::Files(_))
    }

    /// The location for people, without opening anything.
    pub fn location(&self) -> String {
        match self.kind.open {
            Constructor::Files(settings) => {
                let path = settings(&self.arguments).path;
                let path = path.filter(|path| !path.as_os_str().is_empty());
                format!("the file {}", path.as_deref().unwrap_or(Path::new(DEFAULT_STATE)).display())
            }
            _ => format!("the backend \"{}\"", self.kind.name),
        }
    }
}
