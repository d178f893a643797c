//! `yuba workspace delete`

use yuba_session::backend::{Refusal, StateFlags, find};
use yuba_session::workspaces::{self, Deletion};
use yuba_syntax::Sources;
use yuba_value::quote::quote;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, LOCK, LOCK_TIMEOUT, StateWait};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace delete",
    synopsis: "Delete a workspace",
    usage: "[options] NAME",
    about: "Deletes a workspace and its state. If the state contains objects, the command requires -force: the objects \
            continue to exist, and Yuba no longer tracks them.",
    flags: &[
        Flag::switch("force", "Delete the workspace even if its state contains objects."),
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

/// Settings of `yuba workspace delete`.
struct DeleteSettings {
    name: String,
    deletion: Deletion,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl DeleteSettings {
    fn resolve(args: &Args) -> Result<DeleteSettings, Failure> {
        Ok(DeleteSettings {
            name: super::name(args)?,
            deletion: if args.is_on("force") { Deletion::Forced } else { Deletion::OnlyEmpty },
            state: state_access::flags(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = DeleteSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = delete(&mut messages, &settings);
    messages.conclude(done)
}

fn delete(messages: &mut Messages<'_>, settings: &DeleteSettings) -> Result<(), Refusal> {
    let name = &settings.name;
    let location = find(settings.project.project(), &StateFlags::default())?;
    let waiting = &mut StateWait::new(messages);
    let had_objects = workspaces::delete(&location, name, settings.deletion, &settings.state, waiting)?;
    let text = format!("Deleted workspace {}", quote(name));
    let human = messages.terminal().coloured("32", &format!("{text}!"));
    messages.say(&format!("{human}\n"), &text);
    if had_objects {
        messages.diagnostics(&diagnostics::deleted_workspace_had_objects(name).into(), &Sources::new());
    }
    Ok(())
}
