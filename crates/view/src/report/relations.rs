//! Dependencies between the resources of a report, and between its changes.
//!
//! The configuration has references between resource blocks, directly or through values, providers and calls of modules. Of objects
//! that only the state has, the report has the dependencies that the state recorded. From dependencies of resources follow those of changes: two
//! resources in one module are related within each instance of the innermost module that contains both.

use std::collections::BTreeSet;

use ecow::EcoString;
use foldhash::HashMap;
use yuba_addrs::{AbsResourceInstance, ConfigResource, ModuleInstance, ModuleStep, Resource};
use yuba_eval::graph::Vertex;
use yuba_plan::ResourceChange;
use yuba_state::State;

use super::build::PlanSources;
use super::{ChangeAction, GraphResource, Links, MAX_LINKS, Report};

/// Maximum number of resources that are followed through one value, provider or call of a module.
const MAX_BEHIND: usize = 256;
/// Recorded dependencies up to this number include those of the dependencies.
const MAX_INDIRECT: usize = 100;

/// Resources by number, and for each those it depends on.
#[derive(Default)]
struct Relations {
    numbers: HashMap<ConfigResource, u32>,
    resources: Vec<ConfigResource>,
    depends: Vec<BTreeSet<u32>>,
}

/// Fills in the graph of a plan, and the links of its changes. `shown` are the changes in the order of the report.
pub(super) fn of_plan(report: &mut Report, from: &PlanSources<'_>, shown: &[&ResourceChange]) {
    let mut relations = Relations::default();
    relations.configuration(from);
    let declared = relations.resources.len();
    relations.state(&from.plan.prior_state, declared);
    let numbers: Vec<u32> = shown.iter().map(|change| relations.number(change.addr.config())).collect();
    relations.graph(report, &numbers);
    relations.link(report, &numbers, shown);
}

/// Fills in the graph of a state.
pub(super) fn of_state(report: &mut Report, state: &State) {
    let mut relations = Relations::default();
    relations.state(state, 0);
    relations.graph(report, &[]);
}

impl Relations {
    fn number(&mut self, resource: ConfigResource) -> u32 {
        if let Some(number) = self.numbers.get(&resource) {
            return *number;
        }
        let number = self.resources.len() as u32;
        self.numbers.insert(resource.clone(), number);
        self.resources.push(resource);
        self.depends.push(BTreeSet::new());
        number
    }

    fn depend(&mut self, from: u32, to: u32) {
        if let Some(depends) = self.depends.get_mut(from as usize).filter(|_| from != to) {
            depends.insert(to);
        }
    }

