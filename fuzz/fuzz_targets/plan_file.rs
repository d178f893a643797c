//! Any bytes are a plan file or are refused, also where length and checksum are right; what is written of a plan is read
//! again and written the same.
#![no_main]

use std::io::Write as _;

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use yuba_plan::file::{decode, encode};

/// A file with this in it, so that it is not refused before it is read.
fn wrapped(payload: &[u8]) -> Vec<u8> {
    let mut rest = (payload.len() as u64).to_le_bytes().to_vec();
    let mut encoder = flate2::write::DeflateEncoder::new(&mut rest, flate2::Compression::none());
    encoder.write_all(payload).expect("memory can be written");
    encoder.finish().expect("memory can be written");
    let mut file = b"yuba plan 1\n".to_vec();
    file.extend_from_slice(&Sha256::digest(&rest));
    file.extend_from_slice(&rest);
    file
}

fuzz_target!(|bytes: &[u8]| {
    for file in [bytes, &wrapped(bytes)] {
        if let Ok(plan) = decode(file) {
            let first = encode(&plan);
            let again = decode(&first).expect("what was written can be read");
            assert_eq!(encode(&again), first);
        }
    }
});
