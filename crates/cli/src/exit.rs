//! What a command answers, and the one place where that becomes an exit code.

use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::commands::{Command, JsonForm};
use crate::terminal::Terminal;
use crate::{help, messages};

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

/// Whether programs read the messages of a command.
pub(crate) fn is_for_programs(command: &Command, args: &[String]) -> bool {
    let wants_json = args.iter().take_while(|arg| *arg != "--").any(|arg| matches!(arg.as_str(), "-json" | "--json"));
    wants_json && command.json == JsonForm::Messages
}

/// Reports a failure and gives the exit code of the process. Programs that have heard nothing yet are told of it as they
/// are told of everything else.
pub(crate) fn code(terminal: &mut Terminal, command: &Command, outcome: Outcome, for_programs: bool) -> u8 {
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
