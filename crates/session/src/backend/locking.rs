//! Waiting for the lock of a state: a message when it takes long, and a way to give up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use yuba_backend::{LockHolder, LockOutcome, Reservation, StatePart, StateStore};
use yuba_syntax::Diagnostics;

/// Time after which a request for a lock counts as slow.
const SLOW: Duration = Duration::from_millis(400);

/// The longest wait for a holder of locks, after which the interrupt is looked for.
const LONGEST_WAIT: Duration = Duration::from_millis(250);

/// The pause between requests for the locks of a plan, where the store cannot wait for their holder.
const RESERVATION_PAUSE: Duration = Duration::from_millis(100);

/// Interval at which an interrupt is looked for.
const BEAT: Duration = Duration::from_millis(50);

/// Follows a lock that takes long. A function without result is one that ignores interrupts.
pub trait LockWait {
    /// The lock is about to be requested.
    fn starting(&mut self) {}
    /// Acquiring the lock takes longer than 0.4 seconds. Called once for each lock.
    fn slow(&mut self);
    /// Whether the user asks to stop. Called at short intervals.
    fn is_interrupted(&mut self) -> bool {
        false
    }
}

impl<F: FnMut()> LockWait for F {
    fn slow(&mut self) {
        self();
    }
}

/// Acquires a lock, and tries again until the timeout has passed or the user asks to stop.
pub(crate) fn acquire(
    store: &mut dyn StateStore,
    holder: &LockHolder,
    timeout: Duration,
    waiting: &mut dyn LockWait,
) -> Result<LockOutcome, Diagnostics> {
    attended(store, waiting, |store, wait| yuba_backend::lock(store, holder, timeout, wait))
}

/// Announces a run that changes a part of a state. Stores that lock a state as a whole take the lock here.
pub(crate) fn acquire_part(
    store: &mut dyn StateStore,
    holder: &LockHolder,
    timeout: Duration,
    waiting: &mut dyn LockWait,
) -> Result<LockOutcome, Diagnostics> {
    attended(store, waiting, |store, wait| {
        let mut request = |store: &mut dyn StateStore| store.try_lock_part(holder.clone(), timeout);
        yuba_backend::lock_with(store, &mut request, timeout, wait)
    })
}

/// Locks what a plan reads and writes, and tries again until the timeout has passed or the user asks to stop.
pub(crate) fn reserve(
    store: &mut dyn StateStore,
    since: Option<u64>,
    part: &StatePart,
    timeout: Duration,
    waiting: &mut dyn LockWait,
) -> Result<Reservation, Diagnostics> {
    attended(store, waiting, |store, wait| {
        let begun = Instant::now();
        loop {
            let refusal = match store.reserve(since, part) {
                Ok(reservation) => return Ok(reservation),
                Err(refusal) => refusal,
            };
            let left = timeout.saturating_sub(begun.elapsed());
            let goes_on = refusal.may_pass() && !left.is_zero() && {
                let has_waited = store.wait_for_holder(left.min(LONGEST_WAIT));
                wait(if has_waited { Duration::ZERO } else { RESERVATION_PAUSE })
            };
            if !goes_on {
                return Err(yuba_backend::lock_refused(&store.whereabouts(), &refusal).into());
            }
        }
    })
}

/// Calls a store on a thread of its own: a remote lock can take long, and messages and interrupts do not wait for it. The work gets
/// a function that sleeps, and that returns false as soon as the user asks to stop.
fn attended<T: Send>(
    store: &mut dyn StateStore,
    waiting: &mut dyn LockWait,
    work: impl FnOnce(&mut dyn StateStore, &mut dyn FnMut(Duration) -> bool) -> T + Send,
) -> T {
    waiting.starting();
    let stopped = AtomicBool::new(false);
    let (done, finished) = mpsc::channel();
    std::thread::scope(|scope| {
        let stopped = &stopped;
        let worker = scope.spawn(move || {
            let mut wait = |delay| pause(delay, stopped);
            let result = work(store, &mut wait);
            // The receiver may have gone: the result is what counts.
            let _ = done.send(());
            result
        });
        let begun = Instant::now();
        let mut is_slow = false;
        while finished.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
            if !is_slow && begun.elapsed() >= SLOW {
                is_slow = true;
                waiting.slow();
            }
            if waiting.is_interrupted() {
                stopped.store(true, Ordering::SeqCst);
            }
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Sleeps. Returns false as soon as the user asks to stop.
fn pause(delay: Duration, stopped: &AtomicBool) -> bool {
    let begun = Instant::now();
    loop {
        if stopped.load(Ordering::SeqCst) {
            return false;
        }
        match delay.checked_sub(begun.elapsed()) {
            None | Some(Duration::ZERO) => return true,
            Some(rest) => std::thread::sleep(rest.min(BEAT)),
        }
    }
}

#[cfg(test)]
mod tests {
    use yuba_backend::fake::{Call, FAKE, FakeStore, Fault};
    use yuba_backend::kit::store::StoreErrorKind;
    use yuba_backend::{BackendConfiguration, BackendEnvironment, Backends};

    use crate::backend::{OpenFailure, OpenState, StateFlags, StateLocation};
    use crate::encryption::Encryption;

    use super::*;

    fn location(bucket: &str) -> StateLocation {
        let data = yuba_testkit::Sandbox::new("", "").dir().join("data");
        let backends = Backends::new(BackendEnvironment::new(Default::default(), data)).with(&[FAKE]);
        let configuration = BackendConfiguration::of_json(FAKE, &serde_json::json!({ "bucket": bucket }));
        StateLocation::of(&backends.into(), &configuration, Encryption::default()).expect("it opens")
    }

    #[derive(Default)]
    struct Patience {
        messages: u32,
        gives_up: bool,
    }

    impl LockWait for Patience {
        fn slow(&mut self) {
            self.messages += 1;
        }
        fn is_interrupted(&mut self) -> bool {
            self.gives_up && self.messages > 0
        }
    }

    fn open(bucket: &str, timeout: u64, patience: &mut Patience) -> Result<OpenState, OpenFailure> {
        let flags = StateFlags { lock_timeout: Duration::from_secs(timeout), ..StateFlags::default() };
        location(bucket).open("test", &flags, patience)
    }

    #[test]
    fn only_a_slow_lock_is_reported_and_only_once() {
        let mut patience = Patience::default();
        let held = open("slow", 0, &mut patience);
        assert!(held.is_ok() && patience.messages == 0);
        // The attempts are after 0 and 1 seconds.
        assert!(open("slow", 1, &mut patience).is_err());
        assert_eq!(patience.messages, 1);
        drop(held);
    }

    #[test]
    fn an_interrupt_ends_the_wait() {
        let held = open("interrupted", 0, &mut Patience::default());
        let begun = Instant::now();
        let mut patience = Patience { gives_up: true, ..Patience::default() };
        let Err(OpenFailure::Locked(problems)) = open("interrupted", 600, &mut patience) else { panic!("it is held") };
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert!(problems.joined().starts_with("Error acquiring the state lock"), "{problems:?}");
        drop(held);
    }

    #[test]
    fn a_state_that_cannot_be_read_is_unlocked() {
        let store = FakeStore::of_bucket("unreadable");
        store.script([(Call::Read, Fault::Fails(StoreErrorKind::Lasting))]);
        assert!(matches!(open("unreadable", 0, &mut Patience::default()), Err(OpenFailure::Unreadable(..))));
        assert!(!store.is_locked("default"));
        assert!(store.calls().contains(&Call::Unlock));
    }
}
