//! The store: states, workspaces and locks, made of objects and rows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use md5::{Digest as _, Md5};
use yuba_net::aws::{Origin, Service};
use yuba_net::http::{Url, shown};

use super::object::{Condition, Object, Objects, Upload};
use super::table::{Conditional, Table};
use crate::kit::Retries;
use crate::kit::store::{
    LockCheck, LockId, Precondition, Store, StoreError, StoreErrorKind, StoreVersion, Stored, UnlockRefusal, Write,
};
use crate::lock::{LockHolder, LockRefusal};
use crate::workspace::DEFAULT_WORKSPACE;

/// The beginning of versions of objects without ETag.
const BY_CONTENT: &str = "sha256:";
/// Bytes of a lock that is not lock JSON which a message contains.
const EXCERPT: usize = 80;

/// Where objects are and what they have.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) key: String,
    pub(super) prefix: String,
    pub(super) has_lock_objects: bool,
    pub(super) state_tags: BTreeMap<String, String>,
    pub(super) lock_tags: BTreeMap<String, String>,
}

/// How long a state that does not match its digest is read again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consistency {
    pub(super) patience: Duration,
    pub(super) pause: Duration,
}

impl Default for Consistency {
    fn default() -> Consistency {
        Consistency { patience: Duration::from_secs(10), pause: Duration::from_secs(2) }
    }
}

#[derive(Debug)]
pub(super) struct S3Store {
    objects: Objects,
    table: Option<Table>,
    layout: Layout,
    retries: Retries,
    consistency: Consistency,
    /// Whether the server has refused conditions of uploads.
    is_unconditional: AtomicBool,
    /// States whose digests were not written, by workspace.
    unrecorded: Mutex<BTreeMap<String, Unrecorded>>,
}

/// A state that was uploaded, and whose digest was not written to the table.
#[derive(Clone, Debug)]
struct Unrecorded {
    /// The version before, which the caller still knows as the current one.
    before: Option<StoreVersion>,
    version: StoreVersion,
    digest: String,
}

impl S3Store {
    pub(super) fn new(
        objects: Objects,
        table: Option<Table>,
        layout: Layout,
        retries: Retries,
        consistency: Consistency,
    ) -> S3Store {
        let (is_unconditional, unrecorded) = (AtomicBool::new(false), Mutex::default());
        S3Store { objects, table, layout, retries, consistency, is_unconditional, unrecorded }
    }

    fn unrecorded(&self) -> MutexGuard<'_, BTreeMap<String, Unrecorded>> {
        self.unrecorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the digest that a write before could not write, while this process has the lock. Without the digest no other process can
    /// read the state.
    fn record_pending(&self, workspace: &str, id: &LockId) {
        let pending = self.unrecorded().get(workspace).cloned();
        let Some((table, pending)) = self.table.as_ref().zip(pending) else { return };
        if self.check_lock(workspace, id) != Ok(LockCheck::Held) {
            return;
        }
        match table.put_digest(&self.row(workspace), &pending.digest) {
            Ok(()) => drop(self.unrecorded().remove(workspace)),
            Err(error) => tracing::warn!(reason = %error, "the digest of the state was not written before the unlock"),
        }
    }

    /// The key of the state of a workspace.
    fn path(&self, workspace: &str) -> String {
        match workspace {
            DEFAULT_WORKSPACE => self.layout.key.clone(),
            name => joined([self.layout.prefix.as_str(), name, self.layout.key.as_str()]),
        }
    }

    /// The row of the lock of a workspace, which also is the path in the lock.
    fn row(&self, workspace: &str) -> String {
        format!("{}/{}", self.objects.bucket.name, self.path(workspace))
    }

    fn lock_key(&self, workspace: &str) -> String {
        format!("{}.tflock", self.path(workspace))
    }

