//! Values and types as JSON.
//!
//! Two flavours of values: *by type*, for readers who know the type ([`encode`], [`decode`]; where the type is `any`,
//! the value is wrapped as `{"value":..., "type":...}`), and *plain*, where the shape of the text says everything
//! ([`encode_plain`], [`decode_implied`]). Map keys and attributes are sorted, texts are escaped as Go's
//! `encoding/json` does, numbers are written with all their digits.
//!
//! Exits: unknown values and marks cannot be written. The caller deals with them before.

mod decode;
mod reader;
mod types;

use std::fmt;

use ecow::EcoString;

use crate::{Number, Path, PathStep, Type, TypeKind, Value, View};

pub(crate) use decode::agree;
pub use types::{decode_type, encode_type};

/// Maximum nesting of arrays and objects.
pub(crate) const MAX_DEPTH: usize = 500;

/// Reason why a text (or MessagePack) could not be read.
#[derive(Clone, Debug)]
pub struct JsonError {
    /// Offset in the text, in bytes.
    pub offset: usize,
    /// Path in the value.
    pub path: Path,
    /// The error, a sentence part without capital and full stop.
    pub message: EcoString,
}

impl JsonError {
    pub(crate) fn new(offset: usize, message: impl Into<EcoString>) -> JsonError {
        JsonError { offset, path: Path::new(), message: message.into() }
    }
    pub(crate) fn under(mut self, step: PathStep) -> JsonError {
        self.path.0.insert(0, step);
        self
    }
}
impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.message, self.offset)
    }
}
impl std::error::Error for JsonError {}

/// Reason why a value cannot be written.
#[derive(Clone, Debug)]
pub struct EncodeError {
    /// Path in the value.
    pub path: Path,
    /// The error, a sentence part without capital and full stop.
    pub message: &'static str,
}

impl EncodeError {
    pub(crate) fn new(message: &'static str) -> EncodeError {
        EncodeError { path: Path::new(), message }
    }
    pub(crate) fn under(mut self, step: PathStep) -> EncodeError {
        self.path.0.insert(0, step);
        self
    }
}
impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}
impl std::error::Error for EncodeError {}

/// The value as JSON for a reader who knows the type, to which the value must conform.
pub fn encode(value: &Value, ty: &Type) -> Result<String, EncodeError> {
    let mut out = String::new();
    write(&mut out, value, ty)?;
    Ok(out)
}

/// The value as JSON, as `jsonencode` has it.
pub fn encode_plain(value: &Value) -> Result<String, EncodeError> {
    encode(value, value.ty())
}

/// Reads a value of a type.
pub fn decode(text: &[u8], ty: &Type) -> Result<Value, JsonError> {
    decode::typed(&String::from_utf8_lossy(text), ty)
}

/// Reads a value whose type is what the text looks like: arrays are tuples, objects are objects.
pub fn decode_implied(text: &str) -> Result<Value, JsonError> {
    decode::implied(text)
}

/// The type that [`decode_implied`] would find.
pub fn implied_type(text: &[u8]) -> Result<Type, JsonError> {
    Ok(decode::implied(&String::from_utf8_lossy(text))?.ty().clone())
}

/// A text as a JSON string with its quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_text(&mut out, text);
    out
}

fn write(out: &mut String, value: &Value, ty: &Type) -> Result<(), EncodeError> {
    const MISMATCH: &str = "the value is not of the type it is to be written as";
    if !value.marks().is_empty() {
        return Err(EncodeError::new("a marked value cannot be written as JSON"));
    }
    if !value.is_known() {
        return Err(EncodeError::new("the value is not known yet"));
    }
    if ty.is_dynamic() && !value.ty().is_dynamic() {
        out.push_str("{\"value\":");
        write(out, value, value.ty())?;
        out.push_str(",\"type\":");
        types::write_type(out, value.ty());
        out.push('}');
        return Ok(());
    }
    match (value.ignoring_marks().view(), ty.kind()) {
        (View::Null, _) => out.push_str("null"),
        (View::Bool(b), TypeKind::Bool) => out.push_str(if b { "true" } else { "false" }),
        (View::Number(n), TypeKind::Number) => write_number(out, n)?,
        (View::String(s), TypeKind::String) => write_text(out, s),
        (View::List(items), TypeKind::List(element)) | (View::Set(items), TypeKind::Set(element)) => {
            write_items(out, items, std::iter::repeat(element))?;
        }
        (View::Tuple(items), TypeKind::Tuple(elements)) if items.len() == elements.len() => {
            write_items(out, items, elements.iter())?;
        }
        (View::Map(items), TypeKind::Map(element)) => {
            let key = |key: &EcoString| PathStep::Index(Value::string(key.clone()));
            write_entries(out, items.iter().map(|(name, value)| (name, value, element)), key)?;
        }
        (View::Object(items), TypeKind::Object(attrs)) if items.len() == attrs.len() => {
            let entries = items.iter().zip(attrs).map(|(value, attr)| (&attr.name, value, &attr.ty));
            write_entries(out, entries, |name| PathStep::Attr(name.clone()))?;
        }
        _ => return Err(EncodeError::new(MISMATCH)),
    }
    Ok(())
}

fn write_items<'a>(
    out: &mut String,
    items: &[Value],
    types: impl Iterator<Item = &'a Type>,
) -> Result<(), EncodeError> {
    out.push('[');
    for (i, (item, ty)) in items.iter().zip(types).enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(out, item, ty).map_err(|e| e.under(PathStep::Index(Value::int(i as i64))))?;
    }
    out.push(']');
    Ok(())
}

fn write_entries<'a>(
    out: &mut String,
    entries: impl Iterator<Item = (&'a EcoString, &'a Value, &'a Type)>,
    step: impl Fn(&EcoString) -> PathStep,
) -> Result<(), EncodeError> {
    out.push('{');
    for (i, (name, value, ty)) in entries.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_text(out, name);
        out.push(':');
        write(out, value, ty).map_err(|e| e.under(step(name)))?;
    }
    out.push('}');
    Ok(())
}

fn write_number(out: &mut String, number: &Number) -> Result<(), EncodeError> {
    use std::fmt::Write;
    if number.is_infinite() {
        return Err(EncodeError::new("JSON has no way to write infinity"));
    }
    // Writing to a string does not fail.
    let _ = write!(out, "{number}");
    Ok(())
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    // Special characters of HTML are escaped too, and the two line separators that are special in JavaScript.
    let special = |c: char| matches!(c, '\0'..='\x1f' | '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}');
    while let Some(at) = rest.find(special) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let mut chars = from.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\x08') => out.push_str("\\b"),
            Some('\x0c') => out.push_str("\\f"),
            Some(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests;
