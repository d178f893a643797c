//! `yuba state pull`: the state as a file, on standard output.

use yuba_session::backend::Refusal;
use yuba_syntax::{Diagnostic, Sources};

use crate::commands::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access;
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "state pull",
    synopsis: "Pull current state and output to stdout",
    usage: "[options]",
    about: "Writes the state of the selected workspace to standard output, in the current format, wherever it is kept. \
            Where there is no state yet, nothing is written.",
    flags: &[VAR, VAR_FILE],
    json: JsonForm::None,
    long_help: false,
    run: Run::Function(run),
};

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    if !args.positional.is_empty() {
        let detail = "This command takes no arguments. Did you mean to use -chdir?";
        return Err(Failure::usage("Unexpected argument", detail));
    }
    let flags = state_access::flags(args)?;
    let work = || -> Result<_, Refusal> {
        let settings = Settings::new(args);
        state_access::check_configuration(&settings)?;
        let place = state_access::place(&settings, &flags)?;
        // Quirk: all there is to say is in the title.
        Ok(place
            .look()
            .map_err(|problems| Diagnostic::error(format!("Failed to refresh state: {}", problems.joined()), ""))?)
    };
    match work() {
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
            terminal.report_spaced(&refusal.problems, &refusal.sources);
            Ok(1)
        }
    }
}
