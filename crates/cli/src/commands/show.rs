//! `yuba show`: the state, for people or programs.

use std::path::Path;

use yuba_eval::tree::Purpose;
use yuba_session::backend::{Refusal, StateFlags, joined};
use yuba_session::state;
use yuba_state::State;
use yuba_syntax::{Diagnostic, Sources};

use super::{Command, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::json_into::JsonInto;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, SHOW_SENSITIVE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "show",
    synopsis: "Show the current state or a saved plan",
    usage: "[options] [file]",
    about: "Shows the state of the selected workspace, or what is in a state file.",
    flags: &[
        Flag::switch(
            "state",
            "Show the state of the selected workspace; that is what happens without this option too.",
        ),
        Flag::text("plan", "file", "Show a saved plan."),
        Flag::switch("config", "Show the configuration. Needs -json."),
        Flag::text("module", "dir", "Show one module alone. Needs -json."),
        Flag::switch("json", "Write a JSON document. It has all values, sensitive or not."),
        Flag::text("json-into", "out.json", "Write the same JSON to a file, beside the output for people."),
        SHOW_SENSITIVE,
        VAR,
        VAR_FILE,
    ],
    run: Run::Function(run),
};

/// What to show.
enum Subject<'a> {
    State,
    Plan,
    Configuration,
    Module,
    File(&'a str),
}

fn subject(args: &Args) -> Result<Subject<'_>, Failure> {
    let text = |name: &str| args.text(name).filter(|text| !text.is_empty());
    if args.is_on("config") && !args.is_on("json") {
        let detail = "A configuration is shown as JSON only: -config needs -json.";
        return Err(Failure::usage("JSON output required for configuration", detail));
    }
    if text("module").is_some() && !args.is_on("json") {
        let detail = "A module is shown as JSON only: -module needs -json.";
        return Err(Failure::usage("JSON output required for module", detail));
    }
    let mut wanted = Vec::new();
    wanted.extend(args.is_on("state").then_some(Subject::State));
    wanted.extend(text("plan").map(|_| Subject::Plan));
    wanted.extend(args.is_on("config").then_some(Subject::Configuration));
    wanted.extend(text("module").map(|_| Subject::Module));
    match (wanted.len(), args.positional.as_slice()) {
        (0, []) => Ok(Subject::State),
        (0, [file]) => Ok(Subject::File(file)),
        (0, _) => Err(Failure::usage("Too many command line arguments", "At most one file can be given.")),
        (_, [_, ..]) => {
            let detail = "Where an option says what to show, no file can be given besides.";
            Err(Failure::usage("Unexpected command line arguments", detail))
        }
        (1, []) => Ok(wanted.swap_remove(0)),
        _ => {
            let detail = "-state, -plan, -config and -module exclude each other: choose one of them.";
            Err(Failure::usage("Conflicting object types to show", detail))
        }
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let subject = subject(args)?;
    let mut into = JsonInto::open(args)?;
    let settings = Settings::new(args);
    let work = |terminal: &mut Terminal| -> Result<Option<State>, Refusal> {
        match subject {
            Subject::State => current_state(terminal, &settings),
            Subject::File(path) => state_file(path).map(Some),
            Subject::Plan | Subject::Configuration | Subject::Module => {
                let detail = "This version of Yuba can show states only.";
                Err(Diagnostic::error("Option not available yet", detail).into())
            }
        }
    };
    let failed = |refusal: Refusal| Failure::Failed(refusal.problems, refusal.sources);
    let state = work(terminal).map_err(failed)?;
    if let Some(state) = &state {
        state::usable_configuration(&settings.request(Purpose::Use)).map_err(failed)?;
        state::missing_schemas(state).map_err(|problem| failed(problem.into()))?;
    }
    let shown = show(terminal, args, state.as_ref(), into.as_mut());
    Ok(shown.map_or_else(
        |why| {
            // Quirk: this one is no diagnostic.
            terminal.err(&format!("Failed to marshal state to json: {why}\n"));
            1
        },
        |()| 0,
    ))
}

/// Writes a state to all places that want it; the error says why it cannot be shown.
fn show(
    terminal: &mut Terminal,
    args: &Args,
    state: Option<&State>,
    into: Option<&mut JsonInto>,
) -> Result<(), String> {
    let json = || match yuba_view::state_json::state(state, &state::schemas) {
        Ok(document) => Ok(format!("{document}\n")),
        Err(why) => Err(why.to_string()),
    };
    if let Some(into) = into {
        into.write(&json()?);
    }
    let text = match state {
        _ if args.is_on("json") => json()?,
        None => "No state.\n".to_owned(),
        Some(state) => {
            let look = terminal.look(args.is_on("show-sensitive"));
            yuba_view::state::render(state, &state::schemas, look).map_err(|problems| joined(&problems))?
        }
    };
    terminal.out(&text);
    Ok(())
}

fn current_state(terminal: &mut Terminal, settings: &Settings) -> Result<Option<State>, Refusal> {
    let place = state_access::place(settings, &StateFlags::default())?;
    // Quirk: all there is to say is in the title.
    let opened = place
        .look()
        .map_err(|problems| Diagnostic::error(format!("failed to load state: {}", joined(&problems)), ""))?;
    terminal.report_aside(&opened.notes, &Sources::new());
    Ok(opened.state)
}

fn state_file(path: &str) -> Result<State, Refusal> {
    state::read_file(Path::new(path)).map_err(|problems| {
        let is_a_state = problems.iter().all(|problem| problem.summary != "Failed to open the given state file");
        let title = match is_a_state {
            true => "Couldn't show state file",
            false => "Failed to read the given file as a state or plan file",
        };
        state::under(title, &problems).into()
    })
}
