//! `yuba state pull`: writes the state to standard output.

use yuba_session::backend::{Refusal, StateFlags};
use yuba_syntax::Sources;

use crate::commands::{Command, JsonForm, Run};
use crate::diagnostics;
use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state pull",
    synopsis: "Pull current state and output to stdout",
    usage: "[options]",
    about: "Writes the state of the selected workspace to standard output, in the current format of state files. Writes \
            nothing if the workspace has no state yet.",
    flags: &[VAR, VAR_FILE],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

/// Settings of `yuba state pull`.
struct PullSettings {
    state: StateFlags,
    project: Settings,
}

impl PullSettings {
    fn resolve(args: &Args) -> Result<PullSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(diagnostics::no_arguments_expected()));
        }
        Ok(PullSettings { state: state_access::flags(args)?, project: Settings::new(args) })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let PullSettings { state, project } = PullSettings::resolve(args)?;
    let look = || -> Result<_, Refusal> {
        state_access::check_configuration(&project)?;
        let location = state_access::location(&project, &state)?;
        Ok(location.look().map_err(|problems| diagnostics::pulled_state_unreadable(&problems))?)
    };
    match look() {
        Ok(opened) => {
            terminal.report_aside(&opened.notes, &Sources::new());
            if let Some(state) = &opened.state {
                let mut content = Vec::new();
                yuba_state::write_compact(state, &mut content);
                terminal.out_bytes(&content);
                terminal.out("\n");
            }
            Ok(0)
        }
        Err(refusal) => {
            terminal.report(&refusal.problems, &refusal.sources);
            Ok(1)
        }
    }
}
