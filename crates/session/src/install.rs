//! Installing what a configuration needs: `get` and `init`.
//!
//! Local modules and the built-in provider are where they are already; what is left to do is to record them. Other modules
//! are brought while the configuration is linked, because only then it is known which ones are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ecow::{EcoString, eco_format};
use yuba_addrs::{ProviderConstraints, ProviderSource, VersionError};
use yuba_eval::ConfigTree;
use yuba_eval::inputs::Ask;
use yuba_eval::tree::{Manifest, Purpose, Requirement};
use yuba_install::Hosts;
use yuba_install::providers::installing;
use yuba_syntax::{Diagnostic, Diagnostics, Severity, Sources};

use crate::backend::{StateFlags, configured};
use crate::diagnostics;
use crate::encryption;
use crate::load::{Configuration, LoadRequest, has_configuration, load, load_or_install};
use crate::manifest::write_manifest;
use crate::migration::{self, Confirm};
use crate::module_install::{Installer, Missing, copy_root};
use crate::provider_install::{self, ProviderFlags};

/// What is going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The backend is looked at.
    Backend,
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
        /// Where it is.
        dir: EcoString,
    },
    /// The backend is another one than before.
    BackendChanged,
    /// The backend can be used: its type.
    BackendReady(EcoString),
    /// Providers are looked for.
    Providers,
    /// A provider is built in.
    BuiltIn(EcoString),
    /// Something happens to a provider.
    Provider(installing::Event),
    /// The lock file is new.
    LockFileCreated,
    /// The lock file says something new.
    LockFileChanged,
}

/// What `init` should do.
pub struct InitRequest<'a> {
    /// What to read.
    pub load: LoadRequest<'a>,
    /// Whom to ask for values.
    pub ask: Option<Ask>,
    /// Set up the backend.
    pub backend: bool,
    /// What the arguments of the backend are instead of what its block says: `name=value`, or files with arguments.
    pub backend_config: &'a [String],
    /// Use another backend than before without its state.
    pub reconfigure: bool,
    /// Use another backend than before and bring the state along.
    pub migrate: bool,
    /// Whom to ask whether a state is copied.
    pub confirm: Option<Box<Confirm>>,
    /// How states are locked.
    pub flags: StateFlags,
    /// Install modules.
    pub modules: bool,
    /// A module that becomes the root module of a directory that is empty.
    pub from_module: Option<&'a str>,
    /// How to speak to hosts.
    pub hosts: &'a Hosts,
    /// Look for newer modules and providers.
    pub upgrade: bool,
    /// How providers are installed.
    pub providers: ProviderFlags,
}

/// What became of it.
pub enum Outcome {
    /// There are no configuration files.
    Empty,
    /// The configuration is not good enough to know what to install.
    Invalid(Report),
    /// It was tried; whether it worked depends on the errors.
    Done(Report),
}

/// What was found on the way.
pub struct Report {
    /// Everything, once.
    pub problems: Diagnostics,
    /// What programs are told again. Quirk: OpenTofu reads a configuration up to three times and tells warnings every time.
    pub repeated: Diagnostics,
    /// All files that were read.
    pub sources: Sources,
}

impl Report {
    pub(crate) fn new(problems: Diagnostics, sources: Sources) -> Report {
        Report { problems, repeated: Diagnostics::new(), sources }
    }
}

/// Installs modules only. Mistakes in how modules and providers go together are just warnings here.
pub fn get(
    request: &LoadRequest<'_>,
    ask: Option<Ask>,
    upgrade: bool,
    hosts: &Hosts,
    emit: &mut dyn FnMut(Event),
) -> Report {
    let mut installer = Installer::new(request.data_dir, upgrade, hosts, emit);
    let (configuration, problems) = load_or_install(request, ask, Missing::Brought(&mut installer));
    let configuration = match configuration {
        Ok(configuration) => configuration,
        Err(sources) => return Report::new(problems, sources),
    };
    let stages = configuration.tree.stages;
    let mut kept = Diagnostics::new();
    let about_modules_failed = problems.iter().take(stages.modules).any(Diagnostic::is_error);
    for (at, mut problem) in problems.into_iter().enumerate() {
        if at >= stages.modules && !about_modules_failed {
            problem.severity = Severity::Warning;
        }
        kept.push(problem);
    }
    match kept.has_errors() {
        true => record_rest(&configuration, upgrade, request.data_dir),
        false => kept.extend(write_manifest(request.data_dir, &records(&configuration, upgrade)).err()),
    }
    Report::new(kept, configuration.sources)
}

