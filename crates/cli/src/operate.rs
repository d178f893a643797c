//! `plan`, `apply`, `destroy` and `refresh`: from settings to a project, through the phases of an operation, with output and
//! prompts on the way.

pub(crate) mod addresses;
mod approval;
pub(crate) mod diagnostics;
mod settings;

use std::path::Path;

use yuba_engine::PlanOptions;
use yuba_eval::tree::Purpose;
use yuba_plan::{Mode, Plan};
use yuba_session::backend::{LockWait, Reservation};
use yuba_session::clock::Tick;
use yuba_session::provisioners::LocalProvisioners;
use yuba_session::{Applied, LoadOptions, Loaded, Locked, Planned, Progress, Project};
use yuba_syntax::{Diagnostic, Diagnostics, Sources};
use yuba_view::report::PlanSources;

use crate::durations;
use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::operation_output::{OperationOutput, OutputSettings};
use crate::settings::project;
use crate::signals::Stop;
use crate::terminal::Terminal;
use crate::ui::PageEnd;

use settings::OperationSettings;
pub(crate) use settings::{Kind, parallelism};

pub(crate) fn run(terminal: &mut Terminal, args: &Args, kind: Kind) -> Outcome {
    run_with_page(terminal, args, kind, None)
}

/// The same, with a page that follows it.
pub(crate) fn run_with_page(terminal: &mut Terminal, args: &Args, kind: Kind, page: Option<PageEnd>) -> Outcome {
    let environment = args.hosts.environment();
    let project = Project::new(project(args));
    let settings = OperationSettings::resolve(args, environment, project.files(), kind)?;
    let mut output = OperationOutput::new(terminal, OutputSettings::resolve(args, &project, page)?);
    let outcome = match &settings.saved_plan {
        Some(path) => apply_saved(&mut output, &project, &settings, path),
        None => operate(&mut output, &project, &settings),
    };
    output.close_page();
    outcome
}

/// Makes a plan, and shows or applies it.
fn operate(output: &mut OperationOutput<'_>, project: &Project, settings: &OperationSettings) -> Outcome {
    if let Err(problem) = check(project, settings) {
        return failed(output, &problem.into(), &Sources::new());
    }
    // Quirk: refreshing changes the state too, without a warning about overridden providers.
    if settings.kind != Kind::Refresh {
        report_overrides(output, project);
    }
    let ask = settings.prompts.ask(output);
    let options = LoadOptions::new(Purpose::Use).without_tests().asking(ask).with_state();
    let loaded = match project.load(options).and_then(Loaded::ready) {
        Ok(loaded) => loaded,
        Err(refusal) => return failed(output, &refusal.problems, &refusal.sources),
    };
    let mut waiting = Waiting::new(output);
    let locked = loaded.lock(&settings.lock_options(), &mut waiting);
    let stop = waiting.into_stop();
    let locked = match locked {
        Ok(locked) => locked,
        Err(refusal) => return failed(output, &refusal.problems, &refusal.sources),
    };
    let outcome = match settings.kind {
        Kind::Plan => {
            output.report(locked.encryption_warnings(), &loaded.sources);
            let planned = plan(output, locked, &settings.plan, &stop);
            show(output, planned, &loaded, settings)
        }
        Kind::Refresh => {
            output.report(locked.encryption_warnings(), &loaded.sources);
            let applied = with_progress(output, &stop, |progress| locked.refresh(&settings.plan, progress));
            Ok(conclude(output, applied, &loaded.sources, settings.kind))
        }
        Kind::Apply | Kind::Destroy => {
            project.providers().expect_apply();
            let planned = plan(output, locked, &settings.plan, &stop);
            apply(output, planned, &loaded, settings, &stop)
        }
    };
    // The process ends with the command: the system takes the memory back at once, which takes less time than to free each
    // of a hundred thousand blocks. The project is freed, which ends its provider processes.
    std::mem::forget(loaded.tree);
    outcome
}

