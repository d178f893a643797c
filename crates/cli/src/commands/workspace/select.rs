//! `yuba workspace select`

use yuba_session::backend::{Refusal, StateFlags, find};
use yuba_session::workspaces::{self, MissingWorkspace, WorkspaceSelection};
use yuba_value::quote::quote;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace select",
    synopsis: "Select a workspace",
    usage: "[options] NAME",
    about: "Selects another workspace. Other commands then use its state.",
    flags: &[Flag::switch("or-create", "Create the workspace if it does not exist."), JSON, JSON_INTO, VAR, VAR_FILE],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba workspace select`.
struct SelectSettings {
    name: String,
    missing: MissingWorkspace,
    json: JsonSettings,
    project: Settings,
}

impl SelectSettings {
    fn resolve(args: &Args) -> Result<SelectSettings, Failure> {
        Ok(SelectSettings {
            name: super::name(args)?,
            missing: if args.is_on("or-create") { MissingWorkspace::Create } else { MissingWorkspace::Fail },
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let SelectSettings { name, missing, json, project } = SelectSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &json)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let location = find(project.project(), &StateFlags::default())?;
        match workspaces::select(&location, project.project().data_dir(), &name, project.selected(), missing)? {
            WorkspaceSelection::Same => {}
            WorkspaceSelection::Created => super::new::created(messages, &name),
            WorkspaceSelection::Changed => {
                let text = format!("Switched to workspace {}", quote(&name));
                let human = messages.terminal().coloured("32", &format!("{text}."));
                messages.say(&format!("{human}\n"), &text);
            }
        }
        Ok(())
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
