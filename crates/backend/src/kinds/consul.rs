//! `backend "consul"`: states in the key/value store of Consul, locked by sessions.
//!
//! Writes are transactions. They compare the index of the key and, while the run holds a lock, that its session still holds it.

mod api;
mod arguments;
mod layout;
mod locks;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use yuba_syntax::Diagnostics;

use crate::kit::BackendEnvironment;
use crate::kit::arguments::Arguments;
use crate::kit::store::{
    LockCheck, LockId, Precondition, Store, StoreError, StoreErrorKind, StoreVersion, Stored, UnlockRefusal, Write,
};
use crate::lock::{LockHolder, LockRefusal};
use crate::workspace::DEFAULT_WORKSPACE;
use api::{Api, Committed, Entry, Operation};
use layout::{CHUNK, Chunks, Compression};
use locks::Locks;

pub(super) use arguments::{check, schema};

/// Stands between the path and the name of a workspace.
const WORKSPACE: &str = "-env:";
/// Attempts to read a state whose chunks are replaced meanwhile.
const READ_ATTEMPTS: usize = 3;

pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn Store>, Diagnostics> {
    Ok(Arc::new(arguments::store(arguments, environment)?))
}

/// States below one path.
#[derive(Debug)]
struct ConsulStore {
    api: Arc<Api>,
    path: String,
    compression: Compression,
    /// None if the configuration turns locks off.
    locks: Option<Locks>,
}

impl ConsulStore {
    /// The key of the state of a workspace.
    fn key(&self, workspace: &str) -> String {
        match workspace {
            "" | DEFAULT_WORKSPACE => self.path.clone(),
            name => format!("{}{WORKSPACE}{name}", self.path),
        }
    }

    /// The chunks that an entry refers to; none if the entry is the state itself.
    fn chunks_of(&self, key: &str, entry: &Entry) -> Result<Option<Chunks>, StoreError> {
        Chunks::parse(&entry.value).map_err(|reason| StoreError::lasting(format!("{}: {reason}", self.api.shown(key))))
    }

    /// The chunks of a state, one after the other. None if one is missing.
    fn joined(&self, chunks: &Chunks) -> Result<Result<Vec<u8>, String>, StoreError> {
        let mut payload = Vec::new();
        for key in &chunks.keys {
            match self.api.get(key)? {
                Some(entry) => payload.extend_from_slice(&entry.value),
                None => return Ok(Err(key.clone())),
            }
            layout::check_size(payload.len())
                .map_err(|reason| StoreError::lasting(format!("{}: {reason}", self.api.shown(key))))?;
        }
        Ok(Ok(payload))
    }

    /// The content of an entry with its chunks. None if a chunk is missing because another process has replaced the state.
    fn content(&self, key: &str, entry: &Entry) -> Result<Option<Vec<u8>>, StoreError> {
        let chunks = self.chunks_of(key, entry)?;
        let payload = match &chunks {
            None => entry.value.clone(),
            Some(chunks) => match self.joined(chunks)? {
                Ok(payload) => payload,
                Err(missing) => {
                    let is_replaced = self.api.get(key)?.is_none_or(|now| now.modify_index != entry.modify_index);
                    return match is_replaced {
                        true => Ok(None),
                        false => {
                            let (state, missing) = (self.api.shown(key), self.api.shown(&missing));
                            let count = chunks.keys.len();
                            Err(StoreError::lasting(format!(
                                "the state {state} consists of {count} chunks, and the chunk {missing} does not exist. The state is \
                                 incomplete. Restore it from a backup with `yuba state push`"
                            )))
                        }
                    };
                }
            },
        };
        let damaged =
            |reason: String| StoreError::lasting(format!("the state {} is damaged: {reason}", self.api.shown(key)));
        let content = layout::expanded(payload).map_err(damaged)?;
        match chunks.filter(|chunks| chunks.hash != layout::md5_hex(&content)) {
            None => Ok(Some(content)),
            Some(chunks) => {
                let hash = chunks.hash;
                Err(damaged(format!("its chunks do not have the MD5 sum {hash} that the key records")))
            }
        }
    }

    /// Stores a value under the key of a state.
    fn commit(&self, key: &str, value: &[u8], write: &Write<'_>) -> Result<Committed, StoreError> {
        let index = match write.precondition {
            Precondition::Absent => 0,
            Precondition::Version(version) => version.0.parse().map_err(|_| changed())?,
        };
        let mut operations = Vec::new();
        if let Some(session) = write.lock.filter(|_| self.locks.is_some()) {
            operations.push(Operation::check_session(&locks::lock_key(key), &session.0));
        }
        operations.push(Operation::compare_and_set(key, value, index));
        self.api.transaction(&operations)
    }

    /// The outcome of a transaction that stores a state.
    fn version(&self, key: &str, committed: Committed, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        match committed {
            Committed::Done(results) => {
                let index = results.iter().find(|entry| entry.key == key).map(|entry| entry.modify_index);
                let index = index.ok_or_else(|| {
                    StoreError::lasting(format!(
                        "the response to the transaction on {} does not contain the key",
                        self.api.shown(key)
                    ))
                })?;
                Ok(StoreVersion(index.to_string()))
            }
            Committed::RolledBack { operation: 0, .. } if write.lock.is_some() && self.locks.is_some() => {
                Err(StoreError::new(StoreErrorKind::LockLost, self.lost(key, write.lock)))
            }
            Committed::RolledBack { .. } => Err(changed()),
            Committed::TooLarge(reason) => Err(StoreError::lasting(reason)),
        }
    }

