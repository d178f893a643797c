//! The log: levels from the environment, lines to standard error or to a file.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value as Json;
use tracing::Level;
use yuba_plugin::{LogSink, Record};

use super::lines::Line;

/// The form of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Format {
    #[default]
    Text,
    Json,
}

/// The log of the process, for Yuba itself and for its providers.
#[derive(Default)]
pub(crate) struct Log {
    core: Option<Level>,
    provider: Option<Level>,
    format: Format,
    /// The log file; standard error without one.
    file: Option<Mutex<File>>,
}

impl Log {
    /// Log settings from the variables of an environment. Reports invalid values on standard error.
    pub(super) fn new(variable: impl Fn(&str) -> Option<String>) -> Log {
        let mut warnings = String::new();
        let mut log = Log::with_levels(&variable, &mut warnings);
        // Quirk: the file is opened, and created, whether something is logged or not.
        if let Some(path) = variable("TF_LOG_PATH") {
            match OpenOptions::new().append(true).create(true).open(&path) {
                Ok(file) => log.file = Some(Mutex::new(file)),
                Err(error) => warnings += &format!("Error opening log file: {path}: {error}\n"),
            }
        }
        if !warnings.is_empty() {
            let _ = std::io::stderr().lock().write_all(warnings.as_bytes());
        }
        log
    }

    fn with_levels(variable: &dyn Fn(&str) -> Option<String>, warnings: &mut String) -> Log {
        // Quirk: TF_LOG_PROVIDER overrides TF_LOG, but TF_LOG overrides TF_LOG_CORE.
        let core = variable("TF_LOG").or_else(|| variable("TF_LOG_CORE"));
        let provider = variable("TF_LOG_PROVIDER").or_else(|| variable("TF_LOG"));
        // Quirk: TF_LOG_PROVIDER=JSON is the level TRACE in the format of the other variables.
        let is_json = core.as_ref().is_some_and(|name| name.eq_ignore_ascii_case("json"));
        let mut level = |name: Option<&String>| level(name?, warnings);
        Log {
            core: level(core.as_ref()),
            provider: level(provider.as_ref()),
            format: if is_json { Format::Json } else { Format::Text },
            file: None,
        }
    }

    /// The least important level that Yuba itself logs. Returns none if logging is off.
    pub(super) fn core_level(&self) -> Option<Level> {
        self.core
    }

    /// Writes a line. Logs are an extra: where they cannot be written, work goes on.
    pub(super) fn write(&self, line: &Line<'_>) {
        let now = crate::messages::now();
        let text = match self.format {
            Format::Text => line.text(&now),
            Format::Json => line.json(&now),
        };
        let _ = match &self.file {
            Some(file) => file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes()),
            None => std::io::stderr().lock().write_all(text.as_bytes()),
        };
    }
}

/// The level of a name; none is OFF. Unknown names are everything, with a warning.
fn level(name: &str, warnings: &mut String) -> Option<Level> {
    let name = name.to_uppercase();
    match name.as_str() {
        "OFF" => None,
        "TRACE" | "JSON" => Some(Level::TRACE),
        "DEBUG" => Some(Level::DEBUG),
        "INFO" => Some(Level::INFO),
        "WARN" => Some(Level::WARN),
        "ERROR" => Some(Level::ERROR),
        _ => {
            let warning = format!(
                "[WARN] Invalid log level: {name:?}. Defaulting to level: TRACE. Valid levels are: [TRACE DEBUG INFO WARN ERROR OFF]\n"
            );
            // Two variables may have the same invalid value.
            if !warnings.contains(&warning) {
                *warnings += &warning;
            }
            Some(Level::TRACE)
        }
    }
}

/// A sink that writes what providers log to the same log.
pub(super) fn provider_sink(log: &Arc<Log>) -> LogSink {
    let Some(least) = log.provider else { return LogSink::off() };
    let log = Arc::clone(log);
    LogSink::new(to_plugin(least), move |record: &Record| {
        let fields: Vec<(&str, &Json)> = record.fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let level = from_plugin(record.level);
        log.write(&Line { level, module: &record.logger, message: &record.message, fields: &fields });
    })
}

fn to_plugin(level: Level) -> yuba_plugin::LogLevel {
    match level {
        Level::TRACE => yuba_plugin::LogLevel::Trace,
        Level::DEBUG => yuba_plugin::LogLevel::Debug,
        Level::INFO => yuba_plugin::LogLevel::Info,
        Level::WARN => yuba_plugin::LogLevel::Warn,
        Level::ERROR => yuba_plugin::LogLevel::Error,
    }
}

fn from_plugin(level: yuba_plugin::LogLevel) -> Level {
    match level {
        yuba_plugin::LogLevel::Trace => Level::TRACE,
        yuba_plugin::LogLevel::Debug => Level::DEBUG,
        yuba_plugin::LogLevel::Info => Level::INFO,
        yuba_plugin::LogLevel::Warn => Level::WARN,
        yuba_plugin::LogLevel::Error => Level::ERROR,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn check(variables: &[(&str, &str)], core: &str, provider: &str, format: Format, warning: &str) {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let mut warnings = String::new();
        let log = Log::with_levels(&find, &mut warnings);
        let name = |level: Option<Level>| level.map_or("OFF", |level| level.as_str());
        assert_eq!((name(log.core), name(log.provider), log.format), (core, provider, format), "{variables:?}");
        assert_eq!(warnings, warning, "{variables:?}");
    }

    #[test]
    fn variables_set_levels_as_in_opentofu() {
        check(&[], "OFF", "OFF", Format::Text, "");
        check(&[("TF_LOG", "info")], "INFO", "INFO", Format::Text, "");
        check(&[("TF_LOG", "Json")], "TRACE", "TRACE", Format::Json, "");
        check(&[("TF_LOG_CORE", "JSON")], "TRACE", "OFF", Format::Json, "");
        check(&[("TF_LOG_PROVIDER", "JSON")], "OFF", "TRACE", Format::Text, "");
        check(&[("TF_LOG", "warn"), ("TF_LOG_PROVIDER", "off")], "WARN", "OFF", Format::Text, "");
        check(&[("TF_LOG", "error"), ("TF_LOG_CORE", "trace")], "ERROR", "ERROR", Format::Text, "");
        check(&[("TF_LOG", "off"), ("TF_LOG_CORE", "trace")], "OFF", "OFF", Format::Text, "");
    }

    #[test]
    fn unknown_levels_are_everything_with_a_warning() {
        let mut warnings = String::new();
        level("bogus", &mut warnings);
        expect![[r#"
            [WARN] Invalid log level: "BOGUS". Defaulting to level: TRACE. Valid levels are: [TRACE DEBUG INFO WARN ERROR OFF]
        "#]]
        .assert_eq(&warnings);
        check(&[("TF_LOG", "bogus")], "TRACE", "TRACE", Format::Text, &warnings);
    }
}
