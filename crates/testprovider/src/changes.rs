//! Managed resources: planned, changed, read, imported, moved.

use prost::bytes::Bytes;
use yuba_plugin::wire::{self, Diagnostic, DynamicValue, IdentityData, RawState};
use yuba_provider::schema::{BlockSchema, Schema};
use yuba_value::{Type, Value, json};

use crate::behave::{Fault, attribute_path, error};
use crate::objects::{finished, from_flatmap, get, planned, set, text, upgraded};
use crate::provider::{Testing, Went, decode, decode_identity, in_words};
use crate::record::Found;
use crate::schema::{IDENTITY_VERSION, identity_type};

/// Start of the private data of an object that this provider created.
const MADE: &str = "made:";
/// Private data of a plan.
const PLANNED: &str = "planned:";

impl Testing {
    fn resource(&self, kind: &str) -> Result<&Schema, Diagnostic> {
        self.schema_of(&self.everything.resources, kind)
    }

    /// The answer about an object, as wrong as it was asked to be.
    fn told(&self, went: &Went, value: &Value, ty: &Type) -> Result<Option<DynamicValue>, Diagnostic> {
        if went.has(Fault::Garbage) {
            return Ok(Some(DynamicValue { msgpack: Bytes::from_static(b"\xc1nonsense"), json: Bytes::new() }));
        }
        let value = match value {
            value if value.is_null() => value.clone(),
            _ if went.has(Fault::Null) => Value::null(ty.clone()),
            value if went.has(Fault::Lie) => set(value, "value", Value::string("something else")),
            value if went.has(Fault::Unknown) => set(value, "revision", Value::unknown(Type::number())),
            value => value.clone(),
        };
        self.encode(&value, ty).map(Some)
    }

    /// Identity of an object, for those types that have it.
    fn identity(&self, kind: &str, state: &Value) -> Result<Option<IdentityData>, Diagnostic> {
        let id = get(state, "id");
        if kind != "testing_thing" || state.is_null() || id.is_null() || !id.is_known() {
            return Ok(None);
        }
        let instance = Value::string(text(state, "instance"));
        let identity = Value::object(vec![("id".into(), id), ("instance".into(), instance)]);
        Ok(Some(IdentityData { identity_data: Some(self.encode(&identity, &identity_type())?) }))
    }

    pub(crate) async fn plan(&self, request: wire::PlanRequest) -> Result<wire::PlanResponse, Diagnostic> {
        let block = &self.resource(&request.type_name)?.block;
        let ty = block.implied_type();
        let prior = decode(request.prior_state.as_ref(), ty)?;
        let proposed = decode(request.proposed_new_state.as_ref(), ty)?;
        check_private(&prior, &request.prior_private)?;
        let about = if proposed.is_null() { &prior } else { &proposed };
        let went = self.begin("plan", &request.type_name, &text(about, "name"), &text(about, "behave")).await?;
        let mut response = wire::PlanResponse {
            planned_private: format!("{PLANNED}{}", String::from_utf8_lossy(&request.prior_private)).into(),
            diagnostics: went.problems.clone(),
            legacy_type_system: went.has(Fault::Legacy),
            deferred: went.has(Fault::Defer).then(wire::Deferred::default),
            planned_identity: self.identity(&request.type_name, &prior)?,
            ..Default::default()
        };
        if proposed.is_null() {
            response.planned_state = self.told(&went, &proposed, ty)?;
            return Ok(response);
        }
        let (planned, changes) = planned(block, &prior, &proposed, &self.instance());
        let differs = |name: &str| !get(&prior, name).raw_equals(&get(&planned, name));
        if changes && !prior.is_null() && differs("kind") {
            response.requires_replace.push(attribute_path("kind"));
        }
        response.planned_state = self.told(&went, &planned, ty)?;
        Ok(response)
    }

