//! `data "terraform_remote_state"`: the outputs of another configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResourceInstance;
use yuba_value::{Deprecation, Mark, Marks, Path, Type, Value, ops};

use super::provider::{RemoteState, StateReader};
use crate::contract::{DataAnswer, DataRequest, Outcome};
use crate::diagnostics::{self, RemoteStateProblem};
use crate::legality::child;
use crate::problem::Problem;
use crate::schema::{Attribute, BlockSchema, Schema};

pub(super) fn schema() -> Schema {
    let attributes = [
        (
            "backend",
            Attribute::required(Type::string()).described("The type of the backend of the state, such as `s3`."),
        ),
        (
            "config",
            Attribute::optional(Type::dynamic()).described("The arguments of its `backend` block, as an object."),
        ),
        (
            "defaults",
            Attribute::optional(Type::dynamic())
                .described("Values for outputs that the state does not have, or for all if the state does not exist."),
        ),
        ("outputs", Attribute::computed(Type::dynamic()).described("All outputs of the root module in that state.")),
        (
            "workspace",
            Attribute::optional(Type::string()).described("The workspace to read, if the backend has workspaces."),
        ),
    ];
    let in_markdown = |(name, attribute)| (name, Attribute { markdown: true, ..attribute });
    Schema { version: 0, block: BlockSchema::new(attributes.map(in_markdown)) }
}

pub(super) fn validate(config: &Value) -> Vec<Problem> {
    let get = |name: &str| ops::get_attr(config, name).unwrap_or_else(|_| Value::null_dynamic());
    let mut problems = Vec::new();
    let (backend, settings) = (get("backend"), get("config"));
    if settings.is_wholly_known() && backend.is_known() {
        problems.extend(validate_backend(&backend, &settings));
    } else if !is_object_like(settings.ty()) {
        let problem = diagnostics::invalid_backend_configuration(&RemoteStateProblem::NotObject);
        problems.push(Problem::at(problem, Path::new().attr("config")));
    }
    if !is_object_like(get("defaults").ty()) {
        problems.push(Problem::at(diagnostics::invalid_default_values(), Path::new().attr("defaults")));
    }
    problems
}

fn is_object_like(ty: &Type) -> bool {
    ty.is_dynamic() || ty.is_object() || ty.is_map()
}

fn validate_backend(backend: &Value, settings: &Value) -> Vec<Problem> {
    let at =
        |problem, name| vec![Problem::at(diagnostics::invalid_backend_configuration(&problem), Path::new().attr(name))];
    let Some(kind) = backend.as_str() else { return at(RemoteStateProblem::NullBackend, "backend") };
    match is_object_like(settings.ty()) || settings.is_null() {
        true => Vec::new(),
        false => at(RemoteStateProblem::ConfigNotObject(kind), "config"),
    }
}

/// Errors in the backend or its arguments, as far as they are known.
pub(super) fn check(states: &dyn StateReader, config: &Value) -> Vec<Problem> {
    let (backend, settings) = (child(config, "backend"), child(config, "config"));
    let is_known = settings.is_wholly_known() && backend.is_known();
    match backend.as_str().filter(|_| is_known && (is_object_like(settings.ty()) || settings.is_null())) {
        Some(backend) => states.check(kind(backend), &Value::object(settings.entries().unwrap_or_default())),
        None => Vec::new(),
    }
}

/// Quirk: `_local` is another name of `local`.
fn kind(backend: &str) -> &str {
    if backend == "_local" { "local" } else { backend }
}

/// Treatment of the sensitive outputs of another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SensitiveOutputs {
    Sensitive,
    /// Without the mark.
    Plain,
}

/// The configuration with the outputs of the state it names, and what is to be known about them.
pub(super) async fn read(
    states: &dyn StateReader,
    request: DataRequest,
    sensitive: SensitiveOutputs,
) -> Outcome<DataAnswer> {
    let (mut outcome, address) = (read_outputs(states, &request, sensitive).await, &request.address);
    if outcome.has_errors() {
        outcome.problems.push(Problem::nowhere(diagnostics::unable_to_read_remote_state(address)));
    }
    outcome
}

async fn read_outputs(
    states: &dyn StateReader,
    request: &DataRequest,
    sensitive: SensitiveOutputs,
) -> Outcome<DataAnswer> {
    let config = &request.config;
    let mut problems = validate_backend(&child(config, "backend"), &child(config, "config"));
    if problems.is_empty() {
        problems = check(states, config);
    }
    if problems.iter().any(|problem| problem.diagnostic.is_error()) {
        return Outcome::failed_with(problems);
    }
    let found = states.outputs(which_state(request)).await;
    let failed = found.has_errors();
    let mut outcome = Outcome { value: None, problems: found.problems };
    let defaults = child(config, "defaults");
    let mut outputs: BTreeMap<EcoString, Value> = defaults.entries().unwrap_or_default().into_iter().collect();
    let mut marks = Vec::new();
    match found.value.filter(|_| !failed) {
        None => return outcome,
        Some(None) => {
            let path = Path::new().attr("workspace");
            outcome.problems.push(Problem::at(diagnostics::unable_to_find_remote_state(), path));
            outputs.clear();
        }
        Some(Some(found)) => {
            for (name, output) in found {
                let path = || Path::new().attr("outputs").attr(&name);
                if output.sensitive && sensitive == SensitiveOutputs::Sensitive {
                    marks.push((path(), Marks::sensitive()));
                }
                if !output.deprecated.is_empty() {
                    // Quirk: neither the module nor `outputs` is part of the name.
                    let AbsResourceInstance { resource, key, .. } = &request.address;
                    let key = key.as_ref().map(|key| eco_format!("{key}")).unwrap_or_default();
                    let source = eco_format!("{resource}{key}.{name}");
                    // The module that reads it is not known here.
                    let (message, module) = (output.deprecated, Default::default());
                    let deprecation = Deprecation { source, module, message, remote: false, unread: true };
                    marks.push((path(), Marks::one(Mark::Deprecated(Arc::new(deprecation)))));
                }
                outputs.insert(name, output.value);
            }
        }
    }
    let outputs = Value::object(outputs.into_iter().collect());
    let entries = config.entries().unwrap_or_default().into_iter();
    let state = entries.map(|(name, value)| if name == "outputs" { (name, outputs.clone()) } else { (name, value) });
    outcome.value = Some(DataAnswer { state: Value::object(state.collect()), marks });
    outcome
}

fn which_state(request: &DataRequest) -> RemoteState {
    let config = &request.config;
    let text = |name: &str| child(config, name).as_str().cloned();
    let settings = child(config, "config").entries().unwrap_or_default();
    let backend = text("backend").unwrap_or_default();
    RemoteState {
        backend: kind(&backend).into(),
        config: Value::object(settings),
        workspace: text("workspace").unwrap_or_else(|| "default".into()),
        address: request.address.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_attributes_are_markdown() {
        assert!(schema().block.attributes().iter().all(|(_, attribute)| attribute.markdown));
    }
}
