//! `yuba show`: states, plans and configurations, for people or tools.

mod diagnostics;
mod html;

use std::path::{Path, PathBuf};

use yuba_eval::graph::RefGraph;
use yuba_eval::tree::Purpose;
use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::providers::InstalledProviders;
use yuba_session::show::{self, NotShown, PlanAndConfiguration};
use yuba_session::{Loaded, Project, state};
use yuba_state::State;
use yuba_syntax::{Diagnostic, Sources};
use yuba_view::report::markdown::{self, DEFAULT_LIMIT, MIN_LIMIT, MarkdownPlan};
use yuba_view::report::views::PlanView;
use yuba_view::report::{PlanSources, Report, StateConfiguration, json as report_json};

use super::{Command, JsonForm, Run};
use crate::annotations;
use crate::exit::{Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::{JsonInto, JsonSettings};
use crate::plan_views::{self, GROUP, ONLY, ONLY_CHANGED, SUMMARY, TREE};
use crate::settings::{Settings, VAR, VAR_FILE};
use crate::state_access::{self, SHOW_SENSITIVE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "show",
    synopsis: "Show the current state or a saved plan",
    usage: "[options] [file...]",
    about: "Shows the state of the selected workspace, a state file or a saved plan. With -json, it can show the configuration \
            or one module too.\n\n\
            -summary, -tree, -group, -only and -only-changed show a plan in another form. -markdown writes one or several plans as \
            a comment for a pull request. -markdown and -report-json never contain sensitive values.",
    flags: &[
        Flag::switch("state", "Show the state of the selected workspace. This is the default."),
        Flag::text("plan", "file", "Show a saved plan."),
        Flag::switch("config", "Show the configuration. Requires -json."),
        Flag::text("module", "dir", "Show one module. Requires -json."),
        Flag::switch("json", "Write a JSON document. It contains sensitive values too."),
        JSON_INTO,
        Flag::text(
            "html",
            "file",
            "Write a report of the plan or state to an HTML file. It contains no sensitive values.",
        ),
        SUMMARY,
        TREE,
        GROUP,
        ONLY,
        ONLY_CHANGED,
        Flag::optional(
            "markdown",
            "BYTES",
            "Write plans as Markdown for a comment on a pull request, with at most this number of bytes. The default is 65536. \
             Several plan files make one comment.",
        ),
        Flag::switch("report-json", "Write a plan or a state as a report in JSON, without sensitive values."),
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
    /// Plans for a comment.
    Plans(Vec<PathBuf>),
}

/// Form of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Text for people.
    Text,
    /// `-json`
    Json,
    /// `-report-json`
    ReportJson,
    /// `-markdown`, with a number of bytes.
    Markdown(usize),
}

/// Settings of the command.
struct ShowSettings {
    subject: Subject,
    into: Option<JsonInto>,
    form: Form,
    view: PlanView,
    show_sensitive: bool,
    /// `-html`
    html: Option<PathBuf>,
}

impl ShowSettings {
    fn resolve(args: &Args) -> Result<ShowSettings, Failure> {
        let form = form(args).map_err(Failure::usage)?;
        let view = plan_views::resolve(args)?;
        if view.is_special() && form != Form::Text {
            return Err(Failure::usage(diagnostics::several_forms()));
        }
        Ok(ShowSettings {
            subject: subject(args, form).map_err(Failure::usage)?,
            into: JsonInto::open(&JsonSettings::resolve(args)?)?,
            form,
            view,
            show_sensitive: args.is_on("show-sensitive"),
            html: args.non_empty("html").map(PathBuf::from),
        })
    }
}

fn form(args: &Args) -> Result<Form, Diagnostic> {
    let limit = match args.text("markdown") {
        None => None,
        Some("") => Some(DEFAULT_LIMIT),
        Some(text) => match text.parse::<usize>() {
            Ok(limit) if limit >= MIN_LIMIT => Some(limit),
            _ => return Err(diagnostics::invalid_limit(text)),
        },
    };
    match (args.is_on("json"), args.is_on("report-json"), limit) {
        (false, false, None) => Ok(Form::Text),
        (true, false, None) => Ok(Form::Json),
        (false, true, None) => Ok(Form::ReportJson),
        (false, false, Some(limit)) => Ok(Form::Markdown(limit)),
        _ => Err(diagnostics::several_forms()),
    }
}

fn subject(args: &Args, form: Form) -> Result<Subject, Diagnostic> {
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
    if let Form::Markdown(_) = form {
        let files = args.positional.iter().map(PathBuf::from);
        return match (wanted.as_slice(), args.positional.is_empty()) {
            ([], false) => Ok(Subject::Plans(files.collect())),
            ([Subject::Plan(path)], true) => Ok(Subject::Plans(vec![path.clone()])),
            _ => Err(diagnostics::markdown_without_plan()),
        };
    }
    match (wanted.len(), args.positional.as_slice()) {
        (0, []) => Ok(Subject::State),
        (0, [file]) => Ok(Subject::File(file.into())),
        (0, _) => Err(diagnostics::several_files()),
        (_, [_, ..]) => Err(diagnostics::file_with_subject()),
        (1, []) => Ok(wanted.swap_remove(0)),
        _ => Err(diagnostics::several_subjects()),
    }
}

/// Source of a state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StateOrigin {
    /// The selected workspace: the configuration of the working directory belongs to it.
    Workspace,
    /// A file.
    File,
}

