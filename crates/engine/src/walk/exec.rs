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

use super::block::has_conditions;
use super::idle;
use super::prepare::provider_blocks;

/// The end of an object.
struct End<'p> {
    op: u32,
    resource: ConfigResource,
    dependencies: &'p [ConfigResource],
    create_before_destroy: bool,
    /// Another object replaces it, or replaced it before and is changed or checked now.
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
    let steps = Connecting { graph, references, tree, changes, state, ops: Vec::new(), edges: Vec::new() };
    let built = connect(steps, mode);
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

/// The steps of a plan and what they wait for, while both are collected.
struct Connecting<'p, 'c> {
    graph: &'p RefGraph<'c>,
    references: &'p [Vec<u32>],
    tree: &'p ConfigTree,
    changes: &'p [ResourceChange],
    state: &'p State,
    ops: Vec<Op>,
    /// Pairs of steps: the first waits for the second.
    edges: Vec<(u32, u32)>,
}

fn connect(mut steps: Connecting<'_, '_>, mode: Mode) -> ExecGraph {
    steps.add_evaluations(mode);
    let ends = steps.add_ends();
    if ends.is_empty() {
        return ExecGraph::new(steps.ops, &steps.edges);
    }
    let mut joints: HashMap<ConfigResource, Joints> = HashMap::default();
    for end in &ends {
        joints.entry(end.resource.clone()).or_insert_with(|| Joints::new(&mut steps.ops));
    }
    steps.connect_joints(&ends, &joints);
    steps.connect_dependencies(&ends, &joints);
    if mode == Mode::Normal {
        steps.connect_dependents(&joints);
    }
    steps.edges.sort_unstable();
    steps.edges.dedup();
    ExecGraph::new(steps.ops, &steps.edges)
}

