//! JSON text as Go tools write it, members in the order they were given.

use std::fmt::Write as _;

/// A piece of JSON to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A text.
    String(String),
    /// Elements.
    Array(Vec<JsonValue>),
    /// Members in order.
    Object(Vec<(String, JsonValue)>),
    /// JSON text without white space that is already escaped.
    Raw(String),
}

impl JsonValue {
    /// An object of these members.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, JsonValue)>) -> JsonValue {
        JsonValue::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// On one line, without spaces.
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None, Escape::Html);
        out
    }

    /// On one line, without spaces, and without escapes that only HTML would need.
    pub fn compact_plain(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None, Escape::Json);
        out
    }

    /// On many lines, indented by two spaces.
    pub fn indented(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(0), Escape::Html);
        out
    }

    fn write(&self, out: &mut String, indent: Option<usize>, escape: Escape) {
        match self {
            JsonValue::Null => out.push_str("null"),
            JsonValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            JsonValue::Int(value) => {
                let _ = write!(out, "{value}");
            }
            JsonValue::String(text) => write_string(out, text, escape),
            JsonValue::Raw(text) => out.push_str(text),
            JsonValue::Array(elements) => write_items(out, indent, '[', ']', elements, |out, indent, element| {
                element.write(out, indent, escape);
            }),
            JsonValue::Object(members) => write_items(out, indent, '{', '}', members, |out, indent, (name, value)| {
                write_string(out, name, escape);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                value.write(out, indent, escape);
            }),
        }
    }
}

fn write_items<T>(
    out: &mut String,
    indent: Option<usize>,
    open: char,
    close: char,
    items: &[T],
    mut write: impl FnMut(&mut String, Option<usize>, &T),
) {
    out.push(open);
    let inner = indent.map(|level| level + 1);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        new_line(out, inner);
        write(out, inner, item);
    }
    if !items.is_empty() {
        new_line(out, indent);
    }
    out.push(close);
}

fn new_line(out: &mut String, indent: Option<usize>) {
    if let Some(level) = indent {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    }
}

/// Escaped characters of strings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    /// Escapes characters that are special in HTML too, as Go does by default.
    Html,
    /// Only what JSON demands.
    Json,
}

pub(crate) fn write_string(out: &mut String, text: &str, escape: Escape) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' if escape == Escape::Json => out.push(c),
            // Go writes these escaped so that the text can stand in HTML and JavaScript.
            '\u{0}'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Raw JSON written again on many lines, indented by two spaces; as it stands where it is not well-formed.
pub(crate) fn indent(compact: &str) -> String {
    let mut out = String::with_capacity(compact.len() * 2);
    let mut level = 0_usize;
    let (mut in_text, mut escaped) = (false, false);
    let mut chars = compact.chars().peekable();
    while let Some(c) = chars.next() {
        if in_text {
            out.push(c);
            in_text = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                if let Some(close) = chars.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    level += 1;
                    new_line(&mut out, Some(level));
                }
            }
            '}' | ']' => {
                level = level.saturating_sub(1);
                new_line(&mut out, Some(level));
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, Some(level));
            }
            ':' => out.push_str(": "),
            c => {
                in_text = c == '"';
                out.push(c);
            }
        }
    }
    out
}

impl From<&str> for JsonValue {
    fn from(text: &str) -> JsonValue {
        JsonValue::String(text.to_owned())
    }
}
impl From<String> for JsonValue {
    fn from(text: String) -> JsonValue {
        JsonValue::String(text)
    }
}
impl From<usize> for JsonValue {
    fn from(number: usize) -> JsonValue {
        JsonValue::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_go_writes() {
        let json = JsonValue::object([
            ("a", JsonValue::Array(vec![JsonValue::Null, JsonValue::Bool(true), JsonValue::Int(-1)])),
            ("b", JsonValue::from("<\"é\\\n\u{1}>")),
            ("c", JsonValue::object([])),
            ("d", JsonValue::Array(vec![])),
        ]);
        assert_eq!(json.compact(), r#"{"a":[null,true,-1],"b":"\u003c\"é\\\n\u0001\u003e","c":{},"d":[]}"#);
        let expected = "{\n  \"a\": [\n    null,\n    true,\n    -1\n  ],\n  \"b\": \"\\u003c\\\"é\\\\\\n\\u0001\\u003e\",\n  \"c\": {},\n  \"d\": []\n}";
        assert_eq!(json.indented(), expected);
        assert_eq!(indent(&json.compact()), expected);
    }
}
