//! Plan files, whole, cut and changed.

use proptest::prelude::*;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, InstanceKey, ModulePath, ProviderSource, Target};
use yuba_state::{CheckKind, CheckObject, CheckResult, CheckStatus, DeposedKey, Edit, Object, Output, State};
use yuba_syntax::{FileId, Span};
use yuba_value::{Bound, Deprecation, Mark, Number, Path, Type, Value};

use super::*;
use crate::{
    Action, ExecGraph, Importing, Mode, Op, OutputChange, PlannedVariable, Reason, RelevantAttribute, ResourceChange,
};

fn addr(text: &str) -> AbsResourceInstance {
    AbsResourceInstance::parse_text(FileId(0), text).expect("because it is well-formed")
}

fn change(at: &str, before: Value, after: Value) -> ResourceChange {
    ResourceChange {
        addr: addr(at),
        moved_from: None,
        deposed: None,
        provider: AbsProviderConfig {
            module: ModulePath::ROOT.child("m"),
            provider: ProviderSource::builtin("terraform"),
            alias: Some("x".into()),
        },
        provider_key: None,
        action: Action::Update,
        reason: Reason::None,
        before,
        after,
        private: [].into(),
        identity: None,
        required_replace: Vec::new(),
        importing: None,
        generated_config: None,
    }
}

fn file(changes: Vec<ResourceChange>) -> PlanFile {
    let state = Arc::new(State::empty());
    PlanFile {
        tool_version: "0.1.0".into(),
        plan: Plan {
            mode: Mode::Normal,
            targets: Vec::new(),
            excludes: Vec::new(),
            force_replace: Vec::new(),
            variables: BTreeMap::new(),
            changes,
            drift: Vec::new(),
            relevant: Vec::new(),
            outputs: Vec::new(),
            checks: Vec::new(),
            previous_state: Arc::clone(&state),
            prior_state: state,
            exec: ExecGraph::default(),
            timestamp: "2026-01-02T03:04:05Z".into(),
            errored: false,
            workspace: "default".into(),
        },
        sources: BTreeMap::new(),
        manifest: "".into(),
        backend: SavedBackend::default(),
        lock_file: None,
        lineage: "l".into(),
        serial: 7,
    }
}

/// A file with something in every place.
fn full() -> PlanFile {
    let deprecation = Deprecation { source: "var.x".into(), message: "no".into(), remote: true, unread: true };
    let unknown = Value::unknown(Type::string()).refine().not_null().prefix("ami-").done();
    let bounded = Value::unknown(Type::number()).refine().number_min(Bound::inclusive(Number::from_i64(3))).done();
    let counted = Value::unknown(Type::set(Type::bool())).refine().len_min(1).len_max(9).done();
    let before = Value::object(vec![
        ("a".into(), Value::string("é").mark(Mark::Sensitive)),
        ("d".into(), Value::int(-5).mark(Mark::Deprecated(Arc::new(deprecation)))),
        ("l".into(), Value::list(Type::number(), vec![Value::int(1), Value::int(i64::MIN)])),
        ("n".into(), Value::null(Type::map(Type::string()))),
        ("s".into(), Value::set(Type::string(), vec![Value::string("b"), Value::string("a")])),
        ("t".into(), Value::tuple(vec![Value::bool(true), Value::bool(false), Value::empty_object()])),
    ]);
    let half = Number::parse("0.1").expect("because it is a number");
    let after = Value::object(vec![
        ("b".into(), bounded),
        ("c".into(), counted),
        ("f".into(), Value::number(half)),
        ("g".into(), Value::number(Number::from_f64(-0.0).expect("because it is a number"))),
        ("i".into(), Value::number(Number::infinity(true))),
        ("m".into(), Value::map(Type::dynamic(), Vec::new())),
        ("u".into(), unknown.mark(Mark::Ephemeral)),
    ]);
    let mut moved = change("module.a[\"k.x\"].data.t.b[3]", before.clone(), after.clone());
    moved.moved_from = Some(Box::new(addr("t.old")));
    moved.deposed = Some(DeposedKey::new(0xab));
    moved.provider_key = Some(InstanceKey::String("eu".into()));
    (moved.action, moved.reason) = (Action::DeleteThenCreate, Reason::DeleteBecauseModuleEnabledFalse);
    moved.private = [0, 255].into();
    moved.identity = Some(Value::string("i"));
    moved.required_replace = vec![Path::new().attr("a").index(Value::int(0)), Path::new()];
    moved.importing = Some(Box::new(Importing { id: None, identity: Some(before.clone()), unknown: true }));
    moved.generated_config = Some("x".into());
    let mut same = change("t.same", before.clone(), before.clone());
    same.action = Action::NoOp;
    let mut file = file(vec![moved, same.clone(), change("t.c", before.clone(), after.clone())]);
    let target = |text| {
        let target = Target::parse_text(FileId(0), text).expect("because it is well-formed");
        Target { span: Span::default(), ..target }
    };
    let plan = &mut file.plan;
    plan.mode = Mode::Destroy;
    plan.targets = vec![target("module.a[0]"), target("t.b"), target("t.b[1]")];
    plan.excludes = vec![target("module.z")];
    plan.force_replace = vec![addr("t.b[\"q\"]")];
    plan.variables.insert("v".into(), PlannedVariable { value: before.clone(), ephemeral: false });
    plan.drift = vec![same];
    let resource = AbsResourceInstance::parse_text(FileId(0), "module.a.t.b").expect("because it is well-formed");
    plan.relevant = vec![RelevantAttribute { resource, path: Path::new().attr("a") }];
    plan.outputs = vec![OutputChange {
        name: "o".into(),
        action: Action::Create,
        before: Value::null_dynamic(),
        after,
        sensitive: true,
        sensitive_before: false,
        deprecated: "d".into(),
        deprecated_before: "e".into(),
    }];
    let object = CheckObject { addr: "check.c".into(), status: CheckStatus::Fail, failure_messages: vec!["m".into()] };
    plan.checks = vec![CheckResult {
        kind: CheckKind::Check,
        config_addr: "check.c".into(),
        status: CheckStatus::Error,
        objects: vec![object],
    }];
    plan.exec = ExecGraph::new(vec![Op::Evaluate(9), Op::Destroy(2), Op::Join], &[(0, 2), (1, 2), (1, 0)]);
    plan.errored = true;
    file.sources = BTreeMap::from([("main.tf".into(), Arc::from(&b"a = 1\n\xff"[..]))]);
    file.manifest = "{}".into();
    file.backend = SavedBackend { kind: "local".into(), config: "{\"path\":\"x\"}".into(), workspace: "w".into() };
    file.lock_file = Some("# lock".into());
    file
}

