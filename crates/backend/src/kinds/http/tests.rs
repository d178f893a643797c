//! Requests of the http backend, and what it makes of responses. Expectations are requests that OpenTofu 1.12.6 was seen to send.

mod certificates;
mod faults;

use std::sync::Arc;

use serde_json::{Value as Json, json};
use yuba_net::Environment;
use yuba_testkit::{Asked, Host, Reply};

use crate::kit::store::StoreErrorKind::{Conflict, Lasting, LockLost, NoWorkspaces, Transient};
use crate::kit::store::{LockId, Precondition, Store, StoreVersion, UnlockRefusal, Write};
use crate::{BackendConfiguration, BackendEnvironment, Backends, LockHolder, LockRefusal, Storage};

/// A lock as OpenTofu sends it, with its digest by `openssl md5`.
const LOCK: &str = r#"{"ID":"a144ca13-5bfb-28bd-4c10-a6d8d5e936e8","Operation":"OperationTypeApply","Info":"","Who":"user@host","Version":"1.12.6","Created":"2026-11-17T12:40:26.159874758Z","Path":""}"#;
const LOCK_MD5: &str = "TAkdhjNMjIQCZyR5X0Nd+A==";
const LOCK_ID: &str = "a144ca13-5bfb-28bd-4c10-a6d8d5e936e8";

fn holder() -> LockHolder {
    LockHolder::from_json(LOCK.as_bytes()).expect("it is well-formed")
}

fn try_open(arguments: &Json, variables: &[(&str, &str)]) -> Result<Arc<dyn Store>, Vec<String>> {
    let environment: Environment = variables.iter().copied().collect();
    let backends = Backends::new(BackendEnvironment::new(environment, "data"));
    let kind = backends.find("http").expect("it is in the table");
    match backends.open(&BackendConfiguration::of_json(kind, arguments)) {
        Ok(Storage::Store(store)) => Ok(store),
        Ok(_) => unreachable!("it is not a file"),
        Err(problems) => Err(problems.iter().map(|problem| problem.summary.to_string()).collect()),
    }
}

fn open(arguments: &Json) -> Arc<dyn Store> {
    try_open(arguments, &[]).expect("the arguments are valid")
}

/// A store whose state and locks are at one URL.
fn store_at(url: &str) -> Arc<dyn Store> {
    open(&json!({ "address": url, "lock_address": url, "unlock_address": url }))
}

