//! Arguments, layout and requests of the consul backend. Tests on a real agent are in `tests/servers/consul.rs`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use yuba_net::Environment;
use yuba_testkit::{Asked, Host, Reply};

use super::layout::{CHUNK, Chunks, Compression, expanded, md5_hex};
use crate::kit::store::{LockId, Precondition, Store, StoreErrorKind, StoreVersion, UnlockRefusal, Write};
use crate::{BackendConfiguration, BackendEnvironment, Backends, LockHolder, LockRefusal, Storage};

fn try_open(arguments: &Json, variables: &[(&str, &str)]) -> Result<Arc<dyn Store>, Vec<String>> {
    let environment: Environment = variables.iter().copied().collect();
    let backends = Backends::new(BackendEnvironment::new(environment, "data"));
    let kind = backends.find("consul").expect("it is in the table");
    match backends.open(&BackendConfiguration::of_json(kind, arguments)) {
        Ok(Storage::Store(store)) => Ok(store),
        Ok(_) => unreachable!("it is not a file"),
        Err(problems) => Err(problems.iter().map(|problem| problem.summary.to_string()).collect()),
    }
}

fn described(arguments: &Json, variables: &[(&str, &str)]) -> String {
    try_open(arguments, variables).expect("the arguments are valid").describe("dev")
}

#[test]
fn addresses_come_from_arguments_and_environment() {
    let path = json!({ "path": "a/b" });
    assert_eq!(described(&path, &[]), "http://localhost:8500/v1/kv/a/b-env:dev");
    assert_eq!(described(&path, &[("CONSUL_HTTP_ADDR", "c.example:1")]), "http://c.example:1/v1/kv/a/b-env:dev");
    let secure = [("CONSUL_HTTP_ADDR", "http://c.example:1"), ("CONSUL_HTTP_SSL", "true")];
    assert_eq!(described(&path, &secure), "https://c.example:1/v1/kv/a/b-env:dev");
    let named =
        json!({ "path": "a/b", "address": "https://d.example/consul/", "scheme": "http", "datacenter": "east" });
    let variables = [("CONSUL_HTTP_ADDR", "c.example"), ("CONSUL_NAMESPACE", "n"), ("CONSUL_PARTITION", "p")];
    assert_eq!(described(&named, &variables), "https://d.example/consul/v1/kv/a/b-env:dev?dc=east&ns=n&partition=p");
    let invalid = "Invalid backend configuration argument";
    for (arguments, variables, summary) in [
        (json!({}), vec![], invalid),
        (json!({ "path": "/a" }), vec![], invalid),
        (json!({ "path": "a/../b" }), vec![], invalid),
        (json!({ "path": "./a" }), vec![], invalid),
        (json!({ "path": "a/." }), vec![], invalid),
        (json!({ "path": "a", "scheme": "ftp" }), vec![], invalid),
        (json!({ "path": "a", "address": "ftp://x" }), vec![], invalid),
        (json!({ "path": "a", "address": "x?y" }), vec![], invalid),
        (json!({ "path": "a", "address": "unix:///run/consul" }), vec![], "Backend not available"),
        (json!({ "path": "a", "ca_file": "missing.pem" }), vec![], invalid),
        (json!({ "path": "a", "cert_file": "c.pem" }), vec![], "both client cert and client key must be provided"),
        (json!({ "path": "a" }), vec![("CONSUL_CLIENT_KEY", "k")], "both client cert and client key must be provided"),
        (json!({ "path": "a" }), vec![("CONSUL_HTTP_SSL_VERIFY", "maybe")], invalid),
        (json!({ "path": "a" }), vec![("CONSUL_HTTP_TOKEN_FILE", "missing")], invalid),
        (json!({ "path": "a" }), vec![("CONSUL_CACERT", "missing")], invalid),
        (json!({ "path": "a" }), vec![("CONSUL_CAPATH", "missing")], invalid),
    ] {
        assert_eq!(
            try_open(&arguments, &variables).map(drop),
            Err(vec![summary.to_owned()]),
            "{arguments} {variables:?}"
        );
    }
}

