//! `data "terraform_remote_state"`: the outputs of another configuration.

use ecow::eco_format;
use yuba_value::convert::convert;
use yuba_value::{Path, Type, Value, ops};

use crate::diagnostics;
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
    Schema { version: 0, block: BlockSchema::new(attributes) }
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
        let problem = diagnostics::invalid_backend_configuration("The configuration has to be an object.".into());
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
    let at_backend = |detail| {
        let problem = diagnostics::invalid_backend_configuration(detail);
        vec![Problem::at(problem, Path::new().attr("backend"))]
    };
    match backend.as_str().map(|name| name.as_str()) {
        None => at_backend("The kind of backend must not be null.".into()),
        Some("local" | "_local") => validate_local(settings),
        Some("azure") => at_backend("The backend \"azure\" is called \"azurerm\" now.".into()),
        Some(name) if REMOVED_BACKENDS.contains(&name) => {
            at_backend(eco_format!("The backend {name:?} is not there any more."))
        }
        Some(name) if BACKENDS.contains(&name) => {
            if is_object_like(settings.ty()) {
                return Vec::new();
            }
            invalid_settings(name, "an object is required")
        }
        Some(name) => at_backend(eco_format!("There is no backend {name:?}.")),
    }
}

fn invalid_settings(backend: &str, why: &str) -> Vec<Problem> {
    let detail = eco_format!("This configuration does not fit the backend {backend:?}: {why}.");
    vec![Problem::at(diagnostics::invalid_backend_configuration(detail), Path::new().attr("config"))]
}

fn validate_local(settings: &Value) -> Vec<Problem> {
    if settings.is_null() {
        return Vec::new();
    }
    let Some(entries) = settings.entries() else { return invalid_settings("local", "an object is required") };
    let mut problems = Vec::new();
    for (name, value) in entries {
        if name != "path" && name != "workspace_dir" {
            return invalid_settings("local", &eco_format!("there is no argument {name:?}"));
        }
        match convert(&value, &Type::string()) {
            Err(error) => return invalid_settings("local", &eco_format!("{name}: {}", error.message)),
            Ok(path) if path.as_str().is_some_and(|path| path.is_empty()) => {
                problems.push(Problem::at(diagnostics::empty_local_path(&name), Path::new().attr(&name)));
            }
            Ok(_) => {}
        }
    }
    problems
}
