//! The part of a state that a plan reads and writes.
//!
//! A plan writes the objects that it changes and those that planning has read again and found different. It reads what decisions about
//! them depend on: everything that references of the configuration reach from the changed objects and outputs. Instances of one
//! module do not reach into each other: a reference leads to the same instance, to the caller, or into all instances of a call.
//! Provider configurations of changed objects count as well: those of the plan, and those that the state records for objects that
//! have no block anymore or belong to another configuration by now.

use std::collections::{BTreeSet, HashSet};

use yuba_addrs::{AbsProviderConfig, InstanceKey, ModuleInstance, Resource};
use yuba_backend::{StatePart, StateSelector};
use yuba_config::provider::ProviderKey;
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_eval::graph::{RefGraph, References, Vertex};
use yuba_eval::tree::ModuleId;
use yuba_eval::{ConfigTree, Evaluation};
use yuba_plan::{Action, Plan, ResourceChange};
use yuba_state::{RowKey, State};

/// The state that a saved plan starts from: the present one, with what planning has changed in it.
pub(crate) fn rebased(plan: &Plan, present: &State) -> State {
    let keys = plan.previous_state.rows_that_differ(&plan.prior_state);
    present.with_rows_of(&plan.prior_state, &keys)
}

/// The part of the state that a plan reads and writes. `known` is the state that was read.
pub(crate) fn of_plan<'a>(
    plan: &Plan,
    references: &References<'a>,
    evaluation: &Evaluation<'a>,
    known: Option<&State>,
) -> StatePart {
    let mut part = StatePart::default();
    let tree = evaluation.tree();
    let used = provider_blocks(plan, tree);
    let graph = &*references.with_used(evaluation, &used);
    let mut reached = Reached { graph, tree, seen: HashSet::new(), work: Vec::new() };
    for provider in used {
        if let Some(at) = graph.providers.get(&provider) {
            reached.add(*at, None);
        }
    }
    for change in plan.changes.iter().filter(|change| is_change(change)) {
        part.writes.insert(StateSelector::Instance(change.addr.clone()));
        part.writes.extend(change.moved_from.as_deref().cloned().map(StateSelector::Instance));
        let key = ResourceKey::from(&change.addr.resource);
        let module = tree.find(&change.addr.module.module());
        if let Some(at) = module.and_then(|module| graph.resources.get(&(module, key))) {
            reached.add(*at, Some(&change.addr.module));
        }
    }
    for change in plan.outputs.iter().filter(|change| change.action != Action::NoOp) {
        part.writes.insert(StateSelector::Output(change.name.clone()));
        if let Some(at) = graph.outputs.get(&change.name) {
            reached.add(*at, Some(&ModuleInstance::ROOT));
        }
    }
    let empty = State::empty();
    for key in known.unwrap_or(&empty).rows_that_differ(&plan.prior_state) {
        part.writes.extend(match key {
            RowKey::Object(addr, _) => Some(StateSelector::Instance(addr)),
            RowKey::Resource(addr) => Some(StateSelector::Resource(addr)),
            RowKey::Output(name) => Some(StateSelector::Output(name)),
            RowKey::Check(_) => None,
        });
    }
    part.reads = reached.selectors();
    part
}

fn is_change(change: &ResourceChange) -> bool {
    change.action != Action::NoOp || change.importing.is_some() || change.moved_from.is_some()
}

/// The blocks of the provider configurations that changed objects belong to, in the plan and in the states it was made from.
fn provider_blocks(plan: &Plan, tree: &ConfigTree) -> Vec<(ModuleId, ProviderKey)> {
    let mut configs: HashSet<&AbsProviderConfig> = HashSet::new();
    for change in plan.changes.iter().filter(|change| is_change(change)) {
        configs.insert(&change.provider);
        for addr in [Some(&change.addr), change.moved_from.as_deref()].into_iter().flatten() {
            let resource = addr.containing();
            let recorded = [&plan.previous_state, &plan.prior_state].map(|state| state.get(&resource));
            configs.extend(recorded.into_iter().flatten().map(|resource| &resource.provider));
        }
    }
    let mut found = Vec::new();
    for config in configs {
        let Some(module) = tree.find(&config.module) else { continue };
        let is_it = |key: &&ProviderKey| {
            key.alias == config.alias && tree.provider_type(module, &key.name).as_ref() == Some(&config.provider)
        };
        found.extend(tree.node(module).module.providers.keys().filter(is_it).map(|key| (module, key.clone())));
    }
    found
}

