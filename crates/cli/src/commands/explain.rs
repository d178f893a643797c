//! `yuba explain`: why an object is as it is, and what a diagnostic code means.

mod diagnostics;

use std::collections::BTreeMap;
use std::path::PathBuf;

use yuba_engine::PlanOptions;
use yuba_eval::tree::Purpose;
use yuba_plan::Mode;
use yuba_session::backend::{LockWait, Refusal, StateFlags};
use yuba_session::explain::Explainable;
use yuba_session::{ConfigurationCheck, EarlyProcesses, LoadOptions, Loaded, LockOptions, Project, RemoteWorkspaces};
use yuba_syntax::{Diagnostics, Sources};
use yuba_view::codes;
use yuba_view::explain::{self, Explanation, Facts, NotExplained};

use super::{Command, JsonForm, Run};
use crate::durations;
use crate::exit::{Audience, Failure, Outcome};
use crate::flags::{Args, Flag};
use crate::operate::parallelism;
use crate::reading_progress;
use crate::settings::{VAR, VAR_FILE, ask, project};
use crate::signals::Stop;
use crate::state_access::{self, LOCK, LOCK_TIMEOUT, STATE};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "explain",
    synopsis: "Explain why an object is planned, or what a diagnostic means",
    usage: "[options] ADDRESS|CODE [PLAN]",
    about: "Explains an object: the planned action and its reason, the attributes that change, the expressions and values that \
            decide them, its instances, its provider configuration, its objects in the state, and the objects that use it. \
            ADDRESS is a resource, an instance, a module, an output, a variable or a local value: \"aws_instance.web[0]\", \
            \"module.net\", \"local.tags\".\n\n\
            The explanation is about a saved plan. Without one, the command plans like \"yuba plan\" and discards the plan. \
            Sensitive values are never shown.\n\n\
            With the code or the title of a diagnostic, explains when that diagnostic occurs.",
    flags: &[
        Flag::switch(
            "state-only",
            "Explain the configuration and the state without a plan. Providers read no objects.",
        ),
        Flag::switch("destroy", "Explain a plan that destroys all managed objects."),
        Flag::switch_off("refresh", "Do not refresh the state from remote objects before planning."),
        Flag::switch_off("input", "Do not prompt for values of variables."),
        Flag::switch("json", "Write the explanation as a JSON document."),
        LOCK,
        LOCK_TIMEOUT,
        Flag::text("parallelism", "10", "Number of operations that can run at the same time."),
        STATE,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: true,
    run: Run::Function(run),
};

/// The source of an explanation of an object.
enum Source {
    /// A saved plan.
    SavedPlan(PathBuf),
    /// The state, without a plan.
    State,
    /// A plan that is made now.
    NewPlan(PlanOptions),
}

/// Settings of the command for an address.
struct ExplainSettings {
    address: String,
    source: Source,
    state: StateFlags,
    parallelism: usize,
    json: bool,
}

impl ExplainSettings {
    fn resolve(args: &Args, address: &str, plan: Option<&String>) -> Result<ExplainSettings, Failure> {
        let source = match plan {
            Some(path) => {
                let useless = ["state-only", "destroy", "refresh", "state", "lock", "lock-timeout", "var", "var-file"];
                if let Some(option) = useless.into_iter().find(|option| args.text(option).is_some()) {
                    return Err(Failure::usage(diagnostics::sources_conflict(option)));
                }
                Source::SavedPlan(path.into())
            }
            None if args.is_on("state-only") => Source::State,
            None => {
                let mode = if args.is_on("destroy") { Mode::Destroy } else { Mode::Normal };
                Source::NewPlan(PlanOptions { mode, refresh: args.is_on("refresh"), ..PlanOptions::default() })
            }
        };
        Ok(ExplainSettings {
            address: address.to_owned(),
            source,
            state: state_access::flags(args)?,
            parallelism: parallelism(args)?,
            json: args.is_on("json"),
        })
    }
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let (given, plan) = match args.positional.as_slice() {
        [given] => (given, None),
        [given, plan] => (given, Some(plan)),
        _ => {
            let required = "an address or a diagnostic code, and optionally a plan file";
            return Err(Failure::usage(diagnostics::arguments(required)));
        }
    };
    let rows = codes::named(given);
    if !rows.is_empty() && plan.is_none() {
        return Ok(of_code(terminal, args, &rows));
    }
    if !looks_like_address(given) {
        return Err(Failure::failed(diagnostics::unknown_code(given, &codes::similar(given))));
    }
    let settings = ExplainSettings::resolve(args, given, plan)?;
    let project = Project::new(project(args));
    match &settings.source {
        Source::SavedPlan(path) => {
            let found = project.explain_saved_plan(path, |found| explained(found, &settings)).map_err(refused)?;
            write(terminal, &settings, found)
        }
        Source::State => {
            let (found, notes) =
                project.explain_state(&settings.state, |found| explained(found, &settings)).map_err(refused)?;
            terminal.report_aside(&notes, &Sources::new());
            write(terminal, &settings, found)
        }
        Source::NewPlan(options) => with_new_plan(terminal, args, &project, &settings, options),
    }
}

