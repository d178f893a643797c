//! A connection that is cut at any request of a run: before the server gets the request, and before the client gets the response. The run
//! goes on, or ends there as if the client or the server had been killed. Finished operations are never lost.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use yuba_addrs::Hostname;
use yuba_backend::{JournalOperation, LockRefusal, StateStore, lock_refused};
use yuba_net::http::ClientOptions;
use yuba_syntax::Diagnostics;
use yuba_testkit::{Afterwards, Lost, Relay};

use crate::subject::{Abilities, Machine, Subject, unique};
use crate::suite::{add, edit, locked, numbers, read};

/// The name of the test.
pub(crate) const NAME: &str = "a cut at any request loses nothing";

/// A subject whose server is behind a relay.
struct Behind<'s> {
    subject: &'s dyn Subject,
    server: String,
    relay: Relay,
}

impl Behind<'_> {
    fn replaced(&self, json: &Json) -> Json {
        let (_, port) = self.server.rsplit_once(':').expect("an address has a port");
        let text = json.to_string().replace(&format!(":{port}"), &format!(":{}", self.relay.port()));
        serde_json::from_str(&text).expect("a port is not JSON syntax")
    }
}

impl Subject for Behind<'_> {
    fn kind(&self) -> &'static str {
        self.subject.kind()
    }
    fn arguments(&self, state: &str) -> Json {
        self.replaced(&self.subject.arguments(state))
    }
    fn environment(&self) -> Vec<(String, String)> {
        self.subject.environment()
    }
    fn main_workspace(&self) -> &'static str {
        self.subject.main_workspace()
    }
    fn services(&self, state: &str) -> BTreeMap<Hostname, Map<String, Json>> {
        let services = self.subject.services(state).into_iter().map(|(host, services)| {
            let host = self.replaced(&Json::from(host.to_string()));
            let services = self.replaced(&Json::Object(services));
            let host = host.as_str().and_then(|host| Hostname::parse(host).ok()).expect("it is a name with a port");
            (host, services.as_object().cloned().unwrap_or_default())
        });
        services.collect()
    }
    fn client_options(&self) -> ClientOptions {
        self.subject.client_options_at(self.relay.address())
    }
    fn abilities(&self) -> Abilities {
        self.subject.abilities()
    }
}

/// A run that makes object 2. The flag is set once its journal has it.
fn run(subject: &dyn Subject, name: &str, machine: &Machine, is_finished: &mut bool) -> Result<(), Diagnostics> {
    // Opening a storage may check credentials.
    let machine = machine.try_restarted(subject, name)?;
    let mut store = machine.try_open("default")?;
    store.try_lock(machine.holder()).map_err(|refusal| lock_refused(&store.whereabouts(), &refusal))?;
    create_under_lock(store.as_mut(), is_finished)
}

/// Makes object 2 with the lock, and releases the lock. The flag is set once the journal has the object.
pub(crate) fn create_under_lock(store: &mut dyn StateStore, is_finished: &mut bool) -> Result<(), Diagnostics> {
    let mut state = store.read()?.state.unwrap_or_else(yuba_state::State::empty);
    let mut journal = store.journal(&mut state)?;
    let begun = journal.begin(JournalOperation { address: "terraform_data.r[2]".into(), action: "create".into() });
    journal.hand_over()?;
    journal.finish(begun, &[edit(2)]);
    state.apply(edit(2));
    journal.flush()?;
    *is_finished = true;
    journal.close(&mut state)?;
    store.unlock()
}

/// Takes the lock. A lock that the run before has left is released as its user does, with the id that the error names.
fn locked_after(subject: &dyn Subject, machine: &Machine, name: &str, label: &str) -> Box<dyn StateStore> {
    let mut store = machine.open("default");
    match store.try_lock(machine.holder()) {
        Ok(_) => return store,
        Err(LockRefusal::Held { holder: Some(holder), .. }) if !holder.id.is_empty() => {
            store.force_unlock(&holder.id).unwrap_or_else(|problems| panic!("{label}: {problems:?}"));
        }
        Err(LockRefusal::Held { holder, .. }) => {
            assert!(subject.release_nameless_lock(name), "{label}: the lock names no id: {holder:?}");
        }
        Err(refusal) => panic!("{label}: {refusal:?}"),
    }
    locked(machine, "default")
}

/// Cuts the connection at the first request, then at the second, until a run has no more requests.
pub(crate) fn a_cut_at_any_request_loses_nothing(subject: &dyn Subject) {
    std::thread::scope(|scope| {
        for (lost, afterwards) in [
            (Lost::Request, Afterwards::Open),
            (Lost::Response, Afterwards::Open),
            (Lost::Response, Afterwards::Closed),
        ] {
            scope.spawn(move || (0..).take_while(|at| is_cut_at(subject, *at, lost, afterwards)).count());
        }
    });
}

/// Whether a run has a request with this number.
fn is_cut_at(subject: &dyn Subject, at: usize, lost: Lost, afterwards: Afterwards) -> bool {
    let (name, label) = (unique("cut"), format!("{lost:?} {at}, {afterwards:?}"));
    let server = subject.server_of(&name).expect("the subject has a server of HTTP");
    let direct = Behind { subject, server: server.clone(), relay: Relay::to(server.clone()) };
    add(&Machine::new(&direct, &name), "default", 1);
    let behind = Behind { subject, relay: Relay::cutting(server.clone(), at, lost, afterwards), server };
    let machine = Machine::new(&behind, &name);
    behind.relay.arm();
    let mut is_finished = false;
    let done = run(&behind, &name, &machine, &mut is_finished);
    if !behind.relay.has_cut() {
        assert!(done.is_ok() && at > 3, "{label}: {done:?}");
        return false;
    }
    behind.relay.resume();
    // The next run of this machine completes the state.
    let next = machine.restarted(&behind, &name);
    let mut store = locked_after(subject, &next, &name, &label);
    let found = store.read().unwrap_or_else(|problems| panic!("{label}: {done:?}, then {problems:?}"));
    let expected: &[usize] = if is_finished { &[1, 2] } else { &[1] };
    assert_eq!(numbers(found.state.as_ref()), expected, "{label}: {done:?}");
    drop(store);
    add(&next, "default", 3);
    let all = [expected, &[3]].concat();
    assert_eq!(numbers(Some(&read(Machine::new(&direct, &name).open("default").as_mut()))), all, "{label}: {done:?}");
    true
}
