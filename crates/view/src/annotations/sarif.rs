//! Diagnostics as a SARIF 2.1.0 document, for code scanning.

use std::collections::BTreeMap;

use yuba_syntax::{Code, Diagnostic, Diagnostics, Severity, SourceFile, Sources};

use super::RepositoryPath;
use crate::json::JsonValue;
use crate::snippet::Excerpts;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Base of relative addresses: the root of the repository.
const ROOT: &str = "%SRCROOT%";

/// The document, with the codes of the diagnostics as rules.
pub fn render(diagnostics: &Diagnostics, sources: &Sources, repository: &RepositoryPath) -> JsonValue {
    let codes: BTreeMap<&str, &'static Code> = diagnostics.iter().map(|one| (one.code.id, one.code)).collect();
    let rules: Vec<JsonValue> = codes.values().map(|code| rule(code)).collect();
    let excerpts = Excerpts::new(sources);
    let result = |diagnostic: &Diagnostic| {
        let index = codes.keys().position(|id| *id == diagnostic.code.id).unwrap_or_default();
        let detail = excerpts.detail(diagnostic);
        let text = if detail.is_empty() {
            diagnostic.summary.to_string()
        } else {
            format!("{}: {detail}", diagnostic.summary)
        };
        let mut members = vec![
            ("ruleId", JsonValue::from(diagnostic.code.id)),
            ("ruleIndex", JsonValue::from(index)),
            ("level", JsonValue::from(level(diagnostic.severity))),
            ("message", JsonValue::object([("text", JsonValue::String(text))])),
        ];
        if let Some(location) = location(diagnostic, sources, repository) {
            members.push(("locations", JsonValue::Array(vec![location])));
        }
        JsonValue::object(members)
    };
    let driver = JsonValue::object([
        ("name", JsonValue::from("Yuba")),
        ("version", JsonValue::from(env!("CARGO_PKG_VERSION"))),
        ("rules", JsonValue::Array(rules)),
    ]);
    let run = JsonValue::object([
        ("tool", JsonValue::object([("driver", driver)])),
        ("columnKind", JsonValue::from("unicodeCodePoints")),
        ("results", JsonValue::Array(diagnostics.iter().map(result).collect())),
    ]);
    JsonValue::object([
        ("$schema", JsonValue::from(SCHEMA)),
        ("version", JsonValue::from("2.1.0")),
        ("runs", JsonValue::Array(vec![run])),
    ])
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn rule(code: &Code) -> JsonValue {
    let text = |text: &str| JsonValue::object([("text", JsonValue::from(text))]);
    // Titles of rules have no parts that stand for values.
    let is_general = |title: &str| !title.is_empty() && !title.contains('{');
    let title = if is_general(code.summary) { code.summary } else { code.id };
    let mut members = vec![("id", JsonValue::from(code.id)), ("shortDescription", text(title))];
    if !code.meaning.is_empty() {
        members.push(("fullDescription", text(code.meaning)));
    }
    members.push(("defaultConfiguration", JsonValue::object([("level", JsonValue::from(level(code.severity)))])));
    JsonValue::object(members)
}

fn location(diagnostic: &Diagnostic, sources: &Sources, repository: &RepositoryPath) -> Option<JsonValue> {
    let subject = diagnostic.subject?;
    let file = sources.get(subject.file)?;
    let (start, end) = (subject.start as usize, subject.end.max(subject.start) as usize);
    let (start, end) = (start.min(file.bytes.len()), end.min(file.bytes.len()));
    let path = repository.of(&file.name);
    let artifact = match path.starts_with('/') {
        true => vec![("uri", JsonValue::String(format!("file://{}", uri(&path))))],
        false => vec![("uri", JsonValue::String(uri(&path))), ("uriBaseId", JsonValue::from(ROOT))],
    };
    let artifact = JsonValue::object(artifact);
    let region = JsonValue::object([
        ("startLine", JsonValue::from(file.line_at(start))),
        ("startColumn", JsonValue::from(column(file, start))),
        ("endLine", JsonValue::from(file.line_at(end))),
        ("endColumn", JsonValue::from(column(file, end))),
        ("byteOffset", JsonValue::from(start)),
        ("byteLength", JsonValue::from(end - start)),
    ]);
    let physical = JsonValue::object([("artifactLocation", artifact), ("region", region)]);
    Some(JsonValue::object([("physicalLocation", physical)]))
}

/// Column of a byte offset in characters, from 1.
fn column(file: &SourceFile, offset: usize) -> usize {
    let line = file.line_range(file.line_at(offset));
    file.text(line.start.min(offset), offset).chars().count() + 1
}

/// A relative reference to a file: other characters than those of paths are percent-encoded.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
