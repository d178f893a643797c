//! `-target` and `-exclude`: which objects are part of a run.
//!
//! A target includes its dependencies; an exclusion includes its dependents. Outputs cannot be named: those of the root
//! module that depend only on parts of the run are part of it, too.

mod address_set;
mod destroying;
mod left_alone;
mod text;

use yuba_addrs::{AbsResourceInstance, ConfigResource, Target};
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_eval::tree::{ConfigTree, ModuleId};
use yuba_syntax::Diagnostics;

use crate::diagnostics::{apply_may_be_incomplete, targeting_in_effect};

pub use address_set::AddressSet;
pub use destroying::Destroying;
pub(crate) use destroying::{Direction, Links};
pub use left_alone::left_alone;
pub use text::{parse_file, parse_option};

/// Limits of a run. At most one of the two is given.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// `-target`: these and what they depend on.
    pub targets: Vec<Target>,
    /// `-exclude`: everything but these and what depends on them.
    pub excludes: Vec<Target>,
}

/// Part of an object in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Nothing,
    /// All instances: something else needs it.
    All,
    /// The instances that were asked for.
    Named,
}

/// Objects of a configuration that are part of a run.
#[derive(Debug, Default)]
pub struct TargetSelection {
    /// By vertex; none if the run was not limited.
    parts: Option<Vec<Part>>,
    named: Named,
}

/// Whether an instance was asked for, or not excluded.
#[derive(Clone, Debug, Default)]
struct Named {
    set: AddressSet,
    excluding: bool,
}

impl Named {
    fn new(targets: &Targets) -> Named {
        let excluding = targets.targets.is_empty();
        let set = AddressSet::new(if excluding { &targets.excludes } else { &targets.targets });
        Named { set, excluding }
    }
    fn selects(&self, addr: &AbsResourceInstance) -> bool {
        self.set.contains(addr) != self.excluding
    }
    /// The direction in which a destroy follows the named resources: what depends on a target goes too, and what an
    /// excluded resource depends on stays.
    fn direction(&self) -> Direction {
        if self.excluding { Direction::ToDependencies } else { Direction::ToDependents }
    }
}

impl Targets {
    /// Whether the run is not limited.
    pub fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.excludes.is_empty()
    }
    /// Warning about a plan.
    pub fn plan_warnings(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        if !self.is_empty() {
            problems.push(targeting_in_effect());
        }
        problems
    }
    /// Warning after a plan was applied.
    pub fn apply_warnings(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        if !self.is_empty() {
            problems.push(apply_may_be_incomplete());
        }
        problems
    }
}

impl TargetSelection {
    /// Parts of objects of a configuration in a run.
    pub fn new(graph: &RefGraph<'_>, tree: &ConfigTree, targets: &Targets) -> TargetSelection {
        if targets.is_empty() {
            return TargetSelection::default();
        }
        let named = Named::new(targets);
        let mut parts = vec![Part::Nothing; graph.nodes.len()];
        let direct =
            if named.excluding { not_excluded(graph, tree, &named.set) } else { targeted(graph, tree, &named.set) };
        keep(graph, &mut parts, direct.iter().copied());
        for at in direct {
            parts[at as usize] = Part::Named;
        }
        let outputs = outputs(graph, &parts);
        keep(graph, &mut parts, outputs.into_iter());
        TargetSelection { parts: Some(parts), named }
    }

    /// Whether an object is part of the run; for resources, whether some of its instances may be.
    pub fn includes(&self, vertex: u32) -> bool {
        self.part(vertex) != Part::Nothing
    }
    /// Whether an instance of a resource is part of the run: a wanted one, or one of the state that is no longer
    /// wanted.
    pub fn selects(&self, vertex: u32, addr: &AbsResourceInstance) -> bool {
        match self.part(vertex) {
            Part::Nothing => false,
            Part::All => true,
            Part::Named => self.named.selects(addr),
        }
    }
    /// Whether an instance whose resource is no longer in the configuration is part of the run.
    pub fn selects_orphan(&self, addr: &AbsResourceInstance) -> bool {
        self.parts.is_none() || self.named.selects(addr)
    }
    /// Whether the run is limited.
    pub fn is_limited(&self) -> bool {
        self.parts.is_some()
    }