fn answering(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> (Host, Arc<dyn Store>) {
    let host = Host::start(reply);
    let store = store_at(&host.url("/state"));
    (host, store)
}

fn write_to(store: &dyn Store, precondition: Precondition<'_>, lock: Option<&LockId>) -> Result<StoreVersion, String> {
    let written = store.write("default", &Write { content: b"{\"serial\":2}", precondition, lock });
    written.map_err(|error| format!("{:?}: {}", error.kind, error.reason))
}

fn lines(host: &Host) -> Vec<String> {
    host.asked().iter().map(|asked| format!("{} {}", asked.method, asked.target)).collect()
}

#[test]
fn requests_are_those_of_opentofu() {
    let (host, store) = answering(|asked| if asked.method == "GET" { Reply::status(404) } else { Reply::status(200) });
    let id = store.lock("default", &LockHolder { path: "ours".to_owned(), ..holder() }).expect("it is free");
    assert_eq!(id, Some(LockId(LOCK_ID.to_owned())));
    assert_eq!(store.read("default"), Ok(None));
    write_to(&*store, Precondition::Absent, id.as_ref()).expect("the server accepts it");
    store.unlock("default", &LockId(LOCK_ID.to_owned())).expect("the server accepts it");
    let asked = host.asked();
    assert_eq!(
        lines(&host),
        ["LOCK /state", "GET /state", "GET /state", &format!("POST /state?ID={LOCK_ID}"), "UNLOCK /state"]
    );
    for (number, body) in [(0, LOCK), (3, "{\"serial\":2}"), (4, LOCK)] {
        assert_eq!(asked[number].body, body);
        assert_eq!(asked[number].header("content-type"), Some("application/json"));
    }
    assert_eq!(asked[0].header("content-md5"), Some(LOCK_MD5));
    assert_eq!(asked[4].header("content-md5"), Some(LOCK_MD5));
    assert_eq!(asked[1].header("content-md5").or(asked[1].header("content-type")), None);
}

#[test]
fn methods_and_addresses_can_be_those_of_gitlab() {
    let host = Host::start(|_| Reply::ok("{}"));
    let (address, lock) = (host.url("/api/two?b=2&a=1%262"), host.url("/api/two/lock"));
    let store = open(&json!({
        "address": address, "update_method": "PUT", "lock_address": lock, "lock_method": "POST", "unlock_address": lock,
        "unlock_method": "DELETE", "username": "u", "password": "p:w", "headers": { "X-Team": "infra", "Host": "no", "q": null },
    }));
    let id = store.lock("default", &holder()).expect("it is free");
    let version = StoreVersion::of(b"{}");
    write_to(&*store, Precondition::Version(&version), id.as_ref()).expect("the server accepts it");
    store.unlock("default", &LockId(LOCK_ID.to_owned())).expect("the server accepts it");
    let put = format!("PUT /api/two?ID={LOCK_ID}&a=1%262&b=2");
    let get = "GET /api/two?b=2&a=1%262";
    assert_eq!(lines(&host), ["POST /api/two/lock", get, &put, "DELETE /api/two/lock"]);
    for asked in host.asked() {
        assert_eq!(asked.header("authorization"), Some("Basic dTpwOnc="));
        assert_eq!((asked.header("x-team"), asked.header("host")), (Some("infra"), Some(host.name().as_str())));
    }
}

#[test]
fn force_unlock_sends_the_id_only() {
    let (host, store) = answering(|_| Reply::status(200));
    store.unlock("default", &LockId("078ca1af-51e7-b59d-dff9-6f7e2ed9c2a8".to_owned())).expect("the server accepts it");
    let sent = r#"{"ID":"078ca1af-51e7-b59d-dff9-6f7e2ed9c2a8","Operation":"","Info":"","Who":"","Version":"","Created":"0001-01-01T00:00:00Z","Path":""}"#;
    assert_eq!(host.asked()[0].body, sent);
    // The digest that OpenTofu has sent with the same body.
    assert_eq!(host.asked()[0].header("content-md5"), Some("+EDdUcKxtUd4cls5KRyUzw=="));
}

#[test]
fn without_lock_address_nothing_is_locked() {
    let host = Host::start(|_| Reply::status(200));
    let store = open(&json!({ "address": host.url("/state") }));
    assert!(matches!(store.lock("default", &holder()), Ok(None)));
    let refused = store.unlock("default", &LockId("x".to_owned()));
    assert!(matches!(refused, Err(UnlockRefusal::Failed(error)) if error.reason.contains("unlock_address")));
    assert!(host.asked().is_empty());
}

#[test]
fn every_write_compares_first() {
    let (host, store) = answering(|asked| match asked.method.as_str() {
        "GET" => Reply::ok("{\"serial\":1}"),
        _ => Reply::status(200),
    });
    let read = store.read("default").expect("the server answers").expect("there is a state").version;
    let other = StoreVersion::of(b"{\"serial\":0}");
    let lock = LockId("x".to_owned());
    let mut count = host.asked().len();
    let mut requests = || {
        let new = host.asked().len() - count;
        count += new;
        new
    };
    assert!(write_to(&*store, Precondition::Version(&read), Some(&lock)).is_ok() && requests() == 2);
    assert!(write_to(&*store, Precondition::Version(&read), None).is_ok() && requests() == 2);
    let conflict = write_to(&*store, Precondition::Version(&other), None).expect_err("it is another state");
    assert!(conflict.starts_with(&format!("{Conflict:?}")) && requests() == 1, "{conflict}");
    let conflict = write_to(&*store, Precondition::Version(&other), Some(&lock)).expect_err("it is another state");
    assert!(conflict.starts_with(&format!("{Conflict:?}")) && requests() == 1, "{conflict}");
    let conflict = write_to(&*store, Precondition::Absent, Some(&lock)).expect_err("there is a state");
    assert!(conflict.starts_with(&format!("{Conflict:?}")) && requests() == 1, "{conflict}");
}

#[test]
fn statuses_of_reads() {
    let read = |reply: Reply| {
        let (_host, store) = answering(move |_| reply.clone());
        let read = store.read("default").map(|stored| stored.map(|stored| stored.content));
        read.map_err(|error| (error.kind, error.reason))
    };
    assert_eq!(read(Reply::ok("{}")), Ok(Some(b"{}".to_vec())));
    for reply in [Reply::ok(""), Reply::status(204), Reply::status(404)] {
        assert_eq!(read(reply), Ok(None));
    }
    let failed = |reply: Reply| read(reply).expect_err("it is not a success");
    for (status, kind, text) in [
        (401, Lasting, "no credentials"),
        (403, Lasting, "not allowed to read the state"),
        (418, Lasting, "418"),
        (302, Lasting, "302"),
        (201, Lasting, "201"),
        (429, Transient, "429"),
        (500, Transient, "500"),
        (501, Lasting, "501"),
    ] {
        let (found, reason) = failed(Reply::status(status));
        assert!(
            found == kind && reason.contains(text) && reason.starts_with("GET http://127.0.0.1:"),
            "{status}: {reason}"
        );
    }
    let page = Reply::ok("<!DOCTYPE html><p>log in</p>").with("Content-Type", "text/html; charset=utf-8");
    let (kind, reason) = failed(page);
    assert!(kind == Lasting && reason.contains("HTML page"), "{reason}");
    let (kind, reason) = failed(Reply::ok(vec![b' '; 300 << 20]));
    assert!(kind == Lasting && reason.contains("larger than 268435456 bytes"), "{reason}");
}

#[test]
fn digests_of_responses_are_checked() {
    let read = |digest: &'static str| {
        let (_host, store) = answering(move |_| Reply::ok(LOCK).with("Content-MD5", digest));
        store.read("default").map(drop).map_err(|error| (error.kind, error.reason))
    };
    assert_eq!(read(LOCK_MD5), Ok(()));
    let (kind, reason) = read("1B2M2Y8AsgTpgAmY7PhCfg==").expect_err("it is the digest of nothing");
    assert!(kind == Transient && reason.contains("damaged"), "{reason}");
    let (kind, reason) = read("???").expect_err("it is not Base64");
    assert!(kind == Lasting && reason.contains("Base64"), "{reason}");
}

