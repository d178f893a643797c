//! The built-in provider, asked as the engine asks it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

use expect_test::{Expect, expect};
use yuba_addrs::{ModuleInstance, Resource};
use yuba_value::Mark;

use super::*;
use crate::contract::RawState;
use crate::legality::{assert_object_compatible, assert_plan_valid, proposed_new};
use crate::testing::{Literals, parse, show};
use crate::{BlockSchema, decode};

/// The answer of a future that does not wait for anything.
fn now<T>(mut answer: Answer<'_, T>) -> T {
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the response is not ready yet"),
    }
}

#[derive(Default)]
struct OneState(Mutex<Vec<String>>);

impl StateReader for OneState {
    fn check(&self, backend: &str, config: &Value) -> Vec<Problem> {
        let fits = config.entries().is_some_and(|entries| entries.iter().all(|(name, _)| name == "path"));
        match (backend, fits) {
            ("local" | "s3", true) => Vec::new(),
            (name, _) => vec![Problem::nowhere(crate::diagnostics::invalid_backend_configuration(
                &crate::diagnostics::RemoteStateProblem::ConfigNotObject(name),
            ))],
        }
    }
    fn outputs(&self, request: RemoteState) -> Answer<'_, Outcome<Option<BTreeMap<EcoString, RemoteOutput>>>> {
        let RemoteState { backend, config, workspace, .. } = &request;
        if let Ok(mut asked) = self.0.lock() {
            asked.push(format!("{backend} {} {workspace}", show(config)));
        }
        let output = |text: &str, sensitive, deprecated: &str| RemoteOutput {
            value: Value::string(text),
            sensitive,
            deprecated: deprecated.into(),
        };
        let outputs = [
            ("a".into(), output("state", false, "")),
            ("s".into(), output("secret", true, "")),
            ("d".into(), output("old", false, "use a")),
        ];
        ready(Outcome::ok((workspace == "default").then(|| BTreeMap::from(outputs))))
    }
}

fn provider() -> Terraform {
    let next = AtomicU32::new(1);
    let ids: IdSource = Arc::new(move || eco_format!("id-{}", next.fetch_add(1, Ordering::Relaxed)));
    Terraform::new(ids, Arc::new(OneState::default()))
}

fn block(provider: &Terraform) -> BlockSchema {
    provider.schema().resources["terraform_data"].block.clone()
}

fn config(schema: &BlockSchema, text: &str) -> Value {
    let (file, _) = parse(text);
    decode(&file.body, schema, &mut Literals).0
}

/// Plans and applies one configuration after the other, each with a plan that says what is different.
fn check(texts: &[&str], expect: Expect) {
    let provider = provider();
    let schema = block(&provider);
    let kind = EcoString::from("terraform_data");
    let null = Value::null(schema.implied_type().clone());
    let mut state = null.clone();
    let mut out = String::new();
    for text in texts {
        let config = if *text == "-" { null.clone() } else { config(&schema, text) };
        let mut plan = |prior: &Value| {
            let proposed = proposed_new(&schema, prior, &config);
            let proposed = if config.is_null() { null.clone() } else { proposed };
            let request = PlanRequest {
                kind: kind.clone(),
                prior: prior.clone(),
                proposed,
                config: config.clone(),
                prior_private: Private::new(),
                provider_meta: Value::null_dynamic(),
                prior_identity: None,
            };
            let answer = now(provider.plan(request)).value.expect("there is a plan");
            assert!(assert_plan_valid(&schema, prior, &config, &answer.planned).is_empty());
            out += &format!("plan {}", show(&answer.planned));
            out += if answer.requires_replace.is_empty() { "\n" } else { " replace\n" };
            answer
        };
        let mut answer = plan(&state);
        if !answer.requires_replace.is_empty() {
            state = null.clone();
            answer = plan(&state);
        }
        let request = ApplyRequest {
            kind: kind.clone(),
            prior: state.clone(),
            planned: answer.planned.clone(),
            config,
            planned_private: answer.private,
            provider_meta: Value::null_dynamic(),
            planned_identity: None,
        };
        state = now(provider.apply(request)).value.expect("there is a result").state;
        assert!(assert_object_compatible(&schema, &answer.planned, &state).is_empty());
        out += &format!("     {}\n", show(&state));
    }
    expect.assert_eq(&out);
}

