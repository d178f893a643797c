//! Installing what a configuration needs: `get` and `init`.
//!
//! Local modules and the built-in provider need no download; they are only recorded. Other modules are downloaded while
//! the configuration is linked, because only then it is known which ones are required.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ecow::{EcoString, eco_format};
use yuba_addrs::{ProviderConstraints, ProviderSource, VersionError};
use yuba_eval::ConfigTree;
use yuba_eval::inputs::Ask;
use yuba_eval::tree::{LinkDiagnostics, Manifest, Purpose, Requirement};
use yuba_install::providers::installing;
use yuba_syntax::{Diagnostic, Diagnostics, Severity, Sources};

use crate::backend::setup::{SetUp, Setup};
use crate::backend::{Refusal, StateFlags, configured, diagnostics as backend_diagnostics};
use crate::diagnostics;
use crate::encryption;
use crate::initialized;
use crate::loaded::{LoadOptions, Loaded};
use crate::manifest::write_manifest;
use crate::migration::CopyApproval;
use crate::module_install::{Installer, Missing, copy_root};
use crate::project::Project;
use crate::prompt::Prompt;
use crate::provider_install::{self, ProviderFlags, StateSource};

/// Progress of the installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitEvent {
    /// The backend is looked at.
    Backend,
    /// The server of the `cloud` block is looked at.
    CloudBackend,
    /// The `cloud` block is another than before.
    CloudChanged,
    /// The configuration has a `cloud` block now: the type of the backend before.
    CloudEntered(EcoString),
    /// The configuration no longer has a `cloud` block: the type of the backend now, if it has one.
    CloudLeft(Option<EcoString>),
    /// Several workspaces were copied to the server of the `cloud` block: all workspaces, and the selected one.
    WorkspacesMigrated(Vec<String>, String),
    /// Modules are looked for.
    Modules {
        /// Also those that are installed already.
        upgrade: bool,
    },
    /// A module is copied, to become the root module.
    Copying(EcoString),
    /// A package of a module is downloaded.
    Downloading {
        /// The address of the module.
        path: EcoString,
        /// The address of the package.
        package: EcoString,
        /// Its version, if it comes from a registry.
        version: Option<EcoString>,
    },
    /// A module was installed.
    Module {
        /// Its address.
        path: EcoString,
        /// Its directory.
        dir: EcoString,
    },
    /// The arguments of the backend have changed.
    BackendChanged,
    /// The type of the backend is another than before: the types before and now.
    BackendTypeChanged(EcoString, EcoString),
    /// The configuration no longer has a backend. The value is the previous type.
    Unconfiguring(EcoString),
    /// The state is stored locally again: the type before.
    BackendUnset(EcoString),
    /// A response to a prompt is invalid. The value is the reason.
    InvalidAnswer(EcoString),
    /// A state is about to be locked and copied. An interrupt that ends the process would leave its locks.
    Migrating,
    /// The lock of a state takes long.
    Locking,
    /// The backend can be used: its type.
    BackendReady(EcoString),
    /// Providers are looked for.
    Providers,
    /// A provider is built in.
    BuiltIn(EcoString),
    /// Something happens to a provider.
    Provider(installing::InstallEvent),
    /// The lock file is new.
    LockFileCreated,
    /// The lock file says something new.
    LockFileChanged,
}

/// Options of `init`.
pub struct InitRequest<'a> {
    /// The working directory.
    pub project: &'a Project,
    /// Prompts for values.
    pub ask: Option<Ask>,
    /// Set up the backend.
    pub backend: bool,
    /// Overrides of the arguments in the backend block: `name=value`, or files with arguments.
    pub backend_config: &'a [String],
    /// Use another backend than before without its state.
    pub reconfigure: bool,
    /// Migrate the state to another backend.
    pub migrate: bool,
    /// Whether states are copied without a prompt.
    pub copying: CopyApproval,
    /// Prompts for arguments of the backend and decisions about states; none if prompts are disabled.
    pub prompt: Option<Box<Prompt>>,
    /// Settings for locking states.
    pub flags: StateFlags,
    /// Whether the user asks to stop. Called while a migration waits and between its steps.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Install modules.
    pub modules: bool,
    /// A module that becomes the root module of a directory that is empty.
    pub from_module: Option<&'a str>,
    /// Look for newer modules and providers.
    pub versions: Versions,
    /// Options of provider installation.
    pub providers: ProviderFlags,
}

