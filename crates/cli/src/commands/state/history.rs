//! `yuba state history`: what happened to one object of the state.

use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::state::{self, ObjectChange};
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
    name: "state history",
    synopsis: "Show earlier versions of a resource in the state",
    usage: "[options] ADDRESS",
    about: "Shows when a resource instance was created, changed and removed in the state, with user and commit, oldest first. \
            Changes are names of attributes, without values. Requires the backend \"pg\" with layout = \"resources\".",
    flags: &[JSON, JSON_INTO, VAR, VAR_FILE],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba state history`.
struct HistorySettings {
    address: String,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl HistorySettings {
    fn resolve(args: &Args) -> Result<HistorySettings, Failure> {
        let [address] = args.positional.as_slice() else {
            let required = "exactly one argument: the address of a resource instance";
            return Err(Failure::usage(diagnostics::argument_count(required)));
        };
        Ok(HistorySettings {
            address: address.clone(),
            state: state_access::flags(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = HistorySettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = show(&mut messages, &settings);
    messages.conclude(done)
}

fn show(messages: &mut Messages<'_>, settings: &HistorySettings) -> Result<(), Refusal> {
    let addr = state::instance_address(&settings.address)?;
    let location = state_access::location(&settings.project, &settings.state)?;
    for change in location.history(&addr)? {
        let human = in_words(&change);
        messages.say_with(&format!("{human}\n"), &human, members(&settings.address, &change));
    }
    Ok(())
}

/// `2026-01-02T03:04:05Z  changed input, output  by user@host  (OperationTypeApply, commit 0123abc)`
fn in_words(change: &ObjectChange) -> String {
    let commit = &change.commit;
    let time = commit.time.map_or_else(|| "unknown time".to_owned(), |time| time.to_string());
    let attributes = change.attributes.join(", ");
    let separator = if attributes.is_empty() { "" } else { " " };
    let deposed = change.deposed.as_ref().map(|key| format!(" (deposed object {key})")).unwrap_or_default();
    let who = if commit.who.is_empty() { "an unknown user" } else { &commit.who };
    let mut origin: Vec<String> = Vec::new();
    origin.extend(Some(commit.operation.clone()).filter(|operation| !operation.is_empty()));
    origin.extend(Some(&commit.source_commit).filter(|id| !id.is_empty()).map(|id| format!("commit {id}")));
    let origin = if origin.is_empty() { String::new() } else { format!("  ({})", origin.join(", ")) };
    format!("{time}  {}{separator}{attributes}{deposed}  by {who}{origin}", change.kind.name())
}

fn members<'m>(address: &str, change: &ObjectChange) -> Vec<(&'m str, JsonValue)> {
    let commit = &change.commit;
    let text = |text: &str| JsonValue::from(text);
    let optional = |text: Option<&str>| text.map_or(JsonValue::Null, JsonValue::from);
    let time = commit.time.map(|time| time.to_string());
    let attributes = change.attributes.iter().map(|name| JsonValue::from(name.as_str())).collect();
    vec![
        ("address", text(address)),
        ("attributes", JsonValue::Array(attributes)),
        ("change", text(change.kind.name())),
        ("deposed", optional(change.deposed.as_deref())),
        ("operation", text(&commit.operation)),
        ("revision", JsonValue::Int(commit.revision)),
        ("run", text(&commit.run)),
        ("source_commit", optional(Some(commit.source_commit.as_str()).filter(|id| !id.is_empty()))),
        ("time", optional(time.as_deref())),
        ("type", text("object_change")),
        ("who", text(&commit.who)),
    ]
}
