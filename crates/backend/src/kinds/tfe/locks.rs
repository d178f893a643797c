//! Locks: a workspace is locked as a whole, by the user of the token, with a reason.
//!
//! The server knows the user and not the process. The reason has an ID, so that a process recognises its own lock where the server
//! returns the reason. Users release a lock by force with `ORGANIZATION/WORKSPACE` as its ID, as with OpenTofu.

use serde_json::json;
use yuba_net::http::Method;

use super::TfeStore;
use super::workspaces::Remote;
use crate::kit::store::{LockCheck, LockId, StoreError, StoreErrorKind, UnlockRefusal};
use crate::lock::{LockHolder, LockRefusal};

/// The beginning of the reason of a lock of Yuba.
const BY_YUBA: &str = "Locked by Yuba: ";

/// The reason of a lock, for people: what runs, who runs it, and which lock it is.
fn reason_of(holder: &LockHolder) -> String {
    format!("{BY_YUBA}{} of {}, {}, ID {}", holder.operation, holder.who, holder.info, holder.id)
}

/// The holder of a lock of Yuba, parsed from the reason.
fn parsed(reason: &str) -> Option<LockHolder> {
    let (rest, id) = reason.strip_prefix(BY_YUBA)?.rsplit_once(", ID ")?;
    let (rest, info) = rest.rsplit_once(", ")?;
    let (operation, who) = rest.split_once(" of ")?;
    Some(LockHolder {
        id: id.to_owned(),
        operation: operation.to_owned(),
        info: info.to_owned(),
        who: who.to_owned(),
        version: String::new(),
        created: None,
        path: String::new(),
    })
}

impl Remote {
    /// Who holds the lock, as the second half of a sentence.
    fn locked_by(&self) -> String {
        match (&self.locked_by, &self.lock_reason) {
            (Some((kind, id)), _) if kind == "runs" => format!("run {id} of the server"),
            (_, Some(reason)) => format!("another process ({reason})"),
            (Some((kind, id)), None) => format!("{} {id}", kind.trim_end_matches('s')),
            (None, None) => "another process".to_owned(),
        }
    }
}

impl TfeStore {
    /// The holder of the lock of a workspace. Its ID is the one that `force-unlock` expects.
    fn holder(&self, name: &str, workspace: Option<&Remote>) -> LockHolder {
        let parsed = workspace.and_then(|workspace| parsed(workspace.lock_reason.as_deref()?));
        let about = || LockHolder {
            id: String::new(),
            operation: String::new(),
            info: workspace.and_then(|workspace| workspace.lock_reason.clone()).unwrap_or_default(),
            who: workspace.map(Remote::locked_by).unwrap_or_default(),
            version: String::new(),
            created: None,
            path: String::new(),
        };
        LockHolder { id: self.qualified(name), path: self.qualified(name), ..parsed.unwrap_or_else(about) }
    }

    pub(super) fn lock_workspace(&self, name: &str, holder: &LockHolder) -> Result<LockId, LockRefusal> {
        let id = self.id_of(name).map_err(LockRefusal::Store)?;
        let reason = reason_of(holder);
        // The API documents the reason alone, and OpenTofu sends it as an attribute. Servers read one of the two.
        let document =
            json!({ "reason": reason, "data": { "type": "workspaces", "attributes": { "reason": reason } } });
        let reply = self.api.send(Method::POST, &["workspaces", &id, "actions", "lock"], Some(&document));
        let reply = reply.map_err(LockRefusal::Store)?;
        if reply.status == 409 {
            let present = self.look_up(name).ok().flatten();
            // The response to an attempt before was lost.
            let is_ours = present.as_ref().is_some_and(|there| there.lock_reason.as_deref() == Some(reason.as_str()));
            if !is_ours {
                let holder = Some(Box::new(self.holder(name, present.as_ref())));
                return Err(LockRefusal::Held { holder, pid: None });
            }
        } else {
            reply.done().map_err(LockRefusal::Store)?;
        }
        let mut memory = self.memory();
        memory.unanswered.remove(name);
        memory.locks.insert(name.to_owned(), reason);
        Ok(LockId(self.qualified(name)))
    }

