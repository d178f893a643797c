//! From a linked configuration to the graph of its objects.

use std::borrow::Cow;

use ecow::EcoString;
use foldhash::{HashMap, HashMapExt};
use yuba_addrs::{ProviderFunction, Reference, Subject};
use yuba_config::check::CheckRule;
use yuba_config::provider::ProviderKey;
use yuba_config::provisioner::ProvisionerWhen;
use yuba_config::resource::{Repetition, Resource, ResourceKey};
use yuba_provider::{BlockSchema, each_expression};
use yuba_syntax::{Body, Expr, Traversal};

use super::{CallArguments, RefGraph, Vertex};
use crate::module_scope::{Evaluation, schema_of};
use crate::provider_functions::provider_block;
use crate::references::{each_call, each_traversal};
use crate::tree::ModuleId;
use crate::validate::provisioner;

/// Positions of the objects of a module.
#[derive(Clone, Default)]
pub(super) struct Index<'a> {
    variables: HashMap<&'a str, u32>,
    locals: HashMap<&'a str, u32>,
    outputs: HashMap<&'a str, u32>,
    resources: HashMap<&'a ResourceKey, u32>,
    call: Option<u32>,
    close: Option<u32>,
}

struct Builder<'a, 'e> {
    evaluation: &'e Evaluation<'a>,
    graph: RefGraph<'a>,
    modules: Cow<'e, [Index<'a>]>,
}

/// The graph of all objects, and the positions of the objects of each module. Provider configurations that no resource uses have
/// no part in it.
pub(super) fn build<'a>(evaluation: &Evaluation<'a>, arguments: &CallArguments) -> (RefGraph<'a>, Vec<Index<'a>>) {
    let mut builder = Builder { evaluation, graph: RefGraph::default(), modules: Cow::Owned(Vec::new()) };
    for (id, _) in evaluation.tree().iter() {
        builder.add_module(id);
    }
    builder.connect_all(arguments);
    builder.connect_imports();
    builder.connect_used(&vec![true; builder.graph.nodes.len()]);
    (builder.graph, builder.modules.into_owned())
}

/// The same graph with a part for these provider configurations. `modules` are the positions of the objects of each module.
pub(super) fn extend<'a>(
    evaluation: &Evaluation<'a>,
    graph: RefGraph<'a>,
    modules: &[Index<'a>],
    used: &[u32],
) -> RefGraph<'a> {
    let were_unused = graph.unused.clone();
    let mut builder = Builder { evaluation, graph, modules: Cow::Borrowed(modules) };
    for provider in used {
        builder.graph.unused[*provider as usize] = false;
    }
    builder.connect_used(&were_unused);
    builder.graph
}

