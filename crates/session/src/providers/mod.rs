//! The providers of this program: the one that is built in, and those that are installed in the working directory.
//!
//! Nothing is read and nothing is started before somebody asks for it: a command that needs no provider starts none, and
//! one that needs a schema gets only that schema.

mod asking;
mod built_in;
mod selecting;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ecow::eco_format;
use yuba_addrs::ProviderSource;
use yuba_provider::{Problem, Provider, ProviderSchema, Providers};
use yuba_syntax::{Diagnostic, Diagnostics};

pub use asking::Functions;
pub use built_in::new_id;
pub use selecting::ProviderSettings;

/// Finds the schema of a provider.
pub type Schemas = dyn Fn(&ProviderSource) -> Option<Arc<ProviderSchema>> + Send + Sync;

/// All providers there are.
pub struct OurProviders {
    inner: Arc<Inner>,
    schemas: Box<Schemas>,
}

struct Inner {
    settings: ProviderSettings,
    found: OnceLock<selecting::Found>,
    /// Schemas that somebody asked for; none where they could not be had.
    schemas: Mutex<HashMap<ProviderSource, Option<Arc<ProviderSchema>>>>,
    /// Why schemas could not be had, until somebody says it.
    failures: Mutex<Diagnostics>,
    /// Providers that run without being configured. Whoever needs a new one takes it from here.
    idle: Mutex<HashMap<ProviderSource, Arc<dyn Provider>>>,
}

/// What is locked here is whole at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OurProviders {
    /// Those of a working directory.
    pub fn new(settings: ProviderSettings) -> OurProviders {
        let inner = Arc::new(Inner {
            settings,
            found: OnceLock::new(),
            schemas: Mutex::default(),
            failures: Mutex::default(),
            idle: Mutex::default(),
        });
        let of = inner.clone();
        OurProviders { inner, schemas: Box::new(move |provider| of.schema(provider)) }
    }

    /// Only what is built in.
    pub fn built_in() -> OurProviders {
        OurProviders::new(ProviderSettings { only_built_in: true, ..ProviderSettings::new("") })
    }

    /// Whether there is a provider, without starting it.
    pub fn has(&self, provider: &ProviderSource) -> bool {
        is_built_in(provider)
            || self.inner.is_special(provider)
            || matches!(self.selection().packages.get(provider), Some(Ok(_)))
    }

    /// Finds schemas.
    pub fn schemas(&self) -> &Schemas {
        &*self.schemas
    }

    /// Why schemas that somebody asked for could not be had. Each is told once.
    pub fn failures(&self) -> Diagnostics {
        std::mem::take(&mut lock(&self.inner.failures))
    }
}

impl Providers for OurProviders {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        self.inner.schema(provider)
    }

    fn start(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        let idle = lock(&self.inner.idle).remove(provider);
        idle.map_or_else(|| self.inner.start(provider), Ok)
    }
}

fn is_built_in(provider: &ProviderSource) -> bool {
    provider.is_builtin() && provider.kind == "terraform"
}

impl Inner {
    fn found(&self) -> &selecting::Found {
        self.found.get_or_init(|| selecting::find(&self.settings, &BTreeSet::new()))
    }

    /// Whether a provider is under development or run by somebody else, so that its version does not matter.
    fn is_special(&self, provider: &ProviderSource) -> bool {
        self.settings.overrides.contains_key(provider)
    }

    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        if is_built_in(provider) {
            return Some(built_in::SCHEMA.clone());
        }
        if let Some(known) = lock(&self.schemas).get(provider) {
            return known.clone();
        }
        None
    }

    fn start(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        if is_built_in(provider) {
            return Ok(Arc::new(built_in::start()));
        }
        let detail = eco_format!("This version of Yuba cannot start the provider {}.", provider.for_display());
        Err(Box::new(Problem::nowhere(Diagnostic::error("Provider not available", detail))))
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
