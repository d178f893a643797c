//! `yuba state replace-provider`: replaces the provider of resources in the state.

use yuba_addrs::{ProviderSource, ProviderSourceError};
use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::state;
use yuba_syntax::Diagnostics;
use yuba_view::json::JsonValue;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, BACKUP_ALWAYS, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT, STATE_TO_CHANGE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state replace-provider",
    synopsis: "Replace provider in the state",
    usage: "[options] FROM_PROVIDER_FQN TO_PROVIDER_FQN",
    about: "Replaces the provider of all resources of a provider in the state, for example after a provider moved to another \
            namespace or registry. The alias and the instance key of provider configurations do not change.",
    flags: &[
        Flag::switch("auto-approve", "Do not prompt for approval."),
        BACKUP_ALWAYS,
        LOCK,
        LOCK_TIMEOUT,
        STATE_TO_CHANGE,
        IGNORE_REMOTE_VERSION,
        JSON,
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba state replace-provider`.
struct ReplaceSettings {
    from: String,
    to: String,
    approval: Approval,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

/// Whether the user must approve the change.
#[derive(PartialEq, Eq)]
enum Approval {
    Prompt,
    /// `-auto-approve`
    Given,
}

impl ReplaceSettings {
    fn resolve(args: &Args) -> Result<ReplaceSettings, Failure> {
        let [from, to] = args.positional.as_slice() else {
            let required = "two arguments: the addresses of the old and the new provider";
            return Err(Failure::usage(diagnostics::argument_count(required)));
        };
        let approval = if args.is_on("auto-approve") { Approval::Given } else { Approval::Prompt };
        if args.is_on("json") && approval == Approval::Prompt {
            return Err(Failure::usage(diagnostics::replacement_needs_approval()));
        }
        Ok(ReplaceSettings {
            from: from.clone(),
            to: to.clone(),
            approval,
            state: state_access::flags_of_change(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = ReplaceSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = replace(&mut messages, &settings);
    messages.conclude(done)
}

fn replace(messages: &mut Messages<'_>, settings: &ReplaceSettings) -> Result<(), Refusal> {
    let (from, to) = providers(&settings.from, &settings.to)?;
    let location = state_access::location_with_backup(&settings.project, &settings.state)?;
    let unreadable = &diagnostics::SOURCE_STATE_UNREADABLE;
    let mut opened = state_access::open(messages, &location, "state-replace-provider", &settings.state, unreadable)?;
    let state = opened.state.take();
    let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let mut state = state::required(state)?;
        let resources = state::resources_of(&state, &from);
        if resources.is_empty() {
            messages.tell("No matching resources found.");
            return Ok(());
        }
        let names: Vec<String> = resources.iter().map(ToString::to_string).collect();
        announce(messages, &from, &to, &names);
        let question = ("\nDo you want to make these changes?", "Only 'yes' will be accepted to continue.");
        let approved = match settings.approval {
            Approval::Prompt => messages.confirm(question.0, question.1),
            Approval::Given => Ok(true),
        };
        if !approved.map_err(|reason| diagnostics::not_approved(&reason))? {
            messages.tell("Cancelled replacing providers.");
            return Ok(());
        }
        state::replace_provider(&mut state, &resources, &to);
        opened.save(&mut state).map_err(|problems| state_access::not_saved(&problems))?;
        messages.tell(&format!("Successfully replaced provider for {} resources.", resources.len()));
        Ok(())
    };
    let done = change(messages);
    state_access::close(messages, opened, done)
}

fn providers(from: &str, to: &str) -> Result<(ProviderSource, ProviderSource), Refusal> {
    let read = |which: &str, text: &str| {
        let problem = |error: ProviderSourceError| error.diagnostic();
        ProviderSource::parse(text)
            .map_err(|error| diagnostics::replaced_provider_invalid(which, text, &problem(error)))
    };
    match (read("from", from), read("to", to)) {
        (Ok(from), Ok(to)) => Ok((from, to)),
        (from, to) => {
            let mut problems = Diagnostics::new();
            problems.extend(from.err());
            problems.extend(to.err());
            Err(problems.into())
        }
    }
}

fn announce(messages: &mut Messages<'_>, from: &ProviderSource, to: &ProviderSource, resources: &[String]) {
    let count = resources.len();
    let list: String = resources.iter().map(|name| format!("  {name}\n")).collect();
    let terminal = messages.terminal();
    let human = format!(
        "Yuba will perform the following actions:\n\n  {} Updating provider:\n    {} {from}\n    {} {to}\n\n{} {count} \
         resources:\n\n{list}",
        terminal.coloured("33", "~"),
        terminal.coloured("31", "-"),
        terminal.coloured("32", "+"),
        terminal.bold("Changing"),
    );
    let program = format!("Yuba will replace provider from {from} to {to} for {count} resources");
    let resources = resources.iter().map(|name| JsonValue::from(name.as_str())).collect();
    let members = vec![
        ("from", JsonValue::String(from.to_string())),
        ("resources", JsonValue::Array(resources)),
        ("to", JsonValue::String(to.to_string())),
        ("type", JsonValue::from("replace_provider")),
    ];
    messages.say_with(&human, &program, members);
}
