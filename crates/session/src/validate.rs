//! `validate`: everything that can be wrong with a configuration, found without a state and without asking anybody.

use std::sync::{Arc, LazyLock};

use yuba_addrs::ProviderSource;
use yuba_eval::{EvalEnv, ValidateEnv};
use yuba_provider::{ProviderSchema, builtin};
use yuba_syntax::{Diagnostics, Sources};

use crate::load::{LoadRequest, load};

static TERRAFORM: LazyLock<Arc<ProviderSchema>> = LazyLock::new(|| Arc::new(builtin::TERRAFORM.clone()));

/// Reads the configuration and checks it.
pub fn validate(request: &LoadRequest<'_>) -> (Diagnostics, Sources) {
    let (configuration, mut problems) = load(request, None);
    let configuration = match configuration {
        Ok(configuration) if !problems.has_errors() => configuration,
        Ok(configuration) => return (problems, configuration.sources),
        Err(sources) => return (problems, sources),
    };
    for file in configuration.tree.root().module.tests.values() {
        problems.extend(file.validate());
    }
    if !problems.has_errors() {
        let eval = EvalEnv {
            world: request.world,
            workspace: request.workspace,
            original_dir: request.original_dir,
            schemas: &schemas,
            sources: Some(&configuration.sources),
        };
        problems.extend(yuba_eval::validate(&configuration.tree, &ValidateEnv { eval, inputs: &configuration.inputs }));
    }
    (problems, configuration.sources)
}

/// The schemas of a provider: so far of the one that is built in.
fn schemas(provider: &ProviderSource) -> Option<Arc<ProviderSchema>> {
    let is_terraform = provider.is_builtin() && provider.kind == "terraform";
    is_terraform.then(|| TERRAFORM.clone())
}
