//! Validation: everything that can be found wrong with a linked configuration without knowing any value from outside.
//!
//! Objects are visited once, what they depend on first. Values of variables and resources are unknown, of the right type. An
//! object that depends on one with errors is not visited: its own errors might be consequences. Providers think about several
//! resources at a time; only what depends on one of them waits for the answer.
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

use std::collections::{BTreeMap, VecDeque};

use yuba_addrs::AbsProviderConfig;
use yuba_config::terraform::RequiredProvider;
use yuba_syntax::Diagnostics;

use crate::graph::{References, Vertex};
use crate::inputs::Inputs;
use crate::module_scope::{EvalEnv, Evaluation};
use crate::tree::{ConfigTree, ModuleId};

pub use diagnostics::{condition_failed, is_about_assertion, is_about_condition, missing_provider, outlives_planning};
pub use named::deprecated_root_variable;
pub use values::check_values;

/// How many things are done at the same time unless something else is said, here and in operations.
pub const PARALLELISM: usize = 10;

/// What validation knows besides the configuration.
#[derive(Clone, Copy)]
pub struct ValidateEnv<'a> {
    /// What evaluation needs.
    pub eval: EvalEnv<'a>,
    /// The reference graph of the configuration that is validated.
    pub references: &'a References<'a>,
    /// What was given for variables of the root module. Its values are not used: the configuration is checked for all.
    pub inputs: &'a Inputs,
    /// How many resources providers think about at the same time.
    pub parallelism: usize,
}

/// What a provisioner accepts; none if there is no such provisioner.
pub fn provisioner_schema(kind: &str) -> Option<&'static yuba_provider::BlockSchema> {
    provisioner::schema(kind)
}

/// Everything that is wrong with a configuration.
pub fn validate(tree: &ConfigTree, env: &ValidateEnv<'_>) -> Diagnostics {
    let probe = Evaluation::new_probe(tree, env.eval);
    let evaluation = Evaluation::with_probe(tree, env.eval, probe.as_ref());
    let missing = missing_plugins(&evaluation);
    if missing.has_errors() {
        return missing;
    }
    let References { arguments, invalid_arguments, graph } = env.references;
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
    let mut walk = Walk::new(graph.nodes.len());
    for at in &order {
        let at = *at;
        while walk.asked.len() >= env.parallelism.max(1) || graph.depends_on_any(at, &walk.open) {
            walk.end_oldest();
        }
        if graph.depends_on_any(at, &walk.failed) {
            walk.failed[at as usize] = true;
            continue;
        }
        let node = &graph.nodes[at as usize];
        let found = match node.vertex {
            Vertex::Variable(variable) => named::variable(&evaluation, node.module, variable, arguments, env),
            Vertex::Input(variable) => call::check(&evaluation, node.module, variable, arguments),
            Vertex::Local(local) => named::local(&evaluation, node.module, local),
            Vertex::Output(output) => named::output(&evaluation, node.module, output),
            Vertex::Check(check) => named::check(&evaluation, node.module, check),
            Vertex::Resource(resource) => {
                let (rest, imports) = (resource::check(&evaluation, node.module, resource), graph.imports.get(&at));
                let (evaluation, module) = (&evaluation, node.module);
                walk.leave_open(at, move || {
                    let mut found = rest();
                    let check = |import| import::check(evaluation, module, resource, import);
                    found.extend(imports.into_iter().flatten().copied().flat_map(check));
                    found
                });
                continue;
            }
            Vertex::Provider(provider) => {
                let mut found = resource::check_provider_for_each(&evaluation, node.module, provider);
                if !graph.unused[at as usize] {
                    found.extend(resource::check_provider(&evaluation, node.module, provider));
                }
                found
            }
            Vertex::Call => call::check_call(&evaluation, node.module),
            Vertex::Close => Diagnostics::new(),
        };
        walk.end(at, found);
    }
    while !walk.asked.is_empty() {
        walk.end_oldest();
    }
    problems.extend(order.iter().flat_map(|at| std::mem::take(&mut walk.found[*at as usize])));
    problems
}

/// What is known about objects on the way.
struct Walk<'a> {
    /// Those whose providers are still thinking, in the order they were asked.
    asked: VecDeque<(u32, Rest<'a>)>,
    /// Whether an object is among them.
    open: Vec<bool>,
    failed: Vec<bool>,
    found: Vec<Diagnostics>,
}

/// What is left to check when a provider has answered.
type Rest<'a> = Box<dyn FnOnce() -> Diagnostics + 'a>;

impl<'a> Walk<'a> {
    fn new(objects: usize) -> Walk<'a> {
        let none = vec![false; objects];
        Walk { asked: VecDeque::new(), open: none.clone(), failed: none, found: vec![Diagnostics::new(); objects] }
    }
    fn leave_open(&mut self, at: u32, rest: impl FnOnce() -> Diagnostics + 'a) {
        self.open[at as usize] = true;
        self.asked.push_back((at, Box::new(rest)));
    }
    fn end_oldest(&mut self) {
        if let Some((at, rest)) = self.asked.pop_front() {
            self.open[at as usize] = false;
            self.end(at, rest());
        }
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

/// Providers and provisioners that are needed and not there. Without them most of what follows would be consequences.
fn missing_plugins(evaluation: &Evaluation<'_>) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let tree = evaluation.tree();
    for provider in tree.requirements().keys() {
        let has = match evaluation.env().providers {
            Some(ask) => ask.has(provider),
            None => evaluation.provider_schema(provider).is_some(),
        };
        if !has {
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
