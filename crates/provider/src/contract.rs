//! The contract: requests to a provider, and the responses.
//!
//! Values cross it without marks: the caller removes marks before and restores them after. Requests own their data;
//! values, names and private bytes are cheap to clone.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ecow::{EcoString, EcoVec};
use yuba_addrs::{AbsResourceInstance, ProviderSource};
use yuba_value::function::{FunctionError, Signature};
use yuba_value::{MarkedPaths, Path, Value};

use crate::diagnostics;
use crate::problem::Problem;
use crate::schema::ProviderSchema;

/// A response that may take a while.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A response that is ready already.
pub fn ready<'a, T: Send + 'a>(answer: T) -> Answer<'a, T> {
    Box::pin(std::future::ready(answer))
}

/// Opaque bytes that a provider gets back with the next request about the same object.
pub type Private = EcoVec<u8>;

/// A moment, in milliseconds since the beginning of 1970 (UTC).
pub type Millis = i64;

/// The outcome of a request: a response, problems, or both (an object may exist although creating it failed).
#[derive(Clone, Debug)]
pub struct Outcome<T> {
    /// The response.
    pub value: Option<T>,
    /// Errors and warnings.
    pub problems: Vec<Problem>,
}

impl<T> Outcome<T> {
    /// A response without problems.
    pub fn ok(value: T) -> Outcome<T> {
        Outcome { value: Some(value), problems: Vec::new() }
    }
    /// No response, because of a problem.
    pub fn failed(problem: Problem) -> Outcome<T> {
        Outcome { value: None, problems: vec![problem] }
    }
    /// No response, because of problems.
    pub fn failed_with(problems: Vec<Problem>) -> Outcome<T> {
        Outcome { value: None, problems }
    }
    /// Whether an error is among the problems.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.diagnostic.is_error())
    }
    /// No response, because the provider does not implement the request. The default of messages that only some providers have.
    pub fn unsupported(request: &str) -> Outcome<T> {
        Outcome::failed(Problem::nowhere(diagnostics::unsupported_request(request)))
    }
    /// The same with another response.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        Outcome { value: self.value.map(change), problems: self.problems }
    }
}

/// A provider that has been started: one for each instance of a provider configuration, or one that is never configured
/// and only says what is valid.
pub trait Provider: Send + Sync {
    /// Its schema; known since it was started.
    fn schema(&self) -> Arc<ProviderSchema>;

    /// Validates the configuration of the provider.
    fn validate_provider_config(&self, config: Value) -> Answer<'_, Vec<Problem>>;
    /// Validates the configuration of a managed resource.
    fn validate_resource_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>>;
    /// Validates the configuration of a data resource.
    fn validate_data_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>>;
    /// Validates the configuration of an ephemeral resource.
    fn validate_ephemeral_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>>;

    /// Makes it ready for everything below; asked once.
    fn configure(&self, config: Value) -> Answer<'_, Vec<Problem>>;

