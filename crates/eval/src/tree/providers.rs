//! Providers of modules: which provider a local name stands for, and what a module requires.

use std::collections::BTreeMap;

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashMapExt};
use yuba_addrs::{AbsProviderConfig, ProviderSource};
use yuba_config::Module;
use yuba_config::module::implied_local_name;
use yuba_config::provider::{ProviderConfig, ProviderKey};
use yuba_config::resource::Resource;
use yuba_config::test_file::TestFile;
use yuba_syntax::body::BodySchema;
use yuba_syntax::{Diagnostic, Diagnostics, Span};

use super::{ConfigTree, ModuleId, diagnostics};

/// A provider that a configuration needs.
#[derive(Clone, Debug, Default)]
pub struct Requirement {
    /// Its version constraints, with locations.
    pub constraints: Vec<(EcoString, Span)>,
    /// Some `required_providers` names it; otherwise blocks imply it.
    pub explicit: bool,
    /// The first block that implies it.
    pub implied_by: Option<Span>,
}

/// Whether a block configures anything. An empty block only declares that a configuration must be passed.
pub(crate) fn configures(provider: &ProviderConfig) -> bool {
    let has_content = || provider.body.content(&BodySchema::default()).1.has_errors();
    provider.version.is_some() || provider.for_each.is_some() || has_content()
}

/// Local name of a resource's provider in its module.
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
        requirements_of(&self.node(module).module)
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

    /// Resources whose provider configuration does not exist.
    pub fn unbound_resources(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for (id, node) in self.iter() {
            let mut known: HashMap<ProviderKey, bool> = HashMap::new();
            for resource in node.module.resources.values() {
                let key = provider_key(resource);
                let bound = *known.entry(key).or_insert_with_key(|key| self.resolve_provider(id, key, None).is_some());
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

/// The providers a module needs, not counting what it calls.
pub fn requirements_of(module: &Module) -> BTreeMap<ProviderSource, Requirement> {
    let mut found = BTreeMap::new();
    collect(module, &mut found);
    found
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
