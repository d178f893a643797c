//! Texts in double quotes, escaped the way Go's `strconv.Quote` and `%q` do it.

use std::sync::LazyLock;

use ecow::EcoString;
use regex_syntax::hir::{Class, ClassUnicode, HirKind};

/// The text in double quotes; what does not print is escaped.
pub fn quote(text: &str) -> EcoString {
    let mut out = EcoString::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                out.push_str(&match code {
                    0..0x80 => format!("\\x{code:02x}"),
                    0x80..0x1_0000 => format!("\\u{code:04x}"),
                    _ => format!("\\U{code:08x}"),
                });
            }
        }
    }
    out.push('"');
    out
}

/// Letters, marks, numbers, punctuation, symbols and the ASCII space.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    static PRINTABLE: LazyLock<Option<ClassUnicode>> = LazyLock::new(|| {
        let hir = regex_syntax::parse(r"[\p{L}\p{M}\p{N}\p{P}\p{S}]").ok()?;
        match hir.into_kind() {
            HirKind::Class(Class::Unicode(class)) => Some(class),
            _ => None,
        }
    });
    PRINTABLE.as_ref().is_some_and(|class| {
        let ranges = class.ranges();
        let at = ranges.partition_point(|range| range.end() < c);
        ranges.get(at).is_some_and(|range| range.start() <= c)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_print_is_escaped() {
        for (text, expect) in [
            ("a b", r#""a b""#),
            ("\"\\", r#""\"\\""#),
            ("\x07\x08\t\n\x0b\x0c\r", r#""\a\b\t\n\v\f\r""#),
            ("\0\x1b\x7f", r#""\x00\x1b\x7f""#),
            ("äß漢🙂", r#""äß漢🙂""#),
            ("\u{a0}\u{ad}\u{200b}\u{2028}\u{feff}\u{e000}", r#""\u00a0\u00ad\u200b\u2028\ufeff\ue000""#),
            ("\u{10ffff}", r#""\U0010ffff""#),
            ("e\u{301}\u{fffd}", "\"e\u{301}\u{fffd}\""),
        ] {
            assert_eq!(quote(text), expect);
        }
    }
}
