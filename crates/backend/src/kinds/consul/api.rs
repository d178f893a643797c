//! Requests to the HTTP API of Consul: keys, transactions, sessions.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json, json};
use yuba_net::Secret;
use yuba_net::http::{HttpClient, Method, Request, Response, Url, shown};

use crate::kit::requests::{STATE_LIMIT, exchange, unexpected};
use crate::kit::store::{StoreError, StoreErrorKind};

/// Limit for the renewal of a session. A renewal without response leaves time for another one before the session expires.
const RENEWAL: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(4) };
/// The header of every response of Consul about keys.
const INDEX: &str = "x-consul-index";

/// Where the API is and what every request contains.
pub(super) struct Api {
    pub(super) client: HttpClient,
    /// The address with the prefix of a reverse proxy, without slash at its end.
    pub(super) base: Url,
    /// Query parameters of every request: data center, namespace, partition.
    pub(super) parameters: Vec<(&'static str, String)>,
    pub(super) token: Option<Secret>,
    pub(super) basic: Option<(String, Secret)>,
}

/// The address only.
impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Api").field(&shown(&self.base)).finish()
    }
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Vec<u8>,
    pub(super) flags: u64,
    /// The session that holds the key as a lock.
    pub(super) session: Option<String>,
    pub(super) modify_index: u64,
}

impl Entry {
    fn of_json(json: &Json) -> Option<Entry> {
        let value = json.get("Value").and_then(Json::as_str).unwrap_or_default();
        let session = json.get("Session").and_then(Json::as_str).filter(|session| !session.is_empty());
        Some(Entry {
            key: json.get("Key")?.as_str()?.to_owned(),
            value: STANDARD.decode(value).ok()?,
            flags: json.get("Flags").and_then(Json::as_u64).unwrap_or_default(),
            session: session.map(str::to_owned),
            modify_index: json.get("ModifyIndex")?.as_u64()?,
        })
    }
}

/// One operation of a transaction.
#[derive(Debug)]
pub(super) struct Operation(Map<String, Json>);

impl Operation {
    fn new(verb: &str, key: &str) -> Operation {
        Operation(Map::from_iter([("Verb".to_owned(), json!(verb)), ("Key".to_owned(), json!(key))]))
    }

    fn with(mut self, name: &str, value: Json) -> Operation {
        self.0.insert(name.to_owned(), value);
        self
    }

    fn with_value(self, value: &[u8]) -> Operation {
        self.with("Value", json!(STANDARD.encode(value)))
    }

    /// Stores a value, if the key has this index. Index 0 stands for a key that does not exist.
    pub(super) fn compare_and_set(key: &str, value: &[u8], index: u64) -> Operation {
        Operation::new("cas", key).with_value(value).with("Index", json!(index))
    }

    pub(super) fn set(key: &str, value: &[u8]) -> Operation {
        Operation::new("set", key).with_value(value)
    }

    pub(super) fn delete(key: &str) -> Operation {
        Operation::new("delete", key)
    }

    /// Deletes a key that still has this index.
    pub(super) fn delete_unchanged(key: &str, index: u64) -> Operation {
        Operation::new("delete-cas", key).with("Index", json!(index))
    }

    /// Fails unless a session holds a key.
    pub(super) fn check_session(key: &str, session: &str) -> Operation {
        Operation::new("check-session", key).with("Session", json!(session))
    }

    /// Takes a key as a lock.
    pub(super) fn lock(key: &str, session: &str, flags: u64) -> Operation {
        Operation::new("lock", key).with_value(b"").with("Session", json!(session)).with("Flags", json!(flags))
    }

    /// Releases a key that a session holds.
    pub(super) fn unlock(key: &str, session: &str, flags: u64) -> Operation {
        Operation::new("unlock", key).with_value(b"").with("Session", json!(session)).with("Flags", json!(flags))
    }
}

/// The outcome of a transaction.
#[derive(Debug)]
pub(super) enum Committed {
    /// All operations took place.
    Done(Vec<Entry>),
    /// No operation took place, because this one failed.
    RolledBack { operation: u64, reason: String },
    /// The request is larger than the server accepts.
    TooLarge(String),
}

/// Whether a session exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionState {
    Alive,
    Gone,
}

impl Api {
    fn url(&self, path: &str, parameters: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        let own = self.parameters.iter().map(|(name, value)| (*name, value.as_str()));
        let all: Vec<(&str, &str)> = own.chain(parameters.iter().copied()).collect();
        if !all.is_empty() {
            url.query_pairs_mut().extend_pairs(all);
        }
        url
    }

