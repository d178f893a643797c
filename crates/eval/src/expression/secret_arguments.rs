//! No error of a call shows a marked argument: calls of every function, with hidden values of every shape.

use ecow::EcoString;
use proptest::prelude::*;
use yuba_syntax::parser::parse_expression;
use yuba_syntax::{FileId, SourceFile, Sources, Traversal};
use yuba_value::{Mark, Type, Value};

use super::{Variables, evaluate};
use crate::functions::{CallContext, FunctionTable};
use crate::world::MemoryWorld;

/// Parts of every hidden value, whatever is made of it.
const SECRETS: [&str; 3] = ["s3cret", "900913", "czNjcmV0"];

/// Values with a secret in them, most of which no function accepts.
fn hidden() -> Vec<Value> {
    let text = Value::string;
    let texts = [
        "s3cret",
        "",
        "%s3cret",
        "%d s3cret",
        "(s3cret",
        "${s3cret}",
        "${",
        "%zs3cret",
        "2020-01-01T00:00:s3cret",
        "10.900913.0.0/8",
        "s3cret/900913",
        "{\"s3cret\": ",
        "s3cret: [",
        "s3cret,s3cret\n1,2",
        "czNjcmV0!",
        "900913h",
        "900913x",
        "./s3cret/900913",
        "fd00::/900913",
    ];
    let mut values: Vec<Value> = texts.into_iter().map(text).collect();
    values.extend([
        Value::int(900_913),
        Value::int(-900_913),
        yuba_value::Number::parse("900913.5").map_or(Value::int(0), Value::number),
    ]);
    let list = |items: Vec<Value>| Value::list(Type::string(), items);
    values.extend([
        list(vec![text("s3cret"), text("900913")]),
        Value::set(Type::string(), vec![text("s3cret")]),
        Value::tuple(vec![text("s3cret"), Value::int(900_913), Value::bool(true)]),
        Value::map(Type::string(), vec![("s3cret".into(), text("s3cret")), ("900913 x".into(), text("x"))]),
        Value::map(Type::list(Type::string()), vec![("s3cret".into(), Value::null(Type::list(Type::string())))]),
        Value::map(Type::number(), vec![("a".into(), Value::int(900_913))]),
        Value::object(vec![("a".into(), text("s3cret")), ("name".into(), Value::int(900_913))]),
        Value::tuple(vec![list(vec![text("s3cret")]), Value::int(900_913)]),
    ]);
    values
}

/// Ordinary values beside them.
fn plain() -> Vec<Value> {
    let list = |items: Vec<Value>| Value::list(Type::string(), items);
    vec![
        Value::string("a"),
        Value::string("10.0.0.0/8"),
        Value::string("2020-01-01T00:00:00Z"),
        Value::string("1h"),
        Value::string("%d %s"),
        Value::string("UTF-8"),
        Value::string("ASCII"),
        Value::string("dns"),
        Value::string("uses.tmpl"),
        Value::string("${parseint(a, 10)}"),
        Value::string("${{ x = 1 }[a]}"),
        Value::string("."),
        Value::int(10),
        Value::int(0),
        Value::int(-3),
        list(vec![Value::string("x")]),
        list(vec![]),
        Value::map(Type::string(), vec![("a".into(), Value::string("b"))]),
        Value::object(vec![("a".into(), Value::int(1))]),
        Value::null(Type::string()),
    ]
}

/// `a0`, `a1` and so on.
struct Arguments(Vec<Value>);

impl Variables for Arguments {
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        let at: usize = traversal.root.strip_prefix('a')?.parse().ok()?;
        Some((self.0.get(at)?.clone(), 0))
    }
    fn names(&self) -> Vec<EcoString> {
        Vec::new()
    }
}

