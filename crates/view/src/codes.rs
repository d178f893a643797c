//! The codes of all diagnostics at run time, read from the page that lists them.
//!
//! The page is generated from the catalogues, and `cargo xtask tidy` compares both. So a code needs no registration beside its
//! row, and the binary reads the list only where a command asks for it.

use std::borrow::Cow;
use std::fmt::Write as _;

use yuba_syntax::suggestion::closest;

use crate::json::JsonValue;
use crate::plan::Look;
use crate::wrap::wrap;

/// The page with a row for each code.
const PAGE: &str = include_str!("../../../docs/diagnostics.md");
/// Name of the page in the documentation.
const PAGE_NAME: &str = "docs/diagnostics.md";
/// Maximum number of similar codes in a suggestion.
const SIMILAR: usize = 5;

/// Minimum length of the fixed part of a title that can be searched.
const FIXED: usize = 5;

/// Pages about a topic, by a part of a code between hyphens. The first match counts.
const TOPICS: &[(&str, &str)] = &[
    ("symbol", "docs/symbol-libraries.md"),
    ("symbols", "docs/symbol-libraries.md"),
    ("library", "docs/symbol-libraries.md"),
    ("enabled", "docs/enabled.md"),
    ("deprecated", "docs/deprecation.md"),
    ("deprecation", "docs/deprecation.md"),
    ("encryption", "docs/encryption.md"),
    ("feature", "docs/opt-in-features.md"),
    ("static", "docs/static-evaluation.md"),
    ("provisioner", "docs/provisioners.md"),
    ("connection", "docs/provisioners.md"),
    ("journal", "docs/journal.md"),
    ("graph", "docs/graph.md"),
    ("test", "docs/test.md"),
    ("run", "docs/test.md"),
    ("mock", "docs/test.md"),
    ("login", "docs/cli.md"),
    ("flag", "docs/cli.md"),
    ("flags", "docs/cli.md"),
    ("backend", "docs/backends.md"),
    ("workspace", "docs/state.md"),
    ("workspaces", "docs/state.md"),
    ("lock", "docs/state.md"),
    ("state", "docs/state.md"),
    ("provider", "docs/providers.md"),
    ("providers", "docs/providers.md"),
    ("module", "docs/modules.md"),
    ("modules", "docs/modules.md"),
    ("function", "docs/functions.md"),
];

/// One code of the catalogues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRow {
    /// The code.
    pub id: &'static str,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The title. Parts in braces stand for values.
    pub title: Cow<'static, str>,
    /// One sentence about when the diagnostic occurs.
    pub meaning: Cow<'static, str>,
}

impl CodeRow {
    /// Pages of the documentation about it.
    pub fn pages(&self) -> Vec<&'static str> {
        let topic = TOPICS.iter().find(|(word, _)| self.id.split('-').any(|part| part == *word));
        topic.map(|(_, page)| *page).into_iter().chain([PAGE_NAME]).collect()
    }

    /// Whether a title that a user has read is the title of this code, with values in place of the parts in braces.
    fn has_title(&self, given: &str) -> bool {
        // A title that is nothing but a value could be anything.
        let fixed = self.title.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, fixed)| fixed).len());
        if fixed.sum::<usize>() < FIXED {
            return false;
        }
        let mut rest = given;
        let mut pieces = self.title.split('{').enumerate().peekable();
        while let Some((at, piece)) = pieces.next() {
            let fixed = if at == 0 { piece } else { piece.split_once('}').map_or("", |(_, fixed)| fixed) };
            let found = match (at, pieces.peek()) {
                (0, _) => strip_start(rest, fixed),
                // The last part: its beginning is a value of any length.
                (_, None) => (rest.len() >= fixed.len() && ends(rest, fixed)).then_some(""),
                _ => find(rest, fixed).and_then(|at| rest.get(at + fixed.len()..)),
            };
            let Some(after) = found else { return false };
            rest = after;
        }
        rest.is_empty()
    }
}

fn strip_start<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let head = text.get(..start.len())?;
    head.eq_ignore_ascii_case(start).then(|| &text[start.len()..])
}

