//! The fake provider itself.

use std::sync::{Arc, OnceLock};

use ecow::{EcoString, eco_format};
use yuba_value::function::FunctionError;
use yuba_value::{Type, Value};

use super::delay::delay;
use super::thing::{self, text, with};
use super::{FakeObject, FakeWorld, Fault, problem};
use crate::contract::{
    Answer, ApplyAnswer, ApplyRequest, DataAnswer, DataRequest, ImportBy, ImportRequest, Imported, MoveAnswer,
    MoveRequest, Opened, Outcome, PlanAnswer, PlanRequest, Private, Provider, ReadAnswer, ReadRequest, Renewed,
    UpgradeRequest, ready,
};
use crate::legality::child;
use crate::problem::Problem;
use crate::schema::ProviderSchema;

/// A provider that changes a [`FakeWorld`].
pub struct Fake {
    world: FakeWorld,
    region: OnceLock<EcoString>,
}

impl Fake {
    pub(super) fn new(world: FakeWorld) -> Fake {
        Fake { world, region: OnceLock::new() }
    }

    fn region(&self) -> EcoString {
        self.region.get().cloned().unwrap_or_default()
    }

    /// Begins a request, waits if its fault delays it, and responds.
    fn answer<'a, T: Send + 'a>(
        &'a self,
        verb: &'a str,
        name: EcoString,
        behave: &str,
        answer: impl FnOnce(&FakeWorld, Option<Fault>) -> Outcome<T> + Send + 'a,
    ) -> Answer<'a, Outcome<T>> {
        let behave = EcoString::from(behave);
        Box::pin(async move {
            let fault = self.world.begin(verb, &name, &behave);
            let stopped = delay(self.world.clone(), fault).await;
            if stopped || fault == Some(Fault::Fail) {
                self.world.note(eco_format!("failed {name}"));
                return Outcome::failed(failure(verb, &name));
            }
            let mut outcome = answer(&self.world, fault);
            if matches!(fault, Some(Fault::Partial | Fault::Lost)) {
                outcome.problems.push(failure(verb, &name));
            }
            if fault == Some(Fault::Lost) {
                outcome.value = None;
            }
            outcome
        })
    }
}

fn failure(verb: &str, name: &str) -> Problem {
    problem("Fake failure", eco_format!("It was not possible to {verb} {name:?}."))
}

impl Provider for Fake {
    fn schema(&self) -> Arc<ProviderSchema> {
        FakeWorld::schema()
    }

