//! `yuba workspace show`

use yuba_session::backend::about_journal;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::Settings;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace show",
    synopsis: "Show the name of the current workspace",
    usage: "[options]",
    about: "Shows the name of the selected workspace.",
    flags: &[JSON, JSON_INTO],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba workspace show`.
struct ShowSettings {
    json: JsonSettings,
    project: Settings,
}

impl ShowSettings {
    fn resolve(args: &Args) -> Result<ShowSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::no_arguments_expected()));
        }
        Ok(ShowSettings { json: JsonSettings::resolve(args)?, project: Settings::new(args) })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let ShowSettings { json, project } = ShowSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &json)?;
    messages.note(&about_journal(project.project()));
    let name = &project.selected().name;
    messages.say(&format!("{name}\n"), name);
    Ok(0)
}
