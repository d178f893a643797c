//! Delayed responses.

use std::future::poll_fn;
use std::task::Poll;

use super::{FakeWorld, Fault};

/// Waits as a fault asks for. Whether the provider was stopped meanwhile.
pub(super) async fn delay(world: FakeWorld, fault: Option<Fault>) -> bool {
    let mut left = match fault {
        Some(Fault::Slow(polls)) => polls,
        Some(Fault::Hang | Fault::Deaf) => 1,
        _ => 0,
    };
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(false);
        }
        if fault == Some(Fault::Deaf) {
            return Poll::Pending;
        }
        if fault == Some(Fault::Hang) {
            let mut inside = world.inside();
            if inside.stopped {
                return Poll::Ready(true);
            }
            inside.waiting.push(context.waker().clone());
        } else {
            left -= 1;
            context.waker().wake_by_ref();
        }
        Poll::Pending
    })
    .await
}
