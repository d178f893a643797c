//! The rules of the house that a compiler does not check. Each is a sentence in CONTRIBUTING.md.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::absences::members;
use crate::tokens::{Token, shipped, tokens};

/// A source file past this many lines has two ideas in it.
const MAX_LINES: usize = 800;

/// Words without meaning, as file names and as endings of type names.
const BANNED_NAMES: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "manager", "handler", "processor"];

/// Modules and functions that only the crates marked IO may use.
const OUTSIDE_WORLD: [(&str, &str); 7] = [
    ("std", "fs"),
    ("std", "env"),
    ("std", "process"),
    ("std", "net"),
    ("std", "thread"),
    ("SystemTime", "now"),
    ("Instant", "now"),
];

/// Macros that only the crates marked IO may use.
const OUTSIDE_MACROS: [&str; 4] = ["print", "println", "eprint", "eprintln"];

/// Leftovers that must not stay in shipped code.
const LEFTOVERS: [&str; 6] =
    ["#[ignore", "todo!(", "unimplemented!(", "dbg!(", concat!("TO", "DO"), concat!("FIX", "ME")];

/// Checks everything; the error lists every breach.
pub(crate) fn run() -> Result<String, String> {
    let mut breaches = Vec::new();
    let crates = read_architecture(&mut breaches);
    let files = source_files();
    check_dependencies(&crates, &mut breaches);
    for path in &files {
        check_file(path, &crates, &mut breaches);
    }
    check_suite_names(&mut breaches);
    let sources = sources();
    crate::catalogue::check(&sources, &mut breaches);
    crate::absences::check(&sources, &mut breaches);
    crate::booleans::check(&sources, &mut breaches);
    crate::lengths::check(&sources, &mut breaches);
    crate::backends::check(&mut breaches);
    crate::recipes::check(&mut breaches);
    crate::walks::check(&mut breaches);
    crate::dependencies::check(&mut breaches);
    let texts = [sources, pages(), project_files()].concat();
    crate::spelling::check(&texts, &mut breaches);
    crate::wording::check(&texts, &mut breaches);
    crate::links::check(&mut breaches);
    crate::bench::check(&mut breaches);
    if breaches.is_empty() {
        Ok(format!("tidy: {} crates, {} files, no breach", crates.len(), files.len()))
    } else {
        Err(breaches.join("\n"))
    }
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

/// All source files: path relative to the root of the repository, and text.
pub(crate) fn sources() -> Vec<(String, String)> {
    let shown = |path: &Path| path.strip_prefix(root()).unwrap_or(path).display().to_string();
    source_files().iter().map(|path| (shown(path), fs::read_to_string(path).unwrap_or_default())).collect()
}

/// All pages for people: path relative to the root of the repository, and text.
fn pages() -> Vec<(String, String)> {
    let mut paths: Vec<String> = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(str::to_owned).into();
    let mut folders = vec![root().join("docs"), root().join("suite")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                paths.push(path.strip_prefix(root()).unwrap_or(&path).display().to_string());
            }
        }
    }
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(root().join(path)).unwrap_or_default())).collect()
}

/// All files of the project that are neither sources nor pages, and that people read: path relative to the root, and text.
fn project_files() -> Vec<(String, String)> {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_default();
    let output = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .output();
    let listed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let is_elsewhere = |path: &&str| {
        let is_page = path.ends_with(".md") && (path.starts_with("docs/") || path.starts_with("suite/"));
        let is_data = path.ends_with(".lock") || path.starts_with("conformance/") || path.starts_with("LICENSE");
        !path.ends_with(".rs")
            && !is_page
            && !is_data
            && !["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].contains(path)
    };
    let is_text = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        path.starts_with(".ci/")
            || name == "Dockerfile"
            || ["md", "toml", "yml", "yaml", "sh", "js", "html", "tf", "hcl", "json"].contains(&extension)
    };
    let is_written_by_people = |path: &&str| {
        !path.starts_with("crates/") || path.ends_with(".js") || path.ends_with(".html") || path.ends_with("Cargo.toml")
    };
    let paths = listed.lines().filter(is_elsewhere).filter(is_text).filter(is_written_by_people);
    let is_result = |path: &&str| path.starts_with("docs/") || path.starts_with("fuzz/corpus");
    paths.filter(|path| !is_result(path)).map(|path| (path.to_owned(), read(path))).collect()
}

/// One row of the crate table.
struct CrateRow {
    level: u32,
    io: bool,
}

/// Reads the table `| level | crate | ...` of docs/ARCHITECTURE.md.
fn read_architecture(breaches: &mut Vec<String>) -> BTreeMap<String, CrateRow> {
    let mut rows = BTreeMap::new();
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap_or_default();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, level, name, ..] = cells[..] else { continue };
        let (Ok(level), Some(name_part)) = (level.parse(), name.split('`').nth(1)) else { continue };
        rows.insert(name_part.to_owned(), CrateRow { level, io: name.contains("(IO)") });
    }
    if rows.is_empty() {
        breaches.push("docs/ARCHITECTURE.md: no crate table found".to_owned());
    }
    rows
}

