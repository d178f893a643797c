//! `validate`: everything that can be wrong with a configuration, found without a state and without remote services.

use std::collections::{BTreeMap, BTreeSet};

use yuba_addrs::{ModuleSource, ProviderSource, Resource as ResourceName};
use yuba_config::resource::Resource;
use yuba_eval::graph::{RefGraph, References, Vertex};
use yuba_eval::tree::Purpose;
use yuba_eval::validate::PARALLELISM;
use yuba_eval::{ConfigTree, ValidateEnv};
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::backend::Refusal;
use crate::clock::wait;
use crate::diagnostics;
use crate::loaded::{LoadOptions, Loaded};
use crate::prepared::Linked;
use crate::project::Project;

impl Project {
    /// Loads the configuration and validates it, with its test files and the modules they test.
    pub fn validate(&self) -> (Diagnostics, Sources) {
        match self.load(LoadOptions::new(Purpose::Use)).and_then(Loaded::valid) {
            Ok(loaded) => validate(loaded),
            Err(Refusal { problems, sources }) => (problems, sources),
        }
    }
}

fn validate(mut loaded: Loaded) -> (Diagnostics, Sources) {
    let mut problems = std::mem::take(&mut loaded.diagnostics);
    let project = loaded.project.clone();
    let providers = project.providers();
    problems.extend(providers.check_lock_file(&mut loaded.sources));
    problems.extend(providers.selection().missing_plugins_short());
    problems.extend(providers.damaged(&loaded.tree));
    if problems.has_errors() {
        problems.extend(providers.overrides_warning());
        return (problems, loaded.sources);
    }
    let tree = &loaded.tree;
    let linked = loaded.linked();
    let of_tree = |tree| {
        let (parallelism, processes) = (PARALLELISM, EarlyProcesses::ForValidation);
        Validation { linked: Linked { tree, ..linked }, parallelism, processes }
    };
    let not_loaded = |provider: &ProviderSource, reason: &Diagnostic| {
        diagnostics::schema_not_read(provider, first_user(tree, provider).as_deref(), reason)
    };
    problems.extend(of_tree(tree).check_with(&not_loaded).0);
    let mut tested = BTreeSet::new();
    for (name, file) in &tree.root().module.tests {
        problems.extend(file.validate(|run| {
            let own = tree.runs.get(&(name.clone(), run.name.clone())).filter(|_| run.module.is_some());
            &own.unwrap_or(tree).root().module
        }));
        for run in &file.runs {
            // Users can fix local modules only. A module that several runs test is validated once.
            let Some(ModuleSource::Local(dir)) = run.module.as_ref().map(|module| &module.source) else { continue };
            let tree = tree.runs.get(&(name.clone(), run.name.clone()));
            if let Some(tree) = tree.filter(|_| tested.insert(dir)) {
                problems.extend(of_tree(tree).check().0);
            }
        }
    }
    problems.extend(providers.overrides_warning());
    (problems, loaded.sources)
}

/// Validates a tree of modules.
pub(crate) struct Validation<'a> {
    pub(crate) linked: Linked<'a>,
    /// Number of resources that providers validate at the same time.
    pub(crate) parallelism: usize,
    /// Processes that start before they are needed.
    pub(crate) processes: EarlyProcesses,
}

/// Provider processes that start while the configuration is validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyProcesses {
    /// One of each provider that validates something.
    ForValidation,
    /// One for each provider instance, because planning follows and configures all of them.
    ForPlan,
}

impl<'a> Validation<'a> {
    /// Errors, and the reference graph. Before an error is reported, schemas that came from a cache are requested from their
    /// providers again.
    pub(crate) fn check(&self) -> (Diagnostics, References<'a>) {
        self.check_with(&diagnostics::schema_not_loaded)
    }

    /// The same, with a message of the caller about providers whose schemas cannot be loaded.
    fn check_with(
        &self,
        not_loaded: &dyn Fn(&ProviderSource, &Diagnostic) -> Diagnostic,
    ) -> (Diagnostics, References<'a>) {
        let _span = tracing::info_span!("validate configuration").entered();
        let checked = self.check_once(not_loaded);
        if !checked.0.has_errors() || !self.linked.project.providers().renew_schemas() {
            return checked;
        }
        // A provider has other schemas than the cache, which decide what a block refers to: that graph is of no use.
        drop(checked);
        self.check_once(not_loaded)
    }

    fn check_once(
        &self,
        not_loaded: &dyn Fn(&ProviderSource, &Diagnostic) -> Diagnostic,
    ) -> (Diagnostics, References<'a>) {
        let providers = self.linked.project.providers();
        let tree = self.linked.tree;
        // A required provider without a schema is an error, whether the configuration uses it or not.
        providers.load_schemas(tree.requirements().keys());
        let references = self.linked.references();
        let mut processes = instances_by_provider(tree, &references.graph);
        if self.processes == EarlyProcesses::ForValidation {
            processes.values_mut().for_each(|count| *count = 1);
        }
        providers.prepare(&processes);
        let env = ValidateEnv {
            eval: self.linked.eval_env(),
            references: &references,
            inputs: self.linked.inputs,
            parallelism: self.parallelism,
        };
        let found = wait(yuba_eval::validate(tree, &env));
        // Where schemas are missing, the other errors may follow from that.
        let mut failures = Diagnostics::new();
        failures.extend(providers.failed().iter().map(|(provider, reason)| not_loaded(provider, reason)));
        (if failures.has_errors() { failures } else { found }, references)
    }
}

/// The number of provider instances that a plan configures, as far as that is known without evaluation.
fn instances_by_provider(tree: &ConfigTree, graph: &RefGraph<'_>) -> BTreeMap<ProviderSource, usize> {
    let mut found = BTreeMap::new();
    let mut without_block = BTreeSet::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        match node.vertex {
            Vertex::Provider(block) if !graph.unused[at] => {
                let Some(provider) = tree.provider_type(node.module, &block.key.name) else { continue };
                let keys = tree.node(node.module).provider_instances.get(&block.key);
                // Keys that are evaluated later are at least one, or the provider validates only.
                *found.entry(provider).or_insert(0) += keys.map_or(1, |keys| keys.len().max(1));
            }
            Vertex::Resource(resource) => {
                let Some(resolved) = tree.resource_provider(node.module, resource) else { continue };
                if resolved.block.is_none() && without_block.insert(tree.provider_address(&resolved)) {
                    *found.entry(resolved.provider).or_insert(0) += 1;
                }
            }
            _ => {}
        }
    }
    found
}

/// The first resource of a provider, by its address.
fn first_user(tree: &ConfigTree, provider: &ProviderSource) -> Option<String> {
    tree.iter().find_map(|(id, node)| {
        let of_provider = |resource: &&Resource| {
            tree.resource_provider(id, resource).is_some_and(|resolved| resolved.provider == *provider)
        };
        let resource = node.module.resources.values().find(of_provider)?;
        let key = &resource.key;
        let name = ResourceName { mode: key.mode, kind: key.kind.clone(), name: key.name.clone() };
        Some(if node.path.is_root() { name.to_string() } else { format!("{}.{name}", node.path) })
    })
}
