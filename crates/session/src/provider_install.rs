//! Installing the providers of a configuration: the half of `init` that is about providers, `providers lock` and
//! `providers mirror`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use yuba_addrs::{ProviderConstraints, ProviderSource};
use yuba_eval::inputs::Ask;
use yuba_eval::tree::{Purpose, Requirement};
use yuba_install::Hosts;
use yuba_install::lock_file::{self, LockFile};
use yuba_install::providers::configured::{self, Means};
use yuba_install::providers::diagnostics as about;
use yuba_install::providers::installing::{self, Cache, Failure, SelectionPolicy};
use yuba_install::providers::platform::Platform;
use yuba_install::providers::selected::{PackageDir, check_selections};
use yuba_install::providers::source::{PackageSource, PackageSources, QueryError};
use yuba_install::providers::unpacked::UnpackedPackages;
use yuba_install::providers::verified::Verified;
use yuba_install::providers::{local_mirror::LocalMirror, locking, mirroring};
use yuba_syntax::{Code, Diagnostic, Diagnostics, Sources};

use crate::backend::{self, OpenState, Refusal, StateFlags};
use crate::diagnostics;
use crate::install::{InitEvent, Report, constraints, similar_providers};
use crate::loaded::{LoadOptions, Loaded};
use crate::project::Project;

/// Flags about installing providers.
#[derive(Clone, Debug, Default)]
pub struct ProviderFlags {
    /// Directories to look for packages in, instead of everything else.
    pub plugin_dirs: Vec<PathBuf>,
    /// The lock file stays as it is.
    pub readonly: bool,
    /// The newest versions are selected.
    pub upgrade: bool,
}

/// Installs the providers that a configuration and its state require, and records the selected versions.
pub(crate) fn install(
    configuration: &mut Loaded,
    flags: &ProviderFlags,
    states: StateSource,
    emit: &mut dyn FnMut(InitEvent),
) -> Diagnostics {
    let _span = tracing::info_span!("install providers").entered();
    let project = configuration.project.clone();
    let hosts = &**project.hosts();
    let requirements = configuration.tree.requirements();
    let overrides = hosts.config().provider_installation.as_ref().map(|all| all.dev_overrides.clone());
    let mut problems = Diagnostics::new();
    problems.extend(about::overrides(&overrides.unwrap_or_default(), about::OverridesSeen::ByInit));
    let mut needed = read_all(&requirements, &mut problems);
    if !problems.has_errors() {
        need_providers_of_state(configuration, states, &mut needed, &mut problems);
    }
    for provider in needed.keys().filter(|provider| provider.is_legacy()) {
        problems.push(diagnostics::legacy_provider(provider));
    }
    problems.extend(similar_providers(needed.keys()));
    let (before, found) = lock_file::read_adopting(project.files(), lock_file::LOCK_FILE, &mut configuration.sources);
    problems.extend(found);
    if problems.has_errors() {
        return problems;
    }
    emit(InitEvent::Providers);
    if needed.is_empty() && before.providers.is_empty() {
        return problems;
    }
    let is_built_in = built_in(&mut needed, &mut problems, emit);
    let means = means(hosts);
    let package_sources = match flags.plugin_dirs.is_empty() {
        true if needed.is_empty() => PackageSources::default(),
        true => configured_sources(&project, &means, &mut problems),
        false => configured::directories(flags.plugin_dirs.iter().cloned()),
    };
    if problems.has_errors() && !is_built_in {
        return problems;
    }
    let config = hosts.config();
    let cache = config
        .plugin_cache_dir
        .clone()
        .map(|dir| Cache { dir, may_break_lock_file: config.plugin_cache_may_break_lock_file });
    // Where working directories share packages anyway, the cache exists already.
    let kept =
        if cache.is_none() { UnpackedPackages::of_user(hosts.environment()) } else { UnpackedPackages::default() };
    let platform = Platform::current();
    let wanted = installing::InstallRequest {
        needed: &needed,
        others: &others(hosts),
        locks: &before,
        sources: &package_sources,
        client: means.services.client(),
        directory: project.root(),
        base: &PackageDir::of_project(project.root(), project.data_dir()),
        platform: &platform,
        cache: cache.as_ref(),
        mode: if flags.upgrade { SelectionPolicy::Upgrade } else { SelectionPolicy::Keep },
        signing: means.signing,
        verified: &Verified::of_user(hosts.environment()),
        kept: &kept,
    };
    let outcome = installing::install(&wanted, &mut |event| emit(InitEvent::Provider(event)));
    for (provider, warnings) in &outcome.warnings {
        problems.push(about::registry_warnings(provider, warnings));
    }
    for (provider, failure) in &outcome.failures {
        problems.extend(implied_by(provider, failure, &requirements));
        problems.push(about::failure(provider, failure, &needed, &platform));
    }
    if !problems.has_errors() && !outcome.locks.selects_same(&before) {
        problems.extend(save_locks(&project, &outcome, &before, flags, emit));
    }
    problems
}

