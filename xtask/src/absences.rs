//! Forbidden patterns in the sources: decisions by text, access to the process below `cli`, public types with one name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::catalogue::is_catalogue;
use crate::tidy::root;
use crate::tokens::{Kind, Token, group, shipped, tokens};

/// The strings of a diagnostic, which are for people. Codes and typed extras decide.
const TEXTS: [&str; 3] = ["summary", "detail", "hint"];

/// Methods without parameters that return strings of diagnostics.
const TEXT_METHODS: [&str; 2] = ["explanation", "joined"];

/// Methods that compare their receiver or search in it.
const COMPARING: [&str; 18] = [
    "starts_with",
    "ends_with",
    "contains",
    "eq",
    "ne",
    "eq_ignore_ascii_case",
    "cmp",
    "partial_cmp",
    "find",
    "rfind",
    "matches",
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "rsplit_once",
    "hash",
    "is_match",
    "is_some_and",
];

/// Methods that compare their arguments with something.
const SEARCHING: [&str; 9] =
    ["insert", "contains", "contains_key", "entry", "get", "eq", "ne", "starts_with", "ends_with"];

/// Items of `std::env` that do not ask the process.
const CONSTANT_ENV: [&str; 4] = ["consts", "split_paths", "join_paths", "JoinPathsError"];

/// Link-local addresses of services of clouds, and where they may be. The function there refuses them in tests.
const MACHINE_ADDRESSES: [&str; 3] = ["169.254.", "fd00:ec2:", "metadata.google.internal"];
const MACHINE_FILE: &str = "crates/net/src/machine.rs";

/// Crates that may ask the process: the binary, and those that only tests use.
const MAY_ASK: [&str; 3] = ["cli", "testkit", "testprovider"];

/// The file that defines diagnostics.
const DEFINITION: &str = "crates/syntax/src/diagnostic.rs";

/// The messages of the plugin protocol.
const MESSAGES: &str = "crates/plugin/src/wire/";

/// The heading of the names that several crates use, in docs/GLOSSARY.md.
const SHARED_NAMES: &str = "## Names that several crates use";

/// Checks all source files, given by path and text.
pub(crate) fn check(files: &[(String, String)], breaches: &mut Vec<String>) {
    for (path, text) in files {
        let Some(owner) = owner_of_shipped(path) else { continue };
        for token in tokens(text).iter().filter(|token| token.kind == Kind::String && path != MACHINE_FILE) {
            if let Some(found) = MACHINE_ADDRESSES.iter().find(|address| token.text.contains(*address)) {
                breaches.push(format!("{path}:{}: `{found}` outside of {MACHINE_FILE}", token.line));
            }
        }
        let code = shipped(text);
        if path != DEFINITION {
            for (line, found) in text_decisions(&code) {
                breaches.push(format!("{path}:{line}: `{found}` decides by text; compare the code"));
            }
        }
        if !MAY_ASK.contains(&owner) {
            for (line, found) in process_state(&code) {
                breaches.push(format!("{path}:{line}: `{found}` below `cli`; pass the value in"));
            }
        }
        for (line, found) in constructors(&code, path) {
            breaches.push(format!("{path}:{line}: `{found}` outside of a catalogue"));
        }
    }
    let glossary = fs::read_to_string(root().join("docs/GLOSSARY.md")).unwrap_or_default();
    check_names(files, &glossary, breaches);
}

/// The crate of a file, if it is a part of the product.
pub(crate) fn owner_of_shipped(path: &str) -> Option<&str> {
    let (owner, _) = path.strip_prefix("crates/")?.split_once("/src/")?;
    (!is_test_file(path) && !["testkit", "testprovider"].contains(&owner)).then_some(owner)
}

/// Whether a file holds only tests or what tests use.
pub(crate) fn is_test_file(path: &str) -> bool {
    let inner = path.split_once("/src/").map_or("", |(_, inner)| inner);
    let is_test_name = |part: &str| {
        let stem = part.trim_end_matches(".rs");
        ["tests", "testing", "fake", "simulator"].contains(&stem) || stem.ends_with("_tests")
    };
    inner.split('/').any(is_test_name)
}