/// Result.
pub enum InitOutcome {
    /// There are no configuration files.
    Empty,
    /// The configuration is not good enough to know what to install.
    Invalid(Report),
    /// It was tried; whether it worked depends on the errors.
    Done(Report),
}

/// Diagnostics.
pub struct Report {
    /// Everything, once.
    pub problems: Diagnostics,
    /// Diagnostics that JSON output repeats. Quirk: OpenTofu reads a configuration up to three times and reports
    /// warnings every time.
    pub repeated: Diagnostics,
    /// All files that were read.
    pub sources: Sources,
}

/// The versions that an installation selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    /// Installed versions, if they are allowed.
    Installed,
    /// The newest allowed versions.
    Newest,
}

impl Report {
    pub(crate) fn new(problems: Diagnostics, sources: Sources) -> Report {
        Report { problems, repeated: Diagnostics::new(), sources }
    }
}

/// Installs modules only. Errors in the combination of modules and providers are only warnings here.
pub fn get(project: &Project, ask: Option<Ask>, versions: Versions, emit: &mut dyn FnMut(InitEvent)) -> Report {
    let mut installer = Installer::new(project, versions, emit);
    let options = LoadOptions::new(Purpose::Install).asking(ask);
    let (configuration, found) = match project.load_or_install(options, Missing::Brought(&mut installer)) {
        Ok(loaded) => loaded,
        Err(Refusal { problems, sources }) => return Report::new(problems, sources),
    };
    let LinkDiagnostics { root: mut kept, modules, rules } = found;
    kept.extend(modules);
    let failed = kept.has_errors();
    kept.extend(rules.into_iter().map(|problem| match failed {
        true => problem,
        false => problem.with_severity(Severity::Warning),
    }));
    match kept.has_errors() {
        true => record_rest(&configuration, versions),
        false => kept.extend(write_manifest(project, &records(&configuration, versions)).err()),
    }
    Report::new(kept, configuration.sources)
}

/// Prepares a working directory.
pub fn init(mut request: InitRequest<'_>, emit: &mut dyn FnMut(InitEvent)) -> InitOutcome {
    let project = request.project;
    if let Some(source) = request.from_module
        && let Err(problem) = start_from_module(project, source, emit)
    {
        return InitOutcome::Done(Report::new(problem.into(), Sources::new()));
    }
    if !project.has_configuration() {
        return InitOutcome::Empty;
    }
    let (first_ask, second_ask) = twice(request.ask.take());
    let mut initialization = match Initialization::begin(&request, first_ask, second_ask, emit) {
        Ok(initialization) => initialization,
        Err(outcome) => return outcome,
    };
    let (about_backend, selected) = match request.backend {
        true => match set_up_backend(&request, &mut initialization.configuration, emit) {
            Ok(SetUp { notes, selected }) => (notes, selected),
            Err(problems) => (problems, None),
        },
        false => (unknown_last_backend(project), None),
    };
    if let Err(outcome) = initialization.install_modules(&request, &about_backend, emit) {
        return outcome;
    }
    initialization.complete(&request, about_backend, selected.as_deref(), emit)
}

/// A configuration while its directory is initialized.
struct Initialization {
    configuration: Loaded,
    found: LinkDiagnostics,
    purpose: Purpose,
    /// Prompts for the configuration when it is loaded again.
    ask: Option<Ask>,
    modules: ModulesFound,
    /// Whether modules are recorded.
    records_modules: bool,
}

/// Modules of a configuration that is loaded before its backend is set up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ModulesFound {
    /// All of them are installed.
    Installed,
    /// Some of them are not installed yet.
    Missing,
    /// The missing ones were installed, because the arguments of the backend can refer to symbol libraries among them.
    InstalledNow,
}