    /// The workspace whose state has this key; none if it is another object.
    fn workspace_of<'a>(&self, key: &'a str) -> Option<&'a str> {
        let rest = match self.layout.prefix.as_str() {
            "" => key,
            prefix => key.strip_prefix(prefix)?.strip_prefix('/')?,
        };
        let (workspace, rest) = rest.split_once('/')?;
        (rest == self.layout.key && !workspace.is_empty()).then_some(workspace)
    }

    /// Compares a content with the digest in the table. Returns the digest of the table if they differ.
    fn mismatch(&self, workspace: &str, content: &[u8]) -> Option<String> {
        let table = self.table.as_ref()?;
        match table.digest(&self.row(workspace)) {
            Ok(expected) => expected.filter(|expected| content.is_empty() || *expected != md5(content)),
            Err(error) => {
                tracing::warn!(reason = %error, "the digest of the state was not read");
                None
            }
        }
    }

    fn mismatched(&self, workspace: &str, content: &[u8], expected: &str) -> StoreError {
        let present = if content.is_empty() { "missing".to_owned() } else { md5(content) };
        let table = self.table.as_ref().map(|table| table.name.as_str()).unwrap_or_default();
        let row = self.row(workspace);
        StoreError::lasting(format!(
            "the MD5 of the state is {present}, and the digest in the DynamoDB table \"{table}\" is {expected}. Another process \
             replaced the object, or a run ended before it wrote the digest. If a run in this working directory was interrupted, run a \
             command that locks the state, such as `yuba plan`: it completes the write. Otherwise check the object, then set Digest in \
             the row \"{row}-md5\" to {present} or delete the row"
        ))
    }

    /// Fails if the stored object is not the one that a write expects, for servers without conditions.
    fn compare(&self, key: &str, precondition: Precondition<'_>) -> Result<(), StoreError> {
        let present = match precondition {
            Precondition::Version(version) if version.0.starts_with(BY_CONTENT) => {
                self.objects.get(key)?.map(|object| version_of(&object))
            }
            _ => self.objects.head(key)?.map(|etag| StoreVersion(etag.unwrap_or_default())),
        };
        match precondition.holds(present.as_ref()) {
            true => Ok(()),
            false => Err(conflict(key)),
        }
    }

    fn upload(&self, key: &str, write: &Write<'_>) -> Result<Option<String>, StoreError> {
        let condition = match write.precondition {
            _ if self.is_unconditional.load(Ordering::Relaxed) => Condition::None,
            Precondition::Absent => Condition::Absent,
            Precondition::Version(version) if version.0.starts_with(BY_CONTENT) => Condition::None,
            Precondition::Version(version) => Condition::Etag(&version.0),
        };
        if condition == Condition::None {
            self.compare(key, write.precondition)?;
        }
        match self.objects.put(key, write.content, &self.layout.state_tags, condition)? {
            Upload::Done(etag) => Ok(etag),
            // The response to an attempt before may have been lost.
            Upload::Refused => match self.objects.get(key)?.filter(|object| object.content == write.content) {
                Some(object) => Ok(object.etag),
                None => Err(conflict(key)),
            },
            Upload::Unconditional(_) => {
                self.is_unconditional.store(true, Ordering::Relaxed);
                self.upload(key, write)
            }
        }
    }

    /// Writes the digest of a state that is written already, so failures that may pass are repeated here.
    fn record_digest(&self, table: &Table, workspace: &str, write: &Write<'_>) -> Result<(), StoreError> {
        let mut failed = 0;
        let error = loop {
            let Err(error) = table.put_digest(&self.row(workspace), &md5(write.content)) else { return Ok(()) };
            failed += 1;
            if error.kind != StoreErrorKind::Transient || failed >= self.retries.attempts {
                break error;
            }
            std::thread::sleep(self.retries.pause_after(failed, error.retry_after));
        };
        match write.lock {
            // Quirk: without a lock the table is optional.
            None => {
                tracing::warn!(reason = %error, "the digest of the state was not written");
                Ok(())
            }
            Some(_) => Err(StoreError::lasting(format!(
                "the object was written, but its digest in the DynamoDB table \"{}\" was not: {error}",
                table.name
            ))),
        }
    }

    fn lock_object(&self, workspace: &str, holder: &LockHolder, info: &str) -> Result<(), LockRefusal> {
        let key = self.lock_key(workspace);
        let put = self.objects.put(&key, info.as_bytes(), &self.layout.lock_tags, Condition::Absent);
        match put.map_err(LockRefusal::Store)? {
            Upload::Done(_) => Ok(()),
            Upload::Unconditional(error) => Err(LockRefusal::Store(StoreError::lasting(format!(
                "{error}; use_lockfile requires a server with conditional writes (If-None-Match), so use dynamodb_table"
            )))),
            Upload::Refused => match self.objects.get(&key).map_err(LockRefusal::Store)? {
                Some(object) => self.held(holder, &object.content, &self.object_location(&key)),
                None => Err(LockRefusal::Store(StoreError::transient(
                    "the lock was released while this command tried to take it",
                ))),
            },
        }
    }

    fn lock_row(&self, table: &Table, workspace: &str, holder: &LockHolder, info: &str) -> Result<(), LockRefusal> {
        let row = self.row(workspace);
        match table.put_lock(&row, info).map_err(LockRefusal::Store)? {
            Conditional::Done => Ok(()),
            Conditional::Refused => match table.lock(&row).map_err(LockRefusal::Store)? {
                Some(present) => self.held(holder, present.as_bytes(), &row_location(table, &row)),
                None => Err(LockRefusal::Store(StoreError::transient(
                    "the lock was released while this command tried to take it",
                ))),
            },
        }
    }

    /// An existing lock: ours if the response to an earlier attempt was lost.
    fn held(&self, holder: &LockHolder, content: &[u8], location: &str) -> Result<(), LockRefusal> {
        let present = read_holder(content, location);
        match present.id == holder.id {
            true => Ok(()),
            false => Err(LockRefusal::Held { holder: Some(Box::new(present)), pid: None }),
        }
    }

    fn unlock_object(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let key = self.lock_key(workspace);
        let present = self.objects.get(&key).map_err(UnlockRefusal::Failed)?.ok_or(UnlockRefusal::NotLocked)?;
        let present = read_holder(&present.content, &self.object_location(&key));
        if present.id != id.0 {
            return Err(UnlockRefusal::OtherLock(Some(Box::new(present))));
        }
        self.objects.delete(&key).map_err(UnlockRefusal::Failed)
    }

    fn unlock_row(&self, table: &Table, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let row = self.row(workspace);
        let info = table.lock(&row).map_err(UnlockRefusal::Failed)?.ok_or(UnlockRefusal::NotLocked)?;
        let present = read_holder(info.as_bytes(), &row_location(table, &row));
        if present.id != id.0 {
            return Err(UnlockRefusal::OtherLock(Some(Box::new(present))));
        }
        match table.delete_lock(&row, &info).map_err(UnlockRefusal::Failed)? {
            Conditional::Done => Ok(()),
            Conditional::Refused => Err(UnlockRefusal::OtherLock(None)),
        }
    }

    fn object_location(&self, key: &str) -> String {
        let at = self.objects.aws.endpoint(Service::S3);
        let bucket = &self.objects.bucket.name;
        match at.origin {
            Origin::Default => format!("s3://{bucket}/{key}"),
            Origin::Custom => format!("s3://{bucket}/{key} at {}", without_user(&at.url)),
        }
    }
}

