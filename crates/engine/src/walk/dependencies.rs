//! Dependencies of a resource, as states store them: so that objects are destroyed in the right order even when the
//! configuration that created them is gone.

use std::cell::OnceCell;

use ecow::EcoVec;
use foldhash::HashMap;
use yuba_addrs::{ConfigResource, Resource};
use yuba_eval::ConfigTree;
use yuba_eval::graph::{RefGraph, Vertex};

/// Up to this number, dependencies are stored with their own dependencies. A resource with more of them stores only the
/// direct ones: together with theirs they are equivalent, and a state does not grow with the square of the
/// configuration.
const LISTED: usize = 100;

/// The resources that each resource of a graph depends on. They are computed on the first use: a plan that only creates
/// or only destroys never needs them.
pub(crate) struct Dependencies<'a> {
    graph: &'a RefGraph<'a>,
    /// Vertices, each after what it depends on.
    order: &'a [u32],
    tree: &'a ConfigTree,
    found: OnceCell<Found>,
}

struct Found {
    /// Resources in order of their texts.
    resources: Vec<ConfigResource>,
    /// Lists of positions in `resources`, and the same with names after the first use. The resources of a module often
    /// depend on the same: these share one list.
    lists: Vec<(Vec<u32>, OnceCell<EcoVec<ConfigResource>>)>,
    /// For each vertex its list.
    of_vertex: Vec<u32>,
}

impl<'a> Dependencies<'a> {
    pub(crate) fn new(graph: &'a RefGraph<'a>, order: &'a [u32], tree: &'a ConfigTree) -> Dependencies<'a> {
        Dependencies { graph, order, tree, found: OnceCell::new() }
    }

    /// Dependencies of a vertex, sorted by text; empty for other objects than resources.
    pub(crate) fn of(&self, vertex: u32) -> EcoVec<ConfigResource> {
        let found = self.found.get_or_init(|| find(self.graph, self.order, self.tree));
        let (ranks, named) = &found.lists[found.of_vertex[vertex as usize] as usize];
        named.get_or_init(|| ranks.iter().map(|rank| found.resources[*rank as usize].clone()).collect()).clone()
    }
}

/// Finds the dependencies of all resources of a graph.
fn find(graph: &RefGraph<'_>, order: &[u32], tree: &ConfigTree) -> Found {
    let count = graph.nodes.len();
    // Positions of resources in order of their texts, so that sorting numbers sorts texts.
    let mut resources: Vec<(String, u32, ConfigResource)> = Vec::new();
    let mut is_resource = vec![false; count];
    for (at, node) in graph.nodes.iter().enumerate() {
        if let Vertex::Resource(resource) = node.vertex {
            let found = Resource::from(&resource.key).in_module(tree.node(node.module).path.clone());
            resources.push((found.to_string(), at as u32, found));
            is_resource[at] = true;
        }
    }
    resources.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut rank = vec![0_u32; count];
    for (at, (_, vertex, _)) in resources.iter().enumerate() {
        rank[*vertex as usize] = at as u32;
    }
    // All dependencies if they are few, and the nearest resources.
    let mut all: Vec<Option<Vec<u32>>> = vec![Some(Vec::new()); count];
    let mut nearest: Vec<Vec<u32>> = vec![Vec::new(); count];
    for at in order {
        let mut reached: Option<Vec<u32>> = Some(Vec::new());
        let mut direct: Vec<u32> = Vec::new();
        for to in &graph.edges[*at as usize] {
            if let Some(sum) = &mut reached {
                match &all[*to as usize] {
                    Some(theirs) => sum.extend(theirs),
                    None => reached = None,
                }
            }
            if is_resource[*to as usize] {
                direct.push(rank[*to as usize]);
                if let Some(sum) = &mut reached {
                    sum.push(rank[*to as usize]);
                }
            } else if direct.len() <= LISTED * LISTED {
                direct.extend(&nearest[*to as usize]);
            }
            if direct.len() > 4 * LISTED {
                direct.sort_unstable();
                direct.dedup();
            }
            if let Some(sum) = &mut reached
                && sum.len() > 4 * LISTED
            {
                sum.sort_unstable();
                sum.dedup();
            }
            if reached.as_ref().is_some_and(|sum| sum.len() > 4 * LISTED) {
                reached = None;
            }
        }
        if let Some(sum) = &mut reached {
            sum.sort_unstable();
            sum.dedup();
        }
        direct.sort_unstable();
        direct.dedup();
        all[*at as usize] = reached.filter(|sum| sum.len() <= LISTED);
        nearest[*at as usize] = direct;
    }
    let mut known: HashMap<Vec<u32>, u32> = HashMap::default();
    let of_vertex = (0..count).map(|at| {
        let ranks = match all[at].take() {
            _ if !is_resource[at] => Vec::new(),
            Some(all) => all,
            None => std::mem::take(&mut nearest[at]),
        };
        let next = known.len() as u32;
        *known.entry(ranks).or_insert(next)
    });
    let of_vertex = of_vertex.collect();
    let mut lists = vec![(Vec::new(), OnceCell::new()); known.len()];
    for (ranks, at) in known {
        lists[at as usize].0 = ranks;
    }
    Found { resources: resources.into_iter().map(|(_, _, resource)| resource).collect(), lists, of_vertex }
}
