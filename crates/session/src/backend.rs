//! Where the state is: from the configuration, the flags and the selected workspace to a store that is open, locked and
//! read; and how a new state is saved.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use yuba_backend::encryption::Sealing;
use yuba_backend::{
    Backend, Disk, InMemory, LastResort, Local, LocalSettings, LockHolder, Saved, StateStore, lock_left_behind,
    recovered_diagnostic, save_errored, workspace,
};
use yuba_eval::static_eval::is_unavailable;
use yuba_eval::tree::{Purpose, unavailable_sources};
use yuba_state::State;
use yuba_syntax::{Code, Diagnostic, Diagnostics, Sources};

use crate::diagnostics;
use crate::encryption::{self, Encryption};
use crate::initialized;
use crate::load::{Configuration, LoadRequest, has_configuration, load};

pub(crate) use overrides::overridden;
pub(crate) use settings::{BackendSettings, configured, is_out_of_reach};

mod overrides;
mod settings;

/// What the command line says about the state.
#[derive(Clone, Debug)]
pub struct StateFlags {
    /// `-state`: read this file.
    pub state: Option<PathBuf>,
    /// `-state-out`: write this file.
    pub state_out: Option<PathBuf>,
    /// `-backup`: keep the previous content here; `-` keeps none.
    pub backup: Option<PathBuf>,
    /// `-lock`: whether others are kept out.
    pub lock: bool,
    /// `-lock-timeout`: how long to wait for others.
    pub lock_timeout: Duration,
}

impl Default for StateFlags {
    fn default() -> StateFlags {
        StateFlags { state: None, state_out: None, backup: None, lock: true, lock_timeout: Duration::ZERO }
    }
}