/// Refuses a directory without configuration, and a file for generated configuration that cannot be written.
fn check(project: &Project, settings: &OperationSettings) -> Result<(), Diagnostic> {
    let mode = settings.plan.mode;
    // `refresh` reads objects and changes none of them, so it works without configuration.
    if settings.kind != Kind::Refresh && mode != Mode::Destroy && !project.has_configuration() {
        return Err(diagnostics::no_configuration(match settings.kind {
            Kind::Plan => "yuba plan -destroy",
            Kind::Apply | Kind::Destroy | Kind::Refresh => "yuba destroy",
        }));
    }
    match &settings.generated {
        Some(_) if mode != Mode::Normal => Err(diagnostics::generates_nothing()),
        Some(path) if project.path(path).exists() => Err(diagnostics::generated_file_exists(path)),
        _ => Ok(()),
    }
}

fn plan<'l>(output: &OperationOutput<'_>, locked: Locked<'l>, options: &PlanOptions, stop: &Stop) -> Planned<'l> {
    if options.refresh && options.targets.is_empty() && options.excludes.is_empty() {
        output.expect_refresh(durations::refreshed(&locked));
    }
    with_progress(output, stop, |progress| locked.plan(options, progress))
}

/// Runs a part of an operation, and shows its progress.
pub(crate) fn with_progress<T>(output: &OperationOutput<'_>, stop: &Stop, work: impl FnOnce(Progress<'_>) -> T) -> T {
    let events = |event| output.event(&event);
    let tick = || output.tick(stop.interrupt());
    let tick = Some(Tick { every: output.beat(), run: &tick });
    let result = work(Progress { events: &events, interrupt: stop.interrupt(), tick });
    output.rest(stop.interrupt());
    result
}

/// Saves and shows a plan that is not applied. Where planning failed, the part that could be planned is saved and shown.
fn show(
    output: &mut OperationOutput<'_>,
    mut planned: Planned<'_>,
    loaded: &Loaded,
    settings: &OperationSettings,
) -> Outcome {
    if planned.plan().is_none() {
        return Ok(end(output, planned, &loaded.sources, 1));
    }
    let saved = settings.out.as_deref().map_or(Ok(()), |path| planned.save(path));
    let generated = settings.generated.as_deref();
    let generated = saved.and_then(|()| match generated {
        Some(path) => Ok(planned.write_generated(path)?.then_some(path)),
        None => Ok(None),
    });
    let generated = match generated {
        Ok(generated) => generated,
        Err(problem) => {
            let mut diagnostics = planned.take_diagnostics();
            diagnostics.push(problem);
            diagnostics.extend(planned.end());
            return failed(output, &diagnostics, &loaded.sources);
        }
    };
    if let Some(plan) = planned.plan() {
        output.plan(&sources(plan, &planned, loaded));
    }
    let changes = planned.has_changes();
    let code = match planned.has_failed() {
        true => 1,
        false if changes && settings.detailed_exit_code => 2,
        false => 0,
    };
    // Not freed, like the configuration.
    std::mem::forget(planned.take_plan());
    let code = end(output, planned, &loaded.sources, code);
    if code != 1 && changes {
        let shown = |path: &Path| path.display().to_string();
        output.next_steps(settings.out.as_deref().map(shown).as_deref(), generated.map(shown).as_deref());
    }
    output.end_of_plan();
    Ok(code)
}

/// The sources of reports of a plan.
fn sources<'p>(plan: &'p Plan, planned: &'p Planned<'_>, loaded: &'p Loaded) -> PlanSources<'p> {
    let (files, schemas) = (&loaded.sources, loaded.project.providers());
    PlanSources { plan, tree: &loaded.tree, graph: planned.references(), files, schemas }
}

