//! Events of a running operation, its interrupt, and the context in which the engine runs.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_engine::{Clock, Context, Interrupt, RootVariable};
use yuba_eval::graph::References;
use yuba_eval::world::WorldTime;
use yuba_eval::{ConfigTree, EvalEnv};
use yuba_plan::Event;
use yuba_provider::Providers;
use yuba_provider::mock::Substitutions;
use yuba_syntax::Sources;

use crate::clock::Tick;
use crate::project::Project;

/// Receives the events of an operation and may interrupt it.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// Receives each event.
    pub events: &'a dyn Fn(Event),
    /// Raised to stop the operation: no new steps begin.
    pub interrupt: &'a Interrupt,
    /// Called at intervals while the operation waits.
    pub tick: Option<Tick<'a>>,
}

/// A configuration with the values and providers that the engine works with.
#[derive(Clone, Copy)]
pub(crate) struct EngineInputs<'a> {
    pub(crate) tree: &'a ConfigTree,
    pub(crate) references: &'a References<'a>,
    pub(crate) sources: &'a Sources,
    pub(crate) variables: &'a BTreeMap<EcoString, RootVariable>,
    pub(crate) providers: &'a dyn Providers,
    /// Resources and modules that a test replaces.
    pub(crate) substitutions: &'a Substitutions,
    /// Number of requests that providers answer at the same time.
    pub(crate) parallelism: usize,
}

impl Project {
    /// The context in which the engine evaluates, plans and applies: the only one that this crate makes.
    pub(crate) fn context<'a>(
        &'a self,
        inputs: EngineInputs<'a>,
        progress: Progress<'a>,
        clock: &'a dyn Clock,
        plan_time: WorldTime,
    ) -> Context<'a> {
        Context {
            tree: inputs.tree,
            references: inputs.references,
            env: EvalEnv { providers: inputs.providers, ..self.eval_env(inputs.sources) },
            variables: inputs.variables,
            substitutions: inputs.substitutions,
            events: progress.events,
            interrupt: progress.interrupt,
            clock,
            plan_time,
            parallelism: inputs.parallelism,
        }
    }
}
