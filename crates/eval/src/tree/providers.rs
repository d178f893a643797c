//! Providers of modules: which provider a local name stands for, what a module requires, and which configuration serves a
//! resource.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashMapExt};
use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_config::Module;
use yuba_config::module::implied_local_name;
use yuba_config::provider::{ProviderConfig, ProviderKey};
use yuba_config::resource::Resource;
use yuba_config::terraform::RequiredProvider;
use yuba_config::test_file::TestFile;
use yuba_syntax::body::BodySchema;
use yuba_syntax::{Diagnostic, Diagnostics, Span};

use super::{ConfigTree, ModuleId, diagnostics};

/// A provider that a configuration needs.
#[derive(Clone, Debug, Default)]
pub struct Requirement {
    /// What is demanded of its version, and where.
    pub constraints: Vec<(EcoString, Span)>,
    /// Some `required_providers` names it; otherwise blocks imply it.
    pub explicit: bool,
    /// The first block that implies it.
    pub implied_by: Option<Span>,
}

/// The configuration that serves a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderBinding {
    /// The provider.
    pub provider: ProviderSource,
    /// The module whose configuration it is.
    pub module: ModuleId,
    /// The block; none where there is no block and the provider is used without configuration.
    pub block: Option<ProviderKey>,
}

/// Whether a block configures anything, so that it is no mere declaration that a configuration has to be passed.
pub(crate) fn configures(provider: &ProviderConfig) -> bool {
    let has_content = || provider.body.content(&BodySchema::default()).1.has_errors();
    provider.version.is_some() || provider.for_each.is_some() || has_content()
}

/// What a resource's provider is called in its module.
pub(crate) fn provider_key(resource: &Resource) -> ProviderKey {
    match &resource.provider {
        Some(reference) => reference.key.clone(),
        None => ProviderKey { name: implied_local_name(&resource.key.kind).into(), alias: None },
    }
}

impl ConfigTree {
    /// The provider a local name stands for in a module; none if the name cannot be one of a provider.
    pub fn provider_type(&self, module: ModuleId, local_name: &str) -> Option<ProviderSource> {
        self.node(module).module.provider_for_local_name(local_name)
    }

    /// The providers a module needs, not counting what it calls.
    pub fn module_requirements(&self, module: ModuleId) -> BTreeMap<ProviderSource, Requirement> {
        let mut found = BTreeMap::new();
        collect(&self.node(module).module, &mut found);
        found
    }

    /// The providers the whole configuration needs, tests included.
    pub fn requirements(&self) -> BTreeMap<ProviderSource, Requirement> {
        let mut found = BTreeMap::new();
        for (_, node) in self.iter().chain(self.runs.values().flat_map(ConfigTree::iter)) {
            collect(&node.module, &mut found);
        }
        for file in self.root().module.tests.values() {
            collect_test(&self.root().module, file, &mut found);
        }
        found
    }

    /// The providers a test file needs, not counting the modules it tests.
    pub fn test_requirements(&self, file: &TestFile) -> BTreeMap<ProviderSource, Requirement> {
        let mut found = BTreeMap::new();
        collect_test(&self.root().module, file, &mut found);
        found
    }

    /// The provider configuration that a name in a module stands for: a block of the module, what its caller passes, or for
    /// names without alias what its caller uses itself; at last a provider without configuration. None if there is none.
    pub fn binding(&self, module: ModuleId, key: &ProviderKey) -> Option<ProviderBinding> {
        let provider = self.provider_type(module, &key.name)?;
        let (mut module, mut key) = (module, key.clone());
        loop {
            let node = self.node(module);
            let block = node.module.providers.get(&key);
            if let Some(call) = self.call(module)
                && let Some(parent) = node.parent
                && let Some(passed) = call.providers.iter().find(|passed| passed.in_child.key == key)
                && !block.is_some_and(configures)
            {
                key = passed.in_parent.key.clone();
                module = parent;
                continue;
            }
            if block.is_some() {
                return Some(ProviderBinding { provider, module, block: Some(key) });
            }
            // The block may have another local name for the same provider.
            let other = node.module.providers.keys().find(|other| {
                other.alias == key.alias && self.provider_type(module, &other.name).as_ref() == Some(&provider)
            });
            if let Some(other) = other {
                return Some(ProviderBinding { provider, module, block: Some(other.clone()) });
            }
            match node.parent {
                _ if key.alias.is_some() => return None,
                None => return Some(ProviderBinding { provider, module, block: None }),
                Some(parent) => {
                    key = ProviderKey { name: self.local_name(parent, &provider, &key.name), alias: None };
                    module = parent;
                }
            }
        }
    }

