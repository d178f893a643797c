//! Results of the conditions of the configuration.

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
    /// Number of conditions that every instance has.
    conditions: usize,
    /// None until the instances are known.
    instances: Option<Vec<Conditions>>,
    by_address: HashMap<EcoString, usize>,
}

/// Results of the conditions of one instance.
struct Conditions {
    addr: EcoString,
    /// One per condition, unknown until the condition is evaluated.
    statuses: Vec<CheckStatus>,
    messages: Vec<EcoString>,
}

impl Objects {
    fn new(conditions: usize) -> Objects {
        Objects { conditions, ..Objects::default() }
    }

    /// The results of an instance, which is added if it is new.
    fn instance(&mut self, addr: &EcoString) -> &mut Conditions {
        let instances = self.instances.get_or_insert_default();
        let conditions = self.conditions;
        let at = *self.by_address.entry(addr.clone()).or_insert_with(|| {
            let statuses = vec![CheckStatus::Unknown; conditions];
            instances.push(Conditions { addr: addr.clone(), statuses, messages: Vec::new() });
            instances.len() - 1
        });
        &mut instances[at]
    }
}

impl Conditions {
    fn status(&self) -> CheckStatus {
        self.statuses.iter().copied().fold(CheckStatus::Pass, worse)
    }

    fn result(&self) -> CheckObject {
        let mut failure_messages = self.messages.clone();
        failure_messages.sort();
        CheckObject { addr: self.addr.clone(), status: self.status(), failure_messages }
    }
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
            let (kind, name, conditions) = match node.vertex {
                // Its rules are evaluated up to the first that fails, and have one result.
                Vertex::Variable(variable) if !variable.validations.is_empty() => {
                    (CheckKind::Variable, eco_format!("var.{}", variable.name), 1)
                }
                Vertex::Output(output) if !output.preconditions.is_empty() => {
                    (CheckKind::Output, eco_format!("output.{}", output.name), output.preconditions.len())
                }
                Vertex::Check(check) => {
                    let conditions = check.asserts.len() + usize::from(check.data.is_some());
                    (CheckKind::Check, eco_format!("check.{}", check.name), conditions)
                }
                Vertex::Resource(resource) => {
                    let conditions = resource.lifecycle.preconditions.len() + resource.lifecycle.postconditions.len();
                    (CheckKind::Resource, eco_format!("{}", yuba_addrs::Resource::from(&resource.key)), conditions)
                }
                _ => continue,
            };
            if conditions > 0 || kind == CheckKind::Check {
                checks.results.insert((kind, in_module(path, &name)), Objects::new(conditions));
            }
        }
        checks
    }

    /// The instances that were found while planning, with conditions that are not evaluated yet.
    pub(crate) fn expect_planned(&mut self, planned: &[CheckResult]) {
        for result in planned {
            let Some(objects) = self.results.get_mut(&(result.kind, result.config_addr.clone())) else { continue };
            if !result.objects.is_empty() || result.status != CheckStatus::Unknown {
                objects.instances.get_or_insert_default();
            }
            for object in &result.objects {
                objects.instance(&object.addr);
            }
        }
    }

    /// The instances of an object of the configuration are known from now on.
    pub(crate) fn expect(&mut self, kind: CheckKind, config: &EcoString, instances: impl Iterator<Item = EcoString>) {
        if let Some(objects) = self.results.get_mut(&(kind, config.clone())) {
            objects.instances.get_or_insert_default();
            for addr in instances {
                objects.instance(&addr);
            }
        }
    }

    /// Records the result of a condition of an instance.
    pub(crate) fn report(
        &mut self,
        kind: CheckKind,
        config: &EcoString,
        object: &EcoString,
        condition: usize,
        verdict: &Verdict,
    ) {
        let objects = self.results.entry((kind, config.clone())).or_default();
        objects.conditions = objects.conditions.max(condition + 1);
        let instance = objects.instance(object);
        let status = match verdict {
            Verdict::Pass => CheckStatus::Pass,
            Verdict::Fail(message) => {
                if !message.is_empty() {
                    instance.messages.push(message.clone());
                }
                CheckStatus::Fail
            }
            Verdict::Unknown => CheckStatus::Unknown,
            Verdict::Error => CheckStatus::Error,
        };
        if let Some(known) = instance.statuses.get_mut(condition) {
            *known = status;
        }
    }

    /// Records whether the data resource of a `check` block was read, which is the last condition of the block.
    pub(crate) fn report_data(&mut self, config: &EcoString, object: &EcoString, verdict: &Verdict) {
        let objects = self.results.get(&(CheckKind::Check, config.clone()));
        let last = objects.map_or(0, |objects| objects.conditions.saturating_sub(1));
        self.report(CheckKind::Check, config, object, last, verdict);
    }

    /// Whether a condition of an instance fails, or cannot be evaluated.
    pub(crate) fn has_failed(&self, kind: CheckKind, config: &EcoString, object: &EcoString) -> bool {
        let status = self.results.get(&(kind, config.clone())).and_then(|objects| {
            let at = objects.by_address.get(object)?;
            Some(objects.instances.as_ref()?.get(*at)?.status())
        });
        matches!(status, Some(CheckStatus::Fail | CheckStatus::Error))
    }

    /// All results. Without known instances the result is unknown, and with no instance it is a pass.
    pub(crate) fn results(&self) -> Vec<CheckResult> {
        let result = |((kind, config_addr), objects): (&(CheckKind, EcoString), &Objects)| {
            let instances = objects.instances.as_deref();
            let start = if instances.is_some() { CheckStatus::Pass } else { CheckStatus::Unknown };
            let objects: Vec<CheckObject> = instances.unwrap_or_default().iter().map(Conditions::result).collect();
            let status = objects.iter().fold(start, |status, object| worse(status, object.status));
            CheckResult { kind: *kind, config_addr: config_addr.clone(), status, objects }
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
