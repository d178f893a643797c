//! `yuba workspace delete`

use yuba_session::backend::{Refusal, StateFlags, find};
use yuba_session::workspaces;
use yuba_syntax::{Diagnostic, Sources};
use yuba_value::quote::quote;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, LOCK, LOCK_TIMEOUT};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace delete",
    synopsis: "Delete a workspace",
    usage: "[options] NAME",
    about: "Deletes a workspace with its state. One whose state has objects is deleted only with -force: the objects would \
            still exist, and nothing would know of them.",
    flags: &[
        Flag::switch("force", "Delete the workspace even if its state has objects."),
        LOCK,
        LOCK_TIMEOUT,
        JSON,
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [name] = args.positional.as_slice() else {
        return Err(Failure::usage("Invalid arguments list", "Give the name of one workspace."));
    };
    let flags = state_access::flags(args)?;
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let settings = Settings::new(args);
        let place = find(settings.project(), &StateFlags::default())?;
        let had_objects = workspaces::delete(&place, name, args.is_on("force"), &flags)?;
        let text = format!("Deleted workspace {}", quote(name));
        let human = messages.terminal().coloured("32", &format!("{text}!"));
        messages.say(&format!("{human}\n"), &text);
        if had_objects {
            let detail = "What was in its state may still exist, and nothing knows of it any more.";
            let warning = Diagnostic::warning(format!("{} was non-empty", quote(name)), detail);
            messages.diagnostics(&warning.into(), &Sources::new());
        }
        Ok(())
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
