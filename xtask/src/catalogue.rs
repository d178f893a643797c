//! The catalogues of diagnostics: reads their rows from the sources, checks them, and writes `docs/diagnostics.md`.
//!
//! Rows are read as text, so that this check builds without the crates. `yuba_syntax::catalogue!` documents their form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::tidy::root;

/// The page that lists all codes, relative to the root of the repository.
const PAGE: &str = "docs/diagnostics.md";

/// One row of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Name of the static in the sources.
    name: String,
    /// `error` or `warning`.
    severity: String,
    /// The code.
    id: String,
    /// The title.
    summary: String,
    /// Description of its cause.
    meaning: String,
    /// File and line of the row.
    at: String,
}

/// Whether a file is a catalogue: the only kind of file that may build diagnostics.
pub(crate) fn is_catalogue(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let (file, directory) = (parts.next(), parts.next());
    file == Some("diagnostics.rs") || directory == Some("diagnostics") || path == "crates/syntax/src/diagnostic.rs"
}

/// Checks the rows of all source files and that the page lists them.
pub(crate) fn check(files: &[(String, String)], breaches: &mut Vec<String>) {
    let rows = rows(files, breaches);
    check_rows(&rows, breaches);
    check_uses(&rows, files, breaches);
    let page = fs::read_to_string(root().join(PAGE)).unwrap_or_default();
    if page != render(&rows) {
        breaches.push(format!("{PAGE}: does not match the catalogues, run `cargo xtask diagnostics`"));
    }
}

/// Writes the page.
pub(crate) fn write() -> Result<String, String> {
    let mut breaches = Vec::new();
    let rows = rows(&crate::tidy::sources(), &mut breaches);
    check_rows(&rows, &mut breaches);
    if !breaches.is_empty() {
        return Err(breaches.join("\n"));
    }
    fs::write(root().join(PAGE), render(&rows)).map_err(|error| format!("{PAGE}: {error}"))?;
    Ok(format!("{PAGE}: {} codes", rows.len()))
}

fn rows(files: &[(String, String)], breaches: &mut Vec<String>) -> Vec<Row> {
    let shipped = files.iter().filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/"));
    shipped.flat_map(|(path, text)| rows_of(path, text, breaches)).collect()
}

/// The rows of one file. A row that is not in the documented form is a breach.
fn rows_of(path: &str, text: &str, breaches: &mut Vec<String>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut inside = false;
    let (mut meaning, mut row) = (String::new(), String::new());
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.ends_with("catalogue! {") && !line.starts_with("//") && !line.contains("macro_rules!") {
            inside = true;
            continue;
        }
        if !inside {
            continue;
        }
        if line == "}" && row.is_empty() {
            inside = false;
        } else if let Some(sentence) = line.strip_prefix("///") {
            meaning.push_str(sentence);
        } else {
            row.push_str(line);
            if row.ends_with(';') {
                let at = format!("{path}:{}", index + 1);
                match parse(&row, meaning.trim(), &at) {
                    Some(row) => rows.push(row),
                    None => breaches.push(format!("{at}: a row of a catalogue in an unknown form")),
                }
                meaning.clear();
                row.clear();
            } else if !row.is_empty() {
                row.push(' ');
            }
        }
    }
    rows
}

/// `[pub] NAME = severity "id", "summary";`
fn parse(row: &str, meaning: &str, at: &str) -> Option<Row> {
    let (name, rest) = row.strip_prefix("pub ").unwrap_or(row).split_once(" = ")?;
    let (severity, rest) = rest.split_once(' ')?;
    let (id, rest) = rest.trim().strip_prefix('"')?.split_once("\",")?;
    let summary = rest.trim().strip_prefix('"')?.strip_suffix("\";")?.replace("\\\"", "\"").replace("\\\\", "\\");
    Some(Row {
        name: name.to_owned(),
        severity: severity.to_owned(),
        id: id.to_owned(),
        summary,
        meaning: meaning.to_owned(),
        at: at.to_owned(),
    })
}

