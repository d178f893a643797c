//! For tests: a text is decoded, and its errors are printed as `line:column Severity: Summary`.

use std::fmt::Write;

use expect_test::Expect;
use yuba_addrs::ResourceMode;
use yuba_syntax::body::ParsedFile;
use yuba_syntax::expr::{Literal, UnaryOp};
use yuba_syntax::{Block, Diagnostic, Diagnostics, Expr, ExprKind, FileId, SourceFile, Sources, json, parser};
use yuba_value::{Number, Value};

use crate::constant::Decoding;
use crate::diagnostics::unsuitable_value;
use crate::resource::BlockContext;
use crate::schema::schema;
use crate::{Module, ParsedConfigFile, decode_module, select_files};
use crate::{check, import, module_call, moved, provider, removed, resource, symbols};

/// Decodes every block of a file in native or JSON syntax; `expect` lists the errors.
pub(crate) fn check(text: &str, expect: &Expect) {
    check_file(text, BlockContext::Top, expect);
}

/// The same for an override file.
pub(crate) fn check_override(text: &str, expect: &Expect) {
    check_file(text, BlockContext::Override, expect);
}

fn check_file(text: &str, location: BlockContext, expect: &Expect) {
    expect.assert_eq(&problems(text, |file, with| {
        let (content, mut problems) = file.body.content(&schema(
            &[],
            &[],
            &[
                ("resource", &["type", "name"]),
                ("data", &["type", "name"]),
                ("ephemeral", &["type", "name"]),
                ("provider", &["name"]),
                ("module", &["name"]),
                ("check", &["name"]),
                ("moved", &[]),
                ("import", &[]),
                ("removed", &[]),
                ("symbols", &["name"]),
            ],
        ));
        for block in &content.blocks {
            problems.extend(decode(block, location, with));
        }
        problems
    }));
}

fn decode(block: &Block, location: BlockContext, with: &Decoding<'_>) -> Diagnostics {
    let kind = location.file_kind();
    match block.kind.as_str() {
        "resource" => resource::decode(block, ResourceMode::Managed, location, with).1,
        "data" => resource::decode(block, ResourceMode::Data, location, with).1,
        "ephemeral" => resource::decode(block, ResourceMode::Ephemeral, location, with).1,
        "provider" => provider::decode(block, with).1,
        "module" => module_call::decode(block, kind, with).1,
        "check" => check::decode(block, kind, with).2,
        "moved" => moved::decode(block).1,
        "import" => import::decode(block).1,
        "removed" => removed::decode(block, with).1,
        _ => symbols::decode(block, kind, with).1,
    }
}

