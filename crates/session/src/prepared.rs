//! Between the first phase and the later phases: a configuration whose variables have values and whose references are known.
//!
//! Everything that the engine evaluates, plans and applies starts from a [`Prepared`] configuration: operations on a stored
//! state ([`Locked`] owns one), runs of tests and the console. It has the only context of evaluation that this crate makes.
//!
//! [`Locked`]: crate::locked::Locked

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_engine::{ApplyDoors, ApplyOutcome, Clock, Context, Interrupt, NoTime, PlanOptions, RootVariable};
use yuba_eval::graph::References;
use yuba_eval::inputs::Inputs;
use yuba_eval::world::WorldTime;
use yuba_eval::{ConfigTree, EvalEnv, EvalMode, Evaluation, Live};
use yuba_plan::Plan;
use yuba_provider::Providers;
use yuba_provider::mock::Substitutions;
use yuba_state::State;
use yuba_syntax::{Diagnostics, Sources};

use crate::clock::{SystemClock, run, wait};
use crate::loaded::Loaded;
use crate::operation::Progress;
use crate::operation::variables::{WithoutValue, root_variables};
use crate::project::Project;

/// A linked configuration and the values given for its variables: that of a [`Loaded`], or the module that a run of a test
/// file tests.
#[derive(Clone, Copy)]
pub(crate) struct Linked<'l> {
    pub(crate) project: &'l Project,
    pub(crate) tree: &'l ConfigTree,
    pub(crate) inputs: &'l Inputs,
    pub(crate) sources: &'l Sources,
}

impl Loaded {
    /// Its modules and the values given for their variables.
    pub(crate) fn linked(&self) -> Linked<'_> {
        Linked { project: &self.project, tree: &self.tree, inputs: &self.inputs, sources: &self.sources }
    }
}

impl<'l> Linked<'l> {
    /// For the evaluation of its expressions.
    pub(crate) fn eval_env(self) -> EvalEnv<'l> {
        self.project.eval_env(self.sources)
    }

    /// Builds its reference graph. An operation does this once.
    pub(crate) fn references(self) -> References<'l> {
        References::read(self.tree, self.eval_env())
    }

    /// Values of the variables of its root module.
    pub(crate) fn root_variables(
        self,
        without_value: WithoutValue,
    ) -> (BTreeMap<EcoString, RootVariable>, Diagnostics) {
        root_variables(&self.tree.root().module.variables, self.inputs, self.sources, without_value)
    }
}

/// A configuration with everything that the engine works with, besides a state.
pub(crate) struct Prepared<'l> {
    pub(crate) linked: Linked<'l>,
    pub(crate) variables: BTreeMap<EcoString, RootVariable>,
    pub(crate) references: References<'l>,
    pub(crate) providers: &'l dyn Providers,
    /// Resources and modules that a test replaces.
    pub(crate) substitutions: &'l Substitutions,
    /// Number of concurrent requests to providers.
    pub(crate) parallelism: usize,
}

/// The result of planning.
pub(crate) struct PlanOutcome {
    /// The plan or its valid part, or none where planning failed as a whole.
    pub(crate) plan: Option<Plan>,
    pub(crate) problems: Diagnostics,
    /// The planned values of all objects.
    pub(crate) live: Live,
}

impl<'l> Prepared<'l> {
    /// With the providers of the project.
    pub(crate) fn new(
        linked: Linked<'l>,
        variables: BTreeMap<EcoString, RootVariable>,
        references: References<'l>,
        parallelism: usize,
    ) -> Prepared<'l> {
        let (providers, substitutions) = (linked.project.providers(), Substitutions::none());
        Prepared { linked, variables, references, providers, substitutions, parallelism }
    }

    /// The context in which the engine evaluates, plans and applies.
    fn context<'a>(&'a self, progress: Progress<'a>, clock: &'a dyn Clock, plan_time: WorldTime) -> Context<'a> {
        Context {
            tree: self.linked.tree,
            references: &self.references,
            env: EvalEnv { providers: self.providers, ..self.linked.eval_env() },
            variables: &self.variables,
            substitutions: self.substitutions,
            events: progress.events,
            interrupt: progress.interrupt,
            clock,
            plan_time,
            parallelism: self.parallelism,
        }
    }

    /// Evaluates expressions with the values of all objects. The mocks of a test do not replace functions of providers.
    pub(crate) fn evaluation<'a>(&'a self, live: &'a Live) -> Evaluation<'a> {
        Evaluation::new(self.linked.tree, self.linked.eval_env(), EvalMode::Live(live))
    }

    /// Evaluates expressions without values of objects: their types, and everything static.
    pub(crate) fn type_evaluation(&self) -> Evaluation<'_> {
        let env = EvalEnv { providers: self.providers, ..self.linked.eval_env() };
        Evaluation::new(self.linked.tree, env, EvalMode::Types)
    }

    /// Makes a plan for a state.
    pub(crate) fn plan(&self, state: State, options: &PlanOptions, progress: Progress<'_>) -> PlanOutcome {
        let plan_time = self.linked.project.world().now();
        let live = Live::for_plan(Some(plan_time));
        let context = self.context(progress, &SystemClock, plan_time);
        let planning = yuba_engine::plan_into(context, state, options, &live);
        let (plan, problems) = run(progress.tick, progress.interrupt, planning);
        PlanOutcome { plan, problems, live }
    }

    /// Makes the changes of a plan. The second part of the result are the new values of all objects.
    pub(crate) fn apply(&self, plan: &Plan, doors: ApplyDoors<'_>, progress: Progress<'_>) -> (ApplyOutcome, Live) {
        let plan_time = timestamp(&plan.timestamp).unwrap_or_else(|| self.linked.project.world().now());
        let live = Live::for_apply(Some(plan_time));
        let context = self.context(progress, &SystemClock, plan_time);
        let applying = yuba_engine::apply_into(context, plan, doors, &live);
        let work = || run(progress.tick, progress.interrupt, applying);
        let applied = tracing::info_span!("apply").in_scope(work);
        (applied, live)
    }

    /// Values of all objects as far as a state knows them. Fails where references are invalid.
    pub(crate) fn look(&self, state: &State) -> (Result<Diagnostics, Diagnostics>, Live) {
        let live = Live::for_plan(None);
        let progress = Progress { events: &|_| {}, interrupt: &Interrupt::new(), tick: None };
        let context = self.context(progress, &NoTime, self.linked.project.world().now());
        let found = wait(yuba_engine::look(context, state, &live));
        (found, live)
    }
}

/// The time of a plan.
fn timestamp(text: &str) -> Option<WorldTime> {
    let time = yuba_value::functions::timestamp::Timestamp::parse_strict(text).ok()?;
    let (seconds, nanos) = time.instant();
    Some(WorldTime { seconds, nanos })
}
