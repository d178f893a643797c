//! Any bytes beside a state are its journal or are refused, also where checksums and the header are right; what is recovered
//! is a state that can be written and read.
#![no_main]

use std::fs;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use yuba_net::Environment;
use yuba_session::backend::{BackendEnvironment, Backends, StateLocation};

const STATE: &str = concat!(
    r#"{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"0d5b1cf5-4a0a-1d2b-98c4-b0dd39e9f3a1","outputs":{},"#,
    r#""resources":[{"mode":"managed","type":"terraform_data","name":"a","#,
    r#""provider":"provider[\"terraform.io/builtin/terraform\"]","#,
    r#""instances":[{"schema_version":0,"attributes":{"id":"x"}}]}],"check_results":null}"#
);

fn line(out: &mut Vec<u8>, rest: &str) {
    out.extend_from_slice(format!("{:08x} {rest}\n", crc32fast::hash(rest.as_bytes())).as_bytes());
}

/// A journal of the state with these lines, so that they are not refused before they are read.
fn wrapped(text: &str) -> Vec<u8> {
    let sum: String = Sha256::digest(STATE).iter().map(|byte| format!("{byte:02x}")).collect();
    let mut out = Vec::new();
    let header =
        format!(r#"H {{"format":1,"lineage":"0d5b1cf5-4a0a-1d2b-98c4-b0dd39e9f3a1","serial":3,"sha256":"{sum}"}}"#);
    line(&mut out, &header);
    text.lines().for_each(|rest| line(&mut out, rest));
    out
}

fuzz_target!(|bytes: &[u8]| {
    let dir = std::env::temp_dir().join(format!("fuzz-journal-{}", std::process::id()));
    let journals = [Some(bytes.to_vec()), std::str::from_utf8(bytes).ok().map(wrapped)];
    for journal in journals.into_iter().flatten() {
        // A run that was broken off may have left it.
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).expect("the directory for temporary files is writable");
        fs::write(dir.join("terraform.tfstate"), STATE).expect("the directory is writable");
        fs::write(dir.join(".terraform.tfstate.journal"), &journal).expect("the directory is writable");
        let environment = BackendEnvironment::new(Environment::default(), dir.join(".terraform"));
        let backends = Arc::new(Backends::new(environment));
        if let Ok(opened) = StateLocation::file(dir.join("terraform.tfstate"), None, &backends).look() {
            let state = opened.state.expect("there was one before");
            let mut text = Vec::new();
            yuba_state::write(&state, &mut text);
            yuba_state::read(&text).expect("what was written can be read");
        }
    }
    let _ = fs::remove_dir_all(&dir);
});