/// Prepares a working directory.
pub fn init(mut request: InitRequest<'_>, emit: &mut dyn FnMut(Event)) -> Outcome {
    let dir = Path::new(request.load.dir);
    if let Some(source) = request.from_module
        && let Err(problem) = start_from_module(dir, request.load.data_dir, source, request.hosts, emit)
    {
        return Outcome::Done(Report::new(problem.into(), Sources::new()));
    }
    if !has_configuration(dir) {
        return Outcome::Empty;
    }
    let (first_ask, second_ask) = twice(request.ask.take());
    // First it is seen whether modules have to be brought: the backend comes before that.
    let (mut any, mut of_root) = (false, false);
    let missing = match request.modules {
        true => Missing::Noted { any: &mut any, of_root: &mut of_root, upgrade: request.upgrade },
        false => {
            request.load.purpose = Purpose::Use;
            Missing::Told
        }
    };
    let (configuration, mut problems) = load_or_install(&request.load, first_ask, missing);
    let mut configuration = match configuration {
        Ok(configuration) => configuration,
        Err(sources) => return Outcome::Invalid(Report::new(problems, sources)),
    };
    // Except for symbol libraries of the root module: the arguments of the backend can refer to them.
    let mut second_ask = second_ask;
    if of_root {
        emit(Event::Modules { upgrade: request.upgrade });
        let mut installer = Installer::new(request.load.data_dir, request.upgrade, request.hosts, emit);
        let (again, found) = load_or_install(&request.load, second_ask.take(), Missing::Brought(&mut installer));
        problems = found;
        configuration = match again {
            Ok(configuration) => configuration,
            Err(sources) => return Outcome::Invalid(Report::new(problems, sources)),
        };
        if problems.has_errors() {
            record_rest(&configuration, request.upgrade, request.load.data_dir);
            return Outcome::Done(Report::new(problems, configuration.sources));
        }
        any = false;
    }
    let about_root = configuration.tree.stages.root;
    if problems.iter().take(about_root).any(Diagnostic::is_error) {
        return Outcome::Invalid(Report::new(problems, configuration.sources));
    }
    let mut about_backend = Diagnostics::new();
    if request.backend {
        emit(Event::Backend);
        let set_up = configured(&configuration, &request.load).and_then(|block| {
            let encryption = encryption::of(&configuration, &request.load)?;
            let mut about = migration::set_up(&request, block.as_ref(), &encryption, &mut configuration.sources, emit)?;
            about.extend(encryption.notes);
            Ok(about)
        });
        about_backend = set_up.unwrap_or_else(|problems| problems);
    }
    let installs = request.modules && needs_modules(&configuration.tree);
    if installs && !of_root {
        emit(Event::Modules { upgrade: request.upgrade });
    }
    if any && !about_backend.has_errors() {
        let mut installer = Installer::new(request.load.data_dir, request.upgrade, request.hosts, emit);
        let (again, found) = load_or_install(&request.load, second_ask, Missing::Brought(&mut installer));
        problems = found;
        configuration = match again {
            Ok(configuration) => configuration,
            Err(sources) => return Outcome::Invalid(Report::new(problems, sources)),
        };
    } else if installs && !of_root && !about_backend.has_errors() {
        announce(&configuration, request.upgrade, emit);
    }
    let backend_failed = about_backend.has_errors();
    problems.extend(about_backend);
    let mut repeated = Diagnostics::new();
    repeated.extend(problems.iter().take(about_root).cloned());
    if problems.has_errors() {
        if installs {
            if !backend_failed {
                record_rest(&configuration, request.upgrade, request.load.data_dir);
            }
            return Outcome::Done(Report::new(problems, configuration.sources));
        }
        return Outcome::Invalid(Report { problems, repeated, sources: configuration.sources });
    }
    if installs {
        let records = records(&configuration, request.upgrade);
        if let Err(problem) = write_manifest(request.load.data_dir, &records) {
            problems.push(problem);
            return Outcome::Done(Report::new(problems, configuration.sources));
        }
        repeated.extend(problems.iter().cloned());
    }
    let found = provider_install::install(
        &mut configuration,
        &request.load,
        request.hosts,
        &request.providers,
        request.backend,
        emit,
    );
    problems.extend(found);
    Outcome::Done(Report { problems, repeated, sources: configuration.sources })
}