/// Shows a plan, asks for approval, and applies it.
fn apply(
    output: &mut OperationOutput<'_>,
    planned: Planned<'_>,
    loaded: &Loaded,
    settings: &OperationSettings,
    stop: &Stop,
) -> Outcome {
    apply_made(output, planned, loaded, settings, stop, 0)
}

/// How often a plan is made again because other runs have changed what it depends on.
const RENEWALS: u32 = 20;

fn apply_made(
    output: &mut OperationOutput<'_>,
    mut planned: Planned<'_>,
    loaded: &Loaded,
    settings: &OperationSettings,
    stop: &Stop,
    renewals: u32,
) -> Outcome {
    let has_failed = planned.has_failed();
    if let Some(plan) =
        planned.plan().filter(|plan| !has_failed || !plan.changes.is_empty() || !plan.outputs.is_empty())
    {
        output.plan(&sources(plan, &planned, loaded));
    }
    if has_failed {
        let code = end(output, planned, &loaded.sources, 1);
        output.end_of_plan();
        return Ok(code);
    }
    // A plan of another state than the one that is locked now is made again, and shown again.
    let mut waiting = Waiting::attending(output, stop);
    let reserved = planned.reserve(&mut waiting);
    match reserved {
        Ok(Reservation::Held) => {}
        Ok(Reservation::Stale(addresses)) if renewals == RENEWALS => {
            return failed(output, &planned.stale(&addresses), &loaded.sources);
        }
        Ok(Reservation::Stale(_)) => {
            let locked = match planned.renew() {
                Ok(locked) => locked,
                Err(problems) => return failed(output, &problems, &loaded.sources),
            };
            output.planning_again();
            let planned = plan(output, locked, &settings.plan, stop);
            return apply_made(output, planned, loaded, settings, stop, renewals + 1);
        }
        Err(mut problems) => {
            problems.extend(planned.end());
            return failed(output, &problems, &loaded.sources);
        }
    }
    let asks = !settings.auto_approve && planned.has_changes();
    if asks {
        output.report(&planned.take_diagnostics(), &loaded.sources);
    }
    output.end_of_plan();
    if asks && !approval::approved(output, settings.prompts, settings.plan.mode, stop)? {
        return Ok(end(output, planned, &loaded.sources, 1));
    }
    let applied = carry_out(output, planned, &loaded.project, settings, stop);
    Ok(conclude(output, applied, &loaded.sources, settings.kind))
}

/// Applies a plan from a file.
fn apply_saved(
    output: &mut OperationOutput<'_>,
    project: &Project,
    settings: &OperationSettings,
    path: &Path,
) -> Outcome {
    let saved = match project.read_plan(path) {
        Ok(saved) => saved,
        Err(problem) => return failed(output, &problem.into(), &Sources::new()),
    };
    if let Err(problem) = saved.check_workspace(project.workspace()) {
        return failed(output, &problem.into(), &Sources::new());
    }
    report_overrides(output, project);
    let ask = settings.prompts.ask(output);
    let options =
        LoadOptions::new(Purpose::Use).without_tests().asking(ask).with_state().of_snapshot(Some(&saved.snapshot));
    let loaded = match project.load(options).and_then(Loaded::ready) {
        Ok(loaded) => loaded,
        Err(refusal) => return failed(output, &refusal.problems, &refusal.sources),
    };
    let mut waiting = Waiting::new(output);
    let locked = loaded.lock(&settings.lock_options(), &mut waiting);
    let stop = waiting.into_stop();
    let locked = match locked {
        Ok(locked) => locked,
        Err(refusal) => return failed(output, &refusal.problems, &refusal.sources),
    };
    let mut planned = match locked.resume(saved) {
        Ok(planned) => planned,
        Err(problems) => return failed(output, &problems, &loaded.sources),
    };
    let reserved = planned.reserve(&mut Waiting::attending(output, &stop));
    match reserved {
        Ok(Reservation::Held) => {}
        Ok(Reservation::Stale(addresses)) => return failed(output, &planned.stale(&addresses), &loaded.sources),
        Err(mut problems) => {
            problems.extend(planned.end());
            return failed(output, &problems, &loaded.sources);
        }
    }
    if let Some(plan) = planned.plan() {
        output.saved_plan(plan);
        output.publish(&sources(plan, &planned, &loaded));
    }
    let applied = carry_out(output, planned, project, settings, &stop);
    Ok(conclude(output, applied, &loaded.sources, settings.kind))
}

