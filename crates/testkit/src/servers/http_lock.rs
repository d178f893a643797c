//! An HTTP server that stores states and locks, as the `http` backend expects it, with faults on demand.
//!
//! - `GET`, `POST` or `PUT`, and `DELETE` of any path: reads, writes and deletes the state of that path.
//! - `LOCK` and `UNLOCK` of the path, or `POST` and `DELETE` of `PATH/lock` as GitLab has it: a held lock is status 423 with the JSON of
//!   the lock; unlocking with another ID is 409; unlocking what is unlocked is 200.
//! - Writing to a locked path needs `?ID=` of the lock, else 423. Deleting needs nothing.
//! - A request whose `Content-MD5` does not fit its body is 400; a response with a body has a `Content-MD5`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::digest::{base64, md5};
use super::fault::{Fault, On};
use super::lock_json::lock_id;
use crate::{Asked, Cut, Host, Reply};

/// The server. It runs in the test process and keeps connections open between requests.
pub struct HttpLockServer {
    host: Host,
    shared: Arc<Mutex<Shared>>,
}

/// A request and the status of its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The request.
    pub request: Asked,
    /// Status of the response. `None` if the connection closed without one, or stays silent.
    pub status: Option<u16>,
}

impl std::fmt::Display for Logged {
    /// `POST /state?ID=1 -> 200`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        write!(f, "{} {} -> {status}", self.request.method, self.request.target)
    }
}

#[derive(Default)]
struct Shared {
    /// The value of `Authorization` that every request needs.
    authorization: Option<String>,
    states: BTreeMap<String, Vec<u8>>,
    /// The JSON of each lock by the path of its state.
    locks: BTreeMap<String, String>,
    /// Each with the number of times left.
    faults: Vec<(On, Fault, usize)>,
    started: usize,
    log: Vec<Logged>,
}

/// Starts the server without authentication.
pub fn http_lock_server() -> HttpLockServer {
    let shared = Arc::new(Mutex::new(Shared::default()));
    let served = Arc::clone(&shared);
    HttpLockServer { host: Host::start(move |asked| answer(&served, asked)), shared }
}

impl HttpLockServer {
    /// Requires basic authentication from now on.
    #[must_use]
    pub fn with_password(self, user: &str, password: &str) -> HttpLockServer {
        let authorization = format!("Basic {}", base64(format!("{user}:{password}").as_bytes()));
        self.shared().authorization = Some(authorization);
        self
    }

    /// The URL of a path that starts with `/`.
    pub fn url(&self, path: &str) -> String {
        self.host.url(path)
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        self.host.name()
    }

    /// Shows a fault to the next `times` matching requests. The first fault that matches a request counts.
    pub fn fail(&self, on: On, fault: Fault, times: usize) {
        self.shared().faults.push((on, fault, times));
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.shared().faults.clear();
    }

    /// Every request so far, in the order of the responses.
    pub fn log(&self) -> Vec<Logged> {
        self.shared().log.clone()
    }

    /// Every request so far as `METHOD TARGET -> STATUS`.
    pub fn log_lines(&self) -> Vec<String> {
        self.shared().log.iter().map(Logged::to_string).collect()
    }

    /// Forgets the requests so far. The next one has number 1.
    pub fn clear_log(&self) {
        let mut shared = self.shared();
        shared.log.clear();
        shared.started = 0;
    }

    /// The state at a path.
    pub fn state(&self, path: &str) -> Option<Vec<u8>> {
        self.shared().states.get(path).cloned()
    }

    /// Stores a state at a path, whether it is locked or not.
    pub fn set_state(&self, path: &str, state: impl Into<Vec<u8>>) {
        self.shared().states.insert(path.to_owned(), state.into());
    }

    /// The JSON of the lock of a path.
    pub fn lock(&self, path: &str) -> Option<String> {
        self.shared().locks.get(path).cloned()
    }

