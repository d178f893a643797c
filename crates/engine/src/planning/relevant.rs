//! Attributes that cause the changes of a plan: references of changed objects, through locals, variables and outputs.
//! Other outside changes do not cause any change.

use std::collections::BTreeMap;

use ecow::EcoString;
use foldhash::HashSet;
use yuba_addrs::{AbsResourceInstance, InstanceKey, ModuleInstance, Reference, Resource as ResourceName, Subject};
use yuba_config::resource::{Repetition, Resource, ResourceKey};
use yuba_eval::ModuleId;
use yuba_eval::references::each_traversal;
use yuba_plan::{Action, OutputChange, RelevantAttribute, ResourceChange};
use yuba_provider::each_expression;
use yuba_syntax::expr::Literal;
use yuba_syntax::{Expr, Traversal, TraversalStep};
use yuba_value::{Path, PathStep, Value};

use crate::walk::Walk;

/// A name and the module instance where it stands.
struct Found {
    module: ModuleInstance,
    subject: Subject,
    /// The steps after the subject.
    rest: Vec<TraversalStep>,
}

struct Finder<'f, 'a> {
    walk: &'f Walk<'a>,
    pending: Vec<Found>,
    /// Visited references, as text.
    seen: HashSet<String>,
    found: BTreeMap<String, RelevantAttribute>,
    /// Resources whose bodies were read as a whole.
    read: HashSet<(ModuleInstance, ResourceName)>,
}

/// The attributes that changes come from, sorted.
pub(super) fn relevant(
    walk: &Walk<'_>,
    changes: &[ResourceChange],
    outputs: &[OutputChange],
) -> Vec<RelevantAttribute> {
    let mut finder = Finder {
        walk,
        pending: Vec::new(),
        seen: HashSet::default(),
        found: BTreeMap::new(),
        read: HashSet::default(),
    };
    for change in changes.iter().filter(|change| change.action != Action::NoOp) {
        finder.whole_resource(&change.addr.module, &change.addr.resource);
    }
    for change in outputs.iter().filter(|change| change.action != Action::NoOp) {
        finder.output(&ModuleInstance::ROOT, ModuleId::ROOT, &change.name);
    }
    // Quirk: outputs of modules are not stored, so all that have a value are new.
    let tree = walk.context.tree;
    for (id, node) in tree.iter().filter(|(_, node)| node.parent.is_some()) {
        for at in walk.live.instances(id) {
            let has_value = |name: &&EcoString| walk.live.output(at, name).is_some_and(|value| !value.is_null());
            let names: Vec<&EcoString> = node.module.outputs.keys().filter(has_value).collect();
            let module = walk.live.address(at);
            names.into_iter().for_each(|name| finder.output(&module, id, name));
        }
    }
    while let Some(found) = finder.pending.pop() {
        finder.follow(&found);
    }
    finder.found.into_values().collect()
}

impl Finder<'_, '_> {
    fn module(&self, module: &ModuleInstance) -> Option<ModuleId> {
        self.walk.context.tree.find(&module.module())
    }

    fn expr(&mut self, module: &ModuleInstance, id: ModuleId, expr: &Expr) {
        let mut names = Vec::new();
        each_traversal(expr, &mut |traversal| names.push(traversal.clone()));
        names.iter().for_each(|traversal| self.name(module, id, traversal));
    }

    fn name(&mut self, module: &ModuleInstance, id: ModuleId, traversal: &Traversal) {
        let context = &self.walk.context.tree.node(id).module;
        let Some(reference) = Reference::parse(traversal, &**context).0 else { return };
        let rest = reference.steps.get(reference.subject_steps..).unwrap_or_default().to_vec();
        let found = Found { module: module.clone(), subject: reference.subject, rest };
        let text = format!("{module}|{:?}|{:?}", found.subject, path(&found.rest));
        if self.seen.insert(text) {
            self.pending.push(found);
        }
    }

