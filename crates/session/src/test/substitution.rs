//! Replacements that a test file makes in the tested module: provider configurations, resources, modules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ecow::eco_format;
use yuba_addrs::{AbsProviderConfig, ConfigResource, Feature, ModulePath, ParseRefContext, ResourceMode};
use yuba_config::Module;
use yuba_config::provider::{ProviderConfig, ProviderKey};
use yuba_config::resource::ResourceKey;
use yuba_config::test_file::{MockProvider, ObjectArgument, OverrideModule, OverrideResource, TestFile, TestRun};
use yuba_eval::tree::ModuleNode;
use yuba_eval::{ConfigTree, ConstantNames, Each, ModuleId, constant_with};
use yuba_provider::mock::MockDefaults;
use yuba_syntax::{Body, Diagnostics, Expr, Sources};
use yuba_value::Value;

use super::diagnostics;

/// The provider blocks that a run uses, and which of them are mocks.
pub(super) struct RunProviders<'f> {
    /// The module with these blocks; none if it stays unchanged.
    pub(super) module: Option<Arc<Module>>,
    mocks: Vec<(ProviderKey, &'f MockProvider)>,
}

/// Puts the provider blocks of a test file into the tested module.
pub(super) fn providers<'f>(file: &'f TestFile, run: &TestRun, module: &Module) -> (RunProviders<'f>, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut mocks = Vec::new();
    if file.providers.is_empty() && file.mock_providers.is_empty() && run.providers.is_empty() {
        return (RunProviders { module: None, mocks }, problems);
    }
    let mut next = module.providers.clone();
    if run.providers.is_empty() {
        // A block with instances replaces one with instances; it may be for another module that the file tests.
        let is_collection = |key: &ProviderKey| module.requirements.alias(key).is_some_and(|alias| alias.all_instances);
        let fits = |key: &ProviderKey, has_instances: bool| {
            !has_instances || module.providers.contains_key(key) || is_collection(key)
        };
        let fitting = file.providers.iter().filter(|(key, config)| fits(key, config.for_each.is_some()));
        next.extend(fitting.map(|(key, config)| (key.clone(), config.clone())));
        for (key, mock) in file.mock_providers.iter().filter(|(key, mock)| fits(key, mock.for_each.is_some())) {
            next.insert(key.clone(), block_of(mock, key));
            mocks.push((key.clone(), mock));
        }
    }
    for passed in &run.providers {
        let (wanted, key) = (&passed.in_parent.key, &passed.in_child.key);
        if let Some(config) = file.providers.get(wanted) {
            next.insert(key.clone(), ProviderConfig { key: key.clone(), ..config.clone() });
        } else if let Some(mock) = file.mock_providers.get(wanted) {
            next.insert(key.clone(), block_of(mock, key));
            mocks.push((key.clone(), mock));
        } else {
            let shown = match &wanted.alias {
                Some(alias) => eco_format!("{}.{alias}", wanted.name),
                None => wanted.name.clone(),
            };
            problems.push(diagnostics::missing_provider(&shown, passed.in_parent.name_span));
        }
    }
    let module = Module { providers: next, ..module.clone() };
    (RunProviders { module: Some(Arc::new(module)), mocks }, problems)
}

fn block_of(mock: &MockProvider, key: &ProviderKey) -> ProviderConfig {
    ProviderConfig {
        key: key.clone(),
        alias_span: mock.alias_span,
        version: None,
        for_each: mock.for_each.clone(),
        body: Body::empty(mock.span),
        span: mock.span,
        name_span: mock.name_span,
        is_mock: true,
    }
}

/// Evaluates the objects that blocks of a test file give. It is part of the root module, whatever its runs test.
#[derive(Clone, Copy)]
pub(super) struct Objects<'a> {
    pub(super) root: &'a ModuleNode,
    pub(super) sources: &'a Sources,
}

impl Objects<'_> {
    fn value(self, given: Option<&ObjectArgument>, each: Each<'_>, problems: &mut Diagnostics) -> Option<Value> {
        let module = &*self.root.module;
        let opted_in = module.feature_enabled(Feature::SymbolLibraries);
        let symbols = opted_in.then_some((module as &dyn ParseRefContext, &*self.root.symbols));
        let names = ConstantNames { symbols, each, sources: Some(self.sources) };
        given?.value(&|expr: &Expr| constant_with(expr, &names), problems)
    }

    fn defaults(self, mock: &MockProvider, each: Each<'_>, problems: &mut Diagnostics) -> MockDefaults {
        let mut given = |value: &Option<ObjectArgument>| {
            self.value(value.as_ref(), each, problems).unwrap_or_else(Value::null_dynamic)
        };
        let types = mock.resources.iter().map(|known| ((known.mode, known.kind.clone()), given(&known.defaults)));
        let types = types.collect();
        let resources = mock.override_resources.iter().filter(|known| known.mode == known.target.resource.mode);
        let resources = resources.map(|known| (known.target.clone(), given(&known.values))).collect();
        MockDefaults { types, resources, instances: BTreeMap::new() }
    }
}