/// The object that was found.
enum Shown {
    State(Option<State>, StateOrigin),
    Plan(Box<PlanAndConfiguration>),
    /// A comment.
    Markdown(String),
    Configuration(Box<Loaded>),
    /// The document.
    Module(String),
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let mut show = ShowSettings::resolve(args)?;
    let settings = Settings::new(args);
    let shown =
        find(terminal, &settings, &show).map_err(|refusal| Failure::Failed(refusal.problems, refusal.sources))?;
    if let Some(path) = &show.html {
        html::write(&shown, path, &settings)?;
        if show.form == Form::Text {
            terminal.out(&format!("Wrote the report to {}.\n", path.display()));
            return Ok(0);
        }
    }
    let written = write(terminal, &mut show, &shown, &settings);
    Ok(written.map_or_else(
        |why| {
            // Quirk: OpenTofu prints this error without a diagnostic.
            let what = match shown {
                Shown::State(..) => "state to json",
                Shown::Plan(_) | Shown::Markdown(_) => "plan to json",
                Shown::Configuration(_) => "configuration to JSON",
                Shown::Module(_) => "module contents to JSON",
            };
            terminal.err(&format!("Failed to marshal {what}: {why}\n"));
            1
        },
        |()| 0,
    ))
}

fn find(terminal: &mut Terminal, settings: &Settings, show: &ShowSettings) -> Result<Shown, Refusal> {
    let project = settings.project();
    let (state, origin) = match &show.subject {
        Subject::State if show.view.is_special() => return Err(diagnostics::view_without_plan().into()),
        Subject::State => (current_state(terminal, settings)?, StateOrigin::Workspace),
        Subject::File(path) => match show::plan_file(path, project) {
            Ok(plan) => return Ok(Shown::Plan(Box::new(plan))),
            Err(NotShown::Unusable(reason)) => return Err(diagnostics::unusable_plan(path, &reason).into()),
            Err(NotShown::Other(_)) => (Some(state_file(settings, path)?), StateOrigin::File),
        },
        Subject::Plan(path) => return Ok(Shown::Plan(Box::new(saved_plan(project, path)?))),
        Subject::Plans(paths) => {
            let Form::Markdown(limit) = show.form else { return Err(diagnostics::several_files().into()) };
            return Ok(Shown::Markdown(comment(project, paths, limit)?));
        }
        Subject::Configuration => return Ok(Shown::Configuration(Box::new(show::configuration(project)?))),
        Subject::Module(dir) => {
            return Ok(Shown::Module(yuba_view::config_json::module(&*show::single_module(project, dir)?)));
        }
    };
    if show.view.is_special() {
        return Err(diagnostics::view_without_plan().into());
    }
    if let Some(state) = &state {
        state::usable_configuration(project, Purpose::Use)?;
        state::missing_schemas(settings.providers(), state)?;
    }
    Ok(Shown::State(state, origin))
}

fn saved_plan(project: &Project, path: &Path) -> Result<PlanAndConfiguration, Refusal> {
    show::plan_file(path, project).map_err(|problem| match problem {
        NotShown::Unusable(reason) | NotShown::Other(reason) => diagnostics::plan_not_loaded(&reason).into(),
    })
}

/// Plans as a comment. One plan is in memory at a time.
fn comment(project: &Project, paths: &[PathBuf], limit: usize) -> Result<String, Refusal> {
    let mut reports = Vec::new();
    for path in paths {
        let found = saved_plan(project, path)?;
        reports.push((root(project, path), report(&found)));
    }
    let plans: Vec<MarkdownPlan<'_>> = reports.iter().map(|(root, report)| MarkdownPlan { root, report }).collect();
    Ok(markdown::render(&plans, limit))
}

