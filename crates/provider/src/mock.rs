//! Providers that do nothing: for tests, instead of real ones.
//!
//! A [`Mock`] validates a configuration as the provider itself does, but never asks it for anything else: it
//! has an object ready for every resource, made of the configuration, of what the test says, and of made-up values.
//! [`Substitutions`] says what a test replaces: provider configurations, single resources, modules. [`Substituted`] is the layer over
//! other providers that starts mocks for the replaced configurations.

mod compose;
mod generate;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::{
    AbsProviderConfig, AbsResourceInstance, ConfigResource, InstanceKey, ModulePath, ProviderSource, ResourceMode,
};
use yuba_value::Value;
use yuba_value::function::FunctionError;

use crate::contract::{
    Answer, ApplyAnswer, ApplyRequest, DataAnswer, DataRequest, ImportBy, ImportRequest, Imported, MoveAnswer,
    MoveRequest, Opened, Outcome, PlanAnswer, PlanRequest, Private, Provider, ReadAnswer, ReadRequest, Renewed,
    UpgradeRequest, ready,
};
use crate::diagnostics;
use crate::problem::{Problem, ProblemLocation};
use crate::providers::Providers;
use crate::schema::{BlockSchema, ProviderSchema};
use compose::Composer;
use generate::Generator;

/// A provider that does nothing.
pub struct Mock {
    /// Source of the schema.
    inner: Arc<dyn Provider>,
    /// Values of the test for the resource: an object, or null.
    given: Value,
    seed: u64,
    /// Name that generated values depend on, beside the seed.
    name: EcoString,
}

impl Mock {
    /// Replaces a provider. `given` is an object, or null.
    pub fn new(inner: Arc<dyn Provider>, given: Value, seed: u64, name: EcoString) -> Mock {
        Mock { inner, given, seed, name }
    }

    fn compose(&self, schema: Option<&BlockSchema>, kind: &str, config: &Value, prior: &Value) -> Outcome<Value> {
        let Some(schema) = schema else {
            return Outcome::failed(Problem::nowhere(diagnostics::mock_type_unknown(kind)));
        };
        let mut composer = Composer { generator: Generator::new(self.seed, &self.name), problems: Vec::new() };
        let value = composer.block(schema, config, &self.given, prior);
        let failed = composer.problems.iter().any(|problem| problem.diagnostic.is_error());
        Outcome { value: (!failed).then_some(value), problems: composer.problems }
    }

    fn managed(&self, kind: &EcoString, config: &Value, prior: &Value) -> Outcome<Value> {
        let schema = self.inner.schema();
        self.compose(schema.resources.get(kind).map(|schema| &schema.block), kind, config, prior)
    }
}

impl Provider for Mock {
    fn schema(&self) -> Arc<ProviderSchema> {
        self.inner.schema()
    }

    fn validate_provider_config(&self, _: Value) -> Answer<'_, Vec<Problem>> {
        ready(Vec::new())
    }
    fn validate_resource_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.inner.validate_resource_config(kind, config)
    }
    fn validate_data_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.inner.validate_data_config(kind, config)
    }
    fn validate_ephemeral_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.inner.validate_ephemeral_config(kind, config)
    }
    fn configure(&self, _: Value) -> Answer<'_, Vec<Problem>> {
        ready(Vec::new())
    }

    fn upgrade_state(&self, request: UpgradeRequest) -> Answer<'_, Outcome<Value>> {
        self.inner.upgrade_state(request)
    }
    fn upgrade_identity(&self, kind: EcoString, version: u64, raw: EcoString) -> Answer<'_, Outcome<Value>> {
        self.inner.upgrade_identity(kind, version, raw)
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Outcome<ReadAnswer>> {
        let ReadRequest { prior, private, identity, .. } = request;
        ready(Outcome::ok(ReadAnswer { state: prior, private, identity }))
    }

    fn plan(&self, request: PlanRequest) -> Answer<'_, Outcome<PlanAnswer>> {
        let PlanRequest { kind, prior, proposed, config, prior_private: private, prior_identity: identity, .. } =
            request;
        let planned = match config.is_null() || proposed.is_null() {
            true => Outcome::ok(proposed),
            false => self.managed(&kind, &config, &prior),
        };
        ready(planned.map(|planned| PlanAnswer {
            planned,
            requires_replace: Vec::new(),
            private,
            legacy_type_system: false,
            identity,
        }))
    }

    fn apply(&self, request: ApplyRequest) -> Answer<'_, Outcome<ApplyAnswer>> {
        let ApplyRequest { kind, prior, planned, config, planned_private: private, planned_identity: identity, .. } =
            request;
        let state = match planned.is_wholly_known() {
            true => Outcome::ok(planned),
            false => self.managed(&kind, &config, &prior),
        };
        ready(state.map(|state| ApplyAnswer { state, private, legacy_type_system: false, identity }))
    }

    fn import(&self, request: ImportRequest) -> Answer<'_, Outcome<Vec<Imported>>> {
        let ImportRequest { kind, by } = request;
        let schema = self.inner.schema();
        let Some(block) = schema.resources.get(&kind).map(|schema| &schema.block) else {
            return ready(self.managed(&kind, &Value::null_dynamic(), &Value::null_dynamic()).map(|_| Vec::new()));
        };
        // There is no real object, so the imported one is generated around the id.
        let mut known = block.empty_value().entries().unwrap_or_default();
        if let ImportBy::Id(id) = by
            && let Some((_, value)) = known.iter_mut().find(|(name, _)| name == "id")
        {
            *value = Value::string(id);
        }
        let state = Value::object(known);
        ready(Outcome::ok(vec![Imported { kind, state, private: Private::new(), identity: None }]))
    }

    fn move_state(&self, request: MoveRequest) -> Answer<'_, Outcome<MoveAnswer>> {
        let diagnostic = diagnostics::mock_move_unsupported(&request.source_kind, &request.target_kind);
        ready(Outcome::failed(Problem { diagnostic, location: ProblemLocation::Block }))
    }

    fn read_data(&self, request: DataRequest) -> Answer<'_, Outcome<DataAnswer>> {
        let DataRequest { kind, config, .. } = request;
        let schema = self.inner.schema();
        let schema = schema.data.get(&kind).map(|schema| &schema.block);
        ready(self.compose(schema, &kind, &config, &Value::null_dynamic()).map(DataAnswer::plain))
    }

    fn open_ephemeral(&self, kind: EcoString, config: Value) -> Answer<'_, Outcome<Opened>> {
        let schema = self.inner.schema();
        let schema = schema.ephemeral.get(&kind).map(|schema| &schema.block);
        let opened = self.compose(schema, &kind, &config, &Value::null_dynamic());
        ready(opened.map(|value| Opened { value, private: Private::new(), renew_at: None }))
    }
    fn renew_ephemeral(&self, _: EcoString, private: Private) -> Answer<'_, Outcome<Renewed>> {
        ready(Outcome::ok(Renewed { private, renew_at: None }))
    }
    fn close_ephemeral(&self, _: EcoString, _: Private) -> Answer<'_, Vec<Problem>> {
        ready(Vec::new())
    }

    fn call_function(&self, name: EcoString, args: Vec<Value>) -> Answer<'_, Result<Value, FunctionError>> {
        self.inner.call_function(name, args)
    }
    fn stop(&self) -> Answer<'_, Vec<Problem>> {
        self.inner.stop()
    }
}