#[test]
fn statuses_of_writes() {
    let write = |status: u16, body: &'static str, lock: Option<&LockId>| {
        let (_host, store) = answering(move |asked| match asked.method.as_str() {
            "GET" => Reply::status(404),
            _ => Reply { status, ..Reply::ok(body) },
        });
        write_to(&*store, Precondition::Absent, lock).map(|version| version == StoreVersion::of(b"{\"serial\":2}"))
    };
    let lock = LockId("ours".to_owned());
    for status in [200, 201, 204] {
        assert_eq!(write(status, "", None), Ok(true));
    }
    let failed = |status, body, lock| write(status, body, lock).expect_err("it is not a success");
    for status in [409, 423] {
        let error = failed(status, LOCK, Some(&lock));
        assert!(
            error.starts_with(&format!("{LockLost:?}")) && error.contains(LOCK_ID) && error.contains("user@host"),
            "{error}"
        );
        let error = failed(status, "state is locked", None);
        assert!(error.starts_with(&format!("{Lasting:?}")) && error.contains("state is locked"), "{error}");
    }
    let error = failed(403, "", None);
    assert!(error.contains("not allowed to write the state"), "{error}");
    let error = failed(202, "", None);
    assert!(error.starts_with(&format!("{Lasting:?}: POST")) && error.contains("202"), "{error}");
    let error = failed(503, "", None);
    assert!(error.starts_with(&format!("{Transient:?}")), "{error}");
}

