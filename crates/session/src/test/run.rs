//! One run: plan, maybe apply, and look whether everything is as asserted.

use std::collections::HashSet;
use std::time::Instant;

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsResourceInstance, ResourceMode, Target};
use yuba_config::test_file::{PlanMode, TestCommand, TestRun};
use yuba_engine::targets::Targets;
use yuba_engine::{ApplyDoors, Context, PlanOptions, apply_into, plan_into};
use yuba_eval::{EvalEnv, Evaluation, Live, Mode as EvalMode, ModuleInstanceId, Timestamp, Verdict};
use yuba_plan::{Action, Mode, Plan};
use yuba_provider::mock::Substituted;
use yuba_state::State;
use yuba_syntax::{Diagnostic, Diagnostics, Sources, Span};

use super::expectations::Expectations;
use super::prepare::{Prepared, Subject};
use super::record::{Place, Record};
use super::{RunReport, Status, TestRequest, Verbose, diagnostics};
use crate::clock::{SystemClock, wait};
use crate::provisioners::LocalProvisioners;
use crate::validate::eval_env;

/// What a run came to.
pub(super) struct Executed {
    pub(super) report: RunReport,
    /// If it may have changed something.
    pub(super) changed: Option<Changed>,
    /// Files that were read for the run.
    pub(super) sources: Option<std::sync::Arc<Sources>>,
}

/// What a run did.
pub(super) struct Changed {
    /// What it worked with.
    pub(super) prepared: Prepared,
    /// The state after it.
    pub(super) state: State,
    /// Objects that it was to create.
    pub(super) created: Vec<AbsResourceInstance>,
}

/// Told what is about to be created.
pub(super) type Creating<'a> = dyn Fn(&[AbsResourceInstance]) + 'a;

/// Does a run.
pub(super) fn execute(subject: &Subject<'_>, state: State, place: Option<Place>, creating: &Creating<'_>) -> Executed {
    let began = Instant::now();
    let mut executed = inner(subject, state, place, creating);
    executed.report.took = began.elapsed();
    executed
}

