//! The one door to providers: their schemas, provider processes, and the calls that evaluation needs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsProviderConfig, ProviderSource, ResourceMode};
use yuba_value::Value;
use yuba_value::function::{self, FunctionError, Signature};

use crate::builtin::Terraform;
use crate::contract::{Answer, Outcome, Provider, ready};
use crate::diagnostics;
use crate::problem::Problem;
use crate::schema::ProviderSchema;

/// All providers of a run. Everything that is asked of a provider goes through it.
///
/// A layer over other providers implements this trait and forwards what it does not change.
pub trait Providers: Send + Sync {
    /// The schema of a provider; none if the provider is not installed or did not return one.
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>>;

    /// Whether a provider is installed. Starts no process.
    fn has(&self, provider: &ProviderSource) -> bool {
        self.schema(provider).is_some()
    }

    /// Starts the provider of a provider configuration. Called once for each instance of the configuration.
    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>>;

    /// A plan changes an object of an instance of a provider configuration. If the plan is applied, the provider is started for
    /// the same instance again. Called once for each instance and plan.
    fn change_planned(&self, _config: &AbsProviderConfig) {}

    /// A provider that is never configured. It validates configurations, and those of its functions can be called that its
    /// schema declares. All callers share it.
    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>>;

    /// The provider that a call is for.
    fn callee(&self, callee: &Callee) -> Result<Arc<dyn Provider>, Box<Problem>> {
        match callee {
            Callee::Configured(provider) => Ok(provider.clone()),
            Callee::Unconfigured(provider) => self.unconfigured(provider),
        }
    }

    /// Calls a function by its name without namespace.
    fn call_function(&self, callee: &Callee, name: EcoString, args: Vec<Value>) -> Answer<'_, function::Result> {
        match self.callee(callee) {
            Ok(provider) => Box::pin(async move { provider.call_function(name, args).await }),
            Err(problem) => ready(Err(not_reached(&problem))),
        }
    }

    /// The functions of a provider by name, which may be more than its schema declares once it is configured.
    fn functions(&self, callee: &Callee) -> Answer<'_, Outcome<BTreeMap<EcoString, Signature>>> {
        match self.callee(callee) {
            Ok(provider) => Box::pin(async move { provider.functions().await }),
            Err(problem) => ready(Outcome::failed(*problem)),
        }
    }

    /// Problems that a provider finds in a configuration, in which values may be unknown.
    fn validate(&self, provider: &ProviderSource, of: ConfigurationOf, config: Value) -> Answer<'_, Vec<Problem>> {
        match self.unconfigured(provider) {
            Ok(provider) => Box::pin(async move {
                match of {
                    ConfigurationOf::Provider => provider.validate_provider_config(config).await,
                    ConfigurationOf::Resource(ResourceMode::Managed, kind) => {
                        provider.validate_resource_config(kind, config).await
                    }
                    ConfigurationOf::Resource(ResourceMode::Data, kind) => {
                        provider.validate_data_config(kind, config).await
                    }
                    ConfigurationOf::Resource(ResourceMode::Ephemeral, kind) => {
                        provider.validate_ephemeral_config(kind, config).await
                    }
                }
            }),
            Err(problem) => ready(vec![*problem]),
        }
    }
}

fn not_reached(problem: &Problem) -> FunctionError {
    let diagnostic = &problem.diagnostic;
    FunctionError::new(eco_format!("{}: {}", diagnostic.summary, diagnostic.explanation()))
}

/// The object that a validated configuration configures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigurationOf {
    /// The provider itself.
    Provider,
    /// A resource of a type.
    Resource(ResourceMode, EcoString),
}

/// The provider that a call is for.
#[derive(Clone)]
pub enum Callee {
    /// An instance of a provider configuration.
    Configured(Arc<dyn Provider>),
    /// The shared process of a provider that is not configured.
    Unconfigured(ProviderSource),
}

/// A call whose result evaluation needs.
#[derive(Clone)]
pub enum ProviderCall {
    /// Calls a function. The arguments have the types of the parameters, and no marks.
    Function {
        /// The provider that has the function.
        callee: Callee,
        /// The name of the function, without namespace.
        name: EcoString,
        /// The arguments.
        args: Vec<Value>,
    },
    /// Lists the functions of a configured provider, which may be more than its schema declares.
    Functions {
        /// The provider.
        callee: Callee,
    },
}

impl fmt::Debug for ProviderCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProviderCall::Function { name, args, .. } => f.debug_tuple("Function").field(name).field(args).finish(),
            ProviderCall::Functions { .. } => f.write_str("Functions"),
        }
    }
}

/// Providers of which only the schemas are known, as in a saved plan. None of them can be started.
#[derive(Clone, Debug, Default)]
pub struct RecordedSchemas(BTreeMap<ProviderSource, Arc<ProviderSchema>>);

impl RecordedSchemas {
    /// Providers with these schemas, and the built-in provider.
    pub fn new(schemas: BTreeMap<ProviderSource, ProviderSchema>) -> RecordedSchemas {
        let built_in = (ProviderSource::builtin("terraform"), Terraform::shared_schema());
        let recorded = schemas.into_iter().map(|(source, schema)| (source, Arc::new(schema)));
        RecordedSchemas(recorded.chain([built_in]).collect())
    }
}

impl Providers for RecordedSchemas {
    fn schema(&self, provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
        self.0.get(provider).cloned()
    }
    fn start(&self, config: &AbsProviderConfig) -> Result<Arc<dyn Provider>, Box<Problem>> {
        self.unconfigured(&config.provider)
    }
    fn unconfigured(&self, provider: &ProviderSource) -> Result<Arc<dyn Provider>, Box<Problem>> {
        Err(Box::new(Problem::nowhere(diagnostics::only_schema_recorded(provider))))
    }
}
