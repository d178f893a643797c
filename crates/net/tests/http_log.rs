//! The log of requests at debug level. A process of its own: other threads without a subscriber would switch events
//! off.

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use yuba_testkit::{Host, Reply};

use yuba_net::Secret;
use yuba_net::http::{HttpClient, HttpSettings, Request, Url};

/// Gathers events as text.
#[derive(Clone, Default)]
struct Gathered(Arc<Mutex<String>>);

impl Visit for Gathered {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut gathered = self.0.lock().expect("no thread panics");
        gathered.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl Subscriber for Gathered {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("yuba_net") && *metadata.level() == Level::DEBUG
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
            .expect_err("the port is closed");
    });
    let text = gathered.0.lock().expect("no thread panics").clone();
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