/// Why something could not be done, with the files that the messages point into.
#[derive(Debug, Default)]
pub struct Refusal {
    /// Why.
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

/// Where the states of a configuration are.
#[derive(Clone, Debug)]
pub struct Place {
    keeper: Keeper,
    /// The workspace that is selected.
    pub workspace: String,
    /// How states and plans are encrypted.
    pub encryption: Encryption,
}

/// Who keeps the states. It is the same one in all copies of a place.
#[derive(Clone, Debug)]
enum Keeper {
    Local(LocalSettings),
    InMemory(InMemory),
}

impl Keeper {
    fn new(settings: BackendSettings, flags: &StateFlags) -> Keeper {
        match settings {
            BackendSettings::Local(settings) => Keeper::Local(LocalSettings {
                state: flags.state.clone(),
                state_out: flags.state_out.clone(),
                backup: flags.backup.clone(),
                ..settings
            }),
            BackendSettings::InMemory { lock_id } => Keeper::InMemory(InMemory::new(lock_id.as_deref())),
        }
    }
}

/// Finds out where the state is, for a command that needs nothing else of the configuration. A directory without
/// configuration has its state where it is by default.
pub fn find(request: &LoadRequest<'_>, flags: &StateFlags) -> Result<Place, Refusal> {
    if !has_configuration(Path::new(request.dir)) {
        let keeper = Keeper::new(in_use(request.data_dir, None)?, flags);
        let workspace = request.workspace.to_owned();
        let encryption = encryption::of_environment()?;
        return Ok(Place { keeper, workspace, encryption });
    }
    let configuration = root_of(request)?;
    place_of(&configuration, request, flags).map_err(|problems| Refusal { problems, sources: configuration.sources })
}

/// Warnings about what an interrupted run has left beside the state, for a command that does not read the state. Without a
/// journal this reads no more than the record of `init`.
pub fn about_journal(request: &LoadRequest<'_>) -> Diagnostics {
    let settings =
        initialized::read(request.data_dir).map_or_else(|| Some(Default::default()), |before| before.settings);
    let Some(BackendSettings::Local(settings)) = settings else { return Diagnostics::new() };
    if !Local::new(Arc::new(Disk), settings).has_journal(request.workspace) {
        return Diagnostics::new();
    }
    // What is wrong with the configuration is said by those who need it.
    let place = find(&LoadRequest { purpose: Purpose::Look, ..*request }, &StateFlags::default()).ok();
    place.and_then(|place| place.look().ok()).map(|opened| opened.notes).unwrap_or_default()
}

/// How states are encrypted, wherever they are kept: by the configuration, if it can be read.
pub fn sealing(request: &LoadRequest<'_>) -> Option<Sealing> {
    let encryption = match has_configuration(Path::new(request.dir)) {
        true => encryption::of(&root_of(request).ok()?, request),
        false => encryption::of_environment(),
    };
    encryption.ok()?.state
}

/// The configuration, where the root module is in order.
fn root_of(request: &LoadRequest<'_>) -> Result<Configuration, Refusal> {
    let (configuration, problems) = load(request, None);
    let (about_root, configuration) = match configuration {
        Ok(configuration) => (configuration.tree.stages.root, configuration),
        Err(sources) => return Err(Refusal { problems, sources }),
    };
    // What is wrong with the modules that are called is of no interest here.
    let mut found = Diagnostics::new();
    found.extend(problems.into_iter().take(about_root));
    match found.has_errors() {
        true => Err(Refusal { problems: found, sources: configuration.sources }),
        false => Ok(configuration),
    }
}

/// Where the state of a configuration is.
pub fn place_of(
    configuration: &Configuration,
    request: &LoadRequest<'_>,
    flags: &StateFlags,
) -> Result<Place, Diagnostics> {
    let configured = configured(configuration, request).map_err(|mut problems| {
        // A command that only reads states has not loaded module sources. Load them, so that the error names the missing values
        // of the backend and of the modules together.
        if request.purpose == Purpose::Look && problems.iter().any(is_unavailable) {
            let others = unavailable_sources(&configuration.tree, configuration.static_env(request));
            extend_with_new(&mut problems, others);
        }
        problems
    })?;
    let settings = in_use(request.data_dir, configured)?;
    let encryption = encryption::of(configuration, request)?;
    let keeper = Keeper::new(settings, flags);
    Ok(Place { keeper, workspace: request.workspace.to_owned(), encryption })
}

/// What is wrong with a configuration that cannot be loaded, for a command that needs its state too. Where values for modules
/// are not available, with the values for the `backend` block that are not available either.
pub(crate) fn not_loaded(
    configuration: Configuration,
    request: &LoadRequest<'_>,
    mut problems: Diagnostics,
) -> Refusal {
    if problems.iter().any(is_unavailable) && !is_out_of_reach(&configuration) {
        extend_with_new(&mut problems, configured(&configuration, request).err().unwrap_or_default());
    }
    Refusal { problems, sources: configuration.sources }
}

/// Adds what is not known yet. A variable without value is reported once, whatever needs it.
fn extend_with_new(problems: &mut Diagnostics, others: Diagnostics) {
    for other in others {
        if problems.iter().all(|known| known.summary != other.summary || known.subject != other.subject) {
            problems.push(other);
        }
    }
}

/// Where the state was when `init` was run last, whatever is configured now. None where this version cannot look.
pub(crate) fn last_place(configuration: &Configuration, request: &LoadRequest<'_>) -> Option<Place> {
    let settings = match initialized::read(request.data_dir) {
        None => BackendSettings::default(),
        Some(before) => before.settings?,
    };
    let encryption = encryption::of(configuration, request).ok()?;
    Some(Place::of(settings, encryption).in_workspace(request.workspace))
}

/// The backend that `init` was run with. Refuses to go on where that was another one or none: starting with an empty state
/// would mean to forget all that exists.
fn in_use(data_dir: &Path, configured: Option<BackendSettings>) -> Result<BackendSettings, Diagnostics> {
    let kind = configured.as_ref().map(BackendSettings::kind);
    let Some(before) = initialized::read(data_dir) else {
        return match kind {
            None => Ok(BackendSettings::default()),
            Some(kind) => Err(diagnostics::backend_not_initialized(kind).into()),
        };
    };
    let is_for = configured.is_some_and(|configured| before.is_for(&configured));
    match before.settings {
        None => Err(diagnostics::backend_changed(&before.kind, kind, &initialized::file(data_dir)).into()),
        Some(settings) if is_for => Ok(settings),
        Some(settings) => Err(diagnostics::state_elsewhere(&settings.place(), kind).into()),
    }
}

impl Place {
    /// The files of one state, wherever the configuration has its state.
    pub fn file(path: PathBuf, backup: Option<PathBuf>) -> Place {
        let settings = LocalSettings { state: Some(path), backup, ..LocalSettings::default() };
        let encryption = Encryption::default();
        Place { keeper: Keeper::Local(settings), workspace: workspace::DEFAULT_WORKSPACE.to_owned(), encryption }
    }

    /// The states of a backend, whatever is configured.
    pub(crate) fn of(settings: BackendSettings, encryption: Encryption) -> Place {
        let keeper = Keeper::new(settings, &StateFlags::default());
        Place { keeper, workspace: workspace::DEFAULT_WORKSPACE.to_owned(), encryption }
    }

    /// The same backend, with another workspace selected.
    pub fn in_workspace(&self, workspace: &str) -> Place {
        Place { workspace: workspace.to_owned(), ..self.clone() }
    }

    /// The backend, with all workspaces.
    pub fn backend(&self) -> Box<dyn Backend> {
        match &self.keeper {
            Keeper::Local(settings) => Box::new(self.local(settings)),
            Keeper::InMemory(backend) => Box::new(backend.clone()),
        }
    }

    fn local(&self, settings: &LocalSettings) -> Local {
        Local::new(Arc::new(Disk), settings.clone()).encrypted(self.encryption.state.clone())
    }

    /// Encrypted as the states of another place.
    #[must_use]
    pub fn encrypted_as(self, other: &Place) -> Place {
        Place { encryption: other.encryption.clone(), ..self }
    }

