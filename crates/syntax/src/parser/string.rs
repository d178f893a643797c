//! Literal text: escapes resolved.

use std::borrow::Cow;

use ecow::EcoString;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{Parser, Tok, diagnostics};
use crate::source::Span;
use crate::token::TokenKind as K;

/// A text in normal form C, as all strings of the language are.
pub(crate) fn normalized(text: &str) -> EcoString {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes { text.into() } else { text.nfc().collect() }
}

impl<'s> Parser<'s> {
    /// The text of a literal token of a template. Escapes with `\` count in quotes only.
    pub(super) fn literal_text(&mut self, token: Tok) -> Cow<'s, str> {
        let bytes = self.bytes(token);
        let quoted = token.kind == K::QuotedText;
        let plain = !bytes.iter().any(|b| matches!(b, b'$' | b'%') || (quoted && *b == b'\\'));
        if plain {
            return String::from_utf8_lossy(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let rest = &bytes[at..];
            match byte {
                b'\\' if quoted => {
                    let len = escape_len(rest);
                    let span = Span { start: token.span.start + at as u32, ..token.span };
                    self.escape(&rest[..len], Span { end: span.start + len as u32, ..span }, &mut out);
                    at += len;
                }
                b'$' | b'%' if rest.get(1) == Some(byte) => {
                    let escaped = rest.get(2) == Some(&b'{');
                    out.extend_from_slice(if escaped { &rest[1..3] } else { &rest[..2] });
                    at += if escaped { 3 } else { 2 };
                }
                _ => {
                    out.push(*byte);
                    at += 1;
                }
            }
        }
        match String::from_utf8(out) {
            Ok(text) => text.into(),
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into(),
        }
    }

    fn escape(&mut self, escape: &[u8], span: Span, out: &mut Vec<u8>) {
        match escape.get(1) {
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(b'"') => out.push(b'"'),
            Some(b'\\') => out.push(b'\\'),
            Some(selector @ (b'u' | b'U')) => {
                let (digits, words) = if *selector == b'u' { (4, "four") } else { (8, "eight") };
                if escape.len() != digits + 2 {
                    self.report(diagnostics::short_unicode_escape(span, *selector as char, words));
                    return out.extend_from_slice(escape);
                }
                let hex = std::str::from_utf8(&escape[2..]).unwrap_or_default();
                let code = u32::from_str_radix(hex, 16).unwrap_or(u32::MAX);
                match char::from_u32(code) {
                    Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    None => {
                        self.report(diagnostics::no_such_character(span, code));
                        out.extend_from_slice(escape);
                    }
                }
            }
            Some(_) => {
                self.report(diagnostics::unknown_escape(span, &String::from_utf8_lossy(&escape[1..])));
                out.extend_from_slice(&escape[1..]);
            }
            None => {
                self.report(diagnostics::unknown_escape(span, ""));
                out.extend_from_slice(escape);
            }
        }
    }
}

/// The length of the escape at the start: `\` and a character, with up to four or eight digits after `\u` and `\U`.
fn escape_len(bytes: &[u8]) -> usize {
    let digits = match bytes.get(1) {
        Some(b'u') => 4,
        Some(b'U') => 8,
        None => return 1,
        Some(_) => {
            let continuation = bytes[2..].iter().take(3).take_while(|b| *b & 0xc0 == 0x80).count();
            return 2 + if bytes[1] >= 0xc0 { continuation } else { 0 };
        }
    };
    2 + bytes[2..].iter().take(digits).take_while(|b| b.is_ascii_hexdigit()).count()
}
