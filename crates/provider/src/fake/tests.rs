//! The fake provider works, and fails on request.

use std::task::{Context, Poll};

use expect_test::{Expect, expect};
use yuba_addrs::{AbsResourceInstance, ModuleInstance, Resource, ResourceMode};

use super::*;
use crate::contract::{
    ApplyRequest, DataRequest, ImportBy, ImportRequest, PlanRequest, Private, RawState, ReadRequest, UpgradeRequest,
};
use crate::decode;
use crate::legality::{assert_object_compatible, assert_plan_valid, proposed_new};
use crate::testing::{Literals, parse, show};

/// Polls until the response is ready; returns the number of pending polls.
fn wait<T>(mut answer: Answer<'_, T>) -> (T, u32) {
    let mut context = Context::from_waker(Waker::noop());
    for polls in 0..100 {
        if let Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return (answer, polls);
        }
    }
    panic!("the answer does not come");
}

fn decoded(schema: &crate::BlockSchema, text: &str) -> Value {
    let (file, _) = parse(text);
    decode(&file.body, schema, &mut Literals).0
}

/// A stand-in for the engine: one object, changed step by step.
struct Thing {
    world: FakeWorld,
    provider: Fake,
    state: Value,
    out: String,
}

impl Thing {
    fn new(world: FakeWorld) -> Thing {
        let provider = world.provider();
        let config = decoded(&FakeWorld::schema().provider.block, "region = \"north\"");
        assert!(wait(provider.configure(config)).0.is_empty());
        Thing { world, provider, state: Value::null(thing::block().implied_type().clone()), out: String::new() }
    }

    fn say(&mut self, what: &str, value: Option<&Value>, problems: &[Problem]) {
        let set = value.and_then(Value::entries).map(|entries| {
            let entries = entries
                .into_iter()
                .filter(|(_, value)| !value.is_null() && value.as_seq().is_none_or(|items| !items.is_empty()));
            entries.map(|(name, value)| format!(" {name}={}", show(&value))).collect::<String>()
        });
        self.out += &format!("{what}{}", set.unwrap_or_else(|| " -".into()));
        problems.iter().for_each(|problem| self.out += &format!(" ({})", problem.diagnostic.detail));
        self.out += "\n";
    }

    fn read(mut self) -> Thing {
        let request = ReadRequest {
            kind: "fake_thing".into(),
            prior: self.state.clone(),
            private: Private::new(),
            provider_meta: Value::null_dynamic(),
            identity: None,
        };
        let outcome = wait(self.provider.read(request)).0;
        if let Some(answer) = &outcome.value {
            self.state = answer.state.clone();
        }
        let state = outcome.value.map(|answer| answer.state);
        self.say("read ", state.as_ref(), &outcome.problems);
        self
    }

    /// Plans and applies; `-` destroys.
    fn apply(mut self, text: &str) -> Thing {
        let schema = thing::block();
        let null = Value::null(schema.implied_type().clone());
        let config = if text == "-" { null.clone() } else { decoded(schema, text) };
        let proposed = if config.is_null() { null } else { proposed_new(schema, &self.state, &config) };
        let request = PlanRequest {
            kind: "fake_thing".into(),
            prior: self.state.clone(),
            proposed,
            config: config.clone(),
            prior_private: Private::new(),
            provider_meta: Value::null_dynamic(),
            prior_identity: None,
        };
        let outcome = wait(self.provider.plan(request)).0;
        let Some(plan) = outcome.value else {
            self.say("plan ", None, &outcome.problems);
            return self;
        };
        let what = if plan.requires_replace.is_empty() { "plan " } else { "replace " };
        self.say(what, Some(&plan.planned), &outcome.problems);
        for violation in assert_plan_valid(schema, &self.state, &config, &plan.planned) {
            self.out += &format!("      illegal {}\n", violation.text(""));
        }
        let request = ApplyRequest {
            kind: "fake_thing".into(),
            prior: self.state.clone(),
            planned: plan.planned.clone(),
            config,
            planned_private: plan.private,
            provider_meta: Value::null_dynamic(),
            planned_identity: None,
        };
        let outcome = wait(self.provider.apply(request)).0;
        let answer = outcome.value.map(|answer| answer.state);
        self.say("apply", answer.as_ref(), &outcome.problems);
        if let Some(state) = answer {
            for violation in assert_object_compatible(schema, &plan.planned, &state) {
                self.out += &format!("      illegal {}\n", violation.text(""));
            }
            self.state = state;
        }
        self
    }

    fn check(self, expect: Expect) {
        let objects = self.world.objects();
        let objects: Vec<_> = objects.iter().map(|(id, object)| format!("{id}@{}", object.region)).collect();
        expect.assert_eq(&format!("{}log  {}\nreal {}\n", self.out, self.world.log().join(", "), objects.join(" ")));
    }
}

