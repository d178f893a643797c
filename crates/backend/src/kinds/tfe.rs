//! `backend "remote"` and the `cloud` block: states of workspaces on a server with the TFE API, version 2.
//!
//! A workspace is an object of its own on the server, with settings, variables and a lock. Its states are state versions, which
//! the server refuses if their serial or lineage does not follow the current one. Operations of a workspace run in this process
//! only if its execution mode is `local`.

mod api;
mod arguments;
mod locks;
mod mapping;
mod states;
mod versions;
mod workspaces;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::kit::store::{Beginning, LockCheck, LockId, Store, StoreError, StoreVersion, Stored, UnlockRefusal, Write};
use crate::kit::workspaces::{Snapshots, WorkspaceService};
use crate::lock::{LockHolder, LockRefusal};
use api::Api;
use mapping::Mapping;
use workspaces::Remote;

pub(super) use arguments::{check_cloud, check_remote, cloud_schema, open_cloud, open_remote, remote_schema};

/// The two ways to configure such a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A `backend` block with the label `remote`.
    Remote,
    /// The `cloud` block.
    Cloud,
}

/// Workspaces of one organization.
#[derive(Debug)]
struct TfeStore {
    api: Api,
    form: Form,
    organization: String,
    mapping: Mapping,
    /// Operations run in this process, whatever the execution mode of a workspace is.
    forces_local: bool,
    /// The run of the server that this process belongs to.
    run: Option<String>,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// Workspaces of the server by their names there.
    workspaces: BTreeMap<String, Remote>,
    /// The locks that this process holds, by the names of their workspaces on the server: the string that distinguishes them.
    locks: BTreeMap<String, String>,
    /// Workspaces with a request to release the lock of this process that had no response.
    unanswered: BTreeSet<String>,
    /// The state that was read or written last, by workspace.
    heads: BTreeMap<String, states::Head>,
    /// The interval at which the server wants snapshots, as its last response about a state says.
    interval: Option<Duration>,
}

impl TfeStore {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The workspace for people, which is the ID of its lock too.
    fn qualified(&self, name: &str) -> String {
        format!("{}/{name}", self.organization)
    }
}

impl Store for TfeStore {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        self.listed()
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        self.read_state(&self.mapping.remote(workspace)?)
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        self.write_state(&self.mapping.remote(workspace)?, write)
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        self.delete_workspace(&self.mapping.deletable(workspace)?)
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        let name = self.mapping.remote(workspace).map_err(LockRefusal::Store)?;
        self.lock_workspace(&name, holder).map(Some)
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let name = self.mapping.remote(workspace).map_err(UnlockRefusal::Failed)?;
        self.unlock_workspace(&name, id)
    }

    fn abandon_lock(&self, workspace: &str, holder: &LockHolder) -> Result<(), UnlockRefusal> {
        let name = self.mapping.remote(workspace).map_err(UnlockRefusal::Failed)?;
        self.abandon_workspace_lock(&name, holder)
    }

    fn check_lock(&self, workspace: &str, _: &LockId) -> Result<LockCheck, StoreError> {
        self.check_workspace_lock(&self.mapping.remote(workspace)?)
    }

    fn describe(&self, workspace: &str) -> String {
        // A workspace that cannot exist is described as it is called here.
        let name = self.mapping.remote(workspace).unwrap_or_else(|_| workspace.to_owned());
        format!("{} on {}", self.qualified(&name), self.api.host)
    }

    fn beginning(&self, _: &str) -> Beginning {
        Beginning::Nothing
    }

    fn workspace_service(&self) -> Option<&dyn WorkspaceService> {
        Some(self)
    }

    fn snapshots(&self) -> Snapshots {
        match (self.form, &self.run, self.memory().interval) {
            // A run of the server stores each snapshot as a state version of its own.
            (Form::Remote, Some(_), _) => Snapshots::None,
            (Form::Remote, None, _) => Snapshots::Usual,
            (Form::Cloud, _, Some(interval)) => Snapshots::AtMostEvery(interval),
            (Form::Cloud, _, None) => Snapshots::None,
        }
    }
}
