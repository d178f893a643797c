//! A relay in front of a server: an outage for one test while others go on, a connection that is cut at a chosen request, and a record of
//! what clients send.

use std::io::{self, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::tunnel::{HeadOnly, message};

/// Forwards connections to a server until it is cut. Its threads end with the process.
pub struct Relay {
    port: u16,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    requests: Arc<Mutex<Vec<String>>>,
    /// Bytes of clients, by connection.
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
    cutting: Option<Arc<Cutting>>,
}

/// What a cut loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The server does not get the request.
    Request,
    /// The server serves the request, and the client does not get the response.
    Response,
}

/// Whether a server can be reached after a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// Further requests arrive.
    Open,
    /// No request arrives until [`Relay::resume`], as if the client or the server had been killed.
    Closed,
}

/// The request that is cut.
struct Cutting {
    at: usize,
    lost: Lost,
    afterwards: Afterwards,
    is_armed: AtomicBool,
    requests: AtomicUsize,
    has_cut: AtomicBool,
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

    /// Starts a relay to a server of HTTP without TLS that cuts the request with this number, counted from 0 over all connections since
    /// [`Relay::arm`].
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn cutting(address: String, at: usize, lost: Lost, afterwards: Afterwards) -> Relay {
        let (is_armed, requests, has_cut) = Default::default();
        Relay::start(address, Content::Cut(Arc::new(Cutting { at, lost, afterwards, is_armed, requests, has_cut })))
    }

    fn start(address: String, content: Content) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("because the machine has free ports");
        let port = listener.local_addr().expect("because it is bound").port();
        let (is_cut, open) = Default::default();
        let cutting = if let Content::Cut(cutting) = &content { Some(Arc::clone(cutting)) } else { None };
        let (requests, sent) = (Arc::default(), Arc::default());
        let relay = Relay { port, is_cut, open, requests, sent, cutting };
        let (is_cut, open) = (Arc::clone(&relay.is_cut), Arc::clone(&relay.open));
        let (requests, sent) = (Arc::clone(&relay.requests), Arc::clone(&relay.sent));
        let turn = Arc::default();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = (!is_cut.load(Ordering::SeqCst)).then(|| TcpStream::connect(&address));
                let Some(Ok(server)) = server else { continue };
                match &content {
                    Content::Any => {
                        let sent = Arc::clone(&sent);
                        let connection = add(&sent);
                        forward(&client, &server, move |bytes| {
                            sent.lock().unwrap_or_else(PoisonError::into_inner)[connection].extend_from_slice(bytes);
                        });
                        forward(&server, &client, |_| ());
                        open.lock().unwrap_or_else(PoisonError::into_inner).extend([client, server]);
                    }
                    // Thousands of connections come one after the other, so the relay stores none for `cut`.
                    Content::Http => record(client, server, Arc::clone(&requests), Arc::clone(&turn)),
                    Content::Cut(cutting) => {
                        if let (Ok(client), Ok(server)) = (client.try_clone(), server.try_clone()) {
                            open.lock().unwrap_or_else(PoisonError::into_inner).extend([client, server]);
                        }
                        let (cutting, is_cut, open) = (Arc::clone(cutting), Arc::clone(&is_cut), Arc::clone(&open));
                        std::thread::spawn(move || {
                            let (mut client, mut server) = (BufReader::new(client), BufReader::new(server));
                            let _ = until_cut(&mut client, &mut server, &cutting, || close(&is_cut, &open));
                            let _ = client.get_ref().shutdown(Shutdown::Both);
                            let _ = server.get_ref().shutdown(Shutdown::Both);
                        });
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

    /// Everything that clients of [`Relay::to`] have sent, by connection.
    pub fn sent(&self) -> Vec<Vec<u8>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts requests from now on, for [`Relay::cutting`].
    pub fn arm(&self) {
        if let Some(cutting) = &self.cutting {
            cutting.is_armed.store(true, Ordering::SeqCst);
        }
    }

    /// Whether the request that [`Relay::cutting`] cuts has arrived.
    pub fn has_cut(&self) -> bool {
        self.cutting.as_ref().is_some_and(|cutting| cutting.has_cut.load(Ordering::SeqCst))
    }

    /// Ends all connections of [`Relay::to`]. New ones are closed at once.
    pub fn cut(&self) {
        close(&self.is_cut, &self.open);
    }

    /// Forwards new connections again.
    pub fn resume(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
    }
}

/// What a relay understands of the bytes that it forwards.
enum Content {
    Any,
    Http,
    Cut(Arc<Cutting>),
}

/// Ends all connections. New ones are closed at once.
fn close(is_cut: &AtomicBool, open: &Mutex<Vec<TcpStream>>) {
    is_cut.store(true, Ordering::SeqCst);
    for stream in open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// Adds an empty record. Returns its position.
fn add(sent: &Mutex<Vec<Vec<u8>>>) -> usize {
    let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
    sent.push(Vec::new());
    sent.len() - 1
}

/// Forwards requests and responses up to the request that is cut.
fn until_cut(
    client: &mut BufReader<TcpStream>,
    server: &mut BufReader<TcpStream>,
    cutting: &Cutting,
    close: impl Fn(),
) -> io::Result<()> {
    loop {
        let request = message(client, HeadOnly::No)?;
        if request.is_empty() {
            return Ok(());
        }
        let is_counted = cutting.is_armed.load(Ordering::SeqCst);
        let is_here = is_counted && cutting.requests.fetch_add(1, Ordering::SeqCst) == cutting.at;
        if !(is_here && cutting.lost == Lost::Request) {
            server.get_mut().write_all(&request)?;
            let head_only = if request.starts_with(b"HEAD ") { HeadOnly::Yes } else { HeadOnly::No };
            let response = message(server, head_only)?;
            if !is_here {
                client.get_mut().write_all(&response)?;
                continue;
            }
        }
        cutting.has_cut.store(true, Ordering::SeqCst);
        if cutting.afterwards == Afterwards::Closed {
            close();
        }
        return Ok(());
    }
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

/// Copies bytes on a thread of its own, and shows them to a function before they arrive.
fn forward(from: &TcpStream, to: &TcpStream, mut seen: impl FnMut(&[u8]) + Send + 'static) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            seen(&buffer[..length]);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
