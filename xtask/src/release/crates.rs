//! The crates that become part of the binary: the normal dependencies of `yuba-cli` for a target.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::output;
use crate::tidy::root;

/// The package of the binary.
const BINARY: &str = "yuba-cli";

/// A crate in the binary.
#[derive(Clone, Debug)]
pub(super) struct LinkedCrate {
    pub(super) name: String,
    pub(super) version: String,
    /// The licence expression of its manifest.
    pub(super) licence: String,
    /// The directory of its sources.
    pub(super) directory: PathBuf,
    pub(super) repository: Option<String>,
    /// Whether it comes from a registry, as opposed to this repository.
    pub(super) is_foreign: bool,
    /// The SHA-256 checksum of its archive.
    pub(super) checksum: Option<String>,
    /// Names and versions of the crates that it uses.
    pub(super) uses: Vec<(String, String)>,
}

/// All crates in the binary, by name and version.
pub(super) fn linked(target: &str) -> Result<Vec<LinkedCrate>, String> {
    let mut command = Command::new(env!("CARGO"));
    let arguments = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target];
    let shown = output(command.current_dir(root()).args(arguments))?;
    let metadata: Value = serde_json::from_str(&shown).map_err(|error| error.to_string())?;
    let mut crates = closure(&metadata, &super::read("Cargo.lock")?);
    // The metadata has the features of the whole workspace, tests included. The tree has those of the binary.
    let mut command = Command::new(env!("CARGO"));
    let arguments =
        ["tree", "--locked", "--package", BINARY, "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let tree = output(command.current_dir(root()).args(arguments).args(["--target", target]))?;
    let compiled = in_tree(&tree);
    let is_compiled = |name: &str, version: &str| compiled.contains(&(name.to_owned(), version.to_owned()));
    crates.retain(|linked| is_compiled(&linked.name, &linked.version));
    for linked in &mut crates {
        linked.uses.retain(|(name, version)| is_compiled(name, version));
    }
    Ok(crates)
}

/// Names and versions in the lines of `cargo tree`.
fn in_tree(tree: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for line in tree.lines() {
        let mut words = line.split(' ');
        if let (Some(name), Some(version)) = (words.next(), words.next().and_then(|word| word.strip_prefix('v'))) {
            found.insert((name.to_owned(), version.to_owned()));
        }
    }
    found
}

fn closure(metadata: &Value, lock: &str) -> Vec<LinkedCrate> {
    let by_id = |list: &Value| -> BTreeMap<String, Value> {
        let items = list.as_array().into_iter().flatten();
        items.filter_map(|item| Some((item["id"].as_str()?.to_owned(), item.clone()))).collect()
    };
    let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    let start = packages.iter().find(|(_, package)| package["name"] == BINARY).map(|(id, _)| id.clone());
    let (mut found, mut waiting) = (BTreeSet::new(), Vec::from_iter(start));
    while let Some(id) = waiting.pop() {
        if found.insert(id.clone()) {
            waiting.extend(normal_dependencies(&nodes[&id]));
        }
    }
    let named = |id: &String| {
        let text = |key: &str| packages[id][key].as_str().unwrap_or_default().to_owned();
        (text("name"), text("version"))
    };
    let checksums = checksums(lock);
    let mut crates: Vec<LinkedCrate> = found
        .iter()
        .map(|id| {
            let package = &packages[id];
            let (name, version) = named(id);
            let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
            let mut uses: Vec<_> = normal_dependencies(&nodes[id]).iter().map(named).collect();
            uses.sort();
            LinkedCrate {
                licence: package["license"].as_str().unwrap_or("see its licence file").replace('/', " OR "),
                directory: manifest.parent().map(PathBuf::from).unwrap_or_default(),
                repository: package["repository"].as_str().map(str::to_owned),
                is_foreign: !package["source"].is_null(),
                checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
                name,
                version,
                uses,
            }
        })
        .collect();
    crates.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    crates
}

/// The ids of the dependencies of a node, without those of its tests and build script.
fn normal_dependencies(node: &Value) -> Vec<String> {
    let is_normal = |dependency: &&Value| {
        dependency["dep_kinds"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let dependencies = node["deps"].as_array().into_iter().flatten().filter(is_normal);
    dependencies.filter_map(|dependency| dependency["pkg"].as_str().map(str::to_owned)).collect()
}

/// Checksums in a lock file by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(checksum)) = (value("name"), value("version"), value("checksum")) {
            found.insert((name, version), checksum);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{closure, in_tree};

    #[test]
    fn only_normal_dependencies_are_part_of_the_binary() {
        let package = |name: &str| json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT/ISC", "source": "x", "manifest_path": "/m/Cargo.toml"});
        let uses = |id: &str, kind: Option<&str>| json!({"pkg": id, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [package("yuba-cli"), package("a"), package("b"), package("c"), package("d")],
            "resolve": {"nodes": [
                {"id": "yuba-cli", "deps": [uses("a", None), uses("b", Some("dev")), uses("c", Some("build"))]},
                {"id": "a", "deps": [uses("d", None)]},
                {"id": "b", "deps": []}, {"id": "c", "deps": []}, {"id": "d", "deps": [uses("a", None)]},
            ]},
        });
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let crates = closure(&metadata, lock);
        let names: Vec<&str> = crates.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["a", "d", "yuba-cli"]);
        assert_eq!((crates[0].checksum.as_deref(), crates[0].licence.as_str()), (Some("abc"), "MIT OR ISC"));
        assert_eq!(crates[0].uses, [("d".to_owned(), "1.0.0".to_owned())]);
    }

    #[test]
    fn lines_of_the_tree_have_name_and_version() {
        let tree = in_tree("yuba-cli v0.2.0 (/src/crates/cli)\nbase64 v0.22.1 (*)\nserde v1.0.0 (proc-macro)\n\n");
        let names: Vec<_> = tree.iter().map(|(name, version)| format!("{name} {version}")).collect();
        assert_eq!(names, ["base64 0.22.1", "serde 1.0.0", "yuba-cli 0.2.0"]);
    }
}
