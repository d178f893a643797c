//! The backend of the state: from the configuration, the flags and the selected workspace to a store that is open,
//! locked and read; and saving a new state.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use yuba_addrs::AbsResourceInstance;
use yuba_backend::encryption::Sealing;
use yuba_backend::{
    Backend, BackendConfiguration, CLOUD, Execution, LastResort, LocalBackend, LocalSettings, LockHolder, ReadAhead,
    Saved, StateFiles, StatePart, StateStore, Storage, lock_left_behind, recovered_diagnostic, save_errored, workspace,
};
use yuba_eval::static_eval::is_unavailable;
use yuba_eval::tree::{Purpose, unavailable_sources};
use yuba_state::State;
use yuba_syntax::{Code, Diagnostic, Diagnostics, Sources};

use crate::encryption::{self, Encryption};
use crate::initialized;
use crate::loaded::{LoadOptions, Loaded};
use crate::module_install::Missing;
use crate::project::Project;
use crate::state::ObjectChange;

pub use yuba_backend::{BackendEnvironment, Backends, EstateWorkspace, Reservation, SuccessorCheck, UtcTime};

pub use locking::LockWait;

pub(crate) use locking::acquire;
use locking::{acquire_part, reserve};
pub(crate) use overrides::overridden;
pub(crate) use settings::{check_required, configured, is_out_of_reach};

pub(crate) mod diagnostics;
mod locking;
mod overrides;
mod settings;
pub(crate) mod setup;
mod stored_variables;

/// Flags about the state.
#[derive(Clone, Debug)]
pub struct StateFlags {
    /// `-state`: read this file.
    pub state: Option<PathBuf>,
    /// `-state-out`: write this file.
    pub state_out: Option<PathBuf>,
    /// `-backup`: file for the previous content; `-` disables the backup.
    pub backup: Option<PathBuf>,
    /// `-lock`: whether to lock the state.
    pub lock: bool,
    /// `-lock-timeout`: how long to wait for the lock of another process.
    pub lock_timeout: Duration,
    /// Whether the version of a workspace on a server must suit this version.
    pub version: VersionCheck,
}

/// Effect of a workspace on a server that is set to a version that does not suit this version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionCheck {
    /// Nothing: the command cannot upgrade the format of the state.
    #[default]
    Skipped,
    /// The command fails.
    Required,
    /// The command warns: `-ignore-remote-version`.
    Warned,
}

impl Default for StateFlags {
    fn default() -> StateFlags {
        StateFlags {
            state: None,
            state_out: None,
            backup: None,
            lock: true,
            lock_timeout: Duration::ZERO,
            version: VersionCheck::Skipped,
        }
    }
}

/// Reason of a failure, with the files that the messages point into.
#[derive(Debug, Default)]
pub struct Refusal {
    /// Reason.
    pub problems: Diagnostics,
    /// Files that were read.
    pub sources: Sources,
}

impl From<Diagnostics> for Refusal {
    fn from(problems: Diagnostics) -> Refusal {
        Refusal { problems, sources: Sources::new() }
    }
}

impl From<Diagnostic> for Refusal {
    fn from(problem: Diagnostic) -> Refusal {
        Refusal::from(Diagnostics::from(problem))
    }
}

/// The backend of a configuration: an open storage and the selected workspace. Copies share the storage.
#[derive(Clone, Debug)]
pub struct StateLocation {
    backends: Arc<Backends>,
    storage: Storage,
    /// The backend that is open, as it is recorded in plan files.
    pub(crate) configuration: BackendConfiguration,
    /// The workspace that is selected.
    pub workspace: String,
    /// Encryption of states and plans.
    pub encryption: Encryption,
}

/// Opens the storage of a backend. Flags that name files count for files only.
fn opened_storage(
    backends: &Backends,
    configuration: &BackendConfiguration,
    flags: &StateFlags,
) -> Result<Storage, Diagnostics> {
    check_required(configuration, backends)?;
    Ok(match backends.open(configuration)? {
        Storage::Files(settings) => Storage::Files(LocalSettings {
            state: flags.state.clone(),
            state_out: flags.state_out.clone(),
            backup: flags.backup.clone(),
            ..settings
        }),
        store => store,
    })
}

