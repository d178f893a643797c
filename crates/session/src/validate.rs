//! `validate`: everything that can be wrong with a configuration, found without a state and without asking anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, LazyLock};

use yuba_addrs::{ModuleSource, ProviderSource};
use yuba_eval::{EvalEnv, ValidateEnv};
use yuba_install::providers::verified::Verified;
use yuba_install::{lock_file, selected};
use yuba_provider::{ProviderSchema, builtin};
use yuba_syntax::{Diagnostics, Sources};

use crate::load::{LoadRequest, load};

static TERRAFORM: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| Arc::new(builtin::TERRAFORM.clone()));

/// Reads the configuration and checks it, with its test files and the modules they test.
pub fn validate(request: &LoadRequest<'_>) -> (Diagnostics, Sources) {
    let (configuration, mut problems) = load(request, None);
    let mut configuration = match configuration {
        Ok(configuration) if !problems.has_errors() => configuration,
        Ok(configuration) => return (problems, configuration.sources),
        Err(sources) => return (problems, sources),
    };
    let (locks, found) = lock_file::read(Path::new(lock_file::LOCK_FILE), &mut configuration.sources);
    let (no_overrides, no_others) = (BTreeMap::new(), BTreeSet::new());
    let installed = selected(request.data_dir, &locks, &no_overrides, &no_others, &Verified::of_user());
    problems.extend(found);
    problems.extend(installed.missing_plugins_short());
    if problems.has_errors() {
        return (problems, configuration.sources);
    }
    let env = ValidateEnv { eval: eval_env(request, &configuration.sources), inputs: &configuration.inputs };
    problems.extend(yuba_eval::validate(&configuration.tree, &env));
    let mut tested = BTreeSet::new();
    for (name, file) in &configuration.tree.root().module.tests {
        problems.extend(file.validate());
        for run in &file.runs {
            // Only what is local can be mended by those who read this; and a module that many runs test is checked once.
            let Some(ModuleSource::Local(dir)) = run.module.as_ref().map(|module| &module.source) else { continue };
            let tree = configuration.tree.runs.get(&(name.clone(), run.name.clone()));
            if let Some(tree) = tree.filter(|_| tested.insert(dir)) {
                problems.extend(yuba_eval::validate(tree, &env));
            }
        }
    }
    (problems, configuration.sources)
}

/// What evaluation needs besides a configuration.
pub(crate) fn eval_env<'a>(request: &LoadRequest<'a>, sources: &'a Sources) -> EvalEnv<'a> {
    EvalEnv {
        world: request.world,
        workspace: request.workspace,
        original_dir: request.original_dir,
        schemas: &schemas,
        sources: Some(sources),
    }
}

/// The schemas of a provider: so far of the one that is built in.
pub fn schemas(provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
    let is_terraform = provider.is_builtin() && provider.kind == "terraform";
    is_terraform.then(|| TERRAFORM.clone())
}
