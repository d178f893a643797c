//! JSON text to values, with diagnostics where the text is not JSON.

use std::sync::Arc;

use ecow::EcoString;

use super::{Json, JsonKind, Property};
use crate::parser::{MAX_DEPTH, number_literal};
use crate::source::{FileId, Span};
use crate::suggestion::closest;
use crate::{Diagnostic, Diagnostics};

/// Parses a text that is one JSON value.
pub fn parse_value(file: FileId, bytes: &[u8]) -> (Json, Diagnostics) {
    let mut parser =
        Parser { file, bytes, pos: 0, next: Token::EOF, diags: Diagnostics::new(), depth: 0, aborted: false };
    parser.next = parser.scan();
    let value = parser.value();
    if parser.diags.is_empty() && parser.next.kind != Kind::Eof {
        let at = parser.next_span();
        parser.error("Extraneous data after value", "The JSON value is complete, but something follows it.", at);
    }
    (value, parser.diags)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A byte that stands for itself: brackets, `,`, `:`, `=`
    Symbol(u8),
    Keyword,
    String,
    Number,
    Invalid,
    Eof,
}

#[derive(Clone, Copy)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
}

impl Token {
    const EOF: Token = Token { kind: Kind::Eof, start: 0, end: 0 };
    fn is(self, symbol: u8) -> bool {
        self.kind == Kind::Symbol(symbol)
    }
}

struct Parser<'s> {
    file: FileId,
    bytes: &'s [u8],
    /// After the next token.
    pos: usize,
    next: Token,
    diags: Diagnostics,
    depth: u32,
    /// Nested too deeply: everything around is given up without further words.
    aborted: bool,
}

