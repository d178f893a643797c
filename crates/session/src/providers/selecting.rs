//! Available providers: those that the lock file of the working directory selects, those under development, and those
//! attached to running processes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use yuba_addrs::{DEFAULT_REGISTRY, ProviderSource};
use yuba_backend::{BackendEnvironment, Backends};
use yuba_config::language::LANGUAGE_VERSION;
use yuba_eval::ConfigTree;
use yuba_install::Hosts;
use yuba_install::lock_file::{self, LockFile};
use yuba_install::providers::diagnostics as about;
use yuba_install::providers::selected::{PackageDir, SelectedProviders, Unusable, check_selections, selected};
use yuba_install::providers::verified::Verified;
use yuba_net::Environment;
use yuba_plugin::{Reattach, Supply};
use yuba_provider::{Problem, Providers as _};
use yuba_state::{Edit, State};
use yuba_syntax::files::Files;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use super::InstalledProviders;
use crate::diagnostics;
use crate::files::DiskFiles;
use crate::state::with_provider;

/// Sources of provider selections, and settings for starting them.
#[derive(Clone)]
pub struct ProviderSettings {
    /// Directory of installed packages.
    pub packages: PackageDir,
    /// Files of the working directory, among them the lock file.
    pub files: Arc<dyn Files>,
    /// The CLI configuration, read on demand.
    pub hosts: Option<Arc<Hosts>>,
    /// The backends whose states data sources can read.
    pub backends: Arc<Backends>,
    /// Providers attached to running processes, from the environment variable.
    pub reattach: String,
    /// Only what is built in counts.
    pub only_built_in: bool,
    /// Settings of processes.
    pub plugins: yuba_plugin::Settings,
}

impl ProviderSettings {
    /// For a data directory. A [`Project`](crate::Project) adds the working directory that it is relative to.
    pub fn new(data_dir: impl Into<PathBuf>) -> ProviderSettings {
        let data_dir = data_dir.into();
        let packages = PackageDir::of_project(Path::new(""), &data_dir);
        ProviderSettings {
            backends: Arc::new(Backends::new(BackendEnvironment::new(Environment::default(), data_dir))),
            packages,
            files: Arc::new(DiskFiles::new("")),
            hosts: None,
            reattach: String::new(),
            only_built_in: false,
            plugins: yuba_plugin::Settings::new(LANGUAGE_VERSION),
        }
    }
}

impl ProviderSettings {
    /// Directories of providers under development.
    fn overrides(&self) -> BTreeMap<ProviderSource, PathBuf> {
        let installation = self.hosts.as_ref().and_then(|hosts| hosts.config().provider_installation.as_ref());
        installation.map(|all| all.dev_overrides.clone()).unwrap_or_default()
    }
}

/// The result of the first lookup.
#[derive(Default)]
pub(super) struct Found {
    pub(super) locks: LockFile,
    pub(super) selection: SelectedProviders,
    /// Providers attached to running processes.
    pub(super) reattached: BTreeMap<ProviderSource, Reattach>,
    /// Errors in their settings.
    reattach_problem: Option<Diagnostic>,
}

pub(super) fn find(settings: &ProviderSettings) -> Found {
    if settings.only_built_in {
        return Found::default();
    }
    // `check_lock_file` reports the errors of the file.
    let (locks, _) = lock_file::read(&*settings.files, lock_file::LOCK_FILE, &mut Sources::new());
    let (reattached, reattach_problem) = match yuba_plugin::reattached(&settings.reattach) {
        Ok(reattached) => (reattached, None),
        Err(problem) => (BTreeMap::new(), Some(problem)),
    };
    let others: BTreeSet<ProviderSource> = reattached.keys().cloned().collect();
    let verified = settings.hosts.as_ref().map(|hosts| Verified::of_user(hosts.environment())).unwrap_or_default();
    let selection = selected(&settings.packages, &locks, &settings.overrides(), &others, &verified);
    Found { locks, selection, reattached, reattach_problem }
}

impl Found {
    /// Whether a provider is under development or attached, so that its version does not matter.
    fn is_special(&self, provider: &ProviderSource) -> bool {
        self.reattached.contains_key(provider)
            || matches!(self.selection.packages.get(provider), Some(Ok(package)) if package.version.is_none())
    }

    /// Whether there is a provider.
    pub(super) fn has(&self, provider: &ProviderSource) -> bool {
        self.reattached.contains_key(provider) || matches!(self.selection.packages.get(provider), Some(Ok(_)))
    }

