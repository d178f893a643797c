//! For tests: a schema with something of everything, an evaluator of literals and a few names, values as short text.

use std::collections::BTreeMap;
use std::fmt::Write;

use yuba_syntax::body::ParsedFile;
use yuba_syntax::expr::Literal;
use yuba_syntax::{
    Diagnostic, Diagnostics, Expr, ExprKind, SourceFile, Sources, Traversal, TraversalStep, json, parser,
};
use yuba_value::{Mark, Number, Type, Value, View, ops};

use crate::decode::{EvalExpr, LocalNames};
use crate::schema::{Attribute, AttributeType, BlockSchema, NestedAttribute, NestedBlock, Nesting};

/// Kind of the schema: attributes may be written as blocks, or not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Legacy,
    Modern,
}

pub(crate) fn schema(kind: Kind) -> BlockSchema {
    let any = || BlockSchema::new([("v", Attribute::optional(Type::dynamic()))]);
    let deep = BlockSchema::new([("c", Attribute::optional(Type::string()))]);
    let inner =
        BlockSchema::new([("a", Attribute::required(Type::string())), ("b", Attribute::optional(Type::number()))])
            .with_blocks([("deep", NestedBlock::new(Nesting::List, deep))]);
    let of = |nesting| NestedBlock::new(nesting, inner.clone());
    let mut attributes = vec![
        ("name", Attribute::optional(Type::string())),
        ("tags", Attribute::optional(Type::map(Type::string()))),
        ("id", Attribute::computed(Type::string())),
    ];
    let mut blocks = vec![
        ("single", of(Nesting::Single)),
        ("group", of(Nesting::Group)),
        ("list", NestedBlock { max: 2, ..of(Nesting::List) }),
        ("set", of(Nesting::Set)),
        ("map", of(Nesting::Map)),
        ("any_list", NestedBlock::new(Nesting::List, any())),
        ("any_map", NestedBlock::new(Nesting::Map, any())),
        ("any_set", NestedBlock::new(Nesting::Set, any())),
    ];
    match kind {
        Kind::Modern => {
            let nested = NestedAttribute {
                nesting: Nesting::List,
                attributes: BTreeMap::from([
                    ("x".into(), Attribute::required(Type::string())),
                    ("y".into(), Attribute::optional(Type::number())),
                ]),
            };
            attributes.push(("need", Attribute::required(Type::number())));
            let ty = AttributeType::Nested(nested);
            attributes.push(("nested", Attribute { ty, ..Attribute::optional(Type::dynamic()) }));
            blocks.push(("one", NestedBlock { min: 1, max: 1, ..NestedBlock::new(Nesting::Single, any()) }));
            blocks.push(("some", NestedBlock { min: 2, ..NestedBlock::new(Nesting::Set, any()) }));
        }
        Kind::Legacy => {
            let object = |name: &str, ty| (name.into(), ty);
            let sub = Type::set(Type::object([object("z", Type::string())]));
            let rule = Type::object([object("port", Type::number()), object("sub", sub)]);
            attributes.push(("rule", Attribute::optional(Type::list(rule))));
            let must = Type::set(Type::object([object("q", Type::string())]));
            attributes.push(("must", Attribute::required(must)));
        }
    }
    BlockSchema::new(attributes).with_blocks(blocks)
}

/// A string as a body, and a printer of locations in it.
pub(crate) fn parse(text: &str) -> (ParsedFile, Sources) {
    let mut sources = Sources::new();
    let file = sources.add(SourceFile::new("test", text.as_bytes()));
    let parsed = match text.trim_start().starts_with('{') {
        true => json::parse_config(file, text.as_bytes()),
        false => parser::parse_config(file, text.as_bytes()).1,
    };
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    (parsed, sources)
}

/// `line:column-line:column Summary` of each, sorted.
pub(crate) fn problems(diagnostics: &Diagnostics, sources: &Sources) -> String {
    let mut lines: Vec<String> = diagnostics.iter().map(|problem| line(problem, sources)).collect();
    lines.sort();
    lines.concat()
}