    /// Locks a path, as another process does.
    pub fn set_lock(&self, path: &str, json: &str) {
        self.shared().locks.insert(path.to_owned(), json.to_owned());
    }

    /// Unlocks a path with any lock.
    pub fn remove_lock(&self, path: &str) {
        self.shared().locks.remove(path);
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(shared: &Mutex<Shared>, asked: &Asked) -> Reply {
    let fault = lock(shared).next_fault(asked);
    // A fault that waits must not hold up the other connections.
    let serve = || lock(shared).serve(asked);
    let reply = fault.map_or_else(serve, |fault| fault.reply(serve));
    let has_status = !reply.stalls && reply.cut != Some(Cut::BeforeHead);
    lock(shared).log.push(Logged { request: asked.clone(), status: has_status.then_some(reply.status) });
    reply
}

impl Shared {
    fn next_fault(&mut self, asked: &Asked) -> Option<Fault> {
        self.started += 1;
        let number = self.started;
        let matches =
            |(on, _, times): &&mut (On, Fault, usize)| *times > 0 && on.matches(number, &asked.method, asked.path());
        let (_, fault, times) = self.faults.iter_mut().find(matches)?;
        *times -= 1;
        Some(fault.clone())
    }

    fn serve(&mut self, asked: &Asked) -> Reply {
        if self.authorization.is_some() && asked.header("authorization") != self.authorization.as_deref() {
            return Reply::status(401).with("WWW-Authenticate", "Basic realm=\"state\"");
        }
        if asked.header("transfer-encoding").is_some() {
            // The host reads bodies by their length alone.
            return Reply::status(411).with("Connection", "close").cut(Cut::InBody(0));
        }
        if asked.header("content-md5").is_some_and(|digest| digest != base64(&md5(&asked.bytes))) {
            return Reply::status(400);
        }
        let (path, method) = match (asked.path().strip_suffix("/lock"), asked.method.as_str()) {
            (Some(path), "POST") => (path, "LOCK"),
            (Some(path), "DELETE") => (path, "UNLOCK"),
            (Some(path), method) => (path, method),
            (None, method) => (asked.path(), method),
        };
        match method {
            "GET" => self.states.get(path).map_or_else(|| Reply::status(404), |state| with_digest(200, state)),
            "POST" | "PUT" => self.write(path, asked),
            "DELETE" => {
                self.states.remove(path);
                Reply::status(200)
            }
            "LOCK" => match self.locks.get(path) {
                Some(held) => with_digest(423, held.as_bytes()),
                None => {
                    self.locks.insert(path.to_owned(), asked.body.clone());
                    Reply::status(200)
                }
            },
            "UNLOCK" => self.unlock(path, asked),
            _ => Reply::status(405),
        }
    }

    fn write(&mut self, path: &str, asked: &Asked) -> Reply {
        if let Some(held) = self.locks.get(path)
            && query(asked, "ID") != lock_id(held)
        {
            return with_digest(423, held.as_bytes());
        }
        self.states.insert(path.to_owned(), asked.bytes.clone());
        Reply::status(200)
    }

    fn unlock(&mut self, path: &str, asked: &Asked) -> Reply {
        let wanted = if asked.body.is_empty() { query(asked, "ID") } else { lock_id(&asked.body) };
        if let Some(held) = self.locks.get(path)
            && wanted.is_some()
            && wanted != lock_id(held)
        {
            return with_digest(409, held.as_bytes());
        }
        self.locks.remove(path);
        Reply::status(200)
    }
}

fn with_digest(status: u16, body: &[u8]) -> Reply {
    let reply = Reply { body: body.to_vec(), ..Reply::status(status) };
    reply.with("Content-Type", "application/json").with("Content-MD5", &base64(&md5(body)))
}

/// The value of a name in the query.
fn query(asked: &Asked, name: &str) -> Option<String> {
    let (_, query) = asked.target.split_once('?')?;
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}