impl Initialization {
    /// Loads the configuration, and finds out whether modules must be installed: that follows after the backend.
    fn begin(
        request: &InitRequest<'_>,
        first_ask: Option<Ask>,
        mut ask: Option<Ask>,
        emit: &mut dyn FnMut(InitEvent),
    ) -> Result<Initialization, InitOutcome> {
        let (mut any, mut of_root) = (false, false);
        let (missing, purpose) = match request.modules {
            true => (
                Missing::Noted { any: &mut any, of_root: &mut of_root, upgrade: request.versions == Versions::Newest },
                Purpose::Install,
            ),
            false => (Missing::Told, Purpose::Use),
        };
        let loaded = request.project.load_or_install(LoadOptions::new(purpose).asking(first_ask), missing);
        let (mut configuration, mut found) =
            loaded.map_err(|Refusal { problems, sources }| InitOutcome::Invalid(Report::new(problems, sources)))?;
        let mut modules = if any { ModulesFound::Missing } else { ModulesFound::Installed };
        // Except for symbol libraries of the root module: the arguments of the backend can refer to them.
        if of_root {
            emit(InitEvent::Modules { upgrade: request.versions == Versions::Newest });
            let options = LoadOptions::new(purpose).asking(ask.take());
            (configuration, found) = load_and_bring(request, options, emit).map_err(InitOutcome::Invalid)?;
            if found.has_errors() {
                record_rest(&configuration, request.versions);
                return Err(InitOutcome::Done(Report::new(found.into_all(), configuration.sources)));
            }
            modules = ModulesFound::InstalledNow;
        }
        match found.root.has_errors() {
            true => Err(InitOutcome::Invalid(Report::new(found.into_all(), configuration.sources))),
            false => {
                let records_modules = request.modules && needs_modules(&configuration.tree);
                Ok(Initialization { configuration, found, purpose, ask, modules, records_modules })
            }
        }
    }

    /// Installs the missing modules, unless the backend could not be set up.
    fn install_modules(
        &mut self,
        request: &InitRequest<'_>,
        about_backend: &Diagnostics,
        emit: &mut dyn FnMut(InitEvent),
    ) -> Result<(), InitOutcome> {
        let is_open = self.records_modules && self.modules != ModulesFound::InstalledNow;
        if is_open {
            emit(InitEvent::Modules { upgrade: request.versions == Versions::Newest });
        }
        if about_backend.has_errors() {
            return Ok(());
        }
        if self.modules == ModulesFound::Missing {
            let options = LoadOptions::new(self.purpose).asking(self.ask.take());
            let loaded = load_and_bring(request, options, emit).map_err(InitOutcome::Invalid)?;
            (self.configuration, self.found) = loaded;
        } else if is_open {
            announce(&self.configuration, request.versions, emit);
        }
        Ok(())
    }

    /// Records the modules and installs the providers, unless there are errors.
    fn complete(
        self,
        request: &InitRequest<'_>,
        about_backend: Diagnostics,
        selected: Option<&str>,
        emit: &mut dyn FnMut(InitEvent),
    ) -> InitOutcome {
        let Initialization { mut configuration, found, records_modules, .. } = self;
        if about_backend.has_errors() {
            // Errors of called modules come after those of the backend are fixed.
            let mut problems = found.root;
            problems.extend(about_backend);
            return InitOutcome::Done(Report::new(problems, configuration.sources));
        }
        let mut repeated = found.root.clone();
        let mut problems = found.into_all();
        problems.extend(about_backend);
        if problems.has_errors() {
            if records_modules {
                record_rest(&configuration, request.versions);
                return InitOutcome::Done(Report::new(problems, configuration.sources));
            }
            return InitOutcome::Invalid(Report { problems, repeated, sources: configuration.sources });
        }
        if records_modules {
            let records = records(&configuration, request.versions);
            if let Err(problem) = write_manifest(request.project, &records) {
                problems.push(problem);
                return InitOutcome::Done(Report::new(problems, configuration.sources));
            }
            repeated.extend(problems.iter().cloned());
        }
        if let Some(workspace) = selected {
            configuration.project = configuration.project.in_workspace(workspace);
        }
        let states = if request.backend { StateSource::Backend } else { StateSource::LastKnown };
        problems.extend(provider_install::install(&mut configuration, &request.providers, states, emit));
        InitOutcome::Done(Report { problems, repeated, sources: configuration.sources })
    }
}

/// Loads the configuration and installs the modules that are missing.
fn load_and_bring(
    request: &InitRequest<'_>,
    options: LoadOptions<'_>,
    emit: &mut dyn FnMut(InitEvent),
) -> Result<(Loaded, LinkDiagnostics), Report> {
    let mut installer = Installer::new(request.project, request.versions, emit);
    let loaded = request.project.load_or_install(options, Missing::Brought(&mut installer));
    loaded.map_err(|Refusal { problems, sources }| Report::new(problems, sources))
}

/// The error about the last used backend with `-backend=false`, which neither asks it nor configures it: its type is unknown.
fn unknown_last_backend(project: &Project) -> Diagnostics {
    // A record that cannot be read is reported by the commands that need it.
    let last = initialized::read(project).ok().flatten();
    let unknown = last.filter(|last| project.backends().find(&last.kind).is_none());
    unknown.map_or_else(Diagnostics::new, |last| backend_diagnostics::last_backend_unknown(&last.kind).into())
}