/// Finds out where the state is, for a command that needs nothing else of the configuration. A directory without
/// configuration has its state where it is by default.
pub fn find(project: &Project, flags: &StateFlags) -> Result<StateLocation, Refusal> {
    if !project.has_configuration() {
        let configuration = in_use(project, None)?;
        let storage = opened_storage(project.backends(), &configuration, flags)?;
        let (backends, workspace) = (Arc::clone(project.backends()), project.workspace().to_owned());
        let encryption = encryption::of_environment(project)?;
        return Ok(StateLocation { backends, storage, configuration, workspace, encryption });
    }
    let configuration = root_of(project)?;
    state_location(&configuration, flags).map_err(|problems| Refusal { problems, sources: configuration.sources })
}

/// Location of a state in files of this machine, for callers that must neither use the network nor run processes. None where the
/// backend has states elsewhere, or the encryption needs a process or a service, and after an error.
pub fn find_in_files(project: &Project, flags: &StateFlags) -> Option<StateLocation> {
    let loaded = match project.has_configuration() {
        true => Some(root_of(project).ok()?),
        false => None,
    };
    let written = loaded.as_ref().and_then(|loaded| loaded.tree.root().module.encryption.clone());
    let block = loaded.as_ref().map(configured).transpose().ok()?.flatten();
    // The encryption gets its keys, and some backends their credentials, when they are opened.
    if !encryption::is_self_contained(project, written) || !in_use(project, block).ok()?.is_file() {
        return None;
    }
    match &loaded {
        Some(loaded) => state_location(loaded, flags).ok(),
        None => find(project, flags).ok(),
    }
}

/// Warnings about what an interrupted run has left beside the state, for a command that does not read the state. Without a
/// journal this reads no more than the record of `init`.
pub fn about_journal(project: &Project) -> Diagnostics {
    let before = initialized::read(project).ok().flatten();
    let configuration = before.map_or_else(|| Some(Default::default()), |before| before.configuration);
    let storage = configuration.and_then(|configuration| match configuration.is_file() {
        true => project.backends().open(&configuration).ok(),
        false => None,
    });
    let has_journal = match storage {
        Some(Storage::Files(settings)) => {
            LocalBackend::new(Arc::clone(project.state_files()), settings).has_journal(project.workspace())
        }
        _ => project.backends().has_journal(project.workspace()),
    };
    if !has_journal {
        return Diagnostics::new();
    }
    // Commands that need the configuration report its errors.
    let location = find(project, &StateFlags::default()).ok();
    location.and_then(|location| location.look().ok()).map(|opened| opened.notes).unwrap_or_default()
}

/// Encryption of states in any backend: from the configuration, if it can be read.
pub fn sealing(project: &Project) -> Option<Sealing> {
    let encryption = match project.has_configuration() {
        true => encryption::of(&root_of(project).ok()?),
        false => encryption::of_environment(project),
    };
    encryption.ok()?.state
}

/// The configuration, where the root module is in order.
fn root_of(project: &Project) -> Result<Loaded, Refusal> {
    let (configuration, found) = project.load_or_install(LoadOptions::new(Purpose::Look), Missing::Told)?;
    // Errors in called modules do not matter here.
    match found.root.has_errors() {
        true => Err(Refusal { problems: found.root, sources: configuration.sources }),
        false => Ok(configuration),
    }
}

/// Location of the state of a configuration.
pub fn state_location(configuration: &Loaded, flags: &StateFlags) -> Result<StateLocation, Diagnostics> {
    let project = &configuration.project;
    let in_use = match &configuration.planned_backend {
        Some(planned) => planned.clone(),
        None => in_use(project, configured_or_explained(configuration)?)?,
    };
    let encryption = encryption::of(configuration)?;
    let mut storage = opened_storage(project.backends(), &in_use, flags)?;
    if let Storage::Files(settings) = &mut storage {
        settings.ahead.clone_from(&configuration.ahead);
    }
    let (backends, workspace) = (Arc::clone(project.backends()), project.workspace().to_owned());
    Ok(StateLocation { backends, storage, configuration: in_use, workspace, encryption })
}

