//! The `consul` backend on a real agent: the suite, and the layout of keys that OpenTofu was observed to write.

use std::sync::Arc;

use libtest_mimic::Trial;
use serde_json::{Value as Json, json};
use yuba_backend::{LockHolder, LockRefusal, WorkspaceRemoval};
use yuba_testkit::Relay;
use yuba_testkit::servers::{Consul, consul, is_installed};

use crate::Started;
use crate::subject::{Lazy, Machine, OUTAGE, Subject, unique};
use crate::suite::{add, numbers, read};

struct OnConsul {
    server: Consul,
    relay: Relay,
    has_gzip: bool,
}

fn start(has_gzip: bool) -> Option<OnConsul> {
    let server = consul()?;
    let relay = Relay::to(server.address());
    Some(OnConsul { server, relay, has_gzip })
}

impl Subject for OnConsul {
    fn kind(&self) -> &'static str {
        "consul"
    }
    fn arguments(&self, state: &str) -> Json {
        // An outage hits the connections of one test only.
        let address = match state.starts_with(OUTAGE) {
            true => format!("127.0.0.1:{}", self.relay.port()),
            false => self.server.address(),
        };
        json!({ "address": address, "path": format!("states/{state}"), "gzip": self.has_gzip })
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        let text = json!([{ "KV": { "Verb": "set", "Key": format!("states/{state}"), "Value": base64(content) } }]);
        self.server.ask("PUT", "/v1/txn", &text.to_string()).status == 200
    }
    fn interrupt(&self) -> bool {
        self.relay.cut();
        true
    }
    fn resume(&self) {
        self.relay.resume();
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number = chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

pub(crate) fn subjects() -> Vec<Lazy> {
    let is_installed = is_installed("consul");
    vec![
        Lazy::new("consul", "consul", is_installed, || Some(Arc::new(start(false)?) as Started)),
        Lazy::new("consul with gzip", "consul", is_installed, || Some(Arc::new(start(true)?) as Started)),
    ]
}

/// A test with an agent.
type Test = fn(&OnConsul);

/// Tests of the layout, each with its own agent.
pub(crate) fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 6] = [
        ("large states are chunks, and old chunks are removed", large_states_are_chunks),
        ("states with damaged chunks are errors", states_with_damaged_chunks_are_errors),
        ("a deleted workspace leaves nothing", a_deleted_workspace_leaves_nothing),
        ("locks are those of OpenTofu", locks_are_those_of_opentofu),
        ("locks of unknown form are described", locks_of_unknown_form_are_described),
        ("a session that ends is a lost lock", a_session_that_ends_is_a_lost_lock),
    ];
    let is_ignored = !is_installed("consul") && !yuba_testkit::servers::is_required("consul");
    let trial = |(name, test): (&str, Test)| {
        let run = move || {
            let Some(subject) = start(false) else {
                return Err("consul is required by YUBA_REQUIRE and missing".into());
            };
            test(&subject);
            Ok(())
        };
        Trial::test(format!("consul: {name}"), run).with_ignored_flag(is_ignored)
    };
    tests.into_iter().map(trial).collect()
}

impl OnConsul {
    fn keys(&self) -> Vec<String> {
        serde_json::from_str(&self.server.keys()).unwrap_or_default()
    }
    fn text(&self, key: &str) -> String {
        self.server.ask("GET", &format!("/v1/kv/{key}?raw"), "").body
    }
    fn put(&self, key: &str, value: &str) {
        assert_eq!(self.server.ask("PUT", &format!("/v1/kv/{key}"), value).body.trim(), "true");
    }
    fn sessions(&self) -> Vec<Json> {
        serde_json::from_str(&self.server.ask("GET", "/v1/session/list", "").body).expect("it is a list")
    }
}

/// Saves a state of some chunks under the lock.
fn save_large(machine: &Machine, workspace: &str, count: usize) {
    let mut store = crate::suite::locked(machine, workspace);
    let mut state = read(store.as_mut());
    (0..count).for_each(|n| state.apply(crate::suite::edit(n)));
    crate::suite::write(store.as_mut(), &mut state);
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
}

fn large_states_are_chunks(consul: &OnConsul) {
    let machine = Machine::new(consul, "s");
    add(&machine, "default", 1);
    assert_eq!(consul.keys(), ["states/s"]);
    save_large(&machine, "default", 5_000);
    let pointer: Json = serde_json::from_str(&consul.text("states/s")).expect("it is JSON");
    let hash = pointer["current-hash"].as_str().expect("it is a string").to_owned();
    let chunks: Vec<&str> =
        pointer["chunks"].as_array().expect("it is a list").iter().filter_map(Json::as_str).collect();
    assert!(chunks.len() > 1 && pointer.as_object().is_some_and(|object| object.len() == 2), "{pointer}");
    for (number, chunk) in chunks.iter().enumerate() {
        assert_eq!(*chunk, format!("states/s/tfstate.{hash}/{number}"));
        let length = consul.text(chunk).len();
        assert!(if number + 1 < chunks.len() { length == 524_288 } else { length <= 524_288 }, "{chunk} has {length}");
    }
    // A larger state replaces the chunks, and a small one needs none.
    save_large(&machine, "default", 6_000);
    let keys = consul.keys();
    assert!(keys.len() > 2 && !keys.iter().any(|key| key.contains(&hash)), "{keys:?}");
    assert_eq!(numbers(Some(&read(Machine::new(consul, "s").open("default").as_mut()))).len(), 6_000);
    let mut store = crate::suite::locked(&machine, "default");
    read(store.as_mut());
    let mut small = yuba_state::State::empty();
    small.apply(crate::suite::edit(7));
    crate::suite::write(store.as_mut(), &mut small);
    drop(store);
    assert_eq!(consul.keys(), ["states/s"]);
}

