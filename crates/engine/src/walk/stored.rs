//! Values of the state, for objects that are not part of a run.

use std::sync::Arc;

use yuba_addrs::{AbsResource, AbsResourceInstance, InstanceKey, Resource as ResourceName};
use yuba_config::resource::{Repetition, Resource, ResourceKey};
use yuba_eval::{Expansion, ModuleId, ModuleInstanceId, schema_of};
use yuba_provider::BlockSchema;
use yuba_state::State;
use yuba_value::Value;

use super::Walk;
use crate::targets::TargetSelection;

/// Value of references to a resource without instances in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    Empty,
    Unknown,
}

impl<'a> Walk<'a> {
    /// An instance that is not part of the run has the value it had.
    pub(crate) fn value_of_state(
        &self,
        state: &State,
        at: ModuleInstanceId,
        addr: &AbsResourceInstance,
        schema: Option<&BlockSchema>,
    ) {
        let object = state.instance(addr).and_then(|instance| instance.current.as_ref());
        if let (Some(object), Some(schema)) = (object, schema)
            && let Ok(value) = object.decode(schema.implied_type())
        {
            let key = ResourceKey::from(&addr.resource);
            self.live.set_instance(at, &key, addr.key.clone(), schema.mark(&value, None));
        }
    }

    /// To destroy everything: a resource has the values and instances that the state has.
    pub(crate) fn values_of_state(&self, state: &State, module: ModuleId, resource: &Resource) {
        let schemas = self.evaluation.schemas_of(module, resource);
        let schema = schemas.as_deref().and_then(|schemas| schema_of(schemas, &resource.key));
        for at in self.live.instances(module) {
            let abs = ResourceName::from(&resource.key).absolute(self.live.address(at));
            let Some(known) = state.get(&abs) else { continue };
            self.live.expand_resource(at, &resource.key, expansion_of(known.instances.keys()));
            for key in known.instances.keys() {
                self.value_of_state(state, at, &abs.clone().instance(key.clone()), schema);
            }
        }
    }

    /// Without a plan, references see the existing instances, whatever their number. An import leaves other
    /// objects for later, so there a resource without any instance is unknown.
    pub(crate) fn see_state(&self, state: &State, module: ModuleId, resource: &Resource, absent: Absent) {
        let schemas = self.evaluation.schemas_of(module, resource);
        let schema = schemas.as_deref().and_then(|schemas| schema_of(schemas, &resource.key));
        for at in self.live.instances(module) {
            let abs = ResourceName::from(&resource.key).absolute(self.live.address(at));
            if absent == Absent::Unknown && state.get(&abs).is_none_or(|known| known.instances.is_empty()) {
                let ty = match &resource.repetition {
                    Repetition::Single | Repetition::Enabled(_) => schema.map(|schema| schema.implied_type().clone()),
                    Repetition::Count(_) | Repetition::ForEach(_) => None,
                };
                let unknown = ty.map_or_else(Value::unknown_dynamic, Value::unknown);
                self.live.see_resource_as(at, &resource.key, unknown);
                continue;
            }
            self.see_existing(state, at, &abs, schema, |key| {
                state.get(&abs).is_some_and(|known| known.instances.contains_key(key))
            });
        }
    }

    /// References to a resource see the wanted instances and those of the state for which `exists` holds.
    pub(crate) fn see_existing(
        &self,
        state: &State,
        at: ModuleInstanceId,
        abs: &AbsResource,
        schema: Option<&BlockSchema>,
        exists: impl Fn(&Option<InstanceKey>) -> bool,
    ) {
        let resource = ResourceKey::from(&abs.resource);
        let Some(wanted) = self.live.resource_expansion(at, &resource) else { return };
        let known = state.get(abs).into_iter().flat_map(|known| known.instances.keys().cloned());
        let outgrown = known.filter(|key| !wanted.contains(key.as_ref()));
        let mut keys: Vec<Option<InstanceKey>> = wanted.instances().map(|(key, _)| key).chain(outgrown).collect();
        keys.retain(exists);
        keys.sort_unstable();
        let there = match &wanted {
            Expansion::Single => return,
            Expansion::Enabled(_) => Expansion::Enabled(keys.contains(&None)),
            Expansion::Count(_) => Expansion::Count(count_of(keys.iter())),
            Expansion::ForEach(_) => each_of(keys.iter()),
        };
        if there.len() == wanted.len() && there.instances().all(|(key, _)| wanted.contains(key.as_ref())) {
            return;
        }
        for (key, _) in there.instances().filter(|(key, _)| !wanted.contains(key.as_ref())) {
            self.value_of_state(state, at, &abs.clone().instance(key), schema);
        }
        self.live.see_resource(at, &resource, there);
    }

    /// Whether the state has objects of a resource.
    pub(crate) fn is_in_state(&self, state: &State, module: ModuleId, resource: &Resource) -> bool {
        let mut places = self.live.instances(module).into_iter();
        places.any(|at| state.get(&ResourceName::from(&resource.key).absolute(self.live.address(at))).is_some())
    }

    /// The block of an object of the state, if there is one.
    pub(crate) fn declared(&self, addr: &AbsResourceInstance) -> Option<&'a Resource> {
        let tree = self.context.tree;
        let module = tree.find(&addr.module.module())?;
        tree.node(module).module.resources.get(&ResourceKey::from(&addr.resource))
    }

    /// Whether an object that was not met in the configuration is part of the run.
    // Quirk: where a block is part of a run, the objects of all module instances that are gone are, too.
    pub(crate) fn selects_leftover(&self, selection: &TargetSelection, addr: &AbsResourceInstance) -> bool {
        match self.vertex_of(addr) {
            Some(vertex) => selection.includes(vertex),
            None => selection.selects_orphan(addr),
        }
    }

    /// The vertex of the block of an object of the state, if there is one.
    pub(crate) fn vertex_of(&self, addr: &AbsResourceInstance) -> Option<u32> {
        let module = self.context.tree.find(&addr.module.module())?;
        self.graph.resources.get(&(module, ResourceKey::from(&addr.resource))).copied()
    }
}

/// The instances that the keys define.
fn expansion_of<'k>(keys: impl Iterator<Item = &'k Option<InstanceKey>> + Clone) -> Expansion {
    match (count_of(keys.clone()), each_of(keys)) {
        (0, each) if each.is_empty() => Expansion::Single,
        (0, each) => each,
        (count, _) => Expansion::Count(count),
    }
}

fn count_of<'k>(keys: impl Iterator<Item = &'k Option<InstanceKey>>) -> u64 {
    let numbers = keys.filter_map(|key| match key {
        Some(InstanceKey::Int(at)) => u64::try_from(*at).ok(),
        _ => None,
    });
    numbers.max().map_or(0, |last| last + 1)
}

fn each_of<'k>(keys: impl Iterator<Item = &'k Option<InstanceKey>>) -> Expansion {
    let texts = keys.filter_map(|key| match key {
        Some(InstanceKey::String(key)) => Some((key.clone(), Value::unknown_dynamic())),
        _ => None,
    });
    Expansion::ForEach(Arc::new(texts.collect()))
}
