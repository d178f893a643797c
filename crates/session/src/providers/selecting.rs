//! Which providers there are: what the lock file of the working directory selects, what is under development, and what
//! somebody else runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use yuba_addrs::ProviderSource;
use yuba_config::language::LANGUAGE_VERSION;
use yuba_install::lock_file::{self, LockFile};
use yuba_install::providers::selected::{Selection, check_selections, selected};
use yuba_install::providers::verified::Verified;
use yuba_plugin::{Reattach, Supply};
use yuba_provider::Problem;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use super::OurProviders;
use crate::diagnostics;
use crate::load::Configuration;

/// What decides which providers there are, and how they are started.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// Where things are kept that belong to the working directory.
    pub data_dir: PathBuf,
    /// The lock file.
    pub lock_file: PathBuf,
    /// Directories of providers under development.
    pub overrides: BTreeMap<ProviderSource, PathBuf>,
    /// Providers that somebody else runs: what the environment variable for that says.
    pub reattach: String,
    /// Only what is built in counts.
    pub only_built_in: bool,
    /// How processes are dealt with.
    pub plugins: yuba_plugin::Settings,
}

impl ProviderSettings {
    /// For a data directory.
    pub fn new(data_dir: impl Into<PathBuf>) -> ProviderSettings {
        ProviderSettings {
            data_dir: data_dir.into(),
            lock_file: lock_file::LOCK_FILE.into(),
            overrides: BTreeMap::new(),
            reattach: String::new(),
            only_built_in: false,
            plugins: yuba_plugin::Settings::new(LANGUAGE_VERSION),
        }
    }
}

/// What was found when somebody asked for the first time.
#[derive(Default)]
pub(super) struct Found {
    pub(super) locks: LockFile,
    pub(super) selection: Selection,
    /// Providers that somebody else runs.
    pub(super) reattached: BTreeMap<ProviderSource, Reattach>,
    /// What is wrong with how these are given.
    reattach_problem: Option<Diagnostic>,
}

pub(super) fn find(settings: &ProviderSettings) -> Found {
    if settings.only_built_in {
        return Found::default();
    }
    // What is wrong with the file is said by `check_lock_file`.
    let (locks, _) = lock_file::read(&settings.lock_file, &mut Sources::new());
    let (reattached, reattach_problem) = match yuba_plugin::reattached(&settings.reattach) {
        Ok(reattached) => (reattached, None),
        Err(problem) => (BTreeMap::new(), Some(problem)),
    };
    let others: BTreeSet<ProviderSource> = reattached.keys().cloned().collect();
    let selection = selected(&settings.data_dir, &locks, &settings.overrides, &others, &Verified::of_user());
    Found { locks, selection, reattached, reattach_problem }
}

impl Found {
    /// Whether a provider is under development or run by somebody else, so that its version does not matter.
    fn is_special(&self, provider: &ProviderSource) -> bool {
        self.reattached.contains_key(provider)
            || matches!(self.selection.packages.get(provider), Some(Ok(package)) if package.version.is_none())
    }

    /// Whether there is a provider.
    pub(super) fn has(&self, provider: &ProviderSource) -> bool {
        self.reattached.contains_key(provider) || matches!(self.selection.packages.get(provider), Some(Ok(_)))
    }

    /// Where a provider comes from.
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

impl OurProviders {
    /// The packages of the providers of the working directory.
    pub fn selection(&self) -> &Selection {
        &self.inner.found().selection
    }

    /// What is wrong with the lock file.
    pub fn check_lock_file(&self, sources: &mut Sources) -> Diagnostics {
        match self.inner.settings.only_built_in {
            true => Diagnostics::new(),
            false => lock_file::read(&self.inner.settings.lock_file, sources).1,
        }
    }

    /// Whether everything that a configuration needs is selected and installed.
    pub fn check(&self, configuration: &mut Configuration) -> Diagnostics {
        let mut problems = self.check_lock_file(&mut configuration.sources);
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
        for (provider, requirement) in configuration.tree.requirements() {
            match crate::install::constraints(&requirement) {
                Ok(constraints) => drop(needed.insert(provider, constraints)),
                Err(problem) => problems.push(*problem),
            }
        }
        problems.extend(check_selections(&needed, &found.locks, &|provider| {
            found.is_special(provider) || self.inner.settings.overrides.contains_key(provider)
        }));
        problems
    }

    /// Says that providers under development are used, where that matters.
    pub fn overrides_warning(&self) -> Option<Diagnostic> {
        let overrides = &self.inner.settings.overrides;
        (!overrides.is_empty()).then(|| diagnostics::overrides_in_effect(overrides))
    }
}