/// All texts of all diagnostics of an expression.
fn messages(text: &str, args: Vec<Value>) -> String {
    let mut sources = Sources::new();
    let file = sources.add(SourceFile::new("test", text.as_bytes()));
    let (expr, _) = parse_expression(FileId(file.0), text.as_bytes());
    let world = MemoryWorld::new()
        .with_file("uses.tmpl", "${parseint(a, 10)}${jsondecode(name)}")
        .with_file("s3cret/900913", [0xff, 0xfe].as_slice());
    let context = CallContext {
        world: &world,
        base_dir: ".",
        plan_time: None,
        pure_only: false,
        functions: FunctionTable::console(),
        others: None,
        template_depth: 0,
        sources: Some(&sources),
        symbols: None,
    };
    let (_, problems) = evaluate(&expr, &Arguments(args), context);
    let mut shown = String::new();
    for problem in problems.iter() {
        let values = problem.extra.iter().flat_map(|extra| extra.values.iter());
        let values: String = values.map(|(name, statement)| format!("{name} {statement}\n")).collect();
        shown.push_str(&format!("{}: {}\n{values}", problem.summary, problem.explanation()));
    }
    shown
}

/// Marks the elements of a list or tuple, and any other value itself.
fn mark_elements(value: &Value, mark: &Mark) -> Value {
    match value.as_seq() {
        Some(items) if value.ty().is_tuple() => {
            Value::tuple(items.iter().map(|item| item.mark(mark.clone())).collect())
        }
        Some(items) if value.ty().is_list() => {
            Value::list(Type::string(), items.iter().map(|item| item.mark(mark.clone())).collect())
        }
        _ => value.mark(mark.clone()),
    }
}

fn names() -> Vec<String> {
    FunctionTable::console().names().map(str::to_owned).chain(["[]".into(), "{}".into()]).collect()
}

fn expression(name: &str, count: usize) -> String {
    let args: Vec<String> = (0..count).map(|at| format!("a{at}")).collect();
    match name {
        "[]" => format!("({{ x = 1 }})[{}]", args.first().map_or("0", String::as_str)),
        "{}" => format!("{{ for x in [1, 2] : {} => x }}", args.first().map_or("0", String::as_str)),
        _ => format!("{name}({})", args.join(", ")),
    }
}

/// The visible part of a secret, if any.
fn leak(name: &str, args: Vec<Value>) -> Option<String> {
    let text = expression(name, args.len());
    let described = format!("{args:?}");
    let shown = messages(&text, args);
    SECRETS.iter().any(|secret| shown.contains(secret)).then(|| format!("{text} with {described}\n{shown}"))
}

#[test]
fn no_function_shows_a_marked_argument() {
    let (hidden, plain) = (hidden(), plain());
    for name in names() {
        if name == "nonsensitive" {
            continue;
        }
        for (at, secret) in hidden.iter().enumerate() {
            let secret = match at % 2 {
                0 => mark_elements(secret, &Mark::Sensitive),
                _ => secret.mark(Mark::Sensitive),
            };
            assert_eq!(leak(&name, vec![secret.clone()]), None);
            for beside in plain.iter().skip(at % 4).step_by(4) {
                assert_eq!(leak(&name, vec![secret.clone(), beside.clone()]), None);
                assert_eq!(leak(&name, vec![beside.clone(), secret.clone()]), None);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_call_shows_a_marked_argument(
        name in prop::sample::select(names()),
        secret in prop::sample::select(hidden()),
        beside in prop::collection::vec(prop::sample::select(plain()), 0..4),
        at in any::<prop::sample::Index>(),
        kind in prop::sample::select(vec![Mark::Sensitive, Mark::Ephemeral]),
        inside in any::<bool>(),
    ) {
        prop_assume!(name != "nonsensitive");
        let mut args = beside;
        let secret = if inside { mark_elements(&secret, &kind) } else { secret.mark(kind) };
        args.insert(at.index(args.len() + 1), secret);
        prop_assert_eq!(leak(&name, args), None);
    }
}
