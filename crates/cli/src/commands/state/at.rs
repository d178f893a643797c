//! `yuba state at`: writes the state as it was at a time to standard output.

use yuba_session::backend::{Refusal, StateFlags, UtcTime};

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state at",
    synopsis: "Output the state as it was at a time",
    usage: "[options] TIME",
    about: "Writes the state of the selected workspace as it was at a time to standard output, in the current format of state files. \
            TIME is in RFC 3339: 2026-01-31T12:00:00Z. Writes nothing if the workspace had no state then. Requires the backend \"pg\" \
            with layout = \"resources\".",
    flags: &[VAR, VAR_FILE],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba state at`.
struct AtSettings {
    time: UtcTime,
    state: StateFlags,
    project: Settings,
}

impl AtSettings {
    fn resolve(args: &Args) -> Result<AtSettings, Failure> {
        let [time] = args.positional.as_slice() else {
            let required = "exactly one argument: a time in RFC 3339, like 2026-01-31T12:00:00Z";
            return Err(Failure::usage(diagnostics::argument_count(required)));
        };
        let Some(time) = UtcTime::parse(time) else {
            return Err(Failure::usage(diagnostics::time_invalid(time)));
        };
        Ok(AtSettings { time, state: state_access::flags(args)?, project: Settings::new(args) })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let AtSettings { time, state, project } = AtSettings::resolve(args)?;
    let read = || -> Result<_, Refusal> { state_access::location(&project, &state)?.at(time) };
    match read() {
        Ok(Some(state)) => {
            let mut content = Vec::new();
            yuba_state::write_compact(&state, &mut content);
            terminal.out_bytes(&content);
            terminal.out("\n");
            Ok(0)
        }
        Ok(None) => Ok(0),
        Err(refusal) => {
            terminal.report(&refusal.problems, &refusal.sources);
            Ok(1)
        }
    }
}
