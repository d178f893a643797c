//! Forbidden patterns in the sources: decisions by text, access to the process below `cli`, public types with one name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::catalogue::is_catalogue;
use crate::tidy::root;

/// Comparisons of titles or details, which are for people. Codes and typed extras decide.
const TEXT_DECISIONS: [&str; 12] = [
    ".summary ==",
    ".summary !=",
    "== problem.summary",
    ".summary.starts_with(",
    ".summary.ends_with(",
    ".summary.contains(",
    ".summary.as_str() ==",
    ".summary.eq",
    ".detail ==",
    ".detail.starts_with(",
    ".detail.ends_with(",
    ".detail.contains(",
];

/// Access to the state of the process. Only `cli` asks for it and passes it on as values.
const PROCESS_STATE: [&str; 8] = [
    "env::var(",
    "env::var_os(",
    "env::vars(",
    "env::vars_os(",
    "env::current_dir(",
    "env::set_current_dir(",
    "env::temp_dir(",
    "env::home_dir",
];

/// Link-local addresses of services of clouds, and where they may be. The function there refuses them in tests.
const MACHINE_ADDRESSES: [&str; 3] = ["169.254.", "fd00:ec2:", "metadata.google.internal"];
const MACHINE_FILE: &str = "crates/net/src/machine.rs";

/// Constructors of diagnostics. Only catalogues call them.
const CONSTRUCTORS: [&str; 3] = ["Diagnostic::new(", "Diagnostic::error(", "Diagnostic::warning("];

/// Crates that may ask the process: the binary, and those that only tests use.
const MAY_ASK: [&str; 3] = ["cli", "testkit", "testprovider"];

/// Checks all source files, given by path and text.
pub(crate) fn check(files: &[(String, String)], breaches: &mut Vec<String>) {
    for (path, text) in files {
        let Some(rest) = path.strip_prefix("crates/") else { continue };
        let Some((owner, _)) = rest.split_once("/src/") else { continue };
        if is_test_file(path) || ["testkit", "testprovider"].contains(&owner) {
            continue;
        }
        for (index, line) in text.lines().enumerate().filter(|_| path != MACHINE_FILE) {
            let is_comment = line.trim_start().starts_with("//");
            if let Some(found) = MACHINE_ADDRESSES.iter().find(|address| line.contains(*address) && !is_comment) {
                breaches.push(format!("{path}:{}: `{found}` outside of {MACHINE_FILE}", index + 1));
            }
        }
        for (line, code) in shipped_lines(text) {
            if let Some(found) = TEXT_DECISIONS.iter().find(|word| code.contains(*word)) {
                breaches.push(format!("{path}:{line}: `{found}` decides by text; compare the code"));
            }
            if !MAY_ASK.contains(&owner)
                && let Some(found) = PROCESS_STATE.iter().find(|word| code.contains(*word))
            {
                breaches.push(format!("{path}:{line}: `{found}` below `cli`; pass the value in"));
            }
            if !is_catalogue(path)
                && let Some(found) = CONSTRUCTORS.iter().find(|word| code.contains(*word))
            {
                breaches.push(format!("{path}:{line}: `{found}` outside of a catalogue"));
            }
        }
    }
    let glossary = fs::read_to_string(root().join("docs/GLOSSARY.md")).unwrap_or_default();
    check_names(files, &glossary, breaches);
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

/// Lines that are compiled into the product, without comments. An item for tests ends with a bracket or a semicolon in the
/// column of its attribute.
pub(crate) fn shipped_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut column_of_tests = None;
    let is_shipped = move |(_, line): &(usize, &str)| {
        let column = line.len() - line.trim_start().len();
        let is_attribute = ["#[cfg(test)]", "#[cfg(all(test"].iter().any(|start| line.trim_start().starts_with(start));
        match column_of_tests {
            None if is_attribute => column_of_tests = Some(column),
            None => return true,
            Some(tests) => {
                let ends = line.trim_start().starts_with('}') || line.ends_with(';');
                if column == tests && ends {
                    column_of_tests = None;
                }
            }
        }
        false
    };
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    numbered.filter(is_shipped).map(|(number, line)| (number, line.split("//").next().unwrap_or_default()))
}

/// A public type has a name of its own, unless the glossary has a row "`Name` | crates | reason".
fn check_names(files: &[(String, String)], glossary: &str, breaches: &mut Vec<String>) {
    let mut owners: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, text) in files {
        let Some((owner, _)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/")) else { continue };
        if is_test_file(path) || ["testkit", "testprovider"].contains(&owner) {
            continue;
        }
        for (_, line) in shipped_lines(text) {
            if let Some(name) = public_type(line) {
                owners.entry(name).or_default().insert(owner);
            }
        }
    }
    for (name, owners) in owners.iter().filter(|(_, owners)| owners.len() > 1) {
        if !glossary.contains(&format!("| `{name}` |")) {
            let owners: Vec<&str> = owners.iter().copied().collect();
            breaches.push(format!(
                "`{name}` is a public type of {}: rename, or add a row to docs/GLOSSARY.md",
                owners.join(", ")
            ));
        }
    }
}

/// The name of the public type that a line declares.
fn public_type(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[cfg(test)]
mod tests {
    use super::check;

    fn breaches(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        let mut breaches = Vec::new();
        check(&files, &mut breaches);
        breaches
    }

    #[test]
    fn decisions_by_text_are_found_in_shipped_code_only() {
        let line = "if problem.summary == \"Cycle\" {}\n";
        assert_eq!(breaches(&[("crates/a/src/lib.rs", line)]).len(), 1);
        let in_tests = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{line}}}\n");
        assert_eq!(
            breaches(&[("crates/a/src/lib.rs", &in_tests), ("crates/a/src/tests.rs", line)]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn process_state_belongs_to_the_binary() {
        let line = "let dir = std::env::current_dir();\n";
        assert_eq!(breaches(&[("crates/cli/src/main.rs", line)]), Vec::<String>::new());
        assert_eq!(breaches(&[("crates/session/src/lib.rs", line)]).len(), 1);
    }

    #[test]
    fn constructors_belong_into_catalogues() {
        let line = "Diagnostic::new(&ROW, detail)\n";
        assert_eq!(
            breaches(&[("crates/a/src/diagnostics.rs", line), ("crates/a/src/b/diagnostics/c.rs", line)]).len(),
            0
        );
        assert_eq!(breaches(&[("crates/a/src/lib.rs", line)]).len(), 1);
    }

    #[test]
    fn a_name_of_two_public_types_is_found() {
        let found =
            breaches(&[("crates/a/src/lib.rs", "pub struct Zebra;\n"), ("crates/b/src/lib.rs", "pub enum Zebra {}\n")]);
        assert!(found.iter().any(|breach| breach.starts_with("`Zebra` is a public type of a, b")), "{found:?}");
    }
}