/// Begins to read the state file that a directory without a `backend` block has, if it is large. Most commands that change
/// objects need it; where the state turns out to be elsewhere, the result is not used.
pub(crate) fn read_ahead(project: &Project) -> Option<ReadAhead> {
    let files = project.state_files();
    let paths = LocalBackend::new(Arc::clone(files), LocalSettings::default()).paths(project.workspace());
    ReadAhead::start(Arc::clone(files), paths.read)
}

/// Quirk: an unknown backend has another title where `init` does not report it.
fn retitled(problems: Diagnostics) -> Diagnostics {
    let mut retitled = Diagnostics::new();
    retitled.extend(problems.into_iter().map(|problem| match problem.is(&crate::diagnostics::BACKEND_TYPE_UNKNOWN) {
        true => problem.titled("Invalid backend type"),
        false => problem,
    }));
    retitled
}

/// The backend of the `backend` block.
fn configured_or_explained(configuration: &Loaded) -> Result<Option<BackendConfiguration>, Diagnostics> {
    configured(configuration).map_err(|problems| {
        let mut problems = retitled(problems);
        // A command that only reads states has not loaded module sources. Load them, so that the error names the missing values
        // of the backend and of the modules together.
        if configuration.purpose == Purpose::Look && problems.iter().any(is_unavailable) {
            let others = unavailable_sources(&configuration.tree, configuration.static_env());
            extend_with_new(&mut problems, others);
        }
        problems
    })
}

/// Errors of a configuration that cannot be loaded, for a command that needs its state too. Where values for modules
/// are not available, includes the missing values of the `backend` block.
pub(crate) fn not_loaded(mut configuration: Loaded) -> Refusal {
    let mut problems = std::mem::take(&mut configuration.diagnostics);
    if problems.iter().any(is_unavailable) && !is_out_of_reach(&configuration) {
        extend_with_new(&mut problems, configured(&configuration).err().unwrap_or_default());
    }
    Refusal { problems, sources: configuration.sources }
}

/// Adds what is not known yet. A variable without value is reported once, whatever needs it.
fn extend_with_new(problems: &mut Diagnostics, others: Diagnostics) {
    for other in others {
        if problems.iter().all(|known| !known.is(other.code) || known.subject != other.subject) {
            problems.push(other);
        }
    }
}

/// Location of the state at the last `init`, whatever is configured now. None where this version does not support the
/// backend.
pub(crate) fn last_state_location(configuration: &Loaded) -> Option<StateLocation> {
    let project = &configuration.project;
    let before = match initialized::read(project).ok()? {
        None => BackendConfiguration::default(),
        Some(before) => before.configuration?,
    };
    let encryption = encryption::of(configuration).ok()?;
    let location = StateLocation::of(project.backends(), &before, encryption).ok()?;
    Some(location.in_workspace(project.workspace()))
}

/// The backend that `init` was run with. Refuses to go on where that was another one or none: starting with an empty state
/// would mean to forget all that exists.
pub(crate) fn in_use(
    project: &Project,
    configured: Option<BackendConfiguration>,
) -> Result<BackendConfiguration, Diagnostics> {
    let kind = configured.as_ref().map(BackendConfiguration::kind);
    let Some(before) = initialized::read(project)? else {
        return match kind {
            None => Ok(BackendConfiguration::default()),
            Some(CLOUD) => Err(diagnostics::cloud_not_initialized(None).into()),
            Some(kind) => Err(crate::diagnostics::backend_not_initialized(kind).into()),
        };
    };
    let is_for = configured.is_some_and(|block| before.has_hash_of(&block) || before.equals(&block));
    match before.configuration {
        None => {
            Err(crate::diagnostics::backend_changed(&before.kind, kind, &initialized::file(project.data_dir())).into())
        }
        Some(used) if is_for => Ok(used),
        Some(used) if kind == Some(CLOUD) => Err(diagnostics::cloud_not_initialized(Some(used.kind())).into()),
        Some(used) => Err(crate::diagnostics::state_elsewhere(&used.location(), kind).into()),
    }
}

