//! `yuba console`: type an expression, see its value.

mod diagnostics;
mod history;
mod interactive;

use std::io::{BufRead as _, IsTerminal as _};

use yuba_session::Project;
use yuba_session::backend::StateFlags;
use yuba_session::console::{ConsoleAnswer, ConsoleSession, HELP, Input};
use yuba_syntax::{Diagnostic, Sources};
use yuba_view::value::{format_type, format_value};

use super::{Command, JsonForm, Run};
use crate::deprecation::DeprecationChoice;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::settings::{VAR, VAR_FILE, project};
use crate::state_access;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "console",
    synopsis: "Try expressions at an interactive command prompt",
    usage: "[options]",
    about: "Reads expressions and prints their values.\n\n\
            On a terminal it supports line editing, a history across sessions, and completion of names, attributes and functions with \
            Tab. A line that starts with a space is not recorded. An expression \
            with an open bracket continues on the next line. With other input, it evaluates line by line and stops at the \
            first error.\n\n\
            The command never changes the state.",
    flags: &[
        Flag::text("state", "path", "State file to read instead of the state of the selected workspace."),
        VAR,
        VAR_FILE,
        Flag::switch_off("lock", "Do not lock the state."),
        Flag::text("lock-timeout", "0s", "Duration to wait for the state lock, like \"30s\" or \"5m\"."),
        Flag::text("json-into", "out.json", "Write results as JSON to a file. Not available yet."),
        Flag::switch("json", ""),
        Flag::switch_off("input", ""),
    ],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of the command.
struct ConsoleSettings {
    state: StateFlags,
    deprecation: DeprecationChoice,
}

impl ConsoleSettings {
    /// Refuses flags that this version does not support, instead of ignoring them.
    fn resolve(args: &Args) -> Result<ConsoleSettings, Failure> {
        let refuse = |problem: Diagnostic| Err(Failure::Usage(problem.into()));
        if !args.positional.is_empty() {
            return refuse(diagnostics::takes_no_arguments());
        }
        if args.is_on("json") {
            return refuse(diagnostics::json_not_supported());
        }
        if let Some((name, _)) = args.iter().find(|(name, _)| *name == "json-into") {
            return refuse(diagnostics::option_not_supported(name));
        }
        Ok(ConsoleSettings { state: state_access::flags(args)?, deprecation: args.deprecation().unwrap_or_default() })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = ConsoleSettings::resolve(args)?;
    let mut session = ConsoleSession::new(Project::new(project(args)));
    match session.read(&settings.state) {
        Ok(problems) => terminal.report(&settings.deprecation.wanted(problems), session.sources()),
        Err(problems) => return Err(Failure::Failed(problems, session.sources().clone())),
    }
    if std::io::stdin().is_terminal() {
        interactive::run(terminal, &mut session, args.hosts.environment())
    } else {
        piped(terminal, &mut session)
    }
}

/// Evaluates standard input line by line; the first error ends it.
fn piped(terminal: &mut Terminal, session: &mut ConsoleSession) -> Outcome {
    let mut stdin = std::io::stdin().lock();
    let mut line = Vec::new();
    let mut open = false;
    loop {
        line.clear();
        match stdin.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                return Err(Failure::Failed(diagnostics::input_unreadable(&error).into(), Sources::new()));
            }
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            return Err(Failure::Failed(diagnostics::input_not_utf8().into(), Sources::new()));
        };
        let input = session.line(text);
        open = matches!(input, Input::Incomplete(_));
        match input {
            Input::Incomplete(_) => {}
            Input::Complete(ConsoleAnswer::Exit) => return Ok(0),
            Input::Complete(ConsoleAnswer::Failed(diagnostics)) => {
                return Err(Failure::Failed(diagnostics, session.sources().clone()));
            }
            Input::Complete(answer) => terminal.out(&format!("{}\n", shown(&answer))),
        }
    }
    if open {
        // Quirk: OpenTofu does not fail here, and does not report it.
        terminal.err("The input ended inside an open bracket; its last expression was not evaluated.\n");
    }
    Ok(0)
}

/// The output of a line other than `exit` and errors. Quirk: warnings are not shown.
fn shown(answer: &ConsoleAnswer) -> String {
    match answer {
        ConsoleAnswer::Value(value, _) => format_value(value),
        ConsoleAnswer::Type(ty, _) => format_type(ty),
        ConsoleAnswer::TypeOfType(_) => "type".to_owned(),
        ConsoleAnswer::Help => HELP.to_owned(),
        ConsoleAnswer::Nothing | ConsoleAnswer::Exit | ConsoleAnswer::Failed(_) => String::new(),
    }
}
