//! Block labels: their text in the canonical spelling of a quoted string.

use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The canonical spelling of what stands between the quotes of a label, `None` where that is what stands there already.
///
/// Escapes are undone and only those that are needed come back; the text is in normal form C.
pub(super) fn canonical(raw: &[u8]) -> Option<String> {
    if raw.iter().all(|b| matches!(b, b' '..=b'~') && !matches!(b, b'\\' | b'$' | b'%')) {
        return None;
    }
    let raw = std::str::from_utf8(raw).ok()?;
    let quoted = quote(&unquote(raw)?.nfc().collect::<String>());
    (quoted != raw).then_some(quoted)
}

/// The text that a quoted literal stands for, `None` where an escape is not one of the language.
fn unquote(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("$${") || rest.starts_with("%%{") {
            out.push_str(&rest[1..3]);
            rest = &rest[3..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            out.push(c);
            continue;
        }
        let selector = rest.chars().next()?;
        rest = &rest[selector.len_utf8()..];
        let digits = match selector {
            'n' => {
                out.push('\n');
                0
            }
            'r' => {
                out.push('\r');
                0
            }
            't' => {
                out.push('\t');
                0
            }
            '"' | '\\' => {
                out.push(selector);
                0
            }
            'u' => 4,
            'U' => 8,
            _ => return None,
        };
        if digits > 0 {
            out.push(char::from_u32(u32::from_str_radix(rest.get(..digits)?, 16).ok()?)?);
            rest = &rest[digits..];
        }
    }
    Some(out)
}

/// A text as it stands between quotes.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for (i, c) in text.char_indices() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '$' | '%' => {
                out.push(c);
                if text[i + 1..].starts_with('{') {
                    out.push(c);
                }
            }
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                // Writing to memory does not fail.
                let _ = if code < 0x1_0000 { write!(out, "\\u{code:04x}") } else { write!(out, "\\U{code:08x}") };
            }
        }
    }
    out
}

/// Letters, marks, numbers, punctuation, symbols and the one ASCII space.
fn is_printable(c: char) -> bool {
    use GeneralCategoryGroup::{Letter, Mark, Number, Punctuation, Symbol};
    c == ' ' || matches!(c.general_category_group(), Letter | Mark | Number | Punctuation | Symbol)
}
