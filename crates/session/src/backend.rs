//! Where the state is: from the configuration, the flags and the selected workspace to a store that is open, locked and
//! read; and how a new state is saved.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use yuba_backend::encryption::Sealing;
use yuba_backend::{
    Backend, Disk, LastResort, Local, LocalSettings, LockHolder, Saved, StateStore, lock_left_behind,
    recovered_diagnostic, save_errored, workspace,
};
use yuba_eval::static_eval::{StaticCache, Statics};
use yuba_provider::{Attribute, BlockSchema};
use yuba_state::State;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};
use yuba_value::Type;

use crate::diagnostics;
use crate::encryption::{self, Encryption};
use crate::initialized;
use crate::load::{Configuration, LoadRequest, has_configuration, load};

/// Backends that OpenTofu has.
const BACKENDS: [&str; 12] =
    ["azurerm", "consul", "cos", "gcs", "http", "inmem", "kubernetes", "local", "oss", "pg", "remote", "s3"];

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
    settings: LocalSettings,
    /// The workspace that is selected.
    pub workspace: String,
    /// How states and plans are encrypted.
    pub encryption: Encryption,
}

/// Finds out where the state is, for a command that needs nothing else of the configuration. A directory without
/// configuration has its state where it is by default.
pub fn find(request: &LoadRequest<'_>, flags: &StateFlags) -> Result<Place, Refusal> {
    if !has_configuration(Path::new(request.dir)) {
        check_initialized(request.data_dir, &LocalSettings::default(), None)?;
        let workspace = request.workspace.to_owned();
        let encryption = encryption::of_environment()?;
        return Ok(Place { settings: with_flags(LocalSettings::default(), flags), workspace, encryption });
    }
    let (configuration, problems) = load(request, None);
    let (about_root, configuration) = match configuration {
        Ok(configuration) => (configuration.tree.stages.root, configuration),
        Err(sources) => return Err(Refusal { problems, sources }),
    };
    // What is wrong with the modules that are called is of no interest here.
    let mut found = Diagnostics::new();
    found.extend(problems.into_iter().take(about_root));
    if found.has_errors() {
        return Err(Refusal { problems: found, sources: configuration.sources });
    }
    place_of(&configuration, request, flags).map_err(|problems| Refusal { problems, sources: configuration.sources })
}

/// Where the state of a configuration is.
pub fn place_of(
    configuration: &Configuration,
    request: &LoadRequest<'_>,
    flags: &StateFlags,
) -> Result<Place, Diagnostics> {
    let settings = settings_of(configuration, request)?;
    let root = &configuration.tree.root().module;
    check_initialized(request.data_dir, &settings, root.backend.as_ref().map(|backend| backend.kind.as_str()))?;
    let encryption = encryption::of(configuration, request)?;
    Ok(Place { settings: with_flags(settings, flags), workspace: request.workspace.to_owned(), encryption })
}

/// What the configuration says about the place of its state.
pub(crate) fn settings_of(
    configuration: &Configuration,
    request: &LoadRequest<'_>,
) -> Result<LocalSettings, Diagnostics> {
    let root = &configuration.tree.root().module;
    if let Some(cloud) = &root.cloud {
        return Err(diagnostics::cloud_not_available(cloud.span).into());
    }
    let Some(backend) = &root.backend else { return Ok(LocalSettings::default()) };
    if backend.kind != "local" {
        return Err(match BACKENDS.contains(&backend.kind.as_str()) {
            true => diagnostics::backend_not_available(&backend.kind, backend.kind_span).into(),
            false => diagnostics::unknown_backend(&backend.kind, &BACKENDS, backend.kind_span).into(),
        });
    }
    let optional = || Attribute::optional(Type::string());
    let schema = BlockSchema::new([("path", optional()), ("workspace_dir", optional())]);
    let cache = StaticCache::default();
    let statics = Statics::new(&configuration.tree, configuration.static_env(request), &cache);
    let (value, problems) = statics.backend(backend, &schema);
    if problems.has_errors() {
        return Err(problems);
    }
    let path = |name: &str| {
        let value = yuba_value::ops::get_attr(&value, name).ok()?;
        value.as_str().map(|path| PathBuf::from(path.as_str()))
    };
    let settings =
        LocalSettings { path: path("path"), workspace_directory: path("workspace_dir"), ..LocalSettings::default() };
    let problems = settings.check();
    if problems.has_errors() {
        let at = |problem: Diagnostic| problem.at(backend.span);
        let mut placed = Diagnostics::new();
        placed.extend(problems.into_iter().map(at));
        return Err(placed);
    }
    Ok(settings)
}

