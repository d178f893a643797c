//! A file that parses formats to a file that parses, and formatting it again changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_syntax::{FileId, format::format, parser};

fuzz_target!(|bytes: &[u8]| {
    if parser::parse_config(FileId(0), bytes).1.diagnostics.has_errors() {
        return;
    }
    let once = format(bytes);
    let (_, file) = parser::parse_config(FileId(0), &once);
    assert!(!file.diagnostics.has_errors(), "{:?}", String::from_utf8_lossy(&once));
    let twice = format(&once);
    assert_eq!(String::from_utf8_lossy(&once), String::from_utf8_lossy(&twice), "formatting is idempotent");
});