/// Arrows only downwards; the table names exactly the crates that exist.
fn check_dependencies(rows: &BTreeMap<String, CrateRow>, breaches: &mut Vec<String>) {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()
        .expect("cargo runs xtask, so cargo runs");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    let mut real = Vec::new();
    for package in &packages {
        let Some(name) = package["name"].as_str().and_then(|n| n.strip_prefix("yuba-")) else { continue };
        real.push(name.to_owned());
        let Some(row) = rows.get(name) else {
            breaches.push(format!("docs/ARCHITECTURE.md: crate `{name}` exists but is not in the table"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let Some(target) = dependency["name"].as_str().and_then(|n| n.strip_prefix("yuba-")) else { continue };
            if dependency["kind"].as_str() == Some("dev") {
                continue;
            }
            if rows.get(target).is_some_and(|below| below.level >= row.level) {
                breaches.push(format!("crates/{name}: depends on `{target}`, which is not below it"));
            }
        }
    }
    for name in rows.keys().filter(|name| !real.contains(name)) {
        breaches.push(format!("docs/ARCHITECTURE.md: crate `{name}` is in the table but does not exist"));
    }
}

fn source_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join("crates"), root().join("xtask"), root().join("fuzz")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !["target", "corpus", "artifacts"].iter().any(|skip| path.ends_with(skip)) {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn check_file(path: &Path, crates: &BTreeMap<String, CrateRow>, breaches: &mut Vec<String>) {
    let shown = path.strip_prefix(root()).unwrap_or(path).display().to_string();
    let Ok(text) = fs::read_to_string(path) else {
        breaches.push(format!("{shown}: cannot be read as text"));
        return;
    };
    if !text.starts_with("//! ") {
        breaches.push(format!("{shown}: starts without a `//!` sentence"));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        breaches.push(format!("{shown}: {lines} lines, past {MAX_LINES} there are two ideas in it"));
    }
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    if stem == "mod" && shown.contains("/src/") {
        breaches.push(format!("{shown}: a module with files below it is called by its name, not mod.rs"));
    }
    if BANNED_NAMES.contains(&stem) {
        breaches.push(format!("{shown}: a file name that says nothing"));
    }
    let owner = shown.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
    let pure = owner.and_then(|name| crates.get(name)).is_some_and(|row| !row.io) && shown.contains("/src/");
    let own_rules = shown.starts_with("xtask/src/");
    if own_rules {
        return;
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = LEFTOVERS.iter().find(|leftover| line.contains(*leftover)) {
            breaches.push(format!("{shown}:{}: `{found}` left behind", index + 1));
        }
    }
    for (line, word) in banned_types(&text) {
        breaches.push(format!("{shown}:{line}: type name `{word}` says nothing"));
    }
    if pure {
        for (line, found) in outside_world(&text) {
            breaches.push(format!("{shown}:{line}: `{found}` in a crate without access to the outside world"));
        }
    }
}

/// Names of types that say nothing, by line.
fn banned_types(text: &str) -> Vec<(usize, &str)> {
    let code = tokens(text);
    let is_kind = |token: &Token<'_>| ["struct", "enum", "trait"].iter().any(|kind| token.is(kind));
    let is_banned = |name: &str| BANNED_NAMES.iter().any(|banned| name.to_lowercase().ends_with(banned));
    let declared = code.windows(2).filter(|pair| is_kind(&pair[0]) && is_banned(pair[1].text));
    declared.map(|pair| (pair[1].line, pair[1].text)).collect()
}

/// Access to the outside world, by line.
fn outside_world(text: &str) -> Vec<(usize, String)> {
    let code = shipped(text);
    let mut found = Vec::new();
    for (module, member) in OUTSIDE_WORLD {
        found.extend(
            members(&code, module, member).into_iter().map(|at| (code[at].line, format!("{module}::{member}"))),
        );
    }
    for pair in code.windows(2).filter(|pair| pair[1].is("!") && OUTSIDE_MACROS.contains(&pair[0].text)) {
        found.push((pair[0].line, format!("{}!", pair[0].text)));
    }
    found
}

/// Sections of the executable specification have globally unique names.
fn check_suite_names(breaches: &mut Vec<String>) {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut chapters: Vec<_> = fs::read_dir(root().join("suite")).into_iter().flatten().flatten().collect();
    chapters.sort_by_key(std::fs::DirEntry::path);
    for chapter in chapters {
        let file = chapter.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(chapter.path()).unwrap_or_default();
        for name in text.lines().filter_map(|line| line.strip_prefix("## ")) {
            if let Some(other) = seen.insert(name.to_owned(), file.clone()) {
                breaches.push(format!("suite/{file}: section `{name}` is in {other} already"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_house_is_tidy() {
        if let Err(breaches) = super::run() {
            panic!("\n{breaches}");
        }
    }

    #[test]
    fn names_that_say_nothing_are_found() {
        let text = "pub struct StateManager {}\nstruct Scanner;\n// struct Util\nenum\n  JobHandler {}";
        assert_eq!(super::banned_types(text), [(1, "StateManager"), (5, "JobHandler")]);
    }

    #[test]
    fn access_to_the_outside_world_is_found() {
        let found = |line: &str| super::outside_world(&format!("fn f() {{ {line} }}")).len();
        for line in [
            "use std::fs;",
            "use std::{collections::HashMap, net};",
            "let url = \"https://a\"; let now = std::time::Instant\n::now();",
            "println!(\"a\");",
        ] {
            assert_eq!(found(line), 1, "{line}");
        }
        for line in ["// std::fs", "let a = \"std::fs\";", "#[cfg(test)] use std::fs;"] {
            assert_eq!(found(line), 0, "{line}");
        }
    }
}
