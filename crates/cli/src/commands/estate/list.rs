//! `yuba estate list`: all workspaces of all configurations in a database.

use yuba_session::backend::{EstateWorkspace, Refusal, StateFlags};
use yuba_view::json::JsonValue;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "estate list",
    synopsis: "List all states of a database",
    usage: "[options]",
    about: "Lists the workspaces of all configurations in the database of the backend \"pg\" with layout = \"resources\": schema and \
            workspace, numbers of objects, outputs and locks, and the last operation. Schemas that the role cannot read are not \
            listed.",
    flags: &[JSON, JSON_INTO, VAR, VAR_FILE],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba estate list`.
struct ListSettings {
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl ListSettings {
    fn resolve(args: &Args) -> Result<ListSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::no_arguments_expected()));
        }
        Ok(ListSettings {
            state: state_access::flags(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = ListSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = list(&mut messages, &settings);
    messages.conclude(done)
}

fn list(messages: &mut Messages<'_>, settings: &ListSettings) -> Result<(), Refusal> {
    let found = state_access::location(&settings.project, &settings.state)?.estate()?;
    let name = |one: &EstateWorkspace| format!("{}.{} {}", one.schema, one.table, one.workspace);
    let width = found.iter().map(|one| name(one).chars().count()).max().unwrap_or_default();
    for one in &found {
        let human = format!("{:width$}  {}", name(one), in_words(one));
        messages.say_with(&format!("{human}\n"), &name(one), members(one));
    }
    Ok(())
}

/// `12 objects, 1 output, 0 locks, last operation: update aws_vpc.main (finished) by user@host at 2026-01-02T03:04:05Z`
fn in_words(one: &EstateWorkspace) -> String {
    let counted = |count: i64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let mut text =
        [counted(one.objects, "object"), counted(one.outputs, "output"), counted(one.locks, "lock")].join(", ");
    if let Some(last) = &one.last {
        let time = last.started.map(|time| format!(" at {time}")).unwrap_or_default();
        text += &format!(", last operation: {} {} ({}) by {}{time}", last.action, last.address, last.result, last.who);
    }
    text
}

fn members(one: &EstateWorkspace) -> Vec<(&'static str, JsonValue)> {
    let last = one.last.as_ref().map_or(JsonValue::Null, |last| {
        let time = last.started.map_or(JsonValue::Null, |time| JsonValue::from(time.to_string().as_str()));
        JsonValue::object(vec![
            ("action", JsonValue::from(last.action.as_str())),
            ("address", JsonValue::from(last.address.as_str())),
            ("result", JsonValue::from(last.result.as_str())),
            ("started", time),
            ("who", JsonValue::from(last.who.as_str())),
        ])
    });
    vec![
        ("last_operation", last),
        ("locks", JsonValue::Int(one.locks)),
        ("objects", JsonValue::Int(one.objects)),
        ("outputs", JsonValue::Int(one.outputs)),
        ("schema", JsonValue::from(one.schema.as_str())),
        ("serial", JsonValue::Int(i64::try_from(one.serial).unwrap_or(i64::MAX))),
        ("table", JsonValue::from(one.table.as_str())),
        ("type", JsonValue::from("estate_workspace")),
        ("workspace", JsonValue::from(one.workspace.as_str())),
    ]
}
