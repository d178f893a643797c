//! A relay in front of a server: an outage for one test, while others go on.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Forwards connections to a server until it is cut. Its threads end with the process.
pub(crate) struct Relay {
    port: u16,
    is_cut: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    /// Starts a relay to an address.
    pub(crate) fn to(address: String) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
        let port = listener.local_addr().expect("it is bound").port();
        let (is_cut, open) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let relay = Relay { port, is_cut: Arc::clone(&is_cut), open: Arc::clone(&open) };
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = (!is_cut.load(Ordering::SeqCst)).then(|| TcpStream::connect(&address));
                if let Some(Ok(server)) = server {
                    forward(&client, &server);
                    forward(&server, &client);
                    open.lock().unwrap_or_else(PoisonError::into_inner).extend([client, server]);
                }
            }
        });
        relay
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections. New ones are closed at once.
    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Forwards new connections again.
    pub(crate) fn resume(&self) {
        self.is_cut.store(false, Ordering::SeqCst);
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
