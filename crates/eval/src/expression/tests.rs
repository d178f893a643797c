//! Shared parts of the tests of evaluation: expressions in, values and diagnostics as text out.

use ecow::EcoString;
use expect_test::Expect;
use yuba_syntax::parser::parse_expression;
use yuba_syntax::{FileId, SourceFile, Sources, Traversal};
use yuba_value::{Mark, Type, Value};

use super::{Variables, evaluate};
use crate::functions::{CallContext, FunctionTable};
use crate::world::MemoryWorld;

/// Names for tests: unknown values of some types, and secrets.
pub(crate) struct Names;

impl Variables for Names {
    fn get(&self, traversal: &Traversal) -> Option<(Value, usize)> {
        let pair = || Type::object([("a".into(), Type::string()), ("b".into(), Type::number())]);
        let value = match traversal.root.as_str() {
            "u_any" => Value::unknown_dynamic(),
            "u_bool" => Value::unknown(Type::bool()),
            "u_number" => Value::unknown(Type::number()),
            "u_string" => Value::unknown(Type::string()),
            "u_list" => Value::unknown(Type::list(Type::string())),
            "u_map" => Value::unknown(Type::map(Type::string())),
            "u_object" => Value::unknown(pair()),
            "u_objects" => Value::unknown(Type::list(pair())),
            "secret" => Value::string("s3cret").mark(Mark::Sensitive),
            "s_list" => Value::tuple(vec![Value::string("x"), Value::string("y")]).mark(Mark::Sensitive),
            "s_true" => Value::bool(true).mark(Mark::Sensitive),
            "ephemeral" => Value::string("e").mark(Mark::Ephemeral),
            "five" => Value::int(5),
            "object" => Value::object(vec![("name".into(), Value::string("n")), ("size".into(), Value::int(3))]),
            _ => return None,
        };
        Some((value, 0))
    }
    fn names(&self) -> Vec<EcoString> {
        ["five", "secret", "object"].map(EcoString::from).into()
    }
}

/// The value and the diagnostics of an expression, one line each.
pub(crate) fn outcome(text: &str) -> String {
    let mut sources = Sources::new();
    let file = sources.add(SourceFile::new("test", text.as_bytes()));
    let (expr, problems) = parse_expression(FileId(file.0), text.as_bytes());
    if problems.has_errors() {
        return format!("syntax error: {}", problems.iter().map(|d| d.summary.as_str()).collect::<Vec<_>>().join(", "));
    }
    let world = MemoryWorld::new()
        .with_file("hello.tmpl", "Hello, ${name}!")
        .with_file("loop.tmpl", "${templatefile(\"loop.tmpl\", {})}")
        .with_file("list.tmpl", "%{ for x in xs ~}\n${x},\n%{ endfor ~}\n")
        .with_file("broken.tmpl", "${");
    let context = CallContext {
        world: &world,
        base_dir: ".",
        plan_time: None,
        pure_only: false,
        functions: FunctionTable::module(),
        others: None,
        template_depth: 0,
        sources: Some(&sources),
        symbols: None,
    };
    let (value, problems) = evaluate(&expr, &Names, context);
    let mut lines: Vec<String> = Vec::new();
    if !problems.has_errors() {
        lines.push(format!("{value:?}"));
    }
    for d in problems.iter() {
        let at = d.subject.map_or("nowhere", |s| &text[s.start as usize..s.end as usize]);
        let values = d.extra.iter().flat_map(|e| e.values.iter());
        let values: String = values.map(|(name, statement)| format!("; {name} {statement}")).collect();
        lines.push(format!("! {} at `{at}`{values}", d.summary));
    }
    lines.join(" ")
}

/// Evaluates each expression and compares all outcomes at once.
pub(crate) fn check(expressions: &[&str], expect: &Expect) {
    let mut out = String::new();
    for text in expressions {
        out.push_str(&format!("{text} => {}\n", outcome(text)));
    }
    expect.assert_eq(&out);
}
