//! `plan`, `apply`, `destroy` and `refresh`: from settings to a project, through the phases of an operation, with output and
//! prompts on the way.

mod addresses;
mod approval;
pub(crate) mod diagnostics;
mod settings;

use std::path::Path;

use yuba_engine::PlanOptions;
use yuba_eval::tree::Purpose;
use yuba_plan::Mode;
use yuba_session::backend::LockWait;
use yuba_session::clock::Tick;
use yuba_session::provisioners::LocalProvisioners;
use yuba_session::{Applied, LoadOptions, Loaded, Locked, Planned, Progress, Project};
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::exit::{Failure, Outcome};
use crate::flags::Args;
use crate::operation_output::{OperationOutput, OutputSettings};
use crate::settings::project;
use crate::signals::Stop;
use crate::terminal::Terminal;

use settings::OperationSettings;
pub(crate) use settings::{Kind, parallelism};

pub(crate) fn run(terminal: &mut Terminal, args: &Args, kind: Kind) -> Outcome {
    let environment = args.hosts.environment();
    let project = Project::new(project(args));
    let settings = OperationSettings::resolve(args, environment, project.files(), kind)?;
    let mut output = OperationOutput::new(terminal, OutputSettings::resolve(args, environment)?);
    match &settings.saved_plan {
        Some(path) => apply_saved(&mut output, &project, &settings, path),
        None => operate(&mut output, &project, &settings),
    }
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
    let ask = settings.prompts.ask(output.is_json());
    let options = LoadOptions::new(Purpose::Use).without_tests().asking(ask);
    let loaded = match project.load(options).and_then(Loaded::ready) {
        Ok(loaded) => loaded,
        Err(refusal) => return failed(output, &refusal.problems, &refusal.sources),
    };
    let stop = Stop::watch();
    let locked = match loaded.lock(&settings.lock_options(), &mut Waiting { output, stop: &stop }) {
        Ok(locked) => locked,
        Err(refusal) => return failed(output, &refusal.problems, &refusal.sources),
    };
    match settings.kind {
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
            let planned = plan(output, locked, &settings.plan, &stop);
            apply(output, planned, &loaded, settings, &stop)
        }
    }
}

/// Refuses a directory without configuration, and a file for generated configuration that cannot be written.
fn check(project: &Project, settings: &OperationSettings) -> Result<(), Diagnostic> {
    let mode = settings.plan.mode;
    if mode != Mode::Destroy && !project.has_configuration() {
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
        output.plan(plan, loaded.project.providers());
    }
    let changes = planned.has_changes();
    let code = match planned.has_failed() {
        true => 1,
        false if changes && settings.detailed_exit_code => 2,
        false => 0,
    };
    let code = end(output, planned, &loaded.sources, code);
    if code != 1 && changes {
        let shown = |path: &Path| path.display().to_string();
        output.next_steps(settings.out.as_deref().map(shown).as_deref(), generated.map(shown).as_deref());
    }
    Ok(code)
}

/// Shows a plan, asks for approval, and applies it.
fn apply(
    output: &mut OperationOutput<'_>,
    mut planned: Planned<'_>,
    loaded: &Loaded,
    settings: &OperationSettings,
    stop: &Stop,
) -> Outcome {
    let has_failed = planned.has_failed();
    if let Some(plan) =
        planned.plan().filter(|plan| !has_failed || !plan.changes.is_empty() || !plan.outputs.is_empty())
    {
        output.plan(plan, loaded.project.providers());
    }
    if has_failed {
        return Ok(end(output, planned, &loaded.sources, 1));
    }
    if !settings.auto_approve && planned.has_changes() {
        output.report(&planned.take_diagnostics(), &loaded.sources);
        if !approval::approved(output, settings.prompts, settings.plan.mode, stop)? {
            return Ok(end(output, planned, &loaded.sources, 1));
        }
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
    let ask = settings.prompts.ask(output.is_json());
    let options = LoadOptions::new(Purpose::Use).without_tests().asking(ask).of_snapshot(Some(&saved.snapshot));
    let loaded = match project.load(options).and_then(Loaded::ready) {
        Ok(loaded) => loaded,
        Err(refusal) => return failed(output, &refusal.problems, &refusal.sources),
    };
    let stop = Stop::watch();
    let locked = match loaded.lock(&settings.lock_options(), &mut Waiting { output, stop: &stop }) {
        Ok(locked) => locked,
        Err(refusal) => return failed(output, &refusal.problems, &refusal.sources),
    };
    let planned = match locked.resume(saved) {
        Ok(planned) => planned,
        Err(problems) => return failed(output, &problems, &loaded.sources),
    };
    if let Some(plan) = planned.plan() {
        output.saved_plan(plan);
    }
    let applied = carry_out(output, planned, project, settings, &stop);
    Ok(conclude(output, applied, &loaded.sources, settings.kind))
}

/// Reports a lock that takes long, and stops waiting for it when the user asks to.
pub(crate) struct Waiting<'w, 't> {
    pub(crate) output: &'w OperationOutput<'t>,
    pub(crate) stop: &'w Stop,
}

impl LockWait for Waiting<'_, '_> {
    fn slow(&mut self) {
        self.output.waiting();
    }

    fn is_interrupted(&mut self) -> bool {
        let interrupt = self.stop.interrupt();
        self.output.tick(interrupt);
        if interrupt.count() > 1 {
            // A request for the lock is under way and does not return: nothing was changed yet.
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