/// Errors in a file, as text.
pub(crate) fn problems(text: &str, decode: impl FnOnce(&ParsedFile, &Decoding<'_>) -> Diagnostics) -> String {
    let mut sources = Sources::new();
    let file = sources.add(SourceFile::new("test", text.as_bytes()));
    let parsed = parse_as(file, text);
    let mut all = parsed.diagnostics.clone();
    all.extend(decode(&parsed, &Decoding::new(&constants, &sources)));
    all.iter().fold(String::new(), |mut out, problem| {
        match problem.subject.and_then(|span| Some((span, sources.get(span.file)?))) {
            Some((span, source)) => {
                let at = source.position(span.start as usize);
                let _ = write!(out, "{}:{}", at.line, at.column);
            }
            None => out.push('-'),
        }
        let _ = writeln!(out, " {:?}: {}", problem.severity, problem.summary);
        out
    })
}

/// Decodes the files of a module, and prints the errors as `file:line:column Severity: Summary`.
pub(crate) fn module(files: &[(&str, &str)]) -> (Module, Vec<String>) {
    let mut sources = Sources::new();
    let selection = select_files(files.iter().map(|(name, _)| *name));
    let mut parsed = Vec::new();
    for (name, text) in files {
        let file = sources.add(SourceFile::new(*name, text.as_bytes()));
        let ParsedFile { body, diagnostics } = match name.ends_with(".json") {
            true => json::parse_config(file, text.as_bytes()),
            false => parser::parse_config(file, text.as_bytes()).1,
        };
        let is_override = selection.overrides.iter().any(|selected| selected == name);
        parsed.push(ParsedConfigFile { name: (*name).into(), file, body, diagnostics, is_override });
    }
    let (module, problems) = decode_module(".", &parsed, &Decoding::new(&constants, &sources));
    let print = |problem: &Diagnostic| {
        let location = match problem.subject.and_then(|span| Some((span, sources.get(span.file)?))) {
            Some((span, source)) => {
                let at = source.position(span.start as usize);
                format!("{}:{}:{}", source.name, at.line, at.column)
            }
            None => "-".to_owned(),
        };
        format!("{location} {:?}: {}", problem.severity, problem.summary)
    };
    let printed = problems.iter().map(print).collect();
    (module, printed)
}

/// Decodes each text of a table as the only file of a module, and compares the errors: `line:column Summary`, one
/// after the other, warnings in parentheses.
pub(crate) fn check_all(name: &str, cases: &[(&str, &str)]) {
    check_each(name, "*", cases);
}

/// The same, each text put in place of the star in another one.
pub(crate) fn check_each(name: &str, around: &str, cases: &[(&str, &str)]) {
    for (text, expect) in cases {
        let (_, problems) = module(&[(name, &around.replacen('*', text, 1))]);
        let short = problems.iter().map(|problem| {
            let problem = problem.strip_prefix(name).map_or(problem.as_str(), |rest| rest.trim_start_matches(':'));
            match problem.split_once(" Warning:") {
                Some((location, summary)) => format!("({location}{summary})"),
                None => problem.replace(" Error:", ""),
            }
        });
        assert_eq!(short.collect::<Vec<_>>().join("; "), *expect, "{text}");
    }
}

/// Parses native syntax, or JSON where the text starts with a brace.
pub(crate) fn parse(text: &str) -> ParsedFile {
    parse_as(FileId(0), text)
}

fn parse_as(file: FileId, text: &str) -> ParsedFile {
    match text.trim_start().starts_with('{') {
        true => json::parse_config(file, text.as_bytes()),
        false => parser::parse_config(file, text.as_bytes()).1,
    }
}

/// Literals, and collections of them.
pub(crate) fn constants(expr: &Expr) -> (Value, Diagnostics) {
    let mut problems = Diagnostics::new();
    (value(expr, &mut problems), problems)
}

fn value(expr: &Expr, problems: &mut Diagnostics) -> Value {
    match &expr.kind {
        ExprKind::Literal(Literal::Null) => Value::null_dynamic(),
        ExprKind::Literal(Literal::Bool(value)) => Value::bool(*value),
        ExprKind::Literal(Literal::Int(value)) => Value::int(*value),
        ExprKind::Literal(Literal::Number(text)) => Number::parse(text).map_or_else(Value::null_dynamic, Value::number),
        ExprKind::Literal(Literal::String(text)) => Value::string(text.clone()),
        ExprKind::JsonString(string) => Value::string(string.text.clone()),
        ExprKind::Parens(inner) => value(inner, problems),
        ExprKind::Unary(unary) if unary.op == UnaryOp::Negate => value(&unary.operand, problems),
        ExprKind::Tuple(items) => Value::tuple(items.iter().map(|item| value(item, problems)).collect::<Vec<_>>()),
        ExprKind::Object(items) | ExprKind::JsonObject(items) => {
            let attrs = items.iter().map(|item| {
                let key = value(&item.key, problems);
                (key.as_str().cloned().unwrap_or_default(), value(&item.value, problems))
            });
            Value::object(attrs.collect::<Vec<_>>())
        }
        ExprKind::Traversal(traversal) => {
            problems.push(unsuitable_value("", traversal.root_span).titled("Variables not allowed"));
            Value::unknown_dynamic()
        }
        ExprKind::Call(_) => {
            problems.push(unsuitable_value("", expr.span).titled("Function calls not allowed"));
            Value::unknown_dynamic()
        }
        _ => Value::unknown_dynamic(),
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;
    use crate::file::ParsedConfigFile;
    use crate::{decode_module, symbols::decode_library, test_file};

    const PIECES: &[&str] = &[
        "resource",
        "data",
        "ephemeral",
        "provider",
        "module",
        "check",
        "moved",
        "import",
        "removed",
        "symbols",
        "run",
        "mock_provider",
        "override_resource",
        "override_module",
        "values",
        "typedef",
        "function",
        "parameter",
        "assert",
        "lifecycle",
        "connection",
        "provisioner",
        "precondition",
        "_",
        "plan_options",
        "variables",
        "count",
        "for_each",
        "enabled",
        "depends_on",
        "providers",
        "ignore_changes",
        "replace_triggered_by",
        "from",
        "to",
        "id",
        "target",
        "expect_failures",
        "condition",
        "error_message",
        "alias",
        "version",
        "source",
        "when",
        "a.b",
        "a.b[each.key]",
        "module.m",
        "var.x",
        "self",
        "\"a\"",
        "\"a.b\"",
        "\"\"",
        "\"${a}\"",
        "\"x${a}\"",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "=",
        ",",
        ".",
        ":",
        "\n",
        "\n",
        " ",
        "null",
        "true",
        "1",
        "*",
        "for",
        "in",
        "if",
        "?",
        "f(x)",
        "provider::a::b(x)",
    ];

    fn decode_all(text: &str) {
        for text in [text.to_owned(), format!("{{{text}}}")] {
            let _ = problems(&text, |file, with| {
                let parsed = ParsedConfigFile {
                    name: "main.tf".into(),
                    file: FileId(0),
                    body: file.body.clone(),
                    diagnostics: Diagnostics::new(),
                    is_override: false,
                };
                let overriding = ParsedConfigFile { name: "override.tf".into(), is_override: true, ..parsed.clone() };
                let (module, mut found) = decode_module(".", &[parsed, overriding], with);
                found.extend(decode_library([&file.body], with).1);
                let (tests, more) = test_file::decode(&file.body, with);
                found.extend(more);
                found.extend(tests.validate(|_| &module));
                found.extend(tests.validate_providers(&[&module]));
                found
            });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn any_order_of_pieces_is_decoded(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
            decode_all(&pieces.join(" "));
        }
        #[test]
        fn any_text_is_decoded(text in "\\PC{0,80}") {
            decode_all(&text);
        }
        #[test]
        fn any_argument_and_block_is_decoded(
            kind in prop::sample::select(&PIECES[..11]),
            labels in 0..3_usize,
            lines in prop::collection::vec((prop::sample::select(PIECES), prop::sample::select(PIECES)), 0..8),
        ) {
            let labels = [" \"a\"", " \"b\""][..labels].concat();
            let lines: String = lines.iter().map(|(name, value)| format!("  {name} = [{value}]\n  {name} = {value}\n  {value} {{\n  {name} = {value}\n}}\n")).collect();
            decode_all(&format!("{kind}{labels} {{\n{lines}}}\n"));
        }
    }
}