#[test]
fn credentials_are_sent_and_never_shown() {
    let host = Host::start(|_| Reply { status: 403, ..Reply::ok("Permission denied") });
    let arguments = json!({ "path": "p", "address": host.name(), "access_token": "hush", "http_auth": "ann:pw:x" });
    let store = try_open(&arguments, &[("CONSUL_HTTP_TOKEN", "other")]).expect("the arguments are valid");
    let error = store.read("default").expect_err("it is denied");
    let asked = &host.asked()[0];
    assert_eq!((asked.method.as_str(), asked.target.as_str()), ("GET", "/v1/kv/p"));
    assert_eq!(asked.header("x-consul-token"), Some("hush"));
    assert_eq!(asked.header("authorization"), Some("Basic YW5uOnB3Ong="));
    assert!(error.kind == StoreErrorKind::Lasting && error.reason.contains("key_prefix"), "{error}");
    let printed = format!("{store:?} {error} {}", store.describe("default"));
    assert!(!printed.contains("hush") && !printed.contains("pw"), "{printed}");
    let from_environment = try_open(
        &json!({ "path": "p" }),
        &[("CONSUL_HTTP_ADDR", &host.name()), ("CONSUL_HTTP_TOKEN", "other"), ("CONSUL_HTTP_AUTH", "bob")],
    );
    assert!(from_environment.expect("the arguments are valid").workspaces().is_err());
    let asked = &host.asked()[1];
    assert_eq!(asked.target, "/v1/kv/p-env:?keys=&separator=%2F");
    assert_eq!(
        (asked.header("x-consul-token"), asked.header("authorization")),
        (Some("other"), Some("Basic Ym9iOg=="))
    );
}