/// Values of a mock provider for its resources.
#[derive(Clone, Debug, Default)]
pub struct MockDefaults {
    /// For all resources of a type.
    pub types: BTreeMap<(ResourceMode, EcoString), Value>,
    /// For single resources.
    pub resources: BTreeMap<ConfigResource, Value>,
    /// Instead of all this, for instances of the provider configuration where it refers to them: by key.
    pub instances: BTreeMap<EcoString, MockDefaults>,
}

impl MockDefaults {
    /// Values for an instance of the provider configuration.
    fn of(&self, key: Option<&InstanceKey>) -> &MockDefaults {
        let own = match key {
            Some(InstanceKey::String(key)) => self.instances.get(key),
            _ => None,
        };
        own.unwrap_or(self)
    }
}

/// Replacements of a test. Empty by default.
#[derive(Clone, Debug, Default)]
pub struct Substitutions {
    /// Provider configurations that are mocks.
    pub mocks: BTreeMap<AbsProviderConfig, MockDefaults>,
    /// Resources that no provider is asked about, with the values that the test gives.
    pub resources: BTreeMap<ConfigResource, Value>,
    /// Objects that no provider is asked about.
    pub objects: BTreeSet<AbsResourceInstance>,
    /// Modules that are not evaluated, with their outputs: objects.
    pub modules: BTreeMap<ModulePath, Value>,
    /// Made-up values are the same for the same seed.
    pub seed: u64,
}

impl Substitutions {
    /// Nothing is replaced.
    pub fn none() -> &'static Substitutions {
        static NONE: Substitutions = Substitutions {
            mocks: BTreeMap::new(),
            resources: BTreeMap::new(),
            objects: BTreeSet::new(),
            modules: BTreeMap::new(),
            seed: 0,
        };
        &NONE
    }

    /// The provider that is asked about an instance of a resource instead of the one it belongs to: that of an instance of a
    /// provider configuration.
    pub fn stand_in(
        &self,
        config: &AbsProviderConfig,
        key: Option<&InstanceKey>,
        instance: &AbsResourceInstance,
        provider: &Arc<dyn Provider>,
    ) -> Option<Arc<dyn Provider>> {
        if self.resources.is_empty() && self.mocks.is_empty() && self.objects.is_empty() {
            return None;
        }
        let resource = instance.config();
        let given = match (self.resources.get(&resource), self.mocks.get(config)) {
            (Some(given), _) => given.clone(),
            (None, Some(mock)) => {
                let mock = mock.of(key);
                let of_type = || mock.types.get(&(resource.resource.mode, resource.resource.kind.clone()));
                mock.resources.get(&resource).or_else(of_type).cloned().unwrap_or_else(Value::null_dynamic)
            }
            (None, None) if self.objects.contains(instance) => Value::null_dynamic(),
            (None, None) => return None,
        };
        Some(Arc::new(Mock::new(provider.clone(), given, self.seed, eco_format!("{instance}"))))
    }
}

/// Providers of which some are mocks.
#[derive(Clone, Copy)]
pub struct Substituted<'a> {
    /// Starts the real providers, and validates for the mocks.
    pub inner: &'a dyn Providers,
    /// Says which are mocks.
    pub substitutions: &'a Substitutions,
}

impl Providers for Substituted<'_> {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        self.inner.schema(provider)
    }
    fn has(&self, provider: &ProviderSource) -> bool {
        self.inner.has(provider)
    }
    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>> {
        if !self.substitutions.mocks.contains_key(config) {
            return self.inner.start(config);
        }
        let inner = self.inner.unconfigured(&config.provider)?;
        Ok(Arc::new(Mock::new(inner, Value::null_dynamic(), self.substitutions.seed, EcoString::new())))
    }
    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        self.inner.unconfigured(provider)
    }
}
