//! Any pattern compiles or is refused, and running it on any text ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_value::regex::Regex;

fuzz_target!(|text: &str| {
    let (pattern, subject) = text.split_once('\n').unwrap_or((text, text));
    if let Ok(regex) = Regex::compile(pattern) {
        let _ = regex.captures(subject);
        let _ = regex.replace_all(subject, "<$1>", 1 << 20);
    }
});
