//! `yuba get`: installs the modules of a configuration.

use yuba_session::install::{self, Versions};

use super::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::settings::{Settings, TEST_DIR, VAR, VAR_FILE};
use crate::signals::Cancel;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "get",
    synopsis: "Install the modules of the configuration",
    usage: "[options]",
    about: "Installs the modules that the configuration in the current directory calls, directly and through other modules. \
            \"yuba init\" installs them too.\n\n\
            Local modules are used in their own directory and need no installation.",
    flags: &[
        Flag::switch("update", "Update installed modules to the newest allowed versions."),
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

/// Settings of `yuba get`.
struct GetSettings {
    update: bool,
    json: JsonSettings,
    project: Settings,
}

impl GetSettings {
    fn resolve(args: &Args) -> Result<GetSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::no_arguments_expected()));
        }
        Ok(GetSettings {
            update: args.is_on("update"),
            json: JsonSettings::resolve(args)?,
            project: Settings::new(args),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let GetSettings { update, json, project } = GetSettings::resolve(args)?;
    let mut messages = Messages::new(terminal, &json)?;
    let cancel = Cancel::watch(&project);
    let versions = if update { Versions::Newest } else { Versions::Installed };
    let report = install::get(project.project(), None, versions, &mut |event| messages.event(&event));
    if cancel.reported(&mut messages, "Module installation", &report.problems) {
        return Ok(1);
    }
    messages.report(&report);
    Ok(u8::from(report.problems.has_errors()))
}