fn refused(refusal: Refusal) -> Failure {
    Failure::Failed(refusal.problems, refusal.sources)
}

/// Whether an argument can be an address: codes and titles have no dot that joins two names.
fn looks_like_address(given: &str) -> bool {
    let mut parts = given.trim().split('.');
    let is_first = parts.next().is_some_and(|first| !first.is_empty() && !first.contains(char::is_whitespace));
    is_first && parts.next().is_some_and(|second| second.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

fn of_code(terminal: &mut Terminal, args: &Args, rows: &[codes::CodeRow]) -> u8 {
    let text = match args.is_on("json") {
        true => format!("{}\n", codes::json(rows).indented()),
        false => codes::text(rows, terminal.look()),
    };
    terminal.out(&text);
    0
}

fn explained(found: &Explainable<'_>, settings: &ExplainSettings) -> Result<Explanation, NotExplained> {
    let Explainable { tree, sources, graph, arguments, inputs, evaluation, schemas, state, plan } = *found;
    let facts = Facts { tree, sources, graph, arguments, inputs, evaluation, schemas, state, plan };
    explain::explain(&facts, &settings.address)
}

fn write(terminal: &mut Terminal, settings: &ExplainSettings, found: Result<Explanation, NotExplained>) -> Outcome {
    let explanation = found.map_err(|problem| {
        Failure::failed(match problem {
            NotExplained::Invalid => diagnostics::invalid_address(&settings.address),
            NotExplained::Unknown(similar) => diagnostics::unknown_address(&settings.address, similar.as_deref()),
        })
    })?;
    let text = match settings.json {
        true => format!("{}\n", explain::json(&explanation).indented()),
        false => explain::text(&explanation, terminal.look()),
    };
    terminal.out(&text);
    Ok(0)
}

/// Makes a plan, explains with it and drops it.
fn with_new_plan(
    terminal: &mut Terminal,
    args: &Args,
    project: &Project,
    settings: &ExplainSettings,
    options: &PlanOptions,
) -> Outcome {
    let load = LoadOptions::new(Purpose::Use).without_tests().asking(ask(args));
    let loaded = project.load(load).and_then(Loaded::ready).map_err(refused)?;
    let lock = LockOptions {
        operation: "OperationTypePlan",
        state: settings.state.clone(),
        parallelism: settings.parallelism,
        check: ConfigurationCheck::Full,
        remote: RemoteWorkspaces::Accepted,
        processes: EarlyProcesses::ForValidation,
    };
    let mut waiting = Waiting { terminal, stop: None };
    let locked = loaded.lock(&lock, &mut waiting);
    let stop = waiting.stop.take().unwrap_or_else(Stop::watch);
    let locked = locked.map_err(refused)?;
    let audience = if settings.json { Audience::Programs } else { Audience::People };
    let expected = if options.refresh { durations::refreshed(&locked) } else { BTreeMap::new() };
    let planned = reading_progress::follow(terminal, (project, audience), &stop, expected, |progress| {
        locked.plan(options, progress)
    });
    let found = planned.explain(|found| explained(found, settings));
    let problems: Diagnostics = planned.end();
    let code = match found {
        // An object that the failed part of the plan lacks is not unknown.
        Some(Err(_)) if problems.has_errors() => 1,
        Some(found) => write(terminal, settings, found)?,
        None => 1,
    };
    terminal.report_aside(&problems, &loaded.sources);
    Ok(if problems.has_errors() { 1 } else { code })
}

/// Reports a lock that takes long, aside from the explanation.
struct Waiting<'w> {
    terminal: &'w mut Terminal,
    stop: Option<Stop>,
}

impl LockWait for Waiting<'_> {
    fn starting(&mut self) {
        self.stop.get_or_insert_with(Stop::watch);
    }

    fn slow(&mut self) {
        self.terminal.err("Acquiring state lock. This may take a few moments...\n");
    }

    fn is_interrupted(&mut self) -> bool {
        let interrupts = self.stop.as_ref().map_or(0, |stop| stop.interrupt().count());
        if interrupts > 1 {
            // The request for the lock is pending: nothing was changed yet.
            crate::telemetry::finish();
            std::process::exit(1);
        }
        interrupts > 0
    }
}
