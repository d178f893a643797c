//! Requests to the TFE API and its responses, which are JSON:API documents.

use std::time::Duration;

use serde_json::Value as Json;
use yuba_net::Secret;
use yuba_net::http::{HttpClient, Method, Request, Response, Url, Visible, shown};

use super::Form;
use crate::kit::Retries;
use crate::kit::requests::{LIST_LIMIT, excerpt, respond};
use crate::kit::store::{StoreError, StoreErrorKind};

/// The media type of JSON:API.
const JSON_API: &str = "application/vnd.api+json";

/// A server and the credentials for it.
pub(super) struct Api {
    pub(super) client: HttpClient,
    /// Ends with a slash.
    pub(super) base: Url,
    pub(super) token: Secret,
    /// The host for people.
    pub(super) host: String,
    pub(super) form: Form,
    /// For uploads, which are one step of a write.
    pub(super) retries: Retries,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

/// A response with a status that the caller may expect: 2xx, 400, 404, 409, 412, 422.
pub(super) struct Reply {
    /// The request for people.
    asked: String,
    pub(super) status: u16,
    pub(super) document: Json,
    /// Interval at which the server wants snapshots of a state, if the response says so.
    pub(super) interval: Option<Duration>,
    /// The version of the API.
    pub(super) api_version: Option<String>,
    /// The server's description of an error.
    said: String,
}

impl Reply {
    /// The `data` of a document, if the status is 2xx.
    pub(super) fn data(mut self) -> Result<Json, StoreError> {
        match self.is_success() {
            false => Err(self.refused()),
            true if self.document["data"].is_null() => Err(self.malformed("it has no \"data\"")),
            true => Ok(self.document["data"].take()),
        }
    }

    /// The same, none if the status is 404.
    pub(super) fn found(self) -> Result<Option<Json>, StoreError> {
        if self.status == 404 { Ok(None) } else { self.data().map(Some) }
    }

    /// Fails unless the status is 2xx.
    pub(super) fn done(self) -> Result<(), StoreError> {
        if self.is_success() { Ok(()) } else { Err(self.refused()) }
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The server's description of an error, on one line.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// The error for a status that the caller does not expect.
    pub(super) fn refused(&self) -> StoreError {
        let said = if self.said.is_empty() { String::new() } else { format!(": {}", self.said) };
        let advice = match self.status {
            404 => ". The server responds so, too, if the token lacks permissions",
            _ => "",
        };
        StoreError::lasting(format!("{}: the server responded with status {}{said}{advice}", self.asked, self.status))
    }

    pub(super) fn malformed(&self, reason: &str) -> StoreError {
        StoreError::lasting(format!("{}: the response is not what the TFE API responds: {reason}", self.asked))
    }
}

impl Api {
    /// The URL of a resource.
    pub(super) fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// `GET`
    pub(super) fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Reply, StoreError> {
        self.exchange(Method::GET, path, query, None)
    }

    /// `POST`, `PATCH` or `DELETE` with a document.
    pub(super) fn send(&self, method: Method, path: &[&str], document: Option<&Json>) -> Result<Reply, StoreError> {
        self.exchange(method, path, &[], document)
    }

    fn exchange(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        document: Option<&Json>,
    ) -> Result<Reply, StoreError> {
        let url = self.url(path, query);
        let asked = format!("{method} {}", shown(&url));
        let mut request = self.common(Request::new(url)).with_header("accept", JSON_API).at_most(LIST_LIMIT);
        request.token = Some(self.token.clone());
        if method != Method::GET {
            request = request.with_header("content-type", JSON_API);
        }
        request.method = method;
        request.body = document.map(|document| document.to_string().into_bytes());
        let response = respond(&self.client, request)?;
        self.judged(asked, &response)
    }

