//! `yuba workspace show`

use yuba_session::backend::about_journal;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace show",
    synopsis: "Show the name of the current workspace",
    usage: "[options]",
    about: "Shows the name of the workspace that is selected.",
    flags: &[JSON, JSON_INTO],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    if !args.positional.is_empty() {
        let detail = "This command takes no arguments. Did you mean to use -chdir?";
        return Err(Failure::usage("Unexpected argument", detail));
    }
    let mut messages = Messages::new(terminal, args)?;
    let settings = Settings::new(args);
    messages.note(&about_journal(settings.project()));
    let name = &settings.selected().name;
    messages.say(&format!("{name}\n"), name);
    Ok(0)
}
