//! Requests and responses, with a scripted host. Responses are those of kube-apiserver 1.32.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use yuba_testkit::{Asked, Host, Reply};

use super::super::objects;
use crate::kit::store::{LockId, Precondition, Store, StoreErrorKind, StoreVersion, UnlockRefusal, Write};
use crate::{BackendConfiguration, BackendEnvironment, Backends, LockHolder, LockRefusal, Storage};

fn store(host: &Host, suffix: &str) -> Arc<dyn Store> {
    let backends = Backends::new(BackendEnvironment::new(Default::default(), "data"));
    let kind = backends.find("kubernetes").expect("it is in the table");
    let arguments = json!({ "host": host.url("/"), "token": "t", "namespace": "ns", "secret_suffix": suffix });
    match backends.open(&BackendConfiguration::of_json(kind, &arguments)) {
        Ok(Storage::Store(store)) => store,
        other => panic!("{other:?}"),
    }
}

fn answering(reply: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> (Host, Arc<dyn Store>) {
    let host = Host::start(reply);
    let store = store(&host, "proj");
    (host, store)
}

fn status(code: u16, message: &str, details: &Json) -> Reply {
    let json = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "details": details, "code": code });
    Reply { status: code, ..Reply::json(&json.to_string()) }
}

fn not_found() -> Reply {
    status(404, "secrets \"x\" not found", &json!({ "name": "x", "kind": "secrets" }))
}

#[test]
fn workspaces_are_listed_page_by_page_without_data() {
    let item = |workspace: &str, suffix: &str| json!({ "metadata": { "labels": { "tfstate": "true", "tfstateSecretSuffix": suffix, "tfstateWorkspace": workspace } } });
    let (host, store) = answering(move |asked| {
        let (items, next) = match asked.target.contains("continue=NEXT") {
            false => {
                (json!([item("default", "proj"), item("b", "proj"), item("c", "other"), { "metadata": {} }]), "NEXT")
            }
            true => (json!([item("a", "proj")]), ""),
        };
        Reply::json(
            &json!({ "kind": "PartialObjectMetadataList", "metadata": { "continue": next }, "items": items })
                .to_string(),
        )
    });
    assert_eq!(store.workspaces().expect("both pages arrive"), ["a", "b", "default"]);
    let asked = host.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].target, "/api/v1/namespaces/ns/secrets?labelSelector=tfstate%3Dtrue&limit=250");
    assert!(asked[0].header("accept").is_some_and(|accept| accept.contains("as=PartialObjectMetadataList")));
    assert_eq!(asked[0].header("authorization"), Some("Bearer t"));
}

