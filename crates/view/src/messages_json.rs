//! Messages on the way as lines of JSON, for commands that take a while.

use yuba_syntax::{Diagnostic, Severity};
use yuba_value::function::Signature;

use crate::diagnostic_json;
use crate::json::Json;
use crate::snippet::Excerpts;

/// The version of the messages.
pub const UI_VERSION: &str = "1.2";

/// How important a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Progress.
    Info,
    /// Something to look at.
    Warn,
    /// Something went wrong.
    Error,
}

/// One message, with a line end. `timestamp` is in RFC 3339; `members` are sorted by name.
pub fn line(level: Level, message: &str, timestamp: &str, members: Vec<(&str, Json)>) -> String {
    let level = match level {
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    };
    let mut all = vec![
        ("@level", Json::from(level)),
        ("@message", Json::from(message)),
        // Programs that read these messages look for this name.
        ("@module", Json::from("tofu.ui")),
        ("@timestamp", Json::from(timestamp)),
    ];
    all.extend(members);
    format!("{}\n", Json::object(all).compact_plain())
}

/// The first message: who speaks.
pub fn version(name: &str, language_level: &str, timestamp: &str) -> String {
    let members =
        vec![("tofu", Json::from(language_level)), ("type", Json::from("version")), ("ui", Json::from(UI_VERSION))];
    line(Level::Info, name, timestamp, members)
}

/// A diagnostic. `signature` finds the signature of a function by the name it was called by.
pub fn diagnostic(
    diagnostic: &Diagnostic,
    excerpts: &Excerpts<'_>,
    signature: &dyn Fn(&str) -> Option<Signature>,
    timestamp: &str,
) -> String {
    let (level, title) = match diagnostic.severity {
        Severity::Error => (Level::Error, "Error"),
        Severity::Warning => (Level::Warn, "Warning"),
    };
    let rendered = diagnostic_json::render(diagnostic, excerpts, signature);
    let members = vec![("diagnostic", rendered), ("type", Json::from("diagnostic"))];
    line(level, &format!("{title}: {}", diagnostic.summary), timestamp, members)
}

#[cfg(test)]
mod tests {
    use yuba_syntax::Sources;

    use super::*;

    #[test]
    fn lines_as_opentofu_writes_them() {
        let time = "2026-01-02T03:04:05.000006Z";
        let head = r#"{"@level":"info","@message":"#;
        let tail = r#""@module":"tofu.ui","@timestamp":"2026-01-02T03:04:05.000006Z""#;
        assert_eq!(line(Level::Info, "a <b>", time, Vec::new()), format!("{head}\"a <b>\",{tail}}}\n"));
        assert_eq!(
            version("Yuba", "1.12.6", time),
            format!("{head}\"Yuba\",{tail},\"tofu\":\"1.12.6\",\"type\":\"version\",\"ui\":\"1.2\"}}\n")
        );
        let sources = Sources::new();
        let shown = diagnostic(
            &crate::testing::diagnostic(Severity::Warning, "W", "w"),
            &Excerpts::new(&sources),
            &|_| None,
            time,
        );
        let object =
            r#""diagnostic":{"severity":"warning","summary":"W","detail":"w","code":"test"},"type":"diagnostic""#;
        assert_eq!(shown, format!("{{\"@level\":\"warn\",\"@message\":\"Warning: W\",{tail},{object}}}\n"));
    }
}
