//! The suite over `inmem` and the scripted store, which need no server: they show that the suite itself is right.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use yuba_backend::fake::FakeStore;

use crate::Started;
use crate::subject::{Abilities, Lazy, Subject};

struct Memory;

impl Subject for Memory {
    fn kind(&self) -> &'static str {
        "inmem"
    }
    fn arguments(&self, _: &str) -> Json {
        json!({})
    }
    fn abilities(&self) -> Abilities {
        Abilities { is_memory: true, has_server: false, notices_lost_locks: false, ..Abilities::default() }
    }
}

struct Scripted;

impl Subject for Scripted {
    fn kind(&self) -> &'static str {
        "fake"
    }
    fn arguments(&self, state: &str) -> Json {
        json!({ "bucket": state })
    }
    fn abilities(&self) -> Abilities {
        Abilities { server_journal: true, has_server: false, ..Abilities::default() }
    }
    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        FakeStore::of_bucket(state).put("default", content);
        true
    }
}

pub(crate) fn subjects() -> Vec<Lazy> {
    vec![
        Lazy::new("inmem", "nothing", true, || Some(Arc::new(Memory) as Started)),
        Lazy::new("scripted store", "nothing", true, || Some(Arc::new(Scripted) as Started)),
    ]
}