fn report(found: &PlanAndConfiguration) -> Report {
    let references = found.references();
    Report::of_plan(&sources(found, &references.graph))
}

/// The report of a state. That of the selected workspace has what only the configuration knows.
fn report_of_state(state: Option<&State>, origin: StateOrigin, settings: &Settings) -> Report {
    let (empty, project) = (State::empty(), settings.project());
    let (state, providers) = (state.unwrap_or(&empty), settings.providers());
    if origin == StateOrigin::File {
        return Report::of_state(state, "", providers, None);
    }
    let report = |configuration: Option<&StateConfiguration<'_>>| {
        Report::of_state(state, project.workspace(), providers, configuration)
    };
    let with_configuration = project.with_configuration(state, |found, diagnostics| {
        let (tree, files, evaluation) = (found.tree, found.sources, found.evaluation);
        report(Some(&StateConfiguration { tree, files, evaluation, diagnostics }))
    });
    with_configuration.unwrap_or_else(|| report(None))
}

fn sources<'f>(found: &'f PlanAndConfiguration, graph: &'f RefGraph<'f>) -> PlanSources<'f> {
    let configuration = &found.configuration;
    PlanSources {
        plan: &found.plan,
        tree: &configuration.tree,
        graph,
        files: &configuration.sources,
        schemas: found.schemas(),
    }
}

/// The name of a root module: the path in its repository of the directory with the plan file. Outside of a repository the directory
/// as it was given, or the name of the working directory.
fn root(project: &Project, path: &Path) -> String {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty() && *parent != Path::new("."));
    let dir = project.path(parent.unwrap_or(Path::new(".")));
    let dir = dir.canonicalize().unwrap_or(dir);
    let name = |dir: &Path| dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match (annotations::path_in_repository(project.environment(), &dir), parent) {
        (Some(inside), _) if !inside.is_empty() => inside,
        (Some(_), _) | (None, None) => name(&dir),
        (None, Some(parent)) => {
            let parent = parent.display().to_string();
            parent.strip_prefix("./").map(str::to_owned).unwrap_or(parent)
        }
    }
}

/// Writes the object to standard output and to the file of `-json-into`. The error is the reason why it cannot be shown.
fn write(
    terminal: &mut Terminal,
    settings: &mut ShowSettings,
    shown: &Shown,
    command: &Settings,
) -> Result<(), String> {
    let providers = command.providers();
    if let Some(into) = &mut settings.into {
        into.write(&json(shown, providers)?);
    }
    let look = yuba_view::plan::Look { show_sensitive: settings.show_sensitive, ..terminal.look() };
    let text = match shown {
        Shown::Markdown(comment) => comment.clone(),
        _ if settings.form == Form::Json => json(shown, providers)?,
        Shown::Plan(found) if settings.form == Form::ReportJson => format!("{}\n", report_json::report(&report(found))),
        Shown::State(state, origin) if settings.form == Form::ReportJson => {
            format!("{}\n", report_json::report(&report_of_state(state.as_ref(), *origin, command)))
        }
        Shown::State(None, _) => "No state.\n".to_owned(),
        Shown::State(Some(state), _) => {
            yuba_view::state::render(state, providers, look).map_err(|problems| problems.joined())?
        }
        Shown::Plan(found) if settings.view.is_special() => {
            let references = found.references();
            plan_views::render(&sources(found, &references.graph), &settings.view, look)
        }
        Shown::Plan(found) => {
            let text = yuba_view::plan::render(&found.plan, found.schemas(), look);
            let lines = text.matches('\n').count();
            match terminal.height().filter(|height| lines > height.saturating_sub(plan_views::ROWS_BELOW)) {
                Some(height) => {
                    let references = found.references();
                    text + &plan_views::digest(&sources(found, &references.graph), height, look)
                }
                None => text,
            }
        }
        Shown::Configuration(_) | Shown::Module(_) => json(shown, providers)?,
    };
    terminal.out(&text);
    Ok(())
}

fn json(shown: &Shown, providers: &InstalledProviders) -> Result<String, String> {
    let document = match shown {
        Shown::State(state, _) => yuba_view::state_json::state(state.as_ref(), providers),
        Shown::Plan(found) => yuba_view::plan_json::plan(&found.plan, &found.configuration.tree, found.schemas()),
        Shown::Configuration(configuration) => yuba_view::config_json::config(&configuration.tree, providers),
        Shown::Module(module) => Ok(module.clone()),
        Shown::Markdown(_) => return Err("several plans have no JSON document".to_owned()),
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
