//! `yuba taint` and `yuba untaint`: whether an object is to be replaced.

use yuba_addrs::ResourceMode;
use yuba_session::backend::Refusal;
use yuba_session::state::{self, Marked};
use yuba_state::State;
use yuba_syntax::{Diagnostic, Severity, Sources};

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, BACKUP, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT, STATE_OUT, STATE_TO_CHANGE};
use crate::terminal::Terminal;

const FLAGS: &[Flag] = &[
    Flag::switch("allow-missing", "Succeed even if there is no such resource instance."),
    BACKUP,
    LOCK,
    LOCK_TIMEOUT,
    IGNORE_REMOTE_VERSION,
    STATE_TO_CHANGE,
    STATE_OUT,
    JSON,
    JSON_INTO,
    VAR,
    VAR_FILE,
];

pub(crate) const TAINT: Command = Command {
    name: "taint",
    synopsis: "Mark a resource instance as not fully functional",
    usage: "[options] <address>",
    about: "Marks a resource instance in the state as one that is not fit for use. The next plan replaces it. Nothing \
            happens to the object itself now.\n\n\
            \"yuba apply -replace=ADDRESS\" replaces it without a mark, and shows what else that means before anything is \
            changed.",
    flags: FLAGS,
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(|terminal, args| run(terminal, args, true)),
};

pub(crate) const UNTAINT: Command = Command {
    name: "untaint",
    synopsis: "Remove the 'tainted' state from a resource instance",
    usage: "[options] name",
    about: "Takes the mark off a resource instance that \"yuba taint\" or an unfinished creation has left, so that the next \
            plan does not replace it.",
    flags: FLAGS,
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(|terminal, args| run(terminal, args, false)),
};

fn run(terminal: &mut Terminal, args: &Args, tainted: bool) -> Outcome {
    let operation = if tainted { "taint" } else { "untaint" };
    let [address] = args.positional.as_slice() else {
        return Err(Failure::usage("Invalid arguments", "Give the address of one resource instance."));
    };
    let flags = state_access::flags(args)?;
    let addr = state::instance_address(address);
    if let (Err(refusal), false) = (&addr, args.is_on("json")) {
        return Err(Failure::Usage(refusal.problems.clone()));
    }
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let addr = addr?;
        if tainted && addr.resource.mode != ResourceMode::Managed {
            let detail = format!("{addr} cannot be tainted: only managed resources can be replaced.");
            return Err(Diagnostic::error("Invalid resource address", detail).into());
        }
        let settings = Settings::new(args);
        if tainted {
            state_access::check_configuration(&settings)?;
        }
        let place = state_access::place(&settings, &flags)?;
        let mut opened = state_access::open(messages, &place, operation, &flags, "Error refreshing the state")?;
        let state = opened.state.take();
        let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
            let mut state = state.unwrap_or_else(State::empty);
            match state::set_tainted(&mut state, &addr, tainted) {
                Marked::Done => {}
                Marked::Missing(mut problem) if args.is_on("allow-missing") => {
                    problem.severity = Severity::Warning;
                    problem.detail =
                        format!("The state has no resource instance {addr}. Nothing has been changed.").into();
                    messages.diagnostics(&(*problem).into(), &Sources::new());
                    return Ok(());
                }
                Marked::Missing(problem) | Marked::Refused(problem) => return Err((*problem).into()),
            }
            opened.save(&mut state).map_err(|problems| state::under("Error writing state file", &problems))?;
            let what = if tainted { "marked as tainted" } else { "successfully untainted" };
            // Quirk: programs get this one with the full stop.
            let text = format!("Resource instance {addr} has been {what}.");
            messages.say(&format!("{text}\n"), &text);
            Ok(())
        };
        let done = change(messages);
        state_access::close(messages, opened, done)
    };
    let done = work(&mut messages);
    messages.conclude(done)
}
