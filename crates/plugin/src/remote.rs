//! A provider in another process: the contract, call by call.
//!
//! The caller may run on any executor; the work is done on the runtime of the plugins, so that values are written and
//! read beside the loop of the caller.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use tokio::runtime::Handle;
use tracing::Instrument as _;
use yuba_addrs::ProviderSource;
use yuba_provider::{
    Answer, ApplyAnswer, ApplyRequest, DataAnswer, DataRequest, ImportBy, ImportRequest, Imported, MoveAnswer,
    MoveRequest, Opened, Outcome, PlanAnswer, PlanRequest, Private, Problem, Provider, ProviderSchema, ReadAnswer,
    ReadRequest, Renewed, Schema, Schemas, UpgradeRequest,
};
use yuba_value::function::{FunctionError, Signature};
use yuba_value::{Type, Value};

use crate::connection::{Connection, name_of};
use crate::diagnostics;
use crate::functions;
use crate::values::{self, private, private_bytes, problems, raw_state};
use crate::wire::{self, Call, DynamicValue, IdentityData};

/// A connection that may not stand yet.
pub(crate) type Opening = Shared<BoxFuture<'static, Result<Arc<Connection>, Arc<Problem>>>>;

/// A provider in another process.
pub(crate) struct Remote(Arc<Served>);

/// Data that every call needs.
struct Served {
    who: ProviderSource,
    schema: Arc<ProviderSchema>,
    language_level: EcoString,
    opening: Opening,
    runtime: Handle,
}

impl Remote {
    pub(crate) fn new(
        who: ProviderSource,
        schema: Arc<ProviderSchema>,
        language_level: EcoString,
        opening: Opening,
        runtime: Handle,
    ) -> Remote {
        Remote(Arc::new(Served { who, schema, language_level, opening, runtime }))
    }

    /// Runs the work on the runtime. A problem that ends it becomes the result.
    fn ask<T, F>(&self, work: impl FnOnce(Arc<Served>, Arc<Connection>) -> F + Send + 'static) -> Answer<'static, T>
    where
        T: FromProblem + Send + 'static,
        F: Future<Output = Result<T, Box<Problem>>> + Send + 'static,
    {
        let it = self.0.clone();
        Box::pin(async move {
            let runtime = it.runtime.clone();
            let who = it.who.clone();
            let work = async move {
                let connection = it.opening.clone().await.map_err(|problem| Box::new((*problem).clone()))?;
                work(it, connection).await
            };
            match runtime.spawn(work.in_current_span()).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(problem)) => T::from_problem(problem),
                Err(_) => T::from_problem(diagnostics::cancelled(&who)),
            }
        })
    }

    fn validate<C>(
        &self,
        kind: EcoString,
        config: Value,
        of: fn(&ProviderSchema) -> &Schemas,
        what: &'static str,
    ) -> Answer<'static, Vec<Problem>>
    where
        C: Call<Request = wire::ValidateRequest, Response = wire::ProblemsResponse>,
    {
        self.ask(move |it, connection| async move {
            let schema = it.find(of(&it.schema), what, &kind)?;
            let request = wire::ValidateRequest {
                type_name: kind.to_string(),
                config: it.send("The configuration", &config, schema.block.implied_type())?,
                client_capabilities: capabilities(),
            };
            Ok(problems(connection.call::<C>(request).await?.diagnostics))
        })
    }
}

/// A result that consists of a problem alone.
trait FromProblem {
    fn from_problem(problem: Box<Problem>) -> Self;
}

impl FromProblem for Vec<Problem> {
    fn from_problem(problem: Box<Problem>) -> Self {
        vec![*problem]
    }
}

impl<T> FromProblem for Outcome<T> {
    fn from_problem(problem: Box<Problem>) -> Self {
        Outcome::failed(*problem)
    }
}

impl FromProblem for Result<Value, FunctionError> {
    fn from_problem(problem: Box<Problem>) -> Self {
        Err(FunctionError::new(EcoString::from(problem.diagnostic.explanation().trim_end_matches('.'))))
    }
}

/// Capabilities of this client: all but deferral.
#[allow(clippy::unnecessary_wraps, reason = "requests have it in an option")]
fn capabilities() -> Option<wire::ClientCapabilities> {
    Some(wire::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true })
}

