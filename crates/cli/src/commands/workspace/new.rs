//! `yuba workspace new`

use yuba_session::backend::{Refusal, StateFlags, find};
use yuba_session::workspaces;
use yuba_syntax::Sources;
use yuba_value::quote::quote;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, LOCK, LOCK_TIMEOUT};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace new",
    synopsis: "Create a new workspace",
    usage: "[options] NAME",
    about: "Makes a new workspace, with a state of its own, and selects it.",
    flags: &[
        LOCK,
        LOCK_TIMEOUT,
        Flag::text("state", "path", "A state file whose content the new workspace starts with."),
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
    let mut flags = state_access::flags(args)?;
    let file = flags.state.take();
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        workspaces::check_name(name)?;
        let settings = Settings::new(args);
        let place = find(settings.project(), &StateFlags::default())?;
        workspaces::create(&place, settings.project().data_dir(), name, settings.selected())?;
        created(messages, name);
        if let Some(file) = file {
            let notes = workspaces::fill(&place, name, &file, &flags)?;
            messages.diagnostics(&notes, &Sources::new());
        }
        Ok(())
    };
    let done = work(&mut messages);
    messages.conclude(done)
}

/// Says that there is a new workspace.
pub(crate) fn created(messages: &mut Messages<'_>, name: &str) {
    let title = format!("Created and switched to workspace {}!", quote(name));
    let more = "It is empty: workspaces have states of their own, so \"yuba plan\" does not see what other\nworkspaces of \
                this configuration have.";
    let program = format!("{} {}", title.trim_end_matches('!'), more.replace('\n', " "));
    let human = format!("{}\n\n{more}\n", messages.terminal().coloured("32;1", &title));
    messages.say(&human, &program);
}
