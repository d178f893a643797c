//! The built-in provider behind the same interface as all other providers.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsResourceInstance, ResourceMode};
use yuba_value::Value;
use yuba_value::function::FunctionError;

use super::remote_state::SensitiveOutputs;
use super::{TERRAFORM, call_function, remote_state, terraform_data, validate_resource_config};
use crate::contract::{
    Answer, ApplyAnswer, ApplyRequest, DataAnswer, DataRequest, ImportBy, ImportRequest, Imported, MoveAnswer,
    MoveRequest, Opened, Outcome, PlanAnswer, PlanRequest, Private, Provider, ReadAnswer, ReadRequest, Renewed,
    UpgradeRequest, ready,
};
use crate::decode::EvalExpr;
use crate::diagnostics;
use crate::problem::Problem;
use crate::schema::ProviderSchema;

/// Makes unique ids for new objects.
pub type IdSource = Arc<dyn Fn() -> EcoString + Send + Sync>;

/// Makes an evaluator of expressions that refer to nothing and call nothing.
pub type EvaluatorFactory = fn() -> Box<dyn EvalExpr>;

/// Reads remote states.
pub trait StateReader: Send + Sync {
    /// Validates a type of backend and its arguments, an object.
    fn check(&self, backend: &str, config: &Value) -> Vec<Problem>;
    /// The outputs of a state, or `None` if the state does not exist.
    fn outputs(&self, request: RemoteState) -> Answer<'_, Outcome<Option<BTreeMap<EcoString, RemoteOutput>>>>;
}

/// Workspace to read.
#[derive(Clone, Debug)]
pub struct RemoteState {
    /// The kind of backend.
    pub backend: EcoString,
    /// Arguments of the backend; an object, not converted to the schema of the backend.
    pub config: Value,
    /// The workspace.
    pub workspace: EcoString,
    /// The caller.
    pub address: AbsResourceInstance,
}

/// An output in a remote state.
#[derive(Clone, Debug)]
pub struct RemoteOutput {
    /// Its value, without marks.
    pub value: Value,
    /// Its configuration says that it must not be shown.
    pub sensitive: bool,
    /// Deprecation message of its configuration, if it is deprecated.
    pub deprecated: EcoString,
}

/// `terraform.io/builtin/terraform`
pub struct Terraform {
    ids: IdSource,
    states: Arc<dyn StateReader>,
    constants: Option<EvaluatorFactory>,
    sensitive_outputs: SensitiveOutputs,
}

static SCHEMA: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| Arc::new(TERRAFORM.clone()));

impl Terraform {
    /// The provider with its doors to the outside.
    pub fn new(ids: IdSource, states: Arc<dyn StateReader>) -> Terraform {
        Terraform { ids, states, constants: None, sensitive_outputs: SensitiveOutputs::Plain }
    }
    /// With what `decode_tfvars` needs to evaluate values.
    #[must_use]
    pub fn with_constants(self, constants: EvaluatorFactory) -> Terraform {
        Terraform { constants: Some(constants), ..self }
    }
    /// Sensitive outputs of other states stay sensitive here.
    #[must_use]
    pub fn keep_sensitive(self) -> Terraform {
        Terraform { sensitive_outputs: SensitiveOutputs::Sensitive, ..self }
    }
    /// The schema, made once.
    pub fn shared_schema() -> Arc<ProviderSchema> {
        SCHEMA.clone()
    }
}

fn no_such<T>(what: &str, kind: &str) -> Outcome<T> {
    Outcome::failed(Problem::nowhere(diagnostics::builtin_type_unknown(what, kind)))
}

/// A response about a managed resource. `terraform_data` is the only type.
fn managed<'a, T: Send + 'a>(kind: &str, answer: impl FnOnce() -> Outcome<T>) -> Answer<'a, Outcome<T>> {
    ready(if kind == "terraform_data" { answer() } else { no_such("resource type", kind) })
}

impl Provider for Terraform {
    fn schema(&self) -> Arc<ProviderSchema> {
        Terraform::shared_schema()
    }

