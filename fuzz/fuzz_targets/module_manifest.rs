//! Any bytes are a record of installed modules or are refused; what is written of one is read again as the same.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use yuba_session::manifest::{MANIFEST, read_manifest, write_manifest};

fuzz_target!(|bytes: &[u8]| {
    let dir = std::env::temp_dir().join(format!("fuzz-manifest-{}", std::process::id()));
    let file = dir.join(MANIFEST);
    fs::create_dir_all(file.parent().expect("it is in a directory")).expect("the directory is writable");
    fs::write(&file, bytes).expect("the directory is writable");
    if let Ok(manifest) = read_manifest(&dir) {
        write_manifest(&dir, &manifest).expect("the directory is writable");
        let again = read_manifest(&dir).expect("what was written can be read");
        assert_eq!(again, manifest);
    }
});