#[test]
fn terraform_data_goes_through_its_life() {
    check(
        &["input = { a = 1 }", "input = { a = 1 }", "input = [2]", "input = [2]\ntriggers_replace = 3", "", "-"],
        expect![[r#"
            plan {id=?string input={a=1} output=?object triggers_replace=null}
                 {id="id-1" input={a=1} output={a=1} triggers_replace=null}
            plan {id="id-1" input={a=1} output={a=1} triggers_replace=null}
                 {id="id-1" input={a=1} output={a=1} triggers_replace=null}
            plan {id="id-1" input=tuple[2] output=?tuple triggers_replace=null}
                 {id="id-1" input=tuple[2] output=tuple[2] triggers_replace=null}
            plan {id=?string input=tuple[2] output=?tuple triggers_replace=3} replace
            plan {id=?string input=tuple[2] output=?tuple triggers_replace=3}
                 {id="id-2" input=tuple[2] output=tuple[2] triggers_replace=3}
            plan {id=?string input=null output=null triggers_replace=null} replace
            plan {id=?string input=null output=null triggers_replace=null}
                 {id="id-3" input=null output=null triggers_replace=null}
            plan null
                 null
        "#]],
    );
    // Quirk: an input that goes makes the output unknown of no type, which then becomes null.
    check(
        &["input = 1", "", "input = unknown"],
        expect![[r#"
            plan {id=?string input=1 output=?number triggers_replace=null}
                 {id="id-1" input=1 output=1 triggers_replace=null}
            plan {id="id-1" input=null output=?dynamic triggers_replace=null}
                 {id="id-1" input=null output=null triggers_replace=null}
            plan {id="id-1" input=?list of string output=?list of string triggers_replace=null}
                 {id="id-1" input=?list of string output=?list of string triggers_replace=null}
        "#]],
    );
}

#[test]
fn stored_objects_are_read() {
    let provider = provider();
    let check = |raw: &str, expect: Expect| {
        let request = UpgradeRequest { kind: "terraform_data".into(), version: 0, raw: RawState::Json(raw.into()) };
        let outcome = now(provider.upgrade_state(request));
        let problems = outcome.problems.into_iter().map(|problem| problem.diagnostic.detail.to_string());
        expect.assert_eq(&outcome.value.iter().map(show).chain(problems).collect::<Vec<_>>().join("\n"));
    };
    check(
        r#"{"id":"x","input":{"type":"string","value":"a"},"output":null,"triggers_replace":null}"#,
        expect![[r#"{id="x" input="a" output=null triggers_replace=null}"#]],
    );
    check(
        r#"{"id":"x","more":1}"#,
        expect![[r#"Failed to read the stored object: the object has no attribute "more" (at byte 17)."#]],
    );
    let import = ImportRequest { kind: "terraform_data".into(), by: ImportBy::Id("abc".into()) };
    let imported = now(provider.import(import)).value.unwrap_or_default();
    expect![[r#"{id="abc" input=null output=null triggers_replace=null}"#]].assert_eq(&show(&imported[0].state));
}

#[test]
fn a_null_resource_becomes_terraform_data() {
    let provider = provider();
    let check = |kind: &str, raw: &str, expect: Expect| {
        let request = MoveRequest {
            source_provider: yuba_addrs::ProviderSource::implied_for("null").expect("it is a name"),
            source_kind: kind.into(),
            source_version: 0,
            source_raw: RawState::Json(raw.into()),
            source_identity: None,
            source_private: Private::new(),
            target_kind: "terraform_data".into(),
        };
        let outcome = now(provider.move_state(request));
        let problems = outcome.problems.into_iter().map(|problem| problem.diagnostic.summary.to_string());
        let state = outcome.value.map(|answer| show(&answer.state));
        expect.assert_eq(&state.into_iter().chain(problems).collect::<Vec<_>>().join("\n"));
    };
    check(
        "null_resource",
        r#"{"id":"x","triggers":{"a":"1"}}"#,
        expect![[r#"{id="x" input=null output=null triggers_replace={a="1"}}"#]],
    );
    check(
        "null_resource",
        r#"{"id":"x","triggers":null}"#,
        expect![[r#"{id="x" input=null output=null triggers_replace=null}"#]],
    );
    check("other", "{}", expect!["Unsupported move"]);
}

fn check_remote_state(provider: &Terraform, text: &str, expect: Expect) {
    let schema = &TERRAFORM.data["terraform_remote_state"].block;
    let request = DataRequest {
        kind: "terraform_remote_state".into(),
        config: config(schema, text),
        provider_meta: Value::null_dynamic(),
        address: AbsResourceInstance {
            module: ModuleInstance::default(),
            resource: Resource { mode: ResourceMode::Data, kind: "terraform_remote_state".into(), name: "r".into() },
            key: None,
        },
    };
    let outcome = now(provider.read_data(request));
    let mut out = String::new();
    if let Some(DataAnswer { state, marks }) = outcome.value {
        out += &format!("{}\n", show(&state));
        for (path, marks) in marks {
            let mark = match marks.iter().next().expect("there is a mark") {
                Mark::Deprecated(deprecation) => format!("{}: {}", deprecation.source, deprecation.message),
                other => format!("{other:?}"),
            };
            out += &format!("{} {mark}\n", crate::diagnostics::path_text(&path));
        }
    }
    for problem in outcome.problems {
        out += &format!("{}\n", problem.diagnostic.summary);
    }
    expect.assert_eq(&out);
}

#[test]
fn outputs_of_other_states_are_read() {
    let text = "backend = \"local\"\nconfig = { path = \"p\" }\ndefaults = { a = 1, z = 2 }";
    check_remote_state(
        &provider(),
        text,
        expect![[r#"
            {backend="local" config={path="p"} defaults={a=1 z=2} outputs={a="state" d="old" s="secret" z=2} workspace=null}
            .outputs.d data.terraform_remote_state.r.d: use a
        "#]],
    );
    check_remote_state(
        &provider().keep_sensitive(),
        "backend = \"_local\"",
        expect![[r#"
            {backend="_local" config=null defaults=null outputs={a="state" d="old" s="secret"} workspace=null}
            .outputs.d data.terraform_remote_state.r.d: use a
            .outputs.s Sensitive
        "#]],
    );
    check_remote_state(
        &provider(),
        "backend = \"local\"\nworkspace = \"w\"\ndefaults = { a = 1 }",
        expect![[r#"
            {backend="local" config=null defaults={a=1} outputs={} workspace="w"}
            Unable to find remote state
            data.terraform_remote_state.r: Unable to read remote state
        "#]],
    );
    check_remote_state(
        &provider(),
        "backend = \"nope\"",
        expect![[r#"
            Invalid backend configuration
            data.terraform_remote_state.r: Unable to read remote state
        "#]],
    );
}

#[test]
fn functions_need_an_evaluator() {
    let call = |provider: &Terraform| {
        let answer = now(provider.call_function("encode_expr".into(), vec![Value::int(1)]));
        answer.map_or_else(|error| error.to_string(), |value| show(&value))
    };
    assert_eq!(call(&provider().with_constants(|| Box::new(Literals))), "\"1\"");
    assert_eq!(call(&provider()), "functions cannot be called here");
}
