//! Messages on the way as lines of JSON, for commands that take a while.

use yuba_syntax::{Diagnostic, Severity};
use yuba_value::function::Signature;

use crate::diagnostic_json;
use crate::json::JsonValue;
use crate::snippet::Excerpts;

/// The version of the messages.
pub const UI_VERSION: &str = "1.2";

/// Severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageLevel {
    /// Progress.
    Info,
    /// Something to look at.
    Warn,
    /// The operation failed.
    Error,
}

/// One message, with a line end. `timestamp` is in RFC 3339; `members` are sorted by name.
pub fn line(level: MessageLevel, message: &str, timestamp: &str, members: Vec<(&str, JsonValue)>) -> String {
    let level = match level {
        MessageLevel::Info => "info",
        MessageLevel::Warn => "warn",
        MessageLevel::Error => "error",
    };
    let mut all = vec![
        ("@level", JsonValue::from(level)),
        ("@message", JsonValue::from(message)),
        // Tools that read these messages look for this name.
        ("@module", JsonValue::from("tofu.ui")),
        ("@timestamp", JsonValue::from(timestamp)),
    ];
    all.extend(members);
    format!("{}\n", JsonValue::object(all).compact_plain())
}

/// The first message: who speaks.
pub fn version(name: &str, language_level: &str, timestamp: &str) -> String {
    let members = vec![
        ("tofu", JsonValue::from(language_level)),
        ("type", JsonValue::from("version")),
        ("ui", JsonValue::from(UI_VERSION)),
    ];
    line(MessageLevel::Info, name, timestamp, members)
}

/// A diagnostic. `signature` finds the signature of a function by the name it was called by.
pub fn diagnostic(
    diagnostic: &Diagnostic,
    excerpts: &Excerpts<'_>,
    signature: &dyn Fn(&str) -> Option<Signature>,
    timestamp: &str,
) -> String {
    let (level, title) = match diagnostic.severity {
        Severity::Error => (MessageLevel::Error, "Error"),
        Severity::Warning => (MessageLevel::Warn, "Warning"),
    };
    let rendered = diagnostic_json::render(diagnostic, excerpts, signature);
    let members = vec![("diagnostic", rendered), ("type", JsonValue::from("diagnostic"))];
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
        assert_eq!(line(MessageLevel::Info, "a <b>", time, Vec::new()), format!("{head}\"a <b>\",{tail}}}\n"));
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
