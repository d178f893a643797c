//! `backend "azurerm"`: states as block blobs of a container in Azure Storage.
//!
//! The blob of the default workspace is named by `key`; those of other workspaces have `env:` and the workspace appended. An infinite
//! lease on the blob is the lock, and its metadata have the holder. A blob that does not exist is created empty to be locked.

pub(crate) mod arguments;
mod blobs;
mod container;
mod errors;
mod opening;
#[cfg(test)]
mod tests;
mod xml;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use yuba_net::http::Method;

pub(super) use arguments::schema;
pub(super) use opening::{check, open};

use crate::kit::store::{
    Beginning, LockCheck, LockId, Precondition, Store, StoreError, StoreErrorKind, StoreVersion, Stored, UnlockRefusal,
    Write,
};
use crate::lock::{LockHolder, LockRefusal};
use crate::workspace::DEFAULT_WORKSPACE;
use blobs::{HOLDER, Lease, Properties};
use container::{Call, Container, Reply};

/// Appended to the key, before the name of a workspace.
const WORKSPACE: &str = "env:";
/// The most pages of a list of workspaces that are read.
const MOST_PAGES: usize = 1000;

/// The blobs of a container that are states.
#[derive(Debug)]
pub(crate) struct AzureBlobs {
    container: Container,
    key: String,
    snapshots: Snapshots,
}

/// Whether a snapshot of the blob is created before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Snapshots {
    Created,
    NotCreated,
}

impl AzureBlobs {
    fn blob(&self, workspace: &str) -> String {
        match workspace {
            DEFAULT_WORKSPACE => self.key.clone(),
            name => format!("{}{WORKSPACE}{name}", self.key),
        }
    }

    /// Fails unless a request succeeded.
    fn succeeded(&self, reply: Reply) -> Result<Reply, StoreError> {
        if reply.is_success() { Ok(reply) } else { Err(self.container.failure(&reply)) }
    }

    /// The holder in the metadata of a leased blob. Metadata without a valid holder are described instead.
    fn holder(&self, workspace: &str, properties: &Properties) -> LockHolder {
        let described = |problem: &str| LockHolder {
            id: String::new(),
            operation: String::new(),
            info: format!(
                "the blob has a lease, and {problem}. If no run holds it, break the lease with `az storage blob lease break`"
            ),
            who: String::new(),
            version: String::new(),
            created: None,
            path: self.describe(workspace),
        };
        let Some(encoded) = properties.metadata.get(HOLDER).filter(|value| !value.is_empty()) else {
            return described("its metadata do not name the holder");
        };
        let decoded = BASE64.decode(encoded).ok().and_then(|bytes| LockHolder::from_json(&bytes));
        decoded.unwrap_or_else(|| described(&format!("the value of its metadata \"{HOLDER}\" is not a lock")))
    }

    fn held(&self, workspace: &str) -> LockRefusal {
        match self.properties(workspace) {
            Err(error) => LockRefusal::Store(error),
            Ok(None) => LockRefusal::Held { holder: None, pid: None },
            Ok(Some(properties)) => {
                LockRefusal::Held { holder: Some(Box::new(self.holder(workspace, &properties))), pid: None }
            }
        }
    }

    /// Writes the holder to the metadata of a blob, or removes it from there.
    fn set_holder(&self, workspace: &str, lease: &str, holder: Option<&LockHolder>) -> Result<(), StoreError> {
        let missing = || StoreError::lasting(format!("the blob {} no longer exists", self.describe(workspace)));
        let mut properties = self.properties(workspace)?.ok_or_else(missing)?;
        properties.metadata.remove(HOLDER);
        if let Some(holder) = holder {
            properties.metadata.insert(HOLDER.to_owned(), BASE64.encode(holder.to_json()));
        }
        let blob = self.blob(workspace);
        let call = Call::new(Method::PUT, &blob, &[("comp", "metadata")]).using_content().with("x-ms-lease-id", lease);
        let reply = self.container.send(properties.described(call))?;
        self.succeeded(reply).map(drop)
    }

