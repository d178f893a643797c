//! A provider of objects that exist only in memory, for tests and for the simulator.
//!
//! A [`FakeWorld`] holds the real objects: providers that are started from it change it and record their requests, in
//! order. Attributes (`behave = "fail_create"`) or a function ([`FakeWorld::with_faults`]) inject faults.
//! Nothing depends on time or chance.

mod delay;
mod provider;
mod schema;
mod thing;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_syntax::Severity;
use yuba_value::Value;

use crate::builtin::{RemoteOutput, RemoteState, StateReader, Terraform};
use crate::contract::{Answer, Outcome, Provider, ready};
use crate::diagnostics::provider_reported;
use crate::problem::Problem;
use crate::providers::Providers;
use crate::schema::ProviderSchema;

pub use provider::Fake;

/// The real objects, and the record of requests. Clones share them.
#[derive(Clone, Default)]
pub struct FakeWorld(Arc<Mutex<Inside>>);

/// An existing object.
#[derive(Clone, Debug)]
pub struct FakeObject {
    /// The `region` of the provider configuration that made it.
    pub region: EcoString,
    /// Its attributes.
    pub value: Value,
}

/// The fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error, and nothing happens.
    Fail,
    /// It happens, and an error accompanies the response.
    Partial,
    /// It happens, but the response is only an error.
    Lost,
    /// It happens, but the response has a wrong value.
    Lie,
    /// The response has unknown values.
    Unknown,
    /// The response comes after this number of polls.
    Slow(u32),
    /// The response comes when the provider is stopped, as an error.
    Hang,
    /// The response never comes.
    Deaf,
}

/// Returns the fault of a request, given as `create NAME`, `update NAME`, `delete NAME`, `read NAME`, `plan NAME` ...
pub type Faults = Box<dyn FnMut(&str) -> Option<Fault> + Send>;

#[derive(Default)]
struct Inside {
    made: u64,
    objects: BTreeMap<EcoString, FakeObject>,
    open: BTreeMap<EcoString, EcoString>,
    log: Vec<EcoString>,
    faults: Option<Faults>,
    stopped: bool,
    waiting: Vec<Waker>,
}

impl FakeWorld {
    /// A world where nothing exists.
    pub fn new() -> FakeWorld {
        FakeWorld::default()
    }
    /// With a function that injects faults. Attributes are used only where it returns none.
    #[must_use]
    pub fn with_faults(self, faults: impl FnMut(&str) -> Option<Fault> + Send + 'static) -> FakeWorld {
        self.inside().faults = Some(Box::new(faults));
        self
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All existing objects, by id.
    pub fn objects(&self) -> BTreeMap<EcoString, FakeObject> {
        self.inside().objects.clone()
    }
    /// Names of existing objects, sorted.
    pub fn names(&self) -> Vec<EcoString> {
        let mut names: Vec<_> = self.inside().objects.values().map(|object| thing::name(&object.value)).collect();
        names.sort();
        names
    }
    /// Names of ephemeral tokens that are open.
    pub fn open_tokens(&self) -> Vec<EcoString> {
        self.inside().open.values().cloned().collect()
    }
    /// Requests, in order: `create a` when it begins and `created a` when it is done.
    pub fn log(&self) -> Vec<EcoString> {
        self.inside().log.clone()
    }
    /// Requests since the last call.
    pub fn take_log(&self) -> Vec<EcoString> {
        std::mem::take(&mut self.inside().log)
    }
    /// Changes an attribute of an object from outside.
    pub fn change(&self, id: &str, attribute: &str, value: Value) {
        if let Some(object) = self.inside().objects.get_mut(id) {
            object.value = thing::with(&object.value, attribute, value);
        }
    }
    /// Destroys an object from outside.
    pub fn destroy(&self, id: &str) {
        self.inside().objects.remove(id);
    }

    /// Providers that were stopped work again.
    pub fn resume(&self) {
        self.inside().stopped = false;
    }

    fn note(&self, line: EcoString) {
        self.inside().log.push(line);
    }
    /// Records the beginning of a request, and returns its fault.
    fn begin(&self, verb: &str, name: &str, behave: &str) -> Option<Fault> {
        let line = eco_format!("{verb} {name}");
        let mut inside = self.inside();
        inside.log.push(line.clone());
        let Inside { faults, .. } = &mut *inside;
        let fault = faults.as_mut().and_then(|faults| faults(&line));
        fault.or_else(|| fault_of(behave, verb))
    }
    /// A new provider, not configured yet.
    pub fn provider(&self) -> Fake {
        Fake::new(self.clone())
    }
    /// The schema of the fake provider.
    pub fn schema() -> Arc<ProviderSchema> {
        schema::SCHEMA.clone()
    }
}

/// The fault that an attribute like `fail_create` defines for a request. A name without `_` applies to all requests
/// that change objects.
fn fault_of(behave: &str, verb: &str) -> Option<Fault> {
    let (what, when) = behave.split_once('_').unwrap_or((behave, ""));
    let changes = matches!(verb, "create" | "update" | "delete");
    if !(when == verb || (when.is_empty() || when == "apply") && changes) {
        return None;
    }
    Some(match what {
        "fail" => Fault::Fail,
        "partial" => Fault::Partial,
        "lost" => Fault::Lost,
        "lie" => Fault::Lie,
        "unknown" => Fault::Unknown,
        "slow" => Fault::Slow(3),
        "hang" => Fault::Hang,
        _ => return None,
    })
}

fn problem(summary: &str, detail: EcoString) -> Problem {
    Problem::nowhere(provider_reported(Severity::Error, summary, detail))
}

/// No remote states.
struct NoStates;

impl StateReader for NoStates {
    fn check(&self, _backend: &str, _config: &Value) -> Vec<Problem> {
        Vec::new()
    }
    fn outputs(&self, _request: RemoteState) -> Answer<'_, Outcome<Option<BTreeMap<EcoString, RemoteOutput>>>> {
        ready(Outcome::ok(None))
    }
}

/// The fake provider under every source of type `fake`, and the built-in one with ids `id-1`, `id-2`, ...
impl Providers for FakeWorld {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        match &*provider.kind {
            "terraform" if provider.is_builtin() => Some(Terraform::shared_schema()),
            "fake" => Some(FakeWorld::schema()),
            _ => None,
        }
    }

    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>> {
        self.unconfigured(&config.provider)
    }

    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        match &*provider.kind {
            "terraform" if provider.is_builtin() => {
                let world = self.clone();
                let ids = Arc::new(move || {
                    let mut inside = world.inside();
                    inside.made += 1;
                    eco_format!("id-{}", inside.made)
                });
                Ok(Arc::new(Terraform::new(ids, Arc::new(NoStates))))
            }
            "fake" => Ok(Arc::new(self.provider())),
            _ => {
                let detail = eco_format!("This world does not contain the provider {provider}.");
                Err(Box::new(problem("Missing provider", detail)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