fn thing(text: &str) -> Thing {
    Thing::new(FakeWorld::new()).apply(text)
}

#[test]
fn things_live() {
    thing("name = \"a\"\npassword = \"p\"\nrule {\n port = 1\n}\nstep {\n port = 2\n}")
        .apply("name = \"a\"\nsize = 2\nrule {\n port = 1\n}\nrule {\n port = 3\n}")
        .read()
        .apply("name = \"a\"\nkind = \"x\"")
        .apply("-")
        .read()
        .check(expect![[r#"
            plan  color=?string id=?string name="a" region="north" rule=set[{handle=?string port=1}] step=[{handle=?string port=2}]
            apply color="blue" id="thing-1" name="a" region="north" rule=set[{handle="handle-1" port=1}] step=[{handle="handle-2" port=2}]
            plan  color="blue" id="thing-1" name="a" region="north" rule=set[{handle="handle-1" port=1} {handle=?string port=3}] size=2
            apply color="blue" id="thing-1" name="a" region="north" rule=set[{handle="handle-1" port=1} {handle="handle-3" port=3}] size=2
            read  color="blue" id="thing-1" name="a" region="north" rule=set[{handle="handle-1" port=1} {handle="handle-3" port=3}] size=2
            replace  color="blue" id="thing-1" kind="x" name="a" region="north"
            apply color="blue" id="thing-1" kind="x" name="a" region="north"
            plan  -
            apply -
            read  -
            log  configure north, plan a, create a, created a, plan a, update a, updated a, read a, plan a, update a, updated a, plan a, delete a, deleted a, read 
            real 
        "#]]);
}

#[test]
fn creating_fails() {
    thing("name = \"a\"\nbehave = \"fail_create\"").check(expect![[r#"
        plan  behave="fail_create" color=?string id=?string name="a" region="north"
        apply - (It was not possible to create "a".)
        log  configure north, plan a, create a, failed a
        real 
    "#]]);
    thing("name = \"a\"\nbehave = \"partial_create\"").check(expect![[r#"
        plan  behave="partial_create" color=?string id=?string name="a" region="north"
        apply behave="partial_create" color="blue" id="thing-1" name="a" region="north" (It was not possible to create "a".)
        log  configure north, plan a, create a, created a
        real thing-1@north
    "#]]);
    thing("name = \"a\"\nbehave = \"lost_create\"").check(expect![[r#"
        plan  behave="lost_create" color=?string id=?string name="a" region="north"
        apply - (It was not possible to create "a".)
        log  configure north, plan a, create a, created a
        real thing-1@north
    "#]]);
}

#[test]
fn plans_and_results_lie() {
    thing("name = \"a\"\nbehave = \"lie_plan\"").check(expect![[r#"
        plan  behave="lie_plan" color=?string id=?string name="a or not" region="north"
              illegal .name: "a or not" is planned, but "a" is configured
        apply behave="lie_plan" color="blue" id="thing-1" name="a or not" region="north"
        log  configure north, plan a, create a or not, created a or not
        real thing-1@north
    "#]]);
    thing("name = \"a\"\nbehave = \"lie_apply\"").check(expect![[r#"
        plan  behave="lie_apply" color=?string id=?string name="a" region="north"
        apply behave="lie_apply" color="blue" id="thing-1" name="a or not" region="north"
              illegal .name: "a" was planned, but it is "a or not" now
        log  configure north, plan a, create a, created a
        real thing-1@north
    "#]]);
}

#[test]
fn things_change_by_themselves() {
    thing("name = \"a\"\nbehave = \"drift\"").read().check(expect![[r#"
        plan  behave="drift" color=?string id=?string name="a" region="north"
        apply behave="drift" color="blue" id="thing-1" name="a" region="north"
        read  behave="drift" color="drifted" id="thing-1" name="a" region="north"
        log  configure north, plan a, create a, created a, read a
        real thing-1@north
    "#]]);
    thing("name = \"a\"\nbehave = \"vanish\"").read().check(expect![[r#"
        plan  behave="vanish" color=?string id=?string name="a" region="north"
        apply behave="vanish" color="blue" id="thing-1" name="a" region="north"
        read  -
        log  configure north, plan a, create a, created a, read a
        real 
    "#]]);
}

#[test]
fn faults_come_from_outside_too() {
    let world = FakeWorld::new().with_faults(|call| (call == "update a").then_some(Fault::Fail));
    Thing::new(world).apply("name = \"a\"").apply("name = \"a\"\nsize = 1").check(expect![[r#"
        plan  color=?string id=?string name="a" region="north"
        apply color="blue" id="thing-1" name="a" region="north"
        plan  color="blue" id="thing-1" name="a" region="north" size=1
        apply - (It was not possible to update "a".)
        log  configure north, plan a, create a, created a, plan a, update a, failed a
        real thing-1@north
    "#]]);
}

fn create(behave: &str) -> ApplyRequest {
    let config = decoded(thing::block(), &format!("name = \"a\"\nbehave = \"{behave}\""));
    ApplyRequest {
        kind: "fake_thing".into(),
        prior: Value::null(config.ty().clone()),
        planned: config.clone(),
        config,
        planned_private: Private::new(),
        provider_meta: Value::null_dynamic(),
        planned_identity: None,
    }
}

#[test]
fn answers_take_their_time() {
    let provider = FakeWorld::new().provider();
    let (outcome, polls) = wait(provider.apply(create("slow")));
    assert!(!outcome.has_errors());
    assert_eq!(polls, 3);

    let mut hanging = provider.apply(create("hang"));
    let mut context = Context::from_waker(Waker::noop());
    assert!(hanging.as_mut().poll(&mut context).is_pending());
    assert!(hanging.as_mut().poll(&mut context).is_pending());
    assert!(wait(provider.stop()).0.is_empty());
    assert!(wait(hanging).0.has_errors());
}

#[test]
fn things_are_looked_up_and_imported() {
    let made = thing("name = \"a\"\nsize = 5");
    let address = AbsResourceInstance {
        module: ModuleInstance::default(),
        resource: Resource { mode: ResourceMode::Data, kind: "fake_lookup".into(), name: "x".into() },
        key: None,
    };
    let lookup = |name: &str| {
        let schema = FakeWorld::schema();
        let request = DataRequest {
            kind: "fake_lookup".into(),
            config: decoded(&schema.data["fake_lookup"].block, &format!("name = {name:?}")),
            provider_meta: Value::null_dynamic(),
            address: address.clone(),
        };
        wait(made.provider.read_data(request)).0.value.map(|answer| show(&answer.state)).unwrap_or_default()
    };
    expect![[r#"{behave=null found=true id="thing-1" name="a" size=5}"#]].assert_eq(&lookup("a"));
    expect![[r#"{behave=null found=false id=null name="b" size=null}"#]].assert_eq(&lookup("b"));

    let import = |id: &str| {
        let request = ImportRequest { kind: "fake_thing".into(), by: ImportBy::Id(id.into()) };
        wait(made.provider.import(request)).0.value.map(|found| thing::name(&found[0].state))
    };
    assert_eq!((import("thing-1"), import("thing-2")), (Some("a".into()), None));
}

#[test]
fn tokens_are_opened_renewed_and_closed() {
    let world = FakeWorld::new();
    let provider = world.provider();
    let schema = FakeWorld::schema();
    let config = decoded(&schema.ephemeral["fake_token"].block, "name = \"t\"\nrenew_at = 100");
    let opened = wait(provider.open_ephemeral("fake_token".into(), config)).0.value.expect("it is open");
    assert_eq!((show(&child(&opened.value)), opened.renew_at), ("\"token-1\"".into(), Some(100)));
    assert_eq!(world.open_tokens(), ["t"]);
    let renewed = wait(provider.renew_ephemeral("fake_token".into(), opened.private)).0.value.expect("it is open");
    assert!(wait(provider.close_ephemeral("fake_token".into(), renewed.private.clone())).0.is_empty());
    assert!(!wait(provider.close_ephemeral("fake_token".into(), renewed.private)).0.is_empty());
    assert_eq!(world.take_log(), ["open t", "renew t", "close t", "close "]);
}

fn child(token: &Value) -> Value {
    crate::legality::child(token, "value")
}

#[test]
fn stored_objects_of_the_first_version_are_read() {
    let raw = RawState::Json(r#"{"label":"a","size":1}"#.into());
    let request = UpgradeRequest { kind: "fake_thing".into(), version: 0, raw };
    let upgraded = wait(FakeWorld::new().provider().upgrade_state(request)).0.value.expect("it can be read");
    assert_eq!(thing::name(&upgraded), "a");
}

#[test]
fn a_world_starts_providers() {
    let world = FakeWorld::new();
    let source = |text: &str| ProviderSource::parse(text).expect("it is a source");
    for (text, types) in [("fake", "fake_thing"), ("terraform.io/builtin/terraform", "terraform_data")] {
        let provider =
            world.unconfigured(&source(text)).map_err(|problem| problem.diagnostic.detail).expect("it starts");
        assert!(provider.schema().resources.contains_key(types));
        assert!(Providers::schema(&world, &source(text)).is_some());
    }
    assert!(world.unconfigured(&source("other")).is_err());
}