    /// References of the configuration. Vertices between resources pass references on, up to [`MAX_BEHIND`] resources.
    fn configuration(&mut self, from: &PlanSources<'_>) {
        let graph = from.graph;
        let mut numbers: Vec<Option<u32>> = Vec::with_capacity(graph.nodes.len());
        for node in &graph.nodes {
            numbers.push(match node.vertex {
                Vertex::Resource(resource) => {
                    let module = from.tree.node(node.module).path.clone();
                    Some(self.number(Resource::from(&resource.key).in_module(module)))
                }
                _ => None,
            });
        }
        let mut behind: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); graph.nodes.len()];
        for at in graph.components().into_iter().flatten() {
            let mut found = BTreeSet::new();
            for to in &graph.edges[at as usize] {
                match numbers[*to as usize] {
                    Some(number) => {
                        found.insert(number);
                    }
                    None => found.extend(&behind[*to as usize]),
                }
                if found.len() > MAX_BEHIND && numbers[at as usize].is_none() {
                    break;
                }
            }
            match numbers[at as usize] {
                Some(number) => found.into_iter().for_each(|to| self.depend(number, to)),
                None => behind[at as usize] = found,
            }
        }
    }

    /// Dependencies that a state recorded, where the configuration does not have one of the two resources. The configuration has
    /// those with numbers below `declared`.
    fn state(&mut self, state: &State, declared: usize) {
        let mut recorded: Vec<(u32, Vec<u32>)> = Vec::new();
        let owners: Vec<u32> = state.iter().map(|resource| self.number(resource.addr.config())).collect();
        for (resource, own) in state.iter().zip(owners) {
            let mut instances = resource.instances.iter().flat_map(|(_, instance)| instance.objects());
            if let Some((_, object)) = instances.find(|(_, object)| !object.dependencies.is_empty()) {
                let needs = object.dependencies.iter().filter_map(|needed| self.numbers.get(needed).copied()).collect();
                recorded.push((own, needs));
            }
        }
        let by_resource: HashMap<u32, &Vec<u32>> = recorded.iter().map(|(own, needs)| (*own, needs)).collect();
        for (own, needs) in &recorded {
            let indirect: BTreeSet<u32> = match needs.len() {
                0..=MAX_INDIRECT => {
                    needs.iter().filter_map(|need| by_resource.get(need)).flat_map(|n| n.iter().copied()).collect()
                }
                _ => BTreeSet::new(),
            };
            for need in needs.iter().filter(|need| !indirect.contains(need)) {
                if *own as usize >= declared || *need as usize >= declared {
                    self.depend(*own, *need);
                }
            }
        }
    }

    /// Nodes and edges for a report; `numbers` are those of the resources of its changes.
    fn graph(&self, report: &mut Report, numbers: &[u32]) {
        let module = |resource: &ConfigResource| match resource.module.is_root() {
            true => EcoString::new(),
            false => ecow::eco_format!("{}", resource.module),
        };
        let node = |resource: &ConfigResource| GraphResource {
            id: ecow::eco_format!("{resource}"),
            label: ecow::eco_format!("{}", resource.resource),
            module: module(resource),
            changes: Vec::new(),
            action: ChangeAction::NoOp,
        };
        let mut nodes: Vec<GraphResource> = self.resources.iter().map(node).collect();
        for ((number, at), change) in numbers.iter().zip(0..).zip(&report.changes) {
            if let Some(node) = nodes.get_mut(*number as usize) {
                node.changes.push(at);
                node.action = node.action.min(change.action);
            }
        }
        report.graph.nodes = nodes;
        let edges = (0..).zip(&self.depends).flat_map(|(from, to)| to.iter().map(move |to| (from, *to)));
        report.graph.edges = edges.collect();
    }

    fn link(&self, report: &mut Report, numbers: &[u32], shown: &[&ResourceChange]) {
        let mut modules = Modules::default();
        let mut places: HashMap<(u32, u32), Vec<u32>> = HashMap::default();
        // Changes of one resource in one module instance have the same links.
        let mut alike: HashMap<(u32, u32), (Vec<u32>, Vec<u32>)> = HashMap::default();
        for ((number, change), at) in numbers.iter().zip(shown).zip(0..) {
            let path = modules.path(&change.addr);
            for module in &path {
                places.entry((*number, *module)).or_default().push(at);
            }
            let own = path.last().copied().unwrap_or_default();
            alike.entry((*number, own)).or_insert_with(|| (path, Vec::new())).1.push(at);
        }
        let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); self.depends.len()];
        for (from, to) in &report.graph.edges {
            if let Some(dependents) = dependents.get_mut(*to as usize) {
                dependents.push(*from);
            }
        }
        let links = |number: u32, path: &[u32], others: &mut dyn Iterator<Item = u32>| {
            let mut links = Links::default();
            for other in others {
                let common = self.common_modules(number, other);
                let Some(module) = path.get(common) else { continue };
                let Some(found) = places.get(&(other, *module)) else { continue };
                links.total += found.len();
                let room = MAX_LINKS.saturating_sub(links.changes.len());
                links.changes.extend(found.iter().take(room));
            }
            links.changes.sort_unstable();
            links
        };
        for ((number, _), (path, members)) in &alike {
            let depends = self.depends.get(*number as usize).into_iter().flatten().copied();
            let depends = links(*number, path, &mut { depends });
            let others = dependents.get(*number as usize).into_iter().flatten().copied();
            let dependents = links(*number, path, &mut { others });
            for at in members {
                if let Some(change) = report.changes.get_mut(*at as usize) {
                    change.depends = depends.clone();
                    change.dependents = dependents.clone();
                }
            }
        }
    }

    /// Number of modules around both of two resources.
    fn common_modules(&self, one: u32, other: u32) -> usize {
        let steps = |number: u32| self.resources.get(number as usize).map_or(&[] as &[_], |one| one.module.steps());
        steps(one).iter().zip(steps(other)).take_while(|(a, b)| a == b).count()
    }
}

/// Numbers of module instances; the root module has number 0.
#[derive(Default)]
struct Modules {
    by_step: HashMap<(u32, ModuleStep), u32>,
    last: Option<(ModuleInstance, Vec<u32>)>,
}

impl Modules {
    /// The module instances around an object, beginning with the root module.
    fn path(&mut self, addr: &AbsResourceInstance) -> Vec<u32> {
        if let Some((_, path)) = self.last.as_ref().filter(|(module, _)| *module == addr.module) {
            return path.clone();
        }
        let mut path = vec![0];
        let mut at = 0;
        for step in addr.module.steps() {
            let next = self.by_step.len() as u32 + 1;
            at = *self.by_step.entry((at, step.clone())).or_insert(next);
            path.push(at);
        }
        self.last = Some((addr.module.clone(), path.clone()));
        path
    }
}