    fn release(&self, workspace: &str, lease: &str) -> Result<Reply, StoreError> {
        let blob = self.blob(workspace);
        let call = Call::new(Method::PUT, &blob, &[("comp", "lease")]);
        self.container.send(call.with("x-ms-lease-action", "release").with("x-ms-lease-id", lease))
    }

    /// Takes a lease without end. None if the blob does not exist.
    fn acquire(&self, workspace: &str, id: &str) -> Result<Option<()>, LockRefusal> {
        let blob = self.blob(workspace);
        let call = Call::new(Method::PUT, &blob, &[("comp", "lease")])
            .with("x-ms-lease-action", "acquire")
            .with("x-ms-lease-duration", "-1")
            .with("x-ms-proposed-lease-id", id);
        let reply = self.container.send(call).map_err(LockRefusal::Store)?;
        match reply.code.as_str() {
            _ if reply.is_success() => Ok(Some(())),
            _ if reply.is_absent() => Ok(None),
            "LeaseAlreadyPresent" | "LeaseIsBreakingAndCannotBeAcquired" => Err(self.held(workspace)),
            _ => Err(LockRefusal::Store(self.container.failure(&reply))),
        }
    }

    fn conflict(&self, workspace: &str) -> StoreError {
        let reason = format!("the blob {} has changed since it was read", self.describe(workspace));
        StoreError::new(StoreErrorKind::Conflict, reason)
    }
}

/// With the condition of a write, and the lease that the caller holds.
fn conditional<'c>(call: Call<'c>, (name, value): &(&str, String), lock: Option<&LockId>) -> Call<'c> {
    let call = call.using_content().with(name, value.as_str());
    match lock {
        Some(lock) => call.with("x-ms-lease-id", lock.0.as_str()),
        None => call,
    }
}

