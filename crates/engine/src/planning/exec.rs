//! In which order a plan is carried out.
//!
//! Objects of the configuration are evaluated in the order of their references; the creations and updates of a resource
//! happen there. Destroying is the other way round: an object is destroyed after everything that depended on it when it was
//! applied. Where both meet:
//!
//! - an object that is replaced is destroyed before the new one is created, or after it with create_before_destroy;
//! - what is created or changed waits for the end of what it depended on;
//! - with create_before_destroy the old object goes when everything that used it has changed to the new one;
//! - an object that was replaced in an earlier run goes when the change of its instance has succeeded.
//!
//! Waiting goes through one joint per resource, so there are as many edges as objects and references, not pairs of objects.

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashSet};
use yuba_addrs::ConfigResource;
use yuba_config::resource::ResourceKey;
use yuba_eval::ConfigTree;
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_plan::{Action, ExecGraph, Mode, Op, ResourceChange};
use yuba_state::State;
use yuba_syntax::Diagnostic;

use super::idle;
use crate::walk::block::has_conditions;
use crate::walk::prepare::provider_blocks;

/// The end of an object.
struct End<'p> {
    op: u32,
    resource: ConfigResource,
    dependencies: &'p [ConfigResource],
    create_before_destroy: bool,
    /// Another object takes its place, or took it before and is changed or checked now.
    replaced: bool,
    /// The block of the provider that destroys it.
    provider: Option<u32>,
}

/// The graph with the addresses of everything that is evaluated. Applying builds it again and compares: what a
/// plan file says about the order is believed only if the configuration, the state and the changes in it say the same.
///
/// `references` are the edges of the graph as the configuration has them, without those that only planning needs.
pub(crate) fn build(
    graph: &RefGraph<'_>,
    references: &[Vec<u32>],
    tree: &ConfigTree,
    changes: &[ResourceChange],
    state: &State,
    mode: Mode,
) -> ExecGraph {
    let built = connect((graph, references), tree, changes, state, mode);
    let is_evaluated = |at: &u32| matches!(built.ops.get(*at as usize), Some(Op::Evaluate(_)));
    let addresses: Vec<EcoString> = (0..graph.nodes.len() as u32)
        .map(|at| if is_evaluated(&at) { address(graph, at, tree) } else { EcoString::new() })
        .collect();
    built.naming(addresses)
}

/// The error for steps that wait for each other, which only appear when instances and what they depended on are known.
pub(crate) fn cycle(exec: &ExecGraph, changes: &[ResourceChange], stuck: impl Iterator<Item = u32>) -> Diagnostic {
    const SHOWN: usize = 20;
    let name = |step: u32| match exec.ops.get(step as usize)? {
        Op::Destroy(position) => Some(eco_format!("{} (destroy)", changes.get(*position as usize)?.addr)),
        Op::Evaluate(_) => exec.objects.get(step as usize).cloned(),
        Op::Join | Op::Settle => None,
    };
    let names: Vec<EcoString> = stuck.filter_map(name).take(SHOWN).collect();
    crate::diagnostics::operation_cycle(&names)
}

/// The address of an object of the configuration; no two objects have the same.
fn address(graph: &RefGraph<'_>, at: u32, tree: &ConfigTree) -> EcoString {
    let node = &graph.nodes[at as usize];
    match node.vertex {
        // Two names may stand for one provider.
        Vertex::Provider(block) => {
            let path = &tree.node(node.module).path;
            let dot = if path.is_root() { "" } else { "." };
            eco_format!("{path}{dot}provider.{}", block.key)
        }
        _ => graph.name(at, tree),
    }
}

