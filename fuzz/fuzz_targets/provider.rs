//! Whatever a provider says in its first line, in its logs and about its schemas is understood or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_plugin::fuzzing::{handshake, log_line, schemas};
use yuba_plugin::wire::Protocol;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(line) = std::str::from_utf8(bytes) {
        let _ = (handshake(line), log_line(line));
    }
    for protocol in [Protocol::V5, Protocol::V6] {
        let _ = schemas(bytes, protocol);
    }
});
