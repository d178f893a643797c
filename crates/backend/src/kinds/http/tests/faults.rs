//! A server that fails during requests: nothing is lost, nothing is written twice, and an HTML page is never a success.

use serde_json::json;
use yuba_state::State;
use yuba_testkit::servers::{Fault, HttpLockServer, On, http_lock_server};

use crate::{
    BackendConfiguration, BackendEnvironment, Backends, LockHolder, LockRefusal, StateStore, Storage, SuccessorCheck,
    diagnostics,
};

/// The state on a server, as a command opens it.
fn open(server: &HttpLockServer) -> Box<dyn StateStore> {
    let url = server.url("/state");
    let arguments = json!({ "address": url, "lock_address": url, "unlock_address": url, "retry_wait_min": 0 });
    let directory = std::env::temp_dir().join("yuba-http-faults-without-journal");
    let backends = Backends::new(BackendEnvironment::new(Default::default(), directory));
    let kind = backends.find("http").expect("it is in the table");
    let storage: Storage =
        backends.open(&BackendConfiguration::of_json(kind, &arguments)).expect("the arguments are valid");
    backends.backend(&storage, None).open("default").expect("no request is needed")
}

fn holder() -> LockHolder {
    LockHolder::ourselves("OperationTypeApply", &Default::default())
}

fn locked(server: &HttpLockServer) -> Box<dyn StateStore> {
    let mut store = open(server);
    store.try_lock(holder()).expect("the lock is free");
    store
}

/// Requests since the last call.
fn requests(server: &HttpLockServer) -> Vec<String> {
    let lines = server.log().iter().map(|logged| logged.request.method.clone()).collect();
    server.clear_log();
    lines
}

#[test]
fn lost_responses_do_no_harm() {
    for method in ["LOCK", "GET", "POST", "UNLOCK"] {
        let server = http_lock_server();
        server.fail(On::Method(method), Fault::CloseAfter, 1);
        let mut store = locked(&server);
        assert!(store.read().expect("it is repeated").state.is_none());
        store.write(&mut State::empty()).expect("it is repeated");
        let sent = server.lock("/state").expect("it is locked");
        store.unlock().expect("it is repeated");
        assert_eq!(server.lock("/state"), None, "{method}");
        assert!(server.state("/state").is_some_and(|state| state.starts_with(b"{\"version\":4")), "{method}");
        // The release describes the lock as the request that took it.
        let last = server.log().into_iter().rfind(|logged| logged.request.method == "UNLOCK").expect("it was sent");
        assert_eq!(last.request.body, sent, "{method}");
    }
}

#[test]
fn an_apply_reads_the_state_again_before_it_writes() {
    let server = http_lock_server();
    let mut store = locked(&server);
    store.read().expect("the server answers");
    store.write(&mut State::empty()).expect("the server answers");
    store.unlock().expect("the server answers");
    assert_eq!(requests(&server), ["LOCK", "GET", "GET", "POST", "UNLOCK"], "the first apply");
    let mut store = locked(&server);
    let mut state = store.read().expect("the server answers").state.expect("it was written");
    state.serial += 1;
    store.push(&state, SuccessorCheck::Skipped).expect("the server answers");
    store.unlock().expect("the server answers");
    assert_eq!(requests(&server), ["LOCK", "GET", "GET", "POST", "UNLOCK"], "a later apply");
}

#[test]
fn busy_servers_are_asked_again() {
    let server = http_lock_server();
    server.fail(On::Any, Fault::Status(503, Some("0")), 2);
    let mut store = locked(&server);
    assert_eq!(requests(&server), ["LOCK", "LOCK", "LOCK"]);
    server.fail(On::Any, Fault::Status(429, None), 3);
    let problems = store.read().map(drop).expect_err("it is asked three times");
    let text = format!("{problems:?}");
    assert!(text.contains("429") && text.contains("injected fault"), "{text}");
    assert_eq!(requests(&server).len(), 3);
}

#[test]
fn a_page_with_status_200_is_not_a_success() {
    for method in ["LOCK", "GET", "POST", "UNLOCK"] {
        let server = http_lock_server();
        server.fail(On::Method(method), Fault::Html, usize::MAX);
        let mut store = open(&server);
        let outcome = match store.try_lock(holder()) {
            Err(LockRefusal::Store(error)) => Err(error.reason),
            Err(refusal) => panic!("{refusal:?}"),
            Ok(_) => {
                let written = store.write(&mut State::empty());
                written.and_then(|_| store.unlock()).map_err(|problems| format!("{problems:?}"))
            }
        };
        let reason = outcome.expect_err("a proxy answers");
        assert!(reason.contains("HTML page"), "{method}: {reason}");
        assert_eq!(server.state("/state").is_some(), method == "UNLOCK");
        server.clear_faults();
    }
}

#[test]
fn damaged_responses_are_not_states() {
    let server = http_lock_server();
    locked(&server).write(&mut State::empty()).expect("the server answers");
    for fault in [Fault::Corrupt, Fault::Truncate(20)] {
        server.fail(On::Method("GET"), fault.clone(), 2);
        assert!(open(&server).read().is_ok(), "{fault:?}: the third response is intact");
        server.fail(On::Method("GET"), fault.clone(), 3);
        assert!(open(&server).read().is_err(), "{fault:?}");
    }
    server.fail(On::Method("GET"), Fault::Body(300 << 20), 1);
    let problems = open(&server).read().map(drop).expect_err("it is too large");
    assert!(format!("{problems:?}").contains("larger than"), "{problems:?}");
}

#[test]
fn a_broken_lock_is_lost() {
    let server = http_lock_server();
    let mut ours = open(&server);
    let id = ours.try_lock(holder()).expect("the lock is free").id;
    let mut state = ours.read().expect("the server answers").state.unwrap_or_else(State::empty);
    let mut theirs = open(&server);
    let refused = theirs.force_unlock("00000000-0000-0000-0000-000000000000").expect_err("it is another lock");
    assert!(format!("{refused:?}").contains(&id), "{refused:?}");
    theirs.force_unlock(&id).expect("the lock exists");
    theirs.try_lock(holder()).expect("the lock is free");
    let problems = ours.write(&mut state).expect_err("another run holds the lock");
    assert!(problems.iter().all(|problem| problem.is(&diagnostics::STATE_LOCK_LOST)), "{problems:?}");
    assert_eq!(server.state("/state"), None);
    assert!(ours.unlock().is_err());
}
