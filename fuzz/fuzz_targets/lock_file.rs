//! Any bytes are a lock file or are refused; what is written of one is read again as the same.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use yuba_install::lock_file::{read, write};
use yuba_syntax::Sources;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("fuzz-lock-file-{}", std::process::id()));
    fs::write(&path, bytes).expect("the directory for temporary files is writable");
    let (locks, problems) = read(&path, &mut Sources::new());
    if !problems.has_errors() {
        write(&path, &locks).expect("the file is writable");
        let (again, problems) = read(&path, &mut Sources::new());
        assert!(!problems.has_errors(), "what was written can be read: {problems:?}");
        assert_eq!(again, locks);
    }
    fs::remove_file(&path).expect("the file is there");
});
