//! Watches the lock of a running apply: a lock that is lost stops new operations.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::kit::store::{LockCheck, LockId, Store, StoreErrorKind};

/// A thread that asks the store for the lock at intervals. It ends when this value is dropped.
pub(super) struct LockWatch {
    lost: Arc<OnceLock<String>>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LockWatch {
    /// Watches a lock, if there is one.
    pub(super) fn new(store: &Arc<dyn Store>, workspace: &str, lock: Option<&LockId>, interval: Duration) -> LockWatch {
        let lost = Arc::new(OnceLock::new());
        let Some(lock) = lock.cloned() else { return LockWatch { lost, end: None, thread: None } };
        let (end, ended) = channel::<()>();
        let (store, workspace, found) = (Arc::clone(store), workspace.to_owned(), Arc::clone(&lost));
        let watch = move || {
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                match store.check_lock(&workspace, &lock) {
                    Ok(LockCheck::Held) => {}
                    Ok(LockCheck::Unsupported) => return,
                    Ok(LockCheck::Lost(reason)) => return drop(found.set(reason)),
                    Err(error) if error.kind == StoreErrorKind::LockLost => return drop(found.set(error.reason)),
                    // The server may respond next time. A lock that is lost meanwhile is noticed then.
                    Err(error) => tracing::debug!(reason = %error, "the lock of the state cannot be checked"),
                }
            }
        };
        // Without a thread the lock is not watched, as with stores that cannot find out.
        let thread = std::thread::Builder::new().name("lock watch".to_owned()).spawn(watch).ok();
        LockWatch { lost, end: Some(end), thread }
    }

    /// Notes that the lock is lost, as another request has shown.
    pub(super) fn note(&self, reason: String) {
        let _ = self.lost.set(reason);
    }

    /// Reason why the lock is lost; none while it is held.
    pub(super) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }
}

impl Drop for LockWatch {
    fn drop(&mut self) {
        drop(self.end.take());
        // A check that waits for a server without response ends by itself.
        if let Some(thread) = self.thread.take().filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }
}
