//! `yuba show`: states, plans and configurations, for people or programs.

mod diagnostics;

use std::path::{Path, PathBuf};

use yuba_eval::tree::Purpose;
use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::providers::InstalledProviders;
use yuba_session::show::{self, NotShown, PlanAndConfiguration};
use yuba_session::{Loaded, state};
use yuba_state::State;
use yuba_syntax::{Diagnostic, Sources};

use super::{Command, JsonForm, Run};
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::{JsonInto, JsonSettings};
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, SHOW_SENSITIVE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "show",
    synopsis: "Show the current state or a saved plan",
    usage: "[options] [file]",
    about: "Shows the state of the selected workspace, a state file or a saved plan. With -json, it can show the configuration \
            or one module too.",
    flags: &[
        Flag::switch("state", "Show the state of the selected workspace. This is the default."),
        Flag::text("plan", "file", "Show a saved plan."),
        Flag::switch("config", "Show the configuration. Requires -json."),
        Flag::text("module", "dir", "Show one module. Requires -json."),
        Flag::switch("json", "Write a JSON document. It contains sensitive values too."),
        JSON_INTO,
        SHOW_SENSITIVE,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

/// The object that is shown.
enum Subject {
    State,
    Plan(PathBuf),
    Configuration,
    Module(String),
    /// A file with a state or a plan.
    File(PathBuf),
}

/// Settings of the command.
struct ShowSettings {
    subject: Subject,
    into: Option<JsonInto>,
    json: bool,
    show_sensitive: bool,
}

impl ShowSettings {
    fn resolve(args: &Args) -> Result<ShowSettings, Failure> {
        Ok(ShowSettings {
            subject: subject(args).map_err(|problem| Failure::Usage(problem.into()))?,
            into: JsonInto::open(&JsonSettings::resolve(args)?)?,
            json: args.is_on("json"),
            show_sensitive: args.is_on("show-sensitive"),
        })
    }
}

fn subject(args: &Args) -> Result<Subject, Diagnostic> {
    let text = |name: &str| args.text(name).filter(|text| !text.is_empty());
    if args.is_on("config") && !args.is_on("json") {
        return Err(diagnostics::configuration_without_json());
    }
    if text("module").is_some() && !args.is_on("json") {
        return Err(diagnostics::module_without_json());
    }
    let mut wanted = Vec::new();
    wanted.extend(args.is_on("state").then_some(Subject::State));
    wanted.extend(text("plan").map(|path| Subject::Plan(path.into())));
    wanted.extend(args.is_on("config").then_some(Subject::Configuration));
    wanted.extend(text("module").map(|dir| Subject::Module(dir.to_owned())));
    match (wanted.len(), args.positional.as_slice()) {
        (0, []) => Ok(Subject::State),
        (0, [file]) => Ok(Subject::File(file.into())),
        (0, _) => Err(diagnostics::several_files()),
        (_, [_, ..]) => Err(diagnostics::file_with_subject()),
        (1, []) => Ok(wanted.swap_remove(0)),
        _ => Err(diagnostics::several_subjects()),
    }
}

/// The object that was found.
enum Shown {
    State(Option<State>),
    Plan(Box<PlanAndConfiguration>),
    Configuration(Box<Loaded>),
    /// The document.
    Module(String),
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let mut show = ShowSettings::resolve(args)?;
    let settings = Settings::new(args);
    let shown = find(terminal, &settings, &show.subject)
        .map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    let written = write(terminal, &mut show, &shown, settings.providers());
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

fn find(terminal: &mut Terminal, settings: &Settings, subject: &Subject) -> Result<Shown, Refusal> {
    let project = settings.project();
    let state = match subject {
        Subject::State => current_state(terminal, settings)?,
        Subject::File(path) => match show::plan_file(path, project) {
            Ok(plan) => return Ok(Shown::Plan(Box::new(plan))),
            Err(NotShown::Unusable(reason)) => return Err(diagnostics::unusable_plan(path, &reason).into()),
            Err(NotShown::Other(_)) => Some(state_file(settings, path)?),
        },
        Subject::Plan(path) => {
            let plan = show::plan_file(path, project).map_err(|problem| match problem {
                NotShown::Unusable(reason) | NotShown::Other(reason) => {
                    Refusal::from(diagnostics::plan_not_loaded(&reason))
                }
            })?;
            return Ok(Shown::Plan(Box::new(plan)));
        }
        Subject::Configuration => return Ok(Shown::Configuration(Box::new(show::configuration(project)?))),
        Subject::Module(dir) => {
            return Ok(Shown::Module(yuba_view::config_json::module(&*show::single_module(project, dir)?)));
        }
    };
    if let Some(state) = &state {
        state::usable_configuration(project, Purpose::Use)?;
        state::missing_schemas(settings.providers(), state)?;
    }
    Ok(Shown::State(state))
}

/// Writes the object to standard output and to the file of `-json-into`. The error is the reason why it cannot be shown.
fn write(
    terminal: &mut Terminal,
    settings: &mut ShowSettings,
    shown: &Shown,
    providers: &InstalledProviders,
) -> Result<(), String> {
    if let Some(into) = &mut settings.into {
        into.write(&json(shown, providers)?);
    }
    let look = yuba_view::plan::Look { show_sensitive: settings.show_sensitive, ..terminal.look() };
    let text = match shown {
        _ if settings.json => json(shown, providers)?,
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

fn json(shown: &Shown, providers: &InstalledProviders) -> Result<String, String> {
    let document = match shown {
        Shown::State(state) => yuba_view::state_json::state(state.as_ref(), providers),
        Shown::Plan(found) => yuba_view::plan_json::plan(&found.plan, &found.configuration.tree, found.schemas()),
        Shown::Configuration(configuration) => yuba_view::config_json::config(&configuration.tree, providers),
        Shown::Module(module) => Ok(module.clone()),
    };
    document.map(|document| format!("{document}\n")).map_err(|why| why.to_string())
}

fn current_state(terminal: &mut Terminal, settings: &Settings) -> Result<Option<State>, Refusal> {
    let location = state_access::location(settings, &StateFlags::default())?;
    let opened = location.look().map_err(|problems| diagnostics::state_not_loaded(&problems))?;
    terminal.report_aside(&opened.notes, &Sources::new());
    Ok(opened.state)
}

fn state_file(settings: &Settings, path: &Path) -> Result<State, Refusal> {
    let project = settings.project();
    let sealing = yuba_session::backend::sealing(project);
    let read = state::read_file(&**project.state_files(), path, sealing.as_ref());
    read.map_err(|problems| match show::is_json(project, path) {
        true => diagnostics::state_file_not_shown(&problems).into(),
        false => diagnostics::neither_state_nor_plan(&problems).into(),
    })
}
