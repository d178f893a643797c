//! The order and the identity of set elements.
//!
//! Elements are known values, then unknown ones, then null. Known texts, numbers and truth values are in their natural
//! order; everything else is in the order of a text made of its content, as OpenTofu makes it, because that order
//! is what people see. Unknown elements are never the same as anything, so they all stay.

use std::cmp::Ordering;

use ecow::EcoString;

use crate::{Number, Type, Value, View};

/// Sorts set elements into the set's order and drops duplicates. Elements carry no marks.
pub(crate) fn normalize(element: &Type, mut items: Vec<Value>) -> Vec<Value> {
    if items.len() < 2 {
        return items;
    }
    if element.is_primitive() {
        items.sort_by(compare_primitive);
        items.dedup_by(|later, kept| later.is_known() && compare_primitive(later, kept).is_eq());
        return items;
    }
    let mut keyed: Vec<(Key, Value)> = items.into_iter().map(|v| (Key::of(&v), v)).collect();
    keyed.sort_by(|(a_key, a), (b_key, b)| a_key.cmp(b_key).then_with(|| tie_break(a, b)));
    keyed.dedup_by(|(later_key, later), (kept_key, kept)| {
        later.is_wholly_known() && kept.is_wholly_known() && later_key == kept_key && tie_break(later, kept).is_eq()
    });
    keyed.into_iter().map(|(_, v)| v).collect()
}

/// Whether a wholly known value is among the elements of a set (which are in order).
pub(crate) fn contains(items: &[Value], value: &Value) -> bool {
    if !value.is_wholly_known() {
        return false;
    }
    if value.ty().is_primitive() {
        return items.binary_search_by(|item| compare_primitive(item, value)).is_ok();
    }
    let key = Key::of(value);
    let start = items.partition_point(|item| Key::of(item) < key);
    // Elements that are the same text but not the same value differ beyond the tenth digit of a number or are
    // not wholly known; the latter come last.
    items[start..]
        .iter()
        .take_while(|item| Key::of(item) == key)
        .any(|item| item.is_wholly_known() && tie_break(item, value).is_eq())
}

fn class(value: &Value) -> u8 {
    match value.view_ignoring_marks() {
        View::Null => 2,
        View::Unknown(_) => 1,
        _ => 0,
    }
}

fn compare_primitive(a: &Value, b: &Value) -> Ordering {
    match (a.view_ignoring_marks(), b.view_ignoring_marks()) {
        (View::String(a), View::String(b)) => a.cmp(b),
        (View::Number(a), View::Number(b)) => a.cmp(b),
        (View::Bool(a), View::Bool(b)) => a.cmp(&b),
        _ => class(a).cmp(&class(b)),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    class: u8,
    text: Vec<u8>,
}

impl Key {
    fn of(value: &Value) -> Key {
        let mut text = Vec::new();
        append(value, Digits::Ten, &mut text);
        Key { class: class(value), text }
    }
}

/// Orders elements whose texts are the same: by their exact numbers, and what is not wholly known last, as it came.
fn tie_break(a: &Value, b: &Value) -> Ordering {
    match (a.is_wholly_known(), b.is_wholly_known()) {
        (true, true) => {
            let (mut a_text, mut b_text) = (Vec::new(), Vec::new());
            append(a, Digits::All, &mut a_text);
            append(b, Digits::All, &mut b_text);
            a_text.cmp(&b_text)
        }
        (a_known, b_known) => b_known.cmp(&a_known),
    }
}

#[derive(Clone, Copy)]
enum Digits {
    Ten,
    All,
}

fn append(value: &Value, digits: Digits, out: &mut Vec<u8>) {
    let sequence = |open: u8, items: &[Value], close: u8, out: &mut Vec<u8>| {
        out.push(open);
        for item in items {
            append(item, digits, out);
            out.push(b';');
        }
        out.push(close);
    };
    match value.view_ignoring_marks() {
        View::Unknown(_) => out.push(b'?'),
        View::Null => out.push(b'~'),
        View::Bool(b) => out.push(if b { b'T' } else { b'F' }),
        View::Number(n) => append_number(n, digits, out),
        View::String(s) => append_quoted(s, out),
        View::List(items) | View::Set(items) => sequence(b'[', items, b']', out),
        View::Tuple(items) | View::Object(items) => sequence(b'<', items, b'>', out),
        View::Map(items) => {
            out.push(b'{');
            for (key, item) in items {
                append_quoted(key, out);
                out.push(b':');
                append(item, digits, out);
                out.push(b';');
            }
            out.push(b'}');
        }
    }
}

fn append_number(number: &Number, digits: Digits, out: &mut Vec<u8>) {
    let text = match digits {
        Digits::Ten => number.format(b'g', Some(10)),
        Digits::All => number.to_string(),
    };
    out.extend_from_slice(text.as_bytes());
}

/// A text in double quotes, escaped the way Go's `%q` does it.
fn append_quoted(text: &EcoString, out: &mut Vec<u8>) {
    use std::io::Write as _;
    out.push(b'"');
    for c in text.chars() {
        let escaped = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\x07' => "\\a",
            '\x08' => "\\b",
            '\x0c' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\x0b' => "\\v",
            c if is_printable(c) => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            c => {
                let code = u32::from(c);
                // Writing to memory does not fail.
                let _ = match code {
                    0..0x80 => write!(out, "\\x{code:02x}"),
                    0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
                continue;
            }
        };
        out.extend_from_slice(escaped.as_bytes());
    }
    out.push(b'"');
}

/// Letters, marks, numbers, punctuation, symbols and the space; an approximation beyond the assigned characters.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    if c.is_control() || c.is_whitespace() {
        return false;
    }
    !matches!(u32::from(c),
        0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f
        | 0xe000..=0xf8ff | 0xfeff | 0xfff0..=0xfffb | 0xfffe..=0xffff | 0xe_0000..=0xe_00ff | 0xf_0000..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_in_the_order_people_see() {
        let number = |text: &str| Value::number(Number::parse(text).expect("a number"));
        let object = |a: Value| Value::object(vec![("a".into(), a)]);
        let string = Type::string();
        let sets = [
            Value::set_of(vec![
                "b".into(),
                Value::null(string.clone()),
                "a".into(),
                Value::unknown(string),
                "b".into(),
            ]),
            Value::set_of(vec![number("10"), number("9"), number("1e1")]),
            Value::set_of(vec![object(number("10")), object(number("9")), object(number("-1")), object(number("9.0"))]),
            Value::set_of(vec![object(number("1.00000000002")), object(number("1.00000000001"))]),
            Value::set_of(vec![object("a\nb".into()), object("a".into()), object("a b".into())]),
            Value::set_of(vec![object(Value::unknown_dynamic()), object(Value::unknown_dynamic())]),
            Value::set_of(vec!["a".into(), Value::int(1)]),
        ];
        let text: String = sets.iter().map(|v| format!("{v:?}\n")).collect();
        expect_test::expect![[r#"
            Some({"a", "b", unknown(string), null(string)})
            Some({9, 10})
            Some({{a=-1}, {a=10}, {a=9}})
            Some({{a=1.00000000001}, {a=1.00000000002}})
            Some({{a="a b"}, {a="a"}, {a="a\nb"}})
            Some({{a=unknown(any)}, {a=unknown(any)}})
            None
        "#]]
        .assert_eq(&text);
    }
}
