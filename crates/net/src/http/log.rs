//! Requests and responses in the log, at debug level.
//!
//! Invariant: no credential is logged. Bodies are not logged at all, URLs lose user and query, and only the values of well-known
//! headers without credentials are logged.

use std::fmt::Write as _;
use std::time::Duration;

use super::{HeaderMap, Request, Visible};

/// Headers whose values are logged. Every other header may carry a credential: users choose names of headers, and so do servers.
const SHOWN: [&str; 48] = [
    "accept",
    "accept-encoding",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "etag",
    "expires",
    "if-match",
    "if-none-match",
    "last-modified",
    "metadata-flavor",
    "retry-after",
    "server",
    "terraform-version",
    "tfp-api-version",
    "transfer-encoding",
    "user-agent",
    "vary",
    "via",
    "x-amz-acl",
    "x-amz-bucket-region",
    "x-amz-checksum-sha256",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-id-2",
    "x-amz-request-id",
    "x-amz-sdk-checksum-algorithm",
    "x-amz-server-side-encryption",
    "x-amz-target",
    "x-amzn-requestid",
    "x-consul-index",
    "x-goog-generation",
    "x-goog-user-project",
    "x-guploader-uploadid",
    "x-ms-blob-type",
    "x-ms-date",
    "x-ms-error-code",
    "x-ms-lease-action",
    "x-ms-request-id",
    "x-ms-version",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-request-id",
];

/// Replacement of the value of any other header.
const REDACTED: &str = "[redacted]";

pub(super) fn request(request: &Request) {
    tracing::debug!(
        method = %request.method,
        url = request.shown(),
        headers = of_request(request),
        "HTTP request"
    );
}

pub(super) fn response(request: &Request, reply: &reqwest::Response, elapsed: Duration) {
    tracing::debug!(
        method = %request.method,
        url = request.visible.shown(reply.url()),
        status = reply.status().as_u16(),
        elapsed_ms = elapsed.as_secs_f64() * 1000.0,
        headers = of_response(request.visible, reply.headers()),
        "HTTP response"
    );
}

pub(super) fn failure(request: &Request, reason: &str, elapsed: Duration) {
    tracing::debug!(
        method = %request.method,
        url = request.shown(),
        elapsed_ms = elapsed.as_secs_f64() * 1000.0,
        reason,
        "HTTP request failed"
    );
}

fn of_request(request: &Request) -> String {
    let mut out = String::new();
    if request.token.is_some() || request.basic.is_some() {
        push(&mut out, request.visible, "authorization", "");
    }
    for (name, value) in &request.headers {
        push(&mut out, request.visible, name, value);
    }
    out
}

fn of_response(visible: Visible, headers: &HeaderMap) -> String {
    let mut out = String::new();
    for (name, value) in headers {
        push(&mut out, visible, name.as_str(), value.to_str().unwrap_or("(not text)"));
    }
    out
}

/// Appends `name: value`, without the value unless the header is known.
fn push(out: &mut String, visible: Visible, name: &str, value: &str) {
    let lower = name.to_ascii_lowercase();
    // The query of a redirect may be a signature.
    let location = (lower == "location").then(|| super::Url::parse(value).ok()).flatten();
    let location = location.map(|url| visible.shown(&url));
    let value = match location.as_deref() {
        Some(location) => location,
        None if SHOWN.contains(&lower.as_str()) => value,
        None => REDACTED,
    };
    let separator = if out.is_empty() { "" } else { "; " };
    let _ = write!(out, "{separator}{lower}: {value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_of_known_headers_are_logged() {
        let url = super::super::Url::parse("https://h.example/path?sig=hush").expect("it is a URL");
        let request = Request { basic: Some(("ann".to_owned(), crate::Secret::new("hush"))), ..Request::new(url) };
        let names = ["apikey", "X-PAT", "X-Team", "x-ms-lease-id", "Private-Token", "x-amz-security-token"];
        let request = names.into_iter().fold(request, |request, name| request.with_header(name, "hush"));
        let request = request.with_header("Content-Type", "application/json");
        let line = of_request(&request);
        assert!(!line.contains("hush") && line.contains("x-pat: [redacted]"), "{line}");
        assert!(line.ends_with("; content-type: application/json"), "{line}");
        let mut headers = HeaderMap::new();
        for (name, value) in [("set-cookie", "hush"), ("location", "https://x.example/a?hush"), ("etag", "\"one\"")] {
            headers.append(name, value.parse().expect("it is a value"));
        }
        let line = of_response(Visible::Path, &headers);
        assert_eq!(line, "set-cookie: [redacted]; location: https://x.example/a?...; etag: \"one\"");
        let line = of_response(Visible::Origin, &headers);
        assert!(line.contains("location: https://x.example/...;"), "{line}");
        let printed = format!("{request:?}");
        assert!(!printed.contains("hush") && printed.contains("https://h.example/path?..."), "{printed}");
    }
}
