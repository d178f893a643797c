//! Ends of statements by address, so that what matches an address is found without looking at all statements.

use ecow::EcoString;
use foldhash::HashMap;
use yuba_addrs::{AbsResource, InstanceKey, ModuleInstance, Resource};

use super::{Moveable, Statement, Step};

/// A side of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End {
    pub(super) statement: u32,
    pub(super) is_to: bool,
}

/// Modules that ends are in, and what ends there.
#[derive(Debug, Default)]
struct Node {
    calls: HashMap<EcoString, Calls>,
    /// Ends that are this module: all its instances, or one.
    whole: Vec<End>,
    one: Vec<End>,
    resources: HashMap<Resource, Resources>,
}

#[derive(Debug, Default)]
struct Calls {
    /// Of ends that are about every instance.
    every: Option<u32>,
    by_key: HashMap<Option<InstanceKey>, u32>,
    /// An end is this call or an instance of it, not something in it.
    mentioned: bool,
}

#[derive(Debug, Default)]
struct Resources {
    whole: Vec<End>,
    by_key: HashMap<Option<InstanceKey>, Vec<End>>,
}

/// Relation of an endpoint to the searched one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It may be about the same objects.
    Same,
    /// It is about something that contains the other.
    Around,
}

#[derive(Debug)]
pub(super) struct Index {
    nodes: Vec<Node>,
}

impl Index {
    pub(super) fn new(statements: &[Statement]) -> Index {
        let mut index = Index { nodes: vec![Node::default()] };
        for (at, statement) in statements.iter().enumerate() {
            index.add(statement, &statement.from, End { statement: at as u32, is_to: false });
            index.add(statement, &statement.to, End { statement: at as u32, is_to: true });
        }
        index
    }

    fn add(&mut self, statement: &Statement, subject: &Moveable, end: End) {
        let mut at = 0;
        let mut steps = statement.steps(subject).peekable();
        while let Some(step) = steps.next() {
            let fresh = self.nodes.len() as u32;
            let calls = self.nodes[at as usize].calls.entry(step.name.clone()).or_default();
            calls.mentioned |= steps.peek().is_none() && subject.is_module();
            at = match step.key {
                None => *calls.every.get_or_insert(fresh),
                Some(key) => *calls.by_key.entry(key.clone()).or_insert(fresh),
            };
            if at == fresh {
                self.nodes.push(Node::default());
            }
        }
        let node = &mut self.nodes[at as usize];
        match subject {
            Moveable::Call(..) => node.whole.push(end),
            Moveable::Module(_) => node.one.push(end),
            Moveable::Resource(resource) => {
                node.resources.entry(resource.resource.clone()).or_default().whole.push(end);
            }
            Moveable::Instance(instance) => {
                let resources = node.resources.entry(instance.resource.clone()).or_default();
                resources.by_key.entry(instance.key.clone()).or_default().push(end);
            }
        }
    }

    /// The nodes that a step leads to.
    fn next(&self, from: &[u32], step: &Step<'_>) -> Vec<u32> {
        let mut to = Vec::new();
        for calls in from.iter().filter_map(|at| self.nodes[*at as usize].calls.get(step.name)) {
            to.extend(calls.every);
            match step.key {
                None => to.extend(calls.by_key.values()),
                Some(key) => to.extend(calls.by_key.get(key)),
            }
        }
        to
    }

    /// Every end that is about the same as an end of a statement, or about something around it.
    pub(super) fn related(&self, statement: &Statement, subject: &Moveable, mut found: impl FnMut(End, Relation)) {
        let mut at = vec![0];
        let mut steps = statement.steps(subject).peekable();
        while let Some(step) = steps.next() {
            at = self.next(&at, &step);
            let is_last = steps.peek().is_none();
            for node in at.iter().map(|at| &self.nodes[*at as usize]) {
                let same_place = is_last && subject.is_module();
                if same_place {
                    node.whole.iter().chain(&node.one).for_each(|end| found(*end, Relation::Same));
                }
                // One instance is inside of all instances, but not all instances inside of one.
                if !same_place || matches!(subject, Moveable::Module(_)) {
                    node.whole.iter().for_each(|end| found(*end, Relation::Around));
                }
                if !same_place {
                    node.one.iter().for_each(|end| found(*end, Relation::Around));
                }
            }
        }
        for node in at.iter().map(|at| &self.nodes[*at as usize]) {
            match subject {
                Moveable::Call(..) | Moveable::Module(_) => {}
                Moveable::Resource(resource) => {
                    let ends = node.resources.get(&resource.resource).map(|ends| &ends.whole);
                    ends.into_iter().flatten().for_each(|end| found(*end, Relation::Same));
                }
                Moveable::Instance(instance) => {
                    let Some(ends) = node.resources.get(&instance.resource) else { continue };
                    ends.whole.iter().for_each(|end| found(*end, Relation::Around));
                    let same = ends.by_key.get(&instance.key);
                    same.into_iter().flatten().for_each(|end| found(*end, Relation::Same));
                }
            }
        }
    }

    fn module(&self, module: &ModuleInstance) -> Vec<u32> {
        module.steps().iter().fold(vec![0], |at, step| self.next(&at, &Step { name: &step.name, key: Some(&step.key) }))
    }

    /// Whether an end is a resource or an instance of it.
    pub(super) fn mentions_resource(&self, addr: &AbsResource) -> bool {
        let modules = self.module(&addr.module);
        modules.iter().any(|at| self.nodes[*at as usize].resources.contains_key(&addr.resource))
    }

    /// Whether an end is a module instance, another instance of the same call, or a resource in the module instance.
    pub(super) fn mentions_module(&self, module: &ModuleInstance) -> bool {
        let Some((parent, step)) = module.call() else { return false };
        let callers = self.module(&parent);
        let mut calls = callers.iter().filter_map(|at| self.nodes[*at as usize].calls.get(&step.name));
        calls.any(|calls| calls.mentioned)
            || self.module(module).iter().any(|at| !self.nodes[*at as usize].resources.is_empty())
    }
}
