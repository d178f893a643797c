//! Rows of values: an aligned table for people, a list of objects for tools. Sensitive values are not shown.

use std::fmt::Write as _;

use yuba_value::{Value, View};

use crate::json_writer::{Members, list, primitive, text};

/// Shown instead of a sensitive value.
pub(crate) const SENSITIVE: &str = "(sensitive value)";

/// Whether a table begins with the titles of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Titles {
    /// It does.
    Shown,
    /// It does not.
    Omitted,
}

/// An aligned table, with a line for each row. Strings are shown as they are, except control characters, which are escaped. Null is an
/// empty cell, and collections are JSON.
pub fn render(columns: &[String], rows: &[Vec<Value>], titles: Titles) -> String {
    let titles = (titles == Titles::Shown).then(|| columns.iter().map(|title| escaped(title)).collect::<Vec<_>>());
    let cells: Vec<Vec<String>> =
        titles.into_iter().chain(rows.iter().map(|row| row.iter().map(cell).collect())).collect();
    let mut widths = vec![0; columns.len()];
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    for row in &cells {
        let start = out.len();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(out, "{cell:width$}  ");
        }
        out.truncate(start + out[start..].trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

/// A list of objects, one on each line, with the titles of the columns as names.
pub fn json(columns: &[String], rows: &[Vec<Value>]) -> String {
    let mut out = String::from("[");
    for (number, row) in rows.iter().enumerate() {
        out.push_str(if number == 0 { "\n" } else { ",\n" });
        let mut members = Members::open(&mut out);
        for (title, value) in columns.iter().zip(row) {
            shown(members.key(title), value);
        }
        members.close();
    }
    out.push_str(if rows.is_empty() { "]\n" } else { "\n]\n" });
    out
}

fn cell(value: &Value) -> String {
    if value.marks().has_sensitive() {
        return SENSITIVE.to_owned();
    }
    match value.view_ignoring_marks() {
        View::Null => String::new(),
        View::String(text) => escaped(text),
        _ => {
            let mut out = String::new();
            shown(&mut out, value);
            out
        }
    }
}

/// A string whose control characters are escaped: a cell is one line, and a terminal shows it as text.
fn escaped(text: &str) -> String {
    match text.contains(char::is_control) {
        true => {
            text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
        }
        false => text.to_owned(),
    }
}

/// A value as JSON. Sensitive parts are strings that say so.
pub(crate) fn shown(out: &mut String, value: &Value) {
    if value.marks().has_sensitive() {
        return text(out, SENSITIVE);
    }
    match value.view_ignoring_marks() {
        View::Unknown(_) => out.push_str("null"),
        View::List(items) | View::Set(items) | View::Tuple(items) => list(out, items, |out, item| {
            shown(out, item);
            true
        }),
        View::Map(items) => {
            let mut members = Members::open(out);
            for (name, item) in items {
                shown(members.key(name), item);
            }
            members.close();
        }
        View::Object(items) => {
            let mut members = Members::open(out);
            for (attr, item) in value.ty().attrs().unwrap_or_default().iter().zip(items) {
                shown(members.key(&attr.name), item);
            }
            members.close();
        }
        View::Null | View::Bool(_) | View::Number(_) | View::String(_) => primitive(out, value),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use yuba_value::{Mark, Type};

    use super::*;

    fn rows() -> (Vec<String>, Vec<Vec<Value>>) {
        let secret = Value::string("hunter2").mark(Mark::Sensitive);
        let object = Value::object(vec![("a".into(), Value::int(1)), ("b".into(), secret.clone())]);
        let rows = vec![
            vec![Value::string("aws_x.y"), Value::null(Type::string()), object],
            vec![Value::string("é\u{1b}[31m\n"), secret, Value::list(Type::bool(), vec![Value::bool(true)])],
        ];
        (["address", "id", "values.all"].map(str::to_owned).to_vec(), rows)
    }

    #[test]
    fn cells_are_aligned_and_on_one_line() {
        let (columns, rows) = rows();
        expect![[r#"
            address        id                 values.all
            aws_x.y                           {"a":1,"b":"(sensitive value)"}
            é\u{1b}[31m\n  (sensitive value)  [true]
        "#]]
        .assert_eq(&render(&columns, &rows, Titles::Shown));
        assert_eq!(render(&columns, &rows[..1], Titles::Omitted), "aws_x.y    {\"a\":1,\"b\":\"(sensitive value)\"}\n");
        assert_eq!(render(&columns, &[], Titles::Omitted), "");
    }

    #[test]
    fn programs_get_a_list_of_objects() {
        let (columns, rows) = rows();
        expect![[r#"
            [
            {"address":"aws_x.y","id":null,"values.all":{"a":1,"b":"(sensitive value)"}},
            {"address":"é\u001b[31m\n","id":"(sensitive value)","values.all":[true]}
            ]
        "#]]
        .assert_eq(&json(&columns, &rows));
        assert_eq!(json(&columns, &[]), "[]\n");
    }
}
