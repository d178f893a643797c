//! Plan files, whole, cut and changed.

use proptest::prelude::*;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, InstanceKey, ModulePath, ProviderSource, Target};
use yuba_provider::{
    Attribute, AttributeType, BlockSchema, IdentitySchema, NestedAttribute, NestedBlock, Nesting, Schema,
};
use yuba_state::{CheckKind, CheckObject, CheckResult, CheckStatus, DeposedKey, Edit, Object, Output, State};
use yuba_syntax::diagnostic::{DeprecatedKind, DeprecatedUse};
use yuba_syntax::{FileId, Span};
use yuba_value::{Bound, Deprecation, Mark, Number, Path, Type, Value};

use super::steps::Work;
use super::*;
use crate::{
    Action, ActionReason, ExecGraph, Importing, Mode, Op, OutputChange, PlannedVariable, PlannedWarning,
    RelevantAttribute, ResourceChange,
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
        reason: ActionReason::None,
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
            warnings: Vec::new(),
        },
        modules: BTreeMap::new(),
        manifest: "".into(),
        libraries: BTreeMap::new(),
        schemas: BTreeMap::new(),
        backend: SavedBackend::default(),
        lock_file: "".into(),
        lineage: "l".into(),
        serial: 7,
        snapshot: Some(41),
    }
}

fn written(file: &PlanFile) -> Vec<u8> {
    encode(file).expect("because it is not too large")
}

fn read(bytes: &[u8]) -> Result<PlanFile, PlanFileError> {
    decode(bytes, "0.1.0")
}

/// A schema with a value in every field.
fn schema() -> ProviderSchema {
    let nested =
        NestedAttribute { nesting: Nesting::Map, attributes: [("x".into(), Attribute::computed(Type::bool()))].into() };
    let mut nesting = Attribute::optional(Type::string());
    nesting.ty = AttributeType::Nested(nested.clone());
    nesting.deprecated = Some("use y".into());
    let mut secret = Attribute::required(Type::list(Type::object([("a".into(), Type::dynamic())])));
    (secret.sensitive, secret.write_only) = (true, true);
    let inner =
        NestedBlock { nesting: Nesting::Group, min: 1, max: 3, block: BlockSchema::new([("b", secret.clone())]) };
    let mut block = BlockSchema::new([("n", nesting), ("s", secret)]).with_blocks([("i", inner)]);
    (block.deprecated, block.ephemeral) = (Some("".into()), true);
    let of_block = |version| Schema { version, block: block.clone() };
    ProviderSchema {
        provider: of_block(0),
        resources: [("t_a", of_block(7))].into(),
        data: [("t_b", of_block(1))].into(),
        ephemeral: [("t_c", Schema::default())].into(),
        functions: BTreeMap::new(),
        meta: Some(of_block(2)),
        identities: BTreeMap::from([("t_a".into(), IdentitySchema { version: 3, object: nested })]),
        plan_destroy: true,
    }
}

/// A file with a value in every field.
fn full() -> PlanFile {
    let (source, module) = ("var.x".into(), "module.m".into());
    let deprecation = Deprecation { source, module, message: "no".into(), remote: true, unread: true };
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
        ("i".into(), Value::number(Number::minus_infinity())),
        ("m".into(), Value::map(Type::dynamic(), Vec::new())),
        ("u".into(), unknown.mark(Mark::Ephemeral)),
    ]);
    let mut moved = change("module.a[\"k.x\"].data.t.b[3]", before.clone(), after.clone());
    moved.moved_from = Some(Box::new(addr("t.old")));
    moved.provider_key = Some(InstanceKey::String("eu".into()));
    (moved.action, moved.reason) = (Action::DeleteThenCreate, ActionReason::DeleteBecauseModuleEnabledFalse(2));
    moved.private = [0, 255].into();
    moved.identity = Some(Value::string("i"));
    moved.required_replace = vec![Path::new().attr("a").index(Value::int(0)), Path::new()];
    moved.importing = Some(Box::new(Importing { id: None, identity: Some(before.clone()), unknown: true }));
    let mut same = change("t.same", before.clone(), before.clone());
    (same.action, same.generated_config) = (Action::NoOp, Some("x".into()));
    let mut old = change("t.c", before.clone(), Value::null_dynamic());
    (old.deposed, old.action) = (Some(DeposedKey::new(0xab)), Action::NoOp);
    let mut file = file(vec![moved, same.clone(), change("t.c", before.clone(), after.clone()), old]);
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
    plan.warnings = vec![PlannedWarning {
        summary: "Old".into(),
        detail: "Use new.".into(),
        address: "t.c".into(),
        file: "main.tf".into(),
        start: 3,
        end: 300,
        deprecated: DeprecatedUse {
            source: "module.m.old".into(),
            origin: "m".into(),
            kind: DeprecatedKind::Variable,
            message: "Use new.".into(),
            remote: true,
            fixable_here: false,
        },
    }];
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
    plan.exec = ExecGraph::new(
        vec![Op::Evaluate(0), Op::Evaluate(1), Op::Evaluate(2), Op::Destroy(0), Op::Join],
        &[(0, 4), (3, 4), (3, 0)],
    )
    .naming(["module.a.data.t.b".into(), "local.x (expand)".into(), "t.c".into()]);
    let source = Arc::from(&b"a = 1\n\xff"[..]);
    file.libraries = BTreeMap::from([("lib/x.sym.hcl".into(), Arc::clone(&source))]);
    file.modules = BTreeMap::from([
        ("".into(), BTreeMap::from([("main.tf".into(), Arc::clone(&source))])),
        ("a.b".into(), BTreeMap::from([("é.tf".into(), source), ("empty.tf".into(), Arc::from(&b""[..]))])),
    ]);
    file.schemas = BTreeMap::from([(ProviderSource::builtin("x"), schema())]);
    file.manifest = "[]".into();
    file.backend = SavedBackend { kind: "local".into(), config: "{\"path\":\"x\"}".into(), workspace: "w".into() };
    file.lock_file = "# lock".into();
    file
}

