//! The outcome of a command, and the one place where it becomes an exit code.

use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::commands::{Command, JsonForm};
use crate::terminal::Terminal;
use crate::{help, messages};

/// The outcome of a command: an exit code of its own choice, or why it failed.
pub(crate) type Outcome = Result<u8, Failure>;

/// Reason of a failed command.
pub(crate) enum Failure {
    /// The arguments are invalid: reported with the help, or with the command that shows it.
    Usage(Diagnostics),
    /// The operation failed: reported with excerpts of these sources. Exit code 1.
    Failed(Diagnostics, Sources),
    /// The operation failed, with an exit code that the command documents.
    FailedWith(u8, Diagnostics, Sources),
}

impl Failure {
    /// The arguments are invalid.
    pub(crate) fn usage(problem: Diagnostic) -> Failure {
        Failure::Usage(problem.into())
    }
    /// The operation failed, without a location in a file.
    pub(crate) fn failed(problem: Diagnostic) -> Failure {
        Failure::Failed(problem.into(), Sources::new())
    }
}

/// The readers of the messages of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Text for people.
    People,
    /// JSON lines for tools.
    Programs,
}

/// The readers of the messages of a command with these arguments, which may be invalid.
pub(crate) fn audience(command: &Command, args: &[String]) -> Audience {
    let wants_json = args.iter().take_while(|arg| *arg != "--").any(|arg| matches!(arg.as_str(), "-json" | "--json"));
    match wants_json && command.json == JsonForm::Messages {
        true => Audience::Programs,
        false => Audience::People,
    }
}

/// Reports a failure and returns the exit code of the process. If a tool reads standard output and nothing is written to it
/// yet, it gets the failure in JSON.
pub(crate) fn code(terminal: &mut Terminal, command: &Command, outcome: Outcome, audience: Audience) -> u8 {
    let for_programs = audience == Audience::Programs;
    let code = match outcome {
        Ok(code) => code,
        Err(Failure::Usage(diagnostics)) if for_programs && !terminal.has_written() => {
            messages::tell_programs(terminal, &diagnostics, &Sources::new());
            1
        }
        Err(Failure::Failed(diagnostics, sources)) if for_programs && !terminal.has_written() => {
            messages::tell_programs(terminal, &diagnostics, &sources);
            1
        }
        Err(Failure::Usage(diagnostics)) => {
            terminal.report(&diagnostics, &Sources::new());
            if command.long_help {
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