impl Served {
    fn find<'s>(&self, schemas: &'s Schemas, what: &str, kind: &str) -> Result<&'s Schema, Box<Problem>> {
        schemas.get(kind).ok_or_else(|| diagnostics::unknown_type(&self.who, what, kind))
    }
    fn resource(&self, kind: &str) -> Result<&Schema, Box<Problem>> {
        self.find(&self.schema.resources, "resource", kind)
    }

    fn send(&self, what: &str, value: &Value, ty: &Type) -> Result<Option<DynamicValue>, Box<Problem>> {
        let sent = values::encode(value, ty);
        sent.map(Some).map_err(|reason| diagnostics::cannot_send(&self.who, what, &reason))
    }
    fn receive<C: Call>(&self, what: &str, value: Option<&DynamicValue>, ty: &Type) -> Result<Value, Box<Problem>> {
        values::decode(value, ty).map_err(|reason| diagnostics::cannot_read(&self.who, name_of::<C>(), what, &reason))
    }

    /// The `provider_meta` of a module, if the provider has such.
    fn send_meta(&self, meta: &Value) -> Result<Option<DynamicValue>, Box<Problem>> {
        match &self.schema.meta {
            Some(schema) => self.send("The provider_meta block", meta, schema.block.implied_type()),
            None => Ok(None),
        }
    }

    fn identity_type(&self, kind: &str) -> Option<Type> {
        self.schema.identities.get(kind).map(|identity| identity.object.spec_type().without_optional())
    }
    fn send_identity(&self, kind: &str, identity: Option<&Value>) -> Result<Option<IdentityData>, Box<Problem>> {
        match (identity.filter(|identity| !identity.is_null()), self.identity_type(kind)) {
            (Some(identity), Some(ty)) => {
                Ok(Some(IdentityData { identity_data: self.send("The identity", identity, &ty)? }))
            }
            _ => Ok(None),
        }
    }
    fn receive_identity<C: Call>(
        &self,
        kind: &str,
        identity: Option<&IdentityData>,
    ) -> Result<Option<Value>, Box<Problem>> {
        match (identity.and_then(|identity| identity.identity_data.as_ref()), self.identity_type(kind)) {
            (Some(data), Some(ty)) => self.receive::<C>("the identity", Some(data), &ty).map(Some),
            _ => Ok(None),
        }
    }

    /// Values that must be null, because they are never stored.
    fn write_only_problems(&self, kind: &str, schema: &Schema, value: &Value, problems: &mut Vec<Problem>) {
        for path in schema.block.write_only_paths(value) {
            if path.follow(value).is_some_and(|value| !value.is_null()) {
                problems.push(diagnostics::write_only_value(&self.who, kind, &values::path_text(&path)));
            }
        }
    }

    /// A provider that defers an operation gets an error: this is not supported.
    fn deferral_problem<C: Call>(&self, deferred: Option<&wire::Deferred>, problems: &mut Vec<Problem>) {
        let Some(deferred) = deferred else { return };
        let reason = match deferred.reason() {
            wire::DeferredReason::Unknown => "it gives no reason",
            wire::DeferredReason::ResourceConfigUnknown => "values in the configuration of the resource are unknown",
            wire::DeferredReason::ProviderConfigUnknown => "values in the configuration of the provider are unknown",
            wire::DeferredReason::AbsentPrereq => "something that it needs does not exist yet",
        };
        problems.push(diagnostics::deferred(&self.who, name_of::<C>(), reason));
    }
}

/// Whether the response of a call has the object that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Payload {
    Present,
    Absent,
}

impl Payload {
    fn of<T>(object: Option<&T>) -> Payload {
        if object.is_some() { Payload::Present } else { Payload::Absent }
    }
}

/// The outcome of a call: the response if it can be read, or none for a failed call without a response.
fn outcome<T>(
    mut problems: Vec<Problem>,
    payload: Payload,
    answer: impl FnOnce(&mut Vec<Problem>) -> Result<T, Box<Problem>>,
) -> Outcome<T> {
    if payload == Payload::Absent && problems.iter().any(|problem| problem.diagnostic.is_error()) {
        return Outcome::failed_with(problems);
    }
    match answer(&mut problems) {
        Ok(answer) => Outcome { value: Some(answer), problems },
        Err(problem) => {
            problems.push(*problem);
            Outcome::failed_with(problems)
        }
    }
}