fn check_rows(rows: &[Row], breaches: &mut Vec<String>) {
    let mut seen: BTreeMap<&str, &Row> = BTreeMap::new();
    for row in rows {
        let Row { name, id, meaning, at, .. } = row;
        if *id != name.to_lowercase().replace('_', "-") {
            breaches.push(format!("{at}: the code `{id}` is not the name {name} in kebab case"));
        }
        if !meaning.ends_with('.') {
            breaches.push(format!("{at}: the meaning of `{id}` is not a sentence"));
        }
        if !is_catalogue(at.split(':').next().unwrap_or_default()) {
            breaches.push(format!("{at}: a catalogue in a file that is not called diagnostics"));
        }
        if let Some(first) = seen.insert(id, row) {
            breaches.push(format!("{at}: the code `{id}` is declared at {} already", first.at));
        }
    }
}

/// A row that no constructor uses is left over.
fn check_uses(rows: &[Row], files: &[(String, String)], breaches: &mut Vec<String>) {
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, text) in files {
        let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        for word in text.split(|c: char| !is_part(c)).filter(|word| word.len() > 3) {
            *words.entry(word).or_default() += 1;
        }
    }
    for row in rows.iter().filter(|row| words.get(row.name.as_str()).is_none_or(|count| *count < 2)) {
        breaches.push(format!("{}: no constructor uses the code `{}`", row.at, row.id));
    }
}

fn render(rows: &[Row]) -> String {
    let mut page = String::from(
        "# Diagnostics\n\nEvery error and warning has a code that does not change between versions. JSON output carries it as `code`. \
         Match codes in scripts, not titles or details.\nParts of a title in braces stand for values.\n\nThis page is generated from the \
         catalogues in the sources by `cargo xtask diagnostics`.\n\n| code | severity | title | when it occurs |\n|---|---|---|---|\n",
    );
    let sorted: BTreeMap<&str, &Row> = rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    for (id, row) in sorted {
        let _ = writeln!(page, "| `{id}` | {} | {} | {} |", row.severity, cell(&row.summary), cell(&row.meaning));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::{check_rows, parse, rows_of};

    const FILE: &str = r#"
yuba_syntax::catalogue! {
    /// A file is missing.
    FILE_MISSING = error "file-missing", "File not found";
    /// Something
    /// is odd.
    pub ODD_THING = warning "odd-thing",
        "Odd \"thing\"";
}
"#;

    #[test]
    fn rows_are_read() {
        let mut breaches = Vec::new();
        let rows = rows_of("crates/x/src/diagnostics.rs", FILE, &mut breaches);
        let short: Vec<_> = rows.iter().map(|row| (&*row.id, &*row.summary, &*row.meaning)).collect();
        assert_eq!(
            short,
            [
                ("file-missing", "File not found", "A file is missing."),
                ("odd-thing", "Odd \"thing\"", "Something is odd.")
            ]
        );
        check_rows(&rows, &mut breaches);
        assert!(breaches.is_empty(), "{breaches:?}");
    }

    #[test]
    fn rows_without_use_are_found() {
        let row = |name: &str| {
            parse(&format!("{name} = error \"x\", \"T\";"), "S.", "a:1").expect("because it is in the form")
        };
        let files = [("a".to_owned(), "USED_ROW = 1; new(&USED_ROW); LEFT_OVER = 2;".to_owned())];
        let mut breaches = Vec::new();
        super::check_uses(&[row("USED_ROW"), row("LEFT_OVER")], &files, &mut breaches);
        assert_eq!(breaches, ["a:1: no constructor uses the code `x`"]);
    }

    #[test]
    fn wrong_rows_are_found() {
        let mut breaches = Vec::new();
        let row = parse("A_B = error \"a-c\", \"T\";", "No sentence", "crates/x/src/lib.rs:1")
            .expect("because it is in the form");
        check_rows(&[row.clone(), row], &mut breaches);
        let wanted = ["not the name A_B", "not a sentence", "not called diagnostics", "declared at"];
        assert!(wanted.iter().all(|part| breaches.iter().any(|breach| breach.contains(part))), "{breaches:?}");
        assert!(parse("A_B = error a-b;", "", "").is_none());
    }
}