impl Store for S3Store {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        let prefix = match self.layout.prefix.as_str() {
            "" => String::new(),
            prefix => format!("{prefix}/"),
        };
        // Quirk: where listing is denied there is the default workspace only.
        let keys = self.objects.list(&prefix)?.unwrap_or_default();
        Ok(keys.iter().filter_map(|key| self.workspace_of(key)).map(str::to_owned).collect())
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        self.read_interrupted(workspace, &|_| false)
    }

    fn read_interrupted(
        &self,
        workspace: &str,
        is_of_run: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Stored>, StoreError> {
        let key = self.path(workspace);
        let since = Instant::now();
        loop {
            let object = self.objects.get(&key)?;
            let content = object.as_ref().map(|object| object.content.as_slice()).unwrap_or_default();
            let mismatch = self.mismatch(workspace, content);
            if let (Some(_), Some(table), true) = (&mismatch, &self.table, is_of_run(content)) {
                // The run ended between the two writes.
                table.put_digest(&self.row(workspace), &md5(content))?;
                tracing::info!("the digest of an interrupted run was written");
            } else if let Some(expected) = mismatch {
                if since.elapsed() >= self.consistency.patience {
                    return Err(self.mismatched(workspace, content, &expected));
                }
                std::thread::sleep(self.consistency.pause);
                continue;
            }
            return Ok(object.map(|object| Stored { version: version_of(&object), content: object.content }));
        }
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        let key = self.path(workspace);
        let before = match write.precondition {
            Precondition::Absent => None,
            Precondition::Version(version) => Some(version.clone()),
        };
        // The object is the one of the last write, of which the caller knows that it has failed.
        let ours = self.unrecorded().get(workspace).filter(|known| known.before == before).cloned();
        let precondition = ours.as_ref().map_or(write.precondition, |ours| Precondition::Version(&ours.version));
        let etag = self.upload(&key, &Write { precondition, ..*write })?;
        let version = etag.map_or_else(|| by_content(write.content), StoreVersion);
        if let Some(table) = &self.table {
            self.unrecorded().remove(workspace);
            if let Err(error) = self.record_digest(table, workspace, write) {
                let unrecorded = Unrecorded { before, version, digest: md5(write.content) };
                self.unrecorded().insert(workspace.to_owned(), unrecorded);
                return Err(error);
            }
        }
        Ok(version)
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        self.objects.delete(&self.path(workspace))?;
        let Some(table) = &self.table else { return Ok(()) };
        match table.delete_digest(&self.row(workspace)) {
            Err(error) if error.kind != StoreErrorKind::Transient => {
                tracing::warn!(reason = %error, "the digest of the deleted state was not deleted");
                Ok(())
            }
            deleted => deleted,
        }
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        if !self.layout.has_lock_objects && self.table.is_none() {
            return Ok(None);
        }
        let info = LockHolder { path: self.row(workspace), ..holder.clone() }.to_json();
        if self.layout.has_lock_objects {
            self.lock_object(workspace, holder, &info)?;
        }
        if let Some(table) = &self.table
            && let Err(refusal) = self.lock_row(table, workspace, holder, &info)
        {
            // If no further attempt follows, the lock object would stay without a process that releases it.
            if self.layout.has_lock_objects {
                self.release_after_refusal(workspace, &holder.id);
            }
            return Err(refusal);
        }
        Ok(Some(LockId(holder.id.clone())))
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        self.record_pending(workspace, id);
        let object = self.layout.has_lock_objects.then(|| self.unlock_object(workspace, id));
        let row = self.table.as_ref().map(|table| self.unlock_row(table, workspace, id));
        match (object, row) {
            (Some(Err(UnlockRefusal::Failed(error))), _) | (_, Some(Err(UnlockRefusal::Failed(error)))) => {
                Err(UnlockRefusal::Failed(error))
            }
            (Some(Err(UnlockRefusal::OtherLock(holder))), _) | (_, Some(Err(UnlockRefusal::OtherLock(holder)))) => {
                Err(UnlockRefusal::OtherLock(holder))
            }
            // One of the two may have been released before.
            (Some(Ok(())), _) | (_, Some(Ok(()))) => Ok(()),
            _ => Err(UnlockRefusal::NotLocked),
        }
    }

    fn check_lock(&self, workspace: &str, id: &LockId) -> Result<LockCheck, StoreError> {
        if self.layout.has_lock_objects {
            let key = self.lock_key(workspace);
            let content = self.objects.get(&key)?.map(|object| object.content);
            let check = compared(content.as_deref(), id, &self.object_location(&key));
            if check != LockCheck::Held {
                return Ok(check);
            }
        }
        match &self.table {
            Some(table) => {
                let row = self.row(workspace);
                let info = table.lock(&row)?;
                Ok(compared(info.as_deref().map(str::as_bytes), id, &row_location(table, &row)))
            }
            None if self.layout.has_lock_objects => Ok(LockCheck::Held),
            None => Ok(LockCheck::Unsupported),
        }
    }

    fn retries(&self) -> Option<Retries> {
        Some(self.retries)
    }

    fn describe(&self, workspace: &str) -> String {
        self.object_location(&self.path(workspace))
    }
}

