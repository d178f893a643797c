//! The holder of the lock of a state: the lock file beside it, in the format of OpenTofu, and the description of the
//! holder in errors.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value as Json};
use yuba_net::Environment;

use crate::files::{Open, StateFiles, beside};
use crate::kit::store::{StoreError, StoreErrorKind};
use crate::process::{self, Alive};
use crate::timestamp::{UtcTime, in_words};

/// Information about the holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Unique, needed to break the lock.
    pub id: String,
    /// Operation of the holder: `OperationTypeApply`.
    pub operation: String,
    /// More of it; ours says which process it is: `pid 4711`.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The version of the language level of the holder.
    pub version: String,
    /// Creation time.
    pub created: Option<UtcTime>,
    /// The state file.
    pub path: String,
}

impl LockHolder {
    /// This process, about to do an operation.
    pub fn ourselves(operation: &str, environment: &Environment) -> LockHolder {
        LockHolder {
            id: process::new_uuid(),
            operation: operation.to_owned(),
            info: format!("pid {}", std::process::id()),
            who: process::who(environment),
            version: yuba_state::WRITER_VERSION.to_owned(),
            created: Some(UtcTime::now()),
            path: String::new(),
        }
    }

    /// As the lock file has it.
    pub fn to_json(&self) -> String {
        let quoted = |text: &str| Json::from(text).to_string();
        // Quirk: a missing time is the year 1, Go's zero time.
        let created = self.created.map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |time| time.to_string());
        format!(
            r#"{{"ID":{},"Operation":{},"Info":{},"Who":{},"Version":{},"Created":{},"Path":{}}}"#,
            quoted(&self.id),
            quoted(&self.operation),
            quoted(&self.info),
            quoted(&self.who),
            quoted(&self.version),
            quoted(&created),
            quoted(&self.path)
        )
    }

    /// Reads a lock file, or returns none if it is invalid.
    pub fn from_json(bytes: &[u8]) -> Option<LockHolder> {
        let fields: Map<String, Json> = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| fields.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        Some(LockHolder {
            id: text("ID"),
            operation: text("Operation"),
            info: text("Info"),
            who: text("Who"),
            version: text("Version"),
            created: UtcTime::parse(&text("Created")).filter(|time| time.to_string() != "0001-01-01T00:00:00Z"),
            path: text("Path"),
        })
    }

    /// The process, where the lock says so.
    pub fn pid(&self) -> Option<u32> {
        let (_, rest) = self.info.split_once("pid ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }

    /// The host, where the lock says so.
    pub fn host(&self) -> Option<&str> {
        self.who.rsplit_once('@').map(|(_, host)| host).filter(|host| !host.is_empty())
    }

    /// Age of the lock.
    pub fn age(&self) -> Option<Duration> {
        self.created.map(|created| created.age(UtcTime::now()))
    }

    /// Whether the process lives, if this host can find out.
    pub fn alive(&self) -> Alive {
        match self.pid() {
            Some(pid) if self.host() == Some(&process::host()) => process::alive(pid),
            _ => Alive::Unknown,
        }
    }

    /// The block that people and tools look for in a message.
    pub fn to_block(&self) -> String {
        let created = self.created.map(UtcTime::spaced).unwrap_or_default();
        let mut out = String::from("Lock Info:\n");
        let rows = [
            ("ID:", &self.id),
            ("Path:", &self.path),
            ("Operation:", &self.operation),
            ("Who:", &self.who),
            ("Version:", &self.version),
            ("Created:", &created),
            ("Info:", &self.info),
        ];
        for (name, value) in rows {
            let _ = writeln!(out, "  {name:<10} {value}");
        }
        out
    }

    /// One sentence: who, where, since when, and whether it still runs.
    pub fn in_words(&self) -> String {
        let process = match self.pid() {
            Some(pid) => format!("Process {pid}"),
            None => "A process".to_owned(),
        };
        let host = match self.host() {
            Some(host) if host == process::host() => format!(" on this host ({host})"),
            Some(host) => format!(" on host {host}"),
            None => String::new(),
        };
        let age = self.age().map(|age| format!(" {} ago", in_words(age))).unwrap_or_default();
        let alive = match self.alive() {
            Alive::Yes => " That process is still running.",
            Alive::No => " That process is no longer running.",
            Alive::Unknown => "",
        };
        format!("{process}{host} took the lock{age} for {}.{alive}", or_unknown(&self.operation))
    }
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "an unknown operation" } else { text }
}

