//! The providers of this process: the built-in one, and those that are installed in the working directory.
//!
//! Nothing is read or started before it is needed: a command that needs no provider starts none, and one that needs a
//! schema gets only that schema.

mod built_in;
mod selecting;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_plugin::Plugins;
use yuba_provider::{Problem, Provider, ProviderSchema, Providers};
use yuba_syntax::{Diagnostic, Diagnostics};

use crate::diagnostics;

use crate::encryption::Encryption;

pub(crate) use built_in::Constants;
pub use built_in::new_id;
pub use selecting::ProviderSettings;
pub(crate) use selecting::adopting;

/// All providers there are.
pub struct InstalledProviders {
    inner: Inner,
}

struct Inner {
    settings: ProviderSettings,
    found: OnceLock<selecting::Found>,
    plugins: OnceLock<Plugins>,
    /// Schemas that were requested, or none where they could not be loaded.
    schemas: Mutex<HashMap<ProviderSource, Option<Arc<ProviderSchema>>>>,
    /// Reasons why schemas could not be loaded, until they are reported.
    failures: Mutex<Vec<(ProviderSource, Diagnostic)>>,
    /// Providers that run without being configured. A new user of a provider takes it from here.
    idle: Mutex<HashMap<ProviderSource, Arc<dyn Provider>>>,
    /// Encryption of remote states.
    encryption: Mutex<Encryption>,
    /// Plans are applied in this process.
    is_applied: AtomicBool,
}

/// Guarded data is consistent at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InstalledProviders {
    /// Those of a working directory.
    pub fn new(settings: ProviderSettings) -> InstalledProviders {
        let inner = Inner {
            settings,
            found: OnceLock::new(),
            plugins: OnceLock::new(),
            schemas: Mutex::default(),
            failures: Mutex::default(),
            idle: Mutex::default(),
            encryption: Mutex::default(),
            is_applied: AtomicBool::new(false),
        };
        InstalledProviders { inner }
    }

    /// Only what is built in.
    pub fn built_in() -> InstalledProviders {
        InstalledProviders::new(ProviderSettings { only_built_in: true, ..ProviderSettings::new("") })
    }

    /// Whether a provider is built in.
    pub(crate) fn is_built_in(provider: &ProviderSource) -> bool {
        is_built_in(provider)
    }

    /// Sets the encryption of remote states.
    pub fn set_encryption(&self, encryption: Encryption) {
        *lock(&self.inner.encryption) = encryption;
    }

    /// Has providers say again what they have, if only the disk has said it so far. Whether something is different now.
    pub fn renew_schemas(&self) -> bool {
        let changed = self.inner.plugins.get().is_some_and(Plugins::renew);
        if changed {
            lock(&self.inner.schemas).clear();
            lock(&self.inner.idle).clear();
        }
        changed
    }

    /// Loads schemas, all at the same time: each of them may take the start of a process.
    pub(crate) fn load_schemas<'p>(&self, providers: impl Iterator<Item = &'p ProviderSource>) {
        let inner = &self.inner;
        let missing: Vec<&ProviderSource> = providers.filter(|provider| !inner.knows_schema(provider)).collect();
        match missing.as_slice() {
            [] => {}
            [provider] => drop(inner.schema(provider)),
            _ => std::thread::scope(|scope| {
                for provider in missing {
                    scope.spawn(|| inner.schema(provider));
                }
            }),
        }
    }

    /// Starts processes in advance: as many of each provider as will be asked for soon. Nothing waits for them.
    pub(crate) fn prepare(&self, processes: &BTreeMap<ProviderSource, usize>) {
        for (provider, processes) in processes {
            self.inner.prepare(provider, *processes);
        }
    }

    /// Starts processes for applying as soon as a plan has a change for them: the plan is applied in this process, at once or after
    /// approval.
    pub fn expect_apply(&self) {
        self.inner.is_applied.store(true, Ordering::Relaxed);
    }

    /// Reasons why requested schemas could not be loaded. Each is reported once.
    pub fn failures(&self) -> Diagnostics {
        let mut failures = Diagnostics::new();
        failures
            .extend(self.failed().iter().map(|(provider, reason)| diagnostics::schema_not_loaded(provider, reason)));
        failures
    }

    /// The same as reasons by provider.
    pub(crate) fn failed(&self) -> Vec<(ProviderSource, Diagnostic)> {
        let mut failed = std::mem::take(&mut *lock(&self.inner.failures));
        failed.sort_by(|(one, _), (other, _)| one.cmp(other));
        failed
    }
}

