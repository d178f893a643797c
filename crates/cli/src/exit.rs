//! What a command answers, and the one place where that becomes an exit code.

use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::commands::Command;
use crate::help;
use crate::terminal::Terminal;

/// The answer of a command: an exit code of its own choice, or why it stopped.
pub(crate) type Outcome = Result<u8, Failure>;

/// Why a command stopped.
pub(crate) enum Failure {
    /// The arguments make no sense: reported with the help, or a pointer to it.
    Usage(Diagnostics),
    /// The work failed: reported with the code of these sources. Exit code 1.
    Failed(Diagnostics, Sources),
    /// The work failed, with an exit code that the command promises.
    FailedWith(u8, Diagnostics, Sources),
}

impl Failure {
    /// The arguments make no sense.
    pub(crate) fn usage(summary: &str, detail: impl Into<String>) -> Failure {
        Failure::Usage(Diagnostic::error(summary, detail.into()).into())
    }
    /// The work failed, nothing to point at.
    pub(crate) fn failed(summary: &str, detail: impl Into<String>) -> Failure {
        Failure::Failed(Diagnostic::error(summary, detail.into()).into(), Sources::new())
    }
}

/// Commands with long helps: a mistake in their arguments tells where the help is; that of others shows it.
const POINT_TO_HELP: &[&str] = &["apply", "destroy", "output", "plan", "refresh", "show", "test", "validate"];

/// Reports a failure and gives the exit code of the process.
pub(crate) fn code(terminal: &mut Terminal, command: &Command, outcome: Outcome) -> u8 {
    let code = match outcome {
        Ok(code) => code,
        Err(Failure::Usage(diagnostics)) => {
            terminal.report(&diagnostics, &Sources::new());
            if POINT_TO_HELP.contains(&command.name) {
                terminal.err(&format!("\nFor more help on using this command, run:\n  yuba {} -help\n", command.name));
            } else {
                terminal.out(&help::command(command));
            }
            1
        }
        Err(Failure::Failed(diagnostics, sources)) => {
            terminal.report(&diagnostics, &sources);
            1
        }
        Err(Failure::FailedWith(code, diagnostics, sources)) => {
            terminal.report(&diagnostics, &sources);
            code
        }
    };
    terminal.finish(code)
}