/// Path of the description of a state file's lock.
pub(crate) fn holder_path(state: &Path) -> PathBuf {
    beside(state, "lock.info")
}

/// The recorded holder, or none if the record is missing or invalid.
pub(crate) fn read_holder(files: &dyn StateFiles, state: &Path) -> Option<LockHolder> {
    LockHolder::from_json(&files.read(&holder_path(state)).ok()?)
}

/// Writes down who holds the lock.
pub(crate) fn write_holder(files: &dyn StateFiles, state: &Path, holder: &LockHolder) -> std::io::Result<()> {
    files.open(&holder_path(state), Open::EmptyPrivate)?.write_at(0, holder.to_json().as_bytes())
}

/// Reason why a lock was not acquired.
#[derive(Debug)]
pub enum LockRefusal {
    /// Another process holds the lock.
    Held {
        /// Who, as written beside the state.
        holder: Option<Box<LockHolder>>,
        /// The process on this host, where the system reports it.
        pid: Option<u32>,
    },
    /// The files of the lock cannot be written or read.
    Failed(std::io::Error),
    /// The store of the lock failed.
    Store(StoreError),
    /// This store has locked it already.
    Ours,
}

impl LockRefusal {
    /// Whether it may be different a moment later.
    pub fn may_pass(&self) -> bool {
        match self {
            LockRefusal::Held { .. } => true,
            LockRefusal::Store(error) => error.kind == StoreErrorKind::Transient,
            LockRefusal::Failed(_) | LockRefusal::Ours => false,
        }
    }
}

/// Delays before further attempts, until `timeout` has passed in sum: one second, doubled up to sixteen.
pub(crate) fn delays(timeout: Duration) -> impl Iterator<Item = Duration> {
    let mut left = timeout;
    let mut next = Duration::from_secs(1);
    std::iter::from_fn(move || {
        let delay = next.min(left);
        left = left.saturating_sub(delay);
        next = (next * 2).min(Duration::from_secs(16));
        (!delay.is_zero()).then_some(delay)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_opentofu_writes_and_back() {
        let text = r#"{"ID":"5f1c0b0a-7d8c-4f5e-9f3a-2b1c0d9e8f7a","Operation":"OperationTypeApply","Info":"","Who":"ann@box","Version":"1.12.6","Created":"2025-11-16T00:40:05.123456789Z","Path":"terraform.tfstate"}"#;
        let holder = LockHolder::from_json(text.as_bytes()).expect("it is well-formed");
        assert_eq!(holder.to_json(), text);
        assert_eq!((holder.pid(), holder.host(), holder.alive()), (None, Some("box"), Alive::Unknown));
        expect_test::expect![[r"
            Lock Info:
              ID:        5f1c0b0a-7d8c-4f5e-9f3a-2b1c0d9e8f7a
              Path:      terraform.tfstate
              Operation: OperationTypeApply
              Who:       ann@box
              Version:   1.12.6
              Created:   2025-11-16 00:40:05.123456789 +0000 UTC
              Info:      
        "]]
        .assert_eq(&holder.to_block());
    }

    #[test]
    fn says_which_process_and_whether_it_lives() {
        let mut holder = LockHolder::ourselves("OperationTypePlan", &Environment::default());
        assert_eq!((holder.pid(), holder.alive()), (Some(std::process::id()), Alive::Yes));
        let mut child = std::process::Command::new("true").spawn().expect("`true` is everywhere");
        let pid = child.id();
        child.wait().expect("it is our child");
        holder.info = format!("pid {pid}");
        holder.created = None;
        let host = process::host();
        assert_eq!(
            holder.in_words(),
            format!(
                "Process {pid} on this host ({host}) took the lock for OperationTypePlan. That process is no longer running."
            )
        );
        holder.who = "ann@elsewhere".to_owned();
        assert_eq!(holder.in_words(), format!("Process {pid} on host elsewhere took the lock for OperationTypePlan."));
    }

    #[test]
    fn a_damaged_lock_file_names_no_holder() {
        for text in ["", "{", "[]", "null", "{\"ID\":"] {
            assert_eq!(LockHolder::from_json(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn waiting_ends_with_the_timeout() {
        let seconds = |timeout| delays(Duration::from_secs(timeout)).map(|d| d.as_secs()).collect::<Vec<_>>();
        assert_eq!(seconds(0), Vec::<u64>::new());
        assert_eq!(seconds(10), [1, 2, 4, 3]);
        assert_eq!(seconds(60), [1, 2, 4, 8, 16, 16, 13]);
    }
}