    pub(crate) async fn apply(&self, request: wire::ApplyRequest) -> Result<wire::ApplyResponse, Diagnostic> {
        let kind = request.type_name.as_str();
        let block = &self.resource(kind)?.block;
        let ty = block.implied_type();
        let prior = decode(request.prior_state.as_ref(), ty)?;
        let planned = decode(request.planned_state.as_ref(), ty)?;
        let config = decode(request.config.as_ref(), ty)?;
        let verb = match (prior.is_null(), planned.is_null()) {
            (true, _) => "create",
            (false, true) => "delete",
            (false, false) => "update",
        };
        let about = if planned.is_null() { &prior } else { &planned };
        if verb != "delete" && !request.planned_private.starts_with(PLANNED.as_bytes()) {
            return Err(error("Private data lost", format!("That of the plan, on {verb}.")));
        }
        let name = text(about, "name");
        let id = text(&prior, "id");
        let began = if id.is_empty() { &name } else { &id };
        let went = self.begin(verb, kind, began, &text(about, "behave")).await?;
        let meta = decode(request.provider_meta.as_ref(), self.everything.meta.block.implied_type())?;
        if !meta.is_null() {
            self.note("meta", kind, &text(&meta, "module"))?;
        }
        let state = self.change(verb, kind, block, &prior, &planned, &config)?;
        if went.has(Fault::Die) {
            crate::behave::last_words(&format!("the test made it die after {verb} of {name}"));
        }
        let mut diagnostics = went.problems.clone();
        if went.has(Fault::Partial) {
            diagnostics.push(error(&format!("Half a {verb}"), "The test requested a partial result."));
        }
        let private = if state.is_null() { Bytes::new() } else { format!("{MADE}{}", self.instance()).into() };
        Ok(wire::ApplyResponse {
            new_state: self.told(&went, &state, ty)?,
            private,
            diagnostics,
            legacy_type_system: went.has(Fault::Legacy),
            new_identity: self.identity(kind, &state)?,
        })
    }

    /// Makes the change in the real world and writes it down.
    fn change(
        &self,
        verb: &str,
        kind: &str,
        block: &BlockSchema,
        prior: &Value,
        planned: &Value,
        config: &Value,
    ) -> Result<Value, Diagnostic> {
        let record = self.record();
        let shown = |state: &Value| json::encode(state, block.implied_type()).unwrap_or_default();
        let id = text(prior, "id");
        let (id, state) = match verb {
            "create" => {
                let state = |id: &str| finished(block, prior, planned, config, id);
                let made = record.create(&text(planned, "name"), |id| shown(&state(id)));
                let id = made.map_err(|error| in_words(&error))?;
                let state = state(&id);
                (id.into(), state)
            }
            "update" => {
                let state = finished(block, prior, planned, config, &id);
                record.write(&id, &shown(&state)).map_err(|error| in_words(&error))?;
                (id, state)
            }
            _ => {
                record.delete(&id).map_err(|error| in_words(&error))?;
                (id, Value::null(block.implied_type().clone()))
            }
        };
        self.note(verb, kind, &id)?;
        Ok(state)
    }

    pub(crate) async fn read(&self, request: wire::ReadRequest) -> Result<wire::ReadResponse, Diagnostic> {
        let kind = request.type_name.as_str();
        let schema = self.resource(kind)?;
        let ty = schema.block.implied_type();
        let prior = decode(request.current_state.as_ref(), ty)?;
        check_private(&prior, &request.private)?;
        let id = text(&prior, "id");
        let went = self.begin("read", kind, &id, &text(&prior, "behave")).await?;
        self.note("read", kind, &id)?;
        let state = match self.record().read(&id).map_err(|error| in_words(&error))? {
            Found::Gone => Value::null(ty.clone()),
            Found::Forgotten => prior,
            Found::There(stored) => {
                let version = i64::try_from(schema.version).unwrap_or(i64::MAX);
                upgraded(&schema.block, version, stored.as_bytes())
                    .map_err(|why| error("Object not understood", why))?
            }
        };
        Ok(wire::ReadResponse {
            new_state: self.told(&went, &state, ty)?,
            diagnostics: went.problems.clone(),
            private: if request.private.is_empty() { format!("{MADE}read").into() } else { request.private },
            deferred: went.has(Fault::Defer).then(wire::Deferred::default),
            new_identity: self.identity(kind, &state)?,
        })
    }

    pub(crate) async fn import(&self, request: wire::ImportRequest) -> Result<wire::ImportResponse, Diagnostic> {
        let kind = request.type_name.as_str();
        let block = &self.resource(kind)?.block;
        let identity = decode_identity(request.identity.as_ref())?;
        let id = if identity.is_null() { request.id.as_str().into() } else { text(&identity, "id") };
        let went = self.begin("import", kind, &id, if id.starts_with("fail") { "fail_import" } else { "" }).await?;
        self.note("import", kind, &id)?;
        // Only what it was found by; reading finds out the rest.
        let state = set(&set(&block.empty_value(), "id", Value::string(id.clone())), "name", Value::string(id));
        let imported = wire::ImportedResource {
            type_name: request.type_name.clone(),
            state: self.told(&went, &state, block.implied_type())?,
            private: format!("{MADE}imported").into(),
            identity: self.identity(kind, &state)?,
        };
        Ok(wire::ImportResponse { imported_resources: vec![imported], diagnostics: went.problems, deferred: None })
    }

