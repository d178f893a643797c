//! What is set from outside for the whole process.

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
    /// `TESTING_SLOW_MS`: how long things take that are slow.
    pub slow_ms: u64,
    /// `TESTING_LOG`: log lines of all levels, at the start.
    pub log: bool,
}

/// How the process as a whole misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// `exit`: ends at once with a few words.
    Exit,
    /// `garbage`: says something else than a greeting.
    Garbage,
    /// `protocol4`: greets with a protocol from long ago.
    Protocol4,
    /// `silent`: never greets.
    Silent,
    /// `deaf`: greets and never answers a call.
    Deaf,
    /// `cert`: shows another certificate than it announced.
    Certificate,
    /// `msgpack`: answers with values that are none.
    Msgpack,
    /// `huge`: a schema of 300 MB.
    Huge,
    /// `types`: a schema with types that are none.
    Types,
    /// `panic`: dies with last words when asked for its schema.
    Panic,
    /// `old`: only knows calls that were there from the beginning.
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
