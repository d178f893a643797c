//! The backend that a configuration names, with its arguments.

use yuba_backend::{BackendConfiguration, Backends};
use yuba_eval::static_eval::{StaticCache, Statics};
use yuba_syntax::{Diagnostic, Diagnostics};

use crate::diagnostics;
use crate::loaded::Loaded;

/// What the `backend` block of a configuration says; none where it has none. Required arguments may be missing: see
/// [`check_required`].
pub(crate) fn configured(configuration: &Loaded) -> Result<Option<BackendConfiguration>, Diagnostics> {
    let backends = configuration.project.backends();
    let root = &configuration.tree.root().module;
    if let Some(cloud) = &root.cloud {
        return Err(diagnostics::cloud_not_available(cloud.span).into());
    }
    let Some(backend) = &root.backend else { return Ok(None) };
    let kind = match backends.find(&backend.kind) {
        Some(kind) if kind.is_available() => kind,
        Some(kind) => return Err(diagnostics::backend_not_available(kind.name, backend.kind_span).into()),
        None => {
            let known: Vec<&str> = backends.names().collect();
            return Err(diagnostics::unknown_backend(&backend.kind, &known, backend.kind_span).into());
        }
    };
    let schema = (kind.schema)();
    let cache = StaticCache::default();
    let statics = Statics::new(&configuration.tree, configuration.static_env(), &cache);
    let (value, problems) = statics.backend(backend, schema.block());
    if problems.has_errors() {
        return Err(problems);
    }
    let configured = BackendConfiguration::new(kind, value);
    let problems = configured.check();
    if problems.has_errors() {
        let at = |problem: Diagnostic| problem.at(backend.span);
        let mut placed = Diagnostics::new();
        placed.extend(problems.into_iter().map(at));
        return Err(placed);
    }
    Ok(Some(configured))
}

/// Fails where the block, the flags and the environment together leave out a required argument.
pub(crate) fn check_required(configured: &BackendConfiguration, backends: &Backends) -> Result<(), Diagnostics> {
    let missing = configured.missing(&backends.environment.variables);
    let mut problems = Diagnostics::new();
    problems
        .extend(missing.into_iter().map(|name| super::diagnostics::missing_backend_argument(configured.kind(), name)));
    if problems.has_errors() { Err(problems) } else { Ok(()) }
}

/// Whether the state of a configuration is kept by a backend that this version does not have.
pub(crate) fn is_out_of_reach(configuration: &Loaded) -> bool {
    let backends = configuration.project.backends();
    let root = &configuration.tree.root().module;
    let is_available = |name: &str| backends.find(name).is_some_and(|kind| kind.is_available());
    root.cloud.is_some() || root.backend.as_ref().is_some_and(|backend| !is_available(&backend.kind))
}