impl Parser<'_> {
    fn scan(&mut self) -> Token {
        if self.next.kind == Kind::Invalid {
            // Nothing is read beyond a character that JSON does not know.
            return Token { kind: Kind::Eof, start: self.pos, end: self.pos };
        }
        let rest = &self.bytes[self.pos..];
        let start = self.pos + rest.iter().take_while(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).count();
        let rest = &self.bytes[start..];
        let run = |matches: fn(&u8) -> bool| rest.iter().take_while(|b| matches(b)).count();
        let (kind, len) = match rest.first() {
            None => (Kind::Eof, 0),
            Some(b @ (b'{' | b'}' | b'[' | b']' | b',' | b':' | b'=')) => (Kind::Symbol(*b), 1),
            Some(b'"') => (Kind::String, string_len(rest)),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => {
                (Kind::Number, run(|b| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')))
            }
            Some(b) if b.is_ascii_alphabetic() => (Kind::Keyword, run(|b| b.is_ascii_alphabetic() || *b == b'_')),
            Some(_) => (Kind::Invalid, 1),
        };
        self.pos = start + len;
        Token { kind, start, end: start + len }
    }

    fn read(&mut self) -> Token {
        let token = self.next;
        if token.kind != Kind::Eof {
            self.next = self.scan();
        }
        token
    }

    fn span(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    fn next_span(&self) -> Span {
        self.span(self.next)
    }

    fn error(&mut self, summary: &str, detail: impl Into<EcoString>, at: Span) {
        self.diags.push(Diagnostic::error(summary, detail).at(at));
    }

    fn value(&mut self) -> Json {
        let token = self.next;
        let span = self.span(token);
        let value = match token.kind {
            Kind::Symbol(b'{' | b'[') => {
                if self.depth >= MAX_DEPTH {
                    let detail = format!("There are more than {MAX_DEPTH} objects and arrays inside each other here.");
                    self.error("JSON nested too deeply", detail, span);
                    self.aborted = true;
                    return Json { kind: JsonKind::Invalid, span };
                }
                self.depth += 1;
                let value = if token.is(b'{') { self.object() } else { self.array() };
                self.depth -= 1;
                value
            }
            Kind::Number => self.number(),
            Kind::String => self.string().map(|text| (JsonKind::String(text), span)),
            Kind::Keyword => self.keyword(),
            kind => {
                let starts = "A JSON value starts with a brace, a bracket, a quote, a digit, or is a keyword.";
                let (summary, detail) = match kind {
                    Kind::Symbol(b'}') => ("Missing JSON value", starts),
                    Kind::Symbol(b']') => ("Missing array element value", starts),
                    Kind::Eof => ("Missing value", "The text ends where a JSON value has to come."),
                    _ => ("Invalid start of value", starts),
                };
                self.error(summary, detail, span);
                None
            }
        };
        let (kind, span) = value.unwrap_or((JsonKind::Invalid, span));
        Json { kind, span }
    }

    /// Skips to what looks like the end of the current object or array, the token given being the first skipped.
    fn recover(&mut self, mut token: Token, open: u8, close: u8) {
        let mut depth = 1;
        loop {
            match token.kind {
                Kind::Symbol(b) if b == open => depth += 1,
                Kind::Symbol(b) if b == close => {
                    depth -= 1;
                    if depth <= 1 {
                        return;
                    }
                }
                Kind::Eof => return,
                _ => {}
            }
            token = self.read();
        }
    }

    fn object(&mut self) -> Option<(JsonKind, Span)> {
        let open = self.read();
        let mut properties = Vec::new();
        while !self.next.is(b'}') {
            let key = self.value();
            if self.aborted {
                return None;
            }
            let JsonKind::String(name) = key.kind else {
                let at = key.start_span();
                self.error("Invalid object property name", "The name of a property is a string in JSON.", at);
                return None;
            };
            let colon = self.read();
            if !colon.is(b':') {
                self.recover(colon, b'{', b'}');
                let (summary, detail) = match colon.kind {
                    Kind::Symbol(b'}' | b',') => {
                        ("Missing object value", "After the name of a property a colon and a value have to follow.")
                    }
                    Kind::Symbol(b'=') => (
                        "Missing property value colon",
                        "In JSON a colon stands between name and value, not an equals sign.",
                    ),
                    _ => ("Missing property value colon", "A colon has to stand between name and value of a property."),
                };
                let at = self.span(colon);
                self.error(summary, detail, at);
                return None;
            }
            let value = Arc::new(self.value());
            if self.aborted {
                return None;
            }
            properties.push(Property { name, name_span: key.span, value });
            let next = self.next;
            let (summary, detail, at) = match next.kind {
                Kind::Symbol(b',') => {
                    self.read();
                    if !self.next.is(b'}') {
                        continue;
                    }
                    ("Trailing comma in object", "JSON has no comma after the last property.", self.span(next))
                }
                Kind::Symbol(b'}') => break,
                Kind::Eof => ("Unclosed object", "The closing brace of this JSON object is missing.", self.span(open)),
                Kind::Symbol(b']') => {
                    self.read();
                    ("Mismatched braces", "A JSON object ends with a brace, not with a bracket.", self.next_span())
                }
                _ => {
                    let token = self.read();
                    self.recover(token, b'{', b'}');
                    let detail = "A comma has to stand between the properties of a JSON object.";
                    // Quirk: the title is spelt like this, and the place is where reading goes on.
                    ("Missing attribute seperator comma", detail, self.next_span())
                }
            };
            self.error(summary, detail, at);
            return None;
        }
        let close = self.read();
        Some((JsonKind::Object(properties), self.span(open).to(self.span(close))))
    }

    fn array(&mut self) -> Option<(JsonKind, Span)> {
        let open = self.read();
        let mut values = Vec::new();
        while !self.next.is(b']') {
            values.push(Arc::new(self.value()));
            if self.aborted {
                return None;
            }
            let next = self.next;
            let (summary, detail) = match next.kind {
                Kind::Symbol(b']') => break,
                Kind::Symbol(b',') => {
                    self.read();
                    if !self.next.is(b']') {
                        continue;
                    }
                    let at = self.span(next);
                    self.error("Trailing comma in array", "JSON has no comma after the last item of an array.", at);
                    return None;
                }
                Kind::Eof => {
                    let at = self.span(open);
                    self.error("Unclosed object", "The closing bracket of this JSON array is missing.", at);
                    return None;
                }
                Kind::Symbol(b':') => ("Invalid array value", "The items of a JSON array have no names and no colons."),
                Kind::Symbol(b'}') => ("Mismatched brackets", "A JSON array ends with a bracket, not with a brace."),
                _ => ("Missing attribute seperator comma", "A comma has to stand between the items of a JSON array."),
            };
            let token = self.read();
            self.recover(token, b'[', b']');
            let at = self.next_span();
            self.error(summary, detail, at);
            return None;
        }
        let close = self.read();
        Some((JsonKind::Array(values), self.span(open).to(self.span(close))))
    }

    fn number(&mut self) -> Option<(JsonKind, Span)> {
        let token = self.read();
        let text = std::str::from_utf8(&self.bytes[token.start..token.end]).unwrap_or_default();
        let number = if is_json_number(text) { number_literal(text) } else { None };
        if number.is_none() {
            let at = self.span(token);
            self.error("Invalid JSON number", "This is not a number as JSON writes it.", at);
        }
        number.map(|number| (JsonKind::Number(number), self.span(token)))
    }

    fn string(&mut self) -> Option<EcoString> {
        let token = self.read();
        match unquote(&self.bytes[token.start..token.end]) {
            Ok(text) => Some(text),
            Err(offset) => {
                let start = token.start + offset;
                let detail = "This is not a string as JSON writes it: check its quotes and escapes.";
                let at = Span::new(self.file, start, start + 1);
                self.diags.push(Diagnostic::error("Invalid JSON string", detail).at(at).within(self.span(token)));
                None
            }
        }
    }

    fn keyword(&mut self) -> Option<(JsonKind, Span)> {
        let token = self.read();
        let span = self.span(token);
        let kind = match std::str::from_utf8(&self.bytes[token.start..token.end]).unwrap_or_default() {
            "true" => JsonKind::Bool(true),
            "false" => JsonKind::Bool(false),
            "null" => JsonKind::Null,
            word @ ("undefined" | "NaN" | "Infinity") => {
                self.error("Invalid JSON keyword", format!("JavaScript has \"{word}\", but JSON has not."), span);
                return None;
            }
            word => {
                let hint = match closest(word, ["false", "true", "null"]) {
                    Some(name) => format!(" Did you mean \"{name}\"?"),
                    None => String::new(),
                };
                self.error("Invalid JSON keyword", format!("JSON has no keyword \"{word}\".{hint}"), span);
                return None;
            }
        };
        Some((kind, span))
    }
}

/// The length of a string token: up to its closing quote, or the control character or end before it.
fn string_len(bytes: &[u8]) -> usize {
    let mut escaping = false;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            b'\\' => escaping = !escaping,
            b'"' if !escaping => return at + 1,
            0..32 => return at,
            _ => escaping = false,
        }
    }
    bytes.len()
}

fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

/// The text of a string token, or how many bytes were read when it turned out to be wrong.
fn unquote(token: &[u8]) -> Result<EcoString, usize> {
    let mut out: Vec<u8> = Vec::with_capacity(token.len());
    let mut at = 1;
    loop {
        match token.get(at) {
            None => return Err(token.len()),
            Some(b'"') => break,
            Some(b'\\') => {
                at += 1;
                let escaped = match token.get(at) {
                    None => return Err(token.len()),
                    Some(b @ (b'"' | b'\\' | b'/')) => *b as char,
                    Some(b'b') => '\u{8}',
                    Some(b'f') => '\u{c}',
                    Some(b'n') => '\n',
                    Some(b'r') => '\r',
                    Some(b't') => '\t',
                    Some(b'u') => {
                        let high = hex4(token, at + 1)?;
                        at += 4;
                        // Half of a pair on its own is a replacement character.
                        let low = match token.get(at + 1..at + 3) {
                            Some(br"\u") if (0xd800..0xdc00).contains(&high) => hex4(token, at + 3)?,
                            _ => 0,
                        };
                        if (0xdc00..0xe000).contains(&low) {
                            at += 6;
                            char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).unwrap_or('\u{fffd}')
                        } else {
                            char::from_u32(high).unwrap_or('\u{fffd}')
                        }
                    }
                    Some(_) => return Err(at + 1),
                };
                out.extend_from_slice(escaped.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Some(0..32) => return Err(at + 1),
            Some(byte) => out.push(*byte),
        }
        at += 1;
    }
    Ok(EcoString::from(String::from_utf8_lossy(&out)))
}

fn hex4(token: &[u8], from: usize) -> Result<u32, usize> {
    let mut code = 0;
    for at in from..from + 4 {
        let digit = token.get(at).ok_or(token.len())?;
        code = code * 16 + (*digit as char).to_digit(16).ok_or(at + 1)?;
    }
    Ok(code)
}