    /// Keeps a copy of its own of the state before each change, named by the time, unless the user has said where to.
    #[must_use]
    pub fn with_backup_of_its_own(mut self) -> Place {
        if let Keeper::Local(settings) = &self.keeper
            && settings.backup.as_ref().is_none_or(|path| path.as_os_str().is_empty() || path == Path::new("-"))
        {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let backup_time = Some(now.as_secs());
            self.keeper = Keeper::Local(LocalSettings { backup: None, backup_time, ..settings.clone() });
        }
        self
    }

    /// Whether a lock belongs to a process of this machine and ends with it.
    pub fn locks_end_with_processes(&self) -> bool {
        matches!(self.keeper, Keeper::Local(_))
    }

    /// Opens the state of the selected workspace, to look at it.
    pub fn look(&self) -> Result<Opened, Diagnostics> {
        let mut opened = self.opened()?;
        opened.read()?;
        Ok(opened)
    }

    /// Opens the state of the selected workspace to change it: nobody else may until it is closed. `waiting` is called
    /// when somebody else has it and we wait for them.
    pub fn open(&self, operation: &str, flags: &StateFlags, waiting: &mut dyn FnMut()) -> Result<Opened, OpenFailure> {
        let mut opened = self.opened().map_err(OpenFailure::Locked)?;
        opened.lock(operation, flags, waiting).map_err(OpenFailure::Locked)?;
        if let Err(problems) = opened.read() {
            let mut others = Diagnostics::new();
            others.extend(opened.close());
            // Quirk: an encrypted state that cannot be read is one that cannot be locked.
            let is_encrypted =
                |problem: &Diagnostic| problem.extra.as_ref().is_some_and(|extra| extra.lacks_encryption);
            return Err(match flags.lock && problems.iter().any(is_encrypted) {
                true => {
                    let mut told = Diagnostics::from(crate::diagnostics::not_backed_up(&problems));
                    told.extend(others);
                    OpenFailure::Locked(told)
                }
                false => OpenFailure::Unreadable(problems, others),
            });
        }
        Ok(opened)
    }

    /// Takes away the lock that somebody has left on the state of the selected workspace.
    pub fn unlock(&self, id: &str) -> Result<(), Diagnostics> {
        self.store()?.force_unlock(id)
    }

    fn opened(&self) -> Result<Opened, Diagnostics> {
        let (store, sealing) = (self.store()?, self.encryption.state.clone());
        Ok(Opened { store, sealing, is_locked: false, state: None, notes: Diagnostics::new() })
    }

    fn store(&self) -> Result<Box<dyn StateStore>, Diagnostics> {
        self.backend().open(&self.workspace)
    }
}

/// Why a state could not be opened.
#[derive(Debug)]
pub enum OpenFailure {
    /// It could not be reached, or somebody else has it.
    Locked(Diagnostics),
    /// It could not be read; and what else went wrong.
    Unreadable(Diagnostics, Diagnostics),
}

impl OpenFailure {
    /// As one list, where a state that cannot be read is said under a title of the command.
    pub fn under(self, code: &'static Code) -> Diagnostics {
        match self {
            OpenFailure::Locked(problems) => problems,
            OpenFailure::Unreadable(problems, others) => {
                let mut all = Diagnostics::from(diagnostics::under(code, &problems));
                all.extend(others);
                all
            }
        }
    }
}

/// The state of a workspace, open.
pub struct Opened {
    store: Box<dyn StateStore>,
    sealing: Option<Sealing>,
    is_locked: bool,
    /// What was read; none where there is no state yet.
    pub state: Option<State>,
    /// What there is to say besides: no errors.
    pub notes: Diagnostics,
}

impl Opened {
    fn lock(&mut self, operation: &str, flags: &StateFlags, waiting: &mut dyn FnMut()) -> Result<(), Diagnostics> {
        if !flags.lock {
            return Ok(());
        }
        let holder = LockHolder::ourselves(operation);
        let mut wait = |delay| {
            waiting();
            std::thread::sleep(delay);
            true
        };
        let locked = yuba_backend::lock(self.store.as_mut(), &holder, flags.lock_timeout, &mut wait)?;
        self.is_locked = true;
        self.notes.extend(locked.left_behind.as_ref().map(lock_left_behind));
        Ok(())
    }

    fn read(&mut self) -> Result<(), Diagnostics> {
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
        self.store.write(state)
    }

    /// Saves a new state, or puts it where it is not lost: `errored.tfstate` in the working directory, or, where that
    /// cannot be written either, text to be printed.
    pub fn save_or_rescue(&mut self, state: &mut State) -> Result<Saved, LastResort> {
        let written = self.store.write(state);
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
        save_errored(&Disk, Path::new(""), state, self.sealing.as_ref(), &way)
    }

    /// Lets others at the state again; gives back what went wrong with that.
    pub fn close(mut self) -> Diagnostics {
        match self.is_locked {
            true => self.store.unlock().err().unwrap_or_default(),
            false => Diagnostics::new(),
        }
    }
}
