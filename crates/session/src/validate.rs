//! `validate`: everything that can be wrong with a configuration, found without a state and without asking anybody.

use std::collections::BTreeSet;

use yuba_addrs::ModuleSource;
use yuba_eval::validate::PARALLELISM;
use yuba_eval::{ConfigTree, EvalEnv, ValidateEnv};
use yuba_syntax::{Diagnostics, Sources};

use crate::load::{LoadRequest, load};

/// Reads the configuration and checks it, with its test files and the modules they test.
pub fn validate(request: &LoadRequest<'_>) -> (Diagnostics, Sources) {
    let (configuration, mut problems) = load(request, None);
    let mut configuration = match configuration {
        Ok(configuration) if !problems.has_errors() => configuration,
        Ok(configuration) => return (problems, configuration.sources),
        Err(sources) => return (problems, sources),
    };
    problems.extend(request.providers.overrides_warning());
    problems.extend(request.providers.check_lock_file(&mut configuration.sources));
    problems.extend(request.providers.selection().missing_plugins_short());
    problems.extend(request.providers.damaged(&configuration.tree));
    if problems.has_errors() {
        return (problems, configuration.sources);
    }
    let env = ValidateEnv {
        eval: eval_env(request, &configuration.sources),
        inputs: &configuration.inputs,
        parallelism: PARALLELISM,
    };
    problems.extend(check(request, &configuration.tree, &env));
    let mut tested = BTreeSet::new();
    for (name, file) in &configuration.tree.root().module.tests {
        problems.extend(file.validate());
        for run in &file.runs {
            // Only what is local can be mended by those who read this; and a module that many runs test is checked once.
            let Some(ModuleSource::Local(dir)) = run.module.as_ref().map(|module| &module.source) else { continue };
            let tree = configuration.tree.runs.get(&(name.clone(), run.name.clone()));
            if let Some(tree) = tree.filter(|_| tested.insert(dir)) {
                problems.extend(check(request, tree, &env));
            }
        }
    }
    (problems, configuration.sources)
}

/// Checks a tree of modules. Before something is called wrong, providers say what they have, if it was only kept so far:
/// what was kept may be out of date.
pub(crate) fn check(request: &LoadRequest<'_>, tree: &ConfigTree, env: &ValidateEnv<'_>) -> Diagnostics {
    let once = || or_failures(request, yuba_eval::validate(tree, env));
    let found = once();
    if found.has_errors() && request.providers.renew_schemas() { once() } else { found }
}

/// What was found, or where providers did not say what they have, only that: the rest may be a consequence.
fn or_failures(request: &LoadRequest<'_>, found: Diagnostics) -> Diagnostics {
    let failures = request.providers.failures();
    if failures.has_errors() { failures } else { found }
}

/// What evaluation needs besides a configuration.
pub(crate) fn eval_env<'a>(request: &LoadRequest<'a>, sources: &'a Sources) -> EvalEnv<'a> {
    EvalEnv {
        world: request.world,
        workspace: request.workspace,
        original_dir: request.original_dir,
        schemas: request.providers.schemas(),
        providers: Some(request.providers),
        sources: Some(sources),
    }
}
