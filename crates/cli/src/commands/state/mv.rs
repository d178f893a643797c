//! `yuba state mv`: moves objects to another address.

use std::path::{Path, PathBuf};

use yuba_session::backend::{OpenState, Refusal, StateFlags, StateLocation};
use yuba_session::state::{self, StateMoves};
use yuba_state::State;
use yuba_value::quote::quote;

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
    name: "state mv",
    synopsis: "Move an item in the state",
    usage: "[options] SOURCE DESTINATION",
    about: "Moves a module, a resource or a resource instance to another address in the state, or to another state file. The \
            object itself does not change. Rename it in the configuration too, or the next apply destroys it and creates a \
            new object at the old address.\n\n\
            A \"moved\" block in the configuration makes the same change in every state it is applied to.",
    flags: &[
        Flag::switch("dry-run", "Print the moves without changing the state."),
        BACKUP_ALWAYS,
        Flag::text("backup-out", "path", "File for the backup of the state in -state-out."),
        LOCK,
        LOCK_TIMEOUT,
        IGNORE_REMOTE_VERSION,
        STATE_TO_CHANGE,
        Flag::text("state-out", "path", "State file to move to. The default is the source state."),
        JSON,
        JSON_INTO,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba state mv`.
struct MoveSettings {
    source: String,
    target: String,
    run: RunMode,
    state: StateFlags,
    /// `-state-out`: the state file to move to.
    state_out: Option<PathBuf>,
    backup_out: Option<PathBuf>,
    json: JsonSettings,
    project: Settings,
}

impl MoveSettings {
    fn resolve(args: &Args) -> Result<MoveSettings, Failure> {
        let [source, target] = args.positional.as_slice() else {
            return Err(Failure::usage(diagnostics::argument_count(
                "two arguments: the source and the target address",
            )));
        };
        let mut state = state_access::flags_of_change(args)?;
        Ok(MoveSettings {
            source: source.clone(),
            target: target.clone(),
            run: RunMode::resolve(args),
            state_out: state.state_out.take(),
            state,
            backup_out: args.non_empty("backup-out").map(Into::into),
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = MoveSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = move_in_state(&mut messages, &settings);
    messages.conclude(done)
}

fn move_in_state(messages: &mut Messages<'_>, settings: &MoveSettings) -> Result<(), Refusal> {
    let location = state_access::location_with_backup(&settings.project, &settings.state)?;
    if !location.is_file() {
        let is_set = |path: &Option<PathBuf>| path.as_ref().is_some_and(|path| path != Path::new("-"));
        let given = [("-backup", &settings.state.backup), ("-backup-out", &settings.backup_out)];
        let given: Vec<&str> = given.into_iter().filter(|(_, path)| is_set(path)).map(|(name, _)| name).collect();
        if !given.is_empty() {
            return Err(diagnostics::options_of_local_states(&given).into());
        }
    }
    let unreadable = &diagnostics::SOURCE_STATE_UNREADABLE;
    let mut opened = state_access::open(messages, &location, "state-mv", &settings.state, unreadable)?;
    let state = opened.state.take();
    let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let mut from = state::required(state)?;
        if let Some(path) = &settings.state_out {
            return move_to_file(messages, settings, (&location, &mut opened), from, path);
        }
        let moves = state::move_objects(&from, &from, &settings.source, &settings.target)?;
        announce(messages, settings.run, &moves);
        if settings.run == RunMode::Change {
            let count = moves.moved.len();
            moves.apply(&mut from);
            opened.save(&mut from).map_err(|problems| state_access::not_saved(&problems))?;
            conclude(messages, count);
        }
        Ok(())
    };
    let done = change(messages);
    state_access::close(messages, opened, done)
}

fn move_to_file(
    messages: &mut Messages<'_>,
    settings: &MoveSettings,
    (location, opened): (&StateLocation, &mut OpenState),
    mut from: State,
    path: &Path,
) -> Result<(), Refusal> {
    let other = StateLocation::file(path.to_owned(), settings.backup_out.clone(), location.backends())
        .encrypted_as(location)
        .with_backup_of_its_own(settings.project.project());
    let unreadable = &diagnostics::DESTINATION_STATE_UNREADABLE;
    let mut destination = state_access::open(messages, &other, "state-mv", &settings.state, unreadable)?;
    let to = destination.state.take();
    let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let mut to = to.unwrap_or_else(State::empty);
        let moves = state::move_objects(&from, &to, &settings.source, &settings.target)?;
        announce(messages, settings.run, &moves);
        if settings.run == RunMode::Change {
            let count = moves.moved.len();
            moves.apply_between(&mut from, &mut to);
            // The destination first: after a failure both states contain the objects, never neither.
            destination.save(&mut to).map_err(|problems| state_access::not_saved(&problems))?;
            opened.save(&mut from).map_err(|problems| state_access::not_saved(&problems))?;
            conclude(messages, count);
        }
        Ok(())
    };
    let done = change(messages);
    state_access::close(messages, destination, done)
}

/// Prints the addresses that move.
fn announce(messages: &mut Messages<'_>, run: RunMode, moves: &StateMoves) {
    let verb = if run == RunMode::Dry { "Would move" } else { "Move" };
    for moved in &moves.moved {
        messages.tell(&format!("{verb} {} to {}", quote(&moved.from), quote(&moved.to)));
    }
    if moves.moved.is_empty() && run == RunMode::Dry {
        messages.tell("Would have moved nothing.");
    }
}

fn conclude(messages: &mut Messages<'_>, count: usize) {
    match count {
        0 => messages.tell("No matching objects found."),
        count => messages.tell(&format!("Successfully moved {count} object(s).")),
    }
}