impl StateLocation {
    /// The files of one state, wherever the configuration has its state.
    pub fn file(path: PathBuf, backup: Option<PathBuf>, backends: &Arc<Backends>) -> StateLocation {
        StateLocation {
            backends: Arc::clone(backends),
            storage: Storage::Files(LocalSettings { state: Some(path), backup, ..LocalSettings::default() }),
            configuration: BackendConfiguration::default(),
            workspace: workspace::DEFAULT_WORKSPACE.to_owned(),
            encryption: Encryption::default(),
        }
    }

    /// The states of a backend, whatever is configured.
    pub(crate) fn of(
        backends: &Arc<Backends>,
        configuration: &BackendConfiguration,
        encryption: Encryption,
    ) -> Result<StateLocation, Diagnostics> {
        let storage = opened_storage(backends, configuration, &StateFlags::default())?;
        let (workspace, configuration) = (workspace::DEFAULT_WORKSPACE.to_owned(), configuration.clone());
        Ok(StateLocation { backends: Arc::clone(backends), storage, configuration, workspace, encryption })
    }

    /// The storage of its states.
    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The same backend, with another workspace selected.
    pub fn in_workspace(&self, workspace: &str) -> StateLocation {
        StateLocation { workspace: workspace.to_owned(), ..self.clone() }
    }

    /// The backend, with all workspaces.
    pub fn backend(&self) -> Box<dyn Backend> {
        self.backends.backend(&self.storage, self.encryption.state.clone())
    }

    /// Files of states; relative paths start in the working directory.
    pub(crate) fn files(&self) -> &dyn StateFiles {
        &*self.backends.environment.files
    }

    /// The backends that the location belongs to.
    pub fn backends(&self) -> &Arc<Backends> {
        &self.backends
    }

    /// Encrypted as the states of another location.
    #[must_use]
    pub fn encrypted_as(self, other: &StateLocation) -> StateLocation {
        StateLocation { encryption: other.encryption.clone(), ..self }
    }

    /// Saves a backup of the state before each change, named by the time, unless the user has set a path.
    #[must_use]
    pub fn with_backup_of_its_own(mut self, project: &Project) -> StateLocation {
        if let Storage::Files(settings) = &self.storage
            && settings.backup.as_ref().is_none_or(|path| path.as_os_str().is_empty() || path == Path::new("-"))
        {
            let backup_time = u64::try_from(project.world().now().seconds).ok();
            self.storage = Storage::Files(LocalSettings { backup: None, backup_time, ..settings.clone() });
        }
        self
    }

    /// Whether the state is a file of this machine. Its lock belongs to a process and ends with it.
    pub fn is_file(&self) -> bool {
        matches!(self.storage, Storage::Files(_))
    }

    /// Opens the state of the selected workspace, to look at it.
    pub fn look(&self) -> Result<OpenState, Diagnostics> {
        let mut opened = self.opened()?;
        opened.read()?;
        Ok(opened)
    }

    /// Opens and locks the state of the selected workspace to change it. `waiting` reports a lock that takes long.
    pub fn open(
        &self,
        operation: &str,
        flags: &StateFlags,
        waiting: &mut dyn LockWait,
    ) -> Result<OpenState, OpenFailure> {
        let about_version = self.check_version(flags.version).map_err(OpenFailure::Locked)?;
        let mut opened = self.opened().map_err(OpenFailure::Locked)?;
        opened.notes.extend(about_version);
        opened.lock(operation, flags, waiting).map_err(OpenFailure::Locked)?;
        if let Err(problems) = opened.read() {
            let mut others = Diagnostics::new();
            others.extend(opened.close());
            // Quirk: an encrypted state that cannot be read is one that cannot be locked.
            let is_encrypted =
                |problem: &Diagnostic| problem.extra.as_ref().is_some_and(|extra| extra.lacks_encryption);
            return Err(match flags.lock && problems.iter().any(is_encrypted) {
                true => {
                    let mut reported = Diagnostics::from(crate::diagnostics::not_backed_up(&problems));
                    reported.extend(others);
                    OpenFailure::Locked(reported)
                }
                false => OpenFailure::Unreadable(problems, others),
            });
        }
        Ok(opened)
    }

