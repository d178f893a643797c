//! Independent pieces of output, made on several threads and written in order.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

/// Number of pieces from which threads are worth their start.
const WORTHWHILE: usize = 64;

/// Maximum number of threads. More would wait for the writer.
const MAX_THREADS: usize = 4;

/// Number of finished pieces that wait to be written.
const WAITING: usize = 16;

/// Room for recursion over nested values. Address space only.
const STACK_BYTES: usize = 64 << 20;

/// Makes pieces by number, and writes them in the order of their numbers. Few pieces are made on this thread, many on other threads.
pub(crate) fn in_order(count: usize, make: &(dyn Fn(usize) -> String + Sync), write: &mut dyn FnMut(&str)) {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    if count < WORTHWHILE || threads == 1 {
        (0..count).for_each(|piece| write(&make(piece)));
        return;
    }
    let next = AtomicUsize::new(0);
    let (sender, made) = sync_channel(WAITING);
    let written = thread::scope(|scope| {
        for _ in 0..threads {
            let (next, sender) = (&next, sender.clone());
            let work = move || {
                loop {
                    let piece = next.fetch_add(1, Ordering::Relaxed);
                    // The writer stops early only if it panics.
                    if piece >= count || sender.send((piece, make(piece))).is_err() {
                        return;
                    }
                }
            };
            // Without any thread the rest is made below.
            let _ = thread::Builder::new().name("output".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, work);
        }
        drop(sender);
        let mut written = 0;
        let mut early = BTreeMap::new();
        for (piece, text) in made {
            early.insert(piece, text);
            while let Some(text) = early.remove(&written) {
                write(&text);
                written += 1;
            }
        }
        written
    });
    (written..count).for_each(|piece| write(&make(piece)));
}

#[cfg(test)]
mod tests {
    use super::in_order;

    #[test]
    fn pieces_are_written_in_order_whichever_is_made_first() {
        for count in [0, 1, 63, 64, 500] {
            let mut text = String::new();
            let make = |piece: usize| {
                // Every seventh piece takes longer than those after it.
                let rounds = if piece.is_multiple_of(7) { 20_000 } else { 1 };
                let sum: usize = (0..rounds).map(std::hint::black_box).sum();
                format!("{piece}{} ", if sum == usize::MAX { "!" } else { "" })
            };
            in_order(count, &make, &mut |piece| text.push_str(piece));
            let expected: String = (0..count).map(|piece| format!("{piece} ")).collect();
            assert_eq!(text, expected);
        }
    }
}