    /// Source of a provider.
    pub(super) fn supply(&self, provider: &ProviderSource) -> Result<Supply, Box<Problem>> {
        if let Some(reattach) = self.reattached.get(provider) {
            return Ok(Supply::Reattach(reattach.clone()));
        }
        match self.selection.packages.get(provider) {
            Some(Ok(package)) => {
                Ok(Supply::Package { executable: package.executable.clone(), hash: package.hash.clone() })
            }
            Some(Err(unusable)) => {
                Err(Box::new(Problem::nowhere(diagnostics::unusable_provider(provider, unusable.reason()))))
            }
            None => Err(Box::new(Problem::nowhere(yuba_eval::missing_provider(provider)))),
        }
    }
}

/// The provider of the same name in the usual registry.
pub(crate) fn adopting(provider: &ProviderSource) -> Option<ProviderSource> {
    let ours = ProviderSource::parse(&format!("{}/{}", provider.namespace, provider.kind)).ok()?;
    (ours != *provider && ours.host.as_str() == DEFAULT_REGISTRY && !provider.is_builtin()).then_some(ours)
}

impl InstalledProviders {
    /// The packages of the providers of the working directory.
    pub fn selection(&self) -> &SelectedProviders {
        &self.inner.found().selection
    }

    /// The versions of providers that the lock file of the working directory selects.
    pub fn locks(&self) -> &LockFile {
        &self.inner.found().locks
    }

    /// Whether a provider runs already, in a process that it is attached to.
    pub(crate) fn is_attached(&self, provider: &ProviderSource) -> bool {
        self.inner.found().reattached.contains_key(provider)
    }

    /// Errors in the lock file.
    pub fn check_lock_file(&self, sources: &mut Sources) -> Diagnostics {
        match self.inner.settings.only_built_in {
            true => Diagnostics::new(),
            false => lock_file::read(&*self.inner.settings.files, lock_file::LOCK_FILE, sources).1,
        }
    }

    /// Errors in installed packages that a configuration requires.
    pub fn damaged(&self, tree: &ConfigTree) -> Diagnostics {
        let needed = tree.requirements();
        let packages = self.selection().packages.iter().filter(|(provider, _)| needed.contains_key(*provider));
        let mut problems = Diagnostics::new();
        for (provider, package) in packages {
            if let Err(Unusable::Damaged(reason)) = package {
                let problem = diagnostics::unusable_provider(provider, reason);
                problems.push(diagnostics::schema_not_loaded(provider, &problem));
            }
        }
        problems
    }

    /// Whether everything that a configuration needs is selected and installed.
    pub fn check(&self, tree: &ConfigTree, sources: &mut Sources) -> Diagnostics {
        let mut problems = self.check_lock_file(sources);
        if problems.has_errors() {
            return problems;
        }
        let found = self.inner.found();
        problems.extend(found.reattach_problem.clone());
        problems.extend(found.selection.missing_plugins());
        if problems.has_errors() {
            return problems;
        }
        let mut needed = BTreeMap::new();
        for (provider, requirement) in tree.requirements() {
            match crate::install::constraints(&requirement) {
                Ok(constraints) => drop(needed.insert(provider, constraints)),
                Err(problem) => problems.push(*problem),
            }
        }
        problems.extend(self.damaged(tree));
        let overrides = self.inner.settings.overrides();
        problems.extend(check_selections(&needed, &found.locks, &|provider| {
            found.is_special(provider) || overrides.contains_key(provider)
        }));
        problems
    }

    /// Objects of a provider that another tool installed from another source belong to the provider of the same name in
    /// the configuration: where the configuration does not name the other source, no other provider could manage them.
    pub fn adopt(&self, tree: &ConfigTree, state: &mut State) {
        let needed: BTreeSet<ProviderSource> = tree.requirements().into_keys().collect();
        let ours = |provider: &ProviderSource| {
            let is_there = needed.contains(provider) || self.has(provider);
            adopting(provider).filter(|ours| !is_there && needed.contains(ours))
        };
        let mut found: BTreeMap<ProviderSource, Option<ProviderSource>> = BTreeMap::new();
        let mut changes = Vec::new();
        for resource in state.iter() {
            let provider = &resource.provider.provider;
            if let Some(now) = found.entry(provider.clone()).or_insert_with(|| ours(provider)) {
                changes.push((resource.addr.clone(), with_provider(&resource.provider, now)));
            }
        }
        for (resource, provider) in changes {
            state.apply(Edit::SetProvider { resource, provider });
        }
    }

    /// Says that providers under development are used, where that matters.
    pub fn overrides_warning(&self) -> Option<Diagnostic> {
        about::overrides(&self.inner.settings.overrides(), about::OverridesSeen::InUse)
    }
}
