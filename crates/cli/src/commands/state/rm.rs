//! `yuba state rm`: removes objects from the state without destroying them.

use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::state::{self, Addresses, StateRemoval, Unmatched};

use super::RunMode;
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
    name: "state rm",
    synopsis: "Remove instances from the state",
    usage: "[options] ADDRESS...",
    about: "Removes resource instances from the state. The objects continue to exist, and Yuba no longer tracks them. The \
            address of a module selects all instances in it and its child modules, the address of a resource all its \
            instances.\n\n\
            A \"removed\" block in the configuration makes the same change in every state it is applied to.",
    flags: &[
        Flag::switch("dry-run", "Print the removals without changing the state."),
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

/// Settings of `yuba state rm`.
struct RemoveSettings {
    addresses: Vec<String>,
    run: RunMode,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl RemoveSettings {
    fn resolve(args: &Args) -> Result<RemoveSettings, Failure> {
        if args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::argument_count("at least one address")));
        }
        Ok(RemoveSettings {
            addresses: args.positional.clone(),
            run: RunMode::resolve(args),
            state: state_access::flags_of_change(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = RemoveSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = remove(&mut messages, &settings);
    messages.conclude(done)
}

fn remove(messages: &mut Messages<'_>, settings: &RemoveSettings) -> Result<(), Refusal> {
    let location = state_access::location_with_backup(&settings.project, &settings.state)?;
    let unreadable = &diagnostics::REMOVAL_STATE_UNREADABLE;
    let mut opened = state_access::open(messages, &location, "state-rm", &settings.state, unreadable)?;
    let state = opened.state.take();
    let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let mut state = state::required(state)?;
        let removal = StateRemoval(Addresses::select(&state, &settings.addresses, Unmatched::Ignore)?);
        let count = removal.0.len();
        let verb = if settings.run == RunMode::Dry { "Would remove" } else { "Removed" };
        for addr in &removal.0 {
            messages.tell(&format!("{verb} {addr}"));
        }
        if settings.run == RunMode::Dry {
            if count == 0 {
                messages.tell("Would have removed nothing.");
            }
            return Ok(());
        }
        // Quirk: the state is written in the current format even if no address matches.
        removal.apply(&mut state);
        opened.save(&mut state).map_err(|problems| state_access::not_saved(&problems))?;
        if count == 0 {
            return Err(diagnostics::removal_without_match().into());
        }
        messages.tell(&format!("Successfully removed {count} resource instance(s)."));
        Ok(())
    };
    let done = change(messages);
    state_access::close(messages, opened, done)
}
