//! `TF_LOG` and its kin: what providers log, and what we do with them, on standard error or in a file.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::sync::Mutex;

use serde_json::{Map, Value as Json};
use yuba_plugin::{Level, LogSink, Record};

use crate::settings::environment;

/// The sink of provider logs that the environment variables select.
pub(crate) fn of_providers() -> LogSink {
    let Some(wanted) = environment("TF_LOG_PROVIDER").or_else(|| environment("TF_LOG")) else { return LogSink::off() };
    if wanted.eq_ignore_ascii_case("off") {
        return LogSink::off();
    }
    let as_json = wanted.eq_ignore_ascii_case("json");
    // Quirk: an unknown level enables all levels.
    let level = Level::parse(&wanted).unwrap_or(Level::Trace);
    let file = environment("TF_LOG_PATH").and_then(|path| {
        let opened = OpenOptions::new().append(true).create(true).open(&path);
        opened.inspect_err(|error| eprintln!("Error opening log file: {error}")).ok()
    });
    let file = file.map(Mutex::new);
    LogSink::new(level, move |record| {
        let line = if as_json { json_line(record) } else { format!("{} {}\n", now(), record.text()) };
        write(file.as_ref(), line.as_bytes());
    })
}

/// Logs are an extra: where they cannot be written, work goes on.
fn write(file: Option<&Mutex<File>>, line: &[u8]) {
    let _ = match file {
        Some(file) => file.lock().map_or(Ok(()), |mut file| file.write_all(line)),
        None => std::io::stderr().lock().write_all(line),
    };
}

fn json_line(record: &Record) -> String {
    let mut members = Map::new();
    members.insert("@level".into(), record.level.name().to_lowercase().into());
    members.insert("@message".into(), record.message.as_str().into());
    members.insert("@module".into(), record.logger.as_str().into());
    members.insert("@timestamp".into(), now().into());
    members.extend(record.fields.iter().map(|(name, value)| (name.to_string(), value.clone())));
    format!("{}\n", Json::Object(members))
}

/// The time as logs have it, with milliseconds.
fn now() -> String {
    crate::messages::now()
}
