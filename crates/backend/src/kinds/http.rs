//! `backend "http"`: one state behind a URL, with locks where the server has URLs for them.
//!
//! Servers of this kind have no versions. While the run holds a lock, the server checks the lock ID of a write, so a write costs one
//! request. Without a lock, and before the first state is written, the store reads the state right before it writes.

mod arguments;
mod redirects;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use yuba_net::Secret;
use yuba_net::http::{HttpClient, Method, Request, Response, Url, shown};
use yuba_syntax::Diagnostics;

use crate::kit::arguments::Arguments;
use crate::kit::requests::{excerpt, unexpected};
use crate::kit::store::{
    LockId, Precondition, Store, StoreError, StoreErrorKind, StoreVersion, Stored, UnlockRefusal, Write,
};
use crate::kit::{BackendEnvironment, Retries};
use crate::lock::{LockHolder, LockRefusal};
use crate::workspace::DEFAULT_WORKSPACE;

pub(super) use arguments::{check, schema};

pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn Store>, Diagnostics> {
    Ok(Arc::new(arguments::store(arguments, environment)?))
}

/// A URL with the method of its requests, and the credentials that were part of the URL.
#[derive(Clone)]
struct Endpoint {
    url: Url,
    method: Method,
    basic: Option<(String, Secret)>,
}

/// The state and its lock on one server.
struct HttpStore {
    client: HttpClient,
    address: Endpoint,
    lock: Option<Endpoint>,
    unlock: Option<Endpoint>,
    /// Headers of every request. Values may be credentials.
    headers: Vec<(String, String)>,
    retries: Retries,
    memory: Mutex<Memory>,
}

/// The location only: URLs and headers may contain credentials.
impl std::fmt::Debug for HttpStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HttpStore").field(&self.describe(DEFAULT_WORKSPACE)).finish()
    }
}

/// The lock of this process.
#[derive(Debug, Default)]
struct Memory {
    held: Option<LockHolder>,
    /// Whether a request to release it has failed without a response: the server may have released it.
    may_be_released: bool,
}

/// A request with its response.
struct Exchange {
    request: Request,
    response: Response,
}

impl HttpStore {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request of any method to an endpoint and follows redirects.
    fn send(&self, endpoint: &Endpoint, method: Method, body: Option<Vec<u8>>) -> Result<Exchange, StoreError> {
        let mut request = Request { method, basic: endpoint.basic.clone(), ..Request::new(endpoint.url.clone()) };
        for (name, value) in &self.headers {
            request = request.with_header(name.clone(), value.clone());
        }
        if let Some(body) = body {
            let digest = STANDARD.encode(Md5::digest(&body));
            request = request.with_header("content-type", "application/json").with_header("content-md5", digest);
            request.body = Some(body);
        }
        let exchange = redirects::exchange(&self.client, request)?;
        not_a_page(&exchange.request, &exchange.response)?;
        Ok(exchange)
    }

    /// The state with its version, or none if it does not exist.
    fn get(&self) -> Result<Option<Stored>, StoreError> {
        let exchange = self.send(&self.address, Method::GET, None)?;
        let Exchange { request, response } = &exchange;
        match response.status {
            200 if response.body.is_empty() => Ok(None),
            200 => {
                checked(request, response)?;
                let version = StoreVersion::of(&response.body);
                Ok(Some(Stored { content: exchange.response.body, version }))
            }
            204 | 404 => Ok(None),
            _ => Err(refused(&exchange, "read the state")),
        }
    }

    /// Fails if the state is not what the caller has read.
    fn compare(&self, precondition: Precondition<'_>) -> Result<(), StoreError> {
        let present = self.get()?;
        match precondition.holds(present.as_ref().map(|stored| &stored.version)) {
            true => Ok(()),
            false => Err(StoreError::new(
                StoreErrorKind::Conflict,
                "the server returns another state than the one that was read",
            )),
        }
    }

    /// The URL of a write: the ID of the lock is part of its query.
    fn write_url(&self, lock: Option<&LockId>) -> Url {
        let mut url = self.address.url.clone();
        if let Some(id) = lock {
            let mut pairs: Vec<(String, String)> =
                url.query_pairs().into_owned().filter(|(name, _)| name != "ID").collect();
            pairs.push(("ID".to_owned(), id.0.clone()));
            // Quirk: the parameters are in the order of their names, as OpenTofu sends them.
            pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
            url.query_pairs_mut().clear().extend_pairs(pairs);
        }
        url
    }
}

impl Store for HttpStore {
    fn workspaces(&self) -> Result<Vec<String>, StoreError> {
        Err(StoreError::new(StoreErrorKind::NoWorkspaces, "the http backend stores one state"))
    }

