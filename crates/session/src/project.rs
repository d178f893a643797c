//! A working directory with everything that commands need to work on it.
//!
//! A [`Project`] is made once from typed settings. It owns the directories, the environment, the clock and the files that
//! expressions read, the CLI configuration, the providers, the selected workspace and the values given for variables. The
//! phases of an operation start from it: [`Project::load`], [`Loaded::lock`], [`Locked::plan`], [`Planned::apply`].
//!
//! Invariant: no function of this crate asks the process for its directory, environment or terminal. Several projects can
//! be used in one process.
//!
//! [`Loaded::lock`]: crate::loaded::Loaded::lock
//! [`Locked::plan`]: crate::locked::Locked::plan
//! [`Planned::apply`]: crate::planned::Planned::apply

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ecow::EcoString;
use yuba_analysis::ModuleReader;
use yuba_backend::{Backends, DiskAt};
use yuba_eval::inputs::ENVIRONMENT_PREFIX;
use yuba_eval::{EvalEnv, World};
use yuba_install::Hosts;
use yuba_install::providers::selected::PackageDir;
use yuba_net::Environment;
use yuba_syntax::Sources;
use yuba_syntax::files::Files;

use crate::files::DiskFiles;
use crate::load::{Snapshot, VariableFlag, selected_workspace};
use crate::providers::{InstalledProviders, ProviderSettings};
use crate::workspaces::Selected;
use crate::world::SystemWorld;

/// The environment variable that selects a workspace.
const WORKSPACE: &str = "TF_WORKSPACE";

/// Settings that a [`Project`] is made from.
pub struct ProjectSettings {
    /// The working directory, absolute.
    pub root: PathBuf,
    /// The directory of the root module as messages show it, relative to the working directory: `.` usually.
    pub dir: String,
    /// The data directory as messages show it: `.terraform` usually.
    pub data_dir: PathBuf,
    /// The directory the process was started in, if `-chdir` selects another.
    pub original_dir: Option<String>,
    /// The home directory of the user.
    pub home: Option<PathBuf>,
    /// Environment variables.
    pub environment: Environment,
    /// The CLI configuration and the services of hosts.
    pub hosts: Arc<Hosts>,
    /// Settings for finding and starting providers.
    pub providers: ProviderSettings,
    /// `-var` and `-var-file`, in the order given.
    pub variables: Vec<VariableFlag>,
    /// The directory of test files, besides the root module; none if test files are ignored.
    pub test_dir: Option<String>,
}

impl ProjectSettings {
    /// A working directory without environment and flags, with the built-in provider only.
    pub fn bare(root: impl Into<PathBuf>) -> ProjectSettings {
        ProjectSettings {
            root: root.into(),
            dir: ".".to_owned(),
            data_dir: PathBuf::from(".terraform"),
            original_dir: None,
            home: None,
            environment: Environment::default(),
            hosts: Arc::new(Hosts::default()),
            providers: ProviderSettings { only_built_in: true, ..ProviderSettings::new("") },
            variables: Vec::new(),
            test_dir: None,
        }
    }
}

/// A working directory with everything that commands need to work on it. Copies share everything.
#[derive(Clone)]
pub struct Project {
    root: Arc<Path>,
    dir: EcoString,
    data_dir: Arc<Path>,
    original_dir: Option<EcoString>,
    home: Option<Arc<Path>>,
    environment: Arc<Environment>,
    world: Arc<dyn World>,
    files: Arc<dyn Files>,
    backends: Arc<Backends>,
    hosts: Arc<Hosts>,
    providers: Arc<InstalledProviders>,
    workspace: Selected,
    variables: Arc<[VariableFlag]>,
    test_dir: Option<EcoString>,
}

impl Project {
    /// A project; reads which workspace is selected, and nothing else.
    pub fn new(mut settings: ProjectSettings) -> Project {
        let state_files: Arc<dyn yuba_backend::StateFiles> = Arc::new(DiskAt::new(&settings.root));
        let backends = (*settings.providers.backends).clone().with_files(state_files);
        settings.providers.backends = Arc::new(backends);
        let files: Arc<dyn Files> = Arc::new(DiskFiles::new(settings.root.clone()));
        settings.providers.files = Arc::clone(&files);
        settings.providers.packages = PackageDir::of_project(&settings.root, &settings.data_dir);
        let workspace = match settings.environment.get(WORKSPACE) {
            Some(name) => Selected { name: name.to_owned(), is_overridden: true },
            None => {
                Selected { name: selected_workspace(&settings.root.join(&settings.data_dir)), is_overridden: false }
            }
        };
        let world = SystemWorld::new(settings.root.clone(), settings.home.clone(), &settings.environment);
        Project {
            files,
            backends: Arc::clone(&settings.providers.backends),
            root: settings.root.into(),
            dir: settings.dir.into(),
            data_dir: settings.data_dir.into(),
            original_dir: settings.original_dir.map(EcoString::from),
            home: settings.home.map(Arc::from),
            environment: Arc::new(settings.environment),
            world: Arc::new(world),
            hosts: settings.hosts,
            providers: Arc::new(InstalledProviders::new(settings.providers)),
            workspace,
            variables: settings.variables.into(),
            test_dir: settings.test_dir.map(EcoString::from),
        }
    }

