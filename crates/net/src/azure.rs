//! Azure: clouds and their endpoints, identities and their tokens, Shared Key signatures of the storage services.
//!
//! [`AzureCloud`] has the endpoints of an environment. [`IdentitySettings::select`] finds the identity that a configuration describes and
//! returns its [`TokenSource`], which renews tokens before they expire. [`SharedKey`] signs requests to storage services, and
//! [`account_key`] requests the key of a storage account from the resource manager.
//!
//! Invariant: requests with a credential follow no redirect, and no error contains a credential.
//! Not here: blobs (`backend`), vaults (`backend`).

mod accounts;
mod certificate;
mod cli;
mod cloud;
mod date;
mod der;
mod identity;
mod managed;
mod pkcs12;
mod shared_key;
#[cfg(test)]
mod tests;
mod tokens;

use std::fmt;
use std::path::Path;

use serde_json::Value as Json;

use crate::Environment;
use crate::google::ReadFile;
use crate::http::{ClientOptions, HttpClient, Proxies, Redirects, Request, Response, Url, shown};

pub use accounts::{StorageAccount, account_key};
pub use cloud::AzureCloud;
pub use date::{http_date, parse_http_date};
pub use identity::{IdentityKind, IdentitySettings, Unsuitable};
pub use shared_key::SharedKey;
pub use tokens::TokenSource;

/// The scope of tokens for the storage services, in every cloud.
pub const STORAGE_SCOPE: &str = "https://storage.azure.com/.default";
/// Size limit of responses with tokens and keys.
const LIMIT: u64 = 1 << 20;
/// Characters of an error description that a message contains.
const EXCERPT: usize = 400;

/// The part of the outside that authentication uses.
#[derive(Clone)]
pub struct Outside {
    client: HttpClient,
    direct: HttpClient,
    environment: Environment,
    read: ReadFile,
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("environment", &self.environment).finish_non_exhaustive()
    }
}

impl Outside {
    /// With the limits, the authorities and the proxies of a client. Redirects are not followed.
    pub fn new(client: &HttpClient, environment: Environment, read: ReadFile) -> Outside {
        let options = ClientOptions { redirects: Redirects::Return, ..client.options().clone() };
        // Endpoints of managed identities are on this machine or its link. A proxy would see the token.
        let direct = ClientOptions { proxies: Some(Proxies::default()), ..options.clone() };
        Outside { client: client.with_options(options), direct: client.with_options(direct), environment, read }
    }

    /// The client, which follows no redirects.
    pub fn client(&self) -> &HttpClient {
        &self.client
    }

    /// The content of a text file.
    fn text(&self, path: &str) -> Result<String, String> {
        let bytes = (self.read)(Path::new(path)).map_err(|error| format!("failed to read {path}: {error}"))?;
        String::from_utf8(bytes).map_err(|_| format!("{path} is not a text file"))
    }
}

/// Reason why a token or a key is not available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AzureError {
    /// The reason, as the second half of a sentence, without secrets.
    pub reason: String,
    /// Whether the same request may succeed later.
    pub may_pass: bool,
}

impl AzureError {
    fn lasting(reason: impl Into<String>) -> AzureError {
        AzureError { reason: reason.into(), may_pass: false }
    }
}

impl fmt::Display for AzureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for AzureError {}

/// Parses a URL that a configuration or an environment variable gives.
fn url(text: &str, name: &str) -> Result<Url, AzureError> {
    let parsed = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    parsed.ok_or_else(|| AzureError::lasting(format!("{name} is not a valid URL")))
}

/// Sends a request and returns the JSON object of a successful response. Other responses are errors with what they explain.
fn json(client: &HttpClient, request: &Request) -> Result<Json, AzureError> {
    let response = response(client, request)?;
    if !response.is_success() {
        return Err(refused(request, &response));
    }
    let (method, url) = (&request.method, shown(&request.url));
    let parsed = serde_json::from_slice::<Json>(&response.body).ok().filter(Json::is_object);
    parsed.ok_or_else(|| AzureError::lasting(format!("{method} {url}: the response is not a JSON object")))
}

fn response(client: &HttpClient, request: &Request) -> Result<Response, AzureError> {
    let failed = |error: crate::http::HttpError| AzureError {
        reason: format!("{} {}: {}", request.method, error.url, error.reason),
        may_pass: error.may_pass,
    };
    client.get(&Request { limit: Some(LIMIT), ..request.clone() }).map_err(failed)
}

/// A response without success: the request, the status, and code and description of the error.
fn refused(request: &Request, response: &Response) -> AzureError {
    let (method, url, status) = (&request.method, shown(&request.url), response.status_text());
    let explained = explanation(&response.body).map(|text| format!(": {text}")).unwrap_or_default();
    AzureError {
        reason: format!("{method} {url}: the server responded \"{status}\"{explained}"),
        may_pass: response.may_pass(),
    }
}

/// Code and description of an error: `{"error": "code", "error_description": ".."}` of login endpoints, `{"error": {"code": ..,
/// "message": ..}}` of the resource manager and of vaults.
pub fn explanation(body: &[u8]) -> Option<String> {
    let json: Json = serde_json::from_slice(body).ok()?;
    let text = |json: &Json, name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
    let (code, description) = match json.get("error") {
        Some(error @ Json::Object(_)) => (text(error, "code"), text(error, "message")),
        _ => (text(&json, "error"), text(&json, "error_description").or_else(|| text(&json, "message"))),
    };
    // A login endpoint appends lines with trace ids.
    let description = description.map(|text| text.lines().next().unwrap_or_default().to_owned());
    let parts: Vec<String> = [code, description].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let line: String = parts.join(": ").chars().filter(|c| !c.is_control()).take(EXCERPT).collect();
    (!line.is_empty()).then_some(line)
}