    fn key_url(&self, key: &str, parameters: &[(&str, &str)]) -> Url {
        self.url(&format!("v1/kv/{key}"), parameters)
    }

    /// A key for messages.
    pub(super) fn shown(&self, key: &str) -> String {
        shown(&self.key_url(key, &[])).trim_end_matches("?...").to_owned()
    }

    /// A key for messages, qualified so that it differs from keys of the same name elsewhere.
    pub(super) fn described(&self, key: &str) -> String {
        let mut url = self.key_url(key, &[]);
        let _ = (url.set_username(""), url.set_password(None));
        url.to_string()
    }

    fn send(&self, method: Method, url: Url, body: Option<Vec<u8>>) -> Result<(Request, Response), StoreError> {
        self.send_request(Request { method, body, ..Request::new(url) })
    }

    fn send_request(&self, mut request: Request) -> Result<(Request, Response), StoreError> {
        request.basic.clone_from(&self.basic);
        // Values are encoded in Base64.
        request.limit = Some(STATE_LIMIT / 3 * 4 + 4096);
        if let Some(token) = &self.token {
            request = request.with_header("x-consul-token", token.reveal());
        }
        if request.body.is_some() {
            request = request.with_header("content-type", "application/json");
        }
        match exchange(&self.client, request.clone()) {
            Ok(response) => Ok((request, response)),
            // Some versions report missing permissions as an internal error.
            Err(error) if is_denied(&error.reason) => {
                Err(denied(StoreError { kind: StoreErrorKind::Lasting, ..error }))
            }
            Err(error) => Err(error),
        }
    }

    /// The response, if its status is 200. None if Consul itself responds to a GET request with 404.
    fn expect(sent: (Request, Response)) -> Result<Option<Response>, StoreError> {
        let (request, response) = sent;
        match response.status {
            200 => Ok(Some(response)),
            404 if request.method == Method::GET && response.header(INDEX).is_some() => Ok(None),
            403 => Err(denied(unexpected(&request, &response))),
            _ => Err(unexpected(&request, &response)),
        }
    }

    fn entries(&self, url: Url) -> Result<Vec<Entry>, StoreError> {
        let place = shown(&url);
        let Some(response) = Api::expect(self.send(Method::GET, url, None)?)? else { return Ok(Vec::new()) };
        let entries: Option<Vec<Entry>> = serde_json::from_slice::<Json>(&response.body)
            .ok()
            .and_then(|json| json.as_array()?.iter().map(Entry::of_json).collect());
        entries.ok_or_else(|| malformed("GET", &place))
    }

    /// The entry of a key.
    pub(super) fn get(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        Ok(self.entries(self.key_url(key, &[]))?.into_iter().next())
    }

    /// The entry of a key, confirmed by a majority of the servers.
    pub(super) fn get_consistent(&self, key: &str) -> Result<Option<Entry>, StoreError> {
        Ok(self.entries(self.key_url(key, &[("consistent", "")]))?.into_iter().next())
    }

    /// All entries whose keys start so.
    pub(super) fn get_tree(&self, prefix: &str) -> Result<Vec<Entry>, StoreError> {
        self.entries(self.key_url(prefix, &[("recurse", "")]))
    }

