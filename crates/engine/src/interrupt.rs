//! Interrupts: the first one lets running operations finish, the second one abandons them.
//!
//! An [`Interrupt`] may be raised by another thread, and wakes the loop that waits for providers.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as Task, Poll, Waker};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use yuba_provider::{Millis, Provider};

/// Time for running requests after the second interrupt, in milliseconds.
const GRACE: Millis = 700;

/// Number of interrupts.
#[derive(Debug, Default)]
pub struct Interrupt {
    level: AtomicU8,
    wakers: Mutex<Vec<Waker>>,
}

impl Interrupt {
    /// Not raised yet.
    pub const fn new() -> Interrupt {
        Interrupt { level: AtomicU8::new(0), wakers: Mutex::new(Vec::new()) }
    }

    /// Raises the interrupt. Returns the previous number of interrupts.
    pub fn raise(&self) -> u8 {
        let before = self.level.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |level| Some(level.saturating_add(1)));
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.into_iter().for_each(Waker::wake);
        before.unwrap_or(u8::MAX)
    }

    /// Whether nothing new is to be begun.
    pub fn is_raised(&self) -> bool {
        self.count() > 0
    }

    /// Number of interrupts.
    pub fn count(&self) -> u8 {
        self.level.load(Ordering::SeqCst)
    }

    /// Whether this number is reached; if not, the task is woken at the next interrupt.
    pub fn poll(&self, count: u8, task: &mut Task<'_>) -> Poll<()> {
        if self.count() < count {
            let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
            if !wakers.iter().any(|known| known.will_wake(task.waker())) {
                wakers.push(task.waker().clone());
            }
        }
        // The interrupt may have been raised between the two lines above.
        if self.count() < count { Poll::Pending } else { Poll::Ready(()) }
    }
}

/// The door to time.
pub trait Clock: Sync {
    /// The current time.
    fn now(&self) -> Millis;
    /// Waits until then.
    fn until(&self, when: Millis) -> Pin<Box<dyn Future<Output = ()> + '_>>;
}

/// A waker for callers that do not wait.
pub struct NoTime;

impl Clock for NoTime {
    fn now(&self) -> Millis {
        0
    }
    fn until(&self, _: Millis) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::pending())
    }
}

/// Providers that were started and may be asked to stop. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Started(Rc<RefCell<Running>>);

#[derive(Default)]
struct Running {
    providers: Vec<Arc<dyn Provider>>,
    asked: bool,
}

impl Started {
    pub(crate) fn push(&self, provider: Arc<dyn Provider>) {
        self.0.borrow_mut().providers.push(provider);
    }
    /// Those to be asked to stop, once.
    fn take(&self) -> Vec<Arc<dyn Provider>> {
        let mut running = self.0.borrow_mut();
        match std::mem::replace(&mut running.asked, true) {
            true => Vec::new(),
            false => running.providers.clone(),
        }
    }
}

/// Waits for `work`, which begins nothing new once the interrupt is raised. The first time providers are asked to stop;
/// the second time waiting ends without a result.
pub(crate) async fn attend<T>(
    interrupt: &Interrupt,
    clock: &dyn Clock,
    started: &Started,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    let mut stops = FuturesUnordered::new();
    let mut asked = false;
    let mut grace = None;
    poll_fn(|task| {
        if let Poll::Ready(answer) = work.as_mut().poll(task) {
            return Poll::Ready(Some(answer));
        }
        if !asked && interrupt.poll(1, task).is_ready() {
            asked = true;
            for provider in started.take() {
                stops.push(async move {
                    let _ = provider.stop().await;
                });
            }
        }
        while let Poll::Ready(Some(())) = stops.poll_next_unpin(task) {}
        if asked && interrupt.poll(2, task).is_ready() {
            let grace = grace.get_or_insert_with(|| clock.until(clock.now() + GRACE));
            return grace.as_mut().poll(task).map(|()| None);
        }
        Poll::Pending
    })
    .await
}
