//! `yuba state replace-provider`: objects belong to another provider.

use yuba_addrs::ProviderSource;
use yuba_session::backend::Refusal;
use yuba_session::state;
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::quote::quote;
use yuba_view::json::Json;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, BACKUP_ALWAYS, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT, STATE_TO_CHANGE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state replace-provider",
    synopsis: "Replace provider in the state",
    usage: "[options] FROM_PROVIDER_FQN TO_PROVIDER_FQN",
    about: "Gives all resources of a provider to another one: for a provider that has moved to another namespace or \
            registry. Which configuration of the provider a resource belongs to, and which instance of it, stays.",
    flags: &[
        Flag::switch("auto-approve", "Do not ask before the change."),
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

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [from, to] = args.positional.as_slice() else {
        let detail = "Give the addresses of two providers: the old one and the new one.";
        return Err(Failure::usage("Invalid number of arguments", detail));
    };
    if args.is_on("json") && !args.is_on("auto-approve") {
        let detail = "With -json nobody can be asked, so -auto-approve is needed too.";
        return Err(Failure::usage("Invalid usage", detail));
    }
    let flags = state_access::flags(args)?;
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let (from, to) = providers(from, to)?;
        let place = state_access::place_with_backup(&Settings::new(args), &flags)?;
        let title = "Failed to refresh source state";
        let mut opened = state_access::open(messages, &place, "state-replace-provider", &flags, title)?;
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
            if !args.is_on("auto-approve")
                && !messages.confirm("\nDo you want to make these changes?", "Only 'yes' will be accepted to continue.")
            {
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
    };
    let done = work(&mut messages);
    messages.conclude(done)
}

fn providers(from: &str, to: &str) -> Result<(ProviderSource, ProviderSource), Refusal> {
    let read = |which: &str, text: &str| {
        ProviderSource::parse(text).map_err(|error| {
            let title = format!("Invalid \"{which}\" provider {}", quote(text));
            Diagnostic::error(title, format!("{}: {}", error.code.summary, error.diagnostic().explanation()))
        })
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
    let resources = resources.iter().map(|name| Json::from(name.as_str())).collect();
    let members = vec![
        ("from", Json::String(from.to_string())),
        ("resources", Json::Array(resources)),
        ("to", Json::String(to.to_string())),
        ("type", Json::from("replace_provider")),
    ];
    messages.say_with(&human, &program, members);
}