    fn part(&self, vertex: u32) -> Part {
        match &self.parts {
            None => Part::All,
            Some(parts) => parts.get(vertex as usize).copied().unwrap_or_default(),
        }
    }
}

/// The resources of the graph.
fn resources<'g>(graph: &'g RefGraph<'_>, tree: &'g ConfigTree) -> impl Iterator<Item = (u32, ConfigResource)> + 'g {
    graph.nodes.iter().enumerate().filter_map(|(at, node)| match node.vertex {
        Vertex::Resource(resource) => {
            let module = tree.node(node.module).path.clone();
            Some((at as u32, yuba_addrs::Resource::from(&resource.key).in_module(module)))
        }
        _ => None,
    })
}

fn targeted(graph: &RefGraph<'_>, tree: &ConfigTree, set: &AddressSet) -> Vec<u32> {
    resources(graph, tree).filter(|(_, config)| set.touches(config)).map(|(at, _)| at).collect()
}

/// Resources that neither are excluded nor depend on something of which a part is.
fn not_excluded(graph: &RefGraph<'_>, tree: &ConfigTree, set: &AddressSet) -> Vec<u32> {
    let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); graph.nodes.len()];
    for (from, edges) in graph.edges.iter().enumerate() {
        edges.iter().for_each(|to| dependents[*to as usize].push(from as u32));
    }
    let mut excluded = vec![false; graph.nodes.len()];
    let mut work: Vec<u32> = Vec::new();
    let mut candidates = Vec::new();
    for (at, config) in resources(graph, tree) {
        candidates.push(at);
        if set.touches(&config) {
            work.extend(&dependents[at as usize]);
        }
        excluded[at as usize] |= set.contains_all(&config);
    }
    let mut reached = vec![false; graph.nodes.len()];
    while let Some(at) = work.pop() {
        if !std::mem::replace(&mut reached[at as usize], true) {
            excluded[at as usize] = true;
            work.extend(&dependents[at as usize]);
        }
    }
    candidates.retain(|at| !excluded[*at as usize]);
    candidates
}

/// Includes objects and all their dependencies.
fn keep(graph: &RefGraph<'_>, parts: &mut [Part], roots: impl Iterator<Item = u32>) {
    let mut work: Vec<u32> = roots.collect();
    while let Some(at) = work.pop() {
        if parts[at as usize] == Part::Nothing {
            parts[at as usize] = Part::All;
            work.extend(&graph.edges[at as usize]);
        }
    }
}

/// Outputs of the root module and variables with rules that depend on resources, all of which are included.
fn outputs(graph: &RefGraph<'_>, parts: &[Part]) -> Vec<u32> {
    /// Known facts about the resources that an object depends on.
    #[derive(Clone, Copy, Default)]
    struct Below {
        some: bool,
        missing: bool,
    }
    let mut below = vec![Below::default(); graph.nodes.len()];
    let mut found = Vec::new();
    for at in graph.components().into_iter().flatten() {
        let mut sum = Below::default();
        for to in &graph.edges[at as usize] {
            let is_resource = matches!(graph.nodes[*to as usize].vertex, Vertex::Resource(_));
            sum.some |= is_resource || below[*to as usize].some;
            sum.missing |= below[*to as usize].missing || (is_resource && parts[*to as usize] == Part::Nothing);
        }
        below[at as usize] = sum;
        let node = &graph.nodes[at as usize];
        let is_end = match node.vertex {
            Vertex::Output(_) => node.module == ModuleId::ROOT,
            Vertex::Variable(variable) => !variable.validations.is_empty(),
            _ => false,
        };
        if is_end && sum.some && !sum.missing {
            found.push(at);
        }
    }
    found
}

#[cfg(test)]
mod tests;