fn with_flags(settings: LocalSettings, flags: &StateFlags) -> LocalSettings {
    LocalSettings {
        state: flags.state.clone(),
        state_out: flags.state_out.clone(),
        backup: flags.backup.clone(),
        ..settings
    }
}

/// Refuses to go on where the state was kept elsewhere before: starting with an empty state would mean to forget all that
/// exists.
fn check_initialized(data_dir: &Path, settings: &LocalSettings, configured: Option<&str>) -> Result<(), Diagnostics> {
    match initialized::read(data_dir) {
        Some(before) if before.kind != "local" => {
            Err(diagnostics::backend_changed(&before.kind, configured, &initialized::file(data_dir)).into())
        }
        Some(before) if !before.is(settings) => Err(diagnostics::state_elsewhere(&before.place()).into()),
        _ => Ok(()),
    }
}

impl Place {
    /// The files of one state, wherever the configuration has its state.
    pub fn file(path: PathBuf, backup: Option<PathBuf>) -> Place {
        let settings = LocalSettings { state: Some(path), backup, ..LocalSettings::default() };
        let encryption = Encryption::default();
        Place { settings, workspace: workspace::DEFAULT_WORKSPACE.to_owned(), encryption }
    }

    /// The same backend, with another workspace selected.
    pub fn in_workspace(&self, workspace: &str) -> Place {
        Place { workspace: workspace.to_owned(), ..self.clone() }
    }

    /// The backend, with all workspaces.
    pub fn backend(&self) -> Box<dyn Backend> {
        Box::new(self.local())
    }

    fn local(&self) -> Local {
        Local::new(Arc::new(Disk), self.settings.clone()).encrypted(self.encryption.state.clone())
    }

    /// Encrypted as the states of another place.
    #[must_use]
    pub fn encrypted_as(self, other: &Place) -> Place {
        Place { encryption: other.encryption.clone(), ..self }
    }

    /// Keeps a copy of its own of the state before each change, named by the time, unless the user has said where to.
    #[must_use]
    pub fn with_backup_of_its_own(mut self) -> Place {
        let unsaid =
            self.settings.backup.as_ref().is_none_or(|path| path.as_os_str().is_empty() || path == Path::new("-"));
        if unsaid {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let mut path = self.local().paths(&self.workspace).write.into_os_string();
            path.push(format!(".{}.backup", now.as_secs()));
            self.settings.backup = Some(path.into());
        }
        self
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
            return Err(OpenFailure::Unreadable(problems, others));
        }
        Ok(opened)
    }

    /// Takes away the lock that somebody has left on the state of the selected workspace.
    pub fn unlock(&self, id: &str) -> Result<(), Diagnostics> {
        self.store()?.force_unlock(id)
    }

    fn opened(&self) -> Result<Opened, Diagnostics> {
        let (store, sealing) = (self.store()?, self.encryption.state.clone());
        Ok(Opened { store, sealing, is_locked: false, state: None, notes: self.encryption.notes.clone() })
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
    pub fn under(self, title: &str) -> Diagnostics {
        match self {
            OpenFailure::Locked(problems) => problems,
            OpenFailure::Unreadable(problems, others) => {
                let mut all = Diagnostics::from(Diagnostic::error(title, joined(&problems)));
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
            let mut resort = rescue(state, self.sealing.as_ref());
            problems.extend(resort.diagnostics);
            resort.diagnostics = problems;
            resort
        })
    }

    /// What the state is encrypted with.
    pub fn sealing(&self) -> Option<&Sealing> {
        self.sealing.as_ref()
    }

    /// Lets others at the state again; gives back what went wrong with that.
    pub fn close(mut self) -> Diagnostics {
        match self.is_locked {
            true => self.store.unlock().err().unwrap_or_default(),
            false => Diagnostics::new(),
        }
    }
}

/// Puts a state that could not be saved where it is not lost.
pub fn rescue(state: &State, sealing: Option<&Sealing>) -> LastResort {
    save_errored(&Disk, Path::new(""), state, sealing)
}

/// All problems as one text, as the detail of another one.
pub fn joined(problems: &Diagnostics) -> String {
    let one = |problem: &Diagnostic| match problem.detail.is_empty() {
        true => problem.summary.to_string(),
        false => format!("{}: {}", problem.summary, problem.detail),
    };
    let mut errors = problems.iter().filter(|problem| problem.is_error());
    match errors.clone().count() {
        0 | 1 => errors.next().map(one).unwrap_or_default(),
        count => {
            let lines: String = errors.map(|problem| format!("\n- {}", one(problem))).collect();
            format!("{count} problems:\n{lines}")
        }
    }
}
