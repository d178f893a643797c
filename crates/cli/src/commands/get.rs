//! `yuba get`: installs the modules of a configuration.

use yuba_session::install;

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::messages::Messages;
use crate::settings::{Settings, TEST_DIR, VAR, VAR_FILE};
use crate::signals::Cancel;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "get",
    synopsis: "Install the modules of the configuration",
    usage: "[options]",
    about: "Installs the modules that the configuration in the current directory calls, and those that they call. \
            \"yuba init\" does that too, so there is seldom a reason to run this.\n\n\
            Local modules stay where they are, and no command needs this for them.",
    flags: &[
        Flag::switch("update", "Look for newer versions of modules that are installed already."),
        JSON,
        JSON_INTO,
        TEST_DIR,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Messages,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    if !args.positional.is_empty() {
        let detail = "This command takes no arguments. Did you mean to use -chdir?";
        return Err(Failure::usage("Unexpected argument", detail));
    }
    let settings = Settings::new(args);
    let mut messages = Messages::new(terminal, args)?;
    let cancel = Cancel::watch(&settings);
    let report = install::get(settings.project(), None, args.is_on("update"), &mut |event| messages.event(&event));
    if cancel.tell(&mut messages, "Module installation", report.problems.has_errors()) {
        return Ok(1);
    }
    messages.report(&report);
    Ok(u8::from(report.problems.has_errors()))
}