#[test]
fn statuses_of_locks() {
    let lock = |status: u16, body: &'static str| {
        let (_host, store) = answering(move |_| Reply { status, ..Reply::ok(body) });
        store.lock("default", &LockHolder { id: "mine".to_owned(), ..holder() })
    };
    assert!(matches!(lock(200, "{}"), Ok(Some(id)) if id.0 == "mine"));
    for status in [409, 423] {
        let held = lock(status, LOCK);
        assert!(matches!(held, Err(LockRefusal::Held { holder: Some(other), .. }) if *other == holder()));
        for garbage in ["", "nonsense", "[]", "{\"message\":\"locked by ann\"}"] {
            let Err(LockRefusal::Held { holder: Some(other), .. }) = lock(status, garbage) else { panic!("{garbage}") };
            assert!(other.id.is_empty() && other.info.contains(&status.to_string()), "{other:?}");
            assert!(garbage.len() < 5 || other.info.contains(garbage), "{other:?}");
        }
    }
    for (status, kind) in [(401, Lasting), (403, Lasting), (204, Lasting), (404, Lasting), (500, Transient)] {
        let refused = lock(status, "");
        assert!(matches!(refused, Err(LockRefusal::Store(error)) if error.kind == kind), "{status}");
    }
}

#[test]
fn statuses_of_unlocks() {
    let unlock = |status: u16, body: &'static str| {
        let (_host, store) = answering(move |_| Reply { status, ..Reply::ok(body) });
        store.unlock("default", &LockId("mine".to_owned()))
    };
    assert!(unlock(200, "").is_ok());
    assert!(matches!(unlock(409, LOCK), Err(UnlockRefusal::OtherLock(Some(other))) if *other == holder()));
    for status in [204, 400, 404, 500] {
        let refused = unlock(status, "");
        assert!(matches!(refused, Err(UnlockRefusal::Failed(error)) if error.reason.contains(&status.to_string())));
    }
}

#[test]
fn the_state_is_deleted_and_other_workspaces_do_not_exist() {
    let (host, store) =
        answering(|asked| if asked.method == "DELETE" { Reply::status(200) } else { Reply::status(404) });
    store.delete("default").expect("the server accepts it");
    assert_eq!(lines(&host), ["DELETE /state"]);
    assert_eq!(store.workspaces().map_err(|error| error.kind), Err(NoWorkspaces));
    assert_eq!(store.read("dev").map_err(|error| error.kind), Err(NoWorkspaces));
    assert_eq!(store.delete("dev").map_err(|error| error.kind), Err(NoWorkspaces));
    assert_eq!(host.asked().len(), 1);
}

