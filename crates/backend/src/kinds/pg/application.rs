//! The application name of a session, which shows other clients the holder of a lock: `yuba user@host pid 4711 apply`.

use yuba_net::Environment;

use crate::process;

/// PostgreSQL cuts longer names.
const LIMIT: usize = 63;
/// Operations that are written as their last word.
const OPERATIONS: &[&str] =
    &["OperationTypeApply", "OperationTypePlan", "OperationTypeRefresh", "OperationTypeInvalid"];
const PREFIX: &str = "OperationType";

/// The application name of the sessions of a run.
#[derive(Clone, Debug)]
pub(super) enum Application {
    /// The user has set it.
    Given(String),
    /// `user@host` and the process.
    Ourselves { who: String, pid: u32 },
}

/// Fields of the application name of a Yuba session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) who: String,
    pub(super) pid: u32,
    /// Empty before the session has taken a lock.
    pub(super) operation: String,
}

impl Application {
    /// This process.
    pub(super) fn ourselves(environment: &Environment) -> Application {
        Application::Ourselves { who: process::who(environment), pid: std::process::id() }
    }

    /// The name during an operation. A long `user@host` is cut, so that the rest fits.
    pub(super) fn during(&self, operation: &str) -> String {
        let (who, pid) = match self {
            Application::Given(name) => return name.clone(),
            Application::Ourselves { who, pid } => (who, pid),
        };
        let operation: String = match operation.strip_prefix(PREFIX) {
            Some(kind) => kind.to_lowercase(),
            None => operation.to_owned(),
        };
        let operation = operation.split_whitespace().next().map(|word| format!(" {word}")).unwrap_or_default();
        let rest = format!(" pid {pid}{operation}");
        let mut name = format!("yuba {who}");
        let mut length = name.len().min(LIMIT.saturating_sub(rest.len()));
        while !name.is_char_boundary(length) {
            length -= 1;
        }
        name.truncate(length);
        name + &rest
    }

    /// Parses a name that [`Application::during`] has made. None for names of other clients.
    pub(super) fn parse(name: &str) -> Option<Parsed> {
        let (who, rest) = name.strip_prefix("yuba ")?.rsplit_once(" pid ")?;
        let (pid, operation) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_meant = |full: &&&str| full.strip_prefix(PREFIX).is_some_and(|kind| kind.to_lowercase() == operation);
        let operation = OPERATIONS.iter().find(is_meant).map_or(operation, |full| *full);
        Some(Parsed { who: who.to_owned(), pid: pid.parse().ok()?, operation: operation.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let ours = Application::Ourselves { who: "ann@box".to_owned(), pid: 4711 };
        assert_eq!(ours.during("OperationTypeApply"), "yuba ann@box pid 4711 apply");
        for operation in ["", "init", "taint", "OperationTypeApply", "OperationTypePlan"] {
            let parsed = Application::parse(&ours.during(operation)).expect("it is one of ours");
            assert_eq!(parsed, Parsed { who: "ann@box".into(), pid: 4711, operation: operation.into() });
        }
        for other in ["", "psql", "yuba", "yuba ann@box", "yuba ann@box pid x"] {
            assert_eq!(Application::parse(other), None, "{other}");
        }
    }

    #[test]
    fn long_names_are_cut_before_the_process() {
        let ours = Application::Ourselves { who: "é".repeat(60), pid: 4711 };
        let name = ours.during("OperationTypeApply");
        assert!(name.len() <= LIMIT && name.ends_with("é pid 4711 apply"), "{name}");
        assert_eq!(Application::Given("x".repeat(99)).during("init"), "x".repeat(99));
    }
}
