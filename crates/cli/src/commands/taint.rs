//! `yuba taint` and `yuba untaint`: mark an object to be replaced, or remove the mark.

use yuba_addrs::{AbsResourceInstance, ResourceMode};
use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::state::{self, Marked, TaintMark};
use yuba_state::State;
use yuba_syntax::Sources;

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, BACKUP, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT, STATE_OUT, STATE_TO_CHANGE};
use crate::terminal::Terminal;

const FLAGS: &[Flag] = &[
    Flag::switch("allow-missing", "Succeed even if the state does not contain the resource instance."),
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
    about: "Marks a resource instance in the state as tainted: the next plan replaces it. The command changes the state only, \
            not the object.\n\n\
            Prefer \"yuba apply -replace=ADDRESS\", which shows all effects of the replacement before it changes anything.",
    flags: FLAGS,
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(|terminal, args| run(terminal, args, TaintMark::Tainted)),
};

pub(crate) const UNTAINT: Command = Command {
    name: "untaint",
    synopsis: "Remove the 'tainted' state from a resource instance",
    usage: "[options] name",
    about: "Removes the tainted mark of a resource instance, so that the next plan does not replace it. \"yuba taint\" or a \
            failed creation sets the mark.",
    flags: FLAGS,
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(|terminal, args| run(terminal, args, TaintMark::Untainted)),
};

/// Settings of `yuba taint` and `yuba untaint`.
struct TaintSettings {
    mark: TaintMark,
    address: String,
    /// `-allow-missing`
    allow_missing: bool,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl TaintSettings {
    fn resolve(args: &Args, mark: TaintMark) -> Result<TaintSettings, Failure> {
        let [address] = args.positional.as_slice() else {
            return Err(Failure::usage(diagnostics::instance_to_taint_expected()));
        };
        Ok(TaintSettings {
            mark,
            address: address.clone(),
            allow_missing: args.is_on("allow-missing"),
            state: state_access::flags_of_change(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args, mark: TaintMark) -> Outcome {
    let settings = TaintSettings::resolve(args, mark)?;
    let addr = state::instance_address(&settings.address);
    if let (Err(refusal), false) = (&addr, settings.json.is_on) {
        return Err(Failure::Usage(refusal.problems.clone()));
    }
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = addr.and_then(|addr| change(&mut messages, &settings, &addr));
    messages.conclude(done)
}

fn change(messages: &mut Messages<'_>, settings: &TaintSettings, addr: &AbsResourceInstance) -> Result<(), Refusal> {
    let (operation, done) = match settings.mark {
        TaintMark::Tainted => ("taint", "marked as tainted"),
        TaintMark::Untainted => ("untaint", "successfully untainted"),
    };
    if settings.mark == TaintMark::Tainted {
        if addr.resource.mode != ResourceMode::Managed {
            return Err(diagnostics::taint_not_managed(addr).into());
        }
        state_access::check_configuration(&settings.project)?;
    }
    let location = state_access::location(&settings.project, &settings.state)?;
    let unreadable = &diagnostics::COMMAND_STATE_UNREADABLE;
    let mut opened = state_access::open(messages, &location, operation, &settings.state, unreadable)?;
    let state = opened.state.take();
    let change = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let mut state = state.unwrap_or_else(State::empty);
        match state::set_tainted(&mut state, addr, settings.mark) {
            Marked::Done => {}
            Marked::Missing(problem) if settings.allow_missing => {
                let warning = diagnostics::missing_instance_allowed(*problem, addr);
                messages.diagnostics(&warning.into(), &Sources::new());
                return Ok(());
            }
            Marked::Missing(problem) | Marked::Refused(problem) => return Err((*problem).into()),
        }
        opened.save(&mut state).map_err(|problems| state::under(&diagnostics::CHANGED_STATE_NOT_WRITTEN, &problems))?;
        // Quirk: the message for tools ends with the full stop.
        let text = format!("Resource instance {addr} has been {done}.");
        messages.say(&format!("{text}\n"), &text);
        Ok(())
    };
    let done = change(messages);
    state_access::close(messages, opened, done)
}
