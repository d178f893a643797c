//! Parameters of planning and applying.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_addrs::{AbsResourceInstance, Target};
use yuba_eval::graph::References;
use yuba_eval::inputs::GivenBy;
use yuba_eval::{ConfigTree, EvalEnv, WorldTime};
use yuba_plan::{Event, Mode};
use yuba_provider::mock::Substitutions;
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use crate::interrupt::{Clock, Interrupt};

/// A variable of the root module.
#[derive(Clone, Debug)]
pub struct RootVariable {
    /// Its value as expressions see it: converted, with marks.
    pub value: Value,
    /// The given value; none if it has its default.
    pub given: Option<Value>,
    /// Source of the value; none if it has its default or is null.
    pub given_by: Option<GivenBy>,
    /// Reason why it cannot be used, if any.
    pub problems: Diagnostics,
}

/// Shared inputs of planning and applying.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The configuration.
    pub tree: &'a ConfigTree,
    /// The reference graph of the configuration.
    pub references: &'a References<'a>,
    /// Context of evaluation.
    pub env: EvalEnv<'a>,
    /// Values of the root module's variables: of all of them.
    pub variables: &'a BTreeMap<EcoString, RootVariable>,
    /// Replacements of a test: mocked resources, and modules that are not evaluated.
    pub substitutions: &'a Substitutions,
    /// The observer.
    pub events: &'a dyn Fn(Event),
    /// The interrupt: once it is raised, no new operation begins.
    pub interrupt: &'a Interrupt,
    /// The clock, for work that is due at a certain time.
    pub clock: &'a dyn Clock,
    /// Time of the plan: value of `plantimestamp`.
    pub plan_time: WorldTime,
    /// Number of simultaneous requests to providers.
    pub parallelism: usize,
}

/// Options of planning.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Mode.
    pub mode: Mode,
    /// Whether objects are read again before they are compared with the configuration.
    pub refresh: bool,
    /// `-target`
    pub targets: Vec<Target>,
    /// `-exclude`
    pub excludes: Vec<Target>,
    /// `-replace`
    pub force_replace: Vec<AbsResourceInstance>,
    /// `import`: objects to take into the state, with their ids. Nothing else is read or planned then; the state of the
    /// plan has them.
    pub imports: Vec<(AbsResourceInstance, EcoString)>,
    /// Whether the plan says which attributes its changes come from, though nothing changed outside.
    pub relevant: bool,
    /// Whether configuration is written for imported objects without a block.
    pub generate_config: bool,
    /// The plan only serves to read everything before it is destroyed: nothing is imported, and failed conditions of
    /// resources and outputs are warnings.
    pub before_destroy: bool,
}

impl PlanOptions {
    /// Objects are taken into the state, and nothing else happens.
    pub fn import(addr: AbsResourceInstance, id: EcoString) -> PlanOptions {
        PlanOptions { mode: Mode::RefreshOnly, refresh: false, imports: vec![(addr, id)], ..PlanOptions::default() }
    }
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions {
            mode: Mode::Normal,
            refresh: true,
            targets: Vec::new(),
            excludes: Vec::new(),
            force_replace: Vec::new(),
            imports: Vec::new(),
            relevant: false,
            generate_config: false,
            before_destroy: false,
        }
    }
}