/// Reports a lock that takes long, and stops waiting for it when the user asks to. Signals are handled from the request for the
/// lock on: before that, Ctrl-C ends the process.
pub(crate) struct Waiting<'w, 't> {
    output: &'w OperationOutput<'t>,
    stop: Option<Stop>,
    /// The interrupts of an operation that has begun.
    attended: Option<&'w Stop>,
}

impl<'w, 't> Waiting<'w, 't> {
    pub(crate) fn new(output: &'w OperationOutput<'t>) -> Waiting<'w, 't> {
        Waiting { output, stop: None, attended: None }
    }

    /// For locks that an operation takes after it has begun.
    fn attending(output: &'w OperationOutput<'t>, stop: &'w Stop) -> Waiting<'w, 't> {
        Waiting { output, stop: None, attended: Some(stop) }
    }

    /// The interrupts of the operation that follows.
    pub(crate) fn into_stop(self) -> Stop {
        self.stop.unwrap_or_else(Stop::watch)
    }
}

impl LockWait for Waiting<'_, '_> {
    fn starting(&mut self) {
        if self.attended.is_none() {
            self.stop.get_or_insert_with(Stop::watch);
        }
    }

    fn slow(&mut self) {
        self.output.waiting();
    }

    fn is_interrupted(&mut self) -> bool {
        let Some(stop) = self.attended.or(self.stop.as_ref()) else { return false };
        let interrupt = stop.interrupt();
        self.output.tick(interrupt);
        if interrupt.count() > 1 {
            // The request for the lock is pending: nothing was changed yet.
            crate::telemetry::finish();
            std::process::exit(1);
        }
        interrupt.is_raised()
    }
}

fn carry_out(
    output: &OperationOutput<'_>,
    planned: Planned<'_>,
    project: &Project,
    settings: &OperationSettings,
    stop: &Stop,
) -> Applied {
    if let Some(plan) = planned.plan() {
        output.expect(plan);
    }
    let provisioners = LocalProvisioners::new(project, stop.now_flag());
    with_progress(output, stop, |progress| planned.apply(settings.forgotten, &provisioners, progress))
}

/// Reports the result of an operation that changes the state. The exit code.
fn conclude(output: &mut OperationOutput<'_>, applied: Applied, sources: &Sources, kind: Kind) -> u8 {
    let has_failed = applied.has_failed();
    if let Some(bytes) = applied.unsaved {
        output.raw(&String::from_utf8_lossy(&bytes));
    }
    output.report(&applied.diagnostics, sources);
    if !has_failed {
        output.applied(&applied.counts, kind, &applied.outputs);
    }
    u8::from(has_failed)
}

/// Leaves a plan alone and reports its diagnostics. The exit code, which is 1 with errors.
fn end(output: &mut OperationOutput<'_>, planned: Planned<'_>, sources: &Sources, code: u8) -> u8 {
    let diagnostics = planned.end();
    output.report(&diagnostics, sources);
    if diagnostics.has_errors() { 1 } else { code }
}

/// Warns about providers under development, before anything else is reported.
fn report_overrides(output: &mut OperationOutput<'_>, project: &Project) {
    if let Some(warning) = project.providers().overrides_warning() {
        output.report(&warning.into(), &Sources::new());
    }
}

pub(crate) fn failed(
    output: &mut OperationOutput<'_>,
    problems: &Diagnostics,
    sources: &Sources,
) -> Result<u8, Failure> {
    output.report(problems, sources);
    Ok(1)
}
