//! `yuba drift`: objects that were changed or deleted outside of Yuba.

mod diagnostics;

use std::io::ErrorKind;

use yuba_engine::PlanOptions;
use yuba_eval::inputs::Ask;
use yuba_eval::tree::Purpose;
use yuba_plan::Mode;
use yuba_plan::drift::{Drift, IgnoreRule};
use yuba_session::backend::{Refusal, StateFlags};
use yuba_session::{
    ConfigurationCheck, EarlyProcesses, LoadOptions, Loaded, LockOptions, Locked, Project, RemoteWorkspaces,
};
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::EcoString;

use super::plan::{EXCLUDE, EXCLUDE_FILE, INPUT, PARALLELISM, TARGET, TARGET_FILE};
use super::{Command, JsonForm, Run};
use crate::diagnostics as common;
use crate::durations;
use crate::exit::{Audience, Failure, Outcome};
use crate::flags::{Args, Flag, JSON_INTO};
use crate::json_into::JsonSettings;
use crate::messages::Messages;
use crate::operate::{addresses, parallelism};
use crate::reading_progress;
use crate::settings::{VAR, VAR_FILE, ask, project};
use crate::state_access::{self, LOCK, LOCK_TIMEOUT, STATE, StateWait};
use crate::terminal::Terminal;

pub(crate) const COMMAND: Command = Command {
    name: "drift",
    synopsis: "Show objects that were changed outside of Yuba",
    usage: "[options]",
    about: "Reads all objects in the state again and shows which of them were changed or deleted outside of Yuba, attribute by \
            attribute. The command saves nothing: \"yuba apply -refresh-only\" updates the state.\n\n\
            The exit code is 0 without drift, 1 after an error, and 2 with drift.\n\n\
            Rules of -ignore and of the file .yubadrift exclude expected differences. A rule is a resource type, an \
            attribute or an address. A type or an address can have a colon and an attribute: aws_instance:tags, module.dns, tags_all.",
    flags: &[
        EXCLUDE,
        EXCLUDE_FILE,
        Flag::list("ignore", "rule", "Ignore expected differences. Repeat the option for several rules."),
        Flag::text("ignore-file", "path", "File with rules, one per line. The default is .yubadrift, if it exists."),
        INPUT,
        Flag::switch("json", "Write a JSON object."),
        JSON_INTO,
        LOCK,
        LOCK_TIMEOUT,
        PARALLELISM,
        STATE,
        TARGET,
        TARGET_FILE,
        VAR,
        VAR_FILE,
    ],
    json: JsonForm::Document,
    long_help: false,
    run: Run::Function(run),
};

/// The file with rules that is read if it exists.
const IGNORE_FILE: &str = ".yubadrift";

/// Exit code with drift.
const DRIFT: u8 = 2;

/// Settings of `yuba drift`.
struct DriftSettings {
    options: PlanOptions,
    rules: Vec<IgnoreRule>,
    state: StateFlags,
    parallelism: usize,
    ask: Option<Ask>,
    json: JsonSettings,
    project: Project,
}

impl DriftSettings {
    fn resolve(args: &Args) -> Result<DriftSettings, Failure> {
        if !args.positional.is_empty() {
            return Err(Failure::usage(common::no_arguments_expected()));
        }
        let project = Project::new(project(args));
        let mut options = PlanOptions { mode: Mode::RefreshOnly, refresh: true, ..PlanOptions::default() };
        let addresses::InvalidFlags { problems, sources } = addresses::read(args, project.files(), &mut options);
        if problems.has_errors() {
            return Err(Failure::Failed(problems, sources));
        }
        let json = JsonSettings::resolve(args)?;
        Ok(DriftSettings {
            options,
            rules: rules(args, &project)?,
            state: state_access::flags(args)?,
            parallelism: parallelism(args)?,
            ask: if json.is_on { None } else { ask(args) },
            json,
            project,
        })
    }
}

