//! Objects of resources on their way between states, providers and expressions.

use std::sync::Arc;

use ecow::{EcoString, EcoVec, eco_format};
use yuba_addrs::{AbsResourceInstance, ConfigResource, ProviderSource};
use yuba_plan::{Event, Importing, Phase};
use yuba_provider::legality::normalize_legacy;
use yuba_provider::{
    IdentitySchema, MoveRequest, Outcome, PlanAnswer, PlanRequest, Private, Problem, Provider, ProviderSchema,
    RawState, ReadRequest, Schema, UpgradeRequest,
};
use yuba_state::{AttributeError, Attributes, DeposedKey, Identity, Object, ObjectRecord, RawJson, Status};
use yuba_syntax::{Body, Code, Diagnostic, Diagnostics};
use yuba_value::{Mark, Marks, Type, TypeKind, Value, View, convert, ops};

use crate::diagnostics::{
    self, INVALID_STATE_MOVE, INVALID_STATE_UPGRADE, PROVIDER_INVALID_OBJECT, PROVIDER_INVALID_PLAN,
};
use crate::outgrown::without_removed;
use crate::request::Context;

/// An object that exists, with its value.
#[derive(Clone, Debug)]
pub(crate) struct Existing {
    /// By the current schema, with marks.
    pub(crate) value: Value,
    pub(crate) private: Private,
    pub(crate) identity: Option<Value>,
    /// The fields of the state beside the data of the provider.
    pub(crate) record: ObjectRecord,
    /// Its stored form differs from the current one.
    pub(crate) outdated: bool,
}

/// Type and provider of an object before a move to another type or provider.
#[derive(Clone, Debug)]
pub(crate) struct MovedFrom {
    pub(crate) kind: EcoString,
    pub(crate) provider: ProviderSource,
}

impl Existing {
    pub(crate) fn is_tainted(&self) -> bool {
        self.record.status == Status::Tainted
    }
}

/// Everything that is needed to talk with a provider about one object.
#[derive(Clone)]
pub(crate) struct Subject<'a> {
    pub(crate) context: Context<'a>,
    pub(crate) addr: AbsResourceInstance,
    pub(crate) deposed: Option<DeposedKey>,
    pub(crate) provider: Arc<dyn Provider>,
    /// For messages.
    pub(crate) provider_name: EcoString,
    pub(crate) schemas: Arc<ProviderSchema>,
    /// The body of its block, if it has one; messages about attributes point there.
    pub(crate) body: Option<&'a Body>,
    /// `provider_meta` of the module.
    pub(crate) meta: Value,
}

/// The result of an operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Completed,
    Failed,
}

impl Ended {
    /// An operation is completed if it has a result.
    pub(crate) fn with<T>(result: Option<&T>) -> Ended {
        result.map_or(Ended::Failed, |_| Ended::Completed)
    }
    /// An operation is completed if there are no errors.
    pub(crate) fn by(problems: &Diagnostics) -> Ended {
        if problems.has_errors() { Ended::Failed } else { Ended::Completed }
    }
}