fn states_with_damaged_chunks_are_errors(consul: &OnConsul) {
    let machine = Machine::new(consul, "s");
    save_large(&machine, "default", 5_000);
    let failure = || {
        let problems = machine.open("default").read().expect_err("it is damaged");
        problems.iter().map(|problem| problem.detail.to_string()).collect::<String>()
    };
    let keys = consul.keys();
    let chunk = keys.iter().find(|key| key.ends_with("/1")).expect("there are chunks");
    let content = consul.text(chunk);
    consul.put(chunk, &content.replacen("\"id\"", "\"ID\"", 1));
    let text = failure();
    assert!(text.contains("do not have the MD5 sum"), "{text}");
    consul.server.ask("DELETE", &format!("/v1/kv/{chunk}"), "");
    let text = failure();
    assert!(text.contains(chunk.as_str()) && text.contains("does not exist"), "{text}");
    consul.put("states/s", r#"{"current-hash":"../../x","chunks":[]}"#);
    let text = failure();
    assert!(text.contains("unknown form"), "{text}");
    consul.put(chunk, &content);
}

fn a_deleted_workspace_leaves_nothing(consul: &OnConsul) {
    let machine = Machine::new(consul, "s");
    add(&machine, "default", 1);
    save_large(&machine, "dev", 5_000);
    assert!(consul.keys().len() > 3 && consul.keys().contains(&"states/s-env:dev".to_owned()));
    machine
        .backend()
        .delete_workspace("dev", WorkspaceRemoval::Forced)
        .unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(consul.keys(), ["states/s"]);
}

fn locks_are_those_of_opentofu(consul: &OnConsul) {
    let machine = Machine::new(consul, "s");
    add(&machine, "default", 1);
    let mut store = machine.open("default");
    let id = store.try_lock(machine.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}")).id;
    let sessions = consul.sessions();
    assert_eq!(sessions.len(), 1);
    let session = &sessions[0];
    assert_eq!((session["ID"].as_str(), session["Name"].as_str()), (Some(id.as_str()), Some("Consul API Lock")));
    assert_eq!((session["TTL"].as_str(), session["Behavior"].as_str()), (Some("15s"), Some("release")));
    assert_eq!(session["LockDelay"], json!(5_000_000_000_u64));
    assert_eq!(consul.keys(), ["states/s", "states/s/.lock", "states/s/.lockinfo"]);
    let lock: Json =
        serde_json::from_str(&consul.server.ask("GET", "/v1/kv/states/s/.lock", "").body).expect("it is JSON");
    assert_eq!(lock[0]["Flags"], json!(3_304_740_253_564_472_344_u64));
    assert_eq!(lock[0]["Session"].as_str(), Some(id.as_str()));
    let info = LockHolder::from_json(consul.text("states/s/.lockinfo").as_bytes()).expect("it is a lock");
    assert_eq!((info.id.as_str(), info.path.as_str()), (id.as_str(), "states/s"));
    assert_eq!(info.info, format!("consul session: {id}"));
    // Another attempt leaves no session behind.
    assert!(Machine::new(consul, "s").open("default").try_lock(machine.holder()).is_err());
    assert_eq!(consul.sessions().len(), 1);
    store.unlock().unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!((consul.keys(), consul.sessions().len()), (vec!["states/s".to_owned()], 0));
}

fn locks_of_unknown_form_are_described(consul: &OnConsul) {
    let machine = Machine::new(consul, "s");
    let mut store = machine.open("default");
    let other = Machine::new(consul, "s");
    let mut theirs = other.open("default");
    let id = theirs.try_lock(other.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}")).id;
    for garbage in ["nonsense", "[]", "{}"] {
        consul.put("states/s/.lockinfo", garbage);
        match store.try_lock(machine.holder()) {
            Err(LockRefusal::Held { holder: Some(holder), .. }) => {
                assert!(holder.id == id && holder.info.contains(garbage), "{holder:?}");
            }
            outcome => panic!("{outcome:?}"),
        }
    }
    store.force_unlock(&id).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert!(consul.keys().is_empty());
    // A key that is not a lock is not taken for one.
    consul.put("states/s/.lock", "mine");
    match store.try_lock(machine.holder()) {
        Err(LockRefusal::Store(error)) => assert!(error.reason.contains("is not a lock"), "{error}"),
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(consul.text("states/s/.lock"), "mine");
}

fn a_session_that_ends_is_a_lost_lock(consul: &OnConsul) {
    let name = unique("s");
    let machine = Machine::new(consul, &name);
    add(&machine, "default", 1);
    let mut store = machine.open("default");
    let id = store.try_lock(machine.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}")).id;
    let mut state = read(store.as_mut());
    assert_eq!(consul.server.ask("PUT", &format!("/v1/session/destroy/{id}"), "").status, 200);
    state.apply(crate::suite::edit(2));
    let problems = store.write(&mut state).expect_err("the session is gone");
    assert!(problems.iter().any(|problem| problem.code.id == "state-lock-lost"), "{problems:?}");
    assert!(store.unlock().is_err());
    assert_eq!(numbers(Some(&read(machine.open("default").as_mut()))), [1]);
}
