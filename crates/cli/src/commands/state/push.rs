//! `yuba state push`: replaces the state with a file.

use std::io::Read as _;

use yuba_session::backend::{Refusal, StateFlags, SuccessorCheck};
use yuba_session::state;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state push",
    synopsis: "Update remote state from a local state file",
    usage: "[options] PATH",
    about: "Replaces the state of the selected workspace with a state file; \"-\" reads standard input. The file must have \
            the same lineage as the current state and a greater serial.",
    flags: &[
        Flag::switch("force", "Write the state even if its lineage differs or its serial is not greater."),
        LOCK,
        LOCK_TIMEOUT,
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

/// Settings of `yuba state push`.
struct PushSettings {
    file: String,
    /// `-force`: lineage and serial are not compared.
    check: SuccessorCheck,
    state: StateFlags,
    json: JsonSettings,
    project: Settings,
}

impl PushSettings {
    fn resolve(args: &Args) -> Result<PushSettings, Failure> {
        let [file] = args.positional.as_slice() else {
            let required = "exactly one argument: the path of a state file";
            return Err(Failure::usage(diagnostics::argument_count(required)));
        };
        Ok(PushSettings {
            file: file.clone(),
            check: if args.is_on("force") { SuccessorCheck::Skipped } else { SuccessorCheck::Required },
            state: state_access::flags_of_change(args)?,
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = PushSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &settings.json)?;
    let done = push(&mut messages, &settings);
    messages.conclude(done)
}

fn push(messages: &mut Messages<'_>, settings: &PushSettings) -> Result<(), Refusal> {
    let given = state::read_given(&settings.file, read(&settings.file))?;
    state_access::check_configuration(&settings.project)?;
    let location = state_access::location(&settings.project, &settings.state)?;
    let unreadable = &diagnostics::DESTINATION_STATE_UNREADABLE;
    let mut opened = state_access::open(messages, &location, "state-push", &settings.state, unreadable)?;
    let saved = opened.store().replace(&given, settings.check);
    state_access::close(messages, opened, saved.map(|_| ()).map_err(Refusal::from))
}

/// The content of a file; `-` is standard input.
fn read(name: &str) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    match name {
        "-" => std::io::stdin().lock().read_to_end(&mut content)?,
        name => std::fs::File::open(name)?.read_to_end(&mut content)?,
    };
    Ok(content)
}