/// The rules of the flags and of the file.
fn rules(args: &Args, project: &Project) -> Result<Vec<IgnoreRule>, Failure> {
    let mut rules = Vec::new();
    for text in args.list("ignore") {
        let rule = IgnoreRule::parse(&text);
        rules.push(rule.map_err(|reason| Failure::usage(diagnostics::invalid_rule(&text, &reason)))?);
    }
    let named = args.non_empty("ignore-file");
    let path = named.unwrap_or(IGNORE_FILE);
    let text = match project.files().read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => return Ok(rules),
        Err(error) => return Err(Failure::failed(diagnostics::ignore_file_unreadable(path, &error))),
    };
    let of_file = IgnoreRule::parse_file(&text);
    rules.extend(
        of_file.map_err(|(line, reason)| Failure::failed(diagnostics::invalid_rule_in_file(path, line, &reason)))?,
    );
    Ok(rules)
}

fn run(terminal: &mut Terminal, args: &Args) -> Outcome {
    let settings = DriftSettings::resolve(args)?;
    let mut messages = Messages::silent(terminal, &settings.json)?;
    match examine(&mut messages, settings) {
        Ok(code) => Ok(code),
        Err(refusal) => Err(Failure::Failed(refusal.problems, refusal.sources)),
    }
}

/// Address and type of each instance in the state.
fn objects(locked: &Locked<'_>) -> Vec<(String, EcoString)> {
    let state = locked.state();
    state.instances().map(|(addr, ..)| (addr.to_string(), addr.resource.kind.clone())).collect()
}

/// Plans without changes, shows the differences, and drops the plan. Nothing is saved.
fn examine(messages: &mut Messages<'_>, settings: DriftSettings) -> Result<u8, Refusal> {
    let DriftSettings { options, rules, state, parallelism, ask, json, project } = settings;
    if let Some(warning) = project.providers().overrides_warning() {
        messages.terminal().report_aside(&warning.into(), &Sources::new());
    }
    let loaded = project.load(LoadOptions::new(Purpose::Use).without_tests().asking(ask)).and_then(Loaded::ready)?;
    let lock = LockOptions {
        operation: "OperationTypePlan",
        state,
        parallelism,
        check: ConfigurationCheck::Full,
        remote: RemoteWorkspaces::Refused,
        processes: EarlyProcesses::ForValidation,
    };
    let mut waiting = StateWait::new(messages);
    let locked = loaded.lock(&lock, &mut waiting);
    let stop = waiting.into_stop();
    let locked = locked?;
    let audience = if json.is_on { Audience::Programs } else { Audience::People };
    let objects = if rules.is_empty() { Vec::new() } else { objects(&locked) };
    let (expected, reader) = (durations::refreshed(&locked), (&project, audience));
    let planned = reading_progress::follow(messages.terminal(), reader, &stop, expected, |progress| {
        locked.plan(&options, progress)
    });
    let drift = planned.plan().map(|plan| Drift::of(&plan.drift, &rules, &objects));
    let has_failed = planned.has_failed();
    if let Some(drift) = drift.as_ref().filter(|drift| !has_failed || drift.is_any()) {
        if messages.wants_json_file() {
            messages.json_file(&yuba_view::drift::json(drift));
        }
        let text = match json.is_on {
            true => yuba_view::drift::json(drift),
            false => yuba_view::drift::render(drift, messages.terminal().style()),
        };
        messages.terminal().out(&text);
    }
    let mut diagnostics: Diagnostics = planned.end();
    // Planning reports about changes that this command does not plan.
    diagnostics.retain(|problem| problem.is_error() || !problem.is_about_deprecation());
    messages.terminal().report_aside(&diagnostics, &loaded.sources);
    match drift {
        _ if has_failed || diagnostics.has_errors() => Ok(1),
        Some(drift) if drift.is_any() => Ok(DRIFT),
        _ => Ok(0),
    }
}
