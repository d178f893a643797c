//! What a caller brings to plan or to apply.

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
    /// What was given for it; none if it has its default.
    pub given: Option<Value>,
    /// How it was given; none if it has its default or is null.
    pub given_by: Option<GivenBy>,
    /// Why nothing can use it, if so.
    pub problems: Diagnostics,
}

/// What both planning and applying need.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The configuration.
    pub tree: &'a ConfigTree,
    /// The reference graph of the configuration.
    pub references: &'a References<'a>,
    /// What evaluation knows besides.
    pub env: EvalEnv<'a>,
    /// Values of the root module's variables: of all of them.
    pub variables: &'a BTreeMap<EcoString, RootVariable>,
    /// What a test replaces: resources that no provider is asked about, and modules that are not evaluated.
    pub substitutions: &'a Substitutions,
    /// Whoever watches.
    pub events: &'a dyn Fn(Event),
    /// Whoever may ask to stop: nothing new is begun then.
    pub interrupt: &'a Interrupt,
    /// The time, for what has to be done at a certain one.
    pub clock: &'a dyn Clock,
    /// When the plan was made: what `plantimestamp` says.
    pub plan_time: WorldTime,
    /// How many things providers may be asked at the same time.
    pub parallelism: usize,
}

/// How to plan.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// What for.
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
    /// Whether configuration is written for imported objects that have none.
    pub generate_config: bool,
    /// The plan only serves to read everything before it is destroyed: nothing is imported, and conditions of resources and
    /// outputs that do not hold are warnings.
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
