//! The console on a terminal: line editing, history across sessions, completion of names.

use std::cell::RefCell;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler, Helper,
    KeyEvent, Movement, RepeatCount,
};
use yuba_net::Environment;
use yuba_session::console::{ConsoleAnswer, ConsoleSession, Input};
use yuba_syntax::Sources;

use super::history::History;
use super::{diagnostics, shown};
use crate::exit::{Failure, Outcome};
use crate::terminal::Terminal;

/// Reads and evaluates lines until the user leaves. Errors are shown and do not end the console.
pub(crate) fn run(terminal: &mut Terminal, session: &mut ConsoleSession, environment: &Environment) -> Outcome {
    let failed = |error| Failure::Failed(diagnostics::terminal_unusable(&error).into(), Sources::new());
    let session = RefCell::new(session);
    let config = Config::builder().completion_type(CompletionType::List).build();
    let mut editor: Editor<Names<'_, '_>, DefaultHistory> = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Names { session: &session }));
    let mut history = History::of_user(environment);
    for line in history.lines() {
        editor.add_history_entry(line).map_err(failed)?;
    }
    editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(DropLine)));
    let mut open = 0;
    loop {
        // One dot for each open bracket.
        let prompt = if open == 0 { "> ".to_owned() } else { format!("{} ", ".".repeat(open)) };
        let line = match editor.readline(&prompt) {
            Ok(line) => line,
            // Ctrl-C drops what was typed; only on an empty prompt it leaves.
            Err(ReadlineError::Interrupted) if open > 0 => {
                session.borrow_mut().reset();
                open = 0;
                continue;
            }
            Err(ReadlineError::Interrupted | ReadlineError::Eof) => return Ok(0),
            Err(error) => return Err(failed(error)),
        };
        open = 0;
        if history.record(&line) {
            editor.add_history_entry(&line).map_err(failed)?;
        }
        // Completion borrows the session only while a line is read.
        let mut session = session.borrow_mut();
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

/// Completes names at the cursor.
struct Names<'s, 'p> {
    session: &'s RefCell<&'p mut ConsoleSession>,
}

impl Completer for Names<'_, '_> {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.session.borrow().complete(&line[..position]))
    }
}
impl Helper for Names<'_, '_> {}
impl Highlighter for Names<'_, '_> {}
impl Hinter for Names<'_, '_> {
    type Hint = String;
}
impl Validator for Names<'_, '_> {}
