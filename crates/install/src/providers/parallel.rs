//! Work on several packages at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Maximum number of simultaneous packages.
const WORKERS: usize = 8;

/// Delay before another worker starts, while there is work.
const GROWTH: Duration = Duration::from_millis(2);

/// Messages from workers.
enum Heard<E, R> {
    Event(E),
    Result(usize, R),
}

/// Processes several items at a time, and returns the results in order. At first one worker runs; while items are left,
/// further workers start one by one. So fast work does not pay for starting workers.
pub(crate) fn parallel<T: Copy + Sync, E: Send, R: Send>(
    things: &[T],
    emit: &mut dyn FnMut(E),
    work: impl Fn(T, &(dyn Fn(E) + Sync)) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<R>> = things.iter().map(|_| None).collect();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let start = |sender: Sender<Heard<E, R>>| {
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                // The receiver is gone only when the results are not needed either.
                let emit = |event| drop(sender.send(Heard::Event(event)));
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(thing) = things.get(at)
                {
                    let result = work(*thing, &emit);
                    let _ = sender.send(Heard::Result(at, result));
                }
            });
        };
        let (mut sender, mut workers, mut due, mut missing) = (Some(sender), 0, Instant::now(), things.len());
        while missing > 0 {
            let pause = due.saturating_duration_since(Instant::now());
            if pause.is_zero() {
                let is_more = workers < WORKERS && next.load(Ordering::Relaxed) < things.len();
                // Each worker has a sender of its own. When no further worker can start, theirs are the last.
                sender = sender.filter(|_| is_more).inspect(|sender| start(sender.clone()));
                (workers, due) = (workers + 1, Instant::now() + GROWTH);
            }
            let heard = match sender {
                Some(_) => receiver.recv_timeout(pause),
                None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(Heard::Event(event)) => emit(event),
                Ok(Heard::Result(at, result)) => {
                    results[at] = Some(result);
                    missing -= 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    results.into_iter().flatten().collect()
}
