//! Objects that the state records as created before the objects they replace are destroyed.
//!
//! An object has this order if its block sets `create_before_destroy`, if the plan replaces it in this order, or if an object
//! with this order depends on it. Only objects that the plan changes or checks count.

use foldhash::{HashMap, HashMapExt, HashSet};
use yuba_addrs::{AbsResourceInstance, InstanceKey, ModuleInstance};
use yuba_config::resource::ResourceKey;
use yuba_eval::ConfigTree;
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_plan::{Action, ResourceChange};

use crate::walk::exec::is_visited;

/// Objects that objects with this order depend on.
#[derive(Default)]
struct Needed<'a> {
    /// The object is not an instance of a resource, or all instances are meant.
    whole: bool,
    /// The block of the resource, which leads to everything that it refers to, but not to its instances.
    block: bool,
    /// These instances, in every instance of the module.
    keys: HashSet<InstanceKey>,
    /// All instances in these instances of the module.
    modules: HashSet<&'a ModuleInstance>,
    /// Single instances.
    instances: HashSet<(&'a ModuleInstance, InstanceKey)>,
}

impl Needed<'_> {
    fn contains(&self, addr: &AbsResourceInstance) -> bool {
        let has_key =
            |key: &InstanceKey| self.keys.contains(key) || self.instances.contains(&(&addr.module, key.clone()));
        self.whole || self.modules.contains(&addr.module) || addr.key.as_ref().is_some_and(has_key)
    }
}

/// The objects of a plan that are recorded with this order.
pub(super) fn created_first(
    graph: &RefGraph<'_>,
    order: &[u32],
    tree: &ConfigTree,
    changes: &[ResourceChange],
) -> HashSet<AbsResourceInstance> {
    let mut present: HashMap<u32, Vec<&ResourceChange>> = HashMap::new();
    for change in changes {
        let key = ResourceKey::from(&change.addr.resource);
        let module = tree.find(&change.addr.module.module());
        let at = module.and_then(|module| graph.resources.get(&(module, key)).copied());
        if let Some(at) = at.filter(|_| is_visited(graph, at, change)) {
            present.entry(at).or_default().push(change);
        }
    }
    let mut needed: Vec<Needed<'_>> = std::iter::repeat_with(Needed::default).take(graph.nodes.len()).collect();
    // Made once for each resource that is referred to by key.
    let mut planned_keys: HashMap<u32, HashSet<&InstanceKey>> = HashMap::new();
    let mut found = HashSet::default();
    for at in order.iter().rev() {
        let here = *at as usize;
        let mut whole = needed[here].whole || needed[here].block;
        let mut modules: HashSet<&ModuleInstance> = HashSet::default();
        if let Vertex::Resource(resource) = graph.nodes[here].vertex {
            let declared = resource.lifecycle.create_before_destroy == Some(true);
            for change in present.get(at).into_iter().flatten() {
                let replaced = change.action == Action::CreateThenDelete;
                if !declared && !replaced && !needed[here].contains(&change.addr) {
                    continue;
                }
                found.insert(change.addr.clone());
                let module = &change.addr.module;
                // Quirk: an object needs what all instances of its block refer to, unless a module around it has keys.
                match module.steps().iter().any(|step| step.key.is_some()) {
                    true => drop(modules.insert(module)),
                    false => whole = true,
                }
            }
        }
        if !whole && modules.is_empty() {
            continue;
        }
        for to in &graph.edges[here] {
            let keys = graph.named_keys(*at, *to).filter(|keys| {
                let planned = planned_keys.entry(*to).or_insert_with(|| {
                    present.get(to).into_iter().flatten().filter_map(|change| change.addr.key.as_ref()).collect()
                });
                keys.iter().all(|key| planned.contains(key))
            });
            let is_resource = matches!(graph.nodes[*to as usize].vertex, Vertex::Resource(_));
            let target = &mut needed[*to as usize];
            match keys {
                Some(keys) if whole => target.keys.extend(keys.iter().cloned()),
                Some(keys) => {
                    let single = |module| keys.iter().map(move |key| (module, key.clone()));
                    target.instances.extend(modules.iter().flat_map(|module| single(*module)));
                }
                None if whole || !is_resource => target.whole = true,
                None => {
                    target.block = true;
                    target.modules.extend(modules.iter().copied());
                }
            }
        }
    }
    found
}
