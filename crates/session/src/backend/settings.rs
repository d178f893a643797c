//! Backends with their arguments: from the configuration, and as `init` keeps them in mind.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use yuba_backend::{DEFAULT_STATE, DEFAULT_WORKSPACE_DIRECTORY, LocalSettings};
use yuba_eval::static_eval::{StaticCache, Statics};
use yuba_provider::{Attribute, BlockSchema};
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::Type;

use crate::diagnostics;
use crate::loaded::Loaded;

/// Backends that OpenTofu has.
const BACKENDS: [&str; 12] =
    ["azurerm", "consul", "cos", "gcs", "http", "inmem", "kubernetes", "local", "oss", "pg", "remote", "s3"];

/// A backend with its arguments.
#[derive(Clone, Debug)]
pub(crate) enum BackendSettings {
    /// `local`
    Local(LocalSettings),
    /// `inmem`
    InMemory {
        /// The lock that the default workspace begins with.
        lock_id: Option<String>,
    },
}

/// Where the state is as long as nobody says otherwise.
impl Default for BackendSettings {
    fn default() -> BackendSettings {
        BackendSettings::Local(LocalSettings::default())
    }
}

/// The names of the arguments of a backend that we have, all of which are texts.
pub(super) fn arguments_of(kind: &str) -> Option<&'static [&'static str]> {
    match kind {
        "local" => Some(&["path", "workspace_dir"]),
        "inmem" => Some(&["lock_id"]),
        _ => None,
    }
}

/// What the `backend` block of a configuration says; none where it has none.
pub(crate) fn configured(configuration: &Loaded) -> Result<Option<BackendSettings>, Diagnostics> {
    let root = &configuration.tree.root().module;
    if let Some(cloud) = &root.cloud {
        return Err(diagnostics::cloud_not_available(cloud.span).into());
    }
    let Some(backend) = &root.backend else { return Ok(None) };
    let Some(names) = arguments_of(&backend.kind) else {
        return Err(match BACKENDS.contains(&backend.kind.as_str()) {
            true => diagnostics::backend_not_available(&backend.kind, backend.kind_span).into(),
            false => diagnostics::unknown_backend(&backend.kind, &BACKENDS, backend.kind_span).into(),
        });
    };
    let schema = schema_of(names);
    let cache = StaticCache::default();
    let statics = Statics::new(&configuration.tree, configuration.static_env(), &cache);
    let (value, problems) = statics.backend(backend, &schema);
    if problems.has_errors() {
        return Err(problems);
    }
    let argument = |name: &str| Some(yuba_value::ops::get_attr(&value, name).ok()?.as_str()?.to_string());
    let settings = BackendSettings::new(&backend.kind, argument);
    let problems = settings.as_ref().map(BackendSettings::check).unwrap_or_default();
    if problems.has_errors() {
        let at = |problem: Diagnostic| problem.at(backend.span);
        let mut placed = Diagnostics::new();
        placed.extend(problems.into_iter().map(at));
        return Err(placed);
    }
    Ok(settings)
}

/// Whether the state of a configuration is kept by a backend that this version does not have.
pub(crate) fn is_out_of_reach(configuration: &Loaded) -> bool {
    let root = &configuration.tree.root().module;
    root.cloud.is_some() || root.backend.as_ref().is_some_and(|backend| arguments_of(&backend.kind).is_none())
}

/// A block with these arguments.
pub(super) fn schema_of(names: &[&str]) -> BlockSchema {
    BlockSchema::new(names.iter().map(|name| (*name, Attribute::optional(Type::string()))))
}

impl BackendSettings {
    /// A backend by its type; none for types that we do not have.
    pub(crate) fn new(kind: &str, argument: impl Fn(&str) -> Option<String>) -> Option<BackendSettings> {
        let path = |name: &str| argument(name).map(PathBuf::from);
        match kind {
            "local" => Some(BackendSettings::Local(LocalSettings {
                path: path("path"),
                workspace_directory: path("workspace_dir"),
                ..LocalSettings::default()
            })),
            "inmem" => Some(BackendSettings::InMemory { lock_id: argument("lock_id") }),
            _ => None,
        }
    }

    /// Its type.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            BackendSettings::Local(_) => "local",
            BackendSettings::InMemory { .. } => "inmem",
        }
    }

    /// What is wrong with its arguments.
    pub(super) fn check(&self) -> Diagnostics {
        match self {
            BackendSettings::Local(settings) => settings.check(),
            BackendSettings::InMemory { .. } => Diagnostics::new(),
        }
    }

    /// Its arguments, as OpenTofu keeps them.
    pub(crate) fn arguments(&self) -> Json {
        match self {
            BackendSettings::Local(settings) => {
                let text = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
                json!({ "path": text(&settings.path), "workspace_dir": text(&settings.workspace_directory) })
            }
            BackendSettings::InMemory { lock_id } => json!({ "lock_id": lock_id }),
        }
    }

    /// Whether states are at the same place.
    pub(crate) fn is_same_place(&self, other: &BackendSettings) -> bool {
        let same = |one: &Option<PathBuf>, other: &Option<PathBuf>, by_default: &str| {
            let by_default = Path::new(by_default);
            one.as_deref().unwrap_or(by_default) == other.as_deref().unwrap_or(by_default)
        };
        match (self, other) {
            (BackendSettings::Local(one), BackendSettings::Local(other)) => {
                same(&one.path, &other.path, DEFAULT_STATE)
                    && same(&one.workspace_directory, &other.workspace_directory, DEFAULT_WORKSPACE_DIRECTORY)
            }
            (BackendSettings::InMemory { lock_id: one }, BackendSettings::InMemory { lock_id: other }) => one == other,
            _ => false,
        }
    }

    /// Where states are, for people.
    pub(crate) fn place(&self) -> String {
        match self {
            BackendSettings::Local(settings) => {
                format!("the file {}", settings.path.as_deref().unwrap_or(Path::new(DEFAULT_STATE)).display())
            }
            BackendSettings::InMemory { .. } => "the backend \"inmem\"".to_owned(),
        }
    }
}
