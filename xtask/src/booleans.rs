//! Boolean parameters: a call such as `check(value, true)` does not show what is true. An enum or a named function does.
//!
//! A function may have one where the boolean is the data, and not a choice of the caller. [`EXCEPTIONS`] lists these functions.

use crate::absences::owner_of_shipped;
use crate::tokens::{Kind, Token, group, shipped};

/// Boolean parameters that are allowed: file, function with parameter, reason.
const EXCEPTIONS: [(&str, &str, &str); 10] = [
    ("crates/cli/src/commands/console/interactive.rs", "handle(_)", "the trait of the line editor has it"),
    ("crates/cli/src/telemetry/fields.rs", "record_bool(value)", "the trait of tracing has it: the value of a field"),
    ("crates/plan/src/file/writer.rs", "flag(flag)", "a boolean of the plan file"),
    ("crates/state/src/writer.rs", "optional_flag(flag)", "a boolean member of the state file"),
    ("crates/value/src/msgpack/encode.rs", "bool(value)", "a boolean of the MessagePack format"),
    ("crates/value/src/ops/logic.rs", "decide(decisive)", "the boolean of the language that decides `&&` or `||`"),
    ("crates/value/src/value.rs", "bool(value)", "a boolean of the language"),
    ("crates/value/src/value.rs", "from(value)", "a boolean of the language"),
    ("crates/view/src/json_writer.rs", "bool(value)", "a boolean of JSON"),
    ("crates/view/src/json_writer.rs", "bool_if_true(value)", "a boolean of JSON"),
];

/// Checks all source files, given by path and text.
pub(crate) fn check(files: &[(String, String)], breaches: &mut Vec<String>) {
    breaches.extend(compare(files, &EXCEPTIONS));
}

/// Boolean parameters without an exception, and exceptions that no function needs.
fn compare(files: &[(String, String)], exceptions: &[(&str, &str, &str)]) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut unused: Vec<(&str, &str)> = exceptions.iter().map(|(path, name, _)| (*path, *name)).collect();
    for (path, text) in files {
        if owner_of_shipped(path).is_none() {
            continue;
        }
        for name in boolean_parameters(text) {
            unused.retain(|exception| *exception != (path, &name));
            if !exceptions.iter().any(|(file, function, _)| (*file, *function) == (path, &name)) {
                breaches.push(format!("{path}: boolean parameter {name}; use an enum, two functions or a named field"));
            }
        }
    }
    let unused = unused.into_iter();
    breaches.extend(
        unused.map(|(path, name)| format!("xtask/src/booleans.rs: {path} has no {name}; remove the exception")),
    );
    breaches
}

/// Boolean parameters of functions, as `function(parameter)`.
fn boolean_parameters(text: &str) -> Vec<String> {
    let code = shipped(text);
    let mut found = Vec::new();
    for (at, pair) in code.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        if !keyword.is("fn") || name.kind != Kind::Word {
            continue;
        }
        let open = at + 2 + generics(&code[at + 2..]);
        if !code.get(open).is_some_and(|token| token.is("(")) {
            continue;
        }
        for parameter in parameters(&code[open + 1..open + group(&code[open..]) - 1]) {
            let words: Vec<&str> = parameter.iter().map(|token| token.text).collect();
            if let [parameter @ .., ":", "bool"] = &*words {
                found.push(format!("{}({})", name.text, parameter.join(" ")));
            }
        }
    }
    found
}

/// The length of the list of generic parameters that tokens begin with.
fn generics(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "<" => depth += 1,
            ">" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
    }
    tokens.len()
}

/// The parameters in a list, separated by commas outside of brackets.
fn parameters<'c, 't>(tokens: &'c [Token<'t>]) -> Vec<&'c [Token<'t>]> {
    let mut depth = 0_usize;
    let is_end = |token: &Token<'_>| {
        match token.text {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is(",")
    };
    tokens.split(is_end).collect()
}

#[cfg(test)]
mod tests {
    use super::{boolean_parameters, compare};

    #[test]
    fn boolean_parameters_are_found() {
        for (text, expected) in [
            ("fn f(a: bool) {}", "f(a)"),
            ("fn f<T: Fn(bool) -> bool>(&self, a: T,\n    mut b: bool,\n) -> bool {\n    g(true)\n}", "f(mut b)"),
            ("fn f(a: &dyn Fn(bool) -> bool, b: (bool, bool), c: Vec<bool>) {}", ""),
            ("// fn f(a: bool)\nstruct S { a: bool }\nfn g() { let h = |x: bool| x; }", ""),
            ("fn f(url: &str, a: bool) { g(\"http://x\") }\nfn h(b: bool) {}", "f(a) h(b)"),
            ("#[cfg(test)]\nmod tests {\n    fn f(a: bool) {}\n}\nfn g(x: u8, is_on: bool) {}", "g(is_on)"),
        ] {
            assert_eq!(boolean_parameters(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn only_listed_parameters_are_allowed() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let files = [
            file("crates/a/src/lib.rs", "fn set(value: bool) {}\nfn run(force: bool) {}"),
            file("crates/b/src/lib.rs", "fn set(value: bool) {}"),
            file("crates/b/src/tests.rs", "fn of_tests(force: bool) {}"),
            file("crates/testkit/src/lib.rs", "fn of_tests(force: bool) {}"),
        ];
        let allowed = [("crates/a/src/lib.rs", "set(value)", "data"), ("crates/a/src/lib.rs", "gone(value)", "data")];
        let found = compare(&files, &allowed);
        let starts: Vec<&str> = found.iter().map(|breach| breach.split(';').next().unwrap_or_default()).collect();
        assert_eq!(
            starts,
            [
                "crates/a/src/lib.rs: boolean parameter run(force)",
                "crates/b/src/lib.rs: boolean parameter set(value)",
                "xtask/src/booleans.rs: crates/a/src/lib.rs has no gone(value)",
            ]
        );
    }
}
