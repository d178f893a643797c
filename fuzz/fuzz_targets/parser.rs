//! Any bytes parse as a file, an expression and a template; the tree's text is the input; spans stay inside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use yuba_syntax::{Diagnostics, FileId, parser};

fuzz_target!(|bytes: &[u8]| {
    let (tree, file) = parser::parse_config(FileId(0), bytes);
    assert_eq!(tree.text(bytes), bytes, "tree text equals input");
    check(&file.diagnostics, bytes.len());
    let (expr, diagnostics) = parser::parse_expression(FileId(0), bytes);
    check(&diagnostics, bytes.len());
    let _ = expr.variables();
    let (_, diagnostics) = parser::parse_template(FileId(0), bytes);
    check(&diagnostics, bytes.len());
});

fn check(diagnostics: &Diagnostics, len: usize) {
    for diagnostic in diagnostics.iter() {
        let subject = diagnostic.subject.expect("a syntax error has a location");
        assert!(subject.start <= subject.end && subject.end as usize <= len, "{diagnostic:?}");
    }
}