#[test]
fn no_credential_follows_a_redirect_to_another_host() {
    let other = Host::start(|_| Reply::ok("{}"));
    let target = other.url("/elsewhere");
    let host = Host::start(move |asked| match asked.path() {
        "/away" => Reply::status(302).with("Location", &target),
        "/moved" => Reply::status(307).with("Location", &target),
        "/here" => Reply::status(308).with("Location", "/state"),
        "/loop" => Reply::status(302).with("Location", "/loop"),
        "/file" => Reply::status(302).with("Location", "file:///etc/passwd"),
        _ => Reply::ok("{}"),
    });
    let opened = |path: &str| {
        open(
            &json!({ "address": host.url(path), "username": "u", "password": "secret", "headers": { "X-Token": "hush" } }),
        )
    };
    let version = StoreVersion::of(b"{}");
    let write = |path: &str| write_to(&*opened(path), Precondition::Version(&version), Some(&LockId("x".to_owned())));

    assert!(opened("/away").read("default").is_ok());
    assert!(write("/moved").is_ok());
    let got = other.asked();
    assert_eq!(got.iter().map(|asked| asked.method.as_str()).collect::<Vec<_>>(), ["GET", "GET", "POST"]);
    assert_eq!(got[2].body, "{\"serial\":2}");
    assert!(got[2].header("content-md5").is_some());
    let printed = format!("{got:?}");
    assert!(
        !printed.contains("hush") && !printed.contains("authorization") && !printed.contains("x-token"),
        "{printed}"
    );

    assert!(opened("/here").read("default").is_ok() && write("/here").is_ok());
    assert!(
        host.asked()
            .iter()
            .all(|asked| asked.header("x-token") == Some("hush") && asked.header("authorization").is_some())
    );

    let dropped = write("/away").expect_err("it would be a GET");
    assert!(dropped.starts_with(&format!("{Lasting:?}")) && dropped.contains(&other.url("/elsewhere")), "{dropped}");
    for (path, text) in [("/loop", "more than 10 times"), ("/file", "neither http nor https")] {
        let error = opened(path).read("default").expect_err("it leads nowhere");
        assert!(error.kind == Lasting && error.reason.contains(text), "{error}");
    }
    assert_eq!(other.asked().len(), 4);
}

#[test]
fn arguments_are_checked() {
    let with = |more: &Json| {
        let mut arguments = json!({ "address": "http://localhost" });
        for (name, value) in more.as_object().expect("it is an object") {
            arguments[name] = value.clone();
        }
        try_open(&arguments, &[]).map(drop).unwrap_or_else(|summaries| assert_eq!(summaries, ["nothing"], "{more}"));
    };
    with(&json!({ "headers": { "A-b_9": "x y" }, "retry_max": 0 }));
    let invalid = "Invalid backend configuration argument";
    for (arguments, summary) in [
        (json!({ "address": "ftp://x" }), "address must be HTTP or HTTPS"),
        (json!({ "address": "localhost:80" }), "address must be HTTP or HTTPS"),
        (json!({}), "address must be HTTP or HTTPS"),
        (json!({ "address": "http://x", "lock_address": "y" }), "lockAddress must be HTTP or HTTPS"),
        (json!({ "address": "http://x", "unlock_address": "y" }), "unlockAddress must be HTTP or HTTPS"),
        (json!({ "address": "http://" }), invalid),
        (json!({ "address": "http://x", "headers": { "a b": "x" } }), invalid),
        (json!({ "address": "http://x", "headers": { "": "x" } }), invalid),
        (json!({ "address": "http://x", "headers": { "a": " " } }), invalid),
        (json!({ "address": "http://x", "headers": { "a": "ü" } }), invalid),
        (json!({ "address": "http://x", "headers": { "a": "x\r\nb: y" } }), invalid),
        (json!({ "address": "http://x", "headers": { "Content-Type": "x" } }), invalid),
        (json!({ "address": "http://x", "headers": { "content-md5": "x" } }), invalid),
        (json!({ "address": "http://x", "headers": { "authorization": "x" }, "username": "u" }), invalid),
        (json!({ "address": "http://x", "retry_max": 1.5 }), invalid),
        (json!({ "address": "http://x", "retry_wait_min": -1 }), invalid),
        (json!({ "address": "http://x", "update_method": "P T" }), invalid),
        (
            json!({ "address": "http://x", "client_certificate_pem": "x" }),
            "client_certificate_pem is set but client_private_key_pem is not",
        ),
        (
            json!({ "address": "http://x", "client_private_key_pem": "x" }),
            "client_private_key_pem is set but client_certificate_pem is not",
        ),
        (json!({ "address": "http://x", "client_ca_certificate_pem": "x" }), "failed to append certs"),
        (
            json!({ "address": "http://x", "client_certificate_pem": "x", "client_private_key_pem": "y" }),
            "cannot load client certificate",
        ),
    ] {
        assert_eq!(try_open(&arguments, &[]).map(drop), Err(vec![summary.to_owned()]), "{arguments}");
    }
}