    fn read(&self, workspace: &str) -> Result<Option<Stored>, StoreError> {
        only_default(workspace)?;
        self.get()
    }

    fn write(&self, workspace: &str, write: &Write<'_>) -> Result<StoreVersion, StoreError> {
        only_default(workspace)?;
        // Also with a lock: a server cannot report that a lock was released by force, and accepts writes after it.
        self.compare(write.precondition)?;
        let endpoint = Endpoint { url: self.write_url(write.lock), ..self.address.clone() };
        let exchange = self.send(&endpoint, self.address.method.clone(), Some(write.content.to_vec()))?;
        match exchange.response.status {
            200 | 201 | 204 => Ok(StoreVersion::of(write.content)),
            409 | 423 => Err(locked_write(&exchange, write.lock)),
            _ => Err(refused(&exchange, "write the state")),
        }
    }

    fn delete(&self, workspace: &str) -> Result<(), StoreError> {
        only_default(workspace)?;
        let exchange = self.send(&self.address, Method::DELETE, None)?;
        match exchange.response.status {
            200 | 204 => Ok(()),
            _ => Err(refused(&exchange, "delete the state")),
        }
    }

    fn lock(&self, workspace: &str, holder: &LockHolder) -> Result<Option<LockId>, LockRefusal> {
        only_default(workspace).map_err(LockRefusal::Store)?;
        let Some(endpoint) = &self.lock else { return Ok(None) };
        // Quirk: the path of a lock is empty, as OpenTofu writes it.
        let ours = LockHolder { path: String::new(), ..holder.clone() };
        let sent = self.send(endpoint, endpoint.method.clone(), Some(ours.to_json().into_bytes()));
        let exchange = sent.map_err(LockRefusal::Store)?;
        match exchange.response.status {
            200 => {
                *self.memory() = Memory { held: Some(ours), may_be_released: false };
                Ok(Some(LockId(holder.id.clone())))
            }
            409 | 423 => {
                let present = present_lock(&exchange.response);
                if present.id == holder.id {
                    // An earlier request has arrived, and its response was lost.
                    *self.memory() = Memory { held: Some(ours), may_be_released: false };
                }
                Err(LockRefusal::Held { holder: Some(Box::new(present)), pid: None })
            }
            _ => Err(LockRefusal::Store(refused(&exchange, "lock the state"))),
        }
    }

    fn unlock(&self, workspace: &str, id: &LockId) -> Result<(), UnlockRefusal> {
        only_default(workspace).map_err(UnlockRefusal::Failed)?;
        let held = self.memory().held.clone().filter(|held| held.id == id.0);
        let Some(endpoint) = &self.unlock else {
            // Quirk: without unlock_address the lock stays on the server, as it does with OpenTofu.
            return match held {
                Some(_) => Ok(()),
                None => Err(UnlockRefusal::Failed(StoreError::lasting(
                    "locking is disabled, because the argument \"unlock_address\" of the http backend is not set",
                ))),
            };
        };
        // `force-unlock` knows the ID only.
        let body = held.clone().unwrap_or_else(|| described_as(&id.0, "")).to_json().into_bytes();
        let exchange = match self.send(endpoint, endpoint.method.clone(), Some(body)) {
            Ok(exchange) => exchange,
            Err(error) => {
                self.memory().may_be_released = held.is_some() && error.kind == StoreErrorKind::Transient;
                return Err(UnlockRefusal::Failed(error));
            }
        };
        match exchange.response.status {
            200 => {
                *self.memory() = Memory::default();
                Ok(())
            }
            409 | 423 => Err(UnlockRefusal::OtherLock(Some(Box::new(present_lock(&exchange.response))))),
            400 | 404 | 410 | 412 | 422 if self.memory().may_be_released => Err(UnlockRefusal::NotLocked),
            _ => Err(UnlockRefusal::Failed(refused(&exchange, "unlock the state"))),
        }
    }

    /// Some servers release any lock without comparing IDs. A further request for the lock finds out whose it is.
    fn abandon_lock(&self, workspace: &str, holder: &LockHolder) -> Result<(), UnlockRefusal> {
        match self.lock(workspace, holder) {
            Ok(Some(id)) => self.unlock(workspace, &id),
            Err(LockRefusal::Held { holder: Some(present), .. }) if present.id == holder.id => {
                self.unlock(workspace, &LockId(present.id))
            }
            Err(LockRefusal::Store(error)) => Err(UnlockRefusal::Failed(error)),
            _ => Err(UnlockRefusal::NotLocked),
        }
    }