/// Sets up the backend of the configuration.
fn set_up_backend(
    request: &InitRequest<'_>,
    configuration: &mut Loaded,
    emit: &mut dyn FnMut(InitEvent),
) -> Result<SetUp, Diagnostics> {
    emit(match configuration.tree.root().module.cloud.is_some() {
        true => InitEvent::CloudBackend,
        false => InitEvent::Backend,
    });
    let block = configured(configuration)?;
    let encryption = encryption::of(configuration)?;
    let mut done = Setup::new(request, &encryption, &mut configuration.sources, emit).run(block.as_ref())?;
    done.notes.extend(encryption.notes);
    Ok(done)
}

/// Modules to record: those of the configuration, and previously installed ones that still exist. So a user who goes
/// back to a configuration that calls them does not need to install them again.
fn records(configuration: &Loaded, versions: Versions) -> Manifest {
    let before = &configuration.manifest.modules;
    let now = configuration.tree.manifest().modules;
    let is_replaced =
        |key: &str| now.get(key).is_some_and(|new| versions == Versions::Newest || before.get(key) != Some(new));
    let mut modules = before.clone();
    modules.retain(|key, installed| {
        let mut callers = key.match_indices('.').map(|(end, _)| &key[..end]);
        !callers.any(is_replaced) && configuration.project.path(installed.dir.as_str()).is_dir()
    });
    modules.extend(now);
    Manifest { modules }
}

/// Records the installed modules although an error occurred, so that they are not installed again.
fn record_rest(configuration: &Loaded, versions: Versions) {
    let mut manifest = records(configuration, versions);
    manifest.modules.retain(|_, installed| configuration.project.path(installed.dir.as_str()).is_dir());
    // The root module is always there.
    if manifest.modules.len() > 1 {
        // Earlier failures are reported, and the installation is tried again.
        let _ = write_manifest(&configuration.project, &manifest);
    }
}

/// Prompts shared by two callers: every question is asked once.
fn twice(ask: Option<Ask>) -> (Option<Ask>, Option<Ask>) {
    let Some(ask) = ask else { return (None, None) };
    let answers = Mutex::new(BTreeMap::new());
    let first = Arc::new(move |variable: &yuba_config::variable::Variable| {
        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.entry(variable.name.clone()).or_insert_with(|| ask(variable)).clone()
    });
    let second = Arc::clone(&first);
    (Some(Box::new(move |variable| first(variable))), Some(Box::new(move |variable| second(variable))))
}

/// Copies a module into a directory that must be empty.
fn start_from_module(project: &Project, source: &str, emit: &mut dyn FnMut(InitEvent)) -> Result<(), Diagnostic> {
    if project.has_configuration() {
        return Err(diagnostics::already_has_configuration());
    }
    let dir = Path::new(project.dir());
    emit(InitEvent::Copying(source.into()));
    let is_data = |entry: &std::fs::DirEntry| Path::new(&entry.file_name()) == Path::new(".terraform");
    match std::fs::read_dir(project.path(dir)) {
        Ok(entries) => {
            let mut others = entries.flatten().filter(|entry| !is_data(entry));
            if let Some(other) = others.next() {
                return Err(diagnostics::not_empty(dir, &other.file_name().to_string_lossy()));
            }
        }
        Err(error) => return Err(diagnostics::unreadable_target(dir, &error)),
    }
    copy_root(project, source)
}

/// Whether a configuration has modules that must be at their expected paths.
fn needs_modules(tree: &ConfigTree) -> bool {
    let root = &tree.root().module;
    let downloads = tree.root().downloads.any;
    downloads
        || !root.calls.is_empty()
        || root.tests.values().flat_map(|file| &file.runs).any(|run| run.module.is_some())
}

/// Reports new modules.
fn announce(configuration: &Loaded, versions: Versions, emit: &mut dyn FnMut(InitEvent)) {
    for (path, installed) in &configuration.tree.manifest().modules {
        let is_new = configuration.manifest.modules.get(path) != Some(installed);
        if !path.is_empty() && (versions == Versions::Newest || is_new) {
            emit(InitEvent::Module { path: path.clone(), dir: installed.dir.clone() });
        }
    }
}

