//! Lines of a log: as text in the format of hclog, which OpenTofu uses, or as JSON.

use serde_json::{Map, Value as Json};
use tracing::Level;

/// One entry of a log.
pub(super) struct Line<'a> {
    pub(super) level: Level,
    /// Name of the logger: `provider.terraform-provider-time_v0.14.2`.
    pub(super) module: &'a str,
    pub(super) message: &'a str,
    pub(super) fields: &'a [(&'a str, &'a Json)],
}

impl Line<'_> {
    /// `2006-01-02T15:04:05.000Z [DEBUG] module: message: key=value`. `now` has microseconds.
    pub(super) fn text(&self, now: &str) -> String {
        let milliseconds = now.get(..23).unwrap_or(now);
        let mut text = format!("{milliseconds}Z {} ", bracket(self.level));
        text += self.module;
        if !self.module.is_empty() && !self.message.is_empty() {
            text += ": ";
        }
        text += self.message;
        if !self.fields.is_empty() {
            text.push(':');
        }
        for (name, value) in self.fields {
            push_field(&mut text, name, value);
        }
        text.push('\n');
        text
    }

    /// An object with `@level`, `@message`, `@module`, `@timestamp` and the fields.
    pub(super) fn json(&self, now: &str) -> String {
        let mut members = Map::new();
        members.insert("@level".into(), self.level.as_str().to_lowercase().into());
        members.insert("@message".into(), self.message.into());
        if !self.module.is_empty() {
            members.insert("@module".into(), self.module.into());
        }
        members.insert("@timestamp".into(), now.into());
        members.extend(self.fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())));
        format!("{}\n", Json::Object(members))
    }
}

/// The level with its brackets, all equally wide.
fn bracket(level: Level) -> &'static str {
    match level {
        Level::TRACE => "[TRACE]",
        Level::DEBUG => "[DEBUG]",
        Level::INFO => "[INFO] ",
        Level::WARN => "[WARN] ",
        Level::ERROR => "[ERROR]",
    }
}

fn push_field(text: &mut String, name: &str, value: &Json) {
    let (value, is_string) = match value {
        Json::String(value) => (value.clone(), true),
        other => (other.to_string(), false),
    };
    if value.contains('\n') {
        text.push_str(&format!("\n  {name}=\n"));
        for line in value.lines() {
            text.push_str("  | ");
            push_escaped(text, line, Quotes::Kept);
            text.push('\n');
        }
        text.push_str("  ");
        return;
    }
    text.push_str(&format!(" {name}="));
    let is_plain = |c: char| matches!(c, '-'..='~');
    if is_string && (value.is_empty() || !value.chars().all(is_plain)) {
        text.push('"');
        push_escaped(text, &value, Quotes::Escaped);
        text.push('"');
    } else {
        text.push_str(&value);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Escaped,
    Kept,
}

/// Text without control characters, with Go's escapes.
fn push_escaped(text: &mut String, value: &str, quotes: Quotes) {
    for c in value.chars() {
        match c {
            '"' if quotes == Quotes::Escaped => text.push_str("\\\""),
            '\x07' => text.push_str("\\a"),
            '\x08' => text.push_str("\\b"),
            '\x0c' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\x0b' => text.push_str("\\v"),
            c if c < ' ' => text.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-01-02T03:04:05.678901Z";

    fn line<'a>(level: Level, module: &'a str, message: &'a str, fields: &'a [(&'a str, &'a Json)]) -> Line<'a> {
        Line { level, module, message, fields }
    }

    /// Compared with lines of OpenTofu 1.12.6 and of the logging library behind it.
    #[test]
    fn text_lines_are_those_of_hclog() {
        let values =
            [json!("a b"), json!("plain"), json!(""), json!(7), json!(true), json!("\u{1b}[0m \"q\""), json!("x\ny\n")];
        let fields: Vec<(&str, &Json)> = ["a", "b", "c", "d", "e", "f", "g"].into_iter().zip(&values).collect();
        let lines = [
            line(Level::INFO, "", "OpenTofu version: 1.12.6", &[]).text(NOW),
            line(Level::WARN, "provider.x", "", &[]).text(NOW),
            line(Level::DEBUG, "provider.x", "message", &fields).text(NOW),
        ];
        expect![[r#"
            2026-01-02T03:04:05.678Z [INFO]  OpenTofu version: 1.12.6
            2026-01-02T03:04:05.678Z [WARN]  provider.x
            2026-01-02T03:04:05.678Z [DEBUG] provider.x: message: a="a b" b=plain c="" d=7 e=true f="\x1b[0m \"q\""
              g=
              | x
              | y
              
        "#]]
        .assert_eq(&lines.concat());
    }

    #[test]
    fn json_lines_have_the_keys_of_hclog() {
        let value = json!(["x"]);
        let fields = [("n", &value)];
        let lines = [
            line(Level::TRACE, "", "Stdout is not a terminal", &[]).json(NOW),
            line(Level::ERROR, "provider.x", "message", &fields).json(NOW),
        ];
        expect![[r#"
            {"@level":"trace","@message":"Stdout is not a terminal","@timestamp":"2026-01-02T03:04:05.678901Z"}
            {"@level":"error","@message":"message","@module":"provider.x","@timestamp":"2026-01-02T03:04:05.678901Z","n":["x"]}
        "#]]
        .assert_eq(&lines.concat());
    }
}