#[test]
fn everything_comes_back() {
    let file = full();
    let again = read(&written(&file)).expect("because it was written");
    assert_eq!(format!("{again:?}"), format!("{file:?}"));
    let (schema, source) = (schema(), ProviderSource::builtin("x"));
    let saved = &again.schemas[&source];
    assert_eq!(format!("{:?}", saved.resources["t_a"]), format!("{:?}", schema.resources["t_a"]));
    assert_eq!(format!("{:?}", saved.data["t_b"]), format!("{:?}", schema.data["t_b"]));
    assert_eq!(again.plan.changes[0].before.ty(), file.plan.changes[0].before.ty());
    assert!(again.plan.changes[2].after.raw_equals(&file.plan.changes[2].after));
}

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
        let again = read(&written(&file)).expect("because it was written").plan;
        assert!(again.prior_state.same_content(prior));
        assert!(again.previous_state.same_content(previous));
        assert_eq!(again.previous_state.lineage, previous.lineage);
        assert_eq!((again.prior_state.serial, again.previous_state.serial), (prior.serial, previous.serial));
    }
}

/// An archive with these entries.
fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    archive::pack(&[], entries.iter().copied()).expect("because it is small")
}

#[test]
fn other_files_than_plans_are_recognised() {
    let check = |bytes: &[u8], expect: &PlanFileError| assert_eq!(read(bytes).err().as_ref(), Some(expect));
    check(b"", &PlanFileError::NotAPlan);
    check(b"{\"version\": 4}", &PlanFileError::NotAPlan);
    check(b"yuba plan is what this is not, because it goes on", &PlanFileError::NotAPlan);
    check(b"yuba plan 1\nwhatever", &PlanFileError::OtherFormat("1".into()));
    check(b"PK\x03\x04rest of a zip", &PlanFileError::BrokenArchive);
    check(&zipped(&[("other", b"x")]), &PlanFileError::NotAPlan);
    check(&zipped(&[("tfplan", b"yuba plan 2 9.9.9\nx")]), &PlanFileError::OtherFormat("2".into()));
    check(
        &zipped(&[("tfplan", b"yuba plan 3 9.9.9\nx")]),
        &PlanFileError::OtherVersion("9.9.9".into(), "0.1.0".into()),
    );
    check(&zipped(&[("tfplan", b"yuba plan 3 0.1.0\n")]), &PlanFileError::Damaged);
    check(&zipped(&[("tfplan", b"yuba plan 3 \x1b[0m\n")]), &PlanFileError::Damaged);
    // Fields of a protocol buffer: a number, bytes, and the version.
    check(
        &zipped(&[("tfplan", b"\x08\x03\x1a\x02xx\x72\x061.12.6")]),
        &PlanFileError::OtherProgram(Some("1.12.6".into())),
    );
    check(&zipped(&[("tfplan", b"\x08\x03\x72\x02\x1b[")]), &PlanFileError::OtherProgram(None));
    check(&zipped(&[("tfplan", b"\xff\xff")]), &PlanFileError::OtherProgram(None));
}