    /// The same project with other files, another clock and other randomness for expressions.
    #[must_use]
    pub fn with_world(self, world: Arc<dyn World>) -> Project {
        Project { world, ..self }
    }

    /// The same project with other files of the configuration, such as unsaved buffers of an editor.
    #[must_use]
    pub fn with_files(self, files: Arc<dyn Files>) -> Project {
        Project { files, ..self }
    }

    /// The backends that configurations can name.
    pub fn backends(&self) -> &Arc<Backends> {
        &self.backends
    }

    /// The files of the configuration.
    pub fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// The same, for an owner that outlives the project.
    pub(crate) fn shared_files(&self) -> Arc<dyn Files> {
        Arc::clone(&self.files)
    }

    /// A reader of modules that has read nothing yet: of the files of the project or, for a saved plan, of those in the plan.
    pub(crate) fn reader(&self, tests: Option<&str>, snapshot: Option<&Snapshot>) -> ModuleReader {
        let files = match snapshot {
            None => Arc::clone(&self.files),
            Some(snapshot) => Arc::new(snapshot.files.clone()),
        };
        ModuleReader::new(files).with_tests(self.dir(), tests)
    }

    /// A reader of modules with files that were read before.
    pub(crate) fn reader_with(&self, sources: Sources) -> ModuleReader {
        ModuleReader::with_sources(Arc::clone(&self.files), sources)
    }

    /// The same project with another workspace selected.
    #[must_use]
    pub fn in_workspace(&self, name: &str) -> Project {
        let workspace = match self.workspace.name == name {
            true => self.workspace.clone(),
            false => Selected { name: name.to_owned(), is_overridden: self.workspace.is_overridden },
        };
        Project { workspace, ..self.clone() }
    }

    /// The path on this machine for a path in messages: relative ones start in the working directory.
    pub fn path(&self, shown: impl AsRef<Path>) -> PathBuf {
        self.root.join(shown)
    }

    /// The working directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of the root module, as messages show it.
    pub fn dir(&self) -> &str {
        &self.dir
    }

    /// The data directory, as messages show it.
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The directory the process was started in, if it is not the working directory.
    pub fn original_dir(&self) -> Option<&str> {
        self.original_dir.as_deref()
    }

    /// The home directory of the user.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Environment variables.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Files, time and randomness, as expressions see them.
    pub fn world(&self) -> &dyn World {
        &*self.world
    }

    /// The files of states: relative paths start in the working directory.
    pub fn state_files(&self) -> &Arc<dyn yuba_backend::StateFiles> {
        &self.backends.environment.files
    }

    /// The CLI configuration and the services of hosts.
    pub fn hosts(&self) -> &Arc<Hosts> {
        &self.hosts
    }

    /// The providers of the working directory.
    pub fn providers(&self) -> &InstalledProviders {
        &self.providers
    }

    /// The name of the selected workspace.
    pub fn workspace(&self) -> &str {
        &self.workspace.name
    }

    /// The selected workspace, and whether the environment selects it.
    pub fn selected(&self) -> &Selected {
        &self.workspace
    }

    /// `-var` and `-var-file`, in the order given.
    pub fn variables(&self) -> &[VariableFlag] {
        &self.variables
    }

    /// The directory of test files besides the root module; none if test files are ignored.
    pub fn test_dir(&self) -> Option<&str> {
        self.test_dir.as_deref()
    }

    /// Environment variables that set variables of the root module, with their full names.
    pub(crate) fn variables_of_environment(&self) -> impl Iterator<Item = (String, &str)> {
        let given = self.environment.given_with_prefix(ENVIRONMENT_PREFIX);
        given.map(|(name, value)| (format!("{ENVIRONMENT_PREFIX}{name}"), value))
    }

    /// Whether the directory of the root module has any configuration files.
    pub fn has_configuration(&self) -> bool {
        yuba_analysis::has_configuration(self.files(), &self.dir)
    }

    /// The environment of an evaluation, besides a configuration.
    pub(crate) fn eval_env<'a>(&'a self, sources: &'a Sources) -> EvalEnv<'a> {
        EvalEnv {
            world: self.world(),
            workspace: self.workspace(),
            original_dir: self.original_dir(),
            providers: &*self.providers,
            sources: Some(sources),
        }
    }
}
