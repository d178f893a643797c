//! Diagnostics as workflow commands of GitHub Actions, which become annotations of files in a pull request.

use yuba_syntax::{Diagnostics, Severity, Sources};

use super::RepositoryPath;
use crate::snippet::Excerpts;

/// A line for each diagnostic.
pub fn render(diagnostics: &Diagnostics, sources: &Sources, repository: &RepositoryPath) -> String {
    let excerpts = Excerpts::new(sources);
    let mut out = String::new();
    for diagnostic in diagnostics.iter() {
        let command = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut properties = Vec::new();
        if let Some(range) = excerpts.location(diagnostic) {
            properties.push(("file", repository.of(&range.filename)));
            properties.push(("line", range.start.line.to_string()));
            properties.push(("endLine", range.end.line.to_string()));
            // Columns of a range of several lines are not supported.
            if range.start.line == range.end.line {
                properties.push(("col", range.start.column.to_string()));
                properties.push(("endColumn", range.end.column.to_string()));
            }
        }
        properties.push(("title", diagnostic.summary.to_string()));
        let detail = excerpts.detail(diagnostic);
        let message = if detail.is_empty() { diagnostic.summary.clone() } else { detail };
        out.push_str(&command_line(command, &properties, &message));
    }
    out
}

/// An error about a file that is not in the canonical style. `line` is the first line that differs.
pub fn not_canonical(file: &str, line: usize, repository: &RepositoryPath) -> String {
    let properties = [
        ("file", repository.of(file)),
        ("line", line.to_string()),
        ("title", "File is not in the canonical style".to_owned()),
    ];
    command_line("error", &properties, &format!("Run yuba fmt to reformat {file}."))
}

fn command_line(command: &str, properties: &[(&str, String)], message: &str) -> String {
    let properties: Vec<String> = (properties.iter())
        .map(|(name, value)| format!("{name}={}", escaped(value).replace(':', "%3A").replace(',', "%2C")))
        .collect();
    format!("::{command} {}::{}\n", properties.join(","), escaped(message))
}

/// Escapes of the toolkit of GitHub Actions.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}