fn connect(
    (graph, references): (&RefGraph<'_>, &[Vec<u32>]),
    tree: &ConfigTree,
    changes: &[ResourceChange],
    state: &State,
    mode: Mode,
) -> ExecGraph {
    let mut ops: Vec<Op> = (0..graph.nodes.len() as u32).map(Op::Evaluate).collect();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for (at, others) in references.iter().enumerate() {
        edges.extend(others.iter().map(|to| (at as u32, *to)));
    }
    let vertex = |resource: &ConfigResource| -> Option<u32> {
        let module = tree.find(&resource.module)?;
        graph.resources.get(&(module, ResourceKey::from(&resource.resource))).copied()
    };
    let active = active(graph, changes, vertex);
    for at in idle::idle(graph, references, &active) {
        ops[at as usize] = Op::Join;
    }
    let (data, before) = idle::check_data(graph, references, &active);
    if !data.is_empty() && mode == Mode::Normal {
        let changed = ops.len() as u32;
        ops.push(Op::Join);
        edges.extend(before.into_iter().map(|at| (changed, at)));
        edges.extend(data.into_iter().map(|at| (at, changed)));
    }
    // Resources that are created or changed.
    let mut changing: HashSet<u32> = HashSet::default();
    let mut ends: Vec<End<'_>> = Vec::new();
    let providers = provider_blocks(graph, tree);
    // Changes of the instances that have objects from earlier runs.
    let old: HashSet<_> = changes.iter().filter(|change| change.deposed.is_some()).map(|change| &change.addr).collect();
    let beside = changes.iter().filter(|change| change.deposed.is_none() && old.contains(&change.addr));
    let current: HashMap<_, _> = beside.map(|change| (&change.addr, change)).collect();
    for (position, change) in changes.iter().enumerate() {
        let resource = change.addr.containing().config();
        let object = state.instance(&change.addr).and_then(|instance| instance.object(change.deposed.as_ref()));
        if change.action.ends() {
            let op = ops.len() as u32;
            ops.push(Op::Destroy(position as u32));
            let dependencies = object.map(|object| object.dependencies.as_slice()).unwrap_or_default();
            let is_deposed = change.deposed.is_some();
            let create_before_destroy = match change.action {
                Action::CreateThenDelete => true,
                Action::DeleteThenCreate | Action::ForgetThenCreate => false,
                _ => is_deposed || object.is_some_and(|object| object.create_before_destroy),
            };
            let replaced = match is_deposed {
                true => current.get(&change.addr).is_some_and(|current| is_visited(graph, vertex(&resource), current)),
                false => change.action.is_replace(),
            };
            let asks = !matches!(change.action, Action::Forget | Action::ForgetThenCreate);
            let provider = providers.get(&change.provider).copied().filter(|_| asks);
            ends.push(End { op, resource: resource.clone(), dependencies, create_before_destroy, replaced, provider });
        }
        let changes_value = !matches!(change.action, Action::NoOp | Action::Delete | Action::Forget);
        if changes_value && let Some(at) = vertex(&resource) {
            changing.insert(at);
        }
    }
    if ends.is_empty() {
        return ExecGraph::new(ops, &edges);
    }
    let mut joints: HashMap<ConfigResource, Joints> = HashMap::default();
    // All ends of the objects of a resource that do not wait for creations, and all ends.
    for end in &ends {
        joints.entry(end.resource.clone()).or_insert_with(|| Joints::new(&mut ops));
    }
    // Instances of one resource do not fail with each other: what an instance makes of the end before it, it finds in the state.
    let mut settled: HashMap<(u32, bool), u32> = HashMap::default();
    let mut settle = |at: u32, create_before_destroy: bool, ops: &mut Vec<Op>, edges: &mut Vec<(u32, u32)>| {
        *settled.entry((at, create_before_destroy)).or_insert_with(|| {
            let step = ops.len() as u32;
            ops.push(Op::Settle);
            edges.push(if create_before_destroy { (step, at) } else { (at, step) });
            step
        })
    };
    for end in &ends {
        let joint = &joints[&end.resource];
        // The joint is passed when all ends are over.
        edges.push((joint.ended, end.op));
        if !end.create_before_destroy {
            edges.push((joint.ended_first, end.op));
        }
        // An end waits for everything that must be over before.
        edges.push((end.op, joint.may_end));
        if end.create_before_destroy {
            edges.push((end.op, joint.may_end_late));
        }
        if end.replaced
            && let Some(at) = vertex(&end.resource)
        {
            let step = settle(at, end.create_before_destroy, &mut ops, &mut edges);
            edges.push(if end.create_before_destroy { (end.op, step) } else { (step, end.op) });
        }
    }
    let mut behind: HashMap<u32, HashSet<u32>> = HashMap::default();
    for end in &ends {
        if let Some(provider) = end.provider {
            edges.push((end.op, provider));
            behind.entry(provider).or_insert_with(|| all_behind(references, provider));
        }
        let configures = |dependency: &ConfigResource| {
            let at = vertex(dependency).filter(|at| changing.contains(at));
            at.zip(end.provider).is_some_and(|(at, provider)| behind[&provider].contains(&at))
        };
        for dependency in end.dependencies {
            // Its provider can only be configured when this has changed, so the change cannot wait for its end.
            if configures(dependency) {
                continue;
            }
            // What it depended on ends later.
            if let Some(theirs) = joints.get(dependency)
                && *dependency != end.resource
            {
                edges.push((theirs.may_end, end.op));
            }
            // What it depended on and is created or changed waits for its end.
            if !end.create_before_destroy
                && let Some(at) = vertex(dependency)
                && changing.contains(&at)
                && *dependency != end.resource
            {
                edges.push((at, end.op));
            }
        }
    }
    // What is created or changed, and depended on something that ends.
    if mode == Mode::Normal {
        for change in changes {
            if matches!(change.action, Action::NoOp | Action::Delete | Action::Forget) {
                continue;
            }
            let resource = change.addr.containing().config();
            let Some(at) = vertex(&resource) else { continue };
            let object = state.instance(&change.addr).and_then(|instance| instance.current.as_ref());
            for dependency in object.map(|object| object.dependencies.as_slice()).unwrap_or_default() {
                let Some(theirs) = joints.get(dependency) else { continue };
                edges.push((at, theirs.ended_first));
                edges.push((theirs.may_end_late, at));
            }
        }
    }
    edges.sort_unstable();
    edges.dedup();
    ExecGraph::new(ops, &edges)
}

/// Whether an instance is changed, or its conditions are checked.
pub(crate) fn is_visited(graph: &RefGraph<'_>, vertex: Option<u32>, change: &ResourceChange) -> bool {
    let Some(Vertex::Resource(resource)) = vertex.map(|at| graph.nodes[at as usize].vertex) else { return false };
    match change.action {
        Action::Delete | Action::Forget => false,
        Action::NoOp => has_conditions(resource),
        _ => true,
    }
}

/// Resources with instances that are created, changed or read, or whose conditions are checked again.
fn active(
    graph: &RefGraph<'_>,
    changes: &[ResourceChange],
    vertex: impl Fn(&ConfigResource) -> Option<u32>,
) -> HashSet<u32> {
    let mut active = HashSet::default();
    for change in changes.iter().filter(|change| change.deposed.is_none()) {
        let Some(at) = vertex(&change.addr.containing().config()) else { continue };
        let is_active = match change.action {
            Action::Delete | Action::Forget => false,
            Action::NoOp => match graph.nodes[at as usize].vertex {
                Vertex::Resource(resource) => has_conditions(resource),
                _ => false,
            },
            _ => true,
        };
        if is_active {
            active.insert(at);
        }
    }
    active
}

/// Everything that an object depends on.
fn all_behind(references: &[Vec<u32>], at: u32) -> HashSet<u32> {
    let (mut seen, mut work) = (HashSet::default(), vec![at]);
    while let Some(at) = work.pop() {
        work.extend(references[at as usize].iter().copied().filter(|to| seen.insert(*to)));
    }
    seen
}

/// Where others wait for the ends of a resource's objects.
struct Joints {
    /// Before any of them.
    may_end: u32,
    /// Before those that happen after creations.
    may_end_late: u32,
    /// After those that happen before creations.
    ended_first: u32,
    /// After all of them.
    ended: u32,
}

impl Joints {
    fn new(ops: &mut Vec<Op>) -> Joints {
        let mut joint = || {
            ops.push(Op::Join);
            ops.len() as u32 - 1
        };
        Joints { may_end: joint(), may_end_late: joint(), ended_first: joint(), ended: joint() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_names_its_steps() {
        let ops = vec![Op::Evaluate(0), Op::Evaluate(1), Op::Join];
        let exec = ExecGraph::new(ops, &[(0, 2), (2, 1), (1, 0)]).naming(["a.b".into(), "local.c (expand)".into()]);
        let problem = cycle(&exec, &[], exec.stuck().into_iter());
        assert!(problem.detail.contains(": a.b, local.c (expand)."), "{}", problem.detail);
    }
}
