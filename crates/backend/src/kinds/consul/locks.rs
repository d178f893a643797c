//! Locks of the consul backend: a session holds the key `PATH/.lock`, and `PATH/.lockinfo` says who that is.
//!
//! A thread renews the session while this process holds the lock. A process that dies leaves a session that expires.

use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::api::{Api, Committed, Entry, Operation, SessionState};
use crate::kit::store::{LockCheck, LockId, StoreError, UnlockRefusal};
use crate::lock::{LockHolder, LockRefusal};
use crate::timestamp::UtcTime;

/// Marks a key as a lock, for all clients of Consul.
const LOCK_FLAGS: u64 = 0x2ddc_cbc0_58a5_0c18;
/// A session that is not renewed for this time expires.
const TTL: Duration = Duration::from_secs(15);
/// Time in which Consul gives the lock to no process after a session has ended that held it.
const LOCK_DELAY: Duration = Duration::from_secs(5);
/// Pause after a failed renewal.
const RENEW_AGAIN: Duration = Duration::from_secs(1);

/// The locks that this process holds.
#[derive(Debug)]
pub(super) struct Locks {
    api: Arc<Api>,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// Threads that renew sessions, by session. Dropping the sender ends the thread.
    renewals: BTreeMap<String, Sender<()>>,
    /// The session of an attempt whose response was lost, by the id of the holder: the next attempt continues with it.
    pending: Option<(String, String)>,
}

/// The key that a session holds.
pub(super) fn lock_key(state: &str) -> String {
    format!("{}/.lock", state.trim_end_matches('/'))
}

fn info_key(state: &str) -> String {
    format!("{}/.lockinfo", state.trim_end_matches('/'))
}

/// The entries of a lock on the server.
struct Present {
    lock: Option<Entry>,
    info: Option<Entry>,
}

impl Present {
    fn session(&self) -> Option<&str> {
        self.lock.as_ref()?.session.as_deref()
    }

    /// The holder. A description that cannot be read is quoted in the lock of an unknown process.
    fn holder(&self) -> LockHolder {
        let described = self.info.as_ref().and_then(|info| LockHolder::from_json(&info.value));
        let session = self.session().unwrap_or_default();
        match described.filter(|holder| !holder.id.is_empty()) {
            Some(holder) => {
                LockHolder { id: if session.is_empty() { holder.id } else { session.to_owned() }, ..holder }
            }
            None => {
                let described = self
                    .info
                    .as_ref()
                    .map(|info| String::from_utf8_lossy(&info.value).chars().take(200).collect::<String>());
                let described =
                    described.map_or_else(|| "no description".to_owned(), |text| format!("the description {text:?}"));
                LockHolder {
                    id: session.to_owned(),
                    operation: String::new(),
                    info: format!("consul session: {session}, with {described}"),
                    who: String::new(),
                    version: String::new(),
                    created: None,
                    path: String::new(),
                }
            }
        }
    }
}

