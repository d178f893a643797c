//! `backend "pg"` with a connection that breaks at any request of a run, once before the server gets the request and once
//! before the client gets the response.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value as Json, json};
use yuba_backend::StateStore;
use yuba_syntax::Diagnostics;

use crate::cuts::create_under_lock;
use crate::subject::{Abilities, Machine, Subject, unique};
use crate::suite::{add, locked, numbers, read};

/// What a cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Request,
    Response,
}

/// A connection to the server that is cut once.
struct Proxy {
    port: u16,
    layout: &'static str,
    cut: Arc<AtomicBool>,
}

impl Proxy {
    /// Cuts the connection at a request, counted over all connections.
    fn start((server, layout): (u16, &'static str), at: usize, lost: Lost) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let port = listener.local_addr().expect("it is bound").port();
        let (cut, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let is_cut = Arc::clone(&cut);
        // The thread ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).expect("the server runs");
                let (cut, requests) = (Arc::clone(&is_cut), Arc::clone(&requests));
                let ends = (client.try_clone().expect("it is open"), server.try_clone().expect("it is open"));
                // Responses to the request that is cut do not arrive.
                let is_deaf = Arc::new(AtomicBool::new(false));
                let deaf = Arc::clone(&is_deaf);
                std::thread::spawn(move || responses(ends.1, ends.0, &deaf));
                std::thread::spawn(move || {
                    let (mut client, mut server) = (client, server);
                    let mut buffer = [0; 1 << 16];
                    while let Ok(length @ 1..) = client.read(&mut buffer) {
                        let is_here = requests.fetch_add(1, Ordering::SeqCst) == at;
                        if is_here {
                            cut.store(true, Ordering::SeqCst);
                            is_deaf.store(true, Ordering::SeqCst);
                        }
                        if !(is_here && lost == Lost::Request) && server.write_all(&buffer[..length]).is_err() {
                            break;
                        }
                        if is_here {
                            // The server reads the request before the end of the connection.
                            std::thread::sleep(std::time::Duration::from_millis(30));
                            break;
                        }
                    }
                    let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
                });
            }
        });
        Proxy { port, layout, cut }
    }
}

fn responses(mut from: TcpStream, mut to: TcpStream, is_deaf: &AtomicBool) {
    let mut buffer = [0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if is_deaf.load(Ordering::SeqCst) || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

impl Subject for Proxy {
    fn kind(&self) -> &'static str {
        "pg"
    }
    fn arguments(&self, state: &str) -> Json {
        let url = format!("postgres://tofu@127.0.0.1:{}/tofu_state?sslmode=disable", self.port);
        json!({ "conn_str": url, "schema_name": state, "layout": self.layout })
    }
    fn abilities(&self) -> Abilities {
        Abilities { server_journal: true, ..Abilities::default() }
    }
}

/// A run that makes object 2. The flag is set once its journal has it.
fn run(store: &mut dyn StateStore, machine: &Machine, is_finished: &mut bool) -> Result<(), Diagnostics> {
    // A lock is not refused because of a broken connection.
    store.try_lock(machine.holder()).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    create_under_lock(store, is_finished)
}

/// Cuts the connection at the first request, then at the second, until a run has no more requests.
pub(crate) fn a_cut_at_any_request_loses_nothing(direct: &dyn Subject, port: u16, layout: &'static str) {
    for lost in [Lost::Request, Lost::Response] {
        for at in 0.. {
            let name = unique("cut");
            let label = format!("{lost:?} {at}");
            add(&Machine::new(direct, &name), "default", 1);
            let proxy = Proxy::start((port, layout), at, lost);
            let machine = Machine::new(&proxy, &name);
            let mut is_finished = false;
            let mut store = machine.open("default");
            let done = run(store.as_mut(), &machine, &mut is_finished);
            drop(store);
            if !proxy.cut.load(Ordering::SeqCst) {
                assert!(done.is_ok() && at > 10, "{label}: {done:?}");
                break;
            }
            let stored = numbers(Some(&read(Machine::new(direct, &name).open("default").as_mut())));
            assert!(stored == [1] || stored == [1, 2], "{label}: {stored:?}");
            // Another machine has what was reported as finished.
            assert!(layout != "resources" || !is_finished || stored == [1, 2], "{label}: {stored:?}");
            // The next run of this machine completes the state. It has no other lock to wait for.
            let next = machine.restarted(&proxy, &name);
            let mut store = locked(&next, "default");
            let found = numbers(store.read().unwrap_or_else(|problems| panic!("{label}: {problems:?}")).state.as_ref());
            let expected: &[usize] = if is_finished || done.is_ok() { &[1, 2] } else { &[1] };
            assert_eq!(found, expected, "{label}: {done:?}");
            drop(store);
            add(&next, "default", 3);
        }
    }
}
