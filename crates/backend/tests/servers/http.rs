//! The `http` backend on the state server of `testkit`, with locks at the URL of the state and with locks as GitLab has them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value as Json, json};
use yuba_testkit::servers::{Fault, HttpLockServer, On, http_lock_server};

use crate::Started;
use crate::subject::{Abilities, Lazy, OUTAGE, Subject};

/// Each state has a server of its own, so that an outage hits one test only.
struct Http {
    style: Style,
    servers: Mutex<BTreeMap<String, HttpLockServer>>,
}

enum Style {
    OneUrl,
    GitLab,
}

impl Http {
    fn new(style: Style) -> Http {
        Http { style, servers: Mutex::default() }
    }
    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, HttpLockServer>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn of_outages(&self, work: impl Fn(&HttpLockServer)) {
        self.servers().iter().filter(|(state, _)| state.starts_with(OUTAGE)).for_each(|(_, server)| work(server));
    }
}

impl Subject for Http {
    fn kind(&self) -> &'static str {
        "http"
    }
    fn arguments(&self, state: &str) -> Json {
        let mut servers = self.servers();
        let server =
            servers.entry(state.to_owned()).or_insert_with(|| http_lock_server().with_password("ann", "secret"));
        let url = server.url("/state");
        let common = json!({ "address": url, "username": "ann", "password": "secret", "retry_wait_min": 0 });
        let locks = match self.style {
            Style::OneUrl => json!({ "lock_address": url, "unlock_address": url }),
            Style::GitLab => {
                let lock = server.url("/state/lock");
                json!({ "lock_address": lock, "unlock_address": lock, "lock_method": "POST", "unlock_method": "DELETE",
                        "update_method": "PUT" })
            }
        };
        let both = [common, locks];
        Json::Object(both.iter().filter_map(Json::as_object).flatten().map(|(k, v)| (k.clone(), v.clone())).collect())
    }
    fn abilities(&self) -> Abilities {
        // The server accepts the release of a lock that is gone, so a run cannot find out before it writes.
        Abilities { workspaces: false, notices_lost_locks: false, release_is_checked: false, ..Abilities::default() }
    }
    fn server_of(&self, state: &str) -> Option<String> {
        self.arguments(state);
        self.servers().get(state).map(HttpLockServer::address)
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        self.servers().get(state).expect("the test has opened the state").set_state("/state", content);
        true
    }
    fn interrupt(&self) -> bool {
        self.of_outages(|server| server.fail(On::Any, Fault::CloseBefore, usize::MAX));
        true
    }
    fn resume(&self) {
        self.of_outages(HttpLockServer::clear_faults);
    }
}

pub(crate) fn subjects() -> Vec<Lazy> {
    vec![
        Lazy::new("http", "http_lock_server", true, || Some(Arc::new(Http::new(Style::OneUrl)) as Started)).with_cuts(),
        Lazy::new("http like GitLab", "http_lock_server", true, || Some(Arc::new(Http::new(Style::GitLab)) as Started))
            .with_cuts(),
    ]
}
