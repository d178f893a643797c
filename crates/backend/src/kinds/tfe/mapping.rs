//! Names of workspaces: what a workspace of the working directory is called on the server.

use crate::kit::store::{StoreError, StoreErrorKind};
use crate::kit::workspaces::Naming;
use crate::workspace::DEFAULT_WORKSPACE;

/// Which workspaces of the organization belong to the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// The default workspace is this one, and no other workspaces exist (`remote` with `name`).
    Default(String),
    /// All workspaces with this prefix, which is not part of their names here (`remote` with `prefix`).
    Prefix(String),
    /// This one, with its own name (`cloud` with `name`).
    Name { name: String, project: Option<String> },
    /// All workspaces with these tags, with their own names (`cloud` with `tags`).
    Tags { tags: Vec<String>, project: Option<String> },
}

fn no_workspaces() -> StoreError {
    StoreError::new(StoreErrorKind::NoWorkspaces, "the arguments of the backend select a single workspace")
}

fn no_default() -> StoreError {
    StoreError::new(StoreErrorKind::NoDefaultWorkspace, "the backend has no workspace \"default\"")
}

impl Mapping {
    /// The name on the server.
    pub(super) fn remote(&self, workspace: &str) -> Result<String, StoreError> {
        let is_default = workspace.is_empty() || workspace == DEFAULT_WORKSPACE;
        match self {
            Mapping::Default(name) if is_default => Ok(name.clone()),
            Mapping::Default(_) => Err(no_workspaces()),
            // A workspace of the server may be called `default`, and OpenTofu refuses it as well.
            _ if is_default => Err(no_default()),
            // Quirk: a name that starts with the prefix is the name on the server.
            Mapping::Prefix(prefix) if workspace.starts_with(prefix.as_str()) => Ok(workspace.to_owned()),
            Mapping::Prefix(prefix) => Ok(format!("{prefix}{workspace}")),
            Mapping::Name { name, .. } if name == workspace => Ok(name.clone()),
            Mapping::Name { .. } => Err(no_workspaces()),
            Mapping::Tags { .. } => Ok(workspace.to_owned()),
        }
    }

    /// The name on the server of a workspace that may be deleted.
    pub(super) fn deletable(&self, workspace: &str) -> Result<String, StoreError> {
        match self {
            Mapping::Name { .. } => Err(no_workspaces()),
            _ => self.remote(workspace),
        }
    }

    /// The name here of a workspace of the server; none if it does not belong to the configuration.
    pub(super) fn local(&self, remote: &str) -> Option<String> {
        match self {
            Mapping::Default(name) => (name == remote).then(|| DEFAULT_WORKSPACE.to_owned()),
            Mapping::Prefix(prefix) => remote.strip_prefix(prefix.as_str()).map(str::to_owned),
            Mapping::Name { name, .. } => (name == remote).then(|| remote.to_owned()),
            Mapping::Tags { .. } => Some(remote.to_owned()),
        }
    }

    pub(super) fn naming(&self) -> Naming {
        match self {
            Mapping::Default(_) => Naming::WithDefault,
            Mapping::Prefix(prefix) => Naming::Prefix(prefix.clone()),
            Mapping::Name { name, .. } => Naming::Only(name.clone()),
            Mapping::Tags { tags, .. } => Naming::Tags(tags.clone()),
        }
    }

    /// The project of workspaces that are created or listed.
    pub(super) fn project(&self) -> Option<&str> {
        match self {
            Mapping::Name { project, .. } | Mapping::Tags { project, .. } => project.as_deref(),
            Mapping::Default(_) | Mapping::Prefix(_) => None,
        }
    }

    /// The tags of workspaces that are created or listed.
    pub(super) fn tags(&self) -> &[String] {
        match self {
            Mapping::Tags { tags, .. } => tags,
            _ => &[],
        }
    }
}