    /// Releases the lock with the reason of a holder. Without reasons the server does not say whose lock it is.
    pub(super) fn abandon_workspace_lock(&self, name: &str, holder: &LockHolder) -> Result<(), UnlockRefusal> {
        let (present, reason) = (self.look_up(name).map_err(UnlockRefusal::Failed)?, reason_of(holder));
        match present.and_then(|present| present.lock_reason) {
            Some(theirs) if theirs == reason => {
                self.memory().locks.insert(name.to_owned(), reason);
                self.unlock_workspace(name, &LockId(self.qualified(name)))
            }
            _ => Err(UnlockRefusal::NotLocked),
        }
    }

    pub(super) fn unlock_workspace(&self, name: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        let qualified = self.qualified(name);
        if id.0 != qualified {
            let present = self.look_up(name).map_err(UnlockRefusal::Failed)?;
            return match present {
                Some(present) if present.is_locked => {
                    Err(UnlockRefusal::OtherLock(Some(Box::new(self.holder(name, Some(&present))))))
                }
                _ => Err(UnlockRefusal::NotLocked),
            };
        }
        let ours = self.memory().locks.get(name).cloned();
        let action = match &ours {
            Some(reason) => {
                self.check_owner(name, reason)?;
                "unlock"
            }
            None => "force-unlock",
        };
        let workspace = self.id_of(name).map_err(UnlockRefusal::Failed)?;
        let reply = self.api.send(Method::POST, &["workspaces", &workspace, "actions", action], None);
        let reply = reply.map_err(|error| {
            // A server that asks to wait has not carried out the request.
            if ours.is_some() && error.kind == StoreErrorKind::Transient && error.retry_after.is_none() {
                self.memory().unanswered.insert(name.to_owned());
            }
            UnlockRefusal::Failed(error)
        })?;
        if reply.status == 409 && reply.said().contains("still pending") {
            let reason = format!("the server has not stored the last state yet: {}", reply.said());
            return Err(UnlockRefusal::Failed(StoreError::transient(reason)));
        }
        let is_unanswered = {
            let mut memory = self.memory();
            memory.locks.remove(name);
            memory.unanswered.remove(name)
        };
        match reply.status {
            409 if reply.said().contains("is locked by") && is_unanswered => Err(UnlockRefusal::NotLocked),
            409 if reply.said().contains("is locked by") => {
                let present = self.look_up(name).ok().flatten();
                Err(UnlockRefusal::OtherLock(Some(Box::new(self.holder(name, present.as_ref())))))
            }
            409 => Err(UnlockRefusal::NotLocked),
            _ => reply.done().map_err(UnlockRefusal::Failed),
        }
    }

    /// Fails if the lock of this process is gone: the server would release the lock of another process with the same token.
    fn check_owner(&self, name: &str, reason: &str) -> Result<(), UnlockRefusal> {
        let present = self.look_up(name).map_err(UnlockRefusal::Failed)?;
        let Some(present) = present.filter(|present| present.is_locked) else {
            self.memory().locks.remove(name);
            return Err(UnlockRefusal::NotLocked);
        };
        match &present.lock_reason {
            Some(theirs) if theirs != reason => {
                self.memory().locks.remove(name);
                Err(UnlockRefusal::OtherLock(Some(Box::new(self.holder(name, Some(&present))))))
            }
            // The lock may be one that another process with the same token has taken since.
            None if self.memory().unanswered.contains(name) => {
                let qualified = self.qualified(name);
                Err(UnlockRefusal::Failed(StoreError::lasting(format!(
                    "the response to the request that releases the lock was lost, and the server does not say who holds the lock now. \
                     If no other run holds it, run `yuba force-unlock {qualified}`"
                ))))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_workspace_lock(&self, name: &str) -> Result<LockCheck, StoreError> {
        let Some(ours) = self.memory().locks.get(name).cloned() else {
            return Ok(LockCheck::Lost("this process has released it".to_owned()));
        };
        Ok(match self.look_up(name)? {
            None => LockCheck::Lost(format!("the workspace {} no longer exists", self.qualified(name))),
            Some(present) if !present.is_locked => LockCheck::Lost("the workspace is unlocked".to_owned()),
            Some(present) if present.lock_reason.as_ref().is_some_and(|theirs| *theirs != ours) => {
                LockCheck::Lost(format!("the workspace is locked by {}", present.locked_by()))
            }
            Some(_) => LockCheck::Held,
        })
    }
}
