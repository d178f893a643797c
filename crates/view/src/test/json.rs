//! Results of tests as lines of JSON.

use yuba_syntax::Diagnostic;
use yuba_value::function::Signature;

use super::{Interrupted, RunCounts, TestResult};
use crate::diagnostic_json;
use crate::json::JsonValue;
use crate::snippet::Excerpts;

/// Subject of a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The file.
    pub file: Option<&'a str>,
    /// The run.
    pub run: Option<&'a str>,
    /// When, in RFC 3339.
    pub timestamp: &'a str,
}

fn line(level: &str, message: &str, about: About<'_>, members: Vec<(&str, JsonValue)>) -> String {
    let mut all = vec![
        ("@level", JsonValue::from(level)),
        ("@message", JsonValue::from(message)),
        // Tools that read these messages look for this name.
        ("@module", JsonValue::from("tofu.ui")),
    ];
    all.extend(about.file.map(|file| ("@testfile", JsonValue::from(file))));
    all.extend(about.run.map(|run| ("@testrun", JsonValue::from(run))));
    all.push(("@timestamp", JsonValue::from(about.timestamp)));
    all.extend(members);
    format!("{}\n", JsonValue::object(all).compact_plain())
}

/// Files to test and the names of their runs.
pub fn abstract_of(files: &[(String, Vec<String>)], about: About<'_>) -> String {
    let runs: usize = files.iter().map(|(_, runs)| runs.len()).sum();
    let noun = |count: usize, one: &str| if count == 1 { one.to_owned() } else { format!("{one}s") };
    let message = format!("Found {} {} and {runs} {}", files.len(), noun(files.len(), "file"), noun(runs, "run block"));
    let listed = files.iter().map(|(name, runs)| {
        // Quirk: no runs at all is null.
        let runs = match runs.is_empty() {
            true => JsonValue::Null,
            false => JsonValue::Array(runs.iter().map(|run| JsonValue::from(run.as_str())).collect()),
        };
        (name.clone(), runs)
    });
    let members =
        vec![("test_abstract", JsonValue::Object(listed.collect())), ("type", JsonValue::from("test_abstract"))];
    line("info", &message, about, members)
}

/// Result of a file.
pub fn file(name: &str, status: TestResult, about: About<'_>) -> String {
    let about = About { file: Some(name), ..about };
    let ended = JsonValue::object([("path", JsonValue::from(name)), ("status", JsonValue::from(status.name()))]);
    let members = vec![("test_file", ended), ("type", JsonValue::from("test_file"))];
    line("info", &format!("{name}... {}", status.word()), about, members)
}

/// Result of a run.
pub fn run(file: &str, name: &str, status: TestResult, about: About<'_>) -> String {
    let about = About { file: Some(file), run: Some(name), ..about };
    let ended = JsonValue::object([
        ("path", JsonValue::from(file)),
        ("run", JsonValue::from(name)),
        ("status", JsonValue::from(status.name())),
    ]);
    let members = vec![("test_run", ended), ("type", JsonValue::from("test_run"))];
    line("info", &format!("  {name:?}... {}", status.word()), about, members)
}

/// The state after a run: a JSON document.
pub fn state(document: String, about: About<'_>) -> String {
    let members = vec![("test_state", JsonValue::Raw(document)), ("type", JsonValue::from("test_state"))];
    line("info", "-verbose flag enabled, printing state", about, members)
}

/// The plan of a run: a JSON document.
pub fn plan(document: String, about: About<'_>) -> String {
    let members = vec![("test_plan", JsonValue::Raw(document)), ("type", JsonValue::from("test_plan"))];
    line("info", "-verbose flag enabled, printing plan", about, members)
}

/// A diagnostic. `signature` finds the signature of a function by the name it was called by.
pub fn diagnostic(
    diagnostic: &Diagnostic,
    excerpts: &Excerpts<'_>,
    signature: &dyn Fn(&str) -> Option<Signature>,
    about: About<'_>,
) -> String {
    let (level, title) = if diagnostic.is_error() { ("error", "Error") } else { ("warn", "Warning") };
    let rendered = diagnostic_json::render(diagnostic, excerpts, signature);
    let members = vec![("diagnostic", rendered), ("type", JsonValue::from("diagnostic"))];
    line(level, &format!("{title}: {}", diagnostic.summary), about, members)
}

