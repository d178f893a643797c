//! `yuba show`: states, plans and configurations, for people or programs.

use std::path::Path;

use yuba_eval::tree::Purpose;
use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::load::Configuration;
use yuba_session::providers::OurProviders;
use yuba_session::show::{self, NotShown, PlanAndConfiguration};
use yuba_session::state;
use yuba_state::State;
use yuba_syntax::{Diagnostic, Sources};

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::JsonInto;
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, SHOW_SENSITIVE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "show",
    synopsis: "Show the current state or a saved plan",
    usage: "[options] [file]",
    about: "Shows the state of the selected workspace, or what is in the file of a state or a plan. With -json also the \
            configuration, or one module of it.",
    flags: &[
        Flag::switch(
            "state",
            "Show the state of the selected workspace; that is what happens without this option too.",
        ),
        Flag::text("plan", "file", "Show a saved plan."),
        Flag::switch("config", "Show the configuration. Needs -json."),
        Flag::text("module", "dir", "Show one module alone. Needs -json."),
        Flag::switch("json", "Write a JSON document. It has all values, sensitive or not."),
        JSON_INTO,
        SHOW_SENSITIVE,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

/// What to show.
enum Subject<'a> {
    State,
    Plan(&'a str),
    Configuration,
    Module(&'a str),
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
    wanted.extend(text("plan").map(Subject::Plan));
    wanted.extend(args.is_on("config").then_some(Subject::Configuration));
    wanted.extend(text("module").map(Subject::Module));
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

/// What was found.
enum Shown {
    State(Option<State>),
    Plan(Box<PlanAndConfiguration>),
    Configuration(Box<Configuration>),
    /// The document.
    Module(String),
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let subject = subject(args)?;
    let mut into = JsonInto::open(args)?;
    let settings = Settings::new(args);
    let shown =
        find(terminal, &settings, &subject).map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    let written = write(terminal, args, (&shown, settings.providers()), into.as_mut());
    Ok(written.map_or_else(
        |why| {
            // Quirk: this one is no diagnostic.
            let what = match shown {
                Shown::State(_) => "state to json",
                Shown::Plan(_) => "plan to json",
                Shown::Configuration(_) => "configuration to JSON",
                Shown::Module(_) => "module contents to JSON",
            };
            terminal.err(&format!("Failed to marshal {what}: {why}\n"));
            1
        },
        |()| 0,
    ))
}

fn find(terminal: &mut Terminal, settings: &Settings, subject: &Subject<'_>) -> Result<Shown, Refusal> {
    let request = || settings.request(Purpose::Use);
    let state = match subject {
        Subject::State => current_state(terminal, settings)?,
        Subject::File(path) => match show::plan_file(Path::new(path), &request()) {
            Ok(plan) => return Ok(Shown::Plan(Box::new(plan))),
            Err(NotShown::Unusable(reason)) => {
                let detail = format!("The plan file {path} cannot be used: {reason}.");
                return Err(Diagnostic::error("Couldn't show local plan", detail).into());
            }
            Err(NotShown::Other(_)) => Some(state_file(settings, path)?),
        },
        Subject::Plan(path) => {
            let plan = show::plan_file(Path::new(path), &request()).map_err(|problem| match problem {
                NotShown::Unusable(reason) | NotShown::Other(reason) => {
                    // Quirk: all there is to say is in the title.
                    let title = format!("couldn't load the provided path as either a local plan file ({reason})");
                    Refusal::from(Diagnostic::error(title, ""))
                }
            })?;
            return Ok(Shown::Plan(Box::new(plan)));
        }
        Subject::Configuration => return Ok(Shown::Configuration(Box::new(show::configuration(&request())?))),
        Subject::Module(dir) => {
            return Ok(Shown::Module(yuba_view::config_json::module(&*show::single_module(dir)?)));
        }
    };
    if let Some(state) = &state {
        state::usable_configuration(&request())?;
        state::missing_schemas(settings.providers(), state)?;
    }
    Ok(Shown::State(state))
}

/// Writes what was found to all places that want it; the error says why it cannot be shown.
fn write(
    terminal: &mut Terminal,
    args: &Args,
    (shown, providers): (&Shown, &OurProviders),
    into: Option<&mut JsonInto>,
) -> Result<(), String> {
    if let Some(into) = into {
        into.write(&json(shown, providers)?);
    }
    let look = terminal.look(args.is_on("show-sensitive"));
    let text = match shown {
        _ if args.is_on("json") => json(shown, providers)?,
        Shown::State(None) => "No state.\n".to_owned(),
        Shown::State(Some(state)) => {
            yuba_view::state::render(state, providers, look).map_err(|problems| problems.joined())?
        }
        Shown::Plan(found) => yuba_view::plan::render(&found.plan, found.schemas(), look),
        Shown::Configuration(_) | Shown::Module(_) => json(shown, providers)?,
    };
    terminal.out(&text);
    Ok(())
}

fn json(shown: &Shown, providers: &OurProviders) -> Result<String, String> {
    let document = match shown {
        Shown::State(state) => yuba_view::state_json::state(state.as_ref(), providers),
        Shown::Plan(found) => yuba_view::plan_json::plan(&found.plan, &found.configuration.tree, found.schemas()),
        Shown::Configuration(configuration) => yuba_view::config_json::config(&configuration.tree, providers),
        Shown::Module(module) => Ok(module.clone()),
    };
    document.map(|document| format!("{document}\n")).map_err(|why| why.to_string())
}

fn current_state(terminal: &mut Terminal, settings: &Settings) -> Result<Option<State>, Refusal> {
    let place = state_access::place(settings, &StateFlags::default())?;
    // Quirk: all there is to say is in the title.
    let opened = place
        .look()
        .map_err(|problems| Diagnostic::error(format!("failed to load state: {}", problems.joined()), ""))?;
    terminal.report_aside(&opened.notes, &Sources::new());
    Ok(opened.state)
}

fn state_file(settings: &Settings, path: &str) -> Result<State, Refusal> {
    let sealing = yuba_session::backend::sealing(&settings.request(Purpose::Look));
    state::read_file(Path::new(path), sealing.as_ref()).map_err(|problems| {
        let title = match show::is_json(Path::new(path)) {
            true => "Couldn't show state file",
            false => "Failed to read the given file as a state or plan file",
        };
        state::under(title, &problems).into()
    })
}