    fn validate_provider_config(&self, _config: Value) -> Answer<'_, Vec<Problem>> {
        ready(Vec::new())
    }
    fn validate_resource_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        ready(validate_resource_config(ResourceMode::Managed, &kind, &config))
    }
    fn validate_data_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        let mut problems = validate_resource_config(ResourceMode::Data, &kind, &config);
        if problems.is_empty() && kind == "terraform_remote_state" {
            problems = remote_state::check(&*self.states, &config.unmark_deep().0);
        }
        ready(problems)
    }
    fn validate_ephemeral_config(&self, kind: EcoString, _config: Value) -> Answer<'_, Vec<Problem>> {
        ready(no_such::<()>("ephemeral resource type", &kind).problems)
    }
    fn configure(&self, _config: Value) -> Answer<'_, Vec<Problem>> {
        ready(Vec::new())
    }

    fn stores_as_is(&self) -> bool {
        true
    }
    fn upgrade_state(&self, request: UpgradeRequest) -> Answer<'_, Outcome<Value>> {
        managed(&request.kind, || terraform_data::upgrade(&request.raw))
    }
    fn read(&self, request: ReadRequest) -> Answer<'_, Outcome<ReadAnswer>> {
        managed(&request.kind, || {
            Outcome::ok(ReadAnswer { state: request.prior, private: Private::new(), identity: None })
        })
    }
    fn plan(&self, request: PlanRequest) -> Answer<'_, Outcome<PlanAnswer>> {
        managed(&request.kind, || {
            let (planned, requires_replace) = terraform_data::plan(&request.prior, &request.proposed);
            Outcome::ok(PlanAnswer {
                planned,
                requires_replace,
                private: Private::new(),
                legacy_type_system: false,
                identity: None,
            })
        })
    }
    fn apply(&self, request: ApplyRequest) -> Answer<'_, Outcome<ApplyAnswer>> {
        managed(&request.kind, || {
            let state = terraform_data::apply(&request.planned, &*self.ids);
            let private = Private::new();
            Outcome::ok(ApplyAnswer { state, private, legacy_type_system: false, identity: None })
        })
    }
    fn import(&self, request: ImportRequest) -> Answer<'_, Outcome<Vec<Imported>>> {
        managed(&request.kind, || match request.by {
            ImportBy::Id(id) => Outcome::ok(vec![Imported {
                kind: request.kind.clone(),
                state: terraform_data::imported(id),
                private: Private::new(),
                identity: None,
            }]),
            ImportBy::Identity(_) => Outcome::failed(Problem::nowhere(diagnostics::import_by_identity_unsupported())),
        })
    }
    fn move_state(&self, request: MoveRequest) -> Answer<'_, Outcome<MoveAnswer>> {
        ready(terraform_data::moved(request))
    }

    fn read_data(&self, request: DataRequest) -> Answer<'_, Outcome<DataAnswer>> {
        if request.kind != "terraform_remote_state" {
            return ready(no_such("data source", &request.kind));
        }
        Box::pin(remote_state::read(&*self.states, request, self.sensitive_outputs))
    }

    fn open_ephemeral(&self, kind: EcoString, _config: Value) -> Answer<'_, Outcome<Opened>> {
        ready(no_such("ephemeral resource type", &kind))
    }
    fn renew_ephemeral(&self, kind: EcoString, _private: Private) -> Answer<'_, Outcome<Renewed>> {
        ready(no_such("ephemeral resource type", &kind))
    }
    fn close_ephemeral(&self, kind: EcoString, _private: Private) -> Answer<'_, Vec<Problem>> {
        ready(no_such::<()>("ephemeral resource type", &kind).problems)
    }

    fn call_function(&self, name: EcoString, args: Vec<Value>) -> Answer<'_, Result<Value, FunctionError>> {
        let Some(constants) = self.constants else {
            return ready(Err(FunctionError::new("functions cannot be called here")));
        };
        let answer = call_function(&name, &args, &mut *constants());
        ready(answer.unwrap_or_else(|| Err(FunctionError::new(eco_format!("there is no function {name:?}")))))
    }
}

#[cfg(test)]
mod tests;
