//! Work in a thread, and the future that waits for it.
//!
//! The engine polls its futures in one thread and must not be blocked, and events may only be reported there. So the
//! thread queues its output and wakes the future, which reports it when it is polled.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ecow::{EcoString, eco_format};
use yuba_engine::Provisioned;

/// Maximum number of queued strings; a full queue blocks the thread, and with it the process it reads from.
const QUEUE: usize = 1024;

#[derive(Default)]
struct Desk {
    waiting: VecDeque<EcoString>,
    result: Option<Result<(), EcoString>>,
    waker: Option<Waker>,
    /// The receiver is dropped.
    abandoned: bool,
}

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    room: Condvar,
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Output and input of the work.
pub(super) struct Voice {
    shared: Arc<Shared>,
    stop_now: Arc<AtomicBool>,
}

impl Voice {
    /// Says something to the user.
    pub(super) fn say(&self, text: impl Into<EcoString>) {
        let mut desk = self.shared.desk();
        while desk.waiting.len() >= QUEUE && !desk.abandoned {
            desk = self.shared.room.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
        desk.waiting.push_back(text.into());
        wake(desk);
    }

    /// Whether the work is to end now.
    pub(super) fn stopped(&self) -> bool {
        self.stop_now.load(Ordering::Relaxed) || self.shared.desk().abandoned
    }
}

fn wake(mut desk: MutexGuard<'_, Desk>) {
    let waker = desk.waker.take();
    drop(desk);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Begins work in a thread of its own.
pub(super) fn run<'p>(
    stop_now: Arc<AtomicBool>,
    output: &'p dyn Fn(EcoString),
    work: impl FnOnce(&Voice) -> Result<(), EcoString> + Send + 'static,
) -> Provisioned<'p> {
    let shared = Arc::new(Shared::default());
    let voice = Voice { shared: Arc::clone(&shared), stop_now };
    let begun = std::thread::Builder::new().name("provisioner".to_owned()).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&voice)))
            .unwrap_or_else(|_| Err("The provisioner crashed. This is a bug in Yuba.".into()));
        let mut desk = voice.shared.desk();
        desk.result = Some(result);
        wake(desk);
    });
    if let Err(problem) = begun {
        shared.desk().result = Some(Err(eco_format!("Failed to start a thread for the provisioner: {problem}.")));
    }
    Box::pin(Waiting { shared, output })
}

struct Waiting<'p> {
    shared: Arc<Shared>,
    output: &'p dyn Fn(EcoString),
}

impl Future for Waiting<'_> {
    type Output = Result<(), EcoString>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut desk = self.shared.desk();
        let waiting = std::mem::take(&mut desk.waiting);
        let result = desk.result.take();
        desk.waker = Some(context.waker().clone());
        drop(desk);
        self.shared.room.notify_all();
        for text in waiting {
            (self.output)(text);
        }
        result.map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.desk().abandoned = true;
        self.shared.room.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn check(
        work: impl FnOnce(&Voice) -> Result<(), EcoString> + Send + 'static,
        stop: bool,
    ) -> (Vec<EcoString>, Result<(), EcoString>) {
        let said = RefCell::new(Vec::new());
        let output = |text| said.borrow_mut().push(text);
        let result = futures_executor::block_on(run(Arc::new(AtomicBool::new(stop)), &output, work));
        (said.into_inner(), result)
    }

    #[test]
    fn everything_is_said_in_order_and_then_the_work_is_done() {
        let (said, result) = check(
            |voice| {
                (0..3 * QUEUE).for_each(|number| voice.say(eco_format!("{number}")));
                Ok(())
            },
            false,
        );
        assert_eq!(result, Ok(()));
        assert!(said.iter().map(EcoString::as_str).eq((0..3 * QUEUE).map(|number| number.to_string())));
    }

    #[test]
    fn stops_are_noticed_and_bugs_are_failures() {
        let heard = |voice: &Voice| if voice.stopped() { Err("stopped".into()) } else { Ok(()) };
        assert_eq!(check(heard, false).1, Ok(()));
        assert_eq!(check(heard, true).1, Err("stopped".into()));
        let broken = check(|_| std::panic::resume_unwind(Box::new(())), false).1;
        assert_eq!(broken, Err("The provisioner crashed. This is a bug in Yuba.".into()));
    }

    #[test]
    fn a_dropped_receiver_is_a_stop() {
        let (tell, told) = std::sync::mpsc::channel();
        drop(run(Arc::default(), &|_| {}, move |voice| {
            while !voice.stopped() {
                (0..2 * QUEUE).for_each(|_| voice.say("text"));
            }
            let _ = tell.send(());
            Ok(())
        }));
        assert_eq!(told.recv(), Ok(()));
    }
}