impl Locks {
    pub(super) fn new(api: Arc<Api>) -> Locks {
        Locks { api, memory: Mutex::default() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn present(&self, state: &str) -> Result<Present, StoreError> {
        let (lock, info) = (lock_key(state), info_key(state));
        let entries = self.api.get_tree(&lock)?;
        let find = |key: &str| entries.iter().find(|entry| entry.key == key).cloned();
        Ok(Present { lock: find(&lock), info: find(&info) })
    }

    /// Takes the lock, without waiting. Returns the id of the session.
    pub(super) fn lock(&self, state: &str, holder: &LockHolder) -> Result<LockId, LockRefusal> {
        let pending = self.memory().pending.take().filter(|(id, _)| *id == holder.id).map(|(_, session)| session);
        let present = self.present(state);
        let keep = |session: &String| self.memory().pending = Some((holder.id.clone(), session.clone()));
        let present = present.map_err(|error| {
            pending.iter().for_each(keep);
            LockRefusal::Store(error)
        })?;
        if present.lock.as_ref().is_some_and(|lock| lock.flags != LOCK_FLAGS) {
            let key = self.api.shown(&lock_key(state));
            let reason =
                format!("the key {key} exists and is not a lock. Remove it, or store the state under another path");
            return Err(LockRefusal::Store(StoreError::lasting(reason)));
        }
        if present.session().is_some() && present.session() != pending.as_deref() {
            return Err(LockRefusal::Held { holder: Some(Box::new(present.holder())), pid: None });
        }
        let session = match pending {
            Some(session) => session,
            None => self.new_session().map_err(LockRefusal::Store)?,
        };
        match self.take(state, holder, &session) {
            Ok(()) => {
                self.renew(&session);
                Ok(LockId(session))
            }
            Err(refusal) => {
                match &refusal {
                    // The lock may be taken: the next attempt finds out.
                    LockRefusal::Store(error) if refusal.may_pass() && error.retry_after.is_none() => keep(&session),
                    _ => drop(self.api.destroy_session(&session)),
                }
                Err(refusal)
            }
        }
    }

    /// Ends the session of an attempt whose response was lost. Consul releases the key that it may hold.
    pub(super) fn abandon(&self, holder: &LockHolder) -> Result<(), UnlockRefusal> {
        match self.memory().pending.clone().filter(|(id, _)| *id == holder.id) {
            Some((_, session)) => {
                self.api.destroy_session(&session).map_err(UnlockRefusal::Failed)?;
                self.memory().pending = None;
                Ok(())
            }
            None => Err(UnlockRefusal::NotLocked),
        }
    }

    fn new_session(&self) -> Result<String, StoreError> {
        let (ttl, delay) = (format!("{}s", TTL.as_secs()), format!("{}ms", LOCK_DELAY.as_millis()));
        self.api.create_session(&json!({ "Name": "Consul API Lock", "TTL": ttl, "LockDelay": delay }))
    }

    /// Takes the key of the lock and writes who holds it, in one transaction.
    fn take(&self, state: &str, holder: &LockHolder, session: &str) -> Result<(), LockRefusal> {
        // Quirk: id, info and path are those of OpenTofu, which shows them to users.
        let ours = LockHolder {
            id: session.to_owned(),
            info: format!("consul session: {session}"),
            created: Some(UtcTime::now()),
            path: state.to_owned(),
            ..holder.clone()
        };
        let operations = [
            Operation::lock(&lock_key(state), session, LOCK_FLAGS),
            Operation::set(&info_key(state), ours.to_json().as_bytes()),
        ];
        match self.api.transaction(&operations).map_err(LockRefusal::Store)? {
            Committed::Done(_) => Ok(()),
            Committed::TooLarge(reason) => Err(LockRefusal::Store(StoreError::lasting(reason))),
            Committed::RolledBack { reason, .. } => {
                let present = self.present(state).map_err(LockRefusal::Store)?;
                match present.session() {
                    Some(_) => Err(LockRefusal::Held { holder: Some(Box::new(present.holder())), pid: None }),
                    None => {
                        let seconds = LOCK_DELAY.as_secs();
                        let mut error = StoreError::transient(format!(
                            "Consul refuses the lock for {seconds} seconds after a session that held it was ended ({reason}). Try again"
                        ));
                        error.retry_after = Some(RENEW_AGAIN);
                        Err(LockRefusal::Store(error))
                    }
                }
            }
        }
    }

    /// Starts the thread that renews a session.
    fn renew(&self, session: &str) {
        let (end, ended) = channel::<()>();
        let (api, id) = (Arc::clone(&self.api), session.to_owned());
        let renewing = move || {
            let mut pause = TTL / 2;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                pause = match api.renew_session(&id) {
                    Ok(SessionState::Alive) => TTL / 2,
                    Ok(SessionState::Gone) => return,
                    Err(error) => {
                        tracing::debug!(reason = %error, "the session of the lock cannot be renewed");
                        RENEW_AGAIN
                    }
                };
            }
        };
        // Without a thread the session expires, and the watch of the lock notices that.
        if std::thread::Builder::new().name("consul session".to_owned()).spawn(renewing).is_ok() {
            self.memory().renewals.insert(session.to_owned(), end);
        }
    }

    /// Releases a lock of this process, or breaks the lock of another one.
    pub(super) fn unlock(&self, state: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let is_ours = self.memory().renewals.contains_key(&id.0);
        match is_ours {
            true => self.release(state, &id.0),
            false => self.break_lock(state, &id.0),
        }
    }

    fn release(&self, state: &str, session: &str) -> Result<(), UnlockRefusal> {
        let (lock, info) = (lock_key(state), info_key(state));
        let operations = [
            Operation::check_session(&lock, session),
            Operation::delete(&info),
            Operation::unlock(&lock, session, LOCK_FLAGS),
            Operation::delete(&lock),
        ];
        let released = match self.api.transaction(&operations).map_err(UnlockRefusal::Failed)? {
            Committed::Done(_) => Ok(()),
            Committed::TooLarge(reason) => Err(UnlockRefusal::Failed(StoreError::lasting(reason))),
            Committed::RolledBack { .. } => match self.present(state).map_err(UnlockRefusal::Failed)? {
                present if present.session().is_some() => {
                    Err(UnlockRefusal::OtherLock(Some(Box::new(present.holder()))))
                }
                _ => Err(UnlockRefusal::NotLocked),
            },
        };
        // The session holds no lock now. One that stays expires.
        self.memory().renewals.remove(session);
        let _ = self.api.destroy_session(session);
        released
    }

    fn break_lock(&self, state: &str, id: &str) -> Result<(), UnlockRefusal> {
        let present = self.present(state).map_err(UnlockRefusal::Failed)?;
        let described = present.info.as_ref().and_then(|info| LockHolder::from_json(&info.value));
        match present.session() {
            Some(session) if session == id => self.api.destroy_session(id).map_err(UnlockRefusal::Failed)?,
            Some(_) => return Err(UnlockRefusal::OtherLock(Some(Box::new(present.holder())))),
            // The session has expired. Its description is still there.
            None if described.is_some_and(|holder| holder.id == id) => {}
            None => return Err(UnlockRefusal::NotLocked),
        }
        // The lock is broken. Another process can take it from now on, so what is left of it is removed only if it has not changed.
        if let Ok(Present { lock, info }) = self.present(state)
            && lock.as_ref().is_none_or(|lock| lock.session.is_none())
        {
            let entries = lock.iter().chain(&info);
            let removed: Vec<Operation> =
                entries.map(|entry| Operation::delete_unchanged(&entry.key, entry.modify_index)).collect();
            if !removed.is_empty() {
                let _ = self.api.transaction(&removed);
            }
        }
        Ok(())
    }

    /// Whether a session still holds a lock.
    pub(super) fn check(&self, state: &str, id: &LockId) -> Result<LockCheck, StoreError> {
        let key = lock_key(state);
        let entry = self.api.get_consistent(&key)?;
        let shown = self.api.shown(&key);
        Ok(match entry {
            None => LockCheck::Lost(format!("the key {shown} was deleted")),
            Some(Entry { session: Some(session), .. }) if session == id.0 => LockCheck::Held,
            Some(Entry { session: Some(session), .. }) => {
                LockCheck::Lost(format!("the session {session} holds the key {shown}"))
            }
            Some(Entry { session: None, .. }) => {
                LockCheck::Lost(format!("the session {id} expired or was ended, and holds the key {shown} no longer"))
            }
        })
    }
}
