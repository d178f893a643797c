//! One run: plan, maybe apply, and look whether everything is as asserted.

use std::time::Instant;

use ecow::eco_format;
use yuba_addrs::{AbsResourceInstance, ResourceMode, Target};
use yuba_config::test_file::{PlanMode, TestCommand, TestRun};
use yuba_engine::{ApplyDoors, PlanOptions};
use yuba_eval::graph::References;
use yuba_eval::{Live, ModuleInstanceId, Verdict};
use yuba_plan::{Action, Mode, Plan};
use yuba_provider::mock::Substituted;
use yuba_state::State;
use yuba_syntax::{Diagnostics, Sources};

use super::expectations::Expectations;
use super::prepare::{PreparedRun, Subject};
use super::record::{Record, RecordPaths};
use super::{RunReport, TestRequest, TestStatus, Verbose, diagnostics};
use crate::applied::random;
use crate::clock::wait;
use crate::operation::Progress;
use crate::operation::repeated::{ReportedUses, drop_checks, target_warnings};
use crate::prepared::{PlanOutcome, Prepared};
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
    pub(super) prepared: PreparedRun,
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
    let (prepared, ended) = prepare_and_run(subject, state, paths, creating);
    let Ended { status, problems, verbose, changed } = ended;
    let report = RunReport { name: subject.run.name.clone(), status, problems, verbose, took: began.elapsed() };
    let sources = prepared.as_ref().and_then(|prepared| prepared.sources.clone());
    let changed = prepared.zip(changed).map(|(prepared, (state, created))| Changed { prepared, state, created });
    Executed { report, changed, sources }
}

/// How a run ended.
struct Ended {
    status: TestStatus,
    problems: Diagnostics,
    verbose: Option<Verbose>,
    /// The new state and the objects that were to be created, if something may have changed.
    changed: Option<(State, Vec<AbsResourceInstance>)>,
}

impl Ended {
    fn failed(problems: Diagnostics) -> Ended {
        Ended { status: TestStatus::Error, problems, verbose: None, changed: None }
    }
}

fn prepare_and_run(
    subject: &Subject<'_>,
    state: State,
    paths: Option<RecordPaths>,
    creating: &Creating<'_>,
) -> (Option<PreparedRun>, Ended) {
    let run = subject.run;
    let mut problems = subject.file.validate_overrides();
    if !problems.has_errors() {
        problems.extend(run.validate(&subject.base().root().module));
    }
    if problems.has_errors() {
        return (None, Ended::failed(problems));
    }
    let (prepared, found) = subject.prepare();
    problems.extend(found);
    let Some(mut prepared) = prepared else { return (None, Ended::failed(problems)) };
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
    let ended = match problems.has_errors() {
        true => Ended::failed(problems),
        false => {
            let providers = prepared.providers(subject.request.project);
            let work = Work::new(subject, &prepared, references, &providers);
            match run.command {
                TestCommand::Plan => work.plan_and_assert(state, &options, problems),
                TestCommand::Apply => work.apply_and_assert(state, &options, Storing { paths, creating }, problems),
            }
        }
    };
    (Some(prepared), ended)
}

/// Where a run records what it changes.
struct Storing<'a> {
    paths: Option<RecordPaths>,
    creating: &'a Creating<'a>,
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
    run: &'a PreparedRun,
    prepared: Prepared<'a>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        subject: &'a Subject<'a>,
        run: &'a PreparedRun,
        references: References<'a>,
        providers: &'a Substituted<'a>,
    ) -> Work<'a> {
        Work { subject, run, prepared: subject.prepared(run, references, providers) }
    }

    fn request(&self) -> &TestRequest<'_> {
        self.subject.request
    }

    fn progress(&self) -> Progress<'_> {
        Progress { events: &|_| {}, interrupt: &self.request().stop.hard, tick: None }
    }

    pub(super) fn plan(&self, state: State, options: &PlanOptions) -> PlanOutcome {
        let mut made = self.prepared.plan(state, options, self.progress());
        if self.request().stop.is_now() {
            made.problems.push(diagnostics::interrupted());
        }
        made
    }

    /// Applies a plan. The last part of the result are the new values of all objects.
    pub(super) fn apply(&self, plan: &Plan, paths: Option<RecordPaths>) -> (State, Diagnostics, Live) {
        let provisioners = LocalProvisioners::new(self.request().project, self.request().stop.now.clone());
        let mut recorder = Record::new((*plan.prior_state).clone(), paths);
        let doors = ApplyDoors { recorder: &mut recorder, provisioners: &provisioners, random: &random };
        let (applied, live) = self.prepared.apply(plan, doors, self.progress());
        let mut problems = applied.problems;
        if self.request().stop.is_now() {
            problems.push(diagnostics::interrupted());
        }
        (applied.state, problems, live)
    }

    fn expectations(&self) -> Expectations {
        Expectations::of(self.subject.run, &self.run.tree.root().module)
    }

    /// Makes a plan, and checks the assertions with the planned values.
    fn plan_and_assert(&self, state: State, options: &PlanOptions, mut problems: Diagnostics) -> Ended {
        let PlanOutcome { plan, problems: planned, live } = self.plan(state, options);
        let mut expectations = self.expectations();
        problems.extend(expectations.sort_out(planned));
        problems.extend(expectations.unmet());
        if problems.has_errors() {
            return Ended::failed(problems);
        }
        let (status, found) = self.assertions(&live);
        problems.extend(found);
        let plan = plan.filter(|_| self.request().verbose);
        let verbose = plan.map(|plan| Verbose::Plan(Box::new(plan), self.run.tree.clone()));
        Ended { status, problems, verbose, changed: None }
    }

    /// Makes a plan and applies it, and checks the assertions with the new values.
    fn apply_and_assert(
        &self,
        state: State,
        options: &PlanOptions,
        storing: Storing<'_>,
        mut problems: Diagnostics,
    ) -> Ended {
        let PlanOutcome { plan, problems: mut planned, live: planned_values } = self.plan(state, options);
        let mut expectations = self.expectations();
        let early = expectations.too_early(&planned);
        let plan = plan.filter(|plan| !plan.errored && !planned.has_errors());
        let reported = ReportedUses::of(&planned);
        if !planned.has_errors() {
            // Applying makes the checks again, and those results count.
            drop_checks(&mut planned, Mode::Normal);
        }
        problems.extend(planned);
        problems.extend(early);
        let Some(plan) = plan else { return Ended::failed(problems) };
        let created = created_by(&plan);
        (storing.creating)(&created);
        let (state, applied, values) = self.apply(&plan, storing.paths);
        let mut found = expectations.sort_out(applied);
        found.extend(target_warnings(&plan));
        found.extend(expectations.unmet());
        let (mut status, mut verbose) = (TestStatus::Error, None);
        if !problems.has_errors() && !found.has_errors() {
            let is_refresh = plan.mode == Mode::RefreshOnly;
            let (asserted, more) = self.assertions(if is_refresh { &planned_values } else { &values });
            status = asserted;
            found.extend(more);
            verbose = self.request().verbose.then(|| Verbose::State(Box::new(state.clone())));
        }
        problems.extend(reported.new_among(found));
        Ended { status, problems, verbose, changed: Some((state, created)) }
    }

    fn assertions(&self, live: &Live) -> (TestStatus, Diagnostics) {
        let evaluation = self.prepared.evaluation(live);
        let scope = evaluation.scope_at(live, ModuleInstanceId::ROOT).in_assertion(&self.run.tested);
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
