//! `backend "gcs"` on fake-gcs-server. One state is reached through a gate that can be closed: the server loses its data when it
//! ends, and other tests go on meanwhile.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value as Json, json};
use yuba_testkit::servers::{FakeGcs, fake_gcs, is_installed};

use crate::Started;
use crate::subject::{Lazy, Subject};

const BUCKET: &str = "states";
/// The beginning of names of states that are behind the gate.
const GATED: &str = "outage";

struct Gcs {
    server: FakeGcs,
    gate: Gate,
}

impl Subject for Gcs {
    fn kind(&self) -> &'static str {
        "gcs"
    }

    fn arguments(&self, state: &str) -> Json {
        let endpoint = match state.starts_with(GATED) {
            true => format!("http://{}/storage/v1/", self.gate.address),
            false => self.server.endpoint(),
        };
        json!({ "bucket": BUCKET, "prefix": state, "access_token": "any", "storage_custom_endpoint": endpoint })
    }

    fn overwrite(&self, state: &str, content: &[u8]) -> bool {
        let target = format!("/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={state}%2Fdefault.tfstate");
        self.server.ask("POST", &target, &String::from_utf8_lossy(content)).status == 200
    }

    fn interrupt(&self) -> bool {
        self.gate.close();
        true
    }

    fn resume(&self) {
        self.gate.passage().is_closed = false;
    }
}

/// Forwards connections to the server while it is open.
struct Gate {
    address: SocketAddr,
    passage: Arc<Mutex<Passage>>,
}

#[derive(Default)]
struct Passage {
    is_closed: bool,
    streams: Vec<TcpStream>,
}

impl Gate {
    fn to(server: String) -> io::Result<Gate> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let gate = Gate { address: listener.local_addr()?, passage: Arc::default() };
        let passage = Arc::clone(&gate.passage);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut passage = passage.lock().unwrap_or_else(PoisonError::into_inner);
                // Connections through a closed gate end at once.
                if !passage.is_closed {
                    let _ = forward(stream, &server, &mut passage.streams);
                }
            }
        });
        Ok(gate)
    }

    fn passage(&self) -> std::sync::MutexGuard<'_, Passage> {
        self.passage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut passage = self.passage();
        passage.is_closed = true;
        for stream in passage.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn forward(inside: TcpStream, server: &str, streams: &mut Vec<TcpStream>) -> io::Result<()> {
    let outside = TcpStream::connect(server)?;
    streams.extend([inside.try_clone()?, outside.try_clone()?]);
    for (mut from, mut to) in [(inside.try_clone()?, outside.try_clone()?), (outside, inside)] {
        std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

pub(crate) fn subjects() -> Vec<Lazy> {
    vec![Lazy::new("gcs on fake-gcs-server", "fake-gcs-server", is_installed("fake-gcs-server"), || {
        let server = fake_gcs()?;
        server.create_bucket(BUCKET);
        let gate = Gate::to(server.address()).expect("the machine has free ports");
        Some(Arc::new(Gcs { server, gate }) as Started)
    })]
}
