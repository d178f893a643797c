//! Values and types as people write them: what the console prints.

use std::fmt::Write as _;

use yuba_value::{EcoString, Type, TypeKind, Value, View, quote};

/// A value in the language's own syntax, with conversion functions where the type would not be clear otherwise.
/// Sensitive and ephemeral values are not shown.
pub fn format_value(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, 0, &mut out);
    out
}

fn write_value(value: &Value, indent: usize, out: &mut String) {
    if !value.is_known() {
        out.push_str("(known after apply)");
        return;
    }
    if value.marks().has_sensitive() {
        out.push_str("(sensitive value)");
        return;
    }
    if value.marks().has_ephemeral() {
        out.push_str("(ephemeral value)");
        return;
    }
    match value.view_ignoring_marks() {
        View::Null => write_null(value.ty(), out),
        View::Unknown(_) => {}
        View::Bool(b) => out.push_str(if b { "true" } else { "false" }),
        View::Number(n) => {
            // Writing to memory does not fail.
            let _ = write!(out, "{n}");
        }
        View::String(s) => write_string(s, indent, out),
        View::Tuple(items) => write_sequence(items, indent, out),
        View::List(items) => wrap("tolist(", ")", out, |out| write_sequence(items, indent, out)),
        View::Set(items) => wrap("toset(", ")", out, |out| write_sequence(items, indent, out)),
        View::Object(items) => {
            let attrs = value.ty().attrs().unwrap_or_default();
            write_mapping(attrs.iter().map(|a| &a.name).zip(items), indent, out);
        }
        View::Map(items) => wrap("tomap(", ")", out, |out| {
            write_mapping(items.iter().map(|(key, item)| (key, item)), indent, out);
        }),
    }
}

fn wrap(before: &str, after: &str, out: &mut String, inside: impl FnOnce(&mut String)) {
    out.push_str(before);
    inside(out);
    out.push_str(after);
}

fn write_null(ty: &Type, out: &mut String) {
    let text = match ty.kind() {
        TypeKind::Dynamic => "null".to_owned(),
        TypeKind::String => "tostring(null)".to_owned(),
        TypeKind::Number => "tonumber(null)".to_owned(),
        TypeKind::Bool => "tobool(null)".to_owned(),
        TypeKind::List(element) => format!("tolist(null) /* of {} */", element.friendly_name()),
        TypeKind::Set(element) => format!("toset(null) /* of {} */", element.friendly_name()),
        TypeKind::Map(element) => format!("tomap(null) /* of {} */", element.friendly_name()),
        TypeKind::Tuple(_) | TypeKind::Object(_) => format!("null /* {} */", ty.friendly_name()),
    };
    out.push_str(&text);
}

/// A text of one line in quotes, one of several lines as a heredoc.
fn write_string(text: &str, indent: usize, out: &mut String) {
    if !text.contains('\n') {
        out.push_str(&quote(text));
        return;
    }
    let mut delimiter = "EOT".to_owned();
    while text.split('\n').any(|line| line.trim() == delimiter) {
        delimiter.push('_');
    }
    out.push_str(if indent > 0 { "<<-" } else { "<<" });
    out.push_str(&delimiter);
    for line in text.split('\n').chain([delimiter.as_str()]) {
        new_line(indent, out);
        out.push_str(line);
    }
}

fn write_sequence(items: &[Value], indent: usize, out: &mut String) {
    out.push('[');
    for item in items {
        new_line(indent + 2, out);
        write_value(item, indent + 2, out);
        out.push(',');
    }
    if !items.is_empty() {
        new_line(indent, out);
    }
    out.push(']');
}

fn write_mapping<'a>(items: impl Iterator<Item = (&'a EcoString, &'a Value)>, indent: usize, out: &mut String) {
    let mut empty = true;
    out.push('{');
    for (key, item) in items {
        empty = false;
        new_line(indent + 2, out);
        write_string(key, indent + 2, out);
        out.push_str(" = ");
        write_value(item, indent + 2, out);
    }
    if !empty {
        new_line(indent, out);
    }
    out.push('}');
}

