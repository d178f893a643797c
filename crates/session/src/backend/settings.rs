//! The backend that a configuration names, with its arguments.

use yuba_backend::{BackendConfiguration, Backends, CLOUD};
use yuba_config::terraform::Backend;
use yuba_eval::static_eval::{StaticCache, Statics};
use yuba_syntax::{Diagnostic, Diagnostics};

use crate::diagnostics;
use crate::loaded::Loaded;

/// The `backend` block of a configuration, or none. Required arguments may be missing: see [`check_required`].
pub(crate) fn configured(configuration: &Loaded) -> Result<Option<BackendConfiguration>, Diagnostics> {
    let backends = configuration.project.backends();
    let root = &configuration.tree.root().module;
    // The `cloud` block is decoded like a `backend` block whose label no block can have.
    let cloud = root.cloud.as_ref().map(|cloud| Backend {
        kind: CLOUD.into(),
        body: cloud.body.clone(),
        span: cloud.span,
        kind_span: cloud.span,
    });
    let Some(backend) = cloud.as_ref().or(root.backend.as_ref()) else { return Ok(None) };
    let kind = match backends.find(&backend.kind) {
        Some(_) if backend.kind == CLOUD && cloud.is_none() => {
            return Err(diagnostics::cloud_is_a_block(backend.kind_span).into());
        }
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

/// Whether the configuration uses a backend that this version does not support.
pub(crate) fn is_out_of_reach(configuration: &Loaded) -> bool {
    let backends = configuration.project.backends();
    let root = &configuration.tree.root().module;
    let is_available = |name: &str| backends.find(name).is_some_and(|kind| kind.is_available());
    root.backend.as_ref().is_some_and(|backend| !is_available(&backend.kind))
}