impl Subject<'_> {
    /// Plans the destruction of an object. Fails if the provider reports an error or plans something else.
    pub(crate) async fn plan_end(&self, existing: &Existing) -> Result<PlanAnswer, Diagnostics> {
        let null = Value::null(existing.value.ty().clone());
        let request = PlanRequest {
            kind: self.kind().clone(),
            prior: existing.value.unmark_deep().0,
            proposed: null.clone(),
            config: null,
            prior_private: existing.private.clone(),
            provider_meta: self.meta.clone(),
            prior_identity: existing.identity.clone(),
        };
        let Outcome { value, problems } = self.provider.plan(request).await;
        let mut found = self.placed(problems);
        match value {
            Some(answer) if answer.planned.is_null() && !found.has_errors() => Ok(answer),
            _ => {
                if !found.has_errors() {
                    let what = eco_format!("planned something other than destroying {}", self.addr);
                    found.push(self.broken(&PROVIDER_INVALID_PLAN, &what));
                }
                Err(found)
            }
        }
    }

    pub(crate) fn kind(&self) -> &EcoString {
        &self.addr.resource.kind
    }

    /// The schema of the managed resource.
    pub(crate) fn schema(&self) -> Option<&Schema> {
        self.schemas.resources.get(self.kind())
    }

    /// Problems of the provider as messages.
    pub(crate) fn placed(&self, problems: Vec<Problem>) -> Diagnostics {
        let mut placed = Diagnostics::new();
        if problems.is_empty() {
            return placed;
        }
        let address = eco_format!("{}", self.addr);
        for problem in problems {
            placed.push(match self.body {
                Some(body) => problem.in_body(body, Some(&address)),
                None => {
                    let mut diagnostic = problem.diagnostic;
                    diagnostic.address.get_or_insert_with(|| address.clone());
                    diagnostic
                }
            });
        }
        placed
    }

    /// The error about a rule of the protocol that the provider breaks.
    pub(crate) fn broken(&self, code: &'static Code, what: &str) -> Diagnostic {
        diagnostics::provider_bug(code, &self.provider_name, what)
    }

    pub(crate) fn started(&self, phase: Phase, value: &Value) {
        self.started_with(phase, object_id(value));
    }

    /// With the identifier of the object.
    pub(crate) fn started_with(&self, phase: Phase, id: Option<(EcoString, EcoString)>) {
        let (addr, deposed) = (self.addr.clone(), self.deposed.clone());
        (self.context.events)(Event::Started { addr, deposed, phase, id });
    }

    pub(crate) fn finished(&self, phase: Phase, value: &Value, ended: Ended) {
        let ok = ended == Ended::Completed;
        let id = object_id(value);
        let (addr, deposed) = (self.addr.clone(), self.deposed.clone());
        (self.context.events)(Event::Finished { addr, deposed, phase, id, ok });
    }

    /// An object of the state with its value, after its diagnostics were reported.
    pub(crate) async fn existing(&self, object: &Arc<Object>) -> Result<Existing, Diagnostics> {
        self.existing_from(object, None).await.map(|(existing, _)| existing)
    }

    /// An object of the state with its value and warnings; it may have been one of another type or provider.
    pub(crate) async fn existing_from(
        &self,
        object: &Arc<Object>,
        from: Option<&MovedFrom>,
    ) -> Result<(Existing, Diagnostics), Diagnostics> {
        let Some(schema) = self.schema() else {
            return Err(diagnostics::unsupported_type_in_state(&self.provider_name, self.kind(), &self.addr).into());
        };
        if let Some(from) = from {
            return self.moved(object, schema, from).await;
        }
        if object.schema_version > schema.version {
            let (stored, supported) = (object.schema_version, schema.version);
            let problem = diagnostics::object_of_newer_provider(&self.addr, &self.provider_name, stored, supported);
            return Err(problem.into());
        }
        let ty = schema.block.implied_type();
        let mut outdated = object.schema_version != schema.version;
        let as_stored = match &object.attributes {
            Attributes::Json(json) if !outdated => yuba_value::json::decode(json.as_str().as_bytes(), ty).ok(),
            _ => None,
        };
        let (value, mut found) = match as_stored {
            Some(value) if self.provider.stores_as_is() => (value, Diagnostics::new()),
            as_stored => {
                let mut raw = raw_state(object);
                // A changed schema version shows all changes; otherwise removed attributes are not expected. An object
                // that can be read as it is does not have any.
                if !outdated
                    && as_stored.is_none()
                    && let Some(kept) = without_removed(object, ty)
                {
                    raw = kept;
                    outdated = true;
                }
                self.upgraded(object.schema_version, raw).await?
            }
        };
        if let Err(reason) = conforms(&value, ty) {
            found.push(self.broken(
                &INVALID_STATE_UPGRADE,
                &eco_format!(
                    "upgraded the stored object of {} to an object that does not conform to its schema: {reason}",
                    self.addr
                ),
            ));
            return Err(found);
        }
        let marks: Vec<_> = object.sensitive.iter().map(|path| (path.clone(), Marks::sensitive())).collect();
        let value = schema.block.mark(&value.mark_at(&marks), None);
        let (identity, upgraded) = self.identity_of(object, &mut found).await;
        if found.has_errors() {
            return Err(found);
        }
        outdated |= upgraded;
        let existing = Existing { value, private: object.private.clone(), identity, record: object.record(), outdated };
        Ok((existing, found))
    }

    /// A stored object by the current schema, with warnings.
    async fn upgraded(&self, version: u64, raw: RawState) -> Result<(Value, Diagnostics), Diagnostics> {
        let request = UpgradeRequest { kind: self.kind().clone(), version, raw };
        let Outcome { value, problems } = self.provider.upgrade_state(request).await;
        let mut found = self.placed(problems);
        match value {
            Some(value) if !found.has_errors() => Ok((value, found)),
            _ => {
                if !found.has_errors() {
                    found.push(
                        self.broken(&INVALID_STATE_UPGRADE, "returned no object for the upgrade of a stored object"),
                    );
                }
                Err(found)
            }
        }
    }

    /// An object that has changed its type or provider: only the new provider can read it.
    async fn moved(
        &self,
        object: &Object,
        schema: &Schema,
        from: &MovedFrom,
    ) -> Result<(Existing, Diagnostics), Diagnostics> {
        let request = MoveRequest {
            source_provider: from.provider.clone(),
            source_kind: from.kind.clone(),
            source_version: object.schema_version,
            source_raw: raw_state(object),
            source_private: object.private.clone(),
            source_identity: object.identity.as_ref().map(|kept| (version_of(kept), kept.json.as_str().into())),
            target_kind: self.kind().clone(),
        };
        let Outcome { value, problems } = self.provider.move_state(request).await;
        let mut found = self.placed(problems);
        let answer = match value {
            Some(answer) if !found.has_errors() => answer,
            _ => {
                if !found.has_errors() {
                    let what = eco_format!("returned no object for the move of an object of type {}", from.kind);
                    found.push(self.broken(&INVALID_STATE_MOVE, &what));
                }
                return Err(found);
            }
        };
        if let Err(reason) = conforms(&answer.state, schema.block.implied_type()) {
            let what = eco_format!(
                "converted the object of type {} to an object that does not conform to its new schema: {reason}",
                from.kind
            );
            found.push(self.broken(&INVALID_STATE_MOVE, &what));
            return Err(found);
        }
        let existing = Existing {
            value: schema.block.mark(&answer.state, None),
            private: answer.private,
            identity: answer.identity,
            record: object.record(),
            outdated: true,
        };
        Ok((existing, found))
    }

    fn identity_schema(&self) -> Option<&IdentitySchema> {
        self.schemas.identities.get(self.kind())
    }

    /// The identity of an object by the current schema, and whether this requires an upgrade by the provider.
    async fn identity_of(&self, object: &Object, found: &mut Diagnostics) -> (Option<Value>, bool) {
        let Some(kept) = &object.identity else { return (None, false) };
        let (known, version) = (self.identity_schema(), version_of(kept));
        let current = known.map_or(0, |known| known.version);
        if version > current {
            let provider = &self.provider_name;
            found.push(diagnostics::identity_of_newer_provider(&self.addr, provider, version, current));
            return (None, false);
        }
        let Some(known) = known else { return (None, false) };
        if version == current {
            let ty = known.object.spec_type().without_optional();
            return (yuba_value::json::decode(kept.json.as_str().as_bytes(), &ty).ok(), false);
        }
        let raw = kept.json.as_str().into();
        let Outcome { value, problems } = self.provider.upgrade_identity(self.kind().clone(), version, raw).await;
        found.extend(self.placed(problems));
        (value, true)
    }

    /// An identity in its stored form.
    fn stored_identity(&self, identity: &Value) -> Option<Identity> {
        let known = self.identity_schema()?;
        if identity.is_null() {
            return None;
        }
        let json = yuba_value::json::encode(identity, &known.object.spec_type().without_optional()).ok()?;
        Some(Identity { schema_version: Some(known.version), json: RawJson::parse(&json)? })
    }

    /// The refreshed object; none if it is gone.
    pub(crate) async fn refreshed(&self, existing: &Existing) -> (Option<Existing>, Diagnostics) {
        let Some(schema) = self.schema() else { return (Some(existing.clone()), Diagnostics::new()) };
        self.started(Phase::Refresh, &existing.value);
        let (prior, marks) = existing.value.unmark_with_paths();
        let request = ReadRequest {
            kind: self.kind().clone(),
            prior: prior.clone(),
            private: existing.private.clone(),
            provider_meta: self.meta.clone(),
            identity: existing.identity.clone(),
        };
        let Outcome { value: answer, problems } = self.provider.read(request).await;
        let mut found = self.placed(problems);
        let answer = match answer {
            Some(answer) if !found.has_errors() => answer,
            _ => {
                if !found.has_errors() {
                    found.push(self.broken(&PROVIDER_INVALID_OBJECT, "returned no result for reading an object"));
                }
                self.finished(Phase::Refresh, &existing.value, Ended::Failed);
                return (Some(existing.clone()), found);
            }
        };
        if let Err(reason) = conforms(&answer.state, schema.block.implied_type()) {
            let what =
                eco_format!("returned an object for {} that does not conform to its schema: {reason}", self.addr);
            found.push(self.broken(&PROVIDER_INVALID_OBJECT, &what));
            self.finished(Phase::Refresh, &existing.value, Ended::Failed);
            return (Some(existing.clone()), found);
        }
        let state = normalize_legacy(&schema.block, &answer.state);
        self.finished(Phase::Refresh, &state, Ended::Completed);
        if state.is_null() {
            return (None, found);
        }
        if answer.private == existing.private && answer.identity.is_none() && state.raw_equals(&prior) {
            return (Some(existing.clone()), found);
        }
        let value = schema.block.mark(&state.mark_at(&marks), None);
        let refreshed = Existing { value, private: answer.private, identity: answer.identity, ..existing.clone() };
        (Some(refreshed), found)
    }

    /// An object in its stored form.
    pub(crate) fn stored(&self, existing: &Existing) -> Result<Arc<Object>, AttributeError> {
        let schema = self.schema().expect("because an object exists only with its schema");
        let mut object = Object::encode(&existing.value, schema.block.implied_type(), schema.version)?;
        object.private = existing.private.clone();
        object.identity = existing.identity.as_ref().and_then(|identity| self.stored_identity(identity));
        Ok(Arc::new(object.recorded_as(existing.record.clone())))
    }
}