    /// Keys that start so, up to the next slash.
    pub(super) fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let url = self.key_url(prefix, &[("keys", ""), ("separator", "/")]);
        let place = shown(&url);
        let Some(response) = Api::expect(self.send(Method::GET, url, None)?)? else { return Ok(Vec::new()) };
        let keys: Option<Vec<String>> = serde_json::from_slice::<Json>(&response.body)
            .ok()
            .and_then(|json| json.as_array()?.iter().map(|key| key.as_str().map(str::to_owned)).collect());
        keys.ok_or_else(|| malformed("GET", &place))
    }

    /// Stores a value.
    pub(super) fn put(&self, key: &str, value: &[u8]) -> Result<(), StoreError> {
        let url = self.key_url(key, &[]);
        let place = shown(&url);
        let response = Api::expect(self.send(Method::PUT, url, Some(value.to_vec()))?)?;
        match response.is_some_and(|response| response.body.trim_ascii() == b"true") {
            true => Ok(()),
            false => Err(StoreError::lasting(format!("PUT {place}: Consul did not store the value"))),
        }
    }

    pub(super) fn delete(&self, key: &str) -> Result<(), StoreError> {
        Api::expect(self.send(Method::DELETE, self.key_url(key, &[]), None)?).map(drop)
    }

    /// Deletes all keys that start so.
    pub(super) fn delete_tree(&self, prefix: &str) -> Result<(), StoreError> {
        Api::expect(self.send(Method::DELETE, self.key_url(prefix, &[("recurse", "")]), None)?).map(drop)
    }

    /// Carries out all operations or none.
    pub(super) fn transaction(&self, operations: &[Operation]) -> Result<Committed, StoreError> {
        let body: Vec<Json> = operations.iter().map(|operation| json!({ "KV": operation.0 })).collect();
        let url = self.url("v1/txn", &[]);
        let place = shown(&url);
        let (request, response) = self.send(Method::PUT, url, Some(Json::from(body).to_string().into_bytes()))?;
        let json: Json = serde_json::from_slice(&response.body).unwrap_or_default();
        match response.status {
            200 => {
                let results = json.get("Results").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
                let entries: Option<Vec<Entry>> =
                    results.iter().filter_map(|result| result.get("KV")).map(Entry::of_json).collect();
                entries.map(Committed::Done).ok_or_else(|| malformed("PUT", &place))
            }
            409 => {
                let first = json.get("Errors").and_then(Json::as_array).and_then(|errors| errors.first());
                let Some(first) = first else { return Err(unexpected(&request, &response)) };
                let reason = first.get("What").and_then(Json::as_str).unwrap_or_default().to_owned();
                if is_denied(&reason) {
                    return Err(denied(StoreError::lasting(format!("PUT {place}: {reason}"))));
                }
                let operation = first.get("OpIndex").and_then(Json::as_u64).unwrap_or_default();
                Ok(Committed::RolledBack { operation, reason })
            }
            413 => Ok(Committed::TooLarge(unexpected(&request, &response).reason)),
            403 => Err(denied(unexpected(&request, &response))),
            _ if String::from_utf8_lossy(&response.body).contains("too large") => {
                Ok(Committed::TooLarge(unexpected(&request, &response).reason))
            }
            _ => Err(unexpected(&request, &response)),
        }
    }

    /// Creates a session and returns its id.
    pub(super) fn create_session(&self, session: &Json) -> Result<String, StoreError> {
        let url = self.url("v1/session/create", &[]);
        let place = shown(&url);
        let response = Api::expect(self.send(Method::PUT, url, Some(session.to_string().into_bytes()))?)?;
        let json: Option<Json> = response.and_then(|response| serde_json::from_slice(&response.body).ok());
        let id = json.and_then(|json| json.get("ID")?.as_str().map(str::to_owned));
        id.ok_or_else(|| malformed("PUT", &place))
    }

    /// Keeps a session from expiring.
    pub(super) fn renew_session(&self, id: &str) -> Result<SessionState, StoreError> {
        let request = Request::new(self.url(&format!("v1/session/renew/{id}"), &[]));
        let request = Request { method: Method::PUT, timeout: Some(RENEWAL), ..request };
        let (request, response) = self.send_request(request)?;
        match response.status {
            200 => Ok(SessionState::Alive),
            404 => Ok(SessionState::Gone),
            403 => Err(denied(unexpected(&request, &response))),
            _ => Err(unexpected(&request, &response)),
        }
    }

    /// Ends a session, whether it exists or not. Consul releases the keys that it holds.
    pub(super) fn destroy_session(&self, id: &str) -> Result<(), StoreError> {
        Api::expect(self.send(Method::PUT, self.url(&format!("v1/session/destroy/{id}"), &[]), None)?).map(drop)
    }
}

fn malformed(method: &str, place: &str) -> StoreError {
    StoreError::lasting(format!(
        "{method} {place}: the response is not what the API of Consul responds. Check \"address\""
    ))
}

fn is_denied(reason: &str) -> bool {
    let reason = reason.to_ascii_lowercase();
    reason.contains("permission denied") || reason.contains("acl not found")
}

/// With the permissions that a token needs.
fn denied(mut error: StoreError) -> StoreError {
    let advice = "The token needs the ACL rules `key_prefix` with policy \"write\" for the path of the state, and `session_prefix` \
                  with policy \"write\". Set \"access_token\" or CONSUL_HTTP_TOKEN";
    error.reason = format!("{}. {advice}", error.reason);
    error
}
