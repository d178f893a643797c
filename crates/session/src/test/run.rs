//! One run: plan, maybe apply, and look whether everything is as asserted.

use std::time::Instant;

use ecow::eco_format;
use yuba_addrs::{AbsResourceInstance, ResourceMode, Target};
use yuba_config::test_file::{PlanMode, TestCommand, TestRun};
use yuba_engine::{ApplyDoors, Context, PlanOptions, apply_into, plan_into};
use yuba_eval::graph::References;
use yuba_eval::{EvalMode, Evaluation, Live, ModuleInstanceId, Verdict, WorldTime};
use yuba_plan::{Action, Mode, Plan};
use yuba_provider::mock::Substituted;
use yuba_state::State;
use yuba_syntax::{Diagnostics, Sources};

use super::expectations::Expectations;
use super::prepare::{Prepared, Subject};
use super::record::{Record, RecordPaths};
use super::{RunReport, TestRequest, TestStatus, Verbose, diagnostics};
use crate::applied::random;
use crate::clock::{SystemClock, wait};
use crate::operation::repeated::{ReportedUses, drop_checks, target_warnings};
use crate::operation::{EngineInputs, Progress};
use crate::provisioners::LocalProvisioners;

/// Outcome of a run.
pub(super) struct Executed {
    pub(super) report: RunReport,
    /// If it may have changed something.
    pub(super) changed: Option<Changed>,
    /// Files that were read for the run.
    pub(super) sources: Option<std::sync::Arc<Sources>>,
}

/// Result of a run.
pub(super) struct Changed {
    /// Its inputs.
    pub(super) prepared: Prepared,
    /// The state after it.
    pub(super) state: State,
    /// Objects that it was to create.
    pub(super) created: Vec<AbsResourceInstance>,
}

/// Receives the objects that are about to be created.
pub(super) type Creating<'a> = dyn Fn(&[AbsResourceInstance]) + 'a;

/// Does a run.
pub(super) fn execute(
    subject: &Subject<'_>,
    state: State,
    paths: Option<RecordPaths>,
    creating: &Creating<'_>,
) -> Executed {
    let _span = tracing::info_span!("test run", name = %subject.run.name).entered();
    let began = Instant::now();
    let mut executed = inner(subject, state, paths, creating);
    executed.report.took = began.elapsed();
    executed
}

fn inner(subject: &Subject<'_>, state: State, paths: Option<RecordPaths>, creating: &Creating<'_>) -> Executed {
    let run = subject.run;
    let report = |status: TestStatus, problems: Diagnostics| RunReport {
        name: run.name.clone(),
        status,
        problems,
        verbose: None,
        took: std::time::Duration::ZERO,
    };
    let stopped_here =
        |status, problems, sources| Executed { report: report(status, problems), changed: None, sources };
    let mut problems = subject.file.validate_overrides();
    if !problems.has_errors() {
        problems.extend(run.validate(&subject.base().root().module));
    }
    if problems.has_errors() {
        return stopped_here(TestStatus::Error, problems, None);
    }
    let (prepared, found) = subject.prepare();
    problems.extend(found);
    let Some(mut prepared) = prepared else { return stopped_here(TestStatus::Error, problems, None) };
    let sources = prepared.sources.clone();
    let of_variables = prepared.take_variable_problems();
    let (references, found) = subject.validate(&prepared);
    problems.extend(found);
    if !problems.has_errors() {
        problems.extend(of_variables);
    }
    let (options, found) = plan_options(run);
    if !problems.has_errors() {
        problems.extend(found);
    }
    if problems.has_errors() {
        return stopped_here(TestStatus::Error, problems, sources);
    }
    let work = Work::new(subject, &prepared, references);
    let plan_time = subject.request.project.world().now();
    let live = Live::for_plan(Some(plan_time));
    let (plan, planned) = work.plan(state, &options, plan_time, &live);
    let mut expectations = Expectations::of(run, &prepared.tree.root().module);
    if run.command == TestCommand::Plan {
        let mut planned = expectations.sort_out(planned);
        planned.extend(expectations.unmet());
        problems.extend(planned);
        if problems.has_errors() {
            return stopped_here(TestStatus::Error, problems, sources);
        }
        let (status, found) = work.assertions(&live);
        problems.extend(found);
        let verbose = plan.filter(|_| subject.request.verbose);
        let verbose = verbose.map(|plan| Verbose::Plan(Box::new(plan), prepared.tree.clone()));
        let report = RunReport { verbose, ..report(status, problems) };
        return Executed { report, changed: None, sources };
    }
    let early = expectations.too_early(&planned);
    let failed = planned.has_errors();
    let reported = ReportedUses::of(&planned);
    let mut planned = planned;
    if !failed {
        // Applying makes the checks again, and those results count.
        drop_checks(&mut planned, Mode::Normal);
    }
    problems.extend(planned);
    problems.extend(early);
    let plan = match plan {
        Some(plan) if !failed && !plan.errored => plan,
        _ => return stopped_here(TestStatus::Error, problems, sources),
    };
    let created = created_by(&plan);
    creating(&created);
    let applying = Live::for_apply(Some(plan_time));
    let (state, applied) = work.apply(&plan, plan_time, &applying, paths);
    let mut applied = expectations.sort_out(applied);
    applied.extend(target_warnings(&plan));
    applied.extend(expectations.unmet());
    problems.extend(reported.new_among(applied));
    if problems.has_errors() {
        let report = report(TestStatus::Error, problems);
        return Executed { report, changed: Some(Changed { prepared, state, created }), sources };
    }
    let values = if plan.mode == Mode::RefreshOnly { &live } else { &applying };
    let (status, found) = work.assertions(values);
    problems.extend(reported.new_among(found));
    let verbose = subject.request.verbose.then(|| Verbose::State(Box::new(state.clone())));
    let report = RunReport { verbose, ..report(status, problems) };
    Executed { report, changed: Some(Changed { prepared, state, created }), sources }
}

