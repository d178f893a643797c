//! Which resources a resource depends on, as states keep it: so that objects are destroyed in the right order even when the
//! configuration that made them is gone.

use ecow::EcoVec;
use yuba_addrs::{ConfigResource, Resource};
use yuba_eval::ConfigTree;
use yuba_eval::graph::{RefGraph, Vertex};

/// Up to so many dependencies are kept with those that they have themselves. A resource that has more keeps only those it
/// depends on directly: together with theirs they say the same, and a state does not grow with the square of the
/// configuration.
const LISTED: usize = 100;

/// For each vertex of a graph the resources it depends on, sorted by text; empty for other objects.
pub(crate) fn dependencies(graph: &RefGraph<'_>, order: &[u32], tree: &ConfigTree) -> Vec<EcoVec<ConfigResource>> {
    let count = graph.nodes.len();
    // Positions of resources in order of their texts, so that sorting numbers sorts texts.
    let mut resources: Vec<(String, u32)> = Vec::new();
    let mut address: Vec<Option<ConfigResource>> = vec![None; count];
    for (at, node) in graph.nodes.iter().enumerate() {
        if let Vertex::Resource(resource) = node.vertex {
            let found = Resource::from(&resource.key).in_module(tree.node(node.module).path.clone());
            resources.push((found.to_string(), at as u32));
            address[at] = Some(found);
        }
    }
    resources.sort_unstable();
    let mut rank = vec![0_u32; count];
    for (at, (_, vertex)) in resources.iter().enumerate() {
        rank[*vertex as usize] = at as u32;
    }
    // All dependencies if they are few, and the nearest resources.
    let mut all: Vec<Option<Vec<u32>>> = vec![Some(Vec::new()); count];
    let mut nearest: Vec<Vec<u32>> = vec![Vec::new(); count];
    for at in order {
        let mut reached: Option<Vec<u32>> = Some(Vec::new());
        let mut direct: Vec<u32> = Vec::new();
        for to in &graph.edges[*at as usize] {
            let is_resource = address[*to as usize].is_some();
            if let Some(sum) = &mut reached {
                match &all[*to as usize] {
                    Some(theirs) => sum.extend(theirs),
                    None => reached = None,
                }
            }
            if is_resource {
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
    let named = |ranks: &[u32]| -> EcoVec<ConfigResource> {
        let of = |rank: &u32| address[resources[*rank as usize].1 as usize].clone();
        ranks.iter().filter_map(of).collect()
    };
    (0..count)
        .map(|at| match (&address[at], &all[at]) {
            (None, _) => EcoVec::new(),
            (Some(_), Some(all)) => named(all),
            (Some(_), None) => named(&nearest[at]),
        })
        .collect()
}
