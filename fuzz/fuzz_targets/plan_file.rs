//! Any bytes are a plan file or are refused, also where the archive and its checksum are right; what is written of a plan is
//! read again and written the same.
#![no_main]

use std::io::{Cursor, Write as _};

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use yuba_plan::file::{decode, encode};

const VERSION: &str = "1.0.0";
const EMPTY: &str = concat!(
    r#"{"version":4,"terraform_version":"1.12.6","serial":0,"lineage":"","outputs":{},"resources":[],"#,
    r#""check_results":null}"#
);

/// A file with this in it, so that it is not refused before it is read.
fn wrapped(payload: &[u8]) -> Vec<u8> {
    let others =
        [(".terraform.lock.hcl", ""), ("tfconfig/modules.json", "[]"), ("tfstate", EMPTY), ("tfstate-prev", EMPTY)];
    let mut hasher = Sha256::new();
    let parts = others.iter().flat_map(|(name, content)| [name.as_bytes(), content.as_bytes()]);
    for part in parts.chain([payload]) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let plan = [format!("yuba plan 2 {VERSION}\n").as_bytes(), &hasher.finalize()[..], payload].concat();
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let others = others.iter().map(|(name, content)| (*name, content.as_bytes()));
    for (name, content) in std::iter::once(("tfplan", plan.as_slice())).chain(others) {
        writer.start_file(name, zip::write::SimpleFileOptions::default()).expect("memory can be written");
        writer.write_all(content).expect("memory can be written");
    }
    writer.finish().expect("memory can be written").into_inner()
}

fuzz_target!(|bytes: &[u8]| {
    for file in [bytes, &wrapped(bytes)] {
        if let Ok(plan) = decode(file, VERSION) {
            let first = encode(&plan).expect("it is not too large");
            let again = decode(&first, VERSION).expect("what was written can be read");
            assert_eq!(encode(&again).expect("it is not too large"), first);
        }
    }
});
