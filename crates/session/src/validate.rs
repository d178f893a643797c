//! `validate`: everything that can be wrong with a configuration, found without a state and without asking anybody.

use std::collections::BTreeSet;

use yuba_addrs::{ModuleSource, ProviderSource, Resource as ResourceName};
use yuba_config::resource::Resource;
use yuba_eval::validate::PARALLELISM;
use yuba_eval::{ConfigTree, EvalEnv, ValidateEnv};
use yuba_provider::Providers as _;
use yuba_syntax::{Diagnostic, Diagnostics, Sources};

use crate::clock::wait;
use crate::diagnostics;
use crate::load::{LoadRequest, load};

/// Reads the configuration and checks it, with its test files and the modules they test.
pub fn validate(request: &LoadRequest<'_>) -> (Diagnostics, Sources) {
    let (configuration, mut problems) = load(request, None);
    let mut configuration = match configuration {
        Ok(configuration) if !problems.has_errors() => configuration,
        Ok(configuration) => return (problems, configuration.sources),
        Err(sources) => return (problems, sources),
    };
    problems.extend(request.providers.check_lock_file(&mut configuration.sources));
    problems.extend(request.providers.selection().missing_plugins_short());
    problems.extend(request.providers.damaged(&configuration.tree));
    if problems.has_errors() {
        problems.extend(request.providers.overrides_warning());
        return (problems, configuration.sources);
    }
    let env = ValidateEnv {
        eval: eval_env(request, &configuration.sources),
        inputs: &configuration.inputs,
        parallelism: PARALLELISM,
    };
    let tree = &configuration.tree;
    problems.extend(check_with(request, tree, &env, &|provider, reason| {
        diagnostics::schema_not_read(provider, first_user(tree, provider).as_deref(), reason)
    }));
    let mut tested = BTreeSet::new();
    for (name, file) in &configuration.tree.root().module.tests {
        problems.extend(file.validate(|run| {
            let own = tree.runs.get(&(name.clone(), run.name.clone())).filter(|_| run.module.is_some());
            &own.unwrap_or(tree).root().module
        }));
        for run in &file.runs {
            // Only what is local can be mended by those who read this; and a module that many runs test is checked once.
            let Some(ModuleSource::Local(dir)) = run.module.as_ref().map(|module| &module.source) else { continue };
            let tree = configuration.tree.runs.get(&(name.clone(), run.name.clone()));
            if let Some(tree) = tree.filter(|_| tested.insert(dir)) {
                problems.extend(check(request, tree, &env));
            }
        }
    }
    problems.extend(request.providers.overrides_warning());
    (problems, configuration.sources)
}

/// Checks a tree of modules. Before something is called wrong, providers say what they have, if it was only kept so far:
/// what was kept may be out of date.
pub(crate) fn check(request: &LoadRequest<'_>, tree: &ConfigTree, env: &ValidateEnv<'_>) -> Diagnostics {
    check_with(request, tree, env, &diagnostics::schema_not_loaded)
}

/// The same, with a message of the caller about providers that did not say what they have.
fn check_with(
    request: &LoadRequest<'_>,
    tree: &ConfigTree,
    env: &ValidateEnv<'_>,
    not_loaded: &dyn Fn(&ProviderSource, &Diagnostic) -> Diagnostic,
) -> Diagnostics {
    // Where providers did not say what they have, the rest may be a consequence of that.
    let once = || {
        // A provider that is required and cannot say what it has is an error, whether something uses it or not.
        tree.requirements().keys().for_each(|provider| drop(request.providers.schema(provider)));
        let found = wait(yuba_eval::validate(tree, env));
        let mut failures = Diagnostics::new();
        failures.extend(request.providers.failed().iter().map(|(provider, reason)| not_loaded(provider, reason)));
        if failures.has_errors() { failures } else { found }
    };
    let found = once();
    if found.has_errors() && request.providers.renew_schemas() { once() } else { found }
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

/// What evaluation needs besides a configuration.
pub(crate) fn eval_env<'a>(request: &LoadRequest<'a>, sources: &'a Sources) -> EvalEnv<'a> {
    EvalEnv {
        world: request.world,
        workspace: request.workspace,
        original_dir: request.original_dir,
        providers: request.providers,
        sources: Some(sources),
    }
}
