//! `yuba workspace select`

use yuba_session::backend::{Refusal, StateFlags, find};
use yuba_session::workspaces::{self, Selection};
use yuba_value::quote::quote;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace select",
    synopsis: "Select a workspace",
    usage: "[options] NAME",
    about: "Selects another workspace: following commands work on its state.",
    flags: &[Flag::switch("or-create", "Make the workspace if it is not there."), JSON, JSON_INTO, VAR, VAR_FILE],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [name] = args.positional.as_slice() else {
        return Err(Failure::usage("Invalid arguments list", "Give the name of one workspace."));
    };
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let settings = Settings::new(args);
        let place = find(settings.project(), &StateFlags::default())?;
        let selected = settings.selected();
        match workspaces::select(&place, settings.project().data_dir(), name, selected, args.is_on("or-create"))? {
            Selection::Same => {}
            Selection::Created => super::new::created(messages, name),
            Selection::Changed => {
                let text = format!("Switched to workspace {}", quote(name));
                let human = messages.terminal().coloured("32", &format!("{text}."));
                messages.say(&format!("{human}\n"), &text);
            }
        }
        Ok(())
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
