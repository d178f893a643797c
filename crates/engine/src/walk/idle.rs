//! Ephemeral resources that applying a plan has no use for: they are not opened.
//!
//! One is used where its value may be asked for: in a resource with an instance that is created, changed or whose conditions
//! are checked, in a provider, in a check, and in values that these use. A resource that stays as it is uses nothing itself,
//! unless other values are made from it.

use foldhash::HashSet;
use yuba_config::resource::Resource;
use yuba_eval::ModuleId;
use yuba_eval::graph::{RefGraph, Vertex};

/// The way in which references to an object keep it in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// A value, needed wherever it is referred to.
    Value,
    /// A resource or module call, needed by everything but values that are evaluated for their own sake.
    Instances,
    /// An object that is evaluated for its own sake.
    Always,
}

fn need(graph: &RefGraph<'_>, at: u32, active: &HashSet<u32>) -> Need {
    let node = &graph.nodes[at as usize];
    match &node.vertex {
        Vertex::Local(_) | Vertex::Input(_) => Need::Value,
        Vertex::Variable(variable) if variable.validations.is_empty() => Need::Value,
        Vertex::Output(output) if node.module != ModuleId::ROOT && output.preconditions.is_empty() => Need::Value,
        Vertex::Resource(_) if !active.contains(&at) => Need::Instances,
        Vertex::Call | Vertex::Close => Need::Instances,
        _ => Need::Always,
    }
}

fn is_ephemeral(vertex: &Vertex<'_>) -> bool {
    matches!(vertex, Vertex::Resource(Resource { key, .. }) if key.mode == yuba_addrs::ResourceMode::Ephemeral)
}

/// Vertices that are skipped while applying: unused ephemeral resources, and unused values that depend on them. `active` are
/// resources with instances that are created, changed, read, or whose conditions are checked.
pub(super) fn idle(graph: &RefGraph<'_>, references: &[Vec<u32>], active: &HashSet<u32>) -> Vec<u32> {
    let node = |at: u32| &graph.nodes[at as usize];
    if !graph.nodes.iter().any(|node| is_ephemeral(&node.vertex)) {
        return Vec::new();
    }
    let order = order(references);
    let need_of = |at: u32| need(graph, at, active);
    let mut kept = vec![false; graph.nodes.len()];
    for at in order.iter().rev() {
        let here = need_of(*at);
        let vertex = &node(*at).vertex;
        kept[*at as usize] |= here == Need::Always && !is_ephemeral(vertex);
        if !kept[*at as usize] || matches!(vertex, Vertex::Close) {
            continue;
        }
        // A root output and a variable with rules exist whatever becomes of the resources that they refer to.
        let for_itself = here == Need::Always && matches!(vertex, Vertex::Output(_) | Vertex::Variable(_));
        for to in &references[*at as usize] {
            kept[*to as usize] |= !for_itself || need_of(*to) == Need::Value;
        }
    }
    let mut idle = vec![false; graph.nodes.len()];
    for at in &order {
        let uses_idle = || references[*at as usize].iter().any(|to| idle[*to as usize]);
        let skipped =
            !kept[*at as usize] && (is_ephemeral(&node(*at).vertex) || (need_of(*at) == Need::Value && uses_idle()));
        idle[*at as usize] = skipped;
    }
    order.into_iter().filter(|at| idle[*at as usize]).collect()
}

/// Data resources of `check` blocks, and what they wait for while applying: the changes of all managed resources that do not
/// depend on them.
pub(super) fn check_data(graph: &RefGraph<'_>, references: &[Vec<u32>], active: &HashSet<u32>) -> (Vec<u32>, Vec<u32>) {
    let resource = |at: u32| match graph.nodes[at as usize].vertex {
        Vertex::Resource(resource) => Some(resource),
        _ => None,
    };
    let all = 0..graph.nodes.len() as u32;
    let data: Vec<u32> = all.filter(|at| resource(*at).is_some_and(|it| it.inside_check.is_some())).collect();
    if data.is_empty() {
        return (data, Vec::new());
    }
    let order = order(references);
    let mut above = vec![false; graph.nodes.len()];
    data.iter().for_each(|at| above[*at as usize] = true);
    for at in &order {
        above[*at as usize] |= references[*at as usize].iter().any(|to| above[*to as usize]);
    }
    let is_managed = |at: u32| resource(at).is_some_and(|it| it.key.mode == yuba_addrs::ResourceMode::Managed);
    let changes = order.iter().copied().filter(|at| is_managed(*at) && active.contains(at) && !above[*at as usize]);
    (data, changes.collect())
}

/// Every object after those that it refers to.
fn order(references: &[Vec<u32>]) -> Vec<u32> {
    let mut dependents = vec![Vec::new(); references.len()];
    let mut waiting: Vec<usize> = references.iter().map(Vec::len).collect();
    for (at, others) in references.iter().enumerate() {
        others.iter().for_each(|to| dependents[*to as usize].push(at as u32));
    }
    let mut order: Vec<u32> = (0..references.len() as u32).filter(|at| waiting[*at as usize] == 0).collect();
    let mut next = 0;
    while let Some(at) = order.get(next).copied() {
        next += 1;
        for dependent in &dependents[at as usize] {
            waiting[*dependent as usize] -= 1;
            if waiting[*dependent as usize] == 0 {
                order.push(*dependent);
            }
        }
    }
    order
}
