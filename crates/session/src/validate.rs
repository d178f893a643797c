//! `validate`: everything that can be wrong with a configuration, found without a state and without asking anybody.

use yuba_syntax::{Diagnostics, Sources};

use crate::load::{LoadRequest, load};

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
    (problems, configuration.sources)
}
