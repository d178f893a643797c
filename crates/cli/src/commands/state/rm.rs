//! `yuba state rm`: forgets objects without destroying them.

use yuba_session::backend::Refusal;
use yuba_session::state::{self, Addresses, Removal};
use yuba_syntax::Diagnostic;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, BACKUP_ALWAYS, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT, STATE_TO_CHANGE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state rm",
    synopsis: "Remove instances from the state",
    usage: "[options] ADDRESS...",
    about: "Removes resource instances from the state. The objects stay as they are, and Yuba does not know of them any \
            more. The address of a module means all instances in it and below it, the address of a resource all its \
            instances.\n\n\
            The same can be said with a \"removed\" block in the configuration, which works for everybody who uses it.",
    flags: &[
        Flag::switch("dry-run", "Only say what would be removed."),
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
    if args.positional.is_empty() {
        return Err(Failure::usage("Invalid number of arguments", "Give the address of what to remove."));
    }
    let flags = state_access::flags(args)?;
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let place = state_access::place_with_backup(&Settings::new(args), &flags)?;
        let mut opened = state_access::open(messages, &place, "state-rm", &flags, "Failed to refresh state")?;
        let state = opened.state.take();
        let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
            let mut state = state::required(state)?;
            let removal = Removal(Addresses::select(&state, &args.positional, true)?);
            let count = removal.0.len();
            let verb = if args.is_on("dry-run") { "Would remove" } else { "Removed" };
            for addr in &removal.0 {
                messages.tell(&format!("{verb} {addr}"));
            }
            if args.is_on("dry-run") {
                if count == 0 {
                    messages.tell("Would have removed nothing.");
                }
                return Ok(());
            }
            // Quirk: where nothing matches, the state is still written anew, in the current format.
            removal.apply(&mut state);
            opened.save(&mut state).map_err(|problems| state_access::not_saved(&problems))?;
            if count == 0 {
                let detail = "No matching objects found. Run \"yuba state list\" to see the addresses in the state.";
                return Err(Diagnostic::error("Invalid target address", detail).into());
            }
            messages.tell(&format!("Successfully removed {count} resource instance(s)."));
            Ok(())
        };
        let done = change(messages);
        state_access::close(messages, opened, done)
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