/// Comparisons of and searches in strings of diagnostics, by line.
fn text_decisions(code: &[Token<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, pair) in code.windows(2).enumerate() {
        let [dot, name] = pair else { continue };
        if !dot.is(".") || name.kind != Kind::Word {
            continue;
        }
        let is_call = code.get(at + 2).is_some_and(|token| token.is("("));
        let end = match () {
            () if TEXTS.contains(&name.text) && !is_call => at + 2,
            () if TEXT_METHODS.contains(&name.text) && is_call && group(&code[at + 2..]) == 2 => at + 4,
            () => continue,
        };
        if let Some(by) = decided_by(code, at, end) {
            found.push((name.line, format!(".{} {by}", name.text)));
        }
    }
    found
}

/// The operator, method or macro that decides by an expression, which continues at `end`. `at` is its last dot.
fn decided_by(code: &[Token<'_>], at: usize, end: usize) -> Option<String> {
    let mut end = match compared_after(code, end) {
        Ok(by) => return Some(by),
        Err(end) => end,
    };
    let mut start = start_of(code, at);
    loop {
        while start > 0 && ["&", "*", "mut"].iter().any(|prefix| code[start - 1].is(prefix)) {
            start -= 1;
        }
        if let Some(operator) = code.get(end).filter(|token| token.is("==") || token.is("!=")) {
            return Some(operator.text.to_owned());
        }
        let before = code.get(start.checked_sub(1)?)?;
        if before.is("==") || before.is("!=") || (before.is("match") && compares_in_arms(code, end)) {
            return Some(before.text.to_owned());
        }
        if before.is("=") {
            let pattern = code[..start - 1].iter().rev().take_while(|token| !token.is("let") && !token.is(";"));
            return pattern.clone().any(|token| token.kind == Kind::String).then(|| "let".to_owned());
        }
        if !before.is("(") && !before.is(",") {
            return None;
        }
        // An argument or a part of a tuple.
        let open = open_of(code, start)?;
        if !code[open].is("(") {
            return None;
        }
        match code.get(open.checked_sub(1)?)? {
            token if token.is("!") => {
                let is_matches = open > 1 && code[open - 2].is("matches");
                return is_matches.then(|| "matches!".to_owned());
            }
            token if token.kind == Kind::Word && !is_keyword(token) => {
                let is_method = open > 1 && code[open - 2].is(".");
                return (is_method && SEARCHING.contains(&token.text)).then(|| format!("in {}()", token.text));
            }
            token if token.is(")") || token.is(">") => return None,
            _ => (start, end) = (open, open + group(&code[open..])),
        }
    }
}

/// Whether the arms that begin at a position have strings as patterns. An empty string is for what is absent.
fn compares_in_arms(code: &[Token<'_>], at: usize) -> bool {
    let arms = &code[at..at + group(&code[at..])];
    let is_pattern = |pair: &[Token<'_>]| {
        let is_string = pair[0].kind == Kind::String && pair[0].text != "\"\"";
        is_string && ["=>", "|", "if"].iter().any(|sign| pair[1].is(sign))
    };
    arms.windows(2).any(is_pattern)
}

/// The comparing method in the chain of calls from `at` on, or the end of the chain.
fn compared_after(code: &[Token<'_>], at: usize) -> Result<String, usize> {
    let mut at = at;
    let mut is_number = false;
    while let (Some(dot), Some(method)) = (code.get(at), code.get(at + 1)) {
        if dot.is("?") {
            at += 1;
            continue;
        }
        if !dot.is(".") || method.kind != Kind::Word {
            break;
        }
        at += 2;
        is_number = ["len", "is_empty", "count"].contains(&method.text);
        if code.get(at).is_some_and(|token| token.is("(")) {
            let length = group(&code[at..]);
            // Lines are counted and wrapped for display.
            let is_layout =
                code[at + 1..at + length].iter().any(|token| ["'\\n'", "\"\\n\"", "' '"].contains(&token.text));
            if COMPARING.contains(&method.text) && !is_layout {
                return Ok(format!("{}()", method.text));
            }
            at += length;
        }
    }
    if is_number { Err(code.len()) } else { Err(at) }
}

/// The start of the path or chain of calls whose last dot is at `at`.
fn start_of(code: &[Token<'_>], at: usize) -> usize {
    let mut start = at;
    while start > 0 {
        let before = &code[start - 1];
        if before.is(")") || before.is("]") {
            let Some(open) = open_of(code, start - 1) else { break };
            start = open;
        } else if before.is(".")
            || before.is("::")
            || before.is("?")
            || (before.kind == Kind::Word && !is_keyword(before))
        {
            start -= 1;
        } else {
            break;
        }
    }
    start
}

fn is_keyword(token: &Token<'_>) -> bool {
    ["match", "if", "return", "in", "let", "else", "while", "mut", "ref", "move", "as"].contains(&token.text)
}

/// The bracket that is open before `at`.
fn open_of(code: &[Token<'_>], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for index in (0..at).rev() {
        let token = &code[index];
        if [")", "]", "}"].iter().any(|close| token.is(close)) {
            depth += 1;
        } else if ["(", "[", "{"].iter().any(|open| token.is(open)) {
            if depth == 0 {
                return Some(index);
            }
            depth -= 1;
        }
    }
    None
}

/// Resolving against the directory of the process.
const ABSOLUTE: &str = "path::absolute";

/// Access to the directory, the environment and the executable of the process, by line.
fn process_state(code: &[Token<'_>]) -> Vec<(usize, String)> {
    let asks = |at: &usize| {
        let member = code.get(at + 1).filter(|token| token.is("::")).and_then(|_| code.get(at + 2));
        member.is_none_or(|member| !CONSTANT_ENV.contains(&member.text))
    };
    let env = members(code, "std", "env").into_iter().filter(asks).map(|at| (code[at].line, "std::env".to_owned()));
    let absolute = members(code, "path", "absolute").into_iter().map(|at| (code[at].line, ABSOLUTE.to_owned()));
    env.chain(absolute).collect()
}

/// The positions of `module::member`, also where a group of imports contains the member: `module::{other, member}`.
pub(crate) fn members(code: &[Token<'_>], module: &str, member: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for at in 0..code.len() {
        if !code[at].is(module) || !code.get(at + 1).is_some_and(|token| token.is("::")) {
            continue;
        }
        match code.get(at + 2) {
            Some(token) if token.is(member) => found.push(at + 2),
            Some(token) if token.is("{") => {
                let inside = at + 3..at + 2 + group(&code[at + 2..]);
                let is_part = |at: &usize| code[*at].is(member) && (code[at - 1].is("{") || code[at - 1].is(","));
                found.extend(inside.filter(is_part));
            }
            _ => {}
        }
    }
    found
}

/// Constructors of diagnostics outside of catalogues, and other names for the type, by line.
fn constructors(code: &[Token<'_>], path: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, token) in code.iter().enumerate().filter(|(_, token)| token.is("Diagnostic")) {
        let next = |offset: usize| code.get(at + offset).map_or("", |token| token.text);
        let previous = |offset: usize| at.checked_sub(offset).map_or("", |at| code[at].text);
        // The messages of the plugin protocol have a type of the same name.
        let is_message = path.starts_with(MESSAGES) || (previous(1) == "::" && previous(2) == "wire");
        if is_message || path == DEFINITION {
            continue;
        }
        let breach = match (next(1), next(2)) {
            ("as", _) => Some("Diagnostic as"),
            (";", _) if previous(1) == "=" || (previous(1) == "::" && is_alias(code, at)) => Some("= Diagnostic"),
            ("::", "new") if !is_catalogue(path) => Some("Diagnostic::new"),
            ("{", _) if !is_catalogue(path) && is_literal(code, at) => Some("Diagnostic {"),
            _ => None,
        };
        found.extend(breach.map(|breach| (token.line, breach.to_owned())));
    }
    found
}

/// Whether `path::Diagnostic;` at a position is the definition of an alias: `type Name = path::Diagnostic;`.
fn is_alias(code: &[Token<'_>], at: usize) -> bool {
    let path = code[..at].iter().rev().take_while(|token| token.is("::") || token.kind == Kind::Word);
    let start = at - path.count();
    start > 0 && code[start - 1].is("=")
}

/// Whether the name at a position starts a literal of a whole diagnostic. A literal with `..` changes another diagnostic, and a
/// pattern with `..` reads one.
fn is_literal(code: &[Token<'_>], at: usize) -> bool {
    let mut start = at;
    while start > 0
        && (["::", "&", "mut"].iter().any(|sign| code[start - 1].is(sign)) || code[start - 1].text.starts_with('\''))
    {
        start -= if code[start - 1].is("::") { 2.min(start) } else { 1 };
    }
    let before = start.checked_sub(1).map_or("", |before| code[before].text);
    if ["struct", "enum", "impl", "for", "->", "dyn"].contains(&before) {
        return false;
    }
    let inside = &code[at + 1..at + 1 + group(&code[at + 1..])];
    let mut depth = 0_usize;
    !inside.iter().any(|token| {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        depth == 1 && token.is("..")
    })
}

/// A public type has a name of its own, unless the glossary has a row "`Name` | meaning in each crate". Rows without such a name
/// are breaches, too.
fn check_names(files: &[(String, String)], glossary: &str, breaches: &mut Vec<String>) {
    // By name, the crates and their files.
    let mut owners: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for (path, text) in files {
        let Some(owner) = owner_of_shipped(path) else { continue };
        for name in public_types(&shipped(text)) {
            owners.entry(name).or_default().entry(owner).or_default().insert(path);
        }
    }
    owners.retain(|_, owners| owners.len() > 1 || owners.values().any(|files| files.len() > 1));
    let section = glossary.split_once(SHARED_NAMES).map_or("", |(_, section)| section);
    let rows: BTreeMap<&str, &str> =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).collect();
    for (name, owners) in &owners {
        let (one, is_crate) = (owners.keys().next().copied().unwrap_or_default(), owners.len() == 1);
        let Some(meanings) = rows.get(name) else {
            let owners: Vec<&str> = owners.keys().copied().collect();
            breaches.push(match is_crate {
                true => format!("`{name}` is the name of several public types of {one}: rename all but one"),
                false => format!(
                    "`{name}` is a public type of {}: rename, or add a row to docs/GLOSSARY.md",
                    owners.join(", ")
                ),
            });
            continue;
        };
        for owner in owners.keys().filter(|owner| !meanings.contains(&format!("`{owner}`:"))) {
            breaches.push(format!("docs/GLOSSARY.md: the row `{name}` has no meaning for the crate {owner}"));
        }
    }
    for name in rows.keys().filter(|name| !owners.contains_key(*name)) {
        breaches.push(format!("docs/GLOSSARY.md: `{name}` is not the name of several public types; remove the row"));
    }
}

/// The names of the public types that code declares, at any depth.
fn public_types<'t>(code: &[Token<'t>]) -> Vec<&'t str> {
    let is_kind = |token: &Token<'_>| ["struct", "enum", "trait", "type", "union"].contains(&token.text);
    let names = code.windows(3).filter(|words| words[0].is("pub") && is_kind(&words[1]) && words[2].kind == Kind::Word);
    names.map(|words| words[2].text).collect()
}

#[cfg(test)]
mod tests {
    use super::{check, check_names};

    /// The breaches in files, without those of exceptions and of the real glossary.
    fn breaches(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        let mut breaches = Vec::new();
        check(&files, &mut breaches);
        breaches.retain(|breach| breach.starts_with("crates/"));
        breaches
    }

    fn in_crate(line: &str) -> Vec<String> {
        let text = format!("fn f() {{\n    {line}\n}}\n");
        breaches(&[("crates/session/src/lib.rs", &text)])
    }

    #[test]
    fn decisions_by_text_are_found_however_they_are_written() {
        for line in [
            "if problem.summary == \"Cycle\" {}",
            "if &*problem.summary == \"Cycle\" {}",
            "if \"Cycle\" == &*problem.summary {}",
            "if problem.detail != other.detail {}",
            "if problem.summary.as_str() == TITLE {}",
            "if problem\n        .detail\n        .trim()\n        .starts_with(\"x\") {}",
            "let a = matches!(problem.summary.as_str(), \"a\" | \"b\");",
            "match &*problem.summary { \"a\" => {} _ => {} }",
            "if let \"a\" = problem.summary.as_str() {}",
            "if problem.explanation() == text {}",
            "if self.0.insert(problem.explanation()) {}",
            "if seen.contains(&(problem.code, &problem.detail)) {}",
            "if (problem.code, &problem.summary) == (a, b) {}",
            "let url = \"https://a\"; if problem.hint == other.hint {}",
            "if found.joined().contains(\"x\") {}",
        ] {
            assert!(!in_crate(line).is_empty(), "{line}");
        }
        for line in [
            "// if problem.summary == \"Cycle\" {}",
            "let a = \"problem.summary == x\";",
            "if problem.detail.is_empty() || problem.detail.len() == 1 {}",
            "let lines = problem.explanation().split('\\n').count();",
            "out.push_str(&format!(\"{}: {}\", problem.summary, problem.explanation()));",
            "let problem = problem.hint(\"Do x.\") == other;",
        ] {
            assert_eq!(in_crate(line), Vec::<String>::new(), "{line}");
        }
        let line = "if problem.summary == \"Cycle\" {}\n";
        let in_tests = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{line}}}\n");
        let files = [("crates/a/src/lib.rs", in_tests.as_str()), ("crates/a/src/tests.rs", line)];
        assert_eq!(breaches(&files), Vec::<String>::new());
    }

    #[test]
    fn process_state_belongs_to_the_binary() {
        for line in [
            "let dir = std::env::current_dir();",
            "use std::env::var; var(\"A\");",
            "use std::{env, fs}; env::args();",
            "use std::env;",
            "let file = std::env::current_exe();",
            "let path = std::path::absolute(path);",
            "use std::path::{Path, absolute};",
            "let url = \"http://a\"; std::env::set_var(\"A\", \"b\");",
        ] {
            assert_eq!(in_crate(line).len(), 1, "{line}");
            let text = format!("fn f() {{\n    {line}\n}}\n");
            assert_eq!(breaches(&[("crates/cli/src/main.rs", &text)]), Vec::<String>::new(), "{line}");
        }
        for line in ["let os = std::env::consts::OS;", "std::env::split_paths(&value)", "path.is_absolute()"] {
            assert_eq!(in_crate(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn constructors_belong_into_catalogues() {
        for line in [
            "Diagnostic::new(&ROW, detail)",
            "yuba_syntax::Diagnostic\n::new(&ROW, detail)",
            "let a = Diagnostic { code, severity, summary, detail, hint: None };",
            "vec![&Diagnostic { code, inner: Inner { ..other } }]",
        ] {
            assert_eq!(in_crate(line).len(), 1, "{line}");
            let catalogues = [("crates/a/src/diagnostics.rs", line), ("crates/a/src/b/diagnostics/c.rs", line)];
            assert_eq!(breaches(&catalogues), Vec::<String>::new(), "{line}");
            for other in ["crates/a/src/my_diagnostics/c.rs", "crates/a/src/my_diagnostics.rs"] {
                assert_eq!(breaches(&[(other, line)]).len(), 1, "{other}");
            }
        }
        for line in [
            "use yuba_syntax::Diagnostic as Problem;",
            "type Problem = yuba_syntax::Diagnostic;",
            "type P = Diagnostic;",
        ] {
            assert_eq!(in_crate(line).len(), 1, "{line}");
        }
        for line in [
            "let a = Diagnostic { detail, ..problem };",
            "let Diagnostic { detail, .. } = problem;",
            "fn g() -> Diagnostic { h() }",
            "fn g<'a>() -> &'a Diagnostic { h() }",
            "impl From<A> for Diagnostic { fn from() {} }",
            "let a = wire::Diagnostic { summary };",
        ] {
            assert_eq!(in_crate(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn addresses_of_clouds_have_one_file() {
        assert_eq!(in_crate("let a = \"http://169.254.169.254/\";").len(), 1);
        assert_eq!(in_crate("// 169.254.169.254"), Vec::<String>::new());
    }

    #[test]
    fn names_are_unique_or_explained() {
        let names = |files: &[(&str, &str)], rows: &str| {
            let files: Vec<(String, String)> =
                files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
            let mut breaches = Vec::new();
            check_names(&files, &format!("## Names that several crates use\n\n{rows}"), &mut breaches);
            breaches
        };
        let files = [
            ("crates/a/src/lib.rs", "mod b {\n    pub struct Zebra;\n}\n"),
            ("crates/b/src/lib.rs", "#[derive(Debug)] pub enum Zebra {}\n"),
        ];
        assert!(names(&files, "")[0].starts_with("`Zebra` is a public type of a, b"));
        assert_eq!(names(&files, "| `Zebra` | `a`: one. `b`: another. |\n"), Vec::<String>::new());
        assert!(names(&files, "| `Zebra` | `a`: one. |\n")[0].contains("no meaning for the crate b"));
        assert!(names(&files[..1], "| `Zebra` | `a`: one. `b`: another. |\n")[0].contains("remove the row"));
        let twice = [("crates/a/src/b.rs", "pub type Zebra = u8;"), ("crates/a/src/c.rs", "pub trait Zebra {}")];
        assert!(names(&twice, "")[0].starts_with("`Zebra` is the name of several public types of a"));
        assert_eq!(
            names(&[("crates/a/src/b.rs", "pub(crate) type A = u8;"), ("crates/a/src/c.rs", "pub type A = u8;")], ""),
            Vec::<String>::new()
        );
    }
}
