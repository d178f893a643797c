//! A relay in front of a server: an outage for one test, while others go on, and a record of what clients send.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::tunnel::{HeadOnly, message};

/// Forwards connections to a server until it is cut. Its threads end with the process.
pub struct Relay {
    port: u16,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Relay {
    /// Starts a relay to an address.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn to(address: String) -> Relay {
        Relay::start(address, Content::Any)
    }

    /// Starts a relay to a server of HTTP without TLS. It records requests and forwards one at a time: moto compares the condition of a
    /// request and stores its object in two steps, so of two requests that arrive at once both can succeed. Chunked content is not understood.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn one_at_a_time(address: String) -> Relay {
        Relay::start(address, Content::Http)
    }

    fn start(address: String, content: Content) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("because the machine has free ports");
        let port = listener.local_addr().expect("because it is bound").port();
        let (is_cut, open) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let relay =
            Relay { port, is_cut: Arc::clone(&is_cut), open: Arc::clone(&open), requests: Arc::clone(&requests) };
        let turn = Arc::default();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = (!is_cut.load(Ordering::SeqCst)).then(|| TcpStream::connect(&address));
                if let Some(Ok(server)) = server {
                    match content {
                        Content::Any => {
                            forward(&client, &server);
                            forward(&server, &client);
                            open.lock().unwrap_or_else(PoisonError::into_inner).extend([client, server]);
                        }
                        // Thousands of connections come one after the other, so the relay stores none for `cut`.
                        Content::Http => record(client, server, Arc::clone(&requests), Arc::clone(&turn)),
                    }
                }
            }
        });
        relay
    }

    /// The address for clients.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The port for clients.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Requests since the last call, as `METHOD TARGET`, in the order of their arrival.
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends all connections of [`Relay::to`]. New ones are closed at once.
    pub fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Forwards new connections again.
    pub fn resume(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

/// What a relay understands of the bytes that it forwards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Any,
    Http,
}

/// Forwards requests and responses one after the other.
fn record(client: TcpStream, server: TcpStream, requests: Arc<Mutex<Vec<String>>>, turn: Arc<Mutex<()>>) {
    std::thread::spawn(move || {
        let (mut client, mut server) = (BufReader::new(client), BufReader::new(server));
        // A connection that ends, in whatever way, ends both sides.
        let _ = exchange(&mut client, &mut server, &requests, &turn);
        let _ = client.get_ref().shutdown(Shutdown::Both);
        let _ = server.get_ref().shutdown(Shutdown::Both);
    });
}

fn exchange(
    client: &mut BufReader<TcpStream>,
    server: &mut BufReader<TcpStream>,
    requests: &Mutex<Vec<String>>,
    turn: &Mutex<()>,
) -> io::Result<()> {
    loop {
        let request = message(client, HeadOnly::No)?;
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        let Some((line, _)) = line.rsplit_once(' ') else { return Ok(()) };
        requests.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        let held = turn.lock().unwrap_or_else(PoisonError::into_inner);
        server.get_mut().write_all(&request)?;
        let head_only = if line.starts_with("HEAD ") { HeadOnly::Yes } else { HeadOnly::No };
        let response = message(server, head_only)?;
        if response.is_empty() {
            return Ok(());
        }
        drop(held);
        client.get_mut().write_all(&response)?;
    }
}

fn forward(from: &TcpStream, to: &TcpStream) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