impl S3Store {
    fn release_after_refusal(&self, workspace: &str, id: &str) {
        if let Err(refusal) = self.unlock_object(workspace, &LockId(id.to_owned())) {
            tracing::warn!(?refusal, "the lock object was not released after the table refused the lock");
        }
    }
}

fn compared(content: Option<&[u8]>, id: &LockId, location: &str) -> LockCheck {
    match content.map(|content| read_holder(content, location)) {
        None => LockCheck::Lost(format!("the lock {location} was removed")),
        Some(present) if present.id == id.0 => LockCheck::Held,
        Some(present) => LockCheck::Lost(format!("the lock {location} belongs to {} ({})", present.who, present.id)),
    }
}

/// The holder that a lock names. A lock without lock JSON has a holder without name, which describes the content.
fn read_holder(content: &[u8], location: &str) -> LockHolder {
    LockHolder::from_json(content).unwrap_or_else(|| {
        let mut excerpt: String = String::from_utf8_lossy(content).split_whitespace().collect::<Vec<_>>().join(" ");
        excerpt.retain(|character| !character.is_control());
        if let Some((end, _)) = excerpt.char_indices().nth(EXCERPT) {
            excerpt.truncate(end);
            excerpt.push_str("...");
        }
        let info = format!("{location} has {} bytes that are not lock JSON: {excerpt}", content.len());
        let (id, operation, who, version, path) = Default::default();
        LockHolder { id, operation, info, who, version, created: None, path }
    })
}