/// The version of the schema that an identity was stored with.
fn version_of(identity: &Identity) -> u64 {
    identity.schema_version.unwrap_or(0)
}

/// An object as it is stored.
fn raw_state(object: &Object) -> RawState {
    match &object.attributes {
        Attributes::Json(json) => RawState::Json(json.as_str().into()),
        Attributes::Flat(flat) => RawState::Flatmap(flat.clone()),
    }
}

/// The error that an object cannot be stored.
pub(crate) fn cannot_be_stored(addr: &AbsResourceInstance, reason: &AttributeError) -> Diagnostic {
    diagnostics::object_not_storable(addr, &reason.message)
}

/// Whether a value is of a type; otherwise the error.
pub(crate) fn conforms(value: &Value, ty: &Type) -> Result<(), EcoString> {
    if is_instance_of(value.ty(), ty) {
        return Ok(());
    }
    match convert::convert(value, ty) {
        Ok(converted) if converted.ty() == value.ty() => Ok(()),
        Ok(_) => Err(convert::mismatch_message(value.ty(), ty).into()),
        Err(reason) => Err(eco_format!("{reason}")),
    }
}

/// Whether a type is another one with types in place of `any`. A conversion changes nothing then.
fn is_instance_of(actual: &Type, wanted: &Type) -> bool {
    if actual == wanted {
        return true;
    }
    match (actual.kind(), wanted.kind()) {
        (_, TypeKind::Dynamic) => true,
        (TypeKind::Object(actual), TypeKind::Object(wanted)) => {
            actual.len() == wanted.len()
                && actual.iter().zip(wanted).all(|(actual, wanted)| {
                    actual.name == wanted.name && !wanted.optional && is_instance_of(&actual.ty, &wanted.ty)
                })
        }
        _ => false,
    }
}