fn ends(text: &str, end: &str) -> bool {
    text.len().checked_sub(end.len()).and_then(|at| text.get(at..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

fn find(text: &str, part: &str) -> Option<usize> {
    text.to_ascii_lowercase().find(&part.to_ascii_lowercase())
}

/// All codes, sorted.
pub fn all() -> impl Iterator<Item = CodeRow> {
    PAGE.lines().filter_map(row)
}

/// A row of the table: `| code | severity | title | meaning |`.
fn row(line: &'static str) -> Option<CodeRow> {
    let cells = line.strip_prefix("| `")?.strip_suffix(" |")?;
    let (id, rest) = cells.split_once("` | ")?;
    let (severity, rest) = rest.split_once(" | ")?;
    let (title, meaning) = rest.split_once(" | ")?;
    Some(CodeRow { id, severity, title: cell(title), meaning: cell(meaning) })
}

fn cell(text: &'static str) -> Cow<'static, str> {
    if text.contains("\\|") { text.replace("\\|", "|").into() } else { text.into() }
}

/// The codes that a user may mean: the one with this name, or all that have this title.
pub fn named(given: &str) -> Vec<CodeRow> {
    let given = given.trim();
    let given = ["Error: ", "Warning: "].iter().find_map(|prefix| given.strip_prefix(prefix)).unwrap_or(given);
    match all().find(|row| row.id.eq_ignore_ascii_case(given)) {
        Some(row) => vec![row],
        None => all().filter(|row| row.has_title(given)).collect(),
    }
}

/// Codes with a similar name: the closest one, then those that contain all words of the given one.
pub fn similar(given: &str) -> Vec<&'static str> {
    let given = given.trim().to_lowercase();
    let close = closest(&given, all().map(|row| row.id));
    let words: Vec<&str> = given.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2).collect();
    let has_all = |row: &CodeRow| {
        let text = format!("{} {}", row.id, row.title.to_lowercase());
        !words.is_empty() && words.iter().all(|word| text.contains(word))
    };
    let others = all().filter(has_all).map(|row| row.id).filter(|id| Some(*id) != close);
    close.into_iter().chain(others).take(SIMILAR).collect()
}

/// Codes for people.
pub fn text(rows: &[CodeRow], look: Look) -> String {
    let paint = look.paint();
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        let (word, colour) = match row.severity {
            "warning" => ("a warning", crate::paint::YELLOW),
            _ => ("an error", crate::paint::RED),
        };
        let _ = writeln!(out, "{gap}{} is {}", paint.bold(row.id), paint.bold_in(colour, word));
        let _ = writeln!(out, "  title: {}", row.title);
        let _ = writeln!(out, "  documentation: {}", row.pages().join(", "));
        let _ = writeln!(out, "\n{}", wrap(&row.meaning, look.width.saturating_sub(1)));
    }
    out
}

/// Codes for tools.
pub fn json(rows: &[CodeRow]) -> JsonValue {
    let codes = rows.iter().map(|row| {
        JsonValue::object([
            ("code", JsonValue::from(row.id)),
            ("severity", JsonValue::from(row.severity)),
            ("title", JsonValue::from(&*row.title)),
            ("meaning", JsonValue::from(&*row.meaning)),
            ("documentation", JsonValue::Array(row.pages().into_iter().map(JsonValue::from).collect())),
        ])
    });
    JsonValue::object([("format_version", JsonValue::from("1.0")), ("codes", JsonValue::Array(codes.collect()))])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_row_of_the_page_is_read() {
        let rows: Vec<CodeRow> = all().collect();
        assert_eq!(rows.len(), PAGE.lines().filter(|line| line.starts_with("| `")).count());
        assert!(rows.len() > 900, "{}", rows.len());
        assert!(rows.is_sorted_by(|a, b| a.id < b.id));
        assert!(rows.iter().all(|row| matches!(row.severity, "error" | "warning") && row.meaning.ends_with('.')));
    }

    #[test]
    fn pages_of_topics_exist() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        for (_, page) in TOPICS {
            assert!(std::path::Path::new(root).join(page).exists(), "{page}");
        }
    }

    #[test]
    fn a_code_is_found_by_its_name_and_by_its_title() {
        let ids = |given: &str| named(given).into_iter().map(|row| row.id).collect::<Vec<_>>();
        assert_eq!(ids("attribute-of-null"), ["attribute-of-null"]);
        assert_eq!(ids("Error: Attempt to get attribute from null value"), ["attribute-of-null"]);
        assert_eq!(ids("service discovery failed for Example.com"), ["login-discovery-failed"]);
        assert!(ids("Unexpected argument").len() > 1);
        assert!(ids("attribute").is_empty() && ids("").is_empty());
    }

    #[test]
    fn similar_names_are_suggested() {
        assert_eq!(similar("atribute-of-nul").first(), Some(&"attribute-of-null"));
        assert!(similar("provider instance").iter().all(|id| id.contains("provider")));
        assert_eq!(similar("provider").len(), SIMILAR);
        assert!(similar("zzzz").is_empty());
    }

    #[test]
    fn a_code_is_described() {
        let rows = named("enabled-not-boolean-or-whatever");
        assert!(rows.is_empty());
        let rows = named("attribute-of-null");
        expect![[r#"
            attribute-of-null is an error
              title: Attempt to get attribute from null value
              documentation: docs/diagnostics.md

            An attribute is read from null.
        "#]]
        .assert_eq(&text(&rows, Look::default()));
        expect![[r#"{"format_version":"1.0","codes":[{"code":"attribute-of-null","severity":"error","title":"Attempt to get attribute from null value","meaning":"An attribute is read from null.","documentation":["docs/diagnostics.md"]}]}"#]]
            .assert_eq(&json(&rows).compact());
    }
}
