//! `yuba workspace list`

use yuba_session::backend::{Refusal, StateFlags, about_journal, find};
use yuba_session::workspaces;
use yuba_view::json::JsonValue;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "workspace list",
    synopsis: "List Workspaces",
    usage: "[options]",
    about: "Lists all workspaces. A star marks the selected workspace.",
    flags: &[JSON, JSON_INTO, VAR, VAR_FILE],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba workspace list`.
struct ListSettings {
    json: JsonSettings,
    project: Settings,
}

impl ListSettings {
    fn resolve(args: &Args) -> Result<ListSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::no_arguments_expected()));
        }
        Ok(ListSettings { json: JsonSettings::resolve(args)?, project: Settings::new(args) })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let ListSettings { json, project: settings } = ListSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &json)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let location = find(settings.project(), &StateFlags::default())?;
        messages.note(&about_journal(settings.project()));
        let names = workspaces::list(&location)?;
        let selected = settings.selected();
        let mut human = String::new();
        for name in &names {
            human.push_str(if *name == selected.name { "* " } else { "  " });
            human.push_str(name);
            human.push('\n');
        }
        human.push('\n');
        let names = names.iter().map(|name| JsonValue::from(name.as_str())).collect();
        let members = vec![
            ("current_workspace", JsonValue::from(selected.name.as_str())),
            ("type", JsonValue::from("workspace_list")),
            ("workspaces", JsonValue::Array(names)),
        ];
        messages.say_with(&human, "list of workspaces", members);
        if selected.is_overridden {
            let human =
                "\n\nThe active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n\n";
            let program = "The active workspace is being overridden using the TF_WORKSPACE environment variable";
            messages.say(human, program);
        }
        Ok(())
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