/// Constraint on a provider's version.
pub(crate) fn constraints(requirement: &Requirement) -> Result<ProviderConstraints, Box<Diagnostic>> {
    let mut all = ProviderConstraints::default();
    for (text, span) in &requirement.constraints {
        let read = ProviderConstraints::parse(text);
        all.extend(&read.map_err(|VersionError(reason)| Box::new(diagnostics::invalid_constraint(&reason, *span)))?);
    }
    Ok(all)
}

/// Providers of one name from the two publishers whose providers are taken for granted.
pub(crate) fn similar_providers<'a>(needed: impl Iterator<Item = &'a ProviderSource>) -> Diagnostics {
    let mut by_name: BTreeMap<&str, Vec<EcoString>> = BTreeMap::new();
    for provider in needed.filter(|provider| matches!(provider.namespace.as_str(), "hashicorp" | "opentofu")) {
        by_name.entry(&provider.kind).or_default().push(provider.for_display());
    }
    let mut problems = Diagnostics::new();
    let several = by_name.into_iter().filter(|(_, providers)| providers.len() > 1);
    problems.extend(several.map(|(name, providers)| diagnostics::similar_providers(name, &providers)));
    problems
}

/// The requirements of the modules of a configuration, as a tree.
#[derive(Clone, Debug)]
pub struct RequirementTree {
    /// Requirements of the module itself: providers and constraints on their versions.
    pub providers: Vec<(ProviderSource, ProviderConstraints)>,
    /// Requirements of its tests and of the modules it calls, by label.
    pub children: Vec<(EcoString, RequirementTree)>,
}

/// Providers that the modules of a configuration require, and those of the objects in its state.
pub fn requirements(
    project: &Project,
    ask: Option<Ask>,
) -> (Option<(RequirementTree, BTreeSet<ProviderSource>)>, Report) {
    if !project.has_configuration() {
        return (None, Report::new(diagnostics::no_configuration(project.dir()).into(), Sources::new()));
    }
    let mut configuration = match project.load(LoadOptions::new(Purpose::Use).asking(ask)).and_then(Loaded::valid) {
        Ok(configuration) => configuration,
        Err(Refusal { problems, sources }) => return (None, Report::new(problems, sources)),
    };
    let mut problems = std::mem::take(&mut configuration.diagnostics);
    let tree = requirement_tree(&configuration.tree, yuba_eval::ModuleId::ROOT, &mut problems);
    let of_state = provider_install::of_state(&configuration, &diagnostics::REQUIREMENTS_STATE_UNREADABLE);
    let (of_state, about_state) = of_state.unwrap_or_else(|found| (BTreeSet::new(), found));
    problems.extend(about_state);
    if let Ok(encryption) = encryption::of(&configuration) {
        problems.extend(encryption.notes);
    }
    let found = (!problems.has_errors()).then_some((tree, of_state));
    (found, Report::new(problems, configuration.sources))
}

fn read_constraints(
    needed: BTreeMap<ProviderSource, Requirement>,
    problems: &mut Diagnostics,
) -> Vec<(ProviderSource, ProviderConstraints)> {
    let mut read = Vec::with_capacity(needed.len());
    for (provider, requirement) in needed {
        match constraints(&requirement) {
            Ok(constraints) => read.push((provider, constraints)),
            Err(problem) => problems.push(*problem),
        }
    }
    read
}

fn requirement_tree(tree: &ConfigTree, module: yuba_eval::ModuleId, problems: &mut Diagnostics) -> RequirementTree {
    let providers = read_constraints(tree.module_requirements(module), problems);
    let mut children = Vec::new();
    if module == yuba_eval::ModuleId::ROOT {
        for (name, file) in &tree.root().module.tests {
            let label = eco_format!("test.{}", name.strip_suffix(".tftest.hcl").unwrap_or(name).replace('/', "."));
            let of_runs = file.runs.iter().filter_map(|run| {
                let tested = tree.runs.get(&(name.clone(), run.name.clone()))?;
                let of_run = requirement_tree(tested, yuba_eval::ModuleId::ROOT, problems);
                Some((eco_format!("run.{}", run.name), of_run))
            });
            let of_runs = of_runs.collect();
            let providers = read_constraints(tree.test_requirements(file), problems);
            children.push((label, RequirementTree { providers, children: of_runs }));
        }
    }
    for (name, child) in &tree.node(module).children {
        children.push((eco_format!("module.{name}"), requirement_tree(tree, *child, problems)));
    }
    RequirementTree { providers, children }
}
