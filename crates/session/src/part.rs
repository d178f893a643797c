//! The part of a state that a plan reads and writes.
//!
//! A plan writes the objects that it changes and those that planning has read again and found different. It reads what decisions about
//! them depend on: everything that references of the configuration reach from the changed objects and outputs. Instances of one
//! module do not reach into each other: a reference leads to the same instance, to the caller, or into all instances of a call.

use std::collections::{BTreeSet, HashSet};

use yuba_addrs::{InstanceKey, ModuleInstance, Resource};
use yuba_backend::{StatePart, StateSelector};
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_eval::ConfigTree;
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_eval::tree::ModuleId;
use yuba_plan::{Action, Plan};
use yuba_state::{RowKey, State};

/// The state that a saved plan starts from: the present one, with what planning has changed in it.
pub(crate) fn rebased(plan: &Plan, present: &State) -> State {
    let keys = plan.previous_state.rows_that_differ(&plan.prior_state);
    present.with_rows_of(&plan.prior_state, &keys)
}

/// What a plan reads and writes. `known` is the state that was read.
pub(crate) fn of_plan(plan: &Plan, graph: &RefGraph<'_>, tree: &ConfigTree, known: Option<&State>) -> StatePart {
    let mut part = StatePart::default();
    let mut reached = Reached { graph, tree, seen: HashSet::new(), work: Vec::new() };
    for change in &plan.changes {
        let is_change = change.action != Action::NoOp || change.importing.is_some() || change.moved_from.is_some();
        if !is_change {
            continue;
        }
        part.writes.insert(StateSelector::Instance(change.addr.clone()));
        part.writes.extend(change.moved_from.as_deref().cloned().map(StateSelector::Instance));
        let key = ResourceKey::from(&change.addr.resource);
        let module = tree.find(&change.addr.module.module());
        if let Some(at) = module.and_then(|module| graph.resources.get(&(module, key))) {
            reached.add(*at, Some(&change.addr.module));
        }
    }
    for change in plan.outputs.iter().filter(|change| change.action != Action::NoOp) {
        part.writes.insert(StateSelector::Output(change.name.clone()));
        if let Some(at) = graph.outputs.get(&change.name) {
            reached.add(*at, Some(&ModuleInstance::ROOT));
        }
    }
    let empty = State::empty();
    for key in known.unwrap_or(&empty).rows_that_differ(&plan.prior_state) {
        part.writes.extend(match key {
            RowKey::Object(addr, _) => Some(StateSelector::Instance(addr)),
            RowKey::Resource(addr) => Some(StateSelector::Resource(addr)),
            RowKey::Output(name) => Some(StateSelector::Output(name)),
            RowKey::Check(_) => None,
        });
    }
    part.reads = reached.selectors();
    part
}

/// For each step of a module path the key of its instance; none for all instances.
type Keys = Vec<Option<Option<InstanceKey>>>;

/// Objects of a configuration that others depend on.
struct Reached<'g> {
    graph: &'g RefGraph<'g>,
    tree: &'g ConfigTree,
    seen: HashSet<(u32, Keys)>,
    work: Vec<(u32, Keys)>,
}

impl Reached<'_> {
    fn add(&mut self, at: u32, module: Option<&ModuleInstance>) {
        let steps = module.map(ModuleInstance::steps).unwrap_or_default();
        self.reach(at, steps.iter().map(|step| Some(step.key.clone())).collect());
    }

    fn reach(&mut self, at: u32, keys: Keys) {
        if self.seen.insert((at, keys.clone())) {
            self.work.push((at, keys));
        }
    }

    /// The keys in another module, whose path begins as that of this one.
    fn keys_in(&self, from: ModuleId, keys: &Keys, to: ModuleId) -> Keys {
        let (here, there) = (self.tree.node(from).path.steps(), self.tree.node(to).path.steps());
        let common = here.iter().zip(there).take_while(|(a, b)| a == b).count().min(keys.len());
        let mut found: Keys = keys[..common].to_vec();
        found.resize(there.len(), None);
        let is_single = || self.tree.call(to).is_some_and(|call| matches!(call.repetition, Repetition::Single));
        if there.len() == common + 1 && is_single() {
            found[common] = Some(None);
        }
        found
    }

    fn selectors(mut self) -> BTreeSet<StateSelector> {
        let mut selectors = BTreeSet::new();
        while let Some((at, keys)) = self.work.pop() {
            let node = &self.graph.nodes[at as usize];
            let module = node.module;
            if let Vertex::Resource(resource) = node.vertex {
                selectors.insert(self.selector(module, &keys, &Resource::from(&resource.key)));
            }
            for to in &self.graph.edges[at as usize] {
                let next = self.keys_in(module, &keys, self.graph.nodes[*to as usize].module);
                self.reach(*to, next);
            }
        }
        selectors
    }

    fn selector(&self, module: ModuleId, keys: &Keys, resource: &Resource) -> StateSelector {
        let path = &self.tree.node(module).path;
        let known: Option<Vec<Option<InstanceKey>>> = keys.iter().cloned().collect();
        match known {
            Some(keys) => {
                let steps = path.steps().iter().zip(keys);
                let instance = steps.fold(ModuleInstance::ROOT, |module, (name, key)| module.child(name.clone(), key));
                StateSelector::Resource(resource.clone().absolute(instance))
            }
            None => StateSelector::Config(resource.clone().in_module(path.clone())),
        }
    }
}