/// For each step of a module path the key of its instance; none for all instances.
type Keys = Vec<Option<Option<InstanceKey>>>;

/// Objects of a configuration that other objects depend on.
struct Reached<'g> {
    graph: &'g RefGraph<'g>,
    tree: &'g ConfigTree,
    seen: HashSet<(u32, Keys)>,
    work: Vec<(u32, Keys)>,
}

impl Reached<'_> {
    fn add(&mut self, at: u32, module: Option<&ModuleInstance>) {
        let steps = module.map(ModuleInstance::steps).unwrap_or_default();
        self.reach(at, steps.iter().map(|step| Some(step.key.clone())).collect());
    }

    fn reach(&mut self, at: u32, keys: Keys) {
        if self.seen.insert((at, keys.clone())) {
            self.work.push((at, keys));
        }
    }

    /// The keys in another module, whose path begins as that of this one.
    fn keys_in(&self, from: ModuleId, keys: &Keys, to: ModuleId) -> Keys {
        let (here, there) = (self.tree.node(from).path.steps(), self.tree.node(to).path.steps());
        let common = here.iter().zip(there).take_while(|(a, b)| a == b).count().min(keys.len());
        let mut found: Keys = keys[..common].to_vec();
        found.resize(there.len(), None);
        let is_single = || self.tree.call(to).is_some_and(|call| matches!(call.repetition, Repetition::Single));
        if there.len() == common + 1 && is_single() {
            found[common] = Some(None);
        }
        found
    }

    fn selectors(mut self) -> BTreeSet<StateSelector> {
        let mut selectors = BTreeSet::new();
        while let Some((at, keys)) = self.work.pop() {
            let node = &self.graph.nodes[at as usize];
            let module = node.module;
            if let Vertex::Resource(resource) = node.vertex {
                selectors.insert(self.selector(module, &keys, &Resource::from(&resource.key)));
            }
            for to in &self.graph.edges[at as usize] {
                let next = self.keys_in(module, &keys, self.graph.nodes[*to as usize].module);
                self.reach(*to, next);
            }
        }
        selectors
    }

    fn selector(&self, module: ModuleId, keys: &Keys, resource: &Resource) -> StateSelector {
        let path = &self.tree.node(module).path;
        let known: Option<Vec<Option<InstanceKey>>> = keys.iter().cloned().collect();
        match known {
            Some(keys) => {
                let steps = path.steps().iter().zip(keys);
                let instance = steps.fold(ModuleInstance::ROOT, |module, (name, key)| module.child(name.clone(), key));
                StateSelector::Resource(resource.clone().absolute(instance))
            }
            None => StateSelector::Config(resource.clone().in_module(path.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use yuba_addrs::AbsResourceInstance;
    use yuba_eval::tree::Purpose;
    use yuba_eval::{EvalEnv, EvalMode};
    use yuba_plan::{ActionReason, ExecGraph, Mode};
    use yuba_provider::fake::FakeWorld;
    use yuba_syntax::FileId;
    use yuba_testkit::Sandbox;
    use yuba_value::Value;

    use super::*;
    use crate::Project;
    use crate::loaded::LoadOptions;
    use crate::project::ProjectSettings;

    /// A plan that destroys an object of a provider configuration.
    fn destroying(addr: &str, provider: &str, state: State) -> Plan {
        let change = ResourceChange {
            addr: AbsResourceInstance::parse_text(FileId(0), addr).expect("because it is well-formed"),
            moved_from: None,
            deposed: None,
            provider: AbsProviderConfig::parse_text(FileId(0), provider).expect("because it is well-formed"),
            provider_key: None,
            action: Action::Delete,
            reason: ActionReason::None,
            before: Value::null(yuba_value::Type::dynamic()),
            after: Value::null(yuba_value::Type::dynamic()),
            private: [].into(),
            identity: None,
            required_replace: Vec::new(),
            importing: None,
            generated_config: None,
        };
        let state = Arc::new(state);
        Plan {
            mode: Mode::Normal,
            targets: Vec::new(),
            excludes: Vec::new(),
            force_replace: Vec::new(),
            variables: BTreeMap::new(),
            changes: vec![change],
            drift: Vec::new(),
            relevant: Vec::new(),
            outputs: Vec::new(),
            checks: Vec::new(),
            previous_state: Arc::clone(&state),
            prior_state: state,
            exec: ExecGraph::default(),
            timestamp: "2026-01-02T03:04:05Z".into(),
            errored: false,
            workspace: "default".into(),
            warnings: Vec::new(),
        }
    }

    /// The part of the state that a plan reads.
    fn reads(plan: &Plan) -> Vec<String> {
        let sandbox = Sandbox::new(
            "",
            r#"
//- main.tf
terraform {
  required_providers {
    fake = { source = "example.com/test/fake" }
  }
}
provider "fake" {
  alias  = "old"
  region = terraform_data.region.output
}
resource "terraform_data" "region" { input = terraform_data.base.id }
resource "terraform_data" "base" {}
resource "terraform_data" "other" {}
module "m" { source = "./m" }
//- m/main.tf
terraform {
  required_providers {
    fake = { source = "example.com/test/fake" }
  }
}
provider "fake" {
  region = terraform_data.inner.output
}
resource "terraform_data" "inner" {}
"#,
        );
        let project = Project::new(ProjectSettings::bare(sandbox.dir()));
        let loaded = project.load(LoadOptions::new(Purpose::Use)).unwrap_or_else(|_| panic!("it can be read"));
        let world = FakeWorld::new();
        let env = EvalEnv { providers: &world, ..loaded.linked().eval_env() };
        let references = References::read(&loaded.tree, env);
        let evaluation = Evaluation::new(&loaded.tree, env, EvalMode::Types);
        let part = of_plan(plan, &references, &evaluation, None);
        part.reads.iter().map(|selector| format!("{selector:?}")).collect()
    }

    fn names(reads: &[String]) -> Vec<&str> {
        let names = ["region", "base", "other", "inner"];
        names.into_iter().filter(|name| reads.iter().any(|read| read.contains(name))).collect()
    }

    #[test]
    fn the_provider_of_an_object_without_a_block_is_read() {
        let of_root = r#"provider["example.com/test/fake"].old"#;
        let of_module = r#"module.m.provider["example.com/test/fake"]"#;
        assert_eq!(names(&reads(&destroying("fake_thing.gone", of_root, State::empty()))), ["region", "base"]);
        assert_eq!(names(&reads(&destroying("module.m.fake_thing.gone", of_module, State::empty()))), ["inner"]);
        let unknown = r#"provider["example.com/test/fake"].unknown"#;
        assert_eq!(names(&reads(&destroying("fake_thing.gone", unknown, State::empty()))), [""; 0]);
    }

    #[test]
    fn the_provider_that_the_state_records_is_read() {
        let state = br#"{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"l","outputs":{},"resources":[{
            "mode":"managed","type":"fake_thing","name":"moved","provider":"provider[\"example.com/test/fake\"].old",
            "instances":[{"schema_version":0,"attributes":{}}]}]}"#;
        let (state, _) = yuba_state::read(state).expect("because it is a state");
        let other = r#"module.m.provider["example.com/test/fake"]"#;
        assert_eq!(names(&reads(&destroying("fake_thing.moved", other, state))), ["region", "base", "inner"]);
    }
}
