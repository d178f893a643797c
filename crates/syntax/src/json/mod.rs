//! JSON syntax: the same configuration written as JSON.
//!
//! What a property is, an argument or a block, only a schema tells: [`JsonBody`] answers the same questions as a body of
//! the native syntax. Strings are templates where they are evaluated, and references where they are read statically.

mod body;
mod parse;

use std::sync::Arc;

use ecow::EcoString;

use crate::body::{Body, ParsedFile};
use crate::expr::{Expr, ExprKind, JsonString, Literal, ObjectItem};
use crate::source::{FileId, Span};
use crate::{Diagnostic, parser};

pub use body::JsonBody;
pub use parse::parse_value;

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Json {
    /// What it is.
    pub kind: JsonKind,
    /// All of it.
    pub span: Span,
}

/// What a JSON value is.
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
    /// What could not be read.
    Invalid,
}

/// `"name": value`
#[derive(Clone, Debug)]
pub struct Property {
    /// The name, escapes resolved.
    pub name: EcoString,
    /// Where the name stands, with its quotes.
    pub name_span: Span,
    /// The value.
    pub value: Arc<Json>,
}

/// Parses a configuration file in JSON syntax.
pub fn parse_config(file: FileId, bytes: &[u8]) -> ParsedFile {
    let (root, mut diagnostics) = parse_value(file, bytes);
    let root = if matches!(root.kind, JsonKind::Object(_) | JsonKind::Array(_)) {
        root
    } else {
        let detail = "A file in JSON syntax has to contain one JSON object, or an array of them.";
        diagnostics.push(Diagnostic::error("Root value must be object", detail).at(root.start_span()));
        Json { kind: JsonKind::Object(Vec::new()), span: Span::new(file, 0, 0) }
    };
    ParsedFile { body: Body::Json(Arc::new(JsonBody::new(Arc::new(root)))), diagnostics }
}

impl Json {
    /// What messages about it point at: the opening bracket, or all of it.
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
    // Places inside the string are counted from after its quote; escapes before them shift them.
    let template = has_sequence.then(|| parser::parse_template_at(span.file, span.start + 1, text.as_bytes()));
    Expr { kind: ExprKind::JsonString(Box::new(JsonString { text: text.clone(), template })), span }
}
