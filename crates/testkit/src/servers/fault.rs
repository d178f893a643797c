//! Faults that a server of a test shows on demand.

use std::time::Duration;

use crate::{Cut, Reply};

/// The requests that a fault hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// Every request.
    Any,
    /// The request with this number. The first request of the server has number 1.
    Request(usize),
    /// Requests with this method, as sent: `LOCK` does not stand for GitLab's `POST .../lock`.
    Method(&'static str),
    /// Requests whose path ends so, with this method.
    Path(&'static str, &'static str),
}

impl On {
    pub(crate) fn matches(&self, number: usize, method: &str, path: &str) -> bool {
        match self {
            On::Any => true,
            On::Request(wanted) => *wanted == number,
            On::Method(wanted) => *wanted == method,
            On::Path(wanted, end) => *wanted == method && path.ends_with(end),
        }
    }
}

/// A misbehaviour of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Closes the connection. The request has no effect.
    CloseBefore,
    /// Closes the connection after the request took effect.
    CloseAfter,
    /// Responds with a status, a short text, and perhaps a `Retry-After` header. The request has no effect.
    Status(u16, Option<&'static str>),
    /// Waits, then serves the request.
    Delay(Duration),
    /// Serves the request, then waits with the response.
    DelayAfter(Duration),
    /// Serves the request and sends this many bytes of the body, then closes the connection.
    Truncate(usize),
    /// Responds with status 200 and an HTML page, as a login page or a proxy does. The request has no effect.
    Html,
    /// Responds with status 200 and a body of this many bytes. The request has no effect.
    Body(usize),
    /// Serves the request, then changes the body of the response without changing its `Content-MD5`.
    Corrupt,
    /// Reads the request and never responds. The request has no effect.
    Stall,
}

impl Fault {
    /// The reply to a request that `serve` would serve.
    pub(crate) fn reply(&self, serve: impl FnOnce() -> Reply) -> Reply {
        match self {
            Fault::CloseBefore => Reply::default().cut(Cut::BeforeHead),
            Fault::CloseAfter => serve().cut(Cut::BeforeHead),
            Fault::Status(status, retry_after) => {
                let reply = Reply { body: b"injected fault\n".to_vec(), ..Reply::status(*status) };
                let reply = reply.with("Content-Type", "text/plain");
                retry_after.iter().fold(reply, |reply, seconds| reply.with("Retry-After", seconds))
            }
            Fault::Delay(time) => {
                std::thread::sleep(*time);
                serve()
            }
            Fault::DelayAfter(time) => {
                let reply = serve();
                std::thread::sleep(*time);
                reply
            }
            Fault::Truncate(length) => serve().cut(Cut::InBody(*length)),
            Fault::Html => Reply::ok("<!DOCTYPE html>\n<html><body><h1>Sign in</h1></body></html>\n")
                .with("Content-Type", "text/html; charset=utf-8"),
            Fault::Body(length) => Reply::ok(vec![b'x'; *length]).with("Content-Type", "application/json"),
            Fault::Corrupt => {
                let mut reply = serve();
                if let Some(byte) = reply.body.last_mut() {
                    *byte ^= 1;
                }
                reply
            }
            Fault::Stall => Reply::stall(),
        }
    }
}