    /// Whether an object that was stored with the present version of its schema is what its JSON says by that schema, so
    /// that [`Provider::upgrade_state`] need not be called for it. Only a provider inside this process can promise that.
    fn stores_as_is(&self) -> bool {
        false
    }
    /// A stored object by the current schema.
    fn upgrade_state(&self, request: UpgradeRequest) -> Answer<'_, Outcome<Value>>;
    /// A stored identity by the current schema. `raw` is JSON.
    fn upgrade_identity(&self, kind: EcoString, version: u64, raw: EcoString) -> Answer<'_, Outcome<Value>> {
        let _ = (kind, version, raw);
        ready(Outcome { value: None, problems: Vec::new() })
    }
    /// Refreshes an object; the resulting state is null if it is gone.
    fn read(&self, request: ReadRequest) -> Answer<'_, Outcome<ReadAnswer>>;
    /// Plans a change.
    fn plan(&self, request: PlanRequest) -> Answer<'_, Outcome<PlanAnswer>>;
    /// Makes a change. A response with errors describes the partial result.
    fn apply(&self, request: ApplyRequest) -> Answer<'_, Outcome<ApplyAnswer>>;
    /// Finds objects that exist, to manage them from now on.
    fn import(&self, request: ImportRequest) -> Answer<'_, Outcome<Vec<Imported>>>;
    /// An object of another type, maybe of another provider, as an object of a type of this one.
    fn move_state(&self, request: MoveRequest) -> Answer<'_, Outcome<MoveAnswer>> {
        let _ = request;
        ready(Outcome::unsupported("move_state"))
    }

    /// Reads a data resource.
    fn read_data(&self, request: DataRequest) -> Answer<'_, Outcome<DataAnswer>>;

    /// Opens an ephemeral resource.
    fn open_ephemeral(&self, kind: EcoString, config: Value) -> Answer<'_, Outcome<Opened>>;
    /// Renews an ephemeral resource.
    fn renew_ephemeral(&self, kind: EcoString, private: Private) -> Answer<'_, Outcome<Renewed>>;
    /// Closes an ephemeral resource.
    fn close_ephemeral(&self, kind: EcoString, private: Private) -> Answer<'_, Vec<Problem>>;

    /// The functions that can be called, by name without namespace: once it is configured there may be more than its schema
    /// says.
    fn functions(&self) -> Answer<'_, Outcome<BTreeMap<EcoString, Signature>>> {
        ready(Outcome::ok(self.schema().functions.clone()))
    }
    /// Calls a function by its name without namespace.
    fn call_function(&self, name: EcoString, args: Vec<Value>) -> Answer<'_, Result<Value, FunctionError>>;

    /// Asks it to finish its operations.
    fn stop(&self) -> Answer<'_, Vec<Problem>> {
        ready(Vec::new())
    }
}

/// A stored object as it is stored.
#[derive(Clone, Debug)]
pub enum RawState {
    /// JSON of an object.
    Json(EcoString),
    /// An old format: strings by path, such as `tags.%` and `tags.name`.
    Flatmap(Arc<BTreeMap<EcoString, EcoString>>),
}

/// Asks for a stored object by the current schema.
#[derive(Clone, Debug)]
pub struct UpgradeRequest {
    /// The type of the managed resource.
    pub kind: EcoString,
    /// The version of the schema that it was stored with.
    pub version: u64,
    /// As it is stored.
    pub raw: RawState,
}

/// Asks what became of an object.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// The type of the managed resource.
    pub kind: EcoString,
    /// The object as it was.
    pub prior: Value,
    /// Private data of the provider.
    pub private: Private,
    /// The module's `provider_meta` for the provider; null if it is not set.
    pub provider_meta: Value,
    /// Its identity as it was.
    pub identity: Option<Value>,
}

/// The refreshed object.
#[derive(Clone, Debug)]
pub struct ReadAnswer {
    /// The object as it is; null if it is gone.
    pub state: Value,
    /// To be given back.
    pub private: Private,
    /// Its identity.
    pub identity: Option<Value>,
}

/// Asks what a change would lead to.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The type of the managed resource.
    pub kind: EcoString,
    /// The object as it is; null to create one.
    pub prior: Value,
    /// The configuration with what the provider set before; null to destroy it.
    pub proposed: Value,
    /// The configuration; null to destroy it.
    pub config: Value,
    /// Private data of the provider.
    pub prior_private: Private,
    /// The module's `provider_meta` for the provider; null if it is not set.
    pub provider_meta: Value,
    /// Its identity.
    pub prior_identity: Option<Value>,
}

/// The planned change.
#[derive(Clone, Debug)]
pub struct PlanAnswer {
    /// The object after the change, unknown where that shows only then.
    pub planned: Value,
    /// Values in it that cannot change while it exists: where one of these differs the object is replaced.
    pub requires_replace: Vec<Path>,
    /// To be given back.
    pub private: Private,
    /// The provider is made with a library that cannot follow all rules; some violations are only logged then.
    pub legacy_type_system: bool,
    /// The identity after the change.
    pub identity: Option<Value>,
}