    /// What a module calls a provider.
    fn local_name(&self, module: ModuleId, provider: &ProviderSource, fallback: &EcoString) -> EcoString {
        let required = &self.node(module).module.requirements.providers;
        let is_it = |required: &&RequiredProvider| required.provider == *provider;
        match required.get(fallback).filter(is_it).or_else(|| required.values().find(is_it)) {
            Some(required) => required.name.clone(),
            None => fallback.clone(),
        }
    }

    /// Resources whose provider configuration does not exist.
    pub fn unbound_resources(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for (id, node) in self.iter() {
            let mut known: HashMap<ProviderKey, bool> = HashMap::new();
            for resource in node.module.resources.values() {
                let key = provider_key(resource);
                let bound = *known.entry(key).or_insert_with_key(|key| self.binding(id, key).is_some());
                if !bound && let Some(problem) = self.not_bound(id, resource) {
                    problems.push(problem);
                }
            }
        }
        problems
    }

    fn not_bound(&self, module: ModuleId, resource: &Resource) -> Option<Diagnostic> {
        let key = provider_key(resource);
        let node = self.node(module);
        let provider = self.provider_type(module, &key.name)?;
        let config = AbsProviderConfig { module: node.path.clone(), provider, alias: key.alias };
        let prefix = if node.path.is_root() { EcoString::new() } else { eco_format!("{}.", node.path) };
        let mode = match resource.key.mode {
            yuba_addrs::ResourceMode::Managed => "",
            yuba_addrs::ResourceMode::Data => "data.",
            yuba_addrs::ResourceMode::Ephemeral => "ephemeral.",
        };
        let address = eco_format!("{prefix}{mode}{}.{}", resource.key.kind, resource.key.name);
        Some(diagnostics::configuration_not_present(&address, &config))
    }
}

fn collect_test(module: &Module, file: &TestFile, found: &mut BTreeMap<ProviderSource, Requirement>) {
    for provider in file.providers.values() {
        let Some(source) = module.provider_for_local_name(&provider.key.name) else { continue };
        let implied = || Requirement { implied_by: Some(provider.span), ..Requirement::default() };
        found.entry(source).or_insert_with(implied).constraints.extend(provider.version.clone());
    }
}

fn collect(module: &Module, found: &mut BTreeMap<ProviderSource, Requirement>) {
    for required in module.requirements.providers.values() {
        let requirement: &mut Requirement = found.entry(required.provider.clone()).or_default();
        requirement.explicit = true;
        requirement.constraints.extend(required.version.clone());
    }
    let mut types: HashMap<EcoString, Option<ProviderSource>> = HashMap::new();
    let mut imply = |name: &str, span: Span, version: Option<&(EcoString, Span)>| {
        if !types.contains_key(name) {
            types.insert(name.into(), module.provider_for_local_name(name));
        }
        if let Some(Some(provider)) = types.get(name) {
            if !found.contains_key(provider) {
                found.insert(provider.clone(), Requirement { implied_by: Some(span), ..Requirement::default() });
            }
            if let Some(requirement) = found.get_mut(provider) {
                requirement.constraints.extend(version.cloned());
            }
        }
    };
    for resource in module.resources.values() {
        match &resource.provider {
            Some(reference) => imply(&reference.key.name, resource.span, None),
            None => imply(implied_local_name(&resource.key.kind), resource.span, None),
        }
    }
    for import in &module.imports {
        match &import.provider {
            Some(reference) => imply(&reference.key.name, import.span, None),
            None => imply(implied_local_name(&import.to.config.resource.kind), import.span, None),
        }
    }
    for provider in module.providers.values() {
        imply(&provider.key.name, provider.span, provider.version.as_ref());
    }
}
