//! The providers of this program: the one that is built in, and those that are installed in the working directory.
//!
//! Nothing is read and nothing is started before somebody asks for it: a command that needs no provider starts none, and
//! one that needs a schema gets only that schema.

mod built_in;
mod selecting;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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
    /// Schemas that somebody asked for; none where they could not be had.
    schemas: Mutex<HashMap<ProviderSource, Option<Arc<ProviderSchema>>>>,
    /// Why schemas could not be had, until somebody says it.
    failures: Mutex<Vec<(ProviderSource, Diagnostic)>>,
    /// Providers that run without being configured. Whoever needs a new one takes it from here.
    idle: Mutex<HashMap<ProviderSource, Arc<dyn Provider>>>,
    /// How states of others are encrypted.
    encryption: Mutex<Encryption>,
}

/// What is locked here is whole at any time.
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
        };
        InstalledProviders { inner }
    }

    /// Only what is built in.
    pub fn built_in() -> InstalledProviders {
        InstalledProviders::new(ProviderSettings { only_built_in: true, ..ProviderSettings::new("") })
    }

    /// Whether a provider is a part of this program.
    pub(crate) fn is_built_in(provider: &ProviderSource) -> bool {
        is_built_in(provider)
    }

    /// States of others are encrypted like this from now on.
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

    /// Why schemas that somebody asked for could not be had. Each is told once.
    pub fn failures(&self) -> Diagnostics {
        let mut failures = Diagnostics::new();
        failures
            .extend(self.failed().iter().map(|(provider, reason)| diagnostics::schema_not_loaded(provider, reason)));
        failures
    }

    /// The same as reasons by provider.
    pub(crate) fn failed(&self) -> Vec<(ProviderSource, Diagnostic)> {
        std::mem::take(&mut lock(&self.inner.failures))
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
        // A process that only validated so far is configured, unless somebody still counts on it.
        let idle = match lock(&self.inner.idle).entry(provider.clone()) {
            Entry::Occupied(entry) if Arc::strong_count(entry.get()) == 1 => Some(entry.remove()),
            _ => None,
        };
        idle.map_or_else(|| self.inner.start(provider), Ok)
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
        // Who is not there at all is missed by those who need it; who is there has to say what it has.
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

    /// On another thread: the answer is waited for, and this one may be running an executor.
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

    /// A provider that nobody configures; started once.
    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        if let Some(running) = lock(&self.idle).get(provider) {
            return Ok(running.clone());
        }
        let started = self.start(provider)?;
        lock(&self.idle).insert(provider.clone(), started.clone());
        Ok(started)
    }
}