impl Store for AzureBlobs {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        let prefix = format!("{}{WORKSPACE}", self.key);
        let mut names = self.list(&prefix)?;
        // Quirk: names with slashes are skipped, as in OpenTofu.
        names.retain(|name| !name.is_empty() && !name.contains('/'));
        if self.properties(DEFAULT_WORKSPACE)?.is_some_and(|properties| properties.length > 0) {
            names.push(DEFAULT_WORKSPACE.to_owned());
        }
        Ok(names)
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        let blob = self.blob(workspace);
        let reply = self.container.send(Call::new(Method::GET, &blob, &[]).using_content())?;
        if reply.is_absent() {
            return Ok(None);
        }
        let reply = self.succeeded(reply)?;
        let version = blobs::version(&reply.response);
        let content = reply.response.body;
        // Locking creates such a blob.
        Ok((!content.is_empty()).then_some(Stored { content, version }))
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let blob = self.blob(workspace);
        let properties = self.properties(workspace)?;
        let condition = match (write.precondition, &properties) {
            (Precondition::Absent, None) => ("if-none-match", "*".to_owned()),
            (Precondition::Absent, Some(present)) if present.length == 0 => ("if-match", present.etag.clone()),
            // The version is that of the content. Locking changes the ETag, too.
            (Precondition::Version(known), Some(present)) if *known == present.version => {
                ("if-match", present.etag.clone())
            }
            _ => return Err(self.conflict(workspace)),
        };
        if self.snapshots == Snapshots::Created && properties.is_some() {
            let call = conditional(Call::new(Method::PUT, &blob, &[("comp", "snapshot")]), &condition, write.lock);
            self.container.send(call).and_then(|reply| self.succeeded(reply))?;
        }
        let mut call = conditional(Call::new(Method::PUT, &blob, &[]), &condition, write.lock);
        if let Some(properties) = &properties {
            call = properties.described(call);
        }
        let reply = self.container.send(blobs::block_blob(call, write.content))?;
        match reply.code.as_str() {
            // The precondition names a blob that is gone.
            _ if reply.is_absent() => Err(self.conflict(workspace)),
            _ => self.succeeded(reply).map(|reply| blobs::version(&reply.response)),
        }
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        let blob = self.blob(workspace);
        let reply =
            self.container.send(Call::new(Method::DELETE, &blob, &[]).with("x-ms-delete-snapshots", "include"))?;
        match reply.is_absent() {
            true => Ok(()),
            false => self.succeeded(reply).map(drop),
        }
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        if self.acquire(workspace, &holder.id)?.is_none() {
            self.create(workspace).map_err(LockRefusal::Store)?;
            self.acquire(workspace, &holder.id)?.ok_or_else(|| {
                let reason = format!("the blob {} was deleted while it was being locked", self.describe(workspace));
                LockRefusal::Store(StoreError::transient(reason))
            })?;
        }
        if let Err(error) = self.set_holder(workspace, &holder.id, Some(holder)) {
            // The next attempt takes the lease again.
            let _ = self.release(workspace, &holder.id);
            return Err(LockRefusal::Store(error));
        }
        Ok(Some(LockId(holder.id.clone())))
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let properties = match self.properties(workspace).map_err(UnlockRefusal::Failed)? {
            Some(properties) if properties.lease == Lease::Locked => properties,
            _ => return Err(UnlockRefusal::NotLocked),
        };
        let holder = self.holder(workspace, &properties);
        if !holder.id.is_empty() && holder.id != id.0 {
            return Err(UnlockRefusal::OtherLock(Some(Box::new(holder))));
        }
        let other = || UnlockRefusal::OtherLock(Some(Box::new(holder.clone())));
        // With a lease that is not this one nothing is written.
        self.set_holder(workspace, &id.0, None).map_err(|error| match error.kind {
            StoreErrorKind::LockLost => other(),
            _ => UnlockRefusal::Failed(error),
        })?;
        let reply = self.release(workspace, &id.0).map_err(UnlockRefusal::Failed)?;
        match reply.code.as_str() {
            _ if reply.is_success() => Ok(()),
            _ if reply.is_absent() => Err(UnlockRefusal::NotLocked),
            "LeaseIdMismatchWithLeaseOperation" => Err(other()),
            "LeaseNotPresentWithLeaseOperation" => Err(UnlockRefusal::NotLocked),
            _ => Err(UnlockRefusal::Failed(self.container.failure(&reply))),
        }
    }

    fn check_lock(&self, workspace: &str, id: &LockId) -> Result<LockCheck, StoreError> {
        let blob = self.blob(workspace);
        // The service responds with success only if this is the lease of the blob.
        let reply =
            self.container.send(Call::new(Method::HEAD, &blob, &[]).using_content().with("x-ms-lease-id", &id.0))?;
        if reply.is_success() && Properties::of(&reply.response).lease == Lease::Locked {
            return Ok(LockCheck::Held);
        }
        match reply.code.as_str() {
            _ if reply.is_absent() => Ok(LockCheck::Lost("the blob was deleted".to_owned())),
            "LeaseIdMismatchWithBlobOperation" => {
                Ok(LockCheck::Lost("another process has the lease of the blob".to_owned()))
            }
            "LeaseLost" | "LeaseNotPresentWithBlobOperation" => {
                Ok(LockCheck::Lost("the lease of the blob was broken".to_owned()))
            }
            _ if reply.is_success() => Ok(LockCheck::Lost("the lease of the blob was broken".to_owned())),
            _ => Err(self.container.failure(&reply)),
        }
    }

    fn describe(&self, workspace: &str) -> String {
        self.container.blob_url(&self.blob(workspace)).into()
    }

    /// Quirk: the default workspace begins with an empty state, too, as in OpenTofu.
    fn beginning(&self, _workspace: &str) -> Beginning {
        Beginning::EmptyState
    }
}