/// An object: its address and the key of a deposed one.
pub type ObjectAddress = (String, Option<String>);

fn objects(all: &[ObjectAddress]) -> JsonValue {
    let one = |(address, deposed): &ObjectAddress| {
        let mut members = vec![("instance", JsonValue::from(address.as_str()))];
        members.extend(deposed.as_ref().map(|key| ("deposed_key", JsonValue::from(key.as_str()))));
        JsonValue::object(members)
    };
    JsonValue::Array(all.iter().map(one).collect())
}

/// Objects that still exist after a run.
pub fn cleanup(left: &[ObjectAddress], saved: Option<&str>, about: About<'_>) -> String {
    let run = match (about.file, about.run) {
        (Some(file), Some(run)) => format!("{file}/{run}"),
        (file, _) => file.unwrap_or_default().to_owned(),
    };
    let file_note = saved.map(|path| format!("; their state is in the file {path}")).unwrap_or_default();
    let message = format!("{run} created objects that still exist{file_note}. Remove them manually.");
    let members = vec![
        ("test_cleanup", JsonValue::object([("failed_resources", objects(left))])),
        ("type", JsonValue::from("test_cleanup")),
    ];
    line("error", &message, about, members)
}

/// A state was written to a file.
pub fn saved(path: &str, about: About<'_>) -> String {
    line("info", &format!("Writing state to file: {path}"), About { file: None, run: None, ..about }, Vec::new())
}

/// Existing objects of a file that was stopped at once; empty without objects.
pub fn interrupted(what: &Interrupted, about: About<'_>) -> String {
    let plain = |all: &[String]| objects(&all.iter().map(|address| (address.clone(), None)).collect::<Vec<_>>());
    let mut members = Vec::new();
    if !what.state.is_empty() {
        members.push(("state", plain(&what.state)));
    }
    if !what.states.is_empty() {
        let states = what.states.iter().map(|(run, _, objects)| (run.clone(), plain(objects))).collect();
        members.push(("states", JsonValue::Object(states)));
    }
    if let Some((_, _, planned)) = what.creating.as_ref().filter(|(_, _, planned)| !planned.is_empty()) {
        let planned = planned.iter().map(|address| JsonValue::from(address.as_str())).collect();
        members.push(("planned", JsonValue::Array(planned)));
    }
    if members.is_empty() {
        return String::new();
    }
    let message = "The tests were interrupted before all objects were destroyed.";
    let members = vec![("test_interrupt", JsonValue::object(members)), ("type", JsonValue::from("test_interrupt"))];
    line("error", message, about, members)
}

/// Result of all tests.
pub fn summary(status: TestResult, counts: RunCounts, about: About<'_>) -> String {
    let count = |count: usize| JsonValue::Int(i64::try_from(count).unwrap_or(i64::MAX));
    let ended = JsonValue::object([
        ("status", JsonValue::from(status.name())),
        ("passed", count(counts.passed)),
        ("failed", count(counts.failed)),
        ("errored", count(counts.errored)),
        ("skipped", count(counts.skipped)),
    ]);
    let members = vec![("test_summary", ended), ("type", JsonValue::from("test_summary"))];
    line("info", &counts.sentence(status, str::to_owned), about, members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_opentofu_writes_them() {
        let about = About { timestamp: "T", ..About::default() };
        let files = [("a".to_owned(), vec!["x".to_owned()]), ("b".to_owned(), Vec::new())];
        assert_eq!(
            abstract_of(&files, about),
            r#"{"@level":"info","@message":"Found 2 files and 1 run block","@module":"tofu.ui","@timestamp":"T","#
                .to_owned()
                + r#""test_abstract":{"a":["x"],"b":null},"type":"test_abstract"}"#
                + "\n"
        );
        assert_eq!(
            run("a", "x", TestResult::Error, about),
            r#"{"@level":"info","@message":"  \"x\"... fail","@module":"tofu.ui","@testfile":"a","@testrun":"x","#
                .to_owned()
                + r#""@timestamp":"T","test_run":{"path":"a","run":"x","status":"error"},"type":"test_run"}"#
                + "\n"
        );
        assert_eq!(interrupted(&Interrupted::default(), about), "");
    }
}
