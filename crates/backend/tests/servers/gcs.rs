//! `backend "gcs"` on fake-gcs-server. One state is reached through a relay that can be cut: the server loses its data when it
//! ends, and other tests go on meanwhile.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use yuba_testkit::Relay;
use yuba_testkit::servers::{FakeGcs, fake_gcs, is_installed};

use crate::Started;
use crate::subject::{Lazy, OUTAGE, Subject};

const BUCKET: &str = "states";
struct Gcs {
    server: FakeGcs,
    relay: Relay,
}

impl Subject for Gcs {
    fn kind(&self) -> &'static str {
        "gcs"
    }

    fn arguments(&self, state: &str) -> Json {
        let endpoint = match state.starts_with(OUTAGE) {
            true => format!("http://{}/storage/v1/", self.relay.address()),
            false => self.server.endpoint(),
        };
        json!({ "bucket": BUCKET, "prefix": state, "access_token": "any", "storage_custom_endpoint": endpoint })
    }

    fn server_of(&self, _state: &str) -> Option<String> {
        Some(self.server.address())
    }

    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        let target = format!("/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={state}%2Fdefault.tfstate");
        self.server.ask("POST", &target, &String::from_utf8_lossy(content)).status == 200
    }

    fn interrupt(&self) -> bool {
        self.relay.cut();
        true
    }

    fn resume(&self) {
        self.relay.resume();
    }
}

pub(crate) fn subjects() -> Vec<Lazy> {
    vec![
        Lazy::new("gcs on fake-gcs-server", "fake-gcs-server", is_installed("fake-gcs-server"), || {
            let server = fake_gcs()?;
            server.create_bucket(BUCKET);
            let relay = Relay::to(server.address());
            Some(Arc::new(Gcs { server, relay }) as Started)
        })
        .with_cuts(),
    ]
}
