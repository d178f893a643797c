//! Timers: one thread that wakes waiting tasks, started on the first use.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use yuba_engine::{Clock, Interrupt};

/// The clock of this machine.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
    fn until(&self, when: i64) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        let millis = u64::try_from(when.saturating_sub(self.now())).unwrap_or(0);
        // More than a year is equivalent to never, and surely a moment that can be expressed.
        Box::pin(Sleep::new(Duration::from_millis(millis).min(Duration::from_secs(366 * 24 * 3600))))
    }
}

/// Waits for a while.
pub(crate) struct Sleep {
    deadline: Instant,
    id: u64,
}

/// Waiting tasks by their deadline; and whether the waking thread runs.
type Waits = (BTreeMap<(Instant, u64), Waker>, bool);

struct Alarm {
    waits: Mutex<Waits>,
    changed: Condvar,
}

static ALARM: LazyLock<Alarm> =
    LazyLock::new(|| Alarm { waits: Mutex::new((BTreeMap::new(), false)), changed: Condvar::new() });

impl Alarm {
    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut waits = self.waits();
        loop {
            let now = Instant::now();
            while let Some(first) = waits.0.first_entry().filter(|first| first.key().0 <= now) {
                first.remove().wake();
            }
            let next = waits.0.first_key_value().map(|((when, _), _)| *when);
            waits = match next {
                Some(when) => {
                    let span = when.saturating_duration_since(now);
                    self.changed.wait_timeout(waits, span).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(waits).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Sleep {
    pub(crate) fn new(span: Duration) -> Sleep {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Sleep { deadline: Instant::now() + span, id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Future for Sleep {
    type Output = ();
    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline {
            return Poll::Ready(());
        }
        let key = (self.deadline, self.id);
        let mut waits = ALARM.waits();
        let is_new = waits.0.insert(key, task.waker().clone()).is_none();
        if !waits.1 {
            // Without a thread no task would be woken: then nothing waits.
            if std::thread::Builder::new().name("clock".to_owned()).spawn(|| ALARM.run()).is_err() {
                return Poll::Ready(());
            }
            waits.1 = true;
        }
        // Later deadlines are set when the earlier task is woken.
        if is_new && waits.0.first_key_value().is_some_and(|(first, _)| *first == key) {
            ALARM.changed.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        ALARM.waits().0.remove(&(self.deadline, self.id));
    }
}

/// A task that is repeated while other work runs.
#[derive(Clone, Copy)]
pub struct Tick<'a> {
    /// Interval.
    pub every: Duration,
    /// The task. It runs at once when the user asks to stop.
    pub run: &'a dyn Fn(),
}

/// Runs to the end, without ticks.
pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    run(None, &Interrupt::new(), work)
}

/// Runs to the end, with ticks while it waits.
pub(crate) fn run<T>(tick: Option<Tick<'_>>, interrupt: &Interrupt, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut sleep: Option<Pin<Box<Sleep>>> = None;
    let mut seen = interrupt.count();
    futures_executor::block_on(poll_fn(|task| {
        if let Poll::Ready(answer) = work.as_mut().poll(task) {
            return Poll::Ready(answer);
        }
        let Some(tick) = tick else { return Poll::Pending };
        while interrupt.poll(seen.saturating_add(1), task).is_ready() && seen < u8::MAX {
            seen = interrupt.count();
            (tick.run)();
            // The finished task may be the one that the work waits for.
            task.waker().wake_by_ref();
        }
        let now = sleep.get_or_insert_with(|| Box::pin(Sleep::new(tick.every)));
        if now.as_mut().poll(task).is_ready() {
            (tick.run)();
            let mut next = Box::pin(Sleep::new(tick.every));
            // Registers the task to wake.
            let _ = next.as_mut().poll(task);
            sleep = Some(next);
        }
        Poll::Pending
    }))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn ticks_come_while_something_is_waited_for() {
        let ticks = Cell::new(0);
        let tick = Tick { every: Duration::from_millis(2), run: &|| ticks.set(ticks.get() + 1) };
        // Without ticks this waits for ever.
        run(Some(tick), &Interrupt::new(), poll_fn(|_| if ticks.get() < 2 { Poll::Pending } else { Poll::Ready(()) }));
        assert_eq!(ticks.get(), 2);
        ticks.set(0);
        run(Some(tick), &Interrupt::new(), std::future::ready(()));
        assert_eq!(ticks.get(), 0, "nothing was waited for");
    }

    #[test]
    fn an_interrupt_from_another_thread_is_noticed_at_once() {
        let interrupt = Interrupt::new();
        let heard = Cell::new(0);
        let tick = Tick { every: Duration::from_secs(600), run: &|| heard.set(interrupt.count()) };
        let begun = AtomicBool::new(false);
        let work = poll_fn(|_| {
            begun.store(true, Ordering::SeqCst);
            if heard.get() > 0 { Poll::Ready(()) } else { Poll::Pending }
        });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !begun.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                interrupt.raise()
            });
            run(Some(tick), &interrupt, work);
        });
        assert_eq!(heard.get(), 1);
    }
}
