//! The prompt that asks whether a plan is applied.

use std::io::{BufRead as _, Write as _};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use yuba_plan::Mode;
use yuba_syntax::Sources;

use super::diagnostics;
use crate::exit::Failure;
use crate::operation_output::OperationOutput;
use crate::settings::Prompts;
use crate::signals::Stop;

/// Asks whether to apply a plan of this mode. Fails if the prompt is disabled or gets no input.
pub(super) fn approved(
    output: &mut OperationOutput<'_>,
    prompts: Prompts,
    mode: Mode,
    stop: &Stop,
) -> Result<bool, Failure> {
    if prompts == Prompts::Disabled {
        return Err(Failure::Failed(diagnostics::approval_prompt_disabled().into(), Sources::new()));
    }
    let (question, more) = question(mode);
    let question = output.bold(&format!("\n{question}"));
    output.raw(&format!("{question}\n  {more}\n\n  {} ", output.bold("Enter a value:")));
    let _ = std::io::stdout().flush();
    let answer = line(stop);
    output.raw("\n");
    if answer.is_none() && !stop.interrupt().is_raised() {
        return Err(Failure::Failed(diagnostics::approval_prompt_unanswered().into(), Sources::new()));
    }
    if answer.is_some_and(|line| line.trim() == "yes") {
        return Ok(true);
    }
    output.raw(match mode {
        Mode::Destroy => "\nDestroy cancelled.\n",
        Mode::Normal | Mode::RefreshOnly => "\nApply cancelled.\n",
    });
    Ok(false)
}

/// The question, and what an approval means.
fn question(mode: Mode) -> (&'static str, &'static str) {
    match mode {
        Mode::Destroy => (
            "Do you really want to destroy all resources?",
            "Yuba will destroy everything it manages here, as shown above. This cannot be undone.\n  Only 'yes' will be \
             accepted to confirm.",
        ),
        Mode::RefreshOnly => (
            "Would you like to update the state to reflect these detected changes?",
            "Yuba will write the changes shown above to the state without changing anything else.\n  Only 'yes' will be \
             accepted to confirm.",
        ),
        Mode::Normal => (
            "Do you want to perform these actions?",
            "Yuba will perform the actions described above.\n  Only 'yes' will be accepted to approve.",
        ),
    }
}

/// Reads a line from standard input. Returns none at the end of input or when the user asks to stop.
fn line(stop: &Stop) -> Option<String> {
    let (sender, answers) = std::sync::mpsc::channel();
    // It may wait for ever. Nothing waits for the thread.
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).unwrap_or(0);
        let _ = sender.send((read > 0).then_some(line));
    });
    loop {
        match answers.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => return line,
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if stop.interrupt().is_raised() => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
