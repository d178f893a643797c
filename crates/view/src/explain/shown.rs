//! Values and expressions on one line, without secrets.

use yuba_addrs::Resource;
use yuba_eval::references::each_call;
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Expr, ExprKind, Span};
use yuba_value::{EcoString, Path, PathStep, Value, View, quote};

use super::{Facts, FileLine};
use crate::state_json::schema_of;

/// Maximum length of a value or expression, in characters.
const LONGEST: usize = 100;

/// Whether values may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// Those that are not marked.
    Open,
    /// None: the chain leads to something sensitive.
    Hidden,
}

impl Secrecy {
    /// Of something that both apply to.
    pub(super) fn with(self, other: Secrecy) -> Secrecy {
        if other == Secrecy::Hidden { other } else { self }
    }

    /// Of an object whose declaration has these flags.
    pub(super) fn declared(flags: [Option<bool>; 2]) -> Secrecy {
        if flags.contains(&Some(true)) { Secrecy::Hidden } else { Secrecy::Open }
    }

    /// Of a value that has something inside that must not be shown.
    pub(super) fn of(value: Option<&Value>) -> Secrecy {
        let marks = value.map(Value::marks_deep).unwrap_or_default();
        Secrecy::declared([Some(marks.has_sensitive()), Some(marks.has_ephemeral())])
    }

    /// Of a part of an object: that of the part and of everything around it.
    pub(super) fn at(object: &Value, steps: &[PathStep]) -> Secrecy {
        let parts = (0..=steps.len()).filter_map(|end| Path(steps[..end].to_vec()).follow(object));
        let secrecy =
            |part: Value| Secrecy::declared([Some(part.marks().has_sensitive()), Some(part.marks().has_ephemeral())]);
        parts.map(secrecy).fold(Secrecy::Open, Secrecy::with)
    }
}

/// A value on one line.
pub(super) fn value(value: &Value, secrecy: Secrecy) -> String {
    match value.as_str() {
        // Plans show that an attribute was not set before, too.
        _ if value.is_known() && value.is_null() => "null".to_owned(),
        _ if secrecy == Secrecy::Hidden => "(sensitive value)".to_owned(),
        Some(text) if !value.marks().has_sensitive() && !value.marks().has_ephemeral() => shortened(&quote(text)),
        _ => {
            let mut out = String::new();
            write_value(value, &mut out);
            shortened(&out)
        }
    }
}

/// A value as a literal of the language. Types of collections are left out.
fn write_value(value: &Value, out: &mut String) {
    let marks = value.marks();
    match value.view_ignoring_marks() {
        _ if marks.has_sensitive() => out.push_str("(sensitive value)"),
        _ if marks.has_ephemeral() => out.push_str("(ephemeral value)"),
        View::Unknown(_) => out.push_str("(known after apply)"),
        View::Null => out.push_str("null"),
        View::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        View::Number(number) => out.push_str(&number.to_string()),
        View::String(text) => out.push_str(&quote(text)),
        View::List(items) | View::Set(items) | View::Tuple(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                write_value(item, out);
            }
            out.push(']');
        }
        View::Map(items) => write_members(items.iter().map(|(key, item)| (key, item)), out),
        View::Object(items) => {
            let names = value.ty().attrs().unwrap_or_default().iter().map(|attr| &attr.name);
            write_members(names.zip(items), out);
        }
    }
}

fn write_members<'v>(members: impl Iterator<Item = (&'v EcoString, &'v Value)>, out: &mut String) {
    out.push('{');
    for (at, (name, item)) in members.enumerate() {
        out.push_str(if at == 0 { " " } else { ", " });
        match is_identifier(name) {
            true => out.push_str(name),
            false => out.push_str(&quote(name)),
        }
        out.push_str(" = ");
        write_value(item, out);
    }
    out.push_str(if out.ends_with('{') { "}" } else { " }" });
}

/// An expression on one line; none where it could contain a secret.
pub(super) fn expression(facts: &Facts<'_>, expr: &Expr, secrecy: Secrecy) -> Option<String> {
    // The value of an expression that also refers to resources is unknown here, and so are its marks.
    let mut marks = false;
    each_call(expr, &mut |call| marks |= call.name.rsplit("::").next() == Some("sensitive"));
    if (marks || secrecy == Secrecy::Hidden) && has_literals(expr) {
        return None;
    }
    let file = facts.sources.get(expr.span.file)?;
    let text = file.text(expr.span.start as usize, expr.span.end as usize);
    Some(shortened(&on_one_line(&text)))
}

/// FileLine of a span.
pub(super) fn location(facts: &Facts<'_>, span: Span) -> Option<FileLine> {
    let file = facts.sources.get(span.file)?;
    let line = file.line_at((span.start as usize).min(file.bytes.len()));
    Some(FileLine { file: file.name.to_string(), line })
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let head: String = text.chars().take(LONGEST).collect();
    format!("{head}...")
}

/// Whether an expression contains a text or number that could be a secret. Keys of indexes and objects are names.
fn has_literals(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Traversal(_) | ExprKind::SplatItem => false,
        ExprKind::RelativeTraversal(inner, _)
        | ExprKind::Parens(inner)
        | ExprKind::TemplateWrap(inner)
        | ExprKind::TemplateJoin(inner) => has_literals(inner),
        ExprKind::Index(index) => has_literals(&index.collection),
        ExprKind::Call(call) => call.args.iter().any(has_literals),
        ExprKind::Conditional(c) => [&c.condition, &c.if_true, &c.if_false].into_iter().any(has_literals),
        ExprKind::Unary(unary) => has_literals(&unary.operand),
        ExprKind::Splat(splat) => has_literals(&splat.source) || has_literals(&splat.each),
        ExprKind::JsonString(text) => text.template.as_ref().is_none_or(|(template, _)| has_literals(template)),
        _ => true,
    }
}

/// An object of a resource with marks on everything that its schema declares sensitive. Without a schema nothing of it is shown.
pub(super) fn marked(
    facts: &Facts<'_>,
    resource: &Resource,
    provider: &yuba_addrs::ProviderSource,
    object: &Value,
) -> Value {
    let schemas = facts.schemas.schema(provider);
    match schema_of(schemas.as_deref(), resource) {
        Some(schema) => schema.block.mark(object, None),
        None => object.mark(yuba_value::Mark::Sensitive),
    }
}

/// A path as it is written after the name of an object, without the first dot.
pub(super) fn path(path: &[PathStep]) -> String {
    let mut out = String::new();
    for step in path {
        match step {
            PathStep::Attr(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            PathStep::Index(key) => {
                let key = key.unmark_deep().0;
                let key = key.as_str().map(|key| quote(key).to_string()).unwrap_or_else(|| match key.as_number() {
                    Some(number) => number.to_string(),
                    None => "...".to_owned(),
                });
                out.push_str(&format!("[{key}]"));
            }
        }
    }
    out
}

/// The name of something in a module.
pub(super) fn in_module(module: &dyn std::fmt::Display, name: &str) -> EcoString {
    let module = module.to_string();
    if module.is_empty() { name.into() } else { ecow::eco_format!("{module}.{name}") }
}