impl RunProviders<'_> {
    /// The mocks by address.
    pub(super) fn mocks(
        &self,
        tree: &ConfigTree,
        with: Objects<'_>,
        problems: &mut Diagnostics,
    ) -> BTreeMap<AbsProviderConfig, MockDefaults> {
        let mut mocks = BTreeMap::new();
        for (key, mock) in &self.mocks {
            let Some(address) = config_of(tree, key) else { continue };
            if !mock.objects().any(ObjectArgument::is_of_instance) {
                mocks.insert(address, with.defaults(mock, Each::Nothing, problems));
                continue;
            }
            let Some(instances) = tree.root().provider_instances.get(key) else {
                problems.push(diagnostics::mock_instances_unknown(mock.span));
                continue;
            };
            let instances = instances.iter().map(|(key, value)| {
                let each = Each::Instance { key: &Value::string(key.clone()), value };
                (key.clone(), with.defaults(mock, each, problems))
            });
            let instances = instances.collect();
            mocks.insert(address, MockDefaults { instances, ..MockDefaults::default() });
        }
        mocks
    }
}

/// The address of a provider configuration of the tested module.
pub(super) fn config_of(tree: &ConfigTree, key: &ProviderKey) -> Option<AbsProviderConfig> {
    let provider = tree.provider_type(ModuleId::ROOT, &key.name)?;
    Some(AbsProviderConfig { module: ModulePath::ROOT, provider, alias: key.alias.clone() })
}

/// Resources that are replaced, those of the run before those of the file.
pub(super) fn resources(
    file: &TestFile,
    run: &TestRun,
    tree: &ConfigTree,
    with: Objects<'_>,
) -> (BTreeMap<ConfigResource, Value>, Diagnostics) {
    let mut problems = Diagnostics::new();
    let in_run: BTreeSet<&ConfigResource> = run.override_resources.iter().map(|known| &known.target).collect();
    let mut all: Vec<&OverrideResource> = run.override_resources.iter().collect();
    for known in &file.override_resources {
        if in_run.contains(&known.target) {
            let block = if known.mode == ResourceMode::Data { "override_data" } else { "override_resource" };
            problems.push(diagnostics::overridden_twice(block, &eco_format!("{}", known.target), known.target_span));
        } else {
            all.push(known);
        }
    }
    let mut replaced = BTreeMap::new();
    for known in all {
        let (target, span) = (&known.target, known.target_span);
        let Some(module) = tree.find(&target.module) else {
            problems.push(diagnostics::module_not_found(&target.module, span));
            continue;
        };
        if !tree.node(module).module.resources.contains_key(&ResourceKey::from(&target.resource)) {
            problems.push(diagnostics::resource_not_found(target, span));
            continue;
        }
        if target.resource.mode != known.mode {
            problems.push(diagnostics::wrong_override(known.mode, target, span));
            continue;
        }
        let values = with.value(known.values.as_ref(), Each::Nothing, &mut problems);
        let values = values.unwrap_or_else(Value::null_dynamic);
        replaced.insert(target.clone(), values);
    }
    (replaced, problems)
}

/// Modules that are replaced, those of the run before those of the file.
pub(super) fn modules(
    file: &TestFile,
    run: &TestRun,
    tree: &ConfigTree,
    with: Objects<'_>,
) -> (BTreeMap<ModulePath, Value>, Diagnostics) {
    let mut problems = Diagnostics::new();
    let in_run: BTreeSet<&ModulePath> = run.override_modules.iter().map(|known| &known.target).collect();
    let mut all: Vec<&OverrideModule> = run.override_modules.iter().collect();
    for known in &file.override_modules {
        if in_run.contains(&known.target) {
            let target = eco_format!("{}", known.target);
            problems.push(diagnostics::overridden_twice("override_module", &target, known.target_span));
        } else {
            all.push(known);
        }
    }
    let mut replaced = BTreeMap::new();
    for known in all {
        let Some(module) = tree.find(&known.target) else {
            problems.push(diagnostics::module_not_found(&known.target, known.target_span));
            continue;
        };
        let outputs = with.value(known.outputs.as_ref(), Each::Nothing, &mut problems);
        let outputs = outputs.unwrap_or_else(Value::empty_object);
        for (name, _) in outputs.entries().unwrap_or_default() {
            if !tree.node(module).module.outputs.contains_key(&name) {
                problems.push(diagnostics::output_not_found(&name, &known.target, known.target_span));
            }
        }
        replaced.insert(known.target.clone(), outputs);
    }
    (replaced, problems)
}
