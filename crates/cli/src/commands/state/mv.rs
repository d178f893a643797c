//! `yuba state mv`: an object gets another address.

use yuba_session::backend::{Refusal, StateLocation};
use yuba_session::state::{self, Moves};
use yuba_state::State;
use yuba_value::quote::quote;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, BACKUP_ALWAYS, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT, STATE_TO_CHANGE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state mv",
    synopsis: "Move an item in the state",
    usage: "[options] SOURCE DESTINATION",
    about: "Gives a module, a resource or a resource instance another address in the state, or moves it to another state \
            file. Nothing happens to the object itself. Rename it in the configuration too, or it will be destroyed and \
            made anew under the old address.\n\n\
            The same can be said with a \"moved\" block in the configuration, which works for everybody who uses it.",
    flags: &[
        Flag::switch("dry-run", "Only say what would be moved."),
        BACKUP_ALWAYS,
        Flag::text("backup-out", "path", "The same as -backup, for the state of -state-out."),
        LOCK,
        LOCK_TIMEOUT,
        IGNORE_REMOTE_VERSION,
        STATE_TO_CHANGE,
        Flag::text("state-out", "path", "The state file to move to, if it is not the same one."),
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
    let [source, target] = args.positional.as_slice() else {
        let detail = "Give two addresses: what to move, and where to.";
        return Err(Failure::usage("Invalid number of arguments", detail));
    };
    let mut flags = state_access::flags(args)?;
    let state_out = flags.state_out.take();
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let place = state_access::place_with_backup(&Settings::new(args), &flags)?;
        let mut opened = state_access::open(messages, &place, "state-mv", &flags, "Failed to refresh source state")?;
        let state = opened.state.take();
        let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
            let mut from = state::required(state)?;
            let Some(path) = state_out else {
                let moves = state::move_objects(&from, &from, source, target)?;
                let count = say(messages, args, &moves);
                if !args.is_on("dry-run") {
                    moves.apply(&mut from);
                    opened.save(&mut from).map_err(|problems| state_access::not_saved(&problems))?;
                    conclude(messages, count);
                }
                return Ok(());
            };
            let backup = args.text("backup-out").filter(|path| !path.is_empty()).map(Into::into);
            let other =
                StateLocation::file(path, backup, place.backends()).encrypted_as(&place).with_backup_of_its_own();
            let title = "Failed to refresh destination state";
            let mut destination = state_access::open(messages, &other, "state-mv", &flags, title)?;
            let to = destination.state.take();
            let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
                let mut to = to.unwrap_or_else(State::empty);
                let moves = state::move_objects(&from, &to, source, target)?;
                let count = say(messages, args, &moves);
                if !args.is_on("dry-run") {
                    moves.apply_between(&mut from, &mut to);
                    // First where it goes to: better twice than nowhere.
                    destination.save(&mut to).map_err(|problems| state_access::not_saved(&problems))?;
                    opened.save(&mut from).map_err(|problems| state_access::not_saved(&problems))?;
                    conclude(messages, count);
                }
                Ok(())
            };
            let done = change(messages);
            state_access::close(messages, destination, done)
        };
        let done = change(messages);
        state_access::close(messages, opened, done)
    };
    let done = work(&mut messages);
    messages.conclude(done)
}

/// Says what moves; how many comes back.
fn say(messages: &mut Messages<'_>, args: &Args, moves: &Moves) -> usize {
    let verb = if args.is_on("dry-run") { "Would move" } else { "Move" };
    for moved in &moves.moved {
        messages.tell(&format!("{verb} {} to {}", quote(&moved.from), quote(&moved.to)));
    }
    if moves.moved.is_empty() && args.is_on("dry-run") {
        messages.tell("Would have moved nothing.");
    }
    moves.moved.len()
}

fn conclude(messages: &mut Messages<'_>, count: usize) {
    match count {
        0 => messages.tell("No matching objects found."),
        count => messages.tell(&format!("Successfully moved {count} object(s).")),
    }
}
