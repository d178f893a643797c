//! Requests and responses in the log, at debug level.
//!
//! Invariant: no credential is logged. Bodies are not logged at all, URLs lose user and query, and headers that may carry a
//! credential lose their value.

use std::fmt::Write as _;
use std::time::Duration;

use super::{HeaderMap, Request, shown};

/// Parts of the names of headers whose values are credentials.
const SECRET: [&str; 9] =
    ["authorization", "cookie", "token", "secret", "password", "credential", "signature", "-key", "x-auth"];

/// Replacement of the value of such a header.
const REDACTED: &str = "[redacted]";

pub(super) fn request(request: &Request) {
    tracing::debug!(
        method = %request.method,
        url = shown(&request.url),
        headers = of_request(request),
        "HTTP request"
    );
}

pub(super) fn response(request: &Request, reply: &reqwest::Response, elapsed: Duration) {
    tracing::debug!(
        method = %request.method,
        url = shown(reply.url()),
        status = reply.status().as_u16(),
        elapsed_ms = elapsed.as_secs_f64() * 1000.0,
        headers = of_response(reply.headers()),
        "HTTP response"
    );
}

pub(super) fn failure(request: &Request, reason: &str, elapsed: Duration) {
    tracing::debug!(
        method = %request.method,
        url = shown(&request.url),
        elapsed_ms = elapsed.as_secs_f64() * 1000.0,
        reason,
        "HTTP request failed"
    );
}

fn of_request(request: &Request) -> String {
    let mut out = String::new();
    if request.token.is_some() || request.basic.is_some() {
        push(&mut out, "authorization", "");
    }
    for (name, value) in &request.headers {
        push(&mut out, name, value);
    }
    out
}

fn of_response(headers: &HeaderMap) -> String {
    let mut out = String::new();
    for (name, value) in headers {
        push(&mut out, name.as_str(), value.to_str().unwrap_or("(not text)"));
    }
    out
}

/// Appends `name: value`, without the value if it may be a credential.
fn push(out: &mut String, name: &str, value: &str) {
    let lower = name.to_ascii_lowercase();
    let is_secret = SECRET.iter().any(|part| lower.contains(part));
    // The query of a redirect may be a signature.
    let location = (lower == "location").then(|| super::Url::parse(value).map(|url| shown(&url)).unwrap_or_default());
    let value = if is_secret { REDACTED } else { location.as_deref().unwrap_or(value) };
    let separator = if out.is_empty() { "" } else { "; " };
    let _ = write!(out, "{separator}{lower}: {value}");
}