    pub(crate) async fn upgrade(
        &self,
        request: wire::UpgradeStateRequest,
    ) -> Result<wire::UpgradeStateResponse, Diagnostic> {
        let schema = self.resource(&request.type_name)?;
        let state = stored(schema, request.version, request.raw_state.as_ref())?;
        // Only what is meant for upgrades: every object goes through here before anything else is done with it.
        let behave = text(&state, "behave");
        let behave = behave.split(',').filter(|word| word.trim().ends_with("_upgrade")).collect::<Vec<_>>().join(",");
        let went = self.begin("upgrade", &request.type_name, &text(&state, "id"), &behave).await?;
        let upgraded_state = Some(self.encode(&state, schema.block.implied_type())?);
        Ok(wire::UpgradeStateResponse { upgraded_state, diagnostics: went.problems })
    }

    pub(crate) async fn upgrade_identity(
        &self,
        request: wire::UpgradeIdentityRequest,
    ) -> Result<wire::UpgradeIdentityResponse, Diagnostic> {
        let raw = request.raw_identity.unwrap_or_default();
        let not_understood = |why: String| error("Identity not understood", why);
        let ty = identity_type();
        let identity = match u64::try_from(request.version) {
            Ok(IDENTITY_VERSION) => json::decode(&raw.json, &ty).map_err(|why| not_understood(why.to_string()))?,
            _ => {
                let old: serde_json::Value =
                    serde_json::from_slice(&raw.json).map_err(|why| not_understood(why.to_string()))?;
                let id = old.get("thing").and_then(|id| id.as_str()).unwrap_or_default();
                Value::object(vec![("id".into(), Value::string(id)), ("instance".into(), Value::string(""))])
            }
        };
        let identity_data = Some(self.encode(&identity, &ty)?);
        Ok(wire::UpgradeIdentityResponse {
            upgraded_identity: Some(IdentityData { identity_data }),
            diagnostics: Vec::new(),
        })
    }

    /// Objects of `testing_thing` become items, and items become such objects; any object with an id can become an item.
    pub(crate) async fn move_state(
        &self,
        request: wire::MoveStateRequest,
    ) -> Result<wire::MoveStateResponse, Diagnostic> {
        let (from, to) = (request.source_type_name.as_str(), request.target_type_name.as_str());
        let known = to == "testing_item" || (from, to) == ("testing_item", "testing_thing");
        let refused = || error("Move not possible", format!("A {from} cannot become a {to}."));
        let schema = self.resource(to)?;
        let source = request.source_state.as_ref().filter(|_| known).ok_or_else(refused)?;
        let mut source: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&source.json).map_err(|why| error("Object not understood", why.to_string()))?;
        if !source.contains_key("name") {
            source.insert("name".into(), source.get("id").cloned().unwrap_or_default());
        }
        source.remove("behave");
        let text = serde_json::Value::Object(source).to_string();
        let state = upgraded(&schema.block, 1, text.as_bytes()).map_err(|why| error("Object not understood", why))?;
        let way = format!("{from}->{to}");
        self.note("move", &way, &crate::objects::text(&state, "id"))?;
        if let Some(identity) = &request.source_identity {
            let kept = String::from_utf8_lossy(&identity.json);
            self.note("identity", &way, &format!("{}:{kept}", request.source_identity_schema_version))?;
        }
        Ok(wire::MoveStateResponse {
            target_state: Some(self.encode(&state, schema.block.implied_type())?),
            diagnostics: Vec::new(),
            target_private: format!("{MADE}moved").into(),
            target_identity: self.identity(to, &state)?,
        })
    }
}

/// A stored object by the current schema.
fn stored(schema: &Schema, version: i64, raw: Option<&RawState>) -> Result<Value, Diagnostic> {
    let raw = raw.cloned().unwrap_or_default();
    let bytes = match raw.json.is_empty() {
        true => from_flatmap(&schema.block, &raw.flatmap),
        false => raw.json.to_vec(),
    };
    if version > i64::try_from(schema.version).unwrap_or(i64::MAX) {
        return Err(error("Object from the future", format!("Version {version} of its schema is not known here.")));
    }
    upgraded(&schema.block, version, &bytes).map_err(|why| error("Object not understood", why))
}

/// Objects that this provider made come back with what it gave with them.
fn check_private(state: &Value, private: &[u8]) -> Result<(), Diagnostic> {
    let ours = !get(state, "revision").is_null();
    match !ours || private.starts_with(MADE.as_bytes()) {
        true => Ok(()),
        false => Err(error("Private data lost", format!("It came back as {:?}.", String::from_utf8_lossy(private)))),
    }
}