/// An endpoint without user and password.
fn without_user(endpoint: &str) -> Cow<'_, str> {
    let url = Url::parse(endpoint).ok().filter(|url| !url.username().is_empty() || url.password().is_some());
    url.map_or(Cow::Borrowed(endpoint), |url| Cow::Owned(shown(&url).trim_end_matches('/').to_owned()))
}

fn row_location(table: &Table, row: &str) -> String {
    format!("\"{row}\" in the DynamoDB table \"{}\"", table.name)
}

fn conflict(key: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Conflict, format!("the object {key} has changed since this command read it"))
}

fn version_of(object: &Object) -> StoreVersion {
    object.etag.clone().map_or_else(|| by_content(&object.content), StoreVersion)
}

fn by_content(content: &[u8]) -> StoreVersion {
    StoreVersion(format!("{BY_CONTENT}{}", StoreVersion::of(content).0))
}

/// The MD5 of a content in hexadecimal digits.
fn md5(content: &[u8]) -> String {
    Md5::digest(content).iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Parts of a path as one path, without empty parts, `.` and `..`.
fn joined(parts: [&str; 3]) -> String {
    let mut path: Vec<&str> = Vec::new();
    for part in parts.iter().flat_map(|part| part.split('/')) {
        match part {
            "" | "." => {}
            ".." if path.last().is_some_and(|last| *last != "..") => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path.join("/")
}
