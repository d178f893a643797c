//! Any bytes are a lock file or are refused; a written lock file reads back as the same locks.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use yuba_install::lock_file::{LockFile, read, write};
use yuba_syntax::files::MemoryFiles;
use yuba_syntax::{Diagnostics, Sources};

const NAME: &str = ".terraform.lock.hcl";

fn parsed(bytes: &[u8]) -> (LockFile, Diagnostics) {
    let mut files = MemoryFiles::default();
    files.write(NAME, bytes);
    read(&files, NAME, &mut Sources::new())
}

fuzz_target!(|bytes: &[u8]| {
    let (locks, problems) = parsed(bytes);
    if problems.has_errors() {
        return;
    }
    let dir = std::env::temp_dir().join(format!("fuzz-lock-file-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("the directory for temporary files is writable");
    write(&dir, NAME, &locks).expect("the file is writable");
    let (again, problems) = parsed(&fs::read(dir.join(NAME)).expect("the file was written"));
    assert!(!problems.has_errors(), "the written file can be read: {problems:?}");
    assert_eq!(again, locks);
});
