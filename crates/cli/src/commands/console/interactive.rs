//! The console on a terminal: line editing, history, completion of function names.

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper, KeyEvent,
    Movement, RepeatCount,
};
use yuba_eval::FunctionTable;
use yuba_session::console::{ConsoleAnswer, ConsoleSession, Input};
use yuba_syntax::Sources;

use super::{diagnostics, shown};
use crate::exit::{Failure, Outcome};
use crate::terminal::Terminal;

/// Reads and answers until the user leaves. Mistakes are shown and the console goes on.
pub(crate) fn run(terminal: &mut Terminal, session: &mut ConsoleSession) -> Outcome {
    let failed = |error| Failure::Failed(diagnostics::terminal_unusable(&error).into(), Sources::new());
    let config = Config::builder().auto_add_history(true).build();
    let mut editor: Editor<Names, DefaultHistory> = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Names));
    editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(DropLine)));
    let mut open = 0;
    loop {
        // One dot for each open bracket.
        let prompt = if open == 0 { "> ".to_owned() } else { format!("{} ", ".".repeat(open)) };
        let line = match editor.readline(&prompt) {
            Ok(line) => line,
            // Ctrl-C drops what was typed; only on an empty prompt it leaves.
            Err(ReadlineError::Interrupted) if open > 0 => {
                session.reset();
                open = 0;
                continue;
            }
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => return Ok(0),
            Err(error) => return Err(failed(error)),
        };
        open = 0;
        match session.line(&line) {
            Input::Incomplete(brackets) => open = brackets,
            Input::Complete(ConsoleAnswer::Exit) => return Ok(0),
            Input::Complete(ConsoleAnswer::Nothing) => {}
            Input::Complete(ConsoleAnswer::Failed(diagnostics)) => {
                terminal.report(&diagnostics, session.sources());
                // A bracket too many must not spoil the lines that follow.
                session.reset();
            }
            Input::Complete(answer) => terminal.out(&format!("{}\n", shown(&answer))),
        }
    }
}

/// Ctrl-C on a line with text empties the line.
struct DropLine;

impl ConditionalEventHandler for DropLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        (!context.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}

/// Completes the names of functions.
struct Names;

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(&line[..position]))
    }
}
impl Helper for Names {}
impl Highlighter for Names {}
impl Hinter for Names {
    type Hint = String;
}
impl Validator for Names {}

/// Where the name before the cursor starts, and the functions whose names start like it.
fn complete(before: &str) -> (usize, Vec<String>) {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let start = before.char_indices().rev().take_while(|(_, c)| is_name(*c)).last().map_or(before.len(), |(at, _)| at);
    let typed = &before[start..];
    let plain = typed.strip_prefix("core::").unwrap_or(typed);
    let after_dot = before[..start].ends_with('.');
    if plain.is_empty() || after_dot {
        return (start, Vec::new());
    }
    let namespace = &typed[..typed.len() - plain.len()];
    let names = FunctionTable::console().all().into_iter().map(|function| &function.signature().name);
    (start, names.filter(|name| name.starts_with(plain)).map(|name| format!("{namespace}{name}(")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completes_functions_only() {
        assert_eq!(complete("1 + uppe"), (4, vec!["upper(".to_owned()]));
        assert_eq!(complete("[core::uppe"), (1, vec!["core::upper(".to_owned()]));
        assert_eq!(complete("local.uppe").1, Vec::<String>::new());
        assert_eq!(complete("").1, Vec::<String>::new());
    }
}