/// An agent with one key, whose transactions have a scripted outcome.
fn agent(transaction: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> (Host, Arc<dyn Store>) {
    let host = Host::start(move |asked| match (asked.method.as_str(), asked.path()) {
        ("PUT", "/v1/txn") => transaction(asked),
        ("PUT", "/v1/session/create") => Reply::json(r#"{"ID":"session-1"}"#),
        ("PUT", _) => Reply::json("true"),
        ("GET", "/v1/kv/p") => Reply::json(r#"[{"Key":"p","Flags":0,"Value":"e30=","ModifyIndex":7}]"#),
        _ => Reply::status(404).with("X-Consul-Index", "7"),
    });
    let store = try_open(&json!({ "path": "p", "address": host.name() }), &[]).expect("the arguments are valid");
    (host, store)
}

fn operations(asked: &Asked) -> Vec<Json> {
    let json: Json = serde_json::from_str(&asked.body).expect("it is JSON");
    json.as_array().expect("it is a list").iter().map(|operation| operation["KV"].clone()).collect()
}

#[test]
fn writes_compare_the_index_and_the_session() {
    let (host, store) = agent(|_| {
        Reply::json(r#"{"Results":[{"KV":{"Key":"p/.lock","ModifyIndex":3}},{"KV":{"Key":"p","ModifyIndex":9}}]}"#)
    });
    assert_eq!(
        store.read("default").expect("it exists").expect("it has content").version,
        StoreVersion("7".to_owned())
    );
    let (version, lock) = (StoreVersion("7".to_owned()), LockId("s".to_owned()));
    let write = |precondition, lock| store.write("default", &Write { content: b"{}", precondition, lock });
    assert_eq!(write(Precondition::Version(&version), Some(&lock)), Ok(StoreVersion("9".to_owned())));
    let sent = operations(host.asked().last().expect("it was sent"));
    assert_eq!(sent[0], json!({ "Verb": "check-session", "Key": "p/.lock", "Session": "s" }));
    assert_eq!(sent[1], json!({ "Verb": "cas", "Key": "p", "Value": "e30=", "Index": 7 }));
    write(Precondition::Absent, None).expect("the agent accepts it");
    let sent = operations(host.asked().last().expect("it was sent"));
    assert_eq!(sent, [json!({ "Verb": "cas", "Key": "p", "Value": "e30=", "Index": 0 })]);
}

#[test]
fn only_consul_says_that_a_key_does_not_exist() {
    for (index, is_absent) in [(Some("7"), true), (None, false)] {
        let host = Host::start(move |_| match index {
            Some(index) => Reply::status(404).with("X-Consul-Index", index),
            None => Reply { status: 404, ..Reply::ok("404 page not found") },
        });
        let store = try_open(&json!({ "path": "p", "address": host.name() }), &[]).expect("the arguments are valid");
        assert_eq!(store.read("default").ok(), is_absent.then_some(None));
        assert_eq!(store.workspaces().ok(), is_absent.then(Vec::new));
    }
}

#[test]
fn a_renewal_without_response_ends_before_the_session() {
    let host = Host::start(|_| Reply::stall());
    let api = super::api::Api {
        client: yuba_net::http::HttpClient::new(Default::default()),
        base: yuba_net::http::Url::parse(&host.url("")).expect("it is a URL"),
        parameters: Vec::new(),
        token: None,
        basic: None,
    };
    let started = std::time::Instant::now();
    let error = api.renew_session("s").expect_err("there is no response");
    assert!(error.kind == StoreErrorKind::Transient && started.elapsed().as_secs() < 15, "{error}");
}

#[test]
fn failed_transactions_are_conflicts_or_lost_locks() {
    let outcome = |status: u16, body: &'static str, lock: Option<&str>| {
        let (_host, store) = agent(move |_| Reply { status, ..Reply::json(body) });
        let (version, lock) = (StoreVersion("7".to_owned()), lock.map(|id| LockId(id.to_owned())));
        let write = Write { content: b"{}", precondition: Precondition::Version(&version), lock: lock.as_ref() };
        store.write("default", &write).map_err(|error| error.kind)
    };
    let stale = r#"{"Errors":[{"OpIndex":1,"What":"failed index check"}]}"#;
    let lost = r#"{"Errors":[{"OpIndex":0,"What":"failed session check"}]}"#;
    assert_eq!(outcome(409, stale, Some("s")), Err(StoreErrorKind::Conflict));
    assert_eq!(outcome(409, lost, Some("s")), Err(StoreErrorKind::LockLost));
    assert_eq!(outcome(409, lost, None), Err(StoreErrorKind::Conflict));
    let denied = r#"{"Errors":[{"OpIndex":0,"What":"Permission denied"}]}"#;
    assert_eq!(outcome(409, denied, None), Err(StoreErrorKind::Lasting));
    assert_eq!(outcome(500, "No cluster leader", None), Err(StoreErrorKind::Transient));
    assert_eq!(outcome(500, "rpc error: Permission denied", None), Err(StoreErrorKind::Lasting));
    assert_eq!(outcome(200, "<html>", None), Err(StoreErrorKind::Lasting));
    // The first transaction is too large, and so is the list of chunks.
    assert_eq!(outcome(413, "Request body too large", None), Err(StoreErrorKind::Lasting));
}

#[test]
fn an_attempt_to_lock_continues_with_its_session() {
    let holder = LockHolder::ourselves("OperationTypeApply", &Environment::default());
    let count = std::sync::atomic::AtomicUsize::new(0);
    let (host, store) = agent(move |_| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Reply { status: 500, ..Reply::ok("No cluster leader") },
        _ => Reply::json(r#"{"Results":[]}"#),
    });
    let refused = store.lock("default", &holder);
    assert!(matches!(refused, Err(LockRefusal::Store(error)) if error.kind == StoreErrorKind::Transient));
    let locked = store.lock("default", &holder).expect("the agent accepts it");
    assert_eq!(locked, Some(LockId("session-1".to_owned())));
    assert_eq!((host.count("/v1/session/create"), host.count("/v1/session/destroy/session-1")), (1, 0));
    let asked = host.asked();
    let sent = operations(asked.last().expect("it was sent"));
    assert_eq!((&sent[0]["Verb"], &sent[0]["Flags"]), (&json!("lock"), &json!(3_304_740_253_564_472_344_u64)));
    assert_eq!((&sent[1]["Verb"], &sent[1]["Key"]), (&json!("set"), &json!("p/.lockinfo")));
}

#[test]
fn what_is_left_of_a_broken_lock_is_removed_only_if_it_has_not_changed() {
    let entry = |key: &str, index: u64, value: &str| json!({ "Key": key, "Value": STANDARD.encode(value), "Flags": 3_304_740_253_564_472_344_u64, "ModifyIndex": index });
    let left = json!([entry("p/.lock", 7, ""), entry("p/.lockinfo", 5, r#"{"ID":"gone"}"#)]).to_string();
    let host = Host::start(move |asked| match asked.path() {
        "/v1/txn" => Reply::json(r#"{"Results":[]}"#),
        _ => Reply::json(&left),
    });
    let arguments = json!({ "path": "p", "address": host.name() });
    let store = try_open(&arguments, &[]).expect("the arguments are valid");
    assert!(store.unlock("default", &LockId("gone".to_owned())).is_ok());
    let asked = host.asked();
    let sent = operations(asked.iter().find(|asked| asked.path() == "/v1/txn").expect("it is removed"));
    let sent: Vec<_> = sent.iter().map(|one| (one["Verb"].clone(), one["Key"].clone(), one["Index"].clone())).collect();
    let expected = [("p/.lock", 7), ("p/.lockinfo", 5)];
    assert_eq!(sent, expected.map(|(key, index)| (json!("delete-cas"), json!(key), json!(index))));
}

#[test]
fn the_lock_of_another_session_is_refused_and_not_broken() {
    let lock = |flags: u64| {
        json!([{ "Key": "p/.lock", "Flags": flags, "Value": null, "Session": "other", "ModifyIndex": 7 },
               { "Key": "p/.lockinfo", "Flags": 0, "Value": STANDARD.encode(r#"{"ID":"other","Who":"ann@h"}"#), "ModifyIndex": 8 }])
    };
    let store_with = |flags: u64| {
        let text = lock(flags).to_string();
        let host = Host::start(move |asked| match asked.path() {
            "/v1/kv/p/.lock" => Reply::json(&text),
            "/v1/session/create" => Reply::json(r#"{"ID":"session-1"}"#),
            _ => Reply::json("true"),
        });
        let store = try_open(&json!({ "path": "p", "address": host.name() }), &[]).expect("the arguments are valid");
        (host, store)
    };
    let holder = LockHolder::ourselves("OperationTypeApply", &Environment::default());
    let (host, store) = store_with(3_304_740_253_564_472_344);
    let refused = store.lock("default", &holder);
    assert!(
        matches!(&refused, Err(LockRefusal::Held { holder: Some(present), .. }) if present.who == "ann@h"),
        "{refused:?}"
    );
    let refused = store.unlock("default", &LockId("ours".to_owned()));
    assert!(matches!(&refused, Err(UnlockRefusal::OtherLock(Some(present))) if present.id == "other"), "{refused:?}");
    assert!(host.asked().iter().all(|asked| asked.method == "GET"), "nothing is changed");
    // A key that another program uses for something else.
    let (host, store) = store_with(1);
    let refused = store.lock("default", &holder);
    assert!(
        matches!(&refused, Err(LockRefusal::Store(error)) if error.reason.contains("is not a lock")),
        "{refused:?}"
    );
    assert!(host.asked().iter().all(|asked| asked.method == "GET"), "nothing is changed");
}

#[test]
fn chunks_that_do_not_have_the_recorded_sum_are_damaged() {
    let chunk = "p/tfstate.0123456789abcdef0123456789abcdef/0";
    let list = json!({ "current-hash": "0123456789abcdef0123456789abcdef", "chunks": [chunk] }).to_string();
    let entry =
        |key: &str, value: &str| json!([{ "Key": key, "Flags": 0, "Value": STANDARD.encode(value), "ModifyIndex": 7 }]);
    let (state, part) = (entry("p", &list).to_string(), entry(chunk, "{}").to_string());
    let host = Host::start(move |asked| match asked.path() {
        "/v1/kv/p" => Reply::json(&state),
        _ => Reply::json(&part),
    });
    let store = try_open(&json!({ "path": "p", "address": host.name() }), &[]).expect("the arguments are valid");
    let error = store.read("default").expect_err("the sum is another one");
    assert!(error.kind == StoreErrorKind::Lasting && error.reason.contains("MD5 sum"), "{error}");
}

#[test]
fn a_delayed_lock_can_be_tried_again() {
    let holder = LockHolder::ourselves("OperationTypeApply", &Environment::default());
    let delayed = r#"{"Errors":[{"OpIndex":0,"What":"failed to lock key \"p/.lock\" due to lock delay"}]}"#;
    let (host, store) = agent(move |_| Reply { status: 409, ..Reply::json(delayed) });
    let refused = store.lock("default", &holder).expect_err("it is delayed");
    assert!(refused.may_pass() && format!("{refused:?}").contains("5 seconds"), "{refused:?}");
    assert_eq!(host.count("/v1/session/destroy/session-1"), 1);
}

#[test]
fn large_states_are_cut_into_chunks() {
    let payload = vec![b'x'; CHUNK * 2 + 1];
    let chunks = Chunks::of("a/b/", &payload, "0123456789abcdef0123456789abcdef");
    let keys: Vec<String> = (0..3).map(|n| format!("a/b/tfstate.0123456789abcdef0123456789abcdef/{n}")).collect();
    assert_eq!(chunks.keys, keys);
    assert_eq!(Chunks::parse(&chunks.to_json()), Ok(Some(chunks)));
    assert_eq!(Chunks::parse(br#"{"version":4,"outputs":{"current-hash":"x"}}"#), Ok(None));
    assert_eq!(Chunks::parse(b"\x1f\x8b"), Ok(None));
    for malformed in [
        r#"{"current-hash":1}"#,
        r#"{"current-hash":"x","chunks":[]}"#,
        r#"{"current-hash":"0123456789abcdef0123456789abcdef","chunks":[1]}"#,
    ] {
        assert!(Chunks::parse(malformed.as_bytes()).is_err(), "{malformed}");
    }
    assert_eq!(md5_hex(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
}

#[test]
fn compressed_states_are_expanded() {
    let compressed = Compression::Gzip.applied(b"{\"version\":4}").into_owned();
    assert_eq!(compressed.first(), Some(&0x1f));
    assert_eq!(expanded(compressed.clone()), Ok(b"{\"version\":4}".to_vec()));
    assert!(expanded(compressed[..compressed.len() - 6].to_vec()).is_err());
    assert_eq!(expanded(b"{}".to_vec()), Ok(b"{}".to_vec()));
}
