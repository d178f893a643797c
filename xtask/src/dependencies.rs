//! Rules for dependencies: their licences, the number of versions of each, and their sources, by the lists of
//! deny.toml.
//!
//! `cargo deny` checks the same and known vulnerabilities, where it is installed. This check needs neither it nor a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::tidy::root;

/// Checks Cargo.lock and the licences of the packages that are built on this machine.
pub(crate) fn check(breaches: &mut Vec<String>) {
    let rules = fs::read_to_string(root().join("deny.toml")).unwrap_or_default();
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap_or_default();
    check_lock(&lock, &list(&rules, "skip"), &list(&rules, "allow-registry"), breaches);
    let host = Command::new(env!("CARGO")).args(["-vV"]).output().map(|output| output.stdout).unwrap_or_default();
    let host = String::from_utf8_lossy(&host);
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", host])
        .output()
        .expect("cargo runs xtask, so cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let Some(packages) = metadata["packages"].as_array() else {
        breaches.push(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim()));
        return;
    };
    let allowed = list(&rules, "allow");
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        match package["license"].as_str() {
            Some(license) if is_allowed(license, &allowed) => {}
            Some(license) => breaches.push(format!("{name}: the licence {license:?} is not allowed by deny.toml")),
            None => breaches.push(format!("{name}: no licence is given")),
        }
    }
}

/// The strings of a list `name = [...]`, one a line.
fn list(text: &str, name: &str) -> BTreeSet<String> {
    let start = format!("{name} = [");
    let lines = text.lines().skip_while(|line| *line != start).skip(1).take_while(|line| *line != "]");
    lines.filter_map(|line| line.split('"').nth(1).map(str::to_owned)).collect()
}

/// Every package comes from a registry that is allowed, or from here; only some exist in several versions.
fn check_lock(lock: &str, duplicates: &BTreeSet<String>, registries: &BTreeSet<String>, breaches: &mut Vec<String>) {
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value =
            |key: &str| package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = ")).map(unquoted);
        let name = value("name").unwrap_or_default();
        *versions.entry(name).or_default() += 1;
        if let Some(source) = value("source") {
            let registry = source.strip_prefix("registry+").or_else(|| source.strip_prefix("sparse+"));
            if !registry.is_some_and(|registry| registries.contains(registry)) {
                breaches.push(format!("{name}: the source {source:?} is not allowed by deny.toml"));
            }
        }
    }
    for (name, count) in &versions {
        if *count > 1 && !duplicates.contains(*name) {
            breaches.push(format!("{name}: there are {count} versions of it in Cargo.lock"));
        }
    }
    for name in duplicates.iter().filter(|name| versions.get(name.as_str()).is_none_or(|count| *count < 2)) {
        breaches.push(format!("deny.toml: there is only one version of {name} now"));
    }
}

fn unquoted(text: &str) -> &str {
    text.trim_matches('"')
}

/// Whether a licence expression can be satisfied with licences that are allowed.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest, allowed) && rest.is_empty()
}

fn either(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut holds = both(words, allowed);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        holds |= both(words, allowed);
    }
    holds
}

fn both(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut holds = one(words, allowed);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        holds &= one(words, allowed);
    }
    holds
}

fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let holds = either(words, allowed);
            match *words {
                [")", rest @ ..] => {
                    *words = rest;
                    holds
                }
                _ => false,
            }
        }
        [license, "WITH", exception, rest @ ..] => {
            *words = rest;
            allowed.contains(&format!("{license} WITH {exception}"))
        }
        [license, rest @ ..] => {
            *words = rest;
            allowed.contains(*license)
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn licence_expressions_are_read() {
        let allowed = names(&["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]);
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("MIT/GPL-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("ISC AND (GPL-3.0 OR MIT)", true),
            ("(GPL-3.0 OR AGPL-3.0) AND MIT", false),
            ("GPL-3.0 OR MIT AND ISC", true),
            ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
            ("Apache-2.0", false),
            ("(MIT", false),
            ("MIT ISC", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }

    #[test]
    fn sources_and_duplicates_are_found() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+https://good\"\n\n\
                    [[package]]\nname = \"a\"\nversion = \"2.0.0\"\nsource = \"git+https://good\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"1.0.0\"\n";
        let mut breaches = Vec::new();
        check_lock(lock, &names(&["own"]), &names(&["https://good"]), &mut breaches);
        assert_eq!(
            breaches,
            [
                "a: the source \"git+https://good\" is not allowed by deny.toml",
                "a: there are 2 versions of it in Cargo.lock",
                "deny.toml: there is only one version of own now",
            ]
        );
        assert_eq!(list("x = [\n    \"a\", # why\n    \"b\",\n]\n\"c\"\n", "x"), names(&["a", "b"]));
    }
}