    fn has_locks(&self) -> bool {
        self.unlock.is_some()
    }

    fn retries(&self) -> Option<Retries> {
        Some(self.retries)
    }

    /// The query of the address may be secret and may distinguish states, so a fingerprint stands for it.
    fn describe(&self, _workspace: &str) -> String {
        let url = &self.address.url;
        match url.query() {
            None => shown(url),
            Some(query) => {
                let mark: String = StoreVersion::of(query.as_bytes()).0.chars().take(8).collect();
                format!("{} (query {mark})", shown(url))
            }
        }
    }
}

fn only_default(workspace: &str) -> Result<(), StoreError> {
    match workspace {
        "" | DEFAULT_WORKSPACE => Ok(()),
        _ => Err(StoreError::new(StoreErrorKind::NoWorkspaces, "the http backend stores one state")),
    }
}

/// Fails if a response is the page of a proxy or a login, whatever its status.
fn not_a_page(request: &Request, response: &Response) -> Result<(), StoreError> {
    if response.is_success() && response.body.trim_ascii_start().starts_with(b"<") {
        let (method, url, said) = (&request.method, shown(&request.url), excerpt(response).unwrap_or_default());
        return Err(StoreError::lasting(format!(
            "{method} {url}: the response does not come from a state server: {said}"
        )));
    }
    Ok(())
}

/// Fails if the content of a response is damaged.
fn checked(request: &Request, response: &Response) -> Result<(), StoreError> {
    let url = shown(&request.url);
    let Some(header) = response.header("content-md5").map(str::trim).filter(|header| !header.is_empty()) else {
        return Ok(());
    };
    let Ok(digest) = STANDARD.decode(header) else {
        return Err(StoreError::lasting(format!(
            "GET {url}: the header Content-MD5 is not valid Base64: \"{header}\""
        )));
    };
    match digest[..] == Md5::digest(&response.body)[..] {
        true => Ok(()),
        // The next response may be intact.
        false => {
            let length = response.body.len();
            let reason = "do not match its header Content-MD5, so the response is damaged";
            Err(StoreError::transient(format!("GET {url}: the {length} bytes of the response {reason}")))
        }
    }
}

/// A status that is not the success of a request.
fn refused(exchange: &Exchange, purpose: &str) -> StoreError {
    let Exchange { request, response } = exchange;
    let error = unexpected(request, response);
    let advice = match response.status {
        401 if request.basic.is_none() && request.headers.iter().all(|(name, _)| !is_authorization(name)) => {
            "The request contained no credentials. Set \"username\" and \"password\", or TF_HTTP_USERNAME and TF_HTTP_PASSWORD"
        }
        401 => "The server rejects the credentials. Check \"username\", \"password\" and \"headers\"",
        403 => "The credentials are not allowed to",
        _ => return error,
    };
    let advice = if response.status == 403 { format!("{advice} {purpose}") } else { advice.to_owned() };
    StoreError { reason: format!("{}. {advice}", error.reason), ..error }
}

fn is_authorization(name: &str) -> bool {
    name.eq_ignore_ascii_case("authorization")
}

/// A write that the server refuses because of a lock.
fn locked_write(exchange: &Exchange, lock: Option<&LockId>) -> StoreError {
    let Exchange { request, response } = exchange;
    let (method, url, status) = (&request.method, shown(&request.url), response.status_text());
    let present = present_lock(response);
    let by = match present.id.is_empty() {
        true => excerpt(response).map(|said| format!(": {said}")).unwrap_or_default(),
        false => format!(": {} holds the lock {}", who(&present), present.id),
    };
    let reason = format!("{method} {url}: the server responded \"{status}\"{by}");
    match lock {
        Some(_) => StoreError::new(StoreErrorKind::LockLost, reason),
        None => StoreError::lasting(reason),
    }
}

fn who(holder: &LockHolder) -> &str {
    if holder.who.is_empty() { "an unknown process" } else { &holder.who }
}

/// The lock in a response. A response that describes none is quoted in the lock of an unknown process.
fn present_lock(response: &Response) -> LockHolder {
    LockHolder::from_json(&response.body).filter(|holder| !holder.id.is_empty()).unwrap_or_else(|| {
        let said = excerpt(response).unwrap_or_else(|| "without a description of the lock".to_owned());
        described_as("", &format!("the server responded \"{}\": {said}", response.status_text()))
    })
}

fn described_as(id: &str, info: &str) -> LockHolder {
    LockHolder {
        id: id.to_owned(),
        operation: String::new(),
        info: info.to_owned(),
        who: String::new(),
        version: String::new(),
        created: None,
        path: String::new(),
    }
}
