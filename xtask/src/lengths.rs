//! Lengths of functions: one that does not fit on a screen has two ideas in it. Tables are lists without control flow and may be
//! longer.

use crate::absences::owner_of_shipped;
use crate::tokens::{Kind, group, shipped};

/// Lines of a function, from its name to the closing brace.
const MAX_LINES: usize = 80;

/// Tables: file and function.
const TABLES: [(&str, &str); 4] = [
    ("crates/eval/src/functions/filesystem.rs", "functions"),
    ("crates/value/src/functions/collection.rs", "functions"),
    ("crates/value/src/functions/sequence.rs", "functions"),
    ("crates/value/src/functions/string.rs", "functions"),
];

/// Checks all source files, given by path and text.
pub(crate) fn check(files: &[(String, String)], breaches: &mut Vec<String>) {
    breaches.extend(compare(files, &TABLES));
}

/// Functions that are too long without an exception, and tables that are not.
fn compare(files: &[(String, String)], tables: &[(&str, &str)]) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut unused = tables.to_vec();
    for (path, text) in files.iter().filter(|(path, _)| owner_of_shipped(path).is_some()) {
        for (name, line, lines) in long_functions(text) {
            unused.retain(|table| *table != (path, name));
            if !tables.contains(&(path, name)) {
                breaches.push(format!("{path}:{line}: {name} has {lines} lines, more than {MAX_LINES}"));
            }
        }
    }
    let unused = unused.into_iter();
    breaches.extend(
        unused.map(|(path, name)| format!("xtask/src/lengths.rs: {name} of {path} is short; remove the exception")),
    );
    breaches
}

/// Name, first line and number of lines of the functions that are too long.
fn long_functions(text: &str) -> Vec<(&str, usize, usize)> {
    let code = shipped(text);
    let mut found = Vec::new();
    for (at, pair) in code.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        if !keyword.is("fn") || name.kind != Kind::Word {
            continue;
        }
        // The body is the first block outside of other brackets; a declaration ends with a semicolon.
        let mut body = at + 2;
        while let Some(token) = code.get(body).filter(|token| !token.is("{") && !token.is(";")) {
            body += if token.is("(") || token.is("[") { group(&code[body..]) } else { 1 };
        }
        let end = body + group(&code[body..]) - 1;
        if let (true, Some(end)) = (code.get(body).is_some_and(|token| token.is("{")), code.get(end)) {
            let lines = end.line - keyword.line + 1;
            if lines > MAX_LINES {
                found.push((name.text, keyword.line, lines));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINES, compare};

    #[test]
    fn long_functions_are_found() {
        let function = |name: &str, lines: usize| {
            format!("fn {name}(\n    a: [u8; 3],\n) {{{}}}\n", "\n    b();".repeat(lines - 4) + "\n")
        };
        let files = [
            (
                "crates/a/src/lib.rs".to_owned(),
                function("long", MAX_LINES + 1) + "fn short();\n" + &function("fits", MAX_LINES),
            ),
            ("crates/a/src/table.rs".to_owned(), function("table", MAX_LINES * 2)),
            ("crates/a/src/tests.rs".to_owned(), function("of_tests", MAX_LINES * 2)),
        ];
        let found = compare(&files, &[("crates/a/src/table.rs", "table"), ("crates/a/src/lib.rs", "fits")]);
        assert_eq!(
            found,
            [
                "crates/a/src/lib.rs:1: long has 81 lines, more than 80",
                "xtask/src/lengths.rs: fits of crates/a/src/lib.rs is short; remove the exception"
            ]
        );
    }
}