#[test]
fn everything_comes_back() {
    let file = full();
    let again = decode(&encode(&file)).expect("because it was written");
    assert_eq!(format!("{again:?}"), format!("{file:?}"));
    assert_eq!(again.plan.changes[0].before.ty(), file.plan.changes[0].before.ty());
    assert!(again.plan.changes[2].after.raw_equals(&file.plan.changes[2].after));
}

/// What edits can tell is told by edits, and everything comes back.
#[test]
fn states_come_back() {
    let ty = Type::object([("a".into(), Type::string())]);
    let object = |text: &str| {
        let value = Value::object(vec![("a".into(), Value::string(text).mark(Mark::Sensitive))]);
        Some(Arc::new(Object::encode(&value, &ty, 1).expect("because it is known")))
    };
    let provider = change("t.a", Value::null_dynamic(), Value::null_dynamic()).provider;
    let set = |state: &mut State, at: &str, deposed: Option<u32>, text: &str| {
        let (provider, deposed) = (provider.clone(), deposed.map(DeposedKey::new));
        let object = object(text);
        state.apply(Edit::SetObject { addr: addr(at), deposed, provider, provider_key: None, object });
    };
    let output = |value| Some(Output { value, sensitive: false, deprecated: "".into() });
    let mut previous = State::empty();
    (previous.lineage, previous.serial) = ("l".into(), 7);
    set(&mut previous, "t.same", None, "same");
    set(&mut previous, "t.old[0]", None, "moved");
    set(&mut previous, "module.m.t.c", None, "before");
    set(&mut previous, "t.d", Some(5), "deposed");
    previous.apply(Edit::SetOutput { name: "a".into(), output: output(Value::int(1)) });
    previous.apply(Edit::SetOutput { name: "b".into(), output: output(Value::int(1)) });
    previous.check_results = Some(Vec::new());
    let mut prior = previous.clone();
    prior.apply(Edit::Move { from: addr("t.old[0]"), to: addr("t.new[\"k\"]") });
    set(&mut prior, "module.m.t.c", None, "after");
    let (at, key) = (addr("t.d"), DeposedKey::new(5));
    prior.apply(Edit::Restore { addr: at, key });
    prior.apply(Edit::SetOutput { name: "a".into(), output: None });
    prior.apply(Edit::SetOutput { name: "b".into(), output: output(Value::string("x")) });
    for (prior, previous) in [(&prior, &previous), (&previous, &prior), (&prior, &prior), (&State::empty(), &prior)] {
        let mut file = file(Vec::new());
        file.plan.prior_state = Arc::new(prior.clone());
        file.plan.previous_state = Arc::new(previous.clone());
        let again = decode(&encode(&file)).expect("because it was written").plan;
        assert!(again.prior_state.same_content(prior));
        assert!(again.previous_state.same_content(previous));
        assert_eq!(again.previous_state.lineage, previous.lineage);
        assert_eq!((again.prior_state.serial, again.previous_state.serial), (prior.serial, previous.serial));
    }
    assert_eq!(states::differences(&prior, &previous).map(|edits| edits.len()), Some(7));
}