#[test]
fn every_variable_of_the_environment_counts() {
    let host = Host::start(|asked| if asked.method == "GET" { Reply::status(404) } else { Reply::status(200) });
    let (address, lock, unlock) = (host.url("/s"), host.url("/l"), host.url("/u"));
    let variables = [
        ("TF_HTTP_ADDRESS", address.as_str()),
        ("TF_HTTP_UPDATE_METHOD", "PUT"),
        ("TF_HTTP_LOCK_ADDRESS", &lock),
        ("TF_HTTP_UNLOCK_ADDRESS", &unlock),
        ("TF_HTTP_LOCK_METHOD", "PATCH"),
        ("TF_HTTP_UNLOCK_METHOD", "DELETE"),
        ("TF_HTTP_USERNAME", "ann"),
        ("TF_HTTP_PASSWORD", "pw"),
        ("TF_HTTP_RETRY_MAX", "7"),
        ("TF_HTTP_RETRY_WAIT_MIN", "3"),
        ("TF_HTTP_RETRY_WAIT_MAX", "4"),
    ];
    let store = try_open(&json!({}), &variables).expect("the arguments are valid");
    let id = store.lock("default", &holder()).expect("it is free");
    write_to(&*store, Precondition::Absent, id.as_ref()).expect("the server accepts it");
    store.unlock("default", &LockId(LOCK_ID.to_owned())).expect("the server accepts it");
    assert_eq!(lines(&host), ["PATCH /l", "GET /s", &format!("PUT /s?ID={LOCK_ID}"), "DELETE /u"]);
    assert!(host.asked().iter().all(|asked| asked.header("authorization") == Some("Basic YW5uOnB3")));
    let retries = store.retries().expect("the arguments say so");
    assert_eq!((retries.attempts, retries.pause.as_secs(), retries.longest.as_secs()), (8, 3, 4));
    let retries = store_at("http://localhost").retries().expect("there are defaults");
    assert_eq!((retries.attempts, retries.pause.as_secs(), retries.longest.as_secs()), (3, 1, 30));
    for variable in ["CLIENT_CA_CERTIFICATE_PEM", "CLIENT_CERTIFICATE_PEM", "CLIENT_PRIVATE_KEY_PEM"] {
        let name = format!("TF_HTTP_{variable}");
        assert!(try_open(&json!({ "address": "http://x" }), &[(&name, "x")]).is_err(), "{variable}");
    }
    let overridden =
        try_open(&json!({ "address": "http://x/configured" }), &variables).expect("the arguments are valid");
    assert_eq!(overridden.describe("default"), "http://x/configured");
}

#[test]
fn credentials_in_a_url_are_sent_and_never_shown() {
    let host = Host::start(|_| Reply::status(418));
    let url = host.url("/state?key=hush").replace("http://", "http://ann:p%40ss@");
    let store = open(&json!({ "address": url, "lock_address": url }));
    let error = store.read("default").expect_err("it is a teapot");
    assert_eq!(host.asked()[0].header("authorization"), Some("Basic YW5uOnBAc3M="));
    let Err(LockRefusal::Store(refused)) = store.lock("default", &holder()) else { panic!("it is a teapot") };
    let printed = format!("{store:?} {} {error} {refused}", store.describe("default"));
    assert!(!printed.contains("hush") && !printed.contains("p%40ss") && !printed.contains("p@ss"), "{printed}");
    let other = open(&json!({ "address": url.replace("hush", "rush") }));
    assert_ne!(other.describe("default"), store.describe("default"));
    assert_eq!(store_at("https://h.example/a/b").describe("default"), "https://h.example/a/b");
}
