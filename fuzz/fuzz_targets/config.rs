//! Any bytes decode as a module, in native and JSON syntax, as ordinary, override and test files.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_config::{Decoding, ParsedConfigFile, decode_module};
use yuba_eval::constant;
use yuba_syntax::{FileId, SourceFile, Sources, json, parser};

fuzz_target!(|bytes: &[u8]| {
    let native = parser::parse_config(FileId(0), bytes).1;
    let json = json::parse_config(FileId(0), bytes);
    for (parsed, names) in [
        (native, ["main.tf", "main_override.tf", "tests/main.tftest.hcl"]),
        (json, ["main.tf.json", "main_override.tf.json", "tests/main.tftest.json"]),
    ] {
        for (name, is_override) in names.into_iter().zip([false, true, false]) {
            let mut sources = Sources::new();
            let file = sources.add(SourceFile::new(name, bytes));
            let parsed = ParsedConfigFile {
                name: name.into(),
                file,
                body: parsed.body.clone(),
                diagnostics: parsed.diagnostics.clone(),
                is_override,
            };
            let _ = decode_module(".", &[parsed], &Decoding::new(&constant, &sources));
        }
    }
});