fn inner(subject: &Subject<'_>, state: State, place: Option<Place>, creating: &Creating<'_>) -> Executed {
    let run = subject.run;
    let report = |status: Status, problems: Diagnostics| RunReport {
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
        return stopped_here(Status::Error, problems, None);
    }
    let (prepared, found) = subject.prepare();
    problems.extend(found);
    let Some(prepared) = prepared else { return stopped_here(Status::Error, problems, None) };
    let sources = prepared.sources.clone();
    let (options, found) = plan_options(run);
    problems.extend(found);
    if problems.has_errors() {
        return stopped_here(Status::Error, problems, sources);
    }
    let work = Work { subject, prepared: &prepared };
    let plan_time = subject.request.load.world.now();
    let live = Live::new(false, Some(plan_time));
    let (plan, planned) = work.plan(state, &options, plan_time, &live);
    let mut expectations = Expectations::of(run, &prepared.tree.root().module);
    if run.command == TestCommand::Plan {
        let mut planned = expectations.sort_out(planned);
        planned.extend(expectations.unmet());
        problems.extend(planned);
        if problems.has_errors() {
            return stopped_here(Status::Error, problems, sources);
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
    let said: HashSet<_> = planned.iter().filter_map(use_of).collect();
    // Checks are made again while applying; what they say then is what counts.
    let is_of_check = |problem: &Diagnostic| problem.extra.as_ref().is_some_and(|extra| extra.of_check);
    problems.extend(planned.into_iter().filter(|problem| failed || !is_of_check(problem)));
    problems.extend(early);
    let plan = match plan {
        Some(plan) if !failed && !plan.errored => plan,
        _ => return stopped_here(Status::Error, problems, sources),
    };
    let created = created_by(&plan);
    creating(&created);
    let applying = Live::new(true, Some(plan_time));
    let (state, applied) = work.apply(&plan, plan_time, &applying, place);
    let mut applied = expectations.sort_out(applied);
    let targets = Targets { targets: plan.targets.clone(), excludes: plan.excludes.clone() };
    applied.extend(targets.apply_warnings());
    applied.extend(expectations.unmet());
    problems.extend(applied.into_iter().filter(|problem| use_of(problem).is_none_or(|used| !said.contains(&used))));
    if problems.has_errors() {
        let report = report(Status::Error, problems);
        return Executed { report, changed: Some(Changed { prepared, state, created }), sources };
    }
    let values = if plan.mode == Mode::RefreshOnly { &live } else { &applying };
    let (status, found) = work.assertions(values);
    problems.extend(found.into_iter().filter(|problem| use_of(problem).is_none_or(|used| !said.contains(&used))));
    let verbose = subject.request.verbose.then(|| Verbose::State(Box::new(state.clone())));
    let report = RunReport { verbose, ..report(status, problems) };
    Executed { report, changed: Some(Changed { prepared, state, created }), sources }
}

/// The use of something deprecated, which is told once.
fn use_of(problem: &Diagnostic) -> Option<(EcoString, Option<Span>)> {
    problem.deprecation().map(|_| (problem.detail.clone(), problem.subject))
}

/// What a plan would create.
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
    pub(super) subject: &'a Subject<'a>,
    pub(super) prepared: &'a Prepared,
}

impl Work<'_> {
    fn request(&self) -> &TestRequest<'_> {
        self.subject.request
    }

    fn sources(&self) -> &Sources {
        self.prepared.sources.as_deref().unwrap_or(&self.subject.suite.sources)
    }

    fn with_context<T>(&self, plan_time: Timestamp, work: impl FnOnce(Context<'_>) -> T) -> T {
        let request = self.request();
        let substitutions = self.prepared.substitutions();
        let providers = Substituted { inner: request.providers, substitutions };
        work(Context {
            tree: &self.prepared.tree,
            env: EvalEnv { providers: &providers, ..eval_env(&request.load, self.sources()) },
            variables: &self.prepared.variables,
            substitutions,
            events: &|_| {},
            interrupt: &request.stop.hard,
            clock: &SystemClock,
            plan_time,
            parallelism: request.parallelism,
        })
    }

    pub(super) fn plan(
        &self,
        state: State,
        options: &PlanOptions,
        plan_time: Timestamp,
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
        plan_time: Timestamp,
        live: &Live,
        place: Option<Place>,
    ) -> (State, Diagnostics) {
        let random = || {
            let mut bytes = [0_u8; 4];
            let _ = getrandom::fill(&mut bytes);
            u32::from_le_bytes(bytes)
        };
        let provisioners = LocalProvisioners::new(self.request().stop.now.clone());
        let mut recorder = Record::new((*plan.prior_state).clone(), place);
        let applied = self.with_context(plan_time, |context| {
            let doors = ApplyDoors { recorder: &mut recorder, provisioners: &provisioners, random: &random };
            futures_executor::block_on(apply_into(context, plan, doors, live))
        });
        let mut problems = applied.problems;
        if self.request().stop.is_now() {
            problems.push(diagnostics::interrupted());
        }
        (applied.state, problems)
    }

    fn assertions(&self, live: &Live) -> (Status, Diagnostics) {
        let request = self.request();
        let env = eval_env(&request.load, self.sources());
        let evaluation = Evaluation::new(&self.prepared.tree, env, EvalMode::Live(live));
        let scope = evaluation.scope_at(live, ModuleInstanceId::ROOT).in_assertion(&self.prepared.tested);
        let mut status = Status::Pass;
        let mut problems = Diagnostics::new();
        for rule in &self.subject.run.asserts {
            let (verdict, found) = wait(evaluation.settle(|| scope.check_assertion(rule)));
            problems.extend(found);
            status = status.max(match verdict {
                Verdict::Pass => Status::Pass,
                Verdict::Fail(_) => Status::Fail,
                Verdict::Unknown | Verdict::Error => Status::Error,
            });
        }
        (status, problems)
    }
}
