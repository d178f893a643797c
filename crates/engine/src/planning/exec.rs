//! In which order a plan is carried out.
//!
//! Objects of the configuration are evaluated in the order of their references; the creations and updates of a resource
//! happen there. Destroying is the other way round: an object is destroyed after everything that depended on it when it was
//! applied. Where both meet:
//!
//! - an object that is replaced is destroyed before the new one is created, or after it with create_before_destroy;
//! - what is created or changed waits for the end of what it depended on;
//! - with create_before_destroy the old object goes when everything that used it has changed to the new one.
//!
//! Waiting goes through one joint per resource, so there are as many edges as objects and references, not pairs of objects.

use foldhash::{HashMap, HashSet};
use yuba_addrs::ConfigResource;
use yuba_config::resource::ResourceKey;
use yuba_eval::ConfigTree;
use yuba_eval::graph::RefGraph;
use yuba_plan::{Action, ExecGraph, Mode, Op, ResourceChange};
use yuba_state::State;

/// The end of an object.
struct End<'p> {
    op: u32,
    resource: ConfigResource,
    dependencies: &'p [ConfigResource],
    create_before_destroy: bool,
    /// Another object takes its place.
    replaced: bool,
}

pub(crate) fn build(
    graph: &RefGraph<'_>,
    order: &[u32],
    tree: &ConfigTree,
    changes: &[ResourceChange],
    state: &State,
    mode: Mode,
) -> ExecGraph {
    let mut ops: Vec<Op> = (0..graph.nodes.len() as u32).map(Op::Evaluate).collect();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for at in order {
        edges.extend(graph.edges[*at as usize].iter().map(|to| (*at, *to)));
    }
    let vertex = |resource: &ConfigResource| -> Option<u32> {
        let module = tree.find(&resource.module)?;
        graph.resources.get(&(module, ResourceKey::from(&resource.resource))).copied()
    };
    // Resources that are created or changed.
    let mut changing: HashSet<u32> = HashSet::default();
    let mut ends: Vec<End<'_>> = Vec::new();
    for (position, change) in changes.iter().enumerate() {
        let resource = change.addr.containing().config();
        let object = state.instance(&change.addr).and_then(|instance| instance.object(change.deposed.as_ref()));
        let ending = matches!(change.action, Action::Delete | Action::Forget) || change.action.is_replace();
        if ending {
            let op = ops.len() as u32;
            ops.push(Op::Destroy(position as u32));
            let dependencies = object.map(|object| object.dependencies.as_slice()).unwrap_or_default();
            let create_before_destroy = match change.action {
                Action::CreateThenDelete => true,
                Action::DeleteThenCreate | Action::ForgetThenCreate => false,
                _ => object.is_some_and(|object| object.create_before_destroy),
            };
            let replaced = change.action.is_replace();
            ends.push(End { op, resource: resource.clone(), dependencies, create_before_destroy, replaced });
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
            if end.create_before_destroy {
                edges.push((end.op, at));
            } else {
                edges.push((at, end.op));
            }
        }
    }
    for end in &ends {
        for dependency in end.dependencies {
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
