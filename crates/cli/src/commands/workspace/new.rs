//! `yuba workspace new`

use std::path::PathBuf;

use yuba_session::backend::{Refusal, StateFlags, find};
use yuba_session::workspaces;
use yuba_syntax::Sources;
use yuba_value::quote::quote;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, LOCK, LOCK_TIMEOUT, StateWait};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace new",
    synopsis: "Create a new workspace",
    usage: "[options] NAME",
    about: "Creates a workspace with its own state and selects it.",
    flags: &[
        LOCK,
        LOCK_TIMEOUT,
        Flag::text("state", "path", "State file to copy into the new workspace."),
        JSON,
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba workspace new`.
struct NewSettings {
    name: String,
    /// The state file that the new workspace starts with.
    initial_state: Option<PathBuf>,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl NewSettings {
    fn resolve(args: &Args) -> Result<NewSettings, Failure> {
        let name = super::name(args)?;
        let mut state = state_access::flags(args)?;
        Ok(NewSettings {
            name,
            initial_state: state.state.take(),
            state,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = NewSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = create(&mut messages, &settings);
    messages.conclude(done)
}

fn create(messages: &mut Messages<'_>, settings: &NewSettings) -> Result<(), Refusal> {
    let (name, project) = (&settings.name, &settings.project);
    workspaces::check_name(name)?;
    let location = find(project.project(), &StateFlags::default())?;
    workspaces::create(&location, project.project().data_dir(), name, project.selected())?;
    created(messages, name);
    if let Some(file) = &settings.initial_state {
        let notes = workspaces::fill(&location, name, file, &settings.state, &mut StateWait::new(messages))?;
        messages.diagnostics(&notes, &Sources::new());
    }
    Ok(())
}

/// Reports the creation of a workspace.
pub(crate) fn created(messages: &mut Messages<'_>, name: &str) {
    let title = format!("Created and switched to workspace {}!", quote(name));
    let more = "The new workspace is empty. Each workspace has its own state, so \"yuba plan\" does not find\nobjects \
                of other workspaces of this configuration.";
    let program = format!("{} {}", title.trim_end_matches('!'), more.replace('\n', " "));
    let human = format!("{}\n\n{more}\n", messages.terminal().coloured("32;1", &title));
    messages.say(&human, &program);
}
