//! JSON syntax: the same configuration written as JSON.
//!
//! Only a schema determines whether a property is an argument or a block: [`JsonBody`] has the same methods as a body
//! of the native syntax. Strings are templates where they are evaluated, and references where they are read statically.

mod body;
mod diagnostics;
mod parse;

use std::sync::Arc;

use ecow::EcoString;

use crate::body::{Body, ParsedFile};
use crate::expr::{Expr, ExprKind, JsonString, Literal, ObjectItem};
use crate::parser;
use crate::source::{FileId, Span};

pub use body::JsonBody;
pub use parse::parse_value;

/// A value with its location.
#[derive(Clone, Debug)]
pub struct Json {
    /// Its kind.
    pub kind: JsonKind,
    /// All of it.
    pub span: Span,
}

/// Kinds of JSON values.
#[derive(Clone, Debug)]
pub enum JsonKind {
    /// `{ "a": 1 }`, properties in order, names not always unique.
    Object(Vec<Property>),
    /// `[1, 2]`
    Array(Vec<Arc<Json>>),
    /// A string, escapes resolved.
    String(EcoString),
    /// A number.
    Number(Literal),
    /// `true`, `false`
    Bool(bool),
    /// `null`
    Null,
    /// An unreadable value.
    Invalid,
}

/// `"name": value`
#[derive(Clone, Debug)]
pub struct Property {
    /// The name, escapes resolved.
    pub name: EcoString,
    /// Location of the name, with its quotes.
    pub name_span: Span,
    /// The value.
    pub value: Arc<Json>,
}

/// Parses a configuration file in JSON syntax.
pub fn parse_config(file: FileId, bytes: &[u8]) -> ParsedFile {
    let (root, mut problems) = parse_value(file, bytes);
    let root = if matches!(root.kind, JsonKind::Object(_) | JsonKind::Array(_)) {
        root
    } else {
        problems.push(diagnostics::root_not_object(root.start_span()));
        Json { kind: JsonKind::Object(Vec::new()), span: Span::new(file, 0, 0) }
    };
    ParsedFile { body: Body::Json(Arc::new(JsonBody::new(Arc::new(root)))), diagnostics: problems }
}

impl Json {
    /// Location for messages: the opening bracket, or all of it.
    pub fn start_span(&self) -> Span {
        match self.kind {
            JsonKind::Object(_) | JsonKind::Array(_) => {
                Span { end: (self.span.start + 1).min(self.span.end), ..self.span }
            }
            _ => self.span,
        }
    }

    /// As an expression.
    pub fn to_expr(&self) -> Expr {
        let kind = match &self.kind {
            JsonKind::Object(properties) => ExprKind::JsonObject(
                properties
                    .iter()
                    .map(|property| ObjectItem {
                        key: string_expr(&property.name, property.name_span),
                        key_is_bare_name: false,
                        key_is_bare_traversal: false,
                        value: property.value.to_expr(),
                    })
                    .collect(),
            ),
            JsonKind::Array(values) => ExprKind::Tuple(values.iter().map(|value| value.to_expr()).collect()),
            JsonKind::String(text) => return string_expr(text, self.span),
            JsonKind::Number(number) => ExprKind::Literal(number.clone()),
            JsonKind::Bool(value) => ExprKind::Literal(Literal::Bool(*value)),
            JsonKind::Null => ExprKind::Literal(Literal::Null),
            JsonKind::Invalid => ExprKind::Invalid,
        };
        Expr { kind, span: self.span }
    }
}

