//! Free ports on loopback.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

/// First port to try.
const FIRST: u32 = 10_000;

/// Number of ports to try. They lie below those that systems give to outgoing connections: a server that restarts on its port does not
/// find a connection of another test there.
const COUNT: u32 = 22_000;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port where nothing listens. Tests of one process get different ports; those of another process start elsewhere.
///
/// # Panics
/// If every port is taken.
pub(crate) fn free_port() -> u16 {
    if NEXT.load(Ordering::Relaxed) == 0 {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let start = now.wrapping_mul(31).wrapping_add(std::process::id().wrapping_mul(7919)) % COUNT + 1;
        let _ = NEXT.compare_exchange(0, start, Ordering::Relaxed, Ordering::Relaxed);
    }
    for _ in 0..COUNT {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
        let port = u16::try_from(FIRST + offset).expect("because the range ends below 65536");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
    panic!("no free port from {FIRST} to {}", FIRST + COUNT - 1)
}
