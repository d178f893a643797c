//! Responses that are awaited together and taken in the order of their requests.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use crate::contract::Answer;

/// Pending requests, each with a key.
pub struct Waiting<'a, K, T> {
    requests: VecDeque<(K, Request<'a, T>)>,
}

enum Request<'a, T> {
    Open(Answer<'a, T>),
    Answered(T),
}

impl<T> Request<'_, T> {
    fn poll(&mut self, task: &mut Context<'_>) {
        if let Request::Open(answer) = self
            && let Poll::Ready(answer) = answer.as_mut().poll(task)
        {
            *self = Request::Answered(answer);
        }
    }
}

impl<K, T> Default for Waiting<'_, K, T> {
    fn default() -> Self {
        Waiting { requests: VecDeque::new() }
    }
}

impl<'a, K, T> Waiting<'a, K, T> {
    /// Number of requests whose responses were not taken yet.
    pub fn len(&self) -> usize {
        self.requests.len()
    }
    /// Whether all responses were taken.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
    /// Sends a request. It is pending from now on.
    pub fn push(&mut self, key: K, answer: Answer<'a, T>) {
        let mut request = Request::Open(answer);
        // No waker is set before the response is awaited: then it is polled again.
        request.poll(&mut Context::from_waker(Waker::noop()));
        self.requests.push_back((key, request));
    }
    /// The response to the oldest request, or none if no request is pending. All requests make progress meanwhile.
    pub async fn next(&mut self) -> Option<(K, T)> {
        poll_fn(|task| {
            self.requests.iter_mut().for_each(|(_, request)| request.poll(task));
            match self.requests.front() {
                Some((_, Request::Open(_))) => Poll::Pending,
                _ => Poll::Ready(()),
            }
        })
        .await;
        match self.requests.pop_front() {
            Some((key, Request::Answered(answer))) => Some((key, answer)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Becomes ready after a number of polls, and records each poll.
    fn slow(name: u32, polls: u32, log: &Arc<Mutex<Vec<u32>>>) -> Answer<'static, u32> {
        let (log, mut left) = (log.clone(), polls);
        Box::pin(poll_fn(move |task| {
            log.lock().expect("because nothing panics while it is locked").push(name);
            left -= 1;
            task.waker().wake_by_ref();
            if left == 0 { Poll::Ready(name) } else { Poll::Pending }
        }))
    }

    #[test]
    fn all_requests_run_and_responses_come_in_order() {
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut waiting = Waiting::default();
        waiting.push("a", slow(1, 3, &log));
        waiting.push("b", slow(2, 2, &log));
        assert_eq!(*log.lock().expect("because nothing panics while it is locked"), [1, 2], "both have begun");
        let mut all = std::pin::pin!(async {
            let mut taken = Vec::new();
            while let Some(answer) = waiting.next().await {
                taken.push(answer);
            }
            taken
        });
        let mut task = Context::from_waker(Waker::noop());
        let taken = loop {
            if let Poll::Ready(taken) = all.as_mut().poll(&mut task) {
                break taken;
            }
        };
        assert_eq!(taken, [("a", 1), ("b", 2)]);
        assert_eq!(*log.lock().expect("because nothing panics while it is locked"), [1, 2, 1, 2, 1]);
    }
}