#[test]
fn a_list_that_expires_is_read_again() {
    let (host, store) = answering(|asked| match asked.target.contains("continue=") {
        true => status(410, "The provided continue parameter is too old", &json!({})),
        false => Reply::json(r#"{"metadata":{"continue":"NEXT"},"items":[]}"#),
    });
    let error = store.workspaces().expect_err("no list is ever complete");
    assert_eq!((error.kind, host.asked().len()), (StoreErrorKind::Transient, 6));
}

#[test]
fn refusals_say_what_to_do() {
    let check = |reply: fn() -> Reply, parts: &[&str]| {
        let (_host, store) = answering(move |asked| if asked.method == "GET" { not_found() } else { reply() });
        let write = Write { content: b"{}", precondition: Precondition::Absent, lock: None };
        let error = store.write("default", &write).expect_err("the server refuses");
        assert!(parts.iter().all(|part| error.reason.contains(part)), "{}", error.reason);
        assert_eq!(error.kind, StoreErrorKind::Lasting);
    };
    check(
        || {
            status(
                403,
                "secrets is forbidden: User \"u\" cannot create resource \"secrets\" in API group \"\" in the namespace \"ns\"",
                &json!({ "kind": "secrets" }),
            )
        },
        &[
            "POST http://",
            "403 Forbidden",
            "the verb \"create\" on the resource \"secrets\"",
            "in the namespace \"ns\"",
            "kubectl create role",
        ],
    );
    check(|| status(401, "Unauthorized", &json!({})), &["401 Unauthorized", "exec plugin"]);
    check(
        || status(404, "namespaces \"ns\" not found", &json!({ "name": "ns", "kind": "namespaces" })),
        &["The namespace \"ns\" does not exist", "kubectl create namespace ns"],
    );
    check(|| status(413, "Request entity too large: limit is 3145728", &json!({})), &["413", "1048576 bytes"]);
    check(
        || status(422, "Secret \"x\" is invalid: data: Too long: may not be more than 1048576 bytes", &json!({})),
        &["422", "Split the configuration"],
    );
    check(|| Reply::status(302).with("Location", "https://login.example/"), &["302 Found"]);
}

#[test]
fn a_response_of_another_server_is_not_an_absent_state() {
    let (_host, store) = answering(|_| Reply { status: 404, ..Reply::ok("not here") });
    let error = store.read("default").expect_err("it is not the API of Kubernetes");
    assert!(error.reason.contains("Check \"host\""), "{}", error.reason);
}

#[test]
fn a_new_label_of_a_secret_is_not_a_conflict() {
    let secret = |version: &str| {
        let labels = json!({ "tfstate": "true", "backup": version });
        json!({ "metadata": { "name": "x", "resourceVersion": version, "labels": labels }, "data": { "tfstate": objects::compressed(b"old"), "other": "eA==" } })
    };
    let count = std::sync::atomic::AtomicUsize::new(0);
    let (host, store) = answering(move |asked| match asked.method.as_str() {
        "GET" => Reply::json(&secret(&count.fetch_add(1, std::sync::atomic::Ordering::SeqCst).to_string()).to_string()),
        _ if asked.body.contains("\"resourceVersion\":\"1\"") => {
            status(409, "the object has been modified", &json!({}))
        }
        _ => Reply::json("{}"),
    });
    let version = store.read("default").expect("it can be read").expect("there is a state").version;
    let write = Write { content: b"new", precondition: Precondition::Version(&version), lock: None };
    let written = store.write("default", &write).expect("its content is the same");
    assert_eq!(written, StoreVersion::of(objects::compressed(b"new").as_bytes()));
    let last: Json = serde_json::from_str(&host.asked().last().expect("it was written").body).expect("it is JSON");
    assert_eq!((&last["metadata"]["resourceVersion"], &last["data"]["other"]), (&json!("2"), &json!("eA==")));
    let stale = Write { content: b"new", precondition: Precondition::Absent, lock: None };
    assert_eq!(store.write("default", &stale).expect_err("there is a state").kind, StoreErrorKind::Conflict);
}

#[test]
fn a_lease_with_garbage_is_held_by_an_unknown_process() {
    let lease = json!({ "metadata": { "annotations": { "app.terraform.io/lock-info": "garbage" } }, "spec": { "holderIdentity": "id-1" } });
    let text = lease.to_string();
    let (_host, store) = answering(move |_| Reply::json(&text));
    let holder = LockHolder::ourselves("OperationTypeApply", &Default::default());
    match store.lock("default", &holder) {
        Err(LockRefusal::Held { holder: Some(present), .. }) => {
            assert_eq!(present.id, "id-1");
            assert!(present.info.contains("garbage"), "{}", present.info);
        }
        outcome => panic!("{outcome:?}"),
    }
    let write = Write { content: b"{}", precondition: Precondition::Absent, lock: Some(&LockId("ours".to_owned())) };
    let error = store.write("default", &write).expect_err("another process holds the lock");
    assert_eq!(error.kind, StoreErrorKind::LockLost);
    assert!(error.reason.contains("the lock \"id-1\" holds the Lease"), "{}", error.reason);
}

#[test]
fn names_are_checked_before_any_request() {
    let (host, store) = answering(|_| not_found());
    for workspace in ["Upper", "under_score", "a/b", "-a", "a.", &"x".repeat(64)] {
        let error = store.read(workspace).expect_err("it is not a valid name");
        assert!(error.reason.contains("Choose another name"), "{}", error.reason);
    }
    assert_eq!(host.asked().len(), 0);
    assert!(store.read("feature-x.1").is_ok_and(|state| state.is_none()));
    assert_eq!(host.asked()[0].target, "/api/v1/namespaces/ns/secrets/tfstate-feature-x.1-proj");
}

#[test]
fn a_truncated_state_is_damaged() {
    let payload = objects::compressed(&b"{\"version\":4}".repeat(100));
    let half = &payload[..payload.len() / 8 * 4];
    let text = json!({ "metadata": {}, "data": { "tfstate": half } }).to_string();
    let (_host, store) = answering(move |_| Reply::json(&text));
    let error = store.read("default").expect_err("the end is missing");
    assert!(error.reason.contains("is damaged") && error.reason.contains("state push"), "{}", error.reason);
}

#[test]
fn the_lease_of_another_lock_is_not_released() {
    let lease = json!({ "metadata": {}, "spec": { "holderIdentity": "theirs" } }).to_string();
    let (host, store) = answering(move |_| Reply::json(&lease));
    let refused = store.unlock("default", &LockId("ours".to_owned()));
    assert!(matches!(&refused, Err(UnlockRefusal::OtherLock(Some(present))) if present.id == "theirs"), "{refused:?}");
    assert!(host.asked().iter().all(|asked| asked.method == "GET"), "nothing is changed");
}

#[test]
fn an_object_of_another_program_is_not_deleted() {
    let (host, store) = answering(|_| Reply::json(&json!({ "metadata": { "uid": "1", "labels": {} } }).to_string()));
    let refused = store.delete("old").expect_err("it may belong to another program");
    assert!(refused.reason.contains("tfstate=true"), "{refused}");
    assert!(host.asked().iter().all(|asked| asked.method == "GET"), "nothing is deleted");
}