/// The sources of packages in the CLI configuration.
fn configured_sources(project: &Project, means: &Means, problems: &mut Diagnostics) -> PackageSources {
    let dir = project.original_dir().map_or_else(|| project.root().to_path_buf(), PathBuf::from);
    let (sources, found) = configured::package_sources(means, &dir, project.hosts().environment());
    problems.extend(found);
    sources
}

/// The states that name providers besides the configuration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateSource {
    /// The states of the configured backend.
    Backend,
    /// The last known state: the backend is not initialized.
    LastKnown,
}

/// Adds the providers of objects in the state: a plan may destroy objects whose providers are no longer in the
/// configuration.
fn need_providers_of_state(
    configuration: &Loaded,
    states: StateSource,
    needed: &mut BTreeMap<ProviderSource, ProviderConstraints>,
    problems: &mut Diagnostics,
) {
    let found = match states {
        StateSource::Backend => of_state(configuration, &diagnostics::INIT_STATE_UNREADABLE),
        StateSource::LastKnown => Ok((of_last_state(configuration), Diagnostics::new())),
    };
    match found {
        Ok((found, notes)) => {
            problems.extend(notes);
            for provider in found {
                let ours = crate::providers::adopting(&provider).filter(|ours| needed.contains_key(ours));
                if ours.is_none() {
                    needed.entry(provider).or_default();
                }
            }
        }
        Err(found) => problems.extend(found),
    }
}

/// Returns a note about a provider that no registry has and that only the name of a resource type implies.
fn implied_by(
    provider: &ProviderSource,
    failure: &Failure,
    requirements: &BTreeMap<ProviderSource, Requirement>,
) -> Option<Diagnostic> {
    let implied = requirements.get(provider).filter(|requirement| !requirement.explicit)?;
    let is_unknown = matches!(failure, Failure::Query(QueryError::NotKnown(_)));
    implied.implied_by.filter(|_| is_unknown).map(|span| about::implied(provider, span))
}

/// Writes the lock file with the selected versions, unless it is read-only.
fn save_locks(
    project: &Project,
    outcome: &installing::InstallOutcome,
    before: &LockFile,
    flags: &ProviderFlags,
    emit: &mut dyn FnMut(InitEvent),
) -> Diagnostics {
    let mut problems = Diagnostics::new();
    if flags.readonly {
        problems.push(match outcome.locks.names_same(before) {
            true => about::readonly_not_updated(),
            false => about::readonly_changed(),
        });
        return problems;
    }
    if !outcome.incomplete.is_empty() {
        problems.push(about::incomplete(&outcome.incomplete, &Platform::current()));
    }
    emit(if before.providers.is_empty() { InitEvent::LockFileCreated } else { InitEvent::LockFileChanged });
    problems.extend(lock_file::write(project.root(), lock_file::LOCK_FILE, &outcome.locks).err());
    problems
}