fn string_expr(text: &EcoString, span: Span) -> Expr {
    let has_sequence = text.as_bytes().windows(2).any(|pair| matches!(pair, b"${" | b"%{"));
    // Offsets inside the string are counted from after its quote; escapes before them shift them.
    let template = has_sequence.then(|| parser::parse_template_at(span.file, span.start + 1, text.as_bytes()));
    Expr { kind: ExprKind::JsonString(Box::new(JsonString { text: text.clone(), template })), span }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::body::{AttributeSchema, BlockSchema, BodySchema};
    use crate::{Diagnostic, Diagnostics};

    fn show_diags(diagnostics: &Diagnostics) -> String {
        let location = |d: &Diagnostic| d.subject.map(|s| format!(" @{}-{}", s.start, s.end)).unwrap_or_default();
        diagnostics.iter().map(|d| format!("! {}{}\n", d.summary, location(d))).collect()
    }

    fn schema() -> BodySchema {
        let attribute = |name: &str, required| AttributeSchema { name: name.into(), required };
        let block = |kind: &str, labels: &[&str]| BlockSchema {
            kind: kind.into(),
            labels: labels.iter().map(|label| (*label).into()).collect(),
        };
        BodySchema {
            attributes: vec![attribute("need", true), attribute("may", false)],
            blocks: vec![block("plain", &[]), block("resource", &["type", "name"])],
        }
    }

    fn show_body(body: &Body, indent: usize, out: &mut String) {
        let (content, diagnostics) = body.content(&schema());
        for attribute in &content.attributes {
            *out += &format!("{:indent$}{} = {}\n", "", attribute.name, attribute.expr);
        }
        *out += &show_diags(&diagnostics);
        for block in &content.blocks {
            let labels: String = block.labels.iter().map(|(label, _)| format!(" {label:?}")).collect();
            *out += &format!("{:indent$}{}{labels}:\n", "", block.kind);
            show_body(&block.body, indent + 2, out);
        }
    }

    /// One file per line.
    fn check(lines: &str, expect: Expect) {
        let mut out = String::new();
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let file = parse_config(FileId(0), line.as_bytes());
            out += &show_diags(&file.diagnostics);
            show_body(&file.body, 0, &mut out);
        }
        expect.assert_eq(&out);
    }

    #[test]
    fn properties_are_arguments_and_blocks() {
        check(
            r#"
            {"need": "a${b}", "may": [1, -2.5e3, true, null, {"k${x}": "v"}], "//": "comment"}
            {"need": "plain \u00e9\ud83d\ude00\n$", "plain": {"need": 1}, "resource": {"t": {"n": {"need": 1}, "m": [{"need": 2}, {"need": 3}]}}}
            [{"need": 1}, {"plain": [{"need": 2}]}]
            {"need": null, "plain": null, "resource": {"t": [{"n": {"need": 1}}]}}
            "#,
            expect![[r#"
                need = (json (template "a" b))
                may = (tuple 1 -2.5e3 true null (object (json (template "k" x)) = (json "v")))
                need = (json "plain é😀\n$")
                plain:
                  need = 1
                resource "t" "n":
                  need = 1
                resource "t" "m":
                  need = 2
                resource "t" "m":
                  need = 3
                need = 1
                plain:
                  need = 2
                need = null
                resource "t" "n":
                  need = 1
            "#]],
        );
    }

    #[test]
    fn complaints_about_content() {
        check(
            r#"
            {}
            {"need": 1, "need": 2}
            {"need": 1, "mya": 2}
            {"need": 1, "plain": 1}
            {"need": 1, "resource": {}}
            {"need": 1, "resource": {"t": "x"}}
            [1]
            "text"
            "#,
            expect![[r#"
                ! Missing required argument @1-2
                need = 1
                ! Duplicate argument @12-18
                need = 1
                ! Extraneous JSON object property @12-17
                need = 1
                ! Incorrect JSON value type @21-22
                need = 1
                ! Missing block label @24-25
                need = 1
                ! Incorrect JSON value type @30-33
                ! Missing block label @30-33
                ! Incorrect JSON value type @1-2
                ! Missing required argument @0-1
                ! Incorrect JSON value type @1-2
                ! Root value must be object @0-6
                ! Missing required argument @0-0
            "#]],
        );
    }

    #[test]
    fn complaints_about_json() {
        let mut out = String::new();
        for text in [
            "",
            "{",
            "[",
            "{\"a\"",
            "{\"a\" 1}",
            "{\"a\" = 1}",
            "{\"a\",}",
            "{\"a\": 1,}",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": 1]",
            "{1: 2}",
            "[1,]",
            "[1 2]",
            "[1}",
            "[1:2]",
            "{\"a\":}",
            "[,]",
            "{} x",
            "{\"a\": nul}",
            "{\"a\": NaN}",
            "{\"a\": 01}",
            "{\"a\": 1.}",
            "{\"a\": \"\\q\"}",
            "{\"a\": \"x",
            "{\"a\": \"\\u12\"}",
            "{\"a\": #}",
            "\u{feff}{}",
        ] {
            let (_, diagnostics) = parse_value(FileId(0), text.as_bytes());
            out += &format!("{text}\n{}", show_diags(&diagnostics));
        }
        expect![[r#"

            ! Missing value @0-0
            {
            ! Missing value @1-1
            ! Invalid object property name @1-1
            [
            ! Missing value @1-1
            ! Unclosed object @0-1
            {"a"
            ! Missing property value colon @4-4
            {"a" 1}
            ! Missing property value colon @5-6
            {"a" = 1}
            ! Missing property value colon @5-6
            {"a",}
            ! Missing object value @4-5
            {"a": 1,}
            ! Trailing comma in object @7-8
            {"a": 1 "b": 2}
            ! Missing attribute seperator comma @15-15
            {"a": 1]
            ! Mismatched braces @8-8
            {1: 2}
            ! Invalid object property name @1-2
            [1,]
            ! Trailing comma in array @2-3
            [1 2]
            ! Missing attribute seperator comma @5-5
            [1}
            ! Mismatched brackets @3-3
            [1:2]
            ! Invalid array value @5-5
            {"a":}
            ! Missing JSON value @5-6
            [,]
            ! Invalid start of value @1-2
            ! Trailing comma in array @1-2
            {} x
            ! Extraneous data after value @3-4
            {"a": nul}
            ! Invalid JSON keyword @6-9
            {"a": NaN}
            ! Invalid JSON keyword @6-9
            {"a": 01}
            ! Invalid JSON number @6-8
            {"a": 1.}
            ! Invalid JSON number @6-8
            {"a": "\q"}
            ! Invalid JSON string @9-10
            {"a": "x
            ! Invalid JSON string @8-9
            ! Unclosed object @0-1
            {"a": "\u12"}
            ! Invalid JSON string @12-13
            {"a": #}
            ! Invalid start of value @6-7
            ! Missing attribute seperator comma @7-7
            ﻿{}
            ! Invalid start of value @0-1
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn strings_are_references_to_who_asks_for_them() {
        let (value, _) = parse_value(FileId(0), br#"["a.b[0]", "list(string)", "a", "${a.b} c ${d}", "${"]"#);
        let expr = value.to_expr();
        let items = expr.as_list().unwrap_or_default();
        assert_eq!(items[0].as_traversal().map(|t| t.to_string()).as_deref(), Some("a.b[0]"));
        assert_eq!(items[1].as_call().map(|call| call.name).as_deref(), Some("list"));
        assert_eq!(items[2].as_keyword().as_deref(), Some("a"));
        let names: Vec<String> = expr.variables().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["a.b", "d"]);
    }

    #[test]
    fn nesting_without_end_is_one_complaint() {
        for unit in ["[", "{\"a\":"] {
            let (_, diagnostics) = parse_value(FileId(0), unit.repeat(10_000).as_bytes());
            assert_eq!(diagnostics.len(), 1);
        }
    }
}