impl Provider for Remote {
    fn schema(&self) -> Arc<ProviderSchema> {
        self.0.schema.clone()
    }

    fn validate_provider_config(&self, config: Value) -> Answer<'_, Vec<Problem>> {
        self.ask(move |it, connection| async move {
            let ty = it.schema.provider.block.implied_type();
            let config = it.send("The provider configuration", &config, ty)?;
            let answer = connection.call::<wire::ValidateProvider>(wire::ValidateProviderRequest { config }).await?;
            Ok(problems(answer.diagnostics))
        })
    }

    fn validate_resource_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.validate::<wire::ValidateResource>(kind, config, |schema| &schema.resources, "resource")
    }

    fn validate_data_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.validate::<wire::ValidateData>(kind, config, |schema| &schema.data, "data source")
    }

    fn validate_ephemeral_config(&self, kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        self.validate::<wire::ValidateEphemeral>(kind, config, |schema| &schema.ephemeral, "ephemeral resource")
    }

    fn configure(&self, config: Value) -> Answer<'_, Vec<Problem>> {
        self.ask(move |it, connection| async move {
            let ty = it.schema.provider.block.implied_type();
            let request = wire::ConfigureRequest {
                terraform_version: it.language_level.to_string(),
                config: it.send("The provider configuration", &config, ty)?,
                client_capabilities: capabilities(),
            };
            Ok(problems(connection.call::<wire::Configure>(request).await?.diagnostics))
        })
    }

    fn upgrade_state(&self, request: UpgradeRequest) -> Answer<'_, Outcome<Value>> {
        self.ask(move |it, connection| async move {
            let schema = it.resource(&request.kind)?;
            let sent = wire::UpgradeStateRequest {
                type_name: request.kind.to_string(),
                version: request.version.try_into().unwrap_or(i64::MAX),
                raw_state: Some(raw_state(&request.raw)),
            };
            let answer = connection.call::<wire::UpgradeState>(sent).await?;
            let state = answer.upgraded_state.as_ref();
            Ok(outcome(problems(answer.diagnostics), Payload::of(state), |problems| {
                let state = it.receive::<wire::UpgradeState>("the object", state, schema.block.implied_type())?;
                it.write_only_problems(&request.kind, schema, &state, problems);
                Ok(state)
            }))
        })
    }

    fn upgrade_identity(&self, kind: EcoString, version: u64, raw: EcoString) -> Answer<'_, Outcome<Value>> {
        self.ask(move |it, connection| async move {
            let sent = wire::UpgradeIdentityRequest {
                type_name: kind.to_string(),
                version: version.try_into().unwrap_or(i64::MAX),
                raw_identity: Some(raw_state(&yuba_provider::RawState::Json(raw))),
            };
            let answer = connection.call::<wire::UpgradeIdentity>(sent).await?;
            let data = answer.upgraded_identity.and_then(|identity| identity.identity_data);
            Ok(outcome(problems(answer.diagnostics), Payload::of(data.as_ref()), |_| {
                let data = data.as_ref().ok_or_else(|| diagnostics::no_identity(&it.who, &kind))?;
                let ty = it.identity_type(&kind).ok_or_else(|| diagnostics::no_identity_schema(&it.who, &kind))?;
                it.receive::<wire::UpgradeIdentity>("the identity", Some(data), &ty)
            }))
        })
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Outcome<ReadAnswer>> {
        self.ask(move |it, connection| async move {
            let kind = &request.kind;
            let schema = it.resource(kind)?;
            let ty = schema.block.implied_type();
            let sent = wire::ReadRequest {
                type_name: kind.to_string(),
                current_state: it.send("The object", &request.prior, ty)?,
                private: private_bytes(&request.private),
                provider_meta: it.send_meta(&request.provider_meta)?,
                client_capabilities: capabilities(),
                current_identity: it.send_identity(kind, request.identity.as_ref())?,
            };
            let answer = connection.call::<wire::Read>(sent).await?;
            let state = answer.new_state.as_ref();
            Ok(outcome(problems(answer.diagnostics), Payload::of(state), |problems| {
                it.deferral_problem::<wire::Read>(answer.deferred.as_ref(), problems);
                let state = it.receive::<wire::Read>("the object", state, ty)?;
                it.write_only_problems(kind, schema, &state, problems);
                let identity = it.receive_identity::<wire::Read>(kind, answer.new_identity.as_ref())?;
                Ok(ReadAnswer { state, private: private(&answer.private), identity })
            }))
        })
    }

    fn plan(&self, request: PlanRequest) -> Answer<'_, Outcome<PlanAnswer>> {
        self.ask(move |it, connection| async move {
            let kind = &request.kind;
            let schema = it.resource(kind)?;
            let ty = schema.block.implied_type();
            if request.proposed.is_null() && !it.schema.plan_destroy {
                return Ok(Outcome::ok(PlanAnswer {
                    planned: request.proposed,
                    requires_replace: Vec::new(),
                    private: request.prior_private,
                    legacy_type_system: false,
                    identity: None,
                }));
            }
            let sent = wire::PlanRequest {
                type_name: kind.to_string(),
                prior_state: it.send("The object", &request.prior, ty)?,
                proposed_new_state: it.send("The proposed object", &request.proposed, ty)?,
                config: it.send("The configuration", &request.config, ty)?,
                prior_private: private_bytes(&request.prior_private),
                provider_meta: it.send_meta(&request.provider_meta)?,
                client_capabilities: capabilities(),
                prior_identity: it.send_identity(kind, request.prior_identity.as_ref())?,
            };
            let answer = connection.call::<wire::Plan>(sent).await?;
            let planned = answer.planned_state.as_ref();
            Ok(outcome(problems(answer.diagnostics), Payload::of(planned), |problems| {
                it.deferral_problem::<wire::Plan>(answer.deferred.as_ref(), problems);
                let planned = it.receive::<wire::Plan>("the planned object", planned, ty)?;
                it.write_only_problems(kind, schema, &planned, problems);
                Ok(PlanAnswer {
                    planned,
                    requires_replace: answer.requires_replace.into_iter().map(values::path).collect(),
                    private: private(&answer.planned_private),
                    legacy_type_system: answer.legacy_type_system,
                    identity: it.receive_identity::<wire::Plan>(kind, answer.planned_identity.as_ref())?,
                })
            }))
        })
    }

    fn apply(&self, request: ApplyRequest) -> Answer<'_, Outcome<ApplyAnswer>> {
        self.ask(move |it, connection| async move {
            let kind = &request.kind;
            let schema = it.resource(kind)?;
            let ty = schema.block.implied_type();
            let sent = wire::ApplyRequest {
                type_name: kind.to_string(),
                prior_state: it.send("The object", &request.prior, ty)?,
                planned_state: it.send("The planned object", &request.planned, ty)?,
                config: it.send("The configuration", &request.config, ty)?,
                planned_private: private_bytes(&request.planned_private),
                provider_meta: it.send_meta(&request.provider_meta)?,
                planned_identity: it.send_identity(kind, request.planned_identity.as_ref())?,
            };
            let answer = connection.call::<wire::Apply>(sent).await?;
            let state = answer.new_state.as_ref();
            Ok(outcome(problems(answer.diagnostics), Payload::of(state), |problems| {
                let state = it.receive::<wire::Apply>("the object", state, ty)?;
                it.write_only_problems(kind, schema, &state, problems);
                // The object must be recorded, with or without identity.
                let identity = it.receive_identity::<wire::Apply>(kind, answer.new_identity.as_ref());
                let identity = identity.unwrap_or_else(|problem| {
                    problems.push(*problem);
                    None
                });
                let legacy_type_system = answer.legacy_type_system;
                Ok(ApplyAnswer { state, private: private(&answer.private), legacy_type_system, identity })
            }))
        })
    }

    fn import(&self, request: ImportRequest) -> Answer<'_, Outcome<Vec<Imported>>> {
        self.ask(move |it, connection| async move {
            let kind = &request.kind;
            let (id, identity) = match &request.by {
                ImportBy::Id(id) => (id.to_string(), None),
                ImportBy::Identity(_) if it.identity_type(kind).is_none() => {
                    return Err(diagnostics::no_identity_schema(&it.who, kind));
                }
                ImportBy::Identity(identity) => (String::new(), it.send_identity(kind, Some(identity))?),
            };
            let sent =
                wire::ImportRequest { type_name: kind.to_string(), id, client_capabilities: capabilities(), identity };
            let answer = connection.call::<wire::Import>(sent).await?;
            let payload = Payload::of(answer.imported_resources.first());
            Ok(outcome(problems(answer.diagnostics), payload, |problems| {
                it.deferral_problem::<wire::Import>(answer.deferred.as_ref(), problems);
                let found = answer.imported_resources.into_iter().map(|imported| {
                    let kind: EcoString = imported.type_name.into();
                    let ty = it.resource(&kind)?.block.implied_type();
                    Ok(Imported {
                        state: it.receive::<wire::Import>("an object", imported.state.as_ref(), ty)?,
                        private: private(&imported.private),
                        identity: it.receive_identity::<wire::Import>(&kind, imported.identity.as_ref())?,
                        kind,
                    })
                });
                found.collect()
            }))
        })
    }

    fn move_state(&self, request: MoveRequest) -> Answer<'_, Outcome<MoveAnswer>> {
        self.ask(move |it, connection| async move {
            let schema = it.resource(&request.target_kind)?;
            let (version, identity) =
                request.source_identity.map_or((0, None), |(version, json)| (version, Some(json)));
            let sent = wire::MoveStateRequest {
                source_provider_address: request.source_provider.to_string(),
                source_type_name: request.source_kind.to_string(),
                source_schema_version: request.source_version.try_into().unwrap_or(i64::MAX),
                source_state: Some(raw_state(&request.source_raw)),
                target_type_name: request.target_kind.to_string(),
                source_private: private_bytes(&request.source_private),
                source_identity: identity.map(|json| raw_state(&yuba_provider::RawState::Json(json))),
                source_identity_schema_version: version.try_into().unwrap_or(i64::MAX),
            };
            let answer = connection.call::<wire::MoveState>(sent).await?;
            let state = answer.target_state.as_ref();
            Ok(outcome(problems(answer.diagnostics), Payload::of(state), |problems| {
                let state = it.receive::<wire::MoveState>("the object", state, schema.block.implied_type())?;
                it.write_only_problems(&request.target_kind, schema, &state, problems);
                let identity =
                    it.receive_identity::<wire::MoveState>(&request.target_kind, answer.target_identity.as_ref())?;
                Ok(MoveAnswer { state, private: private(&answer.target_private), identity })
            }))
        })
    }

    fn read_data(&self, request: DataRequest) -> Answer<'_, Outcome<DataAnswer>> {
        self.ask(move |it, connection| async move {
            let ty = it.find(&it.schema.data, "data source", &request.kind)?.block.implied_type();
            let sent = wire::ReadDataRequest {
                type_name: request.kind.to_string(),
                config: it.send("The configuration", &request.config, ty)?,
                provider_meta: it.send_meta(&request.provider_meta)?,
                client_capabilities: capabilities(),
            };
            let answer = connection.call::<wire::ReadData>(sent).await?;
            let state = answer.state.as_ref();
            Ok(outcome(problems(answer.diagnostics), Payload::of(state), |problems| {
                it.deferral_problem::<wire::ReadData>(answer.deferred.as_ref(), problems);
                it.receive::<wire::ReadData>("the object", state, ty).map(DataAnswer::plain)
            }))
        })
    }

    fn open_ephemeral(&self, kind: EcoString, config: Value) -> Answer<'_, Outcome<Opened>> {
        self.ask(move |it, connection| async move {
            let ty = it.find(&it.schema.ephemeral, "ephemeral resource", &kind)?.block.implied_type();
            let sent = wire::OpenEphemeralRequest {
                type_name: kind.to_string(),
                config: it.send("The configuration", &config, ty)?,
                client_capabilities: capabilities(),
            };
            let answer = connection.call::<wire::OpenEphemeral>(sent).await?;
            let result = answer.result.as_ref();
            Ok(outcome(problems(answer.diagnostics), Payload::of(result), |problems| {
                it.deferral_problem::<wire::OpenEphemeral>(answer.deferred.as_ref(), problems);
                Ok(Opened {
                    value: it.receive::<wire::OpenEphemeral>("the object", result, ty)?,
                    private: private(&answer.private.unwrap_or_default()),
                    renew_at: answer.renew_at.as_ref().map(values::millis),
                })
            }))
        })
    }

    fn renew_ephemeral(&self, kind: EcoString, given: Private) -> Answer<'_, Outcome<Renewed>> {
        self.ask(move |_, connection| async move {
            let sent =
                wire::RenewEphemeralRequest { type_name: kind.to_string(), private: Some(private_bytes(&given)) };
            let answer = connection.call::<wire::RenewEphemeral>(sent).await?;
            let renew_at = answer.renew_at.as_ref().map(values::millis);
            // The private bytes stay as they are if none came back.
            let private = answer.private.map_or(given, |bytes| private(&bytes));
            Ok(Outcome { value: Some(Renewed { private, renew_at }), problems: problems(answer.diagnostics) })
        })
    }

    fn close_ephemeral(&self, kind: EcoString, private: Private) -> Answer<'_, Vec<Problem>> {
        self.ask(move |_, connection| async move {
            let sent =
                wire::CloseEphemeralRequest { type_name: kind.to_string(), private: Some(private_bytes(&private)) };
            Ok(problems(connection.call::<wire::CloseEphemeral>(sent).await?.diagnostics))
        })
    }

    fn functions(&self) -> Answer<'_, Outcome<BTreeMap<EcoString, Signature>>> {
        self.ask(move |it, connection| async move {
            let mut all = it.schema.functions.clone();
            let Some(answer) = connection.call_if_there::<wire::GetFunctions>(wire::Empty {}).await? else {
                return Ok(Outcome::ok(all));
            };
            let found = functions::signatures(answer.functions);
            all.extend(found.map_err(|reason| diagnostics::invalid_schema(&it.who, &reason))?);
            Ok(Outcome { value: Some(all), problems: problems(answer.diagnostics) })
        })
    }

    fn call_function(&self, name: EcoString, args: Vec<Value>) -> Answer<'_, Result<Value, FunctionError>> {
        self.ask(move |it, connection| async move {
            let signature = match it.schema.functions.get(&name) {
                Some(signature) => signature.clone(),
                None => {
                    let answer = connection.call::<wire::GetFunctions>(wire::Empty {}).await?;
                    let mut found = functions::signatures(answer.functions)
                        .map_err(|reason| diagnostics::invalid_schema(&it.who, &reason))?;
                    match found.remove(&name) {
                        Some(signature) => signature,
                        None => {
                            let message = eco_format!("the provider {} has no such function", it.who.for_display());
                            return Ok(Err(FunctionError::new(message)));
                        }
                    }
                }
            };
            let arguments = match functions::arguments(&signature, &args) {
                Ok(Some(arguments)) => arguments,
                Ok(None) => return Ok(Ok(Value::unknown(signature.result))),
                Err(error) => return Ok(Err(error)),
            };
            let sent = wire::CallFunctionRequest { name: name.to_string(), arguments };
            let answer = connection.call::<wire::CallFunction>(sent).await?;
            match answer.error {
                Some(error) => Ok(Err(functions::error(error))),
                None => {
                    it.receive::<wire::CallFunction>("the result", answer.result.as_ref(), &signature.result).map(Ok)
                }
            }
        })
    }

    fn stop(&self) -> Answer<'_, Vec<Problem>> {
        // A provider that is not started yet has nothing to stop.
        if self.0.opening.peek().is_none() {
            return yuba_provider::contract::ready(Vec::new());
        }
        self.ask(move |it, connection| async move {
            let answer = connection.call::<wire::Stop>(wire::Empty {}).await?;
            match answer.error.is_empty() {
                true => Ok(Vec::new()),
                false => Ok(vec![diagnostics::stop_failed(&it.who, &answer.error)]),
            }
        })
    }
}

/// A connection that is being made on a runtime.
pub(crate) fn opening(
    runtime: &Handle,
    who: ProviderSource,
    open: impl Future<Output = Result<Connection, Box<Problem>>> + Send + 'static,
) -> Opening {
    let task = runtime.spawn(open);
    let waiting = async move {
        match task.await {
            Ok(opened) => opened.map(Arc::new).map_err(Arc::from),
            Err(_) => Err(Arc::from(diagnostics::cancelled(&who))),
        }
    };
    waiting.boxed().shared()
}