/// A changed file is refused, or the change does not matter, such as that of a date.
#[test]
fn every_cut_and_every_flip_is_recognised() {
    let file = full();
    let (bytes, text) = (written(&file), format!("{file:?}"));
    for end in 0..bytes.len() {
        assert!(read(&bytes[..end]).is_err(), "cut at {end}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(read(&longer).is_err());
    let mut unharmed = 0;
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        if let Ok(found) = read(&bytes) {
            assert_eq!(format!("{found:?}"), text, "byte {at}");
            unharmed += 1;
        }
    }
    assert!(unharmed < bytes.len() / 4, "{unharmed} of {}", bytes.len());
}

/// The entries of a whole file with one of them changed: the checksum detects it.
#[test]
fn every_entry_is_summed() {
    let bytes = written(&full());
    let entries = Archive::open(&bytes, LIMITS).and_then(|archive| archive.unpack(LIMITS)).expect("because it is ours");
    let names: Vec<EcoString> = entries.keys().cloned().collect();
    let expect = [
        ".terraform.lock.hcl",
        "tfconfig/m-/main.tf",
        "tfconfig/m-a.b/empty.tf",
        "tfconfig/m-a.b/é.tf",
        "tfconfig/modules.json",
        "tfplan",
        "tfstate",
        "tfstate-prev",
    ];
    assert_eq!(names, expect);
    let pack = |entries: &Entries| {
        let entries: Vec<(&str, &[u8])> = entries.iter().map(|(name, content)| (&**name, &**content)).collect();
        zipped(&entries)
    };
    assert!(read(&pack(&entries)).is_ok());
    for name in &names {
        let mut changed = entries.clone();
        changed.get_mut(name).expect("because it exists").push(b' ');
        assert_eq!(read(&pack(&changed)).err(), Some(PlanFileError::Damaged), "{name}");
        let mut renamed = entries.clone();
        let content = renamed.remove(name).expect("because it exists");
        assert!(read(&pack(&renamed)).is_err(), "without {name}");
        renamed.insert(eco_format!("{name}x"), content);
        assert!(read(&pack(&renamed)).is_err(), "{name}x");
    }
    let mut more = entries.clone();
    more.insert("other".into(), Vec::new());
    assert_eq!(read(&pack(&more)).err(), Some(PlanFileError::Damaged));
}

#[test]
fn hostile_archives_are_refused() {
    let limits = archive::Limits { entries: 3, bytes: 1 << 20, harmless: 1 << 16, ratio: 10 };
    let unpack = |bytes: &[u8]| Archive::open(bytes, limits).and_then(|archive| archive.unpack(limits));
    let bomb = vec![0; 1 << 17];
    assert_eq!(unpack(&zipped(&[("a", &bomb)])), Err(Refused::TooLarge));
    assert!(unpack(&zipped(&[("a", &bomb[..1 << 16])])).is_ok());
    assert_eq!(unpack(&zipped(&[("a", &bomb[..1 << 16]), ("b", b"x")])), Err(Refused::TooLarge));
    let names = ["a", "b", "c", "d"].map(|name| (name, &b""[..]));
    assert!(unpack(&zipped(&names[..3])).is_ok());
    assert_eq!(unpack(&zipped(&names)), Err(Refused::TooLarge));
    // Two entries with one name, in the directory and before their contents.
    let two = zipped(&[("a", b"one"), ("b", b"two")]);
    let renamed: Vec<u8> = two.iter().map(|byte| if *byte == b'b' { b'a' } else { *byte }).collect();
    assert_eq!(unpack(&renamed), Err(Refused::Malformed));
    // Something before and behind the archive.
    assert_eq!(unpack(&[b"PK\x03\x04", two.as_slice()].concat()), Err(Refused::Malformed));
    assert_eq!(unpack(&[two.as_slice(), b"PK\x05\x06", &[0; 18]].concat()).ok(), None);
    // An entry that claims to be longer or shorter than it is, before its content and in the directory.
    let one = zipped(&[("a", b"some content")]);
    for claim in [0_u8, 11, 13, 200] {
        let mut changed = one.clone();
        let directory = changed.windows(4).position(|bytes| bytes == b"PK\x01\x02").expect("because there is one");
        (changed[22], changed[directory + 24]) = (claim, claim);
        assert_eq!(unpack(&changed), Err(Refused::Malformed), "{claim}");
    }
}

fn rewritten(file: &PlanFile, payload: &[u8]) -> Result<PlanFile, PlanFileError> {
    let entries = entries(file).into_iter().map(|(name, part)| (name, part.to_vec())).collect();
    read_file(payload, entries, "0.1.0".into())
}

/// Intact files with invalid content: they do not occur by accident.
#[test]
fn wrong_content_does_no_harm() {
    let file = full();
    let payload = payload(&file, &steps::of_graph(&file.plan.exec, &file.plan.changes));
    assert!(rewritten(&file, &payload).is_ok());
    for end in 0..payload.len() {
        assert!(rewritten(&file, &payload[..end]).is_err(), "cut at {end}");
    }
    for at in 0..payload.len() {
        for byte in [0, 1, 0x80, 0xff] {
            let mut payload = payload.clone();
            payload[at] = byte;
            let _ = rewritten(&file, &payload);
        }
    }
}

/// A plan with changes of all kinds in several modules, and the graph that belongs to it.
fn planned() -> PlanFile {
    let actions = [
        ("t.create", None, Action::Create),
        ("t.same", None, Action::NoOp),
        ("t.update[0]", None, Action::Update),
        ("t.update[1]", None, Action::Update),
        ("t.update[1]", Some(7), Action::Delete),
        ("t.update[1]", Some(8), Action::Delete),
        ("t.gone", None, Action::Delete),
        ("t.left", None, Action::Forget),
        ("module.m[\"a\"].t.replace", None, Action::DeleteThenCreate),
        ("module.m[\"b\"].t.replace", None, Action::CreateThenDelete),
        ("module.m[\"b\"].t.left", None, Action::ForgetThenCreate),
        ("module.m[\"a\"].data.t.read", None, Action::Read),
    ];
    let changes = actions.map(|(at, deposed, action)| {
        let mut change = change(at, Value::null_dynamic(), Value::null_dynamic());
        (change.deposed, change.action) = (deposed.map(DeposedKey::new), action);
        change
    });
    let mut file = file(changes.to_vec());
    let objects = [
        "var.x (expand, reference)",
        "t.create",
        "t.same",
        "t.update",
        "module.m (expand)",
        "module.m.t.replace",
        "module.m.t.left",
        "module.m.data.t.read",
        "provider.t",
    ];
    let mut ops: Vec<Op> = (0..objects.len() as u32).map(Op::Evaluate).collect();
    let ends = (0..changes.len() as u32).filter(|at| changes[*at as usize].action.ends());
    ops.extend(ends.map(Op::Destroy));
    ops.extend([Op::Join, Op::Settle]);
    let count = ops.len() as u32;
    let edges: Vec<(u32, u32)> = (1..count).flat_map(|at| [(at, at / 2), (at, at - 1)]).collect();
    file.plan.exec = ExecGraph::new(ops, &edges).naming(objects.map(EcoString::from));
    file
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// Effects of the steps of a graph: every object that is created or ended, and how.
fn work(steps: &[Step]) -> Vec<String> {
    let mut done = Vec::new();
    for step in steps {
        match &step.work {
            Work::Evaluate { object, changes } => {
                done.extend(changes.iter().map(|(addr, action)| format!("{object}: {addr} {action:?}")));
            }
            Work::End { addr, deposed, action } => done.push(format!("end {addr} {deposed:?} {action:?}")),
            Work::Join | Work::Settle => {}
        }
    }
    done.sort();
    done
}

type Named = Vec<(AbsResourceInstance, Action)>;

fn forge(steps: &mut Vec<Step>, dice: &mut Dice) {
    const ACTIONS: [Action; 9] = [
        Action::NoOp,
        Action::Create,
        Action::Read,
        Action::Update,
        Action::DeleteThenCreate,
        Action::CreateThenDelete,
        Action::Delete,
        Action::Forget,
        Action::ForgetThenCreate,
    ];
    if steps.is_empty() {
        return;
    }
    let others =
        ["t.create", "t.update[1]", "t.gone", "t.other", "module.m[\"a\"].t.replace", "module.m[\"c\"].t.replace"];
    let count = steps.len();
    let (at, other) = (dice.roll(count), dice.roll(count));
    let (address, action) = (addr(others[dice.roll(others.len())]), ACTIONS[dice.roll(ACTIONS.len())]);
    let key = [None, Some(DeposedKey::new(7)), Some(DeposedKey::new(9))][dice.roll(3)].clone();
    let named = |step: &mut Step, edit: &mut dyn FnMut(&mut Named)| {
        if let Work::Evaluate { changes, .. } = &mut step.work {
            edit(changes);
        }
    };
    match dice.roll(14) {
        0 => steps.push(Step { work: Work::End { addr: address, deposed: key, action }, after: vec![at as u32] }),
        1 => drop(steps.remove(at)),
        2 => steps.insert(at, steps[other].clone()),
        3 => steps.swap(at, other),
        4 => named(&mut steps[at], &mut |changes| changes.push((address.clone(), action))),
        5 => named(&mut steps[at], &mut |changes| drop(changes.pop())),
        6 => named(&mut steps[at], &mut |changes| changes.iter_mut().for_each(|change| change.1 = action)),
        7 => named(&mut steps[at], &mut |changes| changes.iter_mut().for_each(|change| change.0 = address.clone())),
        8 => match &mut steps[at].work {
            Work::End { action: old, .. } => *old = action,
            Work::Evaluate { object, .. } => *object = eco_format!("{address}"),
            Work::Join | Work::Settle => {}
        },
        9 => match &mut steps[at].work {
            Work::End { addr, .. } => *addr = address,
            Work::Evaluate { object, .. } => *object = EcoString::new(),
            Work::Join | Work::Settle => {}
        },
        10 => match &mut steps[at].work {
            Work::End { deposed, .. } => *deposed = key,
            work => *work = Work::Join,
        },
        11 => steps[at].after.push([other as u32, count as u32, u32::MAX, at as u32][dice.roll(4)]),
        12 => drop(steps[at].after.pop()),
        _ => {
            let moved = steps[other].work.clone();
            if let (Work::Evaluate { changes: theirs, .. }, Work::Evaluate { changes, .. }) =
                (moved, &mut steps[at].work)
            {
                changes.extend(theirs);
            }
        }
    }
}

/// Changed steps in files with a valid checksum: the plan is refused, or its steps equal its changes.
#[test]
fn forged_operations_are_refused() {
    let file = planned();
    let honest = steps::of_graph(&file.plan.exec, &file.plan.changes);
    let again = read(&written(&file)).expect("because it was written");
    assert_eq!(again.plan.exec, file.plan.exec);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut refused, mut harmless) = (0, 0);
    for number in 0..10_000 {
        let mut steps = honest.clone();
        (0..1 + dice.roll(3)).for_each(|_| forge(&mut steps, &mut dice));
        let bytes = encode_with(&file, &steps).expect("because it is not too large");
        match read(&bytes) {
            Err(problem) => {
                assert_eq!(problem, PlanFileError::OtherOperations, "forgery {number}");
                refused += 1;
            }
            Ok(found) => {
                let found = found.plan.exec;
                assert_eq!(work(&steps::of_graph(&found, &file.plan.changes)), work(&honest), "forgery {number}");
                assert!(found.stuck().is_empty(), "forgery {number}");
                harmless += 1;
            }
        }
    }
    assert!(refused > 5_000 && harmless > 500, "{refused} refused, {harmless} not");
}

#[test]
fn plans_that_failed_have_no_steps() {
    let mut file = planned();
    let steps = steps::of_graph(&file.plan.exec, &file.plan.changes);
    file.plan.errored = true;
    let forged = encode_with(&file, &steps).expect("because it is not too large");
    assert_eq!(read(&forged).err(), Some(PlanFileError::OtherOperations));
    file.plan.exec = ExecGraph::default();
    assert!(read(&written(&file)).is_ok());
}

#[test]
fn duplicate_changes_are_refused() {
    let mut file = planned();
    let twice = file.plan.changes[1].clone();
    file.plan.changes.push(twice);
    assert_eq!(read(&written(&file)).err(), Some(PlanFileError::OtherOperations));
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
        let mut file = file(vec![change("t.a", before.clone(), after.clone())]);
        file.plan.changes[0].action = Action::NoOp;
        let again = read(&written(&file)).expect("because it was written");
        let again = &again.plan.changes[0];
        prop_assert!(again.before.raw_equals(&before), "{before:?} {:?}", again.before);
        prop_assert_eq!(again.after.ty(), after.ty());
        prop_assert_eq!(format!("{:?}", again.after), format!("{after:?}"));
    }

    #[test]
    fn any_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err());
        prop_assert!(rewritten(&full(), &bytes).is_err());
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
    file.plan.exec = ExecGraph::new(vec![Op::Evaluate(0)], &[]).naming(["terraform_data.a".into()]);
    let bytes = written(&file);
    assert!(bytes.len() < count * 120, "{}", bytes.len());
    assert_eq!(read(&bytes).expect("because it was written").plan.changes.len(), count);
}
