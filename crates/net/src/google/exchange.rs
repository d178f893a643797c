//! Requests to token endpoints, and what their failures mean.

use std::time::{Duration, SystemTime};

use serde_json::Value as Json;

use super::{GoogleError, Token};
use crate::Secret;
use crate::http::{HttpClient, HttpError, Request, Response, Url, shown};

/// The longest response of a token endpoint.
const LIMIT: u64 = 1 << 20;
/// Characters of a message of the server that an error contains.
const EXCERPT: usize = 300;

/// A URL that a credential names.
pub(super) fn endpoint(text: &str, what: &str) -> Result<Url, GoogleError> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| GoogleError::lasting(format!("{what} is not an http or https URL: {text:?}")))
}

/// Sends a request. Any other status than 2xx is an error.
pub(super) fn send(client: &HttpClient, request: Request) -> Result<Response, GoogleError> {
    let request = request.at_most(LIMIT);
    let failed = |error: HttpError| GoogleError {
        reason: format!("{} {}: {}", request.method, error.url, error.reason),
        may_pass: error.may_pass,
    };
    let response = client.get(&request).map_err(failed)?;
    match response.is_success() {
        true => Ok(response),
        false => Err(refused(&request, &response)),
    }
}

/// Requests a token.
pub(super) fn token(client: &HttpClient, request: Request) -> Result<Token, GoogleError> {
    let url = shown(&request.url);
    token_of(&url, &send(client, request)?)
}

/// The token of a response with `access_token` and `expires_in`.
pub(super) fn token_of(url: &str, response: &Response) -> Result<Token, GoogleError> {
    let response = json(url, response)?;
    let value = response.get("access_token").and_then(Json::as_str).filter(|token| !token.is_empty());
    let Some(value) = value else {
        return Err(GoogleError::lasting(format!("the response of {url} has no \"access_token\"")));
    };
    let seconds = response.get("expires_in").and_then(seconds);
    let Some(seconds) = seconds.filter(|seconds| *seconds > 0) else {
        return Err(GoogleError::lasting(format!("the response of {url} has no valid \"expires_in\"")));
    };
    Ok(Token { value: Secret::new(value), expires: SystemTime::now().checked_add(Duration::from_secs(seconds)) })
}

/// Some servers write the number as a string.
fn seconds(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The document in a response.
pub(super) fn json(url: &str, response: &Response) -> Result<Json, GoogleError> {
    serde_json::from_slice(&response.body)
        .map_err(|_| GoogleError::lasting(format!("the response of {url} is not valid JSON")))
}

/// A refusal in words: the request, the status, the code of the server, and what to do about it.
fn refused(request: &Request, response: &Response) -> GoogleError {
    let document: Json = serde_json::from_slice(&response.body).unwrap_or_default();
    let text = |value: &Json| value.as_str().map(excerpt);
    let (code, message) = match &document["error"] {
        // APIs of Google.
        Json::Object(error) => (error.get("status").and_then(text), error.get("message").and_then(text)),
        // OAuth 2.0.
        error => (text(error), text(&document["error_description"])),
    };
    let said = [code.clone(), message.clone()].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let said = if said.is_empty() { said } else { format!(": {said}") };
    let advice = advice(code.as_deref().unwrap_or_default(), message.as_deref().unwrap_or_default())
        .map(|advice| format!(". {advice}"))
        .unwrap_or_default();
    let (method, url, status) = (&request.method, shown(&request.url), response.status_text());
    GoogleError {
        reason: format!("{method} {url}: the server responded \"{status}\"{said}{advice}"),
        may_pass: response.may_pass(),
    }
}

/// Advice for a code of a token endpoint.
fn advice(code: &str, message: &str) -> Option<&'static str> {
    match code {
        "invalid_grant" if message.contains("short-lived token") || message.contains("iat and exp") => {
            Some("Check the clock of this machine: it differs from Google's by more than the token allows")
        }
        "invalid_grant" if message.contains("JWT Signature") || message.contains("account not found") => {
            Some("The key or the service account was deleted or disabled. Create a new key")
        }
        "invalid_grant" => Some("The credentials expired or were revoked. Run `gcloud auth application-default login`"),
        "invalid_client" | "unauthorized_client" => Some("Check client_id and client_secret of the credentials"),
        "PERMISSION_DENIED" => Some(
            "Impersonation requires the role roles/iam.serviceAccountTokenCreator on the service account, and the IAM \
             Service Account Credentials API",
        ),
        "NOT_FOUND" => Some("Check the email address of the service account"),
        _ => None,
    }
}

/// The beginning of a text of a server, on one line.
fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let line: String = line.chars().filter(|character| !character.is_control()).take(EXCERPT).collect();
    line.trim_end_matches('.').to_owned()
}