/// Removes the built-in providers from the required ones, and reports errors about them. Returns whether there are
/// errors.
fn built_in(
    needed: &mut BTreeMap<ProviderSource, ProviderConstraints>,
    problems: &mut Diagnostics,
    emit: &mut dyn FnMut(InitEvent),
) -> bool {
    let mut any_wrong = false;
    for (provider, constraints) in needed.iter().filter(|(provider, _)| provider.is_builtin()) {
        let problem = match constraints.is_empty() {
            _ if provider.kind != "terraform" => diagnostics::no_such_built_in(provider),
            false => diagnostics::version_of_built_in(provider),
            true => {
                emit(InitEvent::BuiltIn(provider.for_display()));
                continue;
            }
        };
        problems.push(problem);
        any_wrong = true;
    }
    needed.retain(|provider, _| !provider.is_builtin());
    any_wrong
}

fn read_all(
    requirements: &BTreeMap<ProviderSource, Requirement>,
    problems: &mut Diagnostics,
) -> BTreeMap<ProviderSource, ProviderConstraints> {
    let mut needed = BTreeMap::new();
    for (provider, requirement) in requirements {
        match constraints(requirement) {
            Ok(constraints) => drop(needed.insert(provider.clone(), constraints)),
            Err(problem) => problems.push(*problem),
        }
    }
    needed
}

/// The providers of the objects in the state, and warnings about it. Empty for a state in a backend that this version
/// does not support.
pub(crate) fn of_state(
    configuration: &Loaded,
    code: &'static Code,
) -> Result<(BTreeSet<ProviderSource>, Diagnostics), Diagnostics> {
    let location = match backend::state_location(configuration, &StateFlags::default()) {
        Err(_) if backend::is_out_of_reach(configuration) => return Ok(Default::default()),
        location => location?,
    };
    let opened = location.look().map_err(|problems| Diagnostics::from(diagnostics::under(code, &problems)))?;
    Ok((providers_of(&opened), opened.notes))
}

/// The providers of the objects in the previously used state. Ignores a state that it cannot read: the run does not touch
/// the backend.
fn of_last_state(configuration: &Loaded) -> BTreeSet<ProviderSource> {
    let opened = backend::last_state_location(configuration).and_then(|location| location.look().ok());
    opened.map(|opened| providers_of(&opened)).unwrap_or_default()
}

fn providers_of(opened: &OpenState) -> BTreeSet<ProviderSource> {
    let resources = opened.state.iter().flat_map(|state| state.iter());
    resources.map(|resource| resource.provider.provider.clone()).collect()
}

/// Providers that are attached to a running process.
fn others(hosts: &Hosts) -> BTreeSet<ProviderSource> {
    let given = hosts.environment().get("TF_REATTACH_PROVIDERS").unwrap_or_default();
    // Its errors are reported when the providers are needed.
    let given: serde_json::Map<String, serde_json::Value> = serde_json::from_str(given).unwrap_or_default();
    given.keys().filter_map(|name| ProviderSource::parse(name).ok()).collect()
}

fn means(hosts: &Hosts) -> Means {
    Means::new(hosts.config().clone(), hosts.services().clone(), hosts.environment())
}

/// Options of `providers lock`.
#[derive(Clone, Debug, Default)]
pub struct LockRequest {
    /// For which platforms; this one if none is given.
    pub platforms: Vec<String>,
    /// A directory to take packages from instead of registries.
    pub fs_mirror: Option<PathBuf>,
    /// A network mirror to take packages from instead of registries.
    pub net_mirror: Option<String>,
    /// The providers; all if none is given.
    pub providers: Vec<String>,
}

