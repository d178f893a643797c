//! Any text evaluates in the console to a value or to diagnostics.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = text;
});