    fn validate_provider_config(&self, config: Value) -> Answer<'_, Vec<Problem>> {
        ready(thing::validate(&config))
    }
    fn validate_resource_config(&self, _kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        ready(thing::validate(&config))
    }
    fn validate_data_config(&self, _kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        ready(thing::validate(&config))
    }
    fn validate_ephemeral_config(&self, _kind: EcoString, config: Value) -> Answer<'_, Vec<Problem>> {
        ready(thing::validate(&config))
    }
    fn configure(&self, config: Value) -> Answer<'_, Vec<Problem>> {
        let (region, behave) = (text(&config, "region"), text(&config, "behave"));
        let answer = self.answer("configure", region.clone(), &behave, move |_, _| {
            let again = self.region.set(region).is_err();
            let problem = || problem("Configured twice", "A provider is configured once.".into());
            Outcome { value: Some(()), problems: again.then(problem).into_iter().collect() }
        });
        Box::pin(async move { answer.await.problems })
    }

    fn upgrade_state(&self, request: UpgradeRequest) -> Answer<'_, Outcome<Value>> {
        ready(thing::upgrade(request.version, &request.raw))
    }

    fn read(&self, request: ReadRequest) -> Answer<'_, Outcome<ReadAnswer>> {
        let ReadRequest { prior, private, identity, .. } = request;
        let behave = text(&prior, "behave");
        self.answer("read", thing::name(&prior), &behave.clone(), move |world, fault| {
            let mut inside = world.inside();
            let id = text(&prior, "id");
            match behave.as_str() {
                "vanish" => drop(inside.objects.remove(&id)),
                "drift" => {
                    if let Some(object) = inside.objects.get_mut(&id) {
                        object.value = with(&object.value, "color", Value::string("drifted"));
                    }
                }
                _ => {}
            }
            let found = inside.objects.get(&id).map(|object| thing::distorted(&object.value, fault));
            let state = found.unwrap_or_else(|| Value::null(prior.ty().clone()));
            Outcome::ok(ReadAnswer { state, private, identity })
        })
    }

    fn plan(&self, request: PlanRequest) -> Answer<'_, Outcome<PlanAnswer>> {
        let PlanRequest { prior, proposed, prior_private: private, provider_meta, .. } = request;
        if !provider_meta.is_null() {
            self.world.note(eco_format!("meta {}", text(&provider_meta, "tag")));
        }
        let named = if proposed.is_null() { &prior } else { &proposed };
        self.answer("plan", thing::name(named), &text(named, "behave"), move |_, fault| {
            let (planned, requires_replace) = match proposed.is_null() {
                true => (proposed, Vec::new()),
                false => thing::plan(&prior, &proposed, &self.region(), fault),
            };
            Outcome::ok(PlanAnswer { planned, requires_replace, private, legacy_type_system: false, identity: None })
        })
    }

    fn apply(&self, request: ApplyRequest) -> Answer<'_, Outcome<ApplyAnswer>> {
        let ApplyRequest { prior, planned, planned_private: private, .. } = request;
        let (verb, done) = match (prior.is_null(), planned.is_null()) {
            (true, _) => ("create", "created"),
            (_, true) => ("delete", "deleted"),
            _ => ("update", "updated"),
        };
        let named = if planned.is_null() { &prior } else { &planned };
        let name = thing::name(named);
        self.answer(verb, name.clone(), &text(named, "behave"), move |world, fault| {
            let mut inside = world.inside();
            let state = if planned.is_null() {
                inside.objects.remove(&text(&prior, "id"));
                // An incomplete delete leaves the object as it was in the response.
                if fault == Some(Fault::Partial) { prior } else { planned }
            } else {
                inside.made += u64::from(prior.is_null());
                let thing = thing::finished(&planned, eco_format!("thing-{}", inside.made));
                let object = FakeObject { region: self.region(), value: thing.clone() };
                inside.objects.insert(text(&thing, "id"), object);
                thing::distorted(&thing, fault)
            };
            inside.log.push(eco_format!("{done} {name}"));
            Outcome::ok(ApplyAnswer { state, private, legacy_type_system: false, identity: None })
        })
    }

    fn import(&self, request: ImportRequest) -> Answer<'_, Outcome<Vec<Imported>>> {
        let ImportBy::Id(id) = request.by else {
            return ready(Outcome::failed(problem("Import by identity not supported", "Use an id.".into())));
        };
        self.answer("import", id.clone(), "", move |world, _| match world.inside().objects.get(&id) {
            None => Outcome::failed(problem("No such thing", eco_format!("There is no thing {id:?}."))),
            Some(object) => Outcome::ok(vec![Imported {
                kind: request.kind,
                state: object.value.clone(),
                private: Private::new(),
                identity: None,
            }]),
        })
    }

    fn move_state(&self, request: MoveRequest) -> Answer<'_, Outcome<MoveAnswer>> {
        let detail = eco_format!("{} cannot become {}.", request.source_kind, request.target_kind);
        ready(Outcome::failed(problem("Unsupported move", detail)))
    }

    fn read_data(&self, request: DataRequest) -> Answer<'_, Outcome<DataAnswer>> {
        let config = request.config;
        let name = text(&config, "name");
        self.answer("data", name.clone(), &text(&config, "behave"), move |world, _| {
            let inside = world.inside();
            let found = inside.objects.values().find(|object| thing::name(&object.value) == name);
            let get = |attribute: &str, ty: Type| match found {
                Some(object) => child(&object.value, attribute),
                None => Value::null(ty),
            };
            let mut state = with(&config, "found", Value::bool(found.is_some()));
            state = with(&state, "id", get("id", Type::string()));
            state = with(&state, "size", get("size", Type::number()));
            Outcome::ok(DataAnswer::plain(state))
        })
    }

    fn open_ephemeral(&self, _kind: EcoString, config: Value) -> Answer<'_, Outcome<Opened>> {
        let name = text(&config, "name");
        self.answer("open", name.clone(), &text(&config, "behave"), move |world, _| {
            let mut inside = world.inside();
            inside.made += 1;
            let id = eco_format!("token-{}", inside.made);
            inside.open.insert(id.clone(), name);
            let renew_at = child(&config, "renew_at").as_number().and_then(yuba_value::Number::to_i64);
            let value = with(&config, "value", Value::string(id.clone()));
            Outcome::ok(Opened { value, private: id.as_bytes().into(), renew_at })
        })
    }
    fn renew_ephemeral(&self, _kind: EcoString, private: Private) -> Answer<'_, Outcome<Renewed>> {
        let id = EcoString::from(String::from_utf8_lossy(&private).as_ref());
        let name = self.world.inside().open.get(&id).cloned().unwrap_or_default();
        self.answer("renew", name, "", move |_, _| Outcome::ok(Renewed { private, renew_at: None }))
    }
    fn close_ephemeral(&self, _kind: EcoString, private: Private) -> Answer<'_, Vec<Problem>> {
        let id = EcoString::from(String::from_utf8_lossy(&private).as_ref());
        let name = self.world.inside().open.get(&id).cloned().unwrap_or_default();
        let answer = self.answer("close", name, "", move |world, _| match world.inside().open.remove(&id) {
            Some(_) => Outcome::ok(()),
            None => Outcome::failed(problem("Not open", eco_format!("The token {id:?} is not open."))),
        });
        Box::pin(async move { answer.await.problems })
    }

    fn call_function(&self, name: EcoString, _args: Vec<Value>) -> Answer<'_, Result<Value, FunctionError>> {
        ready(Err(FunctionError::new(eco_format!("there is no function {name:?}"))))
    }

    fn stop(&self) -> Answer<'_, Vec<Problem>> {
        let waiting = {
            let mut inside = self.world.inside();
            inside.stopped = true;
            std::mem::take(&mut inside.waiting)
        };
        waiting.into_iter().for_each(std::task::Waker::wake);
        ready(Vec::new())
    }
}
