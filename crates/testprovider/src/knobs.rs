//! Settings from outside for the whole process.

use std::path::PathBuf;

/// Environment variables of the test provider.
#[derive(Clone, Debug, Default)]
pub struct Knobs {
    /// `TESTING_DIR`: where objects and the record are.
    pub directory: Option<PathBuf>,
    /// `TESTING_PROTOCOL`: 5 or 6, otherwise the highest that is offered.
    pub protocol: Option<u32>,
    /// `TESTING_BAD`: how it is not like a provider should be.
    pub bad: Option<Bad>,
    /// `TESTING_CRASH_AT`: which change of the process, counted from 1, it does not survive.
    pub crash_at: Option<u64>,
    /// `TESTING_SLOW_MS`: duration of slow operations.
    pub slow_ms: u64,
    /// `TESTING_LOG`: log lines of all levels, at the start.
    pub log: bool,
    /// `TESTING_TYPES`: number of resource types of a generated schema, in addition to its own types.
    pub types: u32,
    /// `TESTING_START_MS`: time before the greeting.
    pub start_ms: u64,
    /// `TESTING_CALL_MS`: duration of each operation on an object or a data resource.
    pub call_ms: u64,
    /// `TESTING_MEMORY_MB`: memory that the process holds in addition.
    pub memory_mb: u64,
}

/// Faults of the process as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// `exit`: ends at once with a few words.
    Exit,
    /// `garbage`: says something else than a greeting.
    Garbage,
    /// `protocol4`: greets with an obsolete protocol.
    Protocol4,
    /// `silent`: never greets.
    Silent,
    /// `deaf`: greets and never answers a call.
    Deaf,
    /// `cert`: shows another certificate than it announced.
    Certificate,
    /// `msgpack`: responds with invalid values.
    Msgpack,
    /// `huge`: a schema of 300 MB.
    Huge,
    /// `types`: a schema with invalid types.
    Types,
    /// `panic`: dies with last words when asked for its schema.
    Panic,
    /// `old`: only knows the calls of the first release.
    Old,
}

impl Knobs {
    /// As the environment says.
    pub fn from_env() -> Knobs {
        let text = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok());
        Knobs {
            directory: text("TESTING_DIR").map(PathBuf::from),
            protocol: text("TESTING_PROTOCOL").and_then(|text| text.parse().ok()),
            bad: text("TESTING_BAD").and_then(|text| Bad::from_text(&text)),
            crash_at: number("TESTING_CRASH_AT"),
            slow_ms: number("TESTING_SLOW_MS").unwrap_or(300),
            log: text("TESTING_LOG").is_some(),
            types: number("TESTING_TYPES").and_then(|types| types.try_into().ok()).unwrap_or_default(),
            start_ms: number("TESTING_START_MS").unwrap_or_default(),
            call_ms: number("TESTING_CALL_MS").unwrap_or_default(),
            memory_mb: number("TESTING_MEMORY_MB").unwrap_or_default(),
        }
    }
}

impl Bad {
    fn from_text(text: &str) -> Option<Bad> {
        Some(match text {
            "exit" => Bad::Exit,
            "garbage" => Bad::Garbage,
            "protocol4" => Bad::Protocol4,
            "silent" => Bad::Silent,
            "deaf" => Bad::Deaf,
            "cert" => Bad::Certificate,
            "msgpack" => Bad::Msgpack,
            "huge" => Bad::Huge,
            "types" => Bad::Types,
            "panic" => Bad::Panic,
            "old" => Bad::Old,
            _ => return None,
        })
    }
}
