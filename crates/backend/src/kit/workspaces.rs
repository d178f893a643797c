//! Servers with workspaces as objects of their own, which exist without a state and have settings.

use super::store::StoreError;

/// Workspace features of a server besides states.
pub trait WorkspaceService: Send + Sync {
    /// Creates a workspace unless it exists, with the settings that the arguments of the backend ask for.
    fn prepare(&self, workspace: &str) -> Result<(), StoreError>;
    /// Which workspaces the arguments of the backend select.
    fn naming(&self) -> Naming;
    /// Where the server wants operations of a workspace to run.
    fn execution(&self, workspace: &str) -> Result<Execution, StoreError>;
    /// Why this version must not write the state of a workspace; none if it can, or if the workspace does not exist.
    fn version_mismatch(&self, workspace: &str) -> Result<Option<VersionMismatch>, StoreError>;
    /// Values of variables of the root module that the server stores for operations of a workspace.
    fn variables(&self, workspace: &str) -> Result<Vec<StoredVariable>, StoreError>;
    /// Removes a workspace, unless the server knows that its state manages objects.
    fn delete_if_safe(&self, workspace: &str) -> Result<(), StoreError>;
}

/// Which workspaces a backend has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Naming {
    /// The workspace `default`, and further workspaces if the backend supports them.
    WithDefault,
    /// Exactly one, with this name.
    Only(String),
    /// Any number of workspaces whose names on the server have this prefix. There is no workspace `default`.
    Prefix(String),
    /// Any number of workspaces with all of these tags. There is no workspace `default`.
    Tags(Vec<String>),
}

impl Naming {
    /// Whether there is a workspace `default`.
    pub fn has_default(&self) -> bool {
        *self == Naming::WithDefault
    }
}

/// Where operations of a workspace run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Execution {
    /// In the process that is asked for them.
    Local,
    /// On the server or on its agents.
    Remote {
        /// The mode as the server calls it: `remote`, `agent`.
        mode: String,
    },
}

/// The version that a workspace is set to does not fit this version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionMismatch {
    /// The title under which OpenTofu reports it.
    pub title: &'static str,
    /// The version of the language that this version writes.
    pub local: String,
    /// The version or constraint of the workspace.
    pub remote: String,
    /// The workspace, with its organization.
    pub workspace: String,
}

/// A value that the server stores for a variable of the root module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVariable {
    /// The name of the variable.
    pub name: String,
    /// Its value; none if it is sensitive, because the server does not return it.
    pub value: Option<String>,
    /// How the value is written.
    pub syntax: ValueSyntax,
}

/// How a stored value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueSyntax {
    /// A string as it is.
    Literal,
    /// An expression.
    Hcl,
}

/// Workspaces that [`crate::Backend::delete_workspace`] deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceRemoval {
    /// Workspaces whose state manages no objects.
    OnlyEmpty,
    /// All workspaces.
    Forced,
}

/// When a running apply saves its state before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Snapshots {
    /// When the journal grows large or old.
    Usual,
    /// The same, and at most once in this time.
    AtMostEvery(std::time::Duration),
    /// Not at all.
    None,
}
