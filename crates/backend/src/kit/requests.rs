//! Requests of stores over HTTP: limits for states, failures by kind, and what a server said for people.
//!
//! A store sends every request through [`exchange`]. Repeating is not its job: `stored` repeats what is
//! [`StoreErrorKind::Transient`].

use std::time::Duration;

use yuba_net::http::{HttpClient, HttpError, Request, Response, shown};

use super::store::{StoreError, StoreErrorKind};

/// The largest state that is read, in bytes.
pub(crate) const STATE_LIMIT: u64 = 256 << 20;
/// The largest page of a list, in bytes.
pub(crate) const LIST_LIMIT: u64 = 32 << 20;
/// Limit for one request. Large states over slow connections take their time; a host that sends nothing is given up earlier.
const TIMEOUT: Duration = Duration::from_secs(300);
/// Characters of the content of a response that a message contains.
const EXCERPT: usize = 300;

/// Sends a request once. Responses of any status are returned, except those that ask to try again later, which are
/// transient failures.
pub(crate) fn exchange(client: &HttpClient, request: Request) -> Result<Response, StoreError> {
    let asked = Request { method: request.method.clone(), ..Request::new(request.url.clone()) };
    let response = respond(client, request)?;
    match response.may_pass() {
        true => Err(unexpected(&asked, &response)),
        false => Ok(response),
    }
}

/// Sends a request once and returns the response, whatever its status is: for stores that read errors of their server.
pub(crate) fn respond(client: &HttpClient, request: Request) -> Result<Response, StoreError> {
    let limit = request.limit.or(Some(STATE_LIMIT));
    let timeout = request.timeout.or(Some(TIMEOUT));
    let request = Request { retries: Some(0), limit, timeout, ..request };
    client.get(&request).map_err(|error| failed(&request, &error))
}

/// A request without response.
fn failed(request: &Request, error: &HttpError) -> StoreError {
    let kind = if error.may_pass { StoreErrorKind::Transient } else { StoreErrorKind::Lasting };
    StoreError::new(kind, format!("{} {}: {}", request.method, error.url, error.reason))
}

/// A response that the store did not expect: the request, the status and what the server said.
pub(crate) fn unexpected(request: &Request, response: &Response) -> StoreError {
    let kind = if response.may_pass() { StoreErrorKind::Transient } else { StoreErrorKind::Lasting };
    let said = excerpt(response).map(|text| format!(": {text}")).unwrap_or_default();
    let (method, url, status) = (&request.method, shown(&request.url), response.status_text());
    let mut error = StoreError::new(kind, format!("{method} {url}: the server responded \"{status}\"{said}"));
    error.retry_after =
        response.header("retry-after").and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
    error
}

/// The message in an error document of JSON: `{"error": {"message": ..}}`.
fn message(body: &[u8]) -> Option<String> {
    let document: serde_json::Value = serde_json::from_slice(body).ok()?;
    document["error"]["message"].as_str().map(str::to_owned)
}

/// The beginning of what a server said, on one line; none for an empty response.
pub(crate) fn excerpt(response: &Response) -> Option<String> {
    if response.media_type().is_some_and(|kind| kind == "text/html") {
        return Some("the response is an HTML page, so the URL may be that of a proxy or a login page".to_owned());
    }
    let text = message(&response.body).unwrap_or_else(|| String::from_utf8_lossy(&response.body).into_owned());
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(EXCERPT) {
        line.truncate(end);
        line.push_str("...");
    }
    let line: String = line.chars().filter(|character| !character.is_control()).collect();
    (!line.is_empty()).then_some(line)
}
