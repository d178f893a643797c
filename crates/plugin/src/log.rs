//! Logs of providers: lines of JSON or of text on their standard error, with a level.

use std::fmt;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use serde_json::Value as Json;

/// Levels, the least important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Every step.
    Trace,
    /// For debugging.
    Debug,
    /// Events.
    Info,
    /// Possible problems.
    Warn,
    /// Errors.
    Error,
}

impl LogLevel {
    /// By its name, in any case.
    pub fn parse(name: &str) -> Option<LogLevel> {
        [LogLevel::Trace, LogLevel::Debug, LogLevel::Info, LogLevel::Warn, LogLevel::Error]
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(name))
    }
    /// Its name: `DEBUG`.
    pub fn name(self) -> &'static str {
        match self {
            LogLevel::Trace => "TRACE",
            LogLevel::Debug => "DEBUG",
            LogLevel::Info => "INFO",
            LogLevel::Warn => "WARN",
            LogLevel::Error => "ERROR",
        }
    }
}

/// A log record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its level.
    pub level: LogLevel,
    /// Its source: `provider.terraform-provider-time_v0.14.2`.
    pub logger: EcoString,
    /// Its message.
    pub message: EcoString,
    /// More about it.
    pub fields: Vec<(EcoString, Json)>,
}

/// Target of logs.
#[derive(Clone)]
pub struct LogSink {
    level: Option<LogLevel>,
    write: Arc<dyn Fn(&Record) + Send + Sync>,
}

impl LogSink {
    /// Nowhere.
    pub fn off() -> LogSink {
        LogSink { level: None, write: Arc::new(|_| {}) }
    }
    /// To a function, if it is of a level or above.
    pub fn new(level: LogLevel, write: impl Fn(&Record) + Send + Sync + 'static) -> LogSink {
        LogSink { level: Some(level), write: Arc::new(write) }
    }

    /// Environment variables that limit the log of a provider of a type. Those made with the common libraries write
    /// over a hundred lines for each call otherwise, which takes them longer than the call itself.
    /// Errors are always worth it: they may be last words.
    pub(crate) fn environment(&self, kind: &str) -> Vec<(String, &'static str)> {
        let level = self.level.unwrap_or(LogLevel::Error);
        if level == LogLevel::Trace {
            return Vec::new();
        }
        let libraries = ["", "_PROTO", "_FRAMEWORK", "_HELPER_SCHEMA", "_HELPER_RESOURCE", "_MUX"];
        let own = format!("TF_LOG_PROVIDER_{}", kind.to_uppercase().replace('-', "_"));
        let names = libraries.iter().map(|library| format!("TF_LOG_SDK{library}")).chain([own]);
        names.map(|name| (name, level.name())).collect()
    }

    /// Whether anything is logged.
    pub(crate) fn is_on(&self) -> bool {
        self.level.is_some()
    }
    pub(crate) fn write(&self, record: &Record) {
        if self.level.is_some_and(|level| record.level >= level) {
            (self.write)(record);
        }
    }
    /// Logs what we do ourselves with a provider.
    pub(crate) fn say(&self, level: LogLevel, logger: &EcoString, message: impl FnOnce() -> EcoString) {
        if self.level.is_some_and(|least| level >= least) {
            (self.write)(&Record { level, logger: logger.clone(), message: message(), fields: Vec::new() });
        }
    }
}

impl fmt::Debug for LogSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogSink").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Record {
    /// Parses a line of standard error.
    pub(crate) fn of_line(line: &str, logger: &EcoString) -> Record {
        structured(line, logger).unwrap_or_else(|| {
            let level = ["[TRACE]", "[DEBUG]", "[INFO]", "[WARN]", "[ERROR]"]
                .into_iter()
                .find(|prefix| line.starts_with(prefix))
                .and_then(|prefix| LogLevel::parse(prefix.trim_matches(['[', ']'])));
            let is_panic = line.starts_with("panic: ") || line.starts_with("fatal error: ");
            let level = level.unwrap_or(if is_panic { LogLevel::Error } else { LogLevel::Debug });
            Record { level, logger: logger.clone(), message: line.into(), fields: Vec::new() }
        })
    }
}

/// A line of JSON as the logging library of Go providers writes it.
fn structured(line: &str, logger: &EcoString) -> Option<Record> {
    if !line.starts_with('{') {
        return None;
    }
    let Ok(Json::Object(mut members)) = serde_json::from_str(line) else { return None };
    let mut take = |name: &str| match members.remove(name) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    };
    let level = take("@level").and_then(|level| LogLevel::parse(&level))?;
    let message = take("@message").unwrap_or_default().into();
    let time = take("@timestamp");
    let mut fields: Vec<(EcoString, Json)> =
        members.into_iter().map(|(name, value)| (eco_format!("{name}"), value)).collect();
    fields.extend(time.map(|time| ("timestamp".into(), Json::String(time))));
    Some(Record { level, logger: logger.clone(), message, fields })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use expect_test::expect;

    use super::*;

    #[test]
    fn lines_have_levels() {
        let lines = [
            r#"{"@level":"trace","@message":"hello","@module":"sdk.proto","@timestamp":"2024-01-02T03:04:05Z","n":1,"s":"a b"}"#,
            r#"{"@level":"warn","@message":""}"#,
            r#"{"level":"info"}"#,
            "{broken",
            "[ERROR] no",
            "[INFO] yes",
            "plain text",
            "panic: runtime error",
        ];
        let text = lines.iter().map(|line| {
            let Record { level, message, fields, .. } = Record::of_line(line, &"provider.x".into());
            let fields: String = fields.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            format!("{} {message}{fields}\n", level.name())
        });
        expect![[r#"
            TRACE hello @module="sdk.proto" n=1 s="a b" timestamp="2024-01-02T03:04:05Z"
            WARN 
            DEBUG {"level":"info"}
            DEBUG {broken
            ERROR [ERROR] no
            INFO [INFO] yes
            DEBUG plain text
            ERROR panic: runtime error
        "#]]
        .assert_eq(&text.collect::<String>());
    }

    #[test]
    fn a_sink_takes_a_level_and_above() {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let inner = taken.clone();
        let sink = LogSink::new(LogLevel::Info, move |record| {
            inner.lock().expect("because no thread panics").push(record.level);
        });
        for level in [LogLevel::Debug, LogLevel::Info, LogLevel::Error] {
            sink.say(level, &"x".into(), EcoString::new);
        }
        assert_eq!(*taken.lock().expect("because no thread panics"), [LogLevel::Info, LogLevel::Error]);
        assert!(!LogSink::off().is_on());
        let variables = sink.environment("google-beta");
        assert!(variables.contains(&("TF_LOG_SDK_PROTO".to_owned(), "INFO")));
        assert!(variables.contains(&("TF_LOG_PROVIDER_GOOGLE_BETA".to_owned(), "INFO")));
        assert!(LogSink::new(LogLevel::Trace, |_| {}).environment("x").is_empty());
        assert!(LogSink::off().environment("x").iter().all(|(_, level)| *level == "ERROR"));
    }
}