fn new_line(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

/// A type as the console's `type` function shows it: the syntax of type constraints, on several lines.
pub fn format_type(ty: &Type) -> String {
    let mut out = String::new();
    write_type(ty, 0, &mut out);
    out
}

fn write_type(ty: &Type, indent: usize, out: &mut String) {
    const STEP: usize = 4;
    match ty.kind() {
        TypeKind::Bool => out.push_str("bool"),
        TypeKind::Number => out.push_str("number"),
        TypeKind::String => out.push_str("string"),
        TypeKind::Dynamic => out.push_str("dynamic"),
        TypeKind::List(element) | TypeKind::Set(element) | TypeKind::Map(element) => {
            out.push_str(if ty.is_list() {
                "list("
            } else if ty.is_set() {
                "set("
            } else {
                "map("
            });
            if element.is_object() || element.is_tuple() {
                new_line(indent + STEP, out);
                write_type(element, indent + STEP, out);
                out.push(',');
                new_line(indent, out);
            } else {
                write_type(element, indent, out);
            }
            out.push(')');
        }
        TypeKind::Tuple(items) if items.is_empty() => out.push_str("tuple([])"),
        TypeKind::Tuple(items) => {
            out.push_str("tuple([");
            for item in items {
                new_line(indent + STEP, out);
                write_type(item, indent + STEP, out);
                out.push(',');
            }
            new_line(indent, out);
            out.push_str("])");
        }
        TypeKind::Object(attrs) if attrs.is_empty() => out.push_str("object({})"),
        TypeKind::Object(attrs) => {
            out.push_str("object({");
            for attr in attrs {
                new_line(indent + STEP, out);
                out.push_str(&attr.name);
                out.push_str(": ");
                write_type(&attr.ty, indent + STEP, out);
                out.push(',');
            }
            new_line(indent, out);
            out.push_str("})");
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use yuba_value::Mark;

    use super::*;

    fn check(value: &Value, expect: &Expect) {
        expect.assert_eq(&format_value(value));
    }

    fn strings(items: &[&str]) -> Vec<Value> {
        items.iter().map(|item| Value::string(*item)).collect()
    }

    #[test]
    fn primitives() {
        check(&Value::int(-5), &expect!["-5"]);
        check(&Value::bool(true), &expect!["true"]);
        check(&Value::string("a\t\"b\" ${x}"), &expect![[r#""a\t\"b\" ${x}""#]]);
        check(&Value::null_dynamic(), &expect!["null"]);
        check(&Value::null(Type::bool()), &expect!["tobool(null)"]);
        check(&Value::null(Type::list(Type::list(Type::string()))), &expect!["tolist(null) /* of list of string */"]);
        check(&Value::null(Type::empty_object()), &expect!["null /* object */"]);
    }

    #[test]
    fn hidden_values() {
        check(&Value::unknown(Type::string()).mark(Mark::Sensitive), &expect!["(known after apply)"]);
        check(&Value::string("x").mark(Mark::Sensitive).mark(Mark::Ephemeral), &expect!["(sensitive value)"]);
        check(&Value::null(Type::string()).mark(Mark::Ephemeral), &expect!["(ephemeral value)"]);
        check(
            &Value::tuple(vec![Value::int(1), Value::int(2).mark(Mark::Sensitive)]),
            &expect![[r#"
                [
                  1,
                  (sensitive value),
                ]"#]],
        );
    }

    #[test]
    fn collections() {
        check(&Value::tuple(Vec::new()), &expect!["[]"]);
        check(&Value::empty_object(), &expect!["{}"]);
        check(&Value::set(Type::string(), Vec::new()), &expect!["toset([])"]);
        check(&Value::map(Type::string(), Vec::new()), &expect!["tomap({})"]);
        let list = Value::list(Type::string(), strings(&["x"]));
        let map = Value::map(Type::string(), vec![("k l".into(), Value::string("v"))]);
        check(
            &Value::object(vec![("b".into(), list), ("a".into(), map)]),
            &expect![[r#"
                {
                  "a" = tomap({
                    "k l" = "v"
                  })
                  "b" = tolist([
                    "x",
                  ])
                }"#]],
        );
    }

    #[test]
    fn texts_of_several_lines_are_heredocs() {
        check(
            &Value::string("a\n"),
            &expect![[r#"
                <<EOT
                a

                EOT"#]],
        );
        check(
            &Value::tuple(strings(&["a\n EOT \nEOT_"])),
            &expect![[r#"
                [
                  <<-EOT__
                  a
                   EOT 
                  EOT_
                  EOT__,
                ]"#]],
        );
    }

    #[test]
    fn types() {
        let object =
            Type::object([("b".into(), Type::tuple([Type::string(), Type::dynamic()])), ("a".into(), Type::bool())]);
        let ty = Type::list(Type::map(object));
        expect![[r#"
            list(map(
                object({
                    a: bool,
                    b: tuple([
                        string,
                        dynamic,
                    ]),
                }),
            ))"#]]
        .assert_eq(&format_type(&ty));
        expect!["set(list(number))"].assert_eq(&format_type(&Type::set(Type::list(Type::number()))));
        expect!["tuple([])"].assert_eq(&format_type(&Type::empty_tuple()));
    }
}
