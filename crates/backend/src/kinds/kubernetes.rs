//! `backend "kubernetes"`: states in Secrets, locked by Leases.
//!
//! A state is one Secret. Writes compare its content with the one that was read, and replace it on the condition that
//! its `resourceVersion` is still the same. So changes of labels or annotations by other clients do not conflict.

mod api;
mod arguments;
mod connection;
mod credentials;
mod exec;
mod kubeconfig;
mod objects;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use yuba_syntax::Diagnostics;

use crate::kit::BackendEnvironment;
use crate::kit::arguments::Arguments;
use crate::kit::store::{
    Beginning, LockCheck, LockId, Store, StoreError, StoreErrorKind, StoreVersion, Stored, UnlockRefusal, Write,
};
use crate::lock::{LockHolder, LockRefusal};
use crate::workspace::DEFAULT_WORKSPACE;
use api::{Api, Resource, Written};
use objects::Owner;

pub(super) use arguments::{check, schema};

/// Attempts to change an object that other clients change at the same time.
const ATTEMPTS: usize = 5;

pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn Store>, Diagnostics> {
    Ok(Arc::new(arguments::store(arguments, environment)?))
}

/// States of one suffix in a namespace.
#[derive(Debug)]
struct KubernetesStore {
    api: Api,
    suffix: String,
    labels: BTreeMap<String, String>,
}

impl KubernetesStore {
    fn owner<'a>(&'a self, workspace: &'a str) -> Owner<'a> {
        Owner { workspace, suffix: &self.suffix, labels: &self.labels }
    }

    /// The name of the Secret of a workspace.
    fn secret_name(&self, workspace: &str) -> Result<String, StoreError> {
        let name = objects::secret_name(workspace, &self.suffix);
        match objects::problem_of_name(workspace, &name) {
            Some(reason) => Err(StoreError::lasting(format!(
                "workspace \"{workspace}\": {reason}. Choose another name for the workspace"
            ))),
            None => Ok(name),
        }
    }

    /// The name of the Lease of a workspace.
    fn lease_name(&self, workspace: &str) -> Result<String, StoreError> {
        self.secret_name(workspace).map(|_| objects::lease_name(workspace, &self.suffix))
    }

    fn lease(&self, workspace: &str) -> Result<Option<Json>, StoreError> {
        self.api.get(Resource::Leases, &self.lease_name(workspace)?)
    }

    fn lost(&self, workspace: &str, id: &LockId) -> Result<Option<String>, StoreError> {
        let name = self.lease_name(workspace)?;
        let lease = self.api.get(Resource::Leases, &name)?;
        let shown = self.api.shown(Resource::Leases, &name);
        Ok(match lease.as_ref().map(objects::holder_id) {
            Some(Some(holder)) if holder == id.0 => None,
            Some(Some(holder)) => Some(format!("the lock \"{holder}\" holds the Lease {shown}")),
            Some(None) => Some(format!("the Lease {shown} was released")),
            None => Some(format!("the Lease {shown} was deleted")),
        })
    }

    /// Deletes an object of a workspace, if it belongs to a state.
    fn remove(&self, resource: Resource, name: &str) -> Result<(), StoreError> {
        let Some(object) = self.api.get(resource, name)? else { return Ok(()) };
        match objects::is_labelled(&object) {
            true => self.api.delete(resource, name, &object),
            false => {
                let (kind, shown) = (resource.kind(), self.api.shown(resource, name));
                let label = objects::STATE;
                Err(StoreError::lasting(format!(
                    "the {kind} {shown} does not have the label {label}=true, so it may belong to another tool. Delete it yourself"
                )))
            }
        }
    }

    /// Takes the lock. None if another client has changed the Lease in the meantime.
    fn try_lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        let name = self.lease_name(workspace).map_err(LockRefusal::Store)?;
        let written = match self.api.get(Resource::Leases, &name).map_err(LockRefusal::Store)? {
            None => self.api.create(Resource::Leases, &self.owner(workspace).lease(holder)),
            Some(lease) => match objects::holder(&lease) {
                // The response to the attempt before was lost.
                Some(present) if present.id == holder.id => return Ok(Some(LockId(present.id))),
                Some(present) => return Err(LockRefusal::Held { holder: Some(Box::new(present)), pid: None }),
                None => self.api.replace(Resource::Leases, &name, &objects::with_holder(lease, holder)),
            },
        };
        match written.map_err(LockRefusal::Store)? {
            Written::Done => Ok(Some(LockId(holder.id.clone()))),
            Written::Conflict => Ok(None),
        }
    }

    fn busy(&self, resource: Resource, name: &str) -> StoreError {
        let (kind, shown) = (resource.kind(), self.api.shown(resource, name));
        StoreError::transient(format!("other processes change the {kind} {shown} all the time"))
    }
}

