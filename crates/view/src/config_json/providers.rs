//! Provider configurations of all modules in one table, by keys that contain the module of each.

use std::collections::BTreeMap;

use yuba_addrs::{ModulePath, ProviderConstraints, ProviderSource};
use yuba_config::Module;
use yuba_config::provider::ProviderKey;
use yuba_eval::tree::{Requirement, requirements_of};
use yuba_eval::{ConfigTree, ModuleId};

use super::expression::Expressions;
use crate::json_writer::Members;
use crate::state_json::KnownSchemas;

/// The key of a configuration: its name in its module.
pub(super) fn opaque_key(provider: &str, module: &ModulePath) -> String {
    if module.is_root() { provider.to_owned() } else { format!("{module}:{provider}") }
}

/// All configurations by key.
#[derive(Default)]
pub(super) struct ProviderConfigs(BTreeMap<String, Entry>);

struct Entry {
    name: String,
    full_name: String,
    alias: String,
    version_constraint: String,
    module_address: String,
    /// The block that configures it.
    block: Option<(ModuleId, ProviderKey)>,
    /// The key of the configuration that it really is, where a caller passed it.
    source: Option<String>,
}

impl ProviderConfigs {
    pub(super) fn of_module(module: &Module) -> ProviderConfigs {
        let mut configs = ProviderConfigs::default();
        configs.add(ModuleId::ROOT, module, &ModulePath::ROOT);
        configs
    }

    pub(super) fn of_tree(tree: &ConfigTree) -> ProviderConfigs {
        let mut configs = ProviderConfigs::default();
        // Callers come before what they call.
        for (id, node) in tree.iter() {
            configs.add(id, &node.module, &node.path);
            for (name, call) in &node.module.calls {
                let Some(child) = node.children.get(name).map(|child| tree.node(*child)) else { continue };
                for passed in &call.providers {
                    let source = child.module.provider_for_local_name(&passed.in_child.key.name);
                    let full_name = source.map(|source| source.to_string()).unwrap_or_default();
                    let local = passed.in_child.key.to_string();
                    let parent = opaque_key(&passed.in_parent.key.to_string(), &node.path);
                    let source = configs.find_source(parent, &full_name);
                    let entry = Entry { source, ..Entry::new(local.clone(), full_name, &child.path) };
                    configs.0.insert(opaque_key(&local, &child.path), entry);
                }
            }
        }
        configs
    }

    /// The configurations that a module has of its own, by blocks or because something in it needs them.
    fn add(&mut self, id: ModuleId, module: &Module, path: &ModulePath) {
        let required = requirements_of(module);
        let full_name = |source: Option<&ProviderSource>| source.map(|source| source.to_string()).unwrap_or_default();
        for provider in module.providers.keys() {
            let source = module.provider_for_local_name(&provider.name);
            let entry = Entry {
                alias: provider.alias.as_deref().unwrap_or_default().to_owned(),
                version_constraint: source.as_ref().map(|source| constraints(&required, source)).unwrap_or_default(),
                block: Some((id, provider.clone())),
                ..Entry::new(provider.name.to_string(), full_name(source.as_ref()), path)
            };
            self.0.insert(opaque_key(&provider.to_string(), path), entry);
        }
        let parent = path.call().map(|(parent, _)| parent);
        for (name, needed) in &module.requirements.providers {
            let entry = || Entry {
                version_constraint: constraints(&required, &needed.provider),
                ..Entry::new(needed.name.to_string(), needed.provider.to_string(), path)
            };
            for alias in &needed.aliases {
                self.0.entry(opaque_key(&alias.key.to_string(), path)).or_insert_with(entry);
            }
            let own = opaque_key(name, path);
            if !self.0.contains_key(&own) {
                let source = parent.as_ref().and_then(|parent| {
                    self.find_source(opaque_key(&needed.name, parent), &needed.provider.to_string())
                });
                self.0.insert(own, Entry { source, ..entry() });
            }
        }
        for provider in required.keys() {
            let own = opaque_key(&provider.kind, path);
            if !self.0.contains_key(&own) {
                let entry = Entry::new(provider.kind.to_string(), provider.to_string(), path);
                let source = parent
                    .as_ref()
                    .and_then(|parent| self.find_source(opaque_key(&provider.kind, parent), &entry.full_name));
                self.0.insert(own, Entry { source, ..entry });
            }
        }
    }

    /// The configuration that is passed on from one module to the next, starting with one of them.
    fn find_source(&self, start: String, full_name: &str) -> Option<String> {
        let entry = self.0.get(&start).filter(|entry| entry.full_name == full_name)?;
        // The source of an entry was found in the same way.
        Some(entry.source.clone().unwrap_or(start))
    }

    /// The key of the configuration that is really used under a key.
    pub(super) fn source_of<'k>(&'k self, key: &'k str) -> &'k str {
        self.0.get(key).and_then(|entry| entry.source.as_deref()).unwrap_or(key)
    }

    /// As a member that is left out if it is empty.
    pub(super) fn write(
        &self,
        members: &mut Members<'_>,
        tree: Option<&ConfigTree>,
        schemas: &mut Option<&mut KnownSchemas<'_>>,
    ) {
        members.if_written("provider_config", |out| {
            let mut configs = Members::open(out);
            let own = || self.0.iter().filter(|(_, entry)| entry.source.is_none());
            for (name, entry) in own() {
                entry.write(configs.key(name), tree, schemas);
            }
            configs.close();
            own().next().is_some()
        });
    }
}

impl Entry {
    fn new(name: String, full_name: String, module: &ModulePath) -> Entry {
        Entry {
            name,
            full_name,
            alias: String::new(),
            version_constraint: String::new(),
            module_address: module.to_string(),
            block: None,
            source: None,
        }
    }

    fn write(&self, out: &mut String, tree: Option<&ConfigTree>, schemas: &mut Option<&mut KnownSchemas<'_>>) {
        let mut members = Members::open(out);
        members.text_if_any("name", &self.name);
        members.text_if_any("full_name", &self.full_name);
        members.text_if_any("alias", &self.alias);
        members.text_if_any("version_constraint", &self.version_constraint);
        members.text_if_any("module_address", &self.module_address);
        if let (Some((id, block_key)), Some(tree), Some(schemas)) = (&self.block, tree, schemas.as_mut()) {
            let node = tree.node(*id);
            let source = node.module.provider_for_local_name(&block_key.name);
            let schema = source.and_then(|source| schemas.provider(&source));
            if let Some(block) = node.module.providers.get(block_key) {
                let module = &*node.module;
                if let Some(schema) = &schema {
                    let content = Expressions { body: &block.body, schema: &schema.provider.block, module };
                    content.write(&mut members, "expressions");
                }
            }
        }
        members.close();
    }
}

/// Everything a module demands of the version of a provider.
fn constraints(required: &BTreeMap<ProviderSource, Requirement>, provider: &ProviderSource) -> String {
    let mut all = ProviderConstraints::default();
    for (text, _) in required.get(provider).map(|requirement| &requirement.constraints).into_iter().flatten() {
        if let Ok(constraints) = ProviderConstraints::parse(text) {
            all.extend(&constraints);
        }
    }
    all.to_string()
}
