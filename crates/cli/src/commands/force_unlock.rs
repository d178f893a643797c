//! `yuba force-unlock`: takes away a lock that was left behind.

use yuba_session::backend::Refusal;
use yuba_syntax::Diagnostic;

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "force-unlock",
    synopsis: "Release a stuck lock on the current workspace",
    usage: "[options] LOCK_ID",
    about: "Takes the lock of the state away from somebody who did not release it. Make sure that they are not at work any \
            more: two runs at the same time can damage the state.\n\n\
            The lock of a local state ends with the process that holds it, so there is nothing to take away while that \
            process runs; what a dead process has left is taken over by the next command.",
    flags: &[Flag::switch("force", "Do not ask first."), JSON, JSON_INTO, VAR, VAR_FILE],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [id] = args.positional.as_slice() else {
        return Err(Failure::usage("Wrong number of arguments", "Give the ID of one lock."));
    };
    let flags = state_access::flags(args)?;
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let place = state_access::place(&Settings::new(args), &flags)?;
        if !args.is_on("force") && place.locks_end_with_processes() {
            let detail = "Local state cannot be unlocked by another process: its lock ends with the process that holds it. \
                          Use -force to remove the lock file that a killed process has left.";
            return Err(Diagnostic::error("State locked by another local process", detail).into());
        }
        let question = "Do you really want to force-unlock?";
        let more = "Others can change the state then, even if whoever has locked it is still at work.\n  Only 'yes' will be \
                    accepted to confirm.";
        if !args.is_on("force") && !messages.confirm(question, more) {
            messages.tell("force-unlock cancelled.");
            return Err(Refusal::default());
        }
        place.unlock(id)?;
        let title = "The state has been successfully unlocked!";
        let more = "Other commands can lock it again now.";
        let human = format!("{}\n\n{more}\n", messages.bold(title));
        messages.say(&human, &format!("{title} {more}"));
        Ok(())
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