impl Providers for InstalledProviders {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        self.inner.schema(provider)
    }

    fn has(&self, provider: &ProviderSource) -> bool {
        is_built_in(provider) || self.inner.found().has(provider)
    }

    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>> {
        let provider = &config.provider;
        // A process that has only validated so far is configured, unless it is still in use.
        let idle = match lock(&self.inner.idle).entry(provider.clone()) {
            Entry::Occupied(entry) if Arc::strong_count(entry.get()) == 1 => Some(entry.remove()),
            _ => None,
        };
        idle.map_or_else(|| self.inner.start(provider), Ok)
    }

    fn change_planned(&self, config: &AbsProviderConfig) {
        if self.inner.is_applied.load(Ordering::Relaxed) {
            self.inner.prepare_another(&config.provider);
        }
    }

    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        self.inner.unconfigured(provider)
    }
}

fn is_built_in(provider: &ProviderSource) -> bool {
    provider.is_builtin() && provider.kind == "terraform"
}

impl Inner {
    fn found(&self) -> &selecting::Found {
        self.found.get_or_init(|| selecting::find(&self.settings))
    }

    fn plugins(&self) -> &Plugins {
        self.plugins.get_or_init(|| Plugins::new(self.settings.plugins.clone()))
    }

    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        if is_built_in(provider) {
            return Some(built_in::SCHEMA.clone());
        }
        if let Some(known) = lock(&self.schemas).get(provider) {
            return known.clone();
        }
        // The commands that need a missing package report it; an installed package must match.
        let found = match self.found().has(provider) {
            false => None,
            true => match self.ask_for_schema(provider) {
                Ok(schema) => Some(schema),
                Err(problem) => {
                    lock(&self.failures).push((provider.clone(), problem.diagnostic));
                    None
                }
            },
        };
        lock(&self.schemas).insert(provider.clone(), found.clone());
        found
    }

    fn knows_schema(&self, provider: &ProviderSource) -> bool {
        is_built_in(provider) || lock(&self.schemas).contains_key(provider)
    }

    /// One of the processes will be the one without configuration, unless that runs already.
    fn prepare(&self, provider: &ProviderSource, processes: usize) {
        let running = usize::from(lock(&self.idle).contains_key(provider));
        if is_built_in(provider) || processes <= running || self.schema(provider).is_none() {
            return;
        }
        if let Ok(supply) = self.found().supply(provider) {
            self.plugins().prepare(provider, &supply, processes - running);
        }
    }

    fn prepare_another(&self, provider: &ProviderSource) {
        if !is_built_in(provider)
            && let Ok(supply) = self.found().supply(provider)
        {
            self.plugins().prepare_another(provider, &supply);
        }
    }

    /// Runs on another thread: it blocks until the response arrives, and this thread may be running an executor.
    fn ask_for_schema(&self, provider: &ProviderSource) -> Result<Arc<ProviderSchema>, Box<Problem>> {
        let supply = self.found().supply(provider)?;
        let plugins = self.plugins();
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| plugins.schema(provider, &supply));
            asking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn start(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        if is_built_in(provider) {
            return Ok(Arc::new(built_in::start(lock(&self.encryption).clone(), self.settings.backends.clone())));
        }
        // Its schema is known before it is started, so starting it waits for nothing.
        self.schema(provider);
        self.plugins().start(provider, &self.found().supply(provider)?)
    }

    /// A provider without configuration; started once.
    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        if let Some(running) = lock(&self.idle).get(provider) {
            return Ok(running.clone());
        }
        let started = self.start(provider)?;
        lock(&self.idle).insert(provider.clone(), started.clone());
        Ok(started)
    }
}
