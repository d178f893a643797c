//! What the conditions of the configuration say.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use foldhash::HashMap;
use yuba_addrs::{ModuleInstance, ModulePath};
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_eval::{ConfigTree, Verdict};
use yuba_state::{CheckKind, CheckObject, CheckResult, CheckStatus};

/// Results found so far, for every object of the configuration that has conditions.
#[derive(Default)]
pub(crate) struct Checks {
    results: BTreeMap<(CheckKind, EcoString), Objects>,
}

#[derive(Default)]
struct Objects {
    /// It was evaluated, whether it has instances or not.
    reached: bool,
    objects: Vec<CheckObject>,
    by_address: HashMap<EcoString, usize>,
}

/// An address in a module.
pub(crate) fn in_module(module: &ModulePath, name: &str) -> EcoString {
    if module.is_root() { name.into() } else { eco_format!("{module}.{name}") }
}

/// An address in an instance of a module.
pub(crate) fn in_instance(module: &ModuleInstance, name: &str) -> EcoString {
    if module.is_root() { name.into() } else { eco_format!("{module}.{name}") }
}

impl Checks {
    /// None yet, of all objects with conditions.
    pub(crate) fn new(graph: &RefGraph<'_>, tree: &ConfigTree) -> Checks {
        let mut checks = Checks::default();
        for node in &graph.nodes {
            let path = &tree.node(node.module).path;
            let key = match node.vertex {
                Vertex::Variable(variable) if !variable.validations.is_empty() => {
                    (CheckKind::Variable, in_module(path, &eco_format!("var.{}", variable.name)))
                }
                Vertex::Output(output) if !output.preconditions.is_empty() => {
                    (CheckKind::Output, in_module(path, &eco_format!("output.{}", output.name)))
                }
                Vertex::Check(check) => (CheckKind::Check, in_module(path, &eco_format!("check.{}", check.name))),
                Vertex::Resource(resource)
                    if !resource.lifecycle.preconditions.is_empty()
                        || !resource.lifecycle.postconditions.is_empty() =>
                {
                    let name = eco_format!("{}", yuba_addrs::Resource::from(&resource.key));
                    (CheckKind::Resource, in_module(path, &name))
                }
                _ => continue,
            };
            checks.results.insert(key, Objects::default());
        }
        checks
    }

    /// An object of the configuration was evaluated; which instances it has is told by [`Checks::report`].
    pub(crate) fn reached(&mut self, kind: CheckKind, config: &EcoString) {
        if let Some(objects) = self.results.get_mut(&(kind, config.clone())) {
            objects.reached = true;
        }
    }

    /// Whether an object of the configuration was evaluated.
    pub(crate) fn is_reached(&self, kind: CheckKind, config: &EcoString) -> bool {
        self.results.get(&(kind, config.clone())).is_some_and(|objects| objects.reached)
    }

    /// What a condition of an instance says.
    pub(crate) fn report(&mut self, kind: CheckKind, config: &EcoString, object: &EcoString, verdict: &Verdict) {
        let objects = self.results.entry((kind, config.clone())).or_default();
        objects.reached = true;
        let at = *objects.by_address.entry(object.clone()).or_insert_with(|| {
            let status = CheckStatus::Pass;
            objects.objects.push(CheckObject { addr: object.clone(), status, failure_messages: Vec::new() });
            objects.objects.len() - 1
        });
        let object = &mut objects.objects[at];
        let status = match verdict {
            Verdict::Pass => CheckStatus::Pass,
            Verdict::Fail(message) => {
                if !message.is_empty() {
                    object.failure_messages.push(message.clone());
                }
                CheckStatus::Fail
            }
            Verdict::Unknown => CheckStatus::Unknown,
            Verdict::Error => CheckStatus::Error,
        };
        object.status = worse(object.status, status);
    }

    /// Whether something is wrong with an instance already.
    pub(crate) fn has_failed(&self, kind: CheckKind, config: &EcoString, object: &EcoString) -> bool {
        let objects = self.results.get(&(kind, config.clone()));
        let found = objects.and_then(|objects| objects.objects.get(*objects.by_address.get(object)?));
        found.is_some_and(|object| matches!(object.status, CheckStatus::Fail | CheckStatus::Error))
    }

    /// All results.
    pub(crate) fn results(&self) -> Vec<CheckResult> {
        let result = |((kind, config_addr), objects): (&(CheckKind, EcoString), &Objects)| {
            let start = if objects.reached { CheckStatus::Pass } else { CheckStatus::Unknown };
            let status = objects.objects.iter().fold(start, |status, object| worse(status, object.status));
            CheckResult { kind: *kind, config_addr: config_addr.clone(), status, objects: objects.objects.clone() }
        };
        self.results.iter().map(result).collect()
    }
}

/// Of two results the one that counts: an error more than a failure, that more than something unknown.
fn worse(a: CheckStatus, b: CheckStatus) -> CheckStatus {
    let weight = |status: CheckStatus| match status {
        CheckStatus::Pass => 0,
        CheckStatus::Unknown => 1,
        CheckStatus::Fail => 2,
        CheckStatus::Error => 3,
    };
    if weight(b) > weight(a) { b } else { a }
}
