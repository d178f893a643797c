//! JSON text to values, with diagnostics where the text is not JSON.

use std::sync::Arc;

use ecow::EcoString;

use super::{Json, JsonKind, Property, diagnostics};
use crate::parser::{MAX_DEPTH, number_literal};
use crate::source::{FileId, Span};
use crate::{Diagnostic, Diagnostics};

/// Parses a text that is one JSON value.
pub fn parse_value(file: FileId, bytes: &[u8]) -> (Json, Diagnostics) {
    let mut parser =
        Parser { file, bytes, pos: 0, next: Token::EOF, diags: Diagnostics::new(), depth: 0, aborted: false };
    parser.next = parser.scan();
    let value = parser.value();
    if parser.diags.is_empty() && parser.next.kind != Kind::Eof {
        let at = parser.next_span();
        parser.diags.push(diagnostics::extra_data(at));
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

    fn value(&mut self) -> Json {
        let token = self.next;
        let span = self.span(token);
        let value = match token.kind {
            Kind::Symbol(b'{' | b'[') => {
                if self.depth >= MAX_DEPTH {
                    self.diags.push(diagnostics::too_deep(span));
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
                self.diags.push(match kind {
                    Kind::Symbol(b'}') => diagnostics::value_missing(span),
                    Kind::Symbol(b']') => diagnostics::array_item_missing(span),
                    Kind::Eof => diagnostics::unexpected_end(span),
                    _ => diagnostics::invalid_start(span),
                });
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
                self.diags.push(diagnostics::invalid_property_name(key.start_span()));
                return None;
            };
            let colon = self.read();
            if !colon.is(b':') {
                self.recover(colon, b'{', b'}');
                let at = self.span(colon);
                self.diags.push(match colon.kind {
                    Kind::Symbol(b'}' | b',') => diagnostics::property_value_missing(at),
                    Kind::Symbol(b'=') => diagnostics::equals_instead_of_colon(at),
                    _ => diagnostics::colon_missing(at),
                });
                return None;
            }
            let value = Arc::new(self.value());
            if self.aborted {
                return None;
            }
            properties.push(Property { name, name_span: key.span, value });
            let next = self.next;
            let problem = match next.kind {
                Kind::Symbol(b',') => {
                    self.read();
                    if !self.next.is(b'}') {
                        continue;
                    }
                    diagnostics::trailing_comma_in_object(self.span(next))
                }
                Kind::Symbol(b'}') => break,
                Kind::Eof => diagnostics::unclosed_object(self.span(open)),
                Kind::Symbol(b']') => {
                    self.read();
                    diagnostics::object_closed_with_bracket(self.next_span())
                }
                _ => {
                    let token = self.read();
                    self.recover(token, b'{', b'}');
                    // Quirk: the location is where parsing continues.
                    diagnostics::comma_missing_in_object(self.next_span())
                }
            };
            self.diags.push(problem);
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
            let problem: fn(Span) -> Diagnostic = match next.kind {
                Kind::Symbol(b']') => break,
                Kind::Symbol(b',') => {
                    self.read();
                    if !self.next.is(b']') {
                        continue;
                    }
                    self.diags.push(diagnostics::trailing_comma_in_array(self.span(next)));
                    return None;
                }
                Kind::Eof => {
                    self.diags.push(diagnostics::unclosed_array(self.span(open)));
                    return None;
                }
                Kind::Symbol(b':') => diagnostics::colon_in_array,
                Kind::Symbol(b'}') => diagnostics::array_closed_with_brace,
                _ => diagnostics::comma_missing_in_array,
            };
            let token = self.read();
            self.recover(token, b'[', b']');
            self.diags.push(problem(self.next_span()));
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
            self.diags.push(diagnostics::invalid_number(self.span(token)));
        }
        number.map(|number| (JsonKind::Number(number), self.span(token)))
    }

    fn string(&mut self) -> Option<EcoString> {
        let token = self.read();
        match unquote(&self.bytes[token.start..token.end]) {
            Ok(text) => Some(text),
            Err(offset) => {
                let start = token.start + offset;
                let at = Span::new(self.file, start, start + 1);
                self.diags.push(diagnostics::invalid_string(at, self.span(token)));
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
                self.diags.push(diagnostics::javascript_keyword(word, span));
                return None;
            }
            word => {
                self.diags.push(diagnostics::unknown_keyword(word, span));
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