    /// Reason for the loss of a lock, as reported by the server.
    fn lost(&self, key: &str, lock: Option<&LockId>) -> String {
        let check = self.locks.as_ref().zip(lock).and_then(|(locks, lock)| locks.check(key, lock).ok());
        match check {
            Some(LockCheck::Lost(reason)) => reason,
            _ => format!("the session does not hold the key {}", self.api.shown(&locks::lock_key(key))),
        }
    }

    /// Writes a state that is too large for one key.
    fn write_chunks(&self, key: &str, payload: &[u8], write: &Write<'_>) -> Result<(StoreVersion, Chunks), StoreError> {
        let chunks = Chunks::of(key, payload, &layout::md5_hex(write.content));
        for (name, part) in chunks.keys.iter().zip(payload.chunks(CHUNK)) {
            self.api.put(name, part)?;
        }
        let version = self.commit(key, &chunks.to_json(), write).and_then(|done| self.version(key, done, write));
        match version {
            Ok(version) => Ok((version, chunks)),
            Err(error) => {
                // A request without response may have stored the state, which needs its chunks.
                if matches!(error.kind, StoreErrorKind::Conflict | StoreErrorKind::LockLost) {
                    let present =
                        self.api.get(key).ok().flatten().and_then(|entry| Chunks::parse(&entry.value).ok().flatten());
                    if present.is_none_or(|present| present.hash != chunks.hash) {
                        let _ = self.api.delete_tree(&chunks.directory(key));
                    }
                }
                Err(error)
            }
        }
    }

    /// Removes chunks without a reference. Chunks that stay do no harm, so a failure is not an error.
    fn remove_old(&self, key: &str, old: Option<Chunks>, new: Option<&Chunks>) {
        let Some(old) = old else { return };
        match new.filter(|new| new.hash == old.hash) {
            None => drop(self.api.delete_tree(&old.directory(key))),
            Some(new) => {
                let gone =
                    old.keys.iter().filter(|name| !new.keys.contains(name) && name.starts_with(&old.directory(key)));
                gone.for_each(|name| drop(self.api.delete(name)));
            }
        }
    }
}

fn changed() -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, "the index of the key in Consul is not the one that was read")
}

impl Store for ConsulStore {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        let prefix = format!("{}{WORKSPACE}", self.path);
        let keys = self.api.keys(&prefix)?;
        // A key with a slash belongs to a lock or a chunk of a state.
        let names = keys.iter().filter_map(|key| key.strip_prefix(prefix.as_str())).filter(|name| !name.contains('/'));
        Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        let key = self.key(workspace);
        for _ in 0..READ_ATTEMPTS {
            let Some(entry) = self.api.get(&key)? else { return Ok(None) };
            if let Some(content) = self.content(&key, &entry)? {
                return Ok(Some(Stored { content, version: StoreVersion(entry.modify_index.to_string()) }));
            }
        }
        Err(StoreError::transient(format!(
            "other processes replace the state {} while it is read",
            self.api.shown(&key)
        )))
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let key = self.key(workspace);
        let old = match self.api.get(&key)? {
            Some(entry) => self.chunks_of(&key, &entry)?,
            None => None,
        };
        let payload = self.compression.applied(write.content);
        if payload.len() <= CHUNK {
            match self.commit(&key, &payload, write)? {
                // In a transaction a value takes a third more than its size.
                Committed::TooLarge(_) => {}
                committed => {
                    let version = self.version(&key, committed, write)?;
                    self.remove_old(&key, old, None);
                    return Ok(version);
                }
            }
        }
        let (version, chunks) = self.write_chunks(&key, &payload, write)?;
        self.remove_old(&key, old, Some(&chunks));
        Ok(version)
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        let key = self.key(workspace);
        let Some(entry) = self.api.get(&key)? else { return Ok(()) };
        // A state whose chunks are unknown can be deleted all the same.
        let old = self.chunks_of(&key, &entry).unwrap_or_default();
        self.api.delete(&key)?;
        self.remove_old(&key, old, None);
        Ok(())
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        self.locks.as_ref().map(|locks| locks.lock(&self.key(workspace), holder)).transpose()
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        match &self.locks {
            Some(locks) => locks.unlock(&self.key(workspace), id),
            None => Err(UnlockRefusal::Failed(StoreError::lasting(
                "locking is disabled by the argument \"lock\" of the consul backend",
            ))),
        }
    }

    fn abandon_lock(&self, _: &str, holder: &LockHolder) -> Result<(), UnlockRefusal> {
        self.locks.as_ref().map_or(Err(UnlockRefusal::NotLocked), |locks| locks.abandon(holder))
    }

    fn check_lock(&self, workspace: &str, id: &LockId) -> Result<LockCheck, StoreError> {
        match &self.locks {
            Some(locks) => locks.check(&self.key(workspace), id),
            None => Ok(LockCheck::Unsupported),
        }
    }

    fn describe(&self, workspace: &str) -> String {
        self.api.described(&self.key(workspace))
    }
}