    /// Fails if the version of the selected workspace does not suit this version. The result is a warning that says so.
    pub(crate) fn check_version(&self, check: VersionCheck) -> Result<Option<Diagnostic>, Diagnostics> {
        if check == VersionCheck::Skipped {
            return Ok(None);
        }
        let Some(mismatch) = self.backend().version_mismatch(&self.workspace)? else { return Ok(None) };
        match check {
            VersionCheck::Warned => Ok(Some(diagnostics::remote_version_ignored(&mismatch))),
            _ => Err(diagnostics::remote_version_mismatch(&mismatch).into()),
        }
    }

    /// Fails if operations of the selected workspace run on a server.
    pub(crate) fn check_execution(&self) -> Result<(), Diagnostics> {
        match self.backend().execution(&self.workspace)? {
            Execution::Local => Ok(()),
            Execution::Remote { mode } => {
                let kind = self.configuration.kind();
                Err(diagnostics::remote_execution(&self.workspace, kind, &mode).into())
            }
        }
    }

    /// Fails where the arguments of the backend enable no locks.
    pub fn check_locks(&self) -> Result<(), Diagnostics> {
        match &self.storage {
            Storage::Store(store) if !store.has_locks() => Err(diagnostics::locking_disabled().into()),
            _ => Ok(()),
        }
    }

    /// Changes of the objects of an instance, oldest first.
    pub fn history(&self, addr: &AbsResourceInstance) -> Result<Vec<ObjectChange>, Refusal> {
        let mut store = self.backend().existing(&self.workspace)?;
        let versions = store.history(addr).ok_or_else(|| self.lacks("the history of objects"))??;
        if versions.is_empty() {
            return Err(diagnostics::no_history(addr).into());
        }
        Ok(crate::state::changes(&versions))
    }

    /// The state of the selected workspace as it was at a time.
    pub fn at(&self, time: UtcTime) -> Result<Option<State>, Refusal> {
        let mut store = self.backend().existing(&self.workspace)?;
        Ok(store.at(time).ok_or_else(|| self.lacks("earlier states"))??)
    }

    /// SQL that creates roles and grants what each of them needs.
    pub fn grants(&self, prefix: Option<&str>) -> Result<String, Refusal> {
        Ok(self.backend().grants(prefix).ok_or_else(|| self.lacks("rows of a database"))?)
    }

    /// All workspaces of all configurations in the same database.
    pub fn estate(&self) -> Result<Vec<EstateWorkspace>, Refusal> {
        Ok(self.backend().estate().ok_or_else(|| self.lacks("rows of a database"))??)
    }

    /// The refusal of a command that requires another backend.
    fn lacks(&self, what: &str) -> Diagnostic {
        diagnostics::rows_required(self.configuration.kind(), what)
    }

    /// Removes a stale lock from the state of the selected workspace.
    pub fn unlock(&self, id: &str) -> Result<(), Diagnostics> {
        self.store()?.force_unlock(id)
    }

    fn opened(&self) -> Result<OpenState, Diagnostics> {
        let (store, sealing) = (self.store()?, self.encryption.state.clone());
        let backends = Arc::clone(&self.backends);
        let (state, notes) = (None, Diagnostics::new());
        Ok(OpenState { store, backends, sealing, is_locked: false, patience: Duration::ZERO, state, notes })
    }

    fn store(&self) -> Result<Box<dyn StateStore>, Diagnostics> {
        self.backend().open(&self.workspace)
    }
}

/// Reason why a state could not be opened.
#[derive(Debug)]
pub enum OpenFailure {
    /// The state is unreachable or locked.
    Locked(Diagnostics),
    /// The state cannot be read; with the error of releasing the lock.
    Unreadable(Diagnostics, Diagnostics),
}