/// The attribute by which people know an object.
pub(crate) fn object_id(value: &Value) -> Option<(EcoString, EcoString)> {
    let ty = value.ty();
    for name in ["id", "name"] {
        let Some(at) = ty.attr_index(name) else { continue };
        let View::Object(items) = value.view_ignoring_marks() else { return None };
        let item = items.get(at)?;
        if !item.marks().is_empty() {
            continue;
        }
        if let Some(text) = item.as_str().filter(|text| !text.is_empty()) {
            return Some((name.into(), text.clone()));
        }
    }
    None
}

/// Identifier of an imported object: its id, or the best available part of its identity.
pub(crate) fn import_id(importing: &Importing) -> Option<(EcoString, EcoString)> {
    if let Some(id) = &importing.id {
        return Some(("id".into(), id.clone()));
    }
    let identity = importing.identity.as_ref()?;
    let first = || {
        let View::Object(items) = identity.view_ignoring_marks() else { return None };
        let attributes = identity.ty().attrs()?.iter().zip(items.iter());
        let mut open = attributes.filter(|(_, item)| item.marks().is_empty());
        open.find_map(|(attribute, item)| Some((attribute.name.clone(), item.as_str()?.clone())))
    };
    object_id(identity).or_else(first)
}

/// Whether two values are known to be equal, whatever their types say.
pub(crate) fn is_same(a: &Value, b: &Value) -> bool {
    if a.raw_equals(b) {
        return a.is_wholly_known();
    }
    if a.is_null() || b.is_null() {
        return a.is_null() && b.is_null();
    }
    ops::equals(a, b).as_bool() == Some(true)
}

/// Whether something must not be shown in one of two values and may be in the other.
pub(crate) fn secrets_differ(a: &Value, b: &Value) -> bool {
    if a.is_deeply_unmarked() && b.is_deeply_unmarked() {
        return false;
    }
    let secrets = |value: &Value| {
        let only = value.map_marks_deep(&mut |marks| marks.filter(|mark| matches!(mark, Mark::Sensitive)));
        let (_, paths) = only.unmark_with_paths();
        let mut texts: Vec<String> =
            paths.iter().filter(|(_, marks)| !marks.is_empty()).map(|(path, _)| format!("{path:?}")).collect();
        texts.sort_unstable();
        texts.dedup();
        texts
    };
    secrets(a) != secrets(b)
}

/// Dependencies as they were and as they are, together.
pub(crate) fn merged(a: &EcoVec<ConfigResource>, b: &EcoVec<ConfigResource>) -> EcoVec<ConfigResource> {
    if a == b || b.is_empty() {
        return a.clone();
    }
    let mut all: Vec<(String, ConfigResource)> =
        a.iter().chain(b).map(|resource| (resource.to_string(), resource.clone())).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.dedup_by(|a, b| a.0 == b.0);
    all.into_iter().map(|(_, resource)| resource).collect()
}