fn version_of(secret: &Json) -> Option<StoreVersion> {
    objects::payload(secret).map(|payload| StoreVersion::of(payload.as_bytes()))
}

impl Store for KubernetesStore {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        let labels = self.api.labels(Resource::Secrets, &format!("{}=true", objects::STATE))?;
        let ours = labels.into_iter().filter(|labels| labels.get(objects::SUFFIX) == Some(&self.suffix));
        let mut names: Vec<String> = ours.filter_map(|mut labels| labels.remove(objects::WORKSPACE)).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        let name = self.secret_name(workspace)?;
        let Some(secret) = self.api.get(Resource::Secrets, &name)? else { return Ok(None) };
        // Quirk: a Secret without the key is a state that was never written.
        let Some(payload) = objects::payload(&secret) else { return Ok(None) };
        let content = objects::expanded(payload).map_err(|reason| {
            let shown = self.api.shown(Resource::Secrets, &name);
            StoreError::lasting(format!(
                "the Secret {shown} is damaged: {reason}. Restore the state from a backup with `yuba state push`"
            ))
        })?;
        Ok(Some(Stored { content, version: StoreVersion::of(payload.as_bytes()) }))
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let name = self.secret_name(workspace)?;
        let payload = objects::compressed(write.content);
        if let Some(reason) = write.lock.map(|lock| self.lost(workspace, lock)).transpose()?.flatten() {
            return Err(StoreError::new(StoreErrorKind::LockLost, reason));
        }
        for _ in 0..ATTEMPTS {
            let present = self.api.get(Resource::Secrets, &name)?;
            if !write.precondition.holds(present.as_ref().and_then(version_of).as_ref()) {
                let reason = format!(
                    "the content of the Secret {} is not the one that was read",
                    self.api.shown(Resource::Secrets, &name)
                );
                return Err(StoreError::new(StoreErrorKind::Conflict, reason));
            }
            let written = match present {
                None => self.api.create(Resource::Secrets, &self.owner(workspace).secret(&payload))?,
                Some(secret) => self.api.replace(Resource::Secrets, &name, &objects::with_payload(secret, &payload))?,
            };
            if let Written::Done = written {
                return Ok(StoreVersion::of(payload.as_bytes()));
            }
        }
        Err(self.busy(Resource::Secrets, &name))
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        self.remove(Resource::Secrets, &self.secret_name(workspace)?)?;
        self.remove(Resource::Leases, &self.lease_name(workspace)?)
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        // Quirk: locks of this backend have no path.
        let holder = &LockHolder { path: String::new(), ..holder.clone() };
        for _ in 0..ATTEMPTS {
            if let Some(id) = self.try_lock(workspace, holder)? {
                return Ok(Some(id));
            }
        }
        Err(LockRefusal::Store(self.busy(Resource::Leases, &objects::lease_name(workspace, &self.suffix))))
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let name = self.lease_name(workspace).map_err(UnlockRefusal::Failed)?;
        for _ in 0..ATTEMPTS {
            let lease = self.lease(workspace).map_err(UnlockRefusal::Failed)?.ok_or(UnlockRefusal::NotLocked)?;
            let holder = objects::holder(&lease).ok_or(UnlockRefusal::NotLocked)?;
            if holder.id != id.0 {
                return Err(UnlockRefusal::OtherLock(Some(Box::new(holder))));
            }
            let released = objects::without_holder(lease);
            match self.api.replace(Resource::Leases, &name, &released).map_err(UnlockRefusal::Failed)? {
                Written::Done => return Ok(()),
                Written::Conflict => {}
            }
        }
        Err(UnlockRefusal::Failed(self.busy(Resource::Leases, &name)))
    }

    fn check_lock(&self, workspace: &str, id: &LockId) -> Result<LockCheck, StoreError> {
        Ok(self.lost(workspace, id)?.map_or(LockCheck::Held, LockCheck::Lost))
    }

    fn describe(&self, workspace: &str) -> String {
        let workspace = if workspace.is_empty() { DEFAULT_WORKSPACE } else { workspace };
        self.api.shown(Resource::Secrets, &objects::secret_name(workspace, &self.suffix))
    }

    fn beginning(&self, _: &str) -> Beginning {
        // Quirk: OpenTofu writes the first state of the default workspace too.
        Beginning::EmptyState
    }
}
