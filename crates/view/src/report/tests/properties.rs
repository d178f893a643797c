//! No sensitive text is anywhere in a report, whatever it is part of.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::DeflateDecoder;
use proptest::prelude::*;
use yuba_addrs::ProviderSource;
use yuba_plan::{Action, Importing, PlannedWarning, ResourceChange};
use yuba_provider::{Attribute, BlockSchema, NestedBlock, Nesting, ProviderSchema, RecordedSchemas, Schema};
use yuba_state::{CheckKind, CheckObject, CheckResult, CheckStatus};
use yuba_syntax::Sources;
use yuba_value::{Mark, Path, PathStep, Type, Value};

use super::*;
use crate::testing::{addr, change, object, output, plan, tree};

/// A marked string with letters of a script that nothing else has, so that single letters are found: each of its lines begins with one.
fn secret_text() -> impl Strategy<Value = String> {
    let line = || prop_oneof!["[а-я]{1,40}", "[а-я][а-яa-zA-Z0-9\"\\\\<&é${%]{0,39}"];
    prop_oneof![
        3 => line(),
        1 => proptest::collection::vec(line(), 2..4).prop_map(|lines| lines.join("\n")),
    ]
}

/// The content of an HTML file: its text, and the report in it.
fn content(page: &str) -> String {
    let Some((_, stored)) = page.split_once("data-form=\"deflate\">") else { return page.to_owned() };
    let stored = stored.split_once('<').expect("the element ends").0;
    let stored = STANDARD.decode(stored).expect("it is base64");
    let mut text = String::new();
    std::io::Read::read_to_string(&mut DeflateDecoder::new(&*stored), &mut text).expect("it is complete");
    format!("{page}{text}")
}

/// Whether a text has a letter of a secret, as it is or as an escape sequence of JSON.
fn has_secret(text: &str) -> bool {
    text.contains("\\u04") || text.chars().any(|c| ('а'..='я').contains(&c))
}

/// A value that has marked strings in it: as strings, keys of maps, JSON, elements of lists and sets.
fn value_with_secrets() -> impl Strategy<Value = Value> {
    let plain = prop_oneof![
        Just(Value::null_dynamic()),
        Just(Value::unknown_dynamic()),
        any::<i32>().prop_map(|number| Value::int(number.into())),
        "[a-z]{0,5}".prop_map(Value::string),
        Just(Value::string("{\"a\": [1, {\"b\": null}]}")),
        Just(Value::string("one\ntwo\nthree")),
    ];
    let mark = prop_oneof![Just(Mark::Sensitive), Just(Mark::Ephemeral)];
    let marked = (secret_text(), 0..6, mark).prop_map(|(text, form, mark)| {
        let value = Value::string(text.as_str());
        let value = match form {
            0 => value,
            1 => Value::map(Type::string(), vec![(text.as_str().into(), value)]),
            2 => Value::list(Type::string(), vec![value]),
            3 => Value::set(Type::string(), vec![value]),
            4 => Value::string(format!("{{\"key\":{}}}", yuba_value::json::quote(&text))),
            _ => object([("name", value)]),
        };
        value.mark(mark)
    });
    prop_oneof![2 => plain, 3 => marked].prop_recursive(4, 24, 4, |inner| {
        let items = proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            items.prop_map(Value::tuple),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| object([("a", a), ("b.c", b), ("id", c)])),
        ]
    })
}

fn source() -> ProviderSource {
    ProviderSource::parse("example/test").expect("because it is well-formed")
}

/// A type with attributes and blocks that the schema declares sensitive.
fn schemas() -> RecordedSchemas {
    let secret = |ty: Type| Attribute { sensitive: true, ..Attribute::optional(ty) };
    let block = BlockSchema::new([("password", secret(Type::string())), ("open", Attribute::optional(Type::string()))]);
    let block = BlockSchema::new([
        ("id", Attribute::computed(Type::string())),
        ("any", secret(Type::dynamic())),
        ("free", Attribute::optional(Type::dynamic())),
    ])
    .with_blocks([("nested", NestedBlock::new(Nesting::List, block))]);
    let resources = [("test_thing", Schema { version: 0, block })].into_iter().collect();
    let provider = ProviderSchema { resources, ..ProviderSchema::default() };
    RecordedSchemas::new([(source(), provider)].into_iter().collect())
}