fn line(problem: &Diagnostic, sources: &Sources) -> String {
    let mut out = String::new();
    match problem.subject.and_then(|span| Some((span, sources.get(span.file)?))) {
        Some((span, source)) => {
            let (start, end) = (source.position(span.start as usize), source.position(span.end as usize));
            let _ = write!(out, "{}:{}-{}:{}", start.line, start.column, end.line, end.column);
        }
        None => out.push('-'),
    }
    out + " " + &problem.summary + "\n"
}

/// A value as short text: `?` unknown, `!` marked.
pub(crate) fn show(value: &Value) -> String {
    if !value.marks().is_empty() {
        return format!("!{}", show(&value.unmark().0));
    }
    let list = |items: &[Value]| items.iter().map(show).collect::<Vec<_>>().join(" ");
    match value.view_ignoring_marks() {
        View::Unknown(_) => format!("?{}", value.ty().friendly_name()),
        View::Null => "null".into(),
        View::Bool(value) => value.to_string(),
        View::Number(number) => number.to_string(),
        View::String(text) => format!("{text:?}"),
        View::List(items) => format!("[{}]", list(items)),
        View::Set(items) => format!("set[{}]", list(items)),
        View::Tuple(items) => format!("tuple[{}]", list(items)),
        View::Map(_) | View::Object(_) => {
            let prefix = if value.ty().is_map() { "map" } else { "" };
            let entries = value.entries().unwrap_or_default();
            let entries: Vec<_> = entries.iter().map(|(name, value)| format!("{name}={}", show(value))).collect();
            format!("{prefix}{{{}}}", entries.join(" "))
        }
    }
}

/// Literals, collections of them, `list`, `unknown`, `secret`, `map`, `nothing`, and local names.
pub(crate) struct Literals;

impl EvalExpr for Literals {
    fn eval(&mut self, expr: &Expr, locals: &LocalNames) -> (Value, Diagnostics) {
        (value(expr, locals), Diagnostics::new())
    }
}

fn value(expr: &Expr, locals: &LocalNames) -> Value {
    match &expr.kind {
        ExprKind::Literal(literal) => literal_value(literal),
        ExprKind::JsonString(string) => Value::string(string.text.clone()),
        ExprKind::Tuple(items) => Value::tuple(items.iter().map(|item| value(item, locals)).collect()),
        ExprKind::Object(items) | ExprKind::JsonObject(items) => Value::object(
            items
                .iter()
                .map(|item| (item.key.as_literal_string().cloned().unwrap_or_default(), value(&item.value, locals)))
                .collect(),
        ),
        ExprKind::Traversal(traversal) => reference(traversal, locals),
        _ => Value::unknown_dynamic(),
    }
}

fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Null => Value::null_dynamic(),
        Literal::Bool(value) => Value::bool(*value),
        Literal::Int(value) => Value::int(*value),
        Literal::Number(text) => Number::parse(text).map_or_else(Value::null_dynamic, Value::number),
        Literal::String(text) => Value::string(text.clone()),
    }
}

fn reference(traversal: &Traversal, locals: &LocalNames) -> Value {
    let root = match (locals.get(&traversal.root), traversal.root.as_str()) {
        (Some(local), _) => local.clone(),
        (None, "list") => Value::tuple(vec![Value::string("a"), Value::string("b")]),
        (None, "unknown") => Value::unknown(Type::list(Type::string())),
        (None, "secret") => Value::set(Type::string(), vec![Value::string("s")]).mark(Mark::Sensitive),
        (None, "secret_text") => Value::string("s").mark(Mark::Ephemeral),
        (None, "map") => Value::object(vec![("k".into(), Value::string("v"))]),
        _ => Value::null_dynamic(),
    };
    traversal.steps.iter().fold(root, |value, step| {
        let next = match step {
            TraversalStep::Attr { name, .. } => ops::get_attr(&value, name),
            TraversalStep::Index { key, .. } => ops::index(&value, &literal_value(key)),
        };
        next.unwrap_or_else(|_| Value::unknown_dynamic())
    })
}