impl OpenFailure {
    /// As one list, where the error about an unreadable state has the title of the command.
    pub fn under(self, code: &'static Code) -> Diagnostics {
        match self {
            OpenFailure::Locked(problems) => problems,
            OpenFailure::Unreadable(problems, others) => {
                let mut all = Diagnostics::from(crate::diagnostics::under(code, &problems));
                all.extend(others);
                all
            }
        }
    }
}

/// The state of a workspace, open.
pub struct OpenState {
    store: Box<dyn StateStore>,
    backends: Arc<Backends>,
    sealing: Option<Sealing>,
    is_locked: bool,
    /// `-lock-timeout`
    patience: Duration,
    /// The state, or none if it does not exist yet.
    pub state: Option<State>,
    /// Warnings, without errors.
    pub notes: Diagnostics,
}

impl OpenState {
    fn lock(&mut self, operation: &str, flags: &StateFlags, waiting: &mut dyn LockWait) -> Result<(), Diagnostics> {
        if !flags.lock {
            return Ok(());
        }
        let _span = tracing::info_span!("lock state", operation).entered();
        let holder = LockHolder::ourselves(operation, &self.backends.environment.variables);
        let locked = acquire_part(self.store.as_mut(), &holder, flags.lock_timeout, waiting)?;
        self.patience = flags.lock_timeout;
        self.is_locked = true;
        self.notes.extend(locked.left_behind.as_ref().map(lock_left_behind));
        Ok(())
    }

    /// Locks what a plan reads and writes, where the store does not lock the state as a whole. `since` is the snapshot that the plan
    /// was made from, if it is not the one that was read here.
    pub(crate) fn reserve(
        &mut self,
        since: Option<u64>,
        part: &StatePart,
        waiting: &mut dyn LockWait,
    ) -> Result<Reservation, Diagnostics> {
        let _span = tracing::info_span!("lock objects").entered();
        reserve(self.store.as_mut(), since, part, self.patience, waiting)
    }

    /// Number of the snapshot that was read, for a store that locks parts of a state.
    pub(crate) fn snapshot(&self) -> Option<u64> {
        self.store.snapshot()
    }

    /// Reads the state.
    pub(crate) fn read(&mut self) -> Result<(), Diagnostics> {
        let _span = tracing::info_span!("read state").entered();
        let reading = self.store.read()?;
        self.state = reading.state;
        self.notes.extend(reading.diagnostics);
        if let Some(recovered) = &reading.recovered {
            self.notes.push(recovered_diagnostic(recovered, &self.store.whereabouts()));
        }
        Ok(())
    }

    /// The store, for the journal of an apply.
    pub fn store(&mut self) -> &mut dyn StateStore {
        self.store.as_mut()
    }

    /// Saves a new state.
    pub fn save(&mut self, state: &mut State) -> Result<Saved, Diagnostics> {
        tracing::info_span!("save state").in_scope(|| self.store.write(state))
    }

    /// Saves a new state, or puts it where it is not lost: `errored.tfstate` in the working directory, or, where that
    /// cannot be written either, text to be printed.
    pub fn save_or_rescue(&mut self, state: &mut State) -> Result<Saved, LastResort> {
        let written = self.save(state);
        written.map_err(|mut problems| {
            let mut resort = self.rescue(state);
            problems.extend(resort.diagnostics);
            resort.diagnostics = problems;
            resort
        })
    }

    /// Puts a state that could not be saved where it is not lost.
    pub fn rescue(&mut self, state: &State) -> LastResort {
        let way = self.store.way_back();
        save_errored(&*self.backends.environment.files, Path::new(""), state, self.sealing.as_ref(), &way)
    }

    /// Releases the lock of the state; returns the diagnostics of a failure.
    pub fn close(mut self) -> Diagnostics {
        match self.is_locked {
            true => tracing::info_span!("unlock state").in_scope(|| self.store.unlock()).err().unwrap_or_default(),
            false => Diagnostics::new(),
        }
    }
}
