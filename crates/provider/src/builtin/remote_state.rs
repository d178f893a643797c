//! `data "terraform_remote_state"`: the outputs of another configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResourceInstance;
use yuba_value::convert::convert;
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
            Attribute::required(Type::string()).described("The kind of backend that has the state, such as `s3`."),
        ),
        (
            "config",
            Attribute::optional(Type::dynamic())
                .described("What the backend needs to know: the arguments of its `backend` block, as an object."),
        ),
        (
            "defaults",
            Attribute::optional(Type::dynamic())
                .described("Values for outputs that the state does not have, or for all if there is no state."),
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

/// Backends whose configuration is checked when they are used.
const BACKENDS: [&str; 12] =
    ["remote", "azurerm", "consul", "cos", "gcs", "http", "inmem", "kubernetes", "oss", "pg", "s3", "cloud"];
/// Backends of the past.
const REMOVED_BACKENDS: [&str; 5] = ["artifactory", "etcd", "etcdv3", "manta", "swift"];

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
    let at_backend = |problem| {
        let problem = diagnostics::invalid_backend_configuration(&problem);
        vec![Problem::at(problem, Path::new().attr("backend"))]
    };
    match backend.as_str().map(|name| name.as_str()) {
        None => at_backend(RemoteStateProblem::NullBackend),
        Some("local" | "_local") => validate_local(settings),
        Some("azure") => at_backend(RemoteStateProblem::Renamed { from: "azure", to: "azurerm" }),
        Some(name) if REMOVED_BACKENDS.contains(&name) => at_backend(RemoteStateProblem::Removed(name)),
        Some(name) if BACKENDS.contains(&name) => {
            if is_object_like(settings.ty()) {
                return Vec::new();
            }
            invalid_settings(&RemoteStateProblem::ConfigNotObject(name))
        }
        Some(name) => at_backend(RemoteStateProblem::UnknownBackend(name)),
    }
}

fn invalid_settings(problem: &RemoteStateProblem<'_>) -> Vec<Problem> {
    vec![Problem::at(diagnostics::invalid_backend_configuration(problem), Path::new().attr("config"))]
}

fn validate_local(settings: &Value) -> Vec<Problem> {
    if settings.is_null() {
        return Vec::new();
    }
    let Some(entries) = settings.entries() else {
        return invalid_settings(&RemoteStateProblem::ConfigNotObject("local"));
    };
    let mut problems = Vec::new();
    for (name, value) in entries {
        if name != "path" && name != "workspace_dir" {
            return invalid_settings(&RemoteStateProblem::UnknownArgument("local", &name));
        }
        match convert(&value, &Type::string()) {
            Err(error) => return invalid_settings(&RemoteStateProblem::WrongType("local", &name, &error.message)),
            Ok(path) if path.as_str().is_some_and(|path| path.is_empty()) => {
                problems.push(Problem::at(diagnostics::empty_local_path(&name), Path::new().attr(&name)));
            }
            Ok(_) => {}
        }
    }
    problems
}

/// The configuration with the outputs of the state it names, and what is to be known about them.
pub(super) async fn read(states: &dyn StateReader, request: DataRequest, keep_sensitive: bool) -> Outcome<DataAnswer> {
    let (mut outcome, address) = (read_outputs(states, &request, keep_sensitive).await, &request.address);
    if outcome.has_errors() {
        outcome.problems.push(Problem::nowhere(diagnostics::unable_to_read_remote_state(address)));
    }
    outcome
}

async fn read_outputs(states: &dyn StateReader, request: &DataRequest, keep_sensitive: bool) -> Outcome<DataAnswer> {
    let config = &request.config;
    let problems = validate_backend(&child(config, "backend"), &child(config, "config"));
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
                if output.sensitive && keep_sensitive {
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
        backend: if backend == "_local" { "local".into() } else { backend },
        config: Value::object(settings),
        workspace: text("workspace").unwrap_or_else(|| "default".into()),
        address: request.address.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_about_attributes_is_markdown() {
        assert!(schema().block.attributes().iter().all(|(_, attribute)| attribute.markdown));
    }
}
