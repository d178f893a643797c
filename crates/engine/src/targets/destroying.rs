//! `-target` and `-exclude` when everything is destroyed: then what depends on a target goes with it, and what an excluded
//! object depends on stays with it.

use foldhash::{HashMap, HashMapExt, HashSet};
use yuba_addrs::{AbsResource, AbsResourceInstance, ConfigResource};
use yuba_state::State;

use super::{Named, Targets};

/// Objects of a state to destroy.
#[derive(Debug, Default)]
pub struct Destroying {
    /// None if all are.
    limited: Option<Limited>,
}

#[derive(Debug)]
struct Limited {
    /// Targets and what depends on them; or what is excluded and what that depends on.
    reached: HashSet<AbsResource>,
    named: Named,
}

impl Destroying {
    /// Selects the objects of a state to destroy. Dependencies come from the state.
    pub fn new(state: &State, targets: &Targets) -> Destroying {
        if targets.is_empty() {
            return Destroying::default();
        }
        let named = Named::new(targets);
        let links = Links::new(state, named.direction());
        let mut work: Vec<AbsResource> = Vec::new();
        for resource in state.iter() {
            let mut instances = resource.instances.keys();
            if instances.any(|key| named.set.contains(&resource.addr.clone().instance(key.clone()))) {
                work.push(resource.addr.clone());
            }
        }
        Destroying { limited: Some(Limited { reached: links.reachable(work), named }) }
    }

    /// Whether an object is destroyed.
    pub fn selects(&self, addr: &AbsResourceInstance) -> bool {
        self.limited.as_ref().is_none_or(|limited| {
            let reached = || limited.reached.contains(&addr.containing());
            (limited.named.set.contains(addr) || reached()) != limited.named.excluding
        })
    }
}

/// The direction in which dependencies are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From each resource to what it depends on.
    ToDependencies,
    /// From each resource to what depends on it.
    ToDependents,
}

/// Dependencies between the resources of a state, in one direction.
pub(crate) struct Links {
    /// The resources of a block.
    by_config: HashMap<ConfigResource, Vec<AbsResource>>,
    /// From a block to the next blocks.
    next: HashMap<ConfigResource, Vec<ConfigResource>>,
}

impl Links {
    pub(crate) fn new(state: &State, direction: Direction) -> Links {
        let mut links = Links { by_config: HashMap::new(), next: HashMap::new() };
        for resource in state.iter() {
            let config = resource.addr.config();
            links.by_config.entry(config.clone()).or_default().push(resource.addr.clone());
            let objects = resource.instances.values().flat_map(|instance| instance.objects());
            let dependencies: HashSet<&ConfigResource> =
                objects.flat_map(|(_, object)| object.dependencies.iter()).filter(|other| **other != config).collect();
            for dependency in dependencies {
                match direction {
                    Direction::ToDependencies => links.next.entry(config.clone()).or_default().push(dependency.clone()),
                    Direction::ToDependents => links.next.entry(dependency.clone()).or_default().push(config.clone()),
                }
            }
        }
        for next in links.next.values_mut() {
            next.sort();
            next.dedup();
        }
        links
    }

    /// Vertices reachable from resources, without them. Objects in different instances of one module are independent,
    /// whatever their blocks refer to.
    pub(crate) fn reachable(&self, mut work: Vec<AbsResource>) -> HashSet<AbsResource> {
        let mut reached = HashSet::default();
        // Blocks of other modules are reached as a whole, so once is enough.
        let mut whole: HashSet<(&ConfigResource, &ConfigResource)> = HashSet::default();
        while let Some(resource) = work.pop() {
            let Some((config, next)) = self.next.get_key_value(&resource.config()) else { continue };
            for other in next {
                let same_module = other.module == config.module;
                if !same_module && !whole.insert((config, other)) {
                    continue;
                }
                let one = [other.resource.clone().absolute(resource.module.clone())];
                let others: &[AbsResource] = match same_module {
                    true => &one,
                    false => self.by_config.get(other).map(Vec::as_slice).unwrap_or_default(),
                };
                for other in others {
                    if reached.insert(other.clone()) {
                        work.push(other.clone());
                    }
                }
            }
        }
        reached
    }
}
