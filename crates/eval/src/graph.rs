//! The objects of a configuration and which depend on which: order and cycles.
//!
//! One vertex stands for an object in all instances of its module: the references of an expression, and so the objects that
//! must come first, do not depend on the instance.

mod arguments;
mod build;
mod shared;

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use yuba_addrs::InstanceKey;
use yuba_config::check::Check;
use yuba_config::import::Import;
use yuba_config::output::Output;
use yuba_config::provider::{ProviderConfig, ProviderKey};
use yuba_config::resource::{Repetition, Resource, ResourceKey};
use yuba_config::variable::{Local, Variable};
use yuba_syntax::{Diagnostics, Sources, Span, TraversalStep};

pub use arguments::CallArguments;
pub use shared::References;

use crate::references::each_traversal;
use crate::tree::{ConfigTree, ModuleId};
use crate::validate::diagnostics;

/// An object of a configuration.
#[derive(Clone, Copy)]
pub enum Vertex<'a> {
    /// A variable with its rules, as the module sees it.
    Variable(&'a Variable),
    /// Arguments that the call passes to the variable.
    Input(&'a Variable),
    /// An argument of a `locals` block.
    Local(&'a Local),
    /// An output.
    Output(&'a Output),
    /// A resource of any mode, with all its instances.
    Resource(&'a Resource),
    /// A provider configuration, with all its instances.
    Provider(&'a ProviderConfig),
    /// A `check` block.
    Check(&'a Check),
    /// The call of the module: everything in it comes later.
    Call,
    /// The end of the module: everything in it comes earlier.
    Close,
}

/// An object and its module.
#[derive(Clone)]
pub struct GraphNode<'a> {
    /// The module it belongs to; for calls the called one.
    pub module: ModuleId,
    /// The object.
    pub vertex: Vertex<'a>,
}

/// Objects, and for each the objects it depends on.
#[derive(Clone, Default)]
pub struct RefGraph<'a> {
    /// The objects.
    pub nodes: Vec<GraphNode<'a>>,
    /// For each object those it depends on; may hold one twice.
    pub edges: Vec<Vec<u32>>,
    /// For objects with `depends_on`, in themselves or in a call of a module around, what these name.
    pub explicit: HashMap<u32, Vec<u32>>,
    /// Positions of the resources.
    pub resources: HashMap<(ModuleId, ResourceKey), u32>,
    /// Positions of the provider configurations.
    pub providers: HashMap<(ModuleId, ProviderKey), u32>,
    /// Positions of the calls of modules, by called module.
    pub calls: HashMap<ModuleId, u32>,
    /// Positions of the outputs of the root module.
    pub outputs: HashMap<EcoString, u32>,
    /// Provider configurations that nothing uses: what they say does not matter.
    pub unused: Vec<bool>,
    /// The `import` blocks of resources.
    pub imports: HashMap<u32, Vec<&'a Import>>,
    /// For an object and a resource the keys of instances that the object names, once for each reference.
    named_keys: HashMap<(u32, u32), Vec<InstanceKey>>,
}

/// Maximum number of shown steps of a cycle.
const SHOWN: usize = 50;

impl<'a> RefGraph<'a> {
    /// Adds an object without edges.
    pub fn add(&mut self, module: ModuleId, vertex: Vertex<'a>) -> u32 {
        self.nodes.push(GraphNode { module, vertex });
        self.edges.push(Vec::new());
        self.unused.push(matches!(vertex, Vertex::Provider(_)));
        let at = self.nodes.len() as u32 - 1;
        match vertex {
            Vertex::Resource(resource) => {
                self.resources.insert((module, resource.key.clone()), at);
            }
            Vertex::Call => {
                self.calls.insert(module, at);
            }
            Vertex::Output(output) if module == ModuleId::ROOT => {
                self.outputs.insert(output.name.clone(), at);
            }
            _ => {}
        }
        at
    }

    /// An object depends on another one; dependencies on itself are ignored.
    pub fn connect(&mut self, from: u32, to: u32) {
        if from != to {
            self.edges[from as usize].push(to);
        }
    }

    /// The keys of the instances of a resource that an object refers to, where each reference names one.
    pub fn named_keys(&self, from: u32, to: u32) -> Option<&[InstanceKey]> {
        let keys = self.named_keys.get(&(from, to))?;
        let references = self.edges[from as usize].iter().filter(|at| **at == to).count();
        (references == keys.len()).then_some(keys.as_slice())
    }

    /// Whether an object depends directly on one of the given objects, such as those that failed.
    pub fn depends_on_any(&self, at: u32, others: &[bool]) -> bool {
        self.edges[at as usize].iter().any(|to| others[*to as usize])
    }

    /// Groups of objects that depend on each other, each after what it depends on; most have one member.
    pub fn components(&self) -> Vec<Vec<u32>> {
        components(&self.edges)
    }

    /// Errors about groups of more than one object.
    pub fn cycles(&self, components: &[Vec<u32>], sources: Option<&Sources>, tree: &ConfigTree) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for component in components.iter().filter(|component| component.len() > 1) {
            let own = self.own_enabled(component, tree);
            if own.has_errors() {
                problems.extend(own);
                continue;
            }
            let mut names: Vec<EcoString> = component.iter().map(|at| self.name(*at, tree)).collect();
            names.sort();
            let chain = self.chain(component, sources, tree);
            problems.push(diagnostics::cycle(&names, &chain));
        }
        problems
    }

    /// Calls of a cycle whose `enabled` refers to the called module itself: that is what makes the cycle.
    fn own_enabled(&self, component: &[u32], tree: &ConfigTree) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for at in component {
            let node = &self.nodes[*at as usize];
            let (Vertex::Call, Some(call)) = (node.vertex, tree.call(node.module)) else { continue };
            let Repetition::Enabled(expr) = &call.repetition else { continue };
            each_traversal(expr, &mut |traversal| {
                let is_own =
                    |step: &TraversalStep| matches!(step, TraversalStep::Attr { name, .. } if *name == call.name);
                if traversal.root == "module" && traversal.steps.first().is_some_and(is_own) {
                    let address = eco_format!("{}", tree.node(node.module).path);
                    problems.push(diagnostics::self_referential(&address, Some(traversal.span)));
                }
            });
        }
        problems
    }

    /// One way around a cycle, in lines.
    fn chain(&self, component: &[u32], sources: Option<&Sources>, tree: &ConfigTree) -> EcoString {
        let mut members = component.to_vec();
        members.sort_unstable();
        let inside = |at: &u32| members.binary_search(at).is_ok();
        let Some(start) = members.iter().min_by_key(|at| self.name(**at, tree)) else { return EcoString::new() };
        let mut path = vec![*start];
        let mut at = *start;
        let around = loop {
            let Some(next) = self.edges[at as usize].iter().copied().find(inside) else { return EcoString::new() };
            if let Some(from) = path.iter().position(|seen| *seen == next) {
                break &path[from..];
            }
            path.push(next);
            at = next;
        };
        let mut lines = EcoString::new();
        for (step, at) in around.iter().take(SHOWN).enumerate() {
            let location = self.span(*at, tree).and_then(|span| crate::template::location(sources, span));
            let location = location.map(|location| eco_format!(" ({location})")).unwrap_or_default();
            let link = if step == 0 { "" } else { " depends on" };
            lines.push_str(&eco_format!("{link}\n  {}{location}", self.name(*at, tree)));
        }
        let more = if around.len() > SHOWN { ", and so on, which" } else { "" };
        if let Some(first) = around.first() {
            lines.push_str(&eco_format!("{more} depends on\n  {}", self.name(*first, tree)));
        }
        lines.trim_start_matches('\n').into()
    }

    fn span(&self, at: u32, tree: &ConfigTree) -> Option<Span> {
        let node = &self.nodes[at as usize];
        Some(match node.vertex {
            Vertex::Variable(variable) | Vertex::Input(variable) => variable.span,
            Vertex::Local(local) => local.span,
            Vertex::Output(output) => output.span,
            Vertex::Resource(resource) => resource.span,
            Vertex::Provider(provider) => provider.span,
            Vertex::Check(check) => check.span,
            Vertex::Call | Vertex::Close => tree.call(node.module)?.span,
        })
    }

    /// OpenTofu's name of an object.
    pub fn name(&self, at: u32, tree: &ConfigTree) -> EcoString {
        let node = &self.nodes[at as usize];
        let path = &tree.node(node.module).path;
        let in_module = |name: EcoString| if path.is_root() { name } else { eco_format!("{path}.{name}") };
        match node.vertex {
            Vertex::Variable(variable) => in_module(eco_format!("var.{} (expand, reference)", variable.name)),
            Vertex::Input(variable) => in_module(eco_format!("var.{} (expand, input)", variable.name)),
            Vertex::Local(local) => in_module(eco_format!("local.{} (expand)", local.name)),
            Vertex::Output(output) => in_module(eco_format!("output.{} (expand)", output.name)),
            Vertex::Resource(resource) => diagnostics::address_in(path, &resource.key),
            Vertex::Check(check) => in_module(eco_format!("check.{} (expand)", check.name)),
            Vertex::Call => eco_format!("{path} (expand)"),
            Vertex::Close => eco_format!("{path} (close)"),
            Vertex::Provider(provider) => match tree.provider_type(node.module, &provider.key.name) {
                Some(source) => {
                    let alias = provider.key.alias.clone();
                    eco_format!("{}", yuba_addrs::AbsProviderConfig { module: path.clone(), provider: source, alias })
                }
                None => in_module(eco_format!("provider.{}", provider.key)),
            },
        }
    }
}

/// Groups of vertices that depend on each other, each after its dependencies; most have one member. For each vertex
/// `edges` lists its dependencies. (Tarjan's algorithm, without recursion.)
pub fn components(edges: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let count = edges.len();
    let (mut index, mut low) = (vec![UNSEEN; count], vec![0_u32; count]);
    let mut on_stack = vec![false; count];
    let (mut stack, mut found) = (Vec::new(), Vec::new());
    let mut next = 0;
    let mut work: Vec<(u32, usize)> = Vec::new();
    for start in 0..count as u32 {
        if index[start as usize] != UNSEEN {
            continue;
        }
        work.push((start, 0));
        while let Some((at, edge)) = work.pop() {
            let here = at as usize;
            if edge == 0 {
                index[here] = next;
                low[here] = next;
                next += 1;
                stack.push(at);
                on_stack[here] = true;
            } else {
                let child = edges[here][edge - 1] as usize;
                low[here] = low[here].min(low[child]);
            }
            let mut edge = edge;
            let mut deeper = None;
            while let Some(to) = edges[here].get(edge).copied() {
                edge += 1;
                if index[to as usize] == UNSEEN {
                    deeper = Some(to);
                    break;
                }
                if on_stack[to as usize] {
                    low[here] = low[here].min(index[to as usize]);
                }
            }
            if let Some(to) = deeper {
                work.push((at, edge));
                work.push((to, 0));
            } else if low[here] == index[here] {
                let mut component = Vec::new();
                while let Some(member) = stack.pop() {
                    on_stack[member as usize] = false;
                    component.push(member);
                    if member == at {
                        break;
                    }
                }
                found.push(component);
            }
        }
    }
    found
}