impl<'p> Connecting<'p, '_> {
    fn vertex(&self, resource: &ConfigResource) -> Option<u32> {
        let module = self.tree.find(&resource.module)?;
        self.graph.resources.get(&(module, ResourceKey::from(&resource.resource))).copied()
    }

    fn push(&mut self, op: Op) -> u32 {
        self.ops.push(op);
        self.ops.len() as u32 - 1
    }

    /// Adds the evaluation of all objects of the configuration, in the order of their references.
    fn add_evaluations(&mut self, mode: Mode) {
        self.ops.extend((0..self.graph.nodes.len() as u32).map(Op::Evaluate));
        for (at, others) in self.references.iter().enumerate() {
            self.edges.extend(others.iter().map(|to| (at as u32, *to)));
        }
        let active = self.active();
        for at in idle::idle(self.graph, self.references, &active) {
            self.ops[at as usize] = Op::Join;
        }
        let (data, before) = idle::check_data(self.graph, self.references, &active);
        if !data.is_empty() && mode == Mode::Normal {
            let changed = self.push(Op::Join);
            self.edges.extend(before.into_iter().map(|at| (changed, at)));
            self.edges.extend(data.into_iter().map(|at| (at, changed)));
        }
    }

    /// Returns the resources with instances that are created, changed or read, or whose conditions are checked again.
    fn active(&self) -> HashSet<u32> {
        let current = self.changes.iter().filter(|change| change.deposed.is_none());
        let active = current.filter_map(|change| {
            let at = self.vertex(&change.addr.containing().config())?;
            is_visited(self.graph, Some(at), change).then_some(at)
        });
        active.collect()
    }

    /// Adds a step for each object that is destroyed or forgotten.
    fn add_ends(&mut self) -> Vec<End<'p>> {
        let (changes, state) = (self.changes, self.state);
        let providers = provider_blocks(self.graph, self.tree);
        // Changes of the instances that have objects from earlier runs.
        let old: HashSet<_> =
            changes.iter().filter(|change| change.deposed.is_some()).map(|change| &change.addr).collect();
        let beside = changes.iter().filter(|change| change.deposed.is_none() && old.contains(&change.addr));
        let current: HashMap<_, _> = beside.map(|change| (&change.addr, change)).collect();
        let mut ends = Vec::new();
        for (position, change) in changes.iter().enumerate().filter(|(_, change)| change.action.ends()) {
            let resource = change.addr.containing().config();
            let object = state.instance(&change.addr).and_then(|instance| instance.object(change.deposed.as_ref()));
            let op = self.push(Op::Destroy(position as u32));
            let dependencies = object.map(|object| object.dependencies.as_slice()).unwrap_or_default();
            let is_deposed = change.deposed.is_some();
            let create_before_destroy = match change.action {
                Action::CreateThenDelete => true,
                Action::DeleteThenCreate | Action::ForgetThenCreate => false,
                _ => is_deposed || object.is_some_and(|object| object.create_before_destroy),
            };
            let replaced = match is_deposed {
                true => current
                    .get(&change.addr)
                    .is_some_and(|current| is_visited(self.graph, self.vertex(&resource), current)),
                false => change.action.is_replace(),
            };
            let asks = !matches!(change.action, Action::Forget | Action::ForgetThenCreate);
            let provider = providers.get(&change.provider).copied().filter(|_| asks);
            ends.push(End { op, resource, dependencies, create_before_destroy, replaced, provider });
        }
        ends
    }

    /// Connects the ends of objects with the joints of their resource and with the creation of what replaces them.
    fn connect_joints(&mut self, ends: &[End<'_>], joints: &HashMap<ConfigResource, Joints>) {
        // Instances of one resource do not fail with each other: what an instance makes of the end before it, it finds in the state.
        let mut settled: HashMap<(u32, bool), u32> = HashMap::default();
        for end in ends {
            let joint = &joints[&end.resource];
            // The joint is passed when all ends are over.
            self.edges.push((joint.ended, end.op));
            if !end.create_before_destroy {
                self.edges.push((joint.ended_first, end.op));
            }
            // An end waits for everything that must be over before.
            self.edges.push((end.op, joint.may_end));
            if end.create_before_destroy {
                self.edges.push((end.op, joint.may_end_late));
            }
            if end.replaced
                && let Some(at) = self.vertex(&end.resource)
            {
                let step = *settled.entry((at, end.create_before_destroy)).or_insert_with(|| {
                    let step = self.push(Op::Settle);
                    self.edges.push(if end.create_before_destroy { (step, at) } else { (at, step) });
                    step
                });
                self.edges.push(if end.create_before_destroy { (end.op, step) } else { (step, end.op) });
            }
        }
    }

    /// Connects the ends of objects with their providers and with the objects that they depended on.
    fn connect_dependencies(&mut self, ends: &[End<'_>], joints: &HashMap<ConfigResource, Joints>) {
        let changing = self.changing();
        let mut behind: HashMap<u32, HashSet<u32>> = HashMap::default();
        for end in ends {
            if let Some(provider) = end.provider {
                self.edges.push((end.op, provider));
                behind.entry(provider).or_insert_with(|| all_behind(self.references, provider));
            }
            for dependency in end.dependencies {
                let changed = self.vertex(dependency).filter(|at| changing.contains(at));
                let configures =
                    changed.zip(end.provider).is_some_and(|(at, provider)| behind[&provider].contains(&at));
                // Its provider can only be configured when this has changed, so the change cannot wait for its end.
                if configures || *dependency == end.resource {
                    continue;
                }
                // Its former dependencies end later.
                if let Some(theirs) = joints.get(dependency) {
                    self.edges.push((theirs.may_end, end.op));
                }
                // Its former dependencies that are created or changed wait for its end.
                if !end.create_before_destroy
                    && let Some(at) = changed
                {
                    self.edges.push((at, end.op));
                }
            }
        }
    }

    /// Returns the resources with instances that are created or changed.
    fn changing(&self) -> HashSet<u32> {
        let changing = self.changes.iter().filter(|change| changes_value(change));
        changing.filter_map(|change| self.vertex(&change.addr.containing().config())).collect()
    }

    /// Connects objects that are created or changed with the ends of those that they depended on.
    fn connect_dependents(&mut self, joints: &HashMap<ConfigResource, Joints>) {
        for change in self.changes.iter().filter(|change| changes_value(change)) {
            let Some(at) = self.vertex(&change.addr.containing().config()) else { continue };
            let object = self.state.instance(&change.addr).and_then(|instance| instance.current.as_ref());
            for dependency in object.map(|object| object.dependencies.as_slice()).unwrap_or_default() {
                let Some(theirs) = joints.get(dependency) else { continue };
                self.edges.push((at, theirs.ended_first));
                self.edges.push((theirs.may_end_late, at));
            }
        }
    }
}

/// Returns whether a change creates or changes an object.
fn changes_value(change: &ResourceChange) -> bool {
    !matches!(change.action, Action::NoOp | Action::Delete | Action::Forget)
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

/// Everything that an object depends on.
fn all_behind(references: &[Vec<u32>], at: u32) -> HashSet<u32> {
    let (mut seen, mut work) = (HashSet::default(), vec![at]);
    while let Some(at) = work.pop() {
        work.extend(references[at as usize].iter().copied().filter(|to| seen.insert(*to)));
    }
    seen
}

/// Step that waits for the ends of a resource's objects.
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