/// Adds hashes of packages to the lock file. Whether there were any new ones.
pub fn lock(
    project: &Project,
    ask: Option<Ask>,
    lock: &LockRequest,
    emit: &mut dyn FnMut(locking::LockEvent),
) -> (Option<bool>, Report) {
    let mut problems = Diagnostics::new();
    let platforms = platforms(&lock.platforms, &mut problems);
    let means = means(project.hosts());
    let source = match (&lock.fs_mirror, &lock.net_mirror) {
        (Some(dir), _) => PackageSource::Local(LocalMirror::new(dir.clone())),
        (None, Some(url)) => match means.network_mirror(url) {
            Ok(mirror) => PackageSource::Network(mirror),
            Err(reason) => {
                problems.push(about::net_mirror(&reason));
                return (None, Report::new(problems, Sources::new()));
            }
        },
        (None, None) => PackageSource::Registry(means.registry()),
    };
    let (mut needed, mut sources) = match prepare(project, ask, &mut problems) {
        Ok(prepared) => prepared,
        Err(sources) => return (None, Report::new(problems, sources)),
    };
    if !lock.providers.is_empty() {
        let mut chosen = BTreeSet::new();
        for text in &lock.providers {
            match ProviderSource::parse(text) {
                Ok(provider) if needed.contains_key(&provider) => drop(chosen.insert(provider)),
                Ok(provider) => problems.push(about::not_needed(&provider)),
                Err(problem) => problems.push(problem.diagnostic()),
            }
        }
        needed.retain(|provider, _| chosen.contains(provider));
    }
    needed.retain(|provider, _| !provider.is_builtin() && !provider.is_legacy());
    let (before, found) = lock_file::read_adopting(project.files(), lock_file::LOCK_FILE, &mut sources);
    problems.extend(found);
    if problems.has_errors() {
        return (None, Report::new(problems, sources));
    }
    let package_sources = PackageSources::only(source);
    let wanted = locking::ProviderLockRequest {
        needed: &needed,
        locks: &before,
        sources: &package_sources,
        client: means.services.client(),
        platforms: &platforms,
        signing: means.signing,
        directory: project.root(),
        temporary: &project.environment().temporary(),
    };
    match locking::lock(&wanted, emit) {
        Ok((locks, is_new)) => {
            problems.extend(lock_file::write(project.root(), lock_file::LOCK_FILE, &locks).err());
            (Some(is_new), Report::new(problems, sources))
        }
        Err(found) => {
            problems.extend(found);
            (None, Report::new(problems, sources))
        }
    }
}

/// Copies packages of the providers that a configuration needs into a directory.
pub fn mirror(
    project: &Project,
    ask: Option<Ask>,
    given: &[String],
    dir: &Path,
    emit: &mut dyn FnMut(mirroring::MirrorEvent),
) -> Report {
    let mut problems = Diagnostics::new();
    let platforms = platforms(given, &mut problems);
    let (needed, mut sources) = match prepare(project, ask, &mut problems) {
        Ok(prepared) => prepared,
        Err(sources) => return Report::new(problems, sources),
    };
    let (locks, found) = lock_file::read_adopting(project.files(), lock_file::LOCK_FILE, &mut sources);
    problems.extend(found);
    if !locks.providers.is_empty() {
        problems.extend(check_selections(&needed, &locks, &|_| false));
    }
    if problems.has_errors() {
        return Report::new(problems, sources);
    }
    let means = means(project.hosts());
    let wanted = mirroring::MirrorRequest {
        needed: &needed,
        locks: &locks,
        registry: &means.registry(),
        client: means.services.client(),
        platforms: &platforms,
        dir,
    };
    problems.extend(mirroring::mirror(&wanted, emit));
    Report::new(problems, sources)
}

fn platforms(given: &[String], problems: &mut Diagnostics) -> Vec<Platform> {
    if given.is_empty() {
        return vec![Platform::current()];
    }
    let mut platforms = Vec::new();
    for text in given {
        match Platform::parse(text) {
            Some(platform) => platforms.push(platform),
            None => problems.push(about::platform(text)),
        }
    }
    platforms
}

type Prepared = (BTreeMap<ProviderSource, ProviderConstraints>, Sources);

/// Reads what a configuration needs.
fn prepare(project: &Project, ask: Option<Ask>, problems: &mut Diagnostics) -> Result<Prepared, Sources> {
    if !project.has_configuration() {
        problems.push(diagnostics::no_configuration(project.dir()));
        return Err(Sources::new());
    }
    match project.load(LoadOptions::new(Purpose::Use).asking(ask)) {
        Ok(configuration) => {
            problems.extend(configuration.diagnostics);
            let needed = read_all(&configuration.tree.requirements(), problems);
            Ok((needed, configuration.sources))
        }
        Err(Refusal { problems: found, sources }) => {
            problems.extend(found);
            Err(sources)
        }
    }
}