    fn follow(&mut self, found: &Found) {
        let Some(id) = self.module(&found.module) else { return };
        let tree = self.walk.context.tree;
        let node = tree.node(id);
        match &found.subject {
            Subject::Variable(name) => {
                let Some((parent, _)) = found.module.call() else { return };
                let arguments = self.walk.arguments;
                if let (Some(argument), Some(caller)) = (arguments.get(id, name), node.parent) {
                    self.expr(&parent, caller, &argument.expr);
                }
            }
            Subject::Local(name) => {
                if let Some(local) = node.module.locals.get(name) {
                    self.expr(&found.module, id, &local.expr);
                }
            }
            Subject::ModuleOutput(name, key, output) => {
                if let Some(child) = node.children.get(name) {
                    self.output(&found.module.child(name.clone(), key.clone()), *child, output);
                }
            }
            Subject::Module(name) => self.all_outputs(&found.module, id, name, None),
            Subject::ModuleInstance(name, key) => self.all_outputs(&found.module, id, name, Some(key.clone())),
            Subject::Resource(resource) => self.resource(found, id, resource, None),
            Subject::ResourceInstance(resource, key) => self.resource(found, id, resource, key.clone()),
            _ => {}
        }
    }

    fn output(&mut self, module: &ModuleInstance, id: ModuleId, name: &EcoString) {
        let tree = self.walk.context.tree;
        if let Some(expr) = tree.node(id).module.outputs.get(name).and_then(|output| output.value.as_ref()) {
            self.expr(module, id, expr);
        }
    }

    fn all_outputs(&mut self, module: &ModuleInstance, id: ModuleId, call: &EcoString, key: Option<InstanceKey>) {
        let tree = self.walk.context.tree;
        let Some(child) = tree.node(id).children.get(call) else { return };
        let inside = module.child(call.clone(), key);
        for name in tree.node(*child).module.outputs.keys() {
            self.output(&inside, *child, name);
        }
    }

    fn resource(&mut self, found: &Found, id: ModuleId, resource: &ResourceName, key: Option<InstanceKey>) {
        let addr = AbsResourceInstance { module: found.module.clone(), resource: resource.clone(), key };
        let path = path(&found.rest);
        self.found.insert(format!("{addr}|{path:?}"), RelevantAttribute { resource: addr, path });
        let tree = self.walk.context.tree;
        let Some(declared) = tree.node(id).module.resources.get(&ResourceKey::from(resource)) else { return };
        match found.rest.first() {
            Some(TraversalStep::Attr { name, .. }) => self.body(&found.module, id, declared, Some(name)),
            _ => self.whole_resource(&found.module, resource),
        }
    }

    /// Everything in the block of a resource, once.
    fn whole_resource(&mut self, module: &ModuleInstance, resource: &ResourceName) {
        if !self.read.insert((module.clone(), resource.clone())) {
            return;
        }
        let tree = self.walk.context.tree;
        let Some(id) = self.module(module) else { return };
        if let Some(declared) = tree.node(id).module.resources.get(&ResourceKey::from(resource)) {
            self.body(module, id, declared, None);
        }
    }

    /// The names in an argument of a resource, or in all.
    fn body(&mut self, module: &ModuleInstance, id: ModuleId, resource: &Resource, only: Option<&EcoString>) {
        let evaluation = self.walk.evaluation;
        let Some(schemas) = evaluation.schemas_of(id, resource) else { return };
        let Some(schema) = yuba_eval::schema_of(&schemas, &resource.key) else { return };
        let mut names: Vec<Traversal> = Vec::new();
        let mut collect = |expr: &Expr, iterators: &[EcoString]| {
            each_traversal(expr, &mut |traversal| {
                if !iterators.contains(&traversal.root) {
                    names.push(traversal.clone());
                }
            });
        };
        match only {
            None => each_expression(&resource.body, schema, &mut |expr, iterators| collect(expr, iterators)),
            Some(name) => {
                let schema = schema.only(name);
                each_expression(&resource.body, &schema, &mut |expr, iterators| collect(expr, iterators));
            }
        }
        let repeats = names.iter().any(|name| name.root == "each" || name.root == "count");
        names.iter().for_each(|name| self.name(module, id, name));
        if let (true, Repetition::Count(expr) | Repetition::ForEach(expr)) = (repeats, &resource.repetition) {
            self.expr(module, id, expr);
        }
    }
}

/// Steps of a name as a path, as far as it is one.
fn path(steps: &[TraversalStep]) -> Path {
    let mut path = Vec::with_capacity(steps.len());
    for step in steps {
        match step {
            TraversalStep::Attr { name, .. } => path.push(PathStep::Attr(name.clone())),
            TraversalStep::Index { key, .. } => match key {
                Literal::String(text) => path.push(PathStep::Index(Value::string(text.clone()))),
                Literal::Int(number) => path.push(PathStep::Index(Value::int(*number))),
                _ => break,
            },
        }
    }
    Path(path)
}
