//! `yuba state push`: a file becomes the state.

use std::io::Read as _;

use yuba_session::backend::Refusal;
use yuba_session::state;

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, IGNORE_REMOTE_VERSION, LOCK, LOCK_TIMEOUT};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state push",
    synopsis: "Update remote state from a local state file",
    usage: "[options] PATH",
    about: "Makes the content of a file the state of the selected workspace; \"-\" means standard input. The file has to \
            be a later version of the state that is there: of the same lineage, with a greater serial.",
    flags: &[
        Flag::switch("force", "Write the state even if it is not a later version of the one that is there."),
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

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let [file] = args.positional.as_slice() else {
        return Err(Failure::usage("Invalid number of arguments", "Give the path of one state file."));
    };
    let flags = state_access::flags(args)?;
    let mut messages = Messages::new(terminal, args)?;
    let work = |messages: &mut Messages<'_>| -> Result<(), Refusal> {
        let given = state::read_given(file, read(file))?;
        let settings = Settings::new(args);
        state_access::check_configuration(&settings)?;
        let place = state_access::place(&settings, &flags)?;
        let title = "Failed to refresh destination state";
        let mut opened = state_access::open(messages, &place, "state-push", &flags, title)?;
        let saved = opened.store().push(&given, args.is_on("force"));
        state_access::close(messages, opened, saved.map(|_| ()).map_err(Refusal::from))
    };
    let done = work(&mut messages);
    messages.conclude(done)
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
