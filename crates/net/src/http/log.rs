//! Requests and responses in the log, at debug level under the target `yuba::net`.
//!
//! Invariant: no credential is logged. Bodies are not logged at all, URLs lose user and query, and headers that may carry a
//! credential lose their value.

use std::fmt::Write as _;
use std::time::Duration;

use super::{HeaderMap, Request, shown};

/// Parts of the names of headers whose values are credentials.
const SECRET: [&str; 9] =
    ["authorization", "cookie", "token", "secret", "password", "credential", "signature", "-key", "x-auth"];

/// What stands for the value of such a header.
const REDACTED: &str = "[redacted]";

pub(super) fn request(request: &Request) {
    tracing::debug!(
        target: "yuba::net",
        method = %request.method,
        url = shown(&request.url),
        headers = of_request(request),
        "HTTP request"
    );
}

pub(super) fn response(request: &Request, reply: &reqwest::Response, elapsed: Duration) {
    tracing::debug!(
        target: "yuba::net",
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
        target: "yuba::net",
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

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};
    use yuba_testkit::{Host, Reply};

    use crate::Secret;
    use crate::http::{HttpClient, HttpSettings, Request, Url};

    /// Gathers events as text.
    #[derive(Clone, Default)]
    struct Gathered(Arc<Mutex<String>>);

    impl Visit for Gathered {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            let mut gathered = self.0.lock().expect("nobody panics");
            gathered.push_str(&format!("{}={value:?} ", field.name()));
        }
    }

    impl Subscriber for Gathered {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "yuba::net" && *metadata.level() == Level::DEBUG
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn requests_and_responses_are_logged_without_credentials() {
        let host = Host::start(|_| {
            Reply::ok("hush-body")
                .with("Set-Cookie", "hush-cookie")
                .with("X-Request-Id", "r-7")
                .with("X-Vault-Token", "hush")
        });
        let gathered = Gathered::default();
        let url = format!("{}?signature=hush-query", host.url("/state").replace("http://", "http://user:hush-user@"));
        let request = Request::new(Url::parse(&url).expect("it is a URL"))
            .with_token(Some(Secret::new("hush-token")))
            .with_header("accept", "application/json")
            .with_header("x-amz-security-token", "hush-security");
        tracing::subscriber::with_default(gathered.clone(), || {
            let client = HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() });
            client.get(&request).expect("the host responds");
            client
                .get(&Request::new(Url::parse("http://127.0.0.1:1/gone?x=hush").expect("it is a URL")))
                .expect_err("nobody listens");
        });
        let text = gathered.0.lock().expect("nobody panics").clone();
        assert!(!text.contains("hush"), "{text}");
        for part in [
            "HTTP request ",
            "accept: application/json",
            "authorization: [redacted]",
            "/state?...",
            "status=200",
            "x-request-id: r-7",
            "set-cookie: [redacted]",
            "x-vault-token: [redacted]",
            "HTTP request failed",
            "elapsed_ms=",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }
}