/// What is to be recorded: the modules of the configuration, and those of before that are still there. Somebody who goes
/// back to a configuration that calls them again need not bring them again.
fn records(configuration: &Configuration, upgrade: bool) -> Manifest {
    let before = &configuration.manifest.modules;
    let now = configuration.tree.manifest().modules;
    let is_replaced = |key: &str| now.get(key).is_some_and(|new| upgrade || before.get(key) != Some(new));
    let mut modules = before.clone();
    modules.retain(|key, installed| {
        let mut callers = key.match_indices('.').map(|(end, _)| &key[..end]);
        !callers.any(is_replaced) && Path::new(installed.dir.as_str()).is_dir()
    });
    modules.extend(now);
    Manifest { modules }
}

/// Records the modules that are there although something failed, so that they need not be brought again.
fn record_rest(configuration: &Configuration, upgrade: bool, data_dir: &Path) {
    let mut manifest = records(configuration, upgrade);
    manifest.modules.retain(|_, installed| Path::new(installed.dir.as_str()).is_dir());
    // The root module is always there.
    if manifest.modules.len() > 1 {
        // What failed before is told, and has to be tried again anyway.
        let _ = write_manifest(data_dir, &manifest);
    }
}

/// One who can be asked, for two who want to ask: every question is asked once.
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

/// Copies a module into a directory that has to be empty.
fn start_from_module(
    dir: &Path,
    data_dir: &Path,
    source: &str,
    hosts: &Hosts,
    emit: &mut dyn FnMut(Event),
) -> Result<(), Diagnostic> {
    if has_configuration(dir) {
        return Err(diagnostics::already_has_configuration());
    }
    emit(Event::Copying(source.into()));
    let is_data = |entry: &std::fs::DirEntry| Path::new(&entry.file_name()) == Path::new(".terraform");
    match std::fs::read_dir(dir) {
        Ok(entries) => {
            let mut others = entries.flatten().filter(|entry| !is_data(entry));
            if let Some(other) = others.next() {
                return Err(diagnostics::not_empty(dir, &other.file_name().to_string_lossy()));
            }
        }
        Err(error) => return Err(diagnostics::unreadable_target(dir, &error)),
    }
    copy_root(dir, data_dir, source, hosts)
}

/// Whether a configuration has modules that have to be where it expects them.
fn needs_modules(tree: &ConfigTree) -> bool {
    let root = &tree.root().module;
    let downloads = tree.root().downloads.any;
    downloads
        || !root.calls.is_empty()
        || root.tests.values().flat_map(|file| &file.runs).any(|run| run.module.is_some())
}

/// Tells which modules are new.
fn announce(configuration: &Configuration, upgrade: bool, emit: &mut dyn FnMut(Event)) {
    for (path, installed) in &configuration.tree.manifest().modules {
        let is_new = configuration.manifest.modules.get(path) != Some(installed);
        if !path.is_empty() && (upgrade || is_new) {
            emit(Event::Module { path: path.clone(), dir: installed.dir.clone() });
        }
    }
}

/// What is demanded of a provider's version.
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
    /// What the module itself needs: providers and constraints on their versions.
    pub providers: Vec<(ProviderSource, ProviderConstraints)>,
    /// What its tests and the modules it calls need, by label.
    pub children: Vec<(EcoString, RequirementTree)>,
}

/// Which providers the modules of a configuration need, and which ones the objects in its state.
pub fn requirements(
    request: &LoadRequest<'_>,
    ask: Option<Ask>,
) -> (Option<(RequirementTree, BTreeSet<ProviderSource>)>, Report) {
    if !has_configuration(Path::new(request.dir)) {
        return (None, Report::new(diagnostics::no_configuration(request.dir).into(), Sources::new()));
    }
    let (configuration, mut problems) = load(request, ask);
    let configuration = match configuration {
        Ok(configuration) if !problems.has_errors() => configuration,
        Ok(configuration) => return (None, Report::new(problems, configuration.sources)),
        Err(sources) => return (None, Report::new(problems, sources)),
    };
    let tree = requirement_tree(&configuration.tree, yuba_eval::ModuleId::ROOT, &mut problems);
    let of_state = provider_install::of_state(&configuration, request, &diagnostics::REQUIREMENTS_STATE_UNREADABLE);
    let (of_state, about_state) = of_state.unwrap_or_else(|found| (BTreeSet::new(), found));
    problems.extend(about_state);
    if let Ok(encryption) = encryption::of(&configuration, request) {
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
