//! `yuba state pg-grants`: roles with least privilege, as SQL to review.

use yuba_session::backend::{Refusal, StateFlags};

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state pg-grants",
    synopsis: "Write SQL that grants permissions on states in PostgreSQL",
    usage: "[options]",
    about: "Writes SQL that creates four roles for the states of the backend \"pg\" with layout = \"resources\": PREFIX_reader \
            reads the views, PREFIX_planner also plans, PREFIX_applier also changes states, PREFIX_owner also migrates the tables. \
            It changes nothing: review the statements and run them with psql.",
    flags: &[
        Flag::text("prefix", "NAME", "Beginning of the names of the roles. The default is the name of the schema."),
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba state pg-grants`.
struct GrantSettings {
    prefix: Option<String>,
    state: StateFlags,
    project: Settings,
}

impl GrantSettings {
    fn resolve(args: &Args) -> Result<GrantSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::no_arguments_expected()));
        }
        let prefix = args.non_empty("prefix").map(str::to_owned);
        let is_name = |prefix: &String| prefix.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if let Some(prefix) = prefix.as_ref().filter(|prefix| !is_name(prefix)) {
            return Err(Failure::usage(diagnostics::role_prefix_invalid(prefix)));
        }
        Ok(GrantSettings { prefix, state: state_access::flags(args)?, project: Settings::new(args) })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let GrantSettings { prefix, state, project } = GrantSettings::resolve(args)?;
    let written = || -> Result<_, Refusal> { state_access::location(&project, &state)?.grants(prefix.as_deref()) };
    match written() {
        Ok(sql) => {
            terminal.out(&sql);
            Ok(0)
        }
        Err(refusal) => {
            terminal.report(&refusal.problems, &refusal.sources);
            Ok(1)
        }
    }
}
