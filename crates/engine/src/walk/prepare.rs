//! Preparation of a walk for planning and applying: required provider blocks, and evaluated vertices.

use foldhash::{HashMap, HashSet};
use yuba_addrs::AbsProviderConfig;
use yuba_config::provider::ProviderKey;
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_eval::references::each_traversal;
use yuba_eval::{ConfigTree, ModuleId};
use yuba_plan::Mode;
use yuba_state::State;
use yuba_syntax::Expr;

use crate::targets::TargetSelection;

/// Provider configurations that objects of the state belong to.
pub(crate) fn providers_of_state(tree: &ConfigTree, state: &State) -> Vec<(ModuleId, ProviderKey)> {
    blocks_of(tree, state.iter().map(|resource| &resource.provider))
}

/// The blocks of provider configurations.
pub(crate) fn blocks_of<'c>(
    tree: &ConfigTree,
    configs: impl Iterator<Item = &'c AbsProviderConfig>,
) -> Vec<(ModuleId, ProviderKey)> {
    let mut found = Vec::new();
    for config in configs.collect::<HashSet<_>>() {
        let Some(module) = tree.find(&config.module) else { continue };
        let blocks = tree.node(module).module.providers.keys();
        let is_it = |key: &&ProviderKey| {
            key.alias == config.alias && tree.provider_type(module, &key.name).as_ref() == Some(&config.provider)
        };
        found.extend(blocks.filter(is_it).map(|key| (module, key.clone())));
    }
    found
}

/// Positions of the blocks of provider configurations.
pub(crate) fn provider_blocks(graph: &RefGraph<'_>, tree: &ConfigTree) -> HashMap<AbsProviderConfig, u32> {
    let blocks = graph.nodes.iter().enumerate().filter_map(|(at, node)| match node.vertex {
        Vertex::Provider(block) => {
            let provider = tree.provider_type(node.module, &block.key.name)?;
            let (module, alias) = (tree.node(node.module).path.clone(), block.key.alias.clone());
            Some((AbsProviderConfig { module, provider, alias }, at as u32))
        }
        _ => None,
    });
    blocks.collect()
}

/// Whether an expression refers to anything.
fn refers(expr: &Expr) -> bool {
    let mut any = false;
    each_traversal(expr, &mut |_| any = true);
    any
}

/// Vertices to evaluate. To destroy everything, only those are required that configure providers or prevent it.
pub(crate) fn included(graph: &RefGraph<'_>, order: &[u32], selected: &TargetSelection, mode: Mode) -> Vec<bool> {
    let count = graph.nodes.len();
    if mode != Mode::Destroy {
        return (0..count as u32).map(|at| selected.includes(at)).collect();
    }
    let mut included = vec![false; count];
    for at in order.iter().rev() {
        let here = *at as usize;
        included[here] |= match graph.nodes[here].vertex {
            Vertex::Provider(_) => !graph.unused[here],
            Vertex::Resource(resource) => resource.lifecycle.prevent_destroy.as_ref().is_some_and(|expr| refers(expr)),
            _ => false,
        };
        if included[here] {
            for to in &graph.edges[here] {
                included[*to as usize] = true;
            }
        }
    }
    included
}