impl<'a> Builder<'a, '_> {
    fn add_module(&mut self, id: ModuleId) {
        let node = self.evaluation.tree().node(id);
        let module = &node.module;
        let mut index = Index::default();
        let graph = &mut self.graph;
        if node.parent.is_some() {
            index.call = Some(graph.add(id, Vertex::Call));
        }
        let first = graph.nodes.len() as u32;
        for (name, variable) in &module.variables {
            let at = graph.add(id, Vertex::Variable(variable));
            index.variables.insert(name, at);
            if node.parent.is_some() {
                let input = graph.add(id, Vertex::Input(variable));
                graph.connect(at, input);
            }
        }
        for (name, local) in &module.locals {
            index.locals.insert(name, graph.add(id, Vertex::Local(local)));
        }
        for (key, provider) in &module.providers {
            let at = graph.add(id, Vertex::Provider(provider));
            graph.providers.insert((id, key.clone()), at);
        }
        for (key, resource) in &module.resources {
            index.resources.insert(key, graph.add(id, Vertex::Resource(resource)));
        }
        for (name, output) in &module.outputs {
            index.outputs.insert(name, graph.add(id, Vertex::Output(output)));
        }
        for check in module.checks.values() {
            graph.add(id, Vertex::Check(check));
        }
        if let Some(call) = index.call {
            let end = graph.nodes.len() as u32;
            let close = graph.add(id, Vertex::Close);
            graph.connect(close, call);
            for at in first..end {
                graph.connect(at, call);
                let in_check = match graph.nodes[at as usize].vertex {
                    // Nothing waits for checks.
                    Vertex::Check(_) => true,
                    Vertex::Resource(resource) => resource.inside_check.is_some(),
                    _ => false,
                };
                if !in_check {
                    graph.connect(close, at);
                }
            }
            index.close = Some(close);
            if let Some(parent) = node.parent.and_then(|parent| self.modules.get(parent.0 as usize)) {
                if let Some(outer) = parent.call {
                    graph.connect(call, outer);
                }
                if let Some(outer) = parent.close {
                    graph.connect(outer, close);
                }
            }
        }
        self.modules.to_mut().push(index);
    }

    fn connect_all(&mut self, arguments: &CallArguments) {
        let tree = self.evaluation.tree();
        let mut bound: HashMap<(ModuleId, ProviderKey), Option<u32>> = HashMap::new();
        for at in 0..self.graph.nodes.len() as u32 {
            let node = &self.graph.nodes[at as usize];
            let (module, vertex) = (node.module, node.vertex);
            match vertex {
                Vertex::Variable(variable) => self.rules(at, module, &variable.validations),
                Vertex::Input(variable) => {
                    if let (Some(parent), Some(argument)) =
                        (tree.node(module).parent, arguments.get(module, &variable.name))
                    {
                        self.expr(at, parent, &argument.expr);
                    }
                }
                Vertex::Local(local) => self.expr(at, module, &local.expr),
                Vertex::Output(output) => {
                    if let Some(expr) = &output.value {
                        self.expr(at, module, expr);
                    }
                    self.traversals(at, module, &output.depends_on);
                    self.rules(at, module, &output.preconditions);
                }
                Vertex::Check(check) => {
                    self.rules(at, module, &check.asserts);
                    let data = check.data.as_ref().and_then(|key| self.modules[module.0 as usize].resources.get(key));
                    if let Some(data) = data {
                        self.graph.connect(at, *data);
                    }
                }
                Vertex::Resource(resource) => {
                    self.resource(at, module, resource);
                    let key = match &resource.provider {
                        Some(reference) => reference.key.clone(),
                        None => {
                            let name = yuba_config::module::implied_local_name(&resource.key.kind);
                            ProviderKey { name: name.into(), alias: None }
                        }
                    };
                    let provider = *bound.entry((module, key)).or_insert_with_key(|(module, key)| {
                        let resolved = tree.resolve_provider(*module, key, None)?;
                        self.graph.providers.get(&(resolved.module, resolved.block?)).copied()
                    });
                    if let Some(provider) = provider {
                        self.graph.unused[provider as usize] = false;
                        self.graph.connect(at, provider);
                    }
                }
                Vertex::Call => {
                    let (Some(parent), Some(call)) = (tree.node(module).parent, tree.call(module)) else { continue };
                    self.explicit(at, parent, &call.depends_on);
                    self.repetition(at, parent, &call.repetition);
                    for key in call.providers.iter().filter_map(|passed| passed.in_parent.instance.as_ref()) {
                        self.expr(at, parent, key);
                    }
                }
                Vertex::Provider(provider) => {
                    if let Some(for_each) = tree.dynamic_for_each(module, provider) {
                        self.expr(at, module, for_each);
                    }
                }
                Vertex::Close => {}
            }
        }
    }

    /// Connects the provider configurations that are used with the objects that they refer to, of those at `candidates`. A
    /// configuration that calls functions of another provider uses that one, too.
    fn connect_used(&mut self, candidates: &[bool]) {
        let tree = self.evaluation.tree();
        let providers = (0..self.graph.nodes.len())
            .filter(|at| candidates[*at] && matches!(self.graph.nodes[*at].vertex, Vertex::Provider(_)));
        let mut waiting: Vec<usize> = providers.collect();
        while let Some(next) = waiting.iter().position(|at| !self.graph.unused[*at]) {
            let at = waiting.remove(next);
            let node = &self.graph.nodes[at];
            let (module, Vertex::Provider(provider)) = (node.module, node.vertex) else { continue };
            let source = tree.provider_type(module, &provider.key.name);
            if let Some(schemas) = source.and_then(|source| self.evaluation.provider_schema(&source)) {
                self.body(at as u32, module, &provider.body, &schemas.provider.block);
            }
        }
    }

    /// Imports stand in the root module and belong to the resources they are for.
    fn connect_imports(&mut self) {
        let tree = self.evaluation.tree();
        for import in &tree.root().module.imports {
            let target = &import.to.config;
            let index = tree.find(&target.module).and_then(|module| self.modules.get(module.0 as usize));
            let at = index.and_then(|index| index.resources.get(&ResourceKey::from(&target.resource)).copied());
            let Some(at) = at else { continue };
            let arguments = [&import.id, &import.identity, &import.for_each].into_iter().flatten();
            for expr in arguments.chain(import.to.dynamic_keys()) {
                self.expr(at, ModuleId::ROOT, expr);
            }
            self.graph.imports.entry(at).or_default().push(import);
        }
    }

    fn resource(&mut self, at: u32, module: ModuleId, resource: &Resource) {
        self.explicit(at, module, &resource.depends_on);
        self.repetition(at, module, &resource.repetition);
        if let Some(key) = resource.provider.as_ref().and_then(|reference| reference.instance.as_ref()) {
            self.expr(at, module, key);
        }
        let lifecycle = &resource.lifecycle;
        for expr in lifecycle.expressions() {
            self.expr(at, module, expr);
        }
        let schemas = self.evaluation.schemas_of(module, resource);
        if let Some(schema) = schemas.as_deref().and_then(|schemas| schema_of(schemas, &resource.key)) {
            self.body(at, module, &resource.body, schema);
        }
        if let Some(connection) = &resource.connection {
            self.body(at, module, &connection.body, provisioner::connection());
        }
        for provisioner in resource.provisioners.iter().filter(|p| p.when == ProvisionerWhen::Create) {
            if let Some(connection) = &provisioner.connection {
                self.body(at, module, &connection.body, provisioner::connection());
            }
            if let Some(schema) = provisioner::schema(&provisioner.kind) {
                self.body(at, module, &provisioner.body, schema);
            }
        }
        self.rules(at, module, &lifecycle.preconditions);
        self.rules(at, module, &lifecycle.postconditions);
    }

    fn repetition(&mut self, at: u32, module: ModuleId, repetition: &Repetition) {
        match repetition {
            Repetition::Single => {}
            Repetition::Count(expr) | Repetition::ForEach(expr) | Repetition::Enabled(expr) => {
                self.expr(at, module, expr);
            }
        }
    }

    fn rules(&mut self, at: u32, module: ModuleId, rules: &[CheckRule]) {
        for rule in rules {
            for expr in [&rule.condition, &rule.message].into_iter().flatten() {
                self.expr(at, module, expr);
            }
        }
    }

    fn traversals(&mut self, at: u32, module: ModuleId, traversals: &[Traversal]) {
        for traversal in traversals {
            self.traversal(at, module, traversal);
        }
    }

    fn explicit(&mut self, at: u32, module: ModuleId, traversals: &[Traversal]) {
        let before = self.graph.edges[at as usize].len();
        self.traversals(at, module, traversals);
        let named = self.graph.edges[at as usize][before..].to_vec();
        if !named.is_empty() {
            self.graph.explicit.insert(at, named);
        }
    }

    fn expr(&mut self, at: u32, module: ModuleId, expr: &Expr) {
        each_traversal(expr, &mut |traversal| self.traversal(at, module, traversal));
        self.calls(at, module, expr);
    }

    /// Functions of providers can be called when the provider is configured.
    fn calls(&mut self, at: u32, module: ModuleId, expr: &Expr) {
        each_call(expr, &mut |call| {
            let Some(Ok(function)) = ProviderFunction::parse(&call.name) else { return };
            let block = provider_block(self.evaluation.tree(), module, &function);
            if let Some(provider) = block.and_then(|block| self.graph.providers.get(&block).copied())
                && provider != at
            {
                self.graph.unused[provider as usize] = false;
                self.graph.connect(at, provider);
            }
        });
    }

    fn body(&mut self, at: u32, module: ModuleId, body: &Body, schema: &BlockSchema) {
        each_expression(body, schema, &mut |expr, iterators: &[EcoString]| {
            each_traversal(expr, &mut |traversal| {
                if !iterators.contains(&traversal.root) {
                    self.traversal(at, module, traversal);
                }
            });
            self.calls(at, module, expr);
        });
    }

    fn traversal(&mut self, at: u32, module: ModuleId, traversal: &Traversal) {
        let node = self.evaluation.tree().node(module);
        let Some(reference) = Reference::parse(traversal, &*node.module).0 else { return };
        let index = &self.modules[module.0 as usize];
        let child = |name: &EcoString| node.children.get(name).map(|child| &self.modules[child.0 as usize]);
        let to = match &reference.subject {
            Subject::Variable(name) => index.variables.get(name.as_str()).copied(),
            Subject::Local(name) => index.locals.get(name.as_str()).copied(),
            Subject::Resource(resource) | Subject::ResourceInstance(resource, _) => {
                index.resources.get(&ResourceKey::from(resource)).copied()
            }
            Subject::ModuleOutput(name, _, output) => {
                child(name).and_then(|child| child.outputs.get(output.as_str()).copied())
            }
            Subject::Module(name) | Subject::ModuleInstance(name, _) => child(name).and_then(|child| child.close),
            _ => None,
        };
        if let Some(to) = to {
            self.graph.connect(at, to);
            if let Subject::ResourceInstance(_, Some(key)) = reference.subject
                && at != to
            {
                self.graph.named_keys.entry((at, to)).or_default().push(key);
            }
        }
    }
}
