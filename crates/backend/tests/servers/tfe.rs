//! The `remote` backend and the `cloud` block on the TFE server of `testkit`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value as Json, json};
use yuba_addrs::Hostname;
use yuba_testkit::servers::{Fault, On, TfeServer, tfe_server};

use crate::Started;
use crate::subject::{Abilities, Lazy, Subject};

/// The name of the workspace on the server.
const WORKSPACE: &str = "network-prod";

/// Each state has a server of its own, so that an outage hits one test only.
struct Tfe {
    kind: &'static str,
    servers: Mutex<BTreeMap<String, TfeServer>>,
}

impl Tfe {
    fn new(kind: &'static str) -> Tfe {
        Tfe { kind, servers: Mutex::default() }
    }
    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, TfeServer>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn of_outages(&self, work: impl Fn(&TfeServer)) {
        self.servers().iter().filter(|(state, _)| state.starts_with("outage")).for_each(|(_, server)| work(server));
    }
}

impl Subject for Tfe {
    fn kind(&self) -> &'static str {
        self.kind
    }
    fn arguments(&self, state: &str) -> Json {
        let mut servers = self.servers();
        let server = servers.entry(state.to_owned()).or_insert_with(tfe_server);
        json!({ "hostname": server.name(), "organization": server.organization(), "token": "token-ann",
                "workspaces": { "name": WORKSPACE } })
    }
    fn main_workspace(&self) -> &'static str {
        if self.kind == "cloud" { WORKSPACE } else { "default" }
    }
    fn services(&self, state: &str) -> BTreeMap<Hostname, Map<String, Json>> {
        let mut servers = self.servers();
        let server = servers.entry(state.to_owned()).or_insert_with(tfe_server);
        let host = Hostname::parse(&server.name()).expect("because it is a name with a port");
        let services = ["tfe.v2", "tfe.v2.1"].map(|service| (service.to_owned(), Json::from(server.api())));
        BTreeMap::from([(host, services.into_iter().collect())])
    }
    fn abilities(&self) -> Abilities {
        Abilities { workspaces: false, ..Abilities::default() }
    }
    fn server_of(&self, state: &str) -> Option<String> {
        self.arguments(state);
        self.servers().get(state).map(TfeServer::name)
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        self.servers().get(state).expect("the test has opened the state").overwrite(WORKSPACE, content);
        true
    }
    fn interrupt(&self) -> bool {
        self.of_outages(|server| server.fail(On::Any, Fault::CloseBefore, usize::MAX));
        true
    }
    fn resume(&self) {
        self.of_outages(TfeServer::clear_faults);
    }
}

pub(crate) fn subjects() -> Vec<Lazy> {
    vec![
        Lazy::new("remote", "tfe_server", true, || Some(Arc::new(Tfe::new("remote")) as Started)).with_cuts(),
        Lazy::new("cloud", "tfe_server", true, || Some(Arc::new(Tfe::new("cloud")) as Started)).with_cuts(),
    ]
}