fn thing(any: &Value, free: Value, password: &str) -> Value {
    let nested = object([("password", Value::string(password)), ("open", Value::string("x"))]);
    let nested = Value::list_of(vec![nested]).unwrap_or_else(null);
    object([("id", Value::string("i")), ("any", any.unmark_deep().0), ("free", free), ("nested", nested)])
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        Just(Action::Create),
        Just(Action::Update),
        Just(Action::DeleteThenCreate),
        Just(Action::Delete),
        Just(Action::NoOp),
    ]
}

fn a_change(at: usize, action: Action, before: Value, after: Value, secret: &str) -> ResourceChange {
    let (before, after) = match action {
        Action::Create => (null(), after),
        Action::Delete => (before, null()),
        _ => (before, after),
    };
    let mut change = change(&format!("test_thing.a[{at}]"), action, before, after);
    let key = PathStep::Index(Value::string(secret));
    let steps = vec![PathStep::Attr("any".into()), key.clone()];
    change.required_replace = vec![Path(steps), Path(vec![PathStep::Attr("id".into())])];
    if at.is_multiple_of(2) {
        let importing = Importing { id: Some(secret.into()), identity: None, unknown: false };
        change.importing = Some(Box::new(importing));
        change.generated_config = Some(format!("password = {}", yuba_value::quote(secret)).into());
    }
    change.provider.provider = source();
    change.moved_from = Some(Box::new(addr("test_thing.b")));
    change
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_is_in_the_document(
        values in proptest::collection::vec((action(), value_with_secrets(), value_with_secrets(), value_with_secrets(), secret_text()), 1..5),
    ) {
        let (mut changes, mut outputs, mut drift) = (Vec::new(), Vec::new(), Vec::new());
        let (mut warnings, mut messages) = (Vec::new(), Vec::new());
        for (at, (action, first, second, third, secret)) in values.into_iter().enumerate() {
            let before = thing(&Value::string(secret.as_str()), first.clone(), &secret);
            let after = thing(&second, third.clone(), "другой");
            changes.push(a_change(at, action, before.clone(), after.clone(), &secret));
            drift.push(a_change(at, Action::Update, before, after, &secret));
            outputs.push(output(&format!("o{at}"), Action::Update, first, third));
            let mut sensitive = output(&format!("s{at}"), Action::Update, second, Value::string(secret.as_str()));
            sensitive.sensitive = true;
            outputs.push(sensitive);
            warnings.push(PlannedWarning {
                summary: "Deprecated".into(),
                detail: format!("The value is {secret}, {}.", yuba_value::quote(&secret)).into(),
                address: "".into(),
                file: "".into(),
                start: 0,
                end: 0,
                deprecated: deprecated_use(),
            });
            messages.push(format!("bad {secret}").into());
        }
        let mut plan = plan(changes, outputs);
        plan.drift = drift;
        plan.warnings = warnings;
        let object = CheckObject { addr: "check.c".into(), status: CheckStatus::Fail, failure_messages: messages };
        let (kind, status) = (CheckKind::Check, CheckStatus::Fail);
        plan.checks = vec![CheckResult { kind, config_addr: "check.c".into(), status, objects: vec![object] }];
        let (tree, files) = (tree([(".", "")]), Sources::new());
        let sources = PlanSources { plan: &plan, tree: &tree, graph: &RefGraph::default(), files: &files, schemas: &schemas() };
        let report = Report::of_plan(&sources);
        let text = json::report(&report);
        prop_assert!(!has_secret(&text), "{text}");
        let debug = format!("{report:?}");
        prop_assert!(!has_secret(&debug), "{debug}");
        let page = content(&crate::html::file(&report));
        prop_assert!(page.contains("test_thing.a[0]"), "the page has the report");
        prop_assert!(!has_secret(&page), "{page}");
    }
}
