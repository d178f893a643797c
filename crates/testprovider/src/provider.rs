//! The provider: every call, answered.

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ecow::EcoString;
use tokio::sync::watch;
use tonic::Status;
use yuba_plugin::wire::{self, Diagnostic, DynamicValue, Protocol, ServerCapabilities, Severity};
use yuba_provider::schema::Schema;
use yuba_value::{Type, Value, json, msgpack};

use crate::behave::{Fault, about, error, faults, last_words};
use crate::functions;
use crate::knobs::{Bad, Knobs};
use crate::objects::{get, set, text};
use crate::record::Record;
use crate::router::Router;
use crate::schema::{Everything, IDENTITY_VERSION, Schemas, identity_type};
use crate::wire_schema;

/// One process of the provider.
pub(crate) struct Testing {
    pub(crate) knobs: Knobs,
    protocol: Protocol,
    pub(crate) everything: Everything,
    /// Held until the end of the process.
    _memory: Vec<u8>,
    configuration: OnceLock<Configuration>,
    changes: AtomicU64,
    stop: watch::Sender<bool>,
}

/// Configuration of the provider.
pub(crate) struct Configuration {
    pub(crate) instance: String,
    pub(crate) functions: Vec<String>,
    record: Record,
}

/// A request to respond to, and the fault that the response must contain.
pub(crate) struct Went {
    pub(crate) problems: Vec<Diagnostic>,
    pub(crate) faults: Vec<Fault>,
}

impl Went {
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}

/// A response that consists of diagnostics.
trait Problems: Sized {
    fn of(problem: Diagnostic) -> Self;
}

macro_rules! problems {
    ($($response:ident)*) => {$(
        impl Problems for wire::$response {
            fn of(problem: Diagnostic) -> Self {
                let mut response = wire::$response::default();
                response.diagnostics.push(problem);
                response
            }
        }
    )*};
}

problems! {
    MetadataResponse SchemaResponse IdentitySchemasResponse FunctionsResponse ValidateProviderResponse
    ProblemsResponse UpgradeStateResponse UpgradeIdentityResponse ReadResponse PlanResponse ApplyResponse ImportResponse
    MoveStateResponse ReadDataResponse OpenEphemeralResponse RenewEphemeralResponse
}

async fn answered<T: Problems>(answer: impl Future<Output = Result<T, Diagnostic>>) -> Result<T, Status> {
    Ok(answer.await.unwrap_or_else(T::of))
}

impl Testing {
    pub(crate) fn new(knobs: Knobs, protocol: Protocol) -> Arc<Testing> {
        let types = knobs.types;
        // Pages that were never written are not part of the memory of a process.
        let bytes = usize::try_from(knobs.memory_mb << 20).unwrap_or_default();
        let memory = vec![1; bytes];
        Arc::new(Testing {
            knobs,
            protocol,
            everything: Everything::new(protocol, types),
            _memory: memory,
            configuration: OnceLock::new(),
            changes: AtomicU64::new(0),
            stop: watch::Sender::new(false),
        })
    }

    /// Answers every call.
    pub(crate) fn router(self: &Arc<Testing>, router: Router) -> Router {
        macro_rules! on {
            ($router:expr, $($call:ident $method:ident)*) => {{
                let router = $router;
                $(let this = self.clone();
                let router = router.on::<wire::$call, _>(move |request| {
                    let this = this.clone();
                    async move {
                        this.deaf().await;
                        answered(this.$method(request)).await
                    }
                });)*
                router
            }};
        }
        let router = on!(router,
            GetSchema schema ValidateProvider validate_provider ValidateResource validate_resource
            ValidateData validate_data Configure configure UpgradeState upgrade Read read Plan plan Apply apply
            Import import ReadData read_data);
        let this = self.clone();
        let router = router.on::<wire::Stop, _>(move |_| {
            // The receiver may be gone.
            let _ = this.stop.send(true);
            std::future::ready(Ok(wire::StopResponse::default()))
        });
        if self.knobs.bad == Some(Bad::Old) {
            return router;
        }
        let router = on!(router,
            GetMetadata metadata GetIdentitySchemas identity_schemas GetFunctions functions
            ValidateEphemeral validate_ephemeral UpgradeIdentity upgrade_identity MoveState move_state
            OpenEphemeral open RenewEphemeral renew CloseEphemeral close);
        let this = self.clone();
        router.on::<wire::CallFunction, _>(move |request| std::future::ready(Ok(this.call_function(&request))))
    }