    /// All items of a list, page by page.
    pub(super) fn list(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Option<Vec<Json>>, StoreError> {
        let (mut items, mut page) = (Vec::new(), 1_u64);
        loop {
            let number = page.to_string();
            let mut query = query.to_vec();
            if page > 1 {
                query.push(("page[number]", &number));
            }
            let reply = self.get(path, &query)?;
            if reply.status == 404 {
                return Ok(None);
            }
            let next = reply.document["meta"]["pagination"]["next-page"].as_u64();
            match reply.data()? {
                Json::Array(found) => items.extend(found),
                _ => return Err(StoreError::lasting("the server responded with one object instead of a list")),
            }
            match next {
                // A server that returns the same page again would never end.
                Some(next) if next > page => page = next,
                _ => return Ok(Some(items)),
            }
        }
    }

    /// The content of a state. Another host than that of the API gets no token: the URL is all that it needs.
    pub(super) fn download(&self, text: &str) -> Result<Vec<u8>, StoreError> {
        let url = self.foreign(text)?;
        let request = Request { visible: Visible::Origin, ..Request::new(url) };
        let asked = format!("GET {}", request.shown());
        let mut request = self.common(request).with_header("accept", "application/json");
        request.token = (request.url.origin() == self.base.origin()).then(|| self.token.clone());
        let response = respond(&self.client, request)?;
        if response.is_success() && response.media_type().as_deref() != Some("text/html") {
            return Ok(response.body);
        }
        Err(self.judged(asked, &response)?.refused())
    }

    /// Uploads the content of a state. The URL is the only credential, as it is for OpenTofu. Failures that may pass are repeated:
    /// the state version that the upload belongs to exists already.
    pub(super) fn upload(&self, text: &str, content: &[u8]) -> Result<(), StoreError> {
        let url = self.foreign(text)?;
        let mut attempt = 0;
        loop {
            let request = Request { visible: Visible::Origin, ..Request::new(url.clone()) };
            let asked = format!("PUT {}", request.shown());
            let mut request = self.common(request).with_header("accept", "application/json, */*");
            request = request.with_header("content-type", "application/octet-stream");
            (request.method, request.body) = (Method::PUT, Some(content.to_vec()));
            let sent = respond(&self.client, request).and_then(|response| self.judged(asked, &response)?.done());
            attempt += 1;
            match sent {
                Err(error) if error.kind == StoreErrorKind::Transient && attempt < self.retries.attempts => {
                    std::thread::sleep(self.retries.pause_after(attempt, error.retry_after));
                }
                sent => return sent,
            }
        }
    }

    /// A URL that the server has made. Its path is a credential.
    fn foreign(&self, text: &str) -> Result<Url, StoreError> {
        let url = self.base.join(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| StoreError::lasting("the server responded with an invalid URL for the state"))?;
        // A server with TLS must not name a URL without TLS.
        match self.base.scheme() == "https" && url.scheme() == "http" {
            true => {
                let url = Visible::Origin.shown(&url);
                Err(StoreError::lasting(format!("the server has the state at {url}, which is not https")))
            }
            false => Ok(url),
        }
    }

    fn common(&self, request: Request) -> Request {
        let request = request.with_header("terraform-version", yuba_state::WRITER_VERSION);
        match self.form {
            Form::Cloud => request.with_header("x-terraform-integration", "cloud"),
            Form::Remote => request,
        }
    }

    /// Sorts out responses that every request treats alike.
    fn judged(&self, asked: String, response: &Response) -> Result<Reply, StoreError> {
        let is_html = response.media_type().is_some_and(|kind| kind == "text/html");
        let (document, said): (Json, String) = match is_html {
            true => (Json::Null, excerpt(response).unwrap_or_default()),
            false => {
                let document: Json = serde_json::from_slice(&response.body).unwrap_or_default();
                let said = errors(&document).or_else(|| excerpt(response)).unwrap_or_default();
                (document, said)
            }
        };
        let header = |name| response.header(name);
        // The header counts in responses of the API only, and an hour is the longest pause.
        let is_api = response.media_type().is_some_and(|kind| kind == JSON_API);
        let seconds = header("x-terraform-snapshot-interval").filter(|_| is_api).and_then(|text| text.parse().ok());
        let interval =
            seconds.filter(|seconds| *seconds > 0).map(|seconds: u64| Duration::from_secs(seconds.min(3600)));
        let api_version = header("tfp-api-version").map(str::to_owned);
        let reply = Reply { asked, status: response.status, document, interval, api_version, said };
        match response.status {
            200..300 if is_html => Err(reply.malformed(&reply.said)),
            200..300 | 400 | 404 | 409 | 412 | 422 => Ok(reply),
            401 => Err(StoreError::lasting(format!(
                "{}: the server does not accept the token for {} (401). Run \"yuba login {}\", or check the token",
                reply.asked, self.host, self.host
            ))),
            _ if response.may_pass() => {
                let mut error = reply.refused();
                error.kind = StoreErrorKind::Transient;
                // Rate limits come with the seconds until the next request.
                let seconds = header("retry-after").or_else(|| header("x-ratelimit-reset"));
                let seconds: Option<f64> = seconds.and_then(|text| text.trim().parse().ok());
                error.retry_after = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                Err(error)
            }
            _ => Err(reply.refused()),
        }
    }
}

/// The errors of a JSON:API document, on one line.
fn errors(document: &Json) -> Option<String> {
    let errors = document.get("errors")?.as_array()?;
    let text = |error: &Json| match (error["title"].as_str(), error["detail"].as_str()) {
        (Some(title), Some(detail)) => Some(format!("{title} ({detail})")),
        (title, detail) => title.or(detail).or(error.as_str()).map(str::to_owned),
    };
    let all: Vec<String> = errors.iter().filter_map(text).collect();
    let line = all.join("; ").split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then(|| line.chars().filter(|c| !c.is_control()).take(500).collect())
}