#[test]
fn what_is_no_plan_is_recognised() {
    let check = |bytes: &[u8], expect: &Problem| assert_eq!(decode(bytes).err().as_ref(), Some(expect));
    check(b"", &Problem::NotAPlan);
    check(b"{\"version\": 4}", &Problem::NotAPlan);
    check(b"yuba plan is what this is not, because it goes on", &Problem::NotAPlan);
    check(b"PK\x03\x04rest of a zip", &Problem::OpenTofuPlan);
    check(b"yuba plan 2\nwhatever", &Problem::OtherVersion("\"2\"".into()));
    check(b"yuba plan 1\n", &Problem::Damaged);
}

#[test]
fn every_cut_and_every_flip_is_recognised() {
    let bytes = encode(&full());
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end]).is_err(), "cut at {end}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(decode(&longer).is_err());
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        assert!(decode(&bytes).is_err(), "byte {at}");
    }
}

/// Files that are whole and still wrong: nobody makes them by accident.
#[test]
fn wrong_content_does_no_harm() {
    let payload = payload(&full());
    for end in 0..payload.len() {
        assert!(read_payload(&payload[..end]).is_err(), "cut at {end}");
    }
    for at in 0..payload.len() {
        for byte in [0, 1, 0x80, 0xff] {
            let mut payload = payload.clone();
            payload[at] = byte;
            let _ = read_payload(&payload);
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::bool),
        any::<i64>().prop_map(Value::int),
        any::<f64>().prop_filter_map("a number", |f| Number::from_f64(f).map(Value::number)),
        "[0-9]{1,40}(\\.[0-9]{1,30})?".prop_filter_map("a number", |text| Number::parse(&text).map(Value::number)),
        "\\PC{0,8}".prop_map(Value::string),
        Just(Value::null(Type::string())),
        Just(Value::unknown(Type::number())),
        Just(Value::null_dynamic()),
    ];
    let nested = leaf.prop_recursive(4, 24, 4, |inner| {
        let items = || prop::collection::vec(inner.clone(), 0..4);
        let named = prop::collection::btree_map("[a-c]{1,2}", inner.clone(), 0..4);
        prop_oneof![
            items().prop_map(Value::tuple),
            items().prop_map(|items| Value::list_of(items).unwrap_or_else(|| Value::tuple(Vec::new()))),
            items().prop_map(|items| Value::set_of(items).unwrap_or_else(|| Value::tuple(Vec::new()))),
            named.clone().prop_map(|items| {
                Value::map_of(items.into_iter().map(|(k, v)| (k.into(), v)).collect()).unwrap_or(Value::null_dynamic())
            }),
            named.prop_map(|items| Value::object(items.into_iter().map(|(k, v)| (k.into(), v)).collect())),
        ]
    });
    (nested, any::<bool>()).prop_map(|(value, hide)| if hide { value.mark(Mark::Sensitive) } else { value })
}

proptest! {
    #[test]
    fn values_come_back(before in values(), after in values()) {
        let file = file(vec![change("t.a", before.clone(), after.clone())]);
        let again = decode(&encode(&file)).expect("because it was written");
        let again = &again.plan.changes[0];
        prop_assert!(again.before.raw_equals(&before), "{before:?} {:?}", again.before);
        prop_assert_eq!(again.after.ty(), after.ty());
        prop_assert_eq!(format!("{:?}", again.after), format!("{after:?}"));
    }

    #[test]
    fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(decode(&bytes).is_err());
        let _ = read_payload(&bytes);
    }
}

#[test]
fn many_changes() {
    let count = if cfg!(debug_assertions) { 1_000 } else { 100_000 };
    let value = |at: usize, known: bool| {
        let id = Value::string(ecow::eco_format!("015d6909-e716-6004-5401-{at:012}"));
        let id = if known { id } else { Value::unknown(Type::string()) };
        let input = Value::object(vec![("name".into(), Value::string(ecow::eco_format!("server-{at}")))]);
        Value::object(vec![
            ("id".into(), id.clone()),
            ("input".into(), input),
            ("output".into(), id),
            ("triggers_replace".into(), Value::null_dynamic()),
        ])
    };
    let one = |at: usize| {
        let mut change = change("terraform_data.a", value(at, true), value(at, false));
        change.addr.key = Some(InstanceKey::Int(at as i64));
        change
    };
    let mut file = file((0..count).map(one).collect());
    let mut state = State::empty();
    let ty = value(0, true).ty().clone();
    for change in &file.plan.changes {
        state.apply(Edit::SetObject {
            addr: change.addr.clone(),
            deposed: None,
            provider: change.provider.clone(),
            provider_key: None,
            object: Some(Arc::new(Object::encode(&change.before, &ty, 0).expect("because it is known"))),
        });
    }
    file.plan.prior_state = Arc::new(state.clone());
    file.plan.previous_state = Arc::new(state);
    let bytes = encode(&file);
    assert!(bytes.len() < count * 80, "{}", bytes.len());
    assert_eq!(decode(&bytes).expect("because it was written").plan.changes.len(), count);
}