/// Objects that a plan would create.
fn created_by(plan: &Plan) -> Vec<AbsResourceInstance> {
    let creates = |action: Action| {
        matches!(
            action,
            Action::Create | Action::CreateThenDelete | Action::DeleteThenCreate | Action::ForgetThenCreate
        )
    };
    plan.changes.iter().filter(|change| creates(change.action)).map(|change| change.addr.clone()).collect()
}

fn plan_options(run: &TestRun) -> (PlanOptions, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut options = PlanOptions {
        mode: match run.options.mode {
            PlanMode::Normal => Mode::Normal,
            PlanMode::RefreshOnly => Mode::RefreshOnly,
        },
        refresh: run.options.refresh,
        ..PlanOptions::default()
    };
    for traversal in &run.options.target {
        match Target::parse(traversal) {
            Ok(target) => options.targets.push(target),
            Err(found) => problems.extend(found),
        }
    }
    for traversal in &run.options.replace {
        match AbsResourceInstance::parse(traversal) {
            Ok(addr) if addr.resource.mode != ResourceMode::Managed => {
                problems.push(diagnostics::replace_of_data(&eco_format!("{addr}"), traversal.span));
            }
            Ok(addr) => options.force_replace.push(addr),
            Err(found) => problems.extend(found),
        }
    }
    if options.mode != Mode::Normal && !options.force_replace.is_empty() {
        problems.push(diagnostics::replace_while_refreshing());
    }
    (options, problems)
}

/// A run with what it works with.
pub(super) struct Work<'a> {
    subject: &'a Subject<'a>,
    prepared: &'a Prepared,
    /// The reference graph, for both planning and applying.
    references: References<'a>,
}

impl<'a> Work<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, prepared: &'a Prepared, references: References<'a>) -> Work<'a> {
        Work { subject, prepared, references }
    }

    fn request(&self) -> &TestRequest<'_> {
        self.subject.request
    }

    fn sources(&self) -> &Sources {
        self.subject.sources(self.prepared)
    }

    fn with_context<T>(&self, plan_time: WorldTime, work: impl FnOnce(Context<'_>) -> T) -> T {
        let request = self.request();
        let substitutions = self.prepared.substitutions();
        let providers = Substituted { inner: request.project.providers(), substitutions };
        let inputs = EngineInputs {
            tree: &self.prepared.tree,
            references: &self.references,
            sources: self.sources(),
            variables: &self.prepared.variables,
            providers: &providers,
            substitutions,
            parallelism: request.parallelism,
        };
        let progress = Progress { events: &|_| {}, interrupt: &request.stop.hard, tick: None };
        work(request.project.context(inputs, progress, &SystemClock, plan_time))
    }

    pub(super) fn plan(
        &self,
        state: State,
        options: &PlanOptions,
        plan_time: WorldTime,
        live: &Live,
    ) -> (Option<Plan>, Diagnostics) {
        let (plan, mut problems) = self
            .with_context(plan_time, |context| futures_executor::block_on(plan_into(context, state, options, live)));
        if self.request().stop.is_now() {
            problems.push(diagnostics::interrupted());
        }
        (plan, problems)
    }

    pub(super) fn apply(
        &self,
        plan: &Plan,
        plan_time: WorldTime,
        live: &Live,
        paths: Option<RecordPaths>,
    ) -> (State, Diagnostics) {
        let provisioners = LocalProvisioners::new(self.request().project, self.request().stop.now.clone());
        let mut recorder = Record::new((*plan.prior_state).clone(), paths);
        let applied = self.with_context(plan_time, |context| {
            let doors = ApplyDoors { recorder: &mut recorder, provisioners: &provisioners, random: &random };
            tracing::info_span!("apply").in_scope(|| futures_executor::block_on(apply_into(context, plan, doors, live)))
        });
        let mut problems = applied.problems;
        if self.request().stop.is_now() {
            problems.push(diagnostics::interrupted());
        }
        (applied.state, problems)
    }

    fn assertions(&self, live: &Live) -> (TestStatus, Diagnostics) {
        let request = self.request();
        let env = request.project.eval_env(self.sources());
        let evaluation = Evaluation::new(&self.prepared.tree, env, EvalMode::Live(live));
        let scope = evaluation.scope_at(live, ModuleInstanceId::ROOT).in_assertion(&self.prepared.tested);
        let mut status = TestStatus::Pass;
        let mut problems = Diagnostics::new();
        for rule in &self.subject.run.asserts {
            let (verdict, found) = wait(evaluation.settle(|| scope.check_assertion(rule)));
            problems.extend(found);
            status = status.max(match verdict {
                Verdict::Pass => TestStatus::Pass,
                Verdict::Fail(_) => TestStatus::Fail,
                Verdict::Unknown | Verdict::Error => TestStatus::Error,
            });
        }
        (status, problems)
    }
}