    async fn deaf(&self) {
        if self.knobs.bad == Some(Bad::Deaf) {
            std::future::pending::<()>().await;
        }
    }

    pub(crate) fn configuration(&self) -> Option<&Configuration> {
        self.configuration.get()
    }
    pub(crate) fn instance(&self) -> EcoString {
        self.configuration().map(|configuration| configuration.instance.as_str().into()).unwrap_or_default()
    }
    pub(crate) fn record(&self) -> Record {
        self.configuration().map(|configuration| configuration.record.clone()).unwrap_or_default()
    }

    pub(crate) fn schema_of<'a>(&self, all: &'a Schemas, kind: &str) -> Result<&'a Schema, Diagnostic> {
        all.get(kind).ok_or_else(|| error("Unknown type", format!("There is no {kind} here.")))
    }

    /// A value for the wire.
    pub(crate) fn encode(&self, value: &Value, ty: &Type) -> Result<DynamicValue, Diagnostic> {
        let msgpack = match self.knobs.bad {
            Some(Bad::Msgpack) => b"\xc1\xffnonsense".to_vec(),
            _ => msgpack::encode(value, ty).map_err(|why| error("Value not encoded", why.to_string()))?,
        };
        Ok(DynamicValue { msgpack: msgpack.into(), ..DynamicValue::default() })
    }

    /// Injects faults before a response: waits, fails, dies.
    pub(crate) async fn begin(&self, verb: &str, kind: &str, id: &str, behave: &str) -> Result<Went, Diagnostic> {
        let faults = faults(behave, verb);
        let mut problems = Vec::new();
        let changes = matches!(verb, "create" | "update" | "delete");
        if self.knobs.call_ms > 0 && (changes || matches!(verb, "read" | "data" | "import")) {
            tokio::time::sleep(Duration::from_millis(self.knobs.call_ms)).await;
        }
        if changes {
            self.note(&format!("begin-{verb}"), kind, id)?;
            let number = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
            if self.knobs.crash_at == Some(number) {
                last_words(&format!("change {number} was one too many"));
            }
        }
        for fault in &faults {
            match fault {
                Fault::Slow => self.slow(verb, kind, id).await?,
                Fault::Fail => {
                    let detail = format!("The test requested a failure of {verb}.");
                    return Err(about(Severity::Error, "behave", &format!("Failure on {verb}"), detail));
                }
                Fault::Warn => {
                    let detail = format!("The test requested a warning of {verb}.");
                    problems.push(about(Severity::Warning, "behave", &format!("Warning on {verb}"), detail));
                }
                Fault::Hang => {
                    // The sender lives as long as the process.
                    let _ = self.stop.subscribe().wait_for(|stopped| *stopped).await;
                    return Err(error("Stopped", format!("It was stopped on {verb}.")));
                }
                Fault::Deaf => std::future::pending().await,
                Fault::HangUp => crate::handshake::hang_up(),
                Fault::Crash => last_words(&format!("the test requested a crash on {verb} of {id}")),
                _ => {}
            }
        }
        Ok(Went { problems, faults })
    }

    /// Waits. Validation of one object leaves its beginning and its end in the record only here: tests look at the order.
    async fn slow(&self, verb: &str, kind: &str, id: &str) -> Result<(), Diagnostic> {
        let is_noted = verb == "validate" && !id.is_empty();
        let note = |verb: &str| {
            // A provider that only validates is not configured.
            let record = Record::new(self.knobs.directory.clone().filter(|_| is_noted));
            record.and_then(|record| record.note(verb, kind, id, "")).map_err(|error| in_words(&error))
        };
        note("begin-validate")?;
        tokio::time::sleep(Duration::from_millis(self.knobs.slow_ms)).await;
        note("validate")
    }

    async fn schema(&self, _: wire::Empty) -> Result<wire::SchemaResponse, Diagnostic> {
        if self.knobs.bad == Some(Bad::Panic) {
            last_words("runtime error: invalid memory address or nil pointer dereference");
        }
        let broken = self.knobs.bad == Some(Bad::Types);
        let one = |schema: &Schema| wire_schema::encode(self.protocol, schema, broken);
        let all = |schemas: &Schemas| schemas.iter().map(|(name, schema)| (name.to_string(), one(schema))).collect();
        let mut response = wire::SchemaResponse {
            provider: Some(one(&self.everything.provider)),
            resource_schemas: all(&self.everything.resources),
            data_source_schemas: all(&self.everything.data),
            provider_meta: Some(one(&self.everything.meta)),
            server_capabilities: Some(self.capabilities()),
            ..Default::default()
        };
        if self.knobs.bad != Some(Bad::Old) {
            response.functions = functions::always();
            response.ephemeral_resource_schemas = all(&self.everything.ephemeral);
        }
        if self.knobs.bad == Some(Bad::Huge) {
            let mut many = self.everything.provider.clone();
            many.block.description = "x".repeat(300 << 20).into();
            response.provider = Some(one(&many));
        }
        Ok(response)
    }

    fn capabilities(&self) -> ServerCapabilities {
        let old = self.knobs.bad == Some(Bad::Old);
        ServerCapabilities {
            plan_destroy: !old,
            get_provider_schema_optional: !old,
            move_resource_state: !old,
            generate_resource_config: false,
        }
    }

    async fn metadata(&self, _: wire::Empty) -> Result<wire::MetadataResponse, Diagnostic> {
        let names =
            |schemas: &Schemas| schemas.keys().map(|name| wire::TypeMetadata { type_name: name.to_string() }).collect();
        Ok(wire::MetadataResponse {
            server_capabilities: Some(self.capabilities()),
            diagnostics: Vec::new(),
            data_sources: names(&self.everything.data),
            resources: names(&self.everything.resources),
            functions: functions::always().into_keys().map(|name| wire::FunctionMetadata { name }).collect(),
            ephemeral_resources: names(&self.everything.ephemeral),
        })
    }

    async fn identity_schemas(&self, _: wire::Empty) -> Result<wire::IdentitySchemasResponse, Diagnostic> {
        let attribute = |name: &str, required: bool| wire::IdentityAttribute {
            name: name.into(),
            r#type: wire_schema::type_bytes(&Type::string()),
            required_for_import: required,
            optional_for_import: !required,
            description: String::new(),
        };
        let thing = wire::IdentitySchema {
            version: i64::try_from(IDENTITY_VERSION).unwrap_or_default(),
            identity_attributes: vec![attribute("id", true), attribute("instance", false)],
        };
        Ok(wire::IdentitySchemasResponse {
            identity_schemas: [("testing_thing".to_owned(), thing)].into(),
            diagnostics: Vec::new(),
        })
    }

    async fn functions(&self, _: wire::Empty) -> Result<wire::FunctionsResponse, Diagnostic> {
        let mut functions = functions::always();
        functions.extend(self.configured_functions());
        Ok(wire::FunctionsResponse { functions, diagnostics: Vec::new() })
    }

    async fn validate_provider(
        &self,
        request: wire::ValidateProviderRequest,
    ) -> Result<wire::ValidateProviderResponse, Diagnostic> {
        let config = decode(request.config.as_ref(), self.everything.provider.block.implied_type())?;
        let went = self.begin("validate", "provider", "", &text(&config, "behave")).await?;
        Ok(wire::ValidateProviderResponse { prepared_config: request.config, diagnostics: went.problems })
    }

    async fn validate_resource(&self, request: wire::ValidateRequest) -> Result<wire::ProblemsResponse, Diagnostic> {
        self.validate(&self.everything.resources, request).await
    }
    async fn validate_data(&self, request: wire::ValidateRequest) -> Result<wire::ProblemsResponse, Diagnostic> {
        self.validate(&self.everything.data, request).await
    }
    async fn validate_ephemeral(&self, request: wire::ValidateRequest) -> Result<wire::ProblemsResponse, Diagnostic> {
        self.validate(&self.everything.ephemeral, request).await
    }

    async fn validate(
        &self,
        schemas: &Schemas,
        request: wire::ValidateRequest,
    ) -> Result<wire::ProblemsResponse, Diagnostic> {
        let schema = self.schema_of(schemas, &request.type_name)?;
        let config = decode(request.config.as_ref(), schema.block.implied_type())?;
        if get(&config, "size").as_number().is_some_and(yuba_value::Number::is_negative) {
            let detail = "A size is not negative.".to_owned();
            return Err(about(Severity::Error, "size", "Invalid size", detail));
        }
        let name = text(&config, "name");
        let went = self.begin("validate", &request.type_name, &name, &text(&config, "behave")).await?;
        Ok(wire::ProblemsResponse { diagnostics: went.problems })
    }

    async fn configure(&self, request: wire::ConfigureRequest) -> Result<wire::ProblemsResponse, Diagnostic> {
        let config = decode(request.config.as_ref(), self.everything.provider.block.implied_type())?;
        let went = self.begin("configure", "provider", "", &text(&config, "behave")).await?;
        let directory = get(&config, "directory").as_str().map(|path| PathBuf::from(path.as_str()));
        let directory = directory.or_else(|| self.knobs.directory.clone());
        let record = Record::new(directory).map_err(|error| in_words(&error))?;
        let functions = get(&config, "functions");
        let functions = functions.as_seq().unwrap_or_default().iter().filter_map(|name| name.as_str());
        let instance = match get(&config, "instance") {
            instance if instance.is_known() => text(&config, "instance").to_string(),
            _ => "unknown".to_owned(),
        };
        let configuration = Configuration { instance, functions: functions.map(ToString::to_string).collect(), record };
        if self.configuration.set(configuration).is_err() {
            return Err(error("Configured twice", "A process of a provider is configured once."));
        }
        self.note("configure", "provider", &request.terraform_version)?;
        Ok(wire::ProblemsResponse { diagnostics: went.problems })
    }

    async fn read_data(&self, request: wire::ReadDataRequest) -> Result<wire::ReadDataResponse, Diagnostic> {
        let schema = self.schema_of(&self.everything.data, &request.type_name)?;
        let ty = schema.block.implied_type();
        let config = decode(request.config.as_ref(), ty)?;
        let input = text(&config, "input");
        let went = self.begin("data", &request.type_name, &input, &text(&config, "behave")).await?;
        self.note("data", &request.type_name, &input)?;
        let made = [
            ("id", input.clone()),
            ("output", input.to_uppercase()),
            ("secret", "hidden".into()),
            ("old", input.to_uppercase()),
            ("instance", self.instance()),
        ];
        let mut state = made.into_iter().fold(config, |state, (name, value)| set(&state, name, Value::string(value)));
        if went.has(Fault::Lie) {
            state = set(&state, "input", Value::string("something else"));
        }
        let deferred = went.has(Fault::Defer).then(wire::Deferred::default);
        Ok(wire::ReadDataResponse { state: Some(self.encode(&state, ty)?), diagnostics: went.problems, deferred })
    }
}

/// A value from the wire.
pub(crate) fn decode(value: Option<&DynamicValue>, ty: &Type) -> Result<Value, Diagnostic> {
    let decoded = match value {
        None => Ok(Value::null(ty.clone())),
        Some(value) if !value.msgpack.is_empty() => msgpack::decode(&value.msgpack, ty).map_err(|why| why.to_string()),
        Some(value) if !value.json.is_empty() => json::decode(&value.json, ty).map_err(|why| why.to_string()),
        Some(_) => Ok(Value::null(ty.clone())),
    };
    decoded.map_err(|why| error("Value not understood", why))
}

/// The identity of an object, from the wire.
pub(crate) fn decode_identity(identity: Option<&wire::IdentityData>) -> Result<Value, Diagnostic> {
    decode(identity.and_then(|identity| identity.identity_data.as_ref()), &identity_type())
}

pub(crate) fn in_words(error: &std::io::Error) -> Diagnostic {
    crate::behave::error("Record not written", error.to_string())
}
