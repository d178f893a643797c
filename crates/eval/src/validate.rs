//! Validation: everything that can be found wrong with a linked configuration without knowing any value from outside.
//!
//! Objects are visited once, what they depend on first. Values of variables and resources are unknown, of the right type. An
//! object that depends on one with errors is not visited: its own errors might be consequences. Providers validate several
//! resources at a time; only objects that depend on such a resource wait for the response.
//!
//! Invariant: every expression is evaluated once for each call of its module, whatever `count` and `for_each` say.

pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod deprecation;
pub(crate) mod diagnostics;
mod import;
pub(crate) mod named;
pub(crate) mod provisioner;
pub(crate) mod repetition;
mod resource;
pub(crate) mod rules;
#[cfg(test)]
mod tests;
pub(crate) mod traversal;
mod values;

use std::collections::BTreeMap;

use yuba_addrs::AbsProviderConfig;
use yuba_config::provider::ProviderConfig;
use yuba_config::terraform::RequiredProvider;
use yuba_provider::{Problem, Waiting};
use yuba_syntax::Diagnostics;

use self::resource::{FirstHalf, Request};
use crate::graph::{self, CallArguments, RefGraph, References, Vertex};
use crate::inputs::Inputs;
use crate::module_scope::{EvalEnv, Evaluation};
use crate::tree::{ConfigTree, ModuleId};

pub use diagnostics::{condition_failed, is_about_assertion, is_about_condition, missing_provider, outlives_planning};
pub use named::deprecated_root_variable;
pub use values::check_values;

/// Default number of simultaneous operations, here and in plans.
pub const PARALLELISM: usize = 10;

/// Context of validation besides the configuration.
#[derive(Clone, Copy)]
pub struct ValidateEnv<'a> {
    /// Context of evaluation.
    pub eval: EvalEnv<'a>,
    /// The reference graph of the configuration that is validated.
    pub references: &'a References<'a>,
    /// Values given for variables of the root module. They are not used: the configuration is checked for all values.
    pub inputs: &'a Inputs,
    /// Number of simultaneous requests to providers.
    pub parallelism: usize,
}

/// The schema of a provisioner, or none if the provisioner does not exist.
pub fn provisioner_schema(kind: &str) -> Option<&'static yuba_provider::BlockSchema> {
    provisioner::schema(kind)
}

/// Everything that is wrong with a configuration. Providers are asked through the door of the environment.
pub async fn validate(tree: &ConfigTree, env: &ValidateEnv<'_>) -> Diagnostics {
    let probe = Evaluation::new_probe(tree, env.eval);
    let evaluation = Evaluation::with_probe(tree, env.eval, probe.as_ref()).with_parallelism(env.parallelism);
    let missing = missing_plugins(&evaluation);
    if missing.has_errors() {
        return missing;
    }
    let References { arguments, invalid_arguments, graph, .. } = env.references;
    let mut problems = invalid_arguments.clone();
    if problems.has_errors() {
        return problems;
    }
    problems.extend(missing_passed(tree));
    if problems.has_errors() {
        return problems;
    }
    problems.extend(tree.unbound_resources());
    if problems.has_errors() {
        return problems;
    }
    let components = graph.components();
    problems.extend(graph.cycles(&components, env.eval.sources, tree));
    if problems.has_errors() {
        return problems;
    }
    let order: Vec<u32> = components.into_iter().flatten().collect();
    let mut walk = Walk::new(&evaluation, graph);
    for at in &order {
        let at = *at;
        while walk.asked.len() >= env.parallelism.max(1) || graph.depends_on_any(at, &walk.open) {
            walk.end_oldest().await;
        }
        if graph.depends_on_any(at, &walk.failed) {
            walk.failed[at as usize] = true;
            continue;
        }
        let node = &graph.nodes[at as usize];
        let found = match node.vertex {
            Vertex::Resource(resource) => {
                let half = evaluation.settle(|| resource::check(&evaluation, node.module, resource)).await;
                walk.ask(at, half);
                continue;
            }
            Vertex::Provider(provider) => walk.provider(at, provider).await,
            _ => evaluation.settle(|| check_vertex(&evaluation, node, arguments, env)).await,
        };
        walk.end(at, found);
    }
    while !walk.asked.is_empty() {
        walk.end_oldest().await;
    }
    problems.extend(order.iter().flat_map(|at| std::mem::take(&mut walk.found[*at as usize])));
    problems
}

/// Checks an object that no provider is asked about.
fn check_vertex<'a>(
    evaluation: &'a Evaluation<'a>,
    node: &graph::GraphNode<'a>,
    arguments: &CallArguments,
    env: &ValidateEnv<'_>,
) -> Diagnostics {
    match node.vertex {
        Vertex::Variable(variable) => named::variable(evaluation, node.module, variable, arguments, env),
        Vertex::Input(variable) => call::check(evaluation, node.module, variable, arguments),
        Vertex::Local(local) => named::local(evaluation, node.module, local),
        Vertex::Output(output) => named::output(evaluation, node.module, output),
        Vertex::Check(check) => named::check(evaluation, node.module, check),
        Vertex::Call => call::check_call(evaluation, node.module),
        Vertex::Close | Vertex::Resource(_) | Vertex::Provider(_) => Diagnostics::new(),
    }
}