/// Asks to make a change.
#[derive(Clone, Debug)]
pub struct ApplyRequest {
    /// The type of the managed resource.
    pub kind: EcoString,
    /// The object as it is; null to create one.
    pub prior: Value,
    /// The object as planned; null to destroy it.
    pub planned: Value,
    /// The configuration; null to destroy it.
    pub config: Value,
    /// Private data of the provider.
    pub planned_private: Private,
    /// The module's `provider_meta` for the provider; null if it is not set.
    pub provider_meta: Value,
    /// The identity as planned.
    pub planned_identity: Option<Value>,
}

/// The result of a change.
#[derive(Clone, Debug)]
pub struct ApplyAnswer {
    /// The current object; null if it does not exist.
    pub state: Value,
    /// To be given back.
    pub private: Private,
    /// As in [`PlanAnswer`].
    pub legacy_type_system: bool,
    /// Its identity.
    pub identity: Option<Value>,
}

/// By what an object to import is found.
#[derive(Clone, Debug)]
pub enum ImportBy {
    /// By an id in the provider's own words.
    Id(EcoString),
    /// By an object of the resource type's identity schema.
    Identity(Value),
}

/// Asks for objects that exist.
#[derive(Clone, Debug)]
pub struct ImportRequest {
    /// The type of the managed resource.
    pub kind: EcoString,
    /// The object.
    pub by: ImportBy,
}

/// An object that exists.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The type of the managed resource.
    pub kind: EcoString,
    /// As much as could be found out from what it was found by; is read again after.
    pub state: Value,
    /// To be given back.
    pub private: Private,
    /// Its identity.
    pub identity: Option<Value>,
}

/// Asks for an object of another type as an object of a type of this provider.
#[derive(Clone, Debug)]
pub struct MoveRequest {
    /// The provider it belonged to.
    pub source_provider: ProviderSource,
    /// The type it was of.
    pub source_kind: EcoString,
    /// The version of the schema that it was stored with.
    pub source_version: u64,
    /// As it is stored.
    pub source_raw: RawState,
    /// Private data of the other provider.
    pub source_private: Private,
    /// Its identity as it is stored, as JSON, with the version of the schema that it was stored with.
    pub source_identity: Option<(u64, EcoString)>,
    /// The type it shall be of.
    pub target_kind: EcoString,
}

/// An object after its type changed.
#[derive(Clone, Debug)]
pub struct MoveAnswer {
    /// The object by the schema of its new type.
    pub state: Value,
    /// To be given back.
    pub private: Private,
    /// Its identity by the schema of its new type.
    pub identity: Option<Value>,
}

/// Asks for a data resource.
#[derive(Clone, Debug)]
pub struct DataRequest {
    /// The type of the data resource.
    pub kind: EcoString,
    /// The configuration.
    pub config: Value,
    /// The module's `provider_meta` for the provider; null if it is not set.
    pub provider_meta: Value,
    /// The caller. For providers in this process: it does not go over the wire.
    pub address: AbsResourceInstance,
}

/// A data resource.
#[derive(Clone, Debug)]
pub struct DataAnswer {
    /// The object.
    pub state: Value,
    /// Marks on values in it beside those that the schema requires. Providers in other processes do not return marks.
    pub marks: MarkedPaths,
}

impl DataAnswer {
    /// An object without marks of its own.
    pub fn plain(state: Value) -> DataAnswer {
        DataAnswer { state, marks: MarkedPaths::new() }
    }
}

/// An ephemeral resource that was opened.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The object.
    pub value: Value,
    /// To be given back when it is renewed or closed.
    pub private: Private,
    /// Time of the renewal, if necessary.
    pub renew_at: Option<Millis>,
}

/// An ephemeral resource that was renewed.
#[derive(Clone, Debug)]
pub struct Renewed {
    /// To be given back when it is renewed or closed.
    pub private: Private,
    /// Time of the next renewal, if necessary.
    pub renew_at: Option<Millis>,
}