/// Properties of visited objects.
struct Walk<'a> {
    evaluation: &'a Evaluation<'a>,
    graph: &'a RefGraph<'a>,
    /// Resources whose providers have not responded yet, with the diagnostics found before.
    asked: Waiting<'a, (u32, Diagnostics), Vec<Problem>>,
    /// Whether an object is among them.
    open: Vec<bool>,
    failed: Vec<bool>,
    found: Vec<Diagnostics>,
}

impl<'a> Walk<'a> {
    fn new(evaluation: &'a Evaluation<'a>, graph: &'a RefGraph<'a>) -> Walk<'a> {
        let objects = graph.nodes.len();
        let none = vec![false; objects];
        let found = vec![Diagnostics::new(); objects];
        Walk { evaluation, graph, asked: Waiting::default(), open: none.clone(), failed: none, found }
    }

    /// Asks the provider of a resource.
    fn ask(&mut self, at: u32, half: FirstHalf) {
        self.open[at as usize] = true;
        let request = half.request.unwrap_or(Request::Answered(Vec::new()));
        self.asked.push((at, half.problems), request.send(self.evaluation.env().providers));
    }

    /// Waits for the response to the oldest request, and checks the rest of its resource.
    async fn end_oldest(&mut self) {
        let Some(((at, first), answer)) = self.asked.next().await else { return };
        self.open[at as usize] = false;
        let (evaluation, graph) = (self.evaluation, self.graph);
        let node = &graph.nodes[at as usize];
        let Vertex::Resource(resource) = node.vertex else { return };
        let imports = graph.imports.get(&at);
        let rest = || {
            let mut found = resource::check_rest(evaluation, node.module, resource, &first, &answer);
            let check = |import| import::check(evaluation, node.module, resource, import);
            found.extend(imports.into_iter().flatten().copied().flat_map(check));
            found
        };
        let found = evaluation.settle(rest).await;
        self.end(at, found);
    }

    /// Checks a provider configuration: all its instances are asked about at the same time.
    async fn provider(&self, at: u32, provider: &'a ProviderConfig) -> Diagnostics {
        let (evaluation, module) = (self.evaluation, self.graph.nodes[at as usize].module);
        let check = || resource::check_provider_for_each(evaluation, module, provider);
        let mut problems = evaluation.settle(check).await;
        if self.graph.unused[at as usize] {
            return problems;
        }
        let halves = evaluation.settle(|| resource::check_provider(evaluation, module, provider)).await;
        let mut asked = Waiting::default();
        for mut half in halves {
            let request = half.first.request.take().unwrap_or(Request::Answered(Vec::new()));
            asked.push(half, request.send(evaluation.env().providers));
        }
        let mut found = Diagnostics::new();
        while let Some((half, answer)) = asked.next().await {
            resource::extend_with_provider(&mut found, half, answer, provider);
        }
        problems.extend(found);
        problems
    }

    fn end(&mut self, at: u32, found: Diagnostics) {
        self.failed[at as usize] = found.has_errors();
        self.found[at as usize] = found;
    }
}

/// Provider configurations that calls of the root module pass on without having them.
fn missing_passed(tree: &ConfigTree) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let root = tree.root();
    for (name, call) in &root.module.calls {
        let Some(child) = root.children.get(name) else { continue };
        for passed in &call.providers {
            let key = &passed.in_parent.key;
            let Some(provider) = tree.provider_type(*child, &passed.in_child.key.name) else { continue };
            let is_it = |name: &str| tree.provider_type(ModuleId::ROOT, name).as_ref() == Some(&provider);
            let required = |required: &RequiredProvider| {
                is_it(&required.name)
                    && (key.alias.is_none() || required.aliases.iter().any(|alias| alias.key.alias == key.alias))
            };
            let declared = root.module.providers.keys().any(|block| block.alias == key.alias && is_it(&block.name))
                || root.module.requirements.providers.values().any(required);
            if !declared {
                let config = AbsProviderConfig { module: root.path.clone(), provider, alias: key.alias.clone() };
                problems.push(diagnostics::missing_passed_provider(&config));
            }
        }
    }
    problems
}

/// Providers and provisioners that are required and missing. Without them most further errors would be consequences.
fn missing_plugins(evaluation: &Evaluation<'_>) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let tree = evaluation.tree();
    for provider in tree.requirements().keys() {
        if !evaluation.env().providers.has(provider) {
            problems.push(diagnostics::missing_provider(provider));
        }
    }
    let mut provisioners = BTreeMap::new();
    for (_, node) in tree.iter() {
        for resource in node.module.resources.values() {
            for provisioner in &resource.provisioners {
                if provisioner::schema(&provisioner.kind).is_none() {
                    *provisioners.entry(provisioner.kind.clone()).or_insert(0_u32) += 1;
                }
            }
        }
    }
    for (kind, times) in provisioners {
        for _ in 0..times {
            problems.push(diagnostics::missing_provisioner(&kind));
        }
    }
    problems
}
