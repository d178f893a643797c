//! The recipes "How to add ..." of docs/ARCHITECTURE.md: each extension point has one, and the files it names exist and are few.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::tidy::root;

/// Extension points and the number of files that a recipe may name.
const RECIPES: [(&str, usize); 10] = [
    ("a backend", 3),
    ("a key provider", 3),
    ("a lifecycle argument", 5),
    ("a function", 3),
    ("an opt-in feature", 3),
    ("a plan output format", 3),
    ("an editor feature", 3),
    ("a progress message", 3),
    ("a state field", 3),
    ("a protocol message", 5),
];

/// Directories that paths of the repository start with.
const TOP: [&str; 6] = ["crates/", "docs/", "suite/", "xtask/", "fuzz/", "conformance/"];

/// The files of a recipe.
#[derive(Default)]
struct Recipe {
    /// Files that exist, and directories of files that the recipe creates.
    named: BTreeSet<String>,
    /// Number of files to touch. Files joined by "or" are one.
    count: usize,
}

/// Checks that all recipes exist, with few enough files, all of which exist.
pub(crate) fn check(breaches: &mut Vec<String>) {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap_or_default();
    check_recipes(&recipes(&text, breaches), |file| root().join(file).exists(), breaches);
}

fn check_recipes(recipes: &BTreeMap<String, Recipe>, exists: impl Fn(&str) -> bool, breaches: &mut Vec<String>) {
    for (subject, limit) in RECIPES {
        let Some(recipe) = recipes.get(subject) else {
            breaches.push(format!("docs/ARCHITECTURE.md: no section \"## How to add {subject}\""));
            continue;
        };
        if recipe.count == 0 || recipe.count > limit {
            breaches.push(format!(
                "docs/ARCHITECTURE.md: {} files to add {subject}, 1 to {limit} are allowed",
                recipe.count
            ));
        }
        for file in recipe.named.iter().filter(|file| !exists(file)) {
            breaches.push(format!("docs/ARCHITECTURE.md: {file}, to touch when adding {subject}, does not exist"));
        }
    }
}

/// By subject, all paths in backticks of the section, in its list and elsewhere. `NEW` stands before files that the recipe creates;
/// their directory must exist. Paths of directories are breaches: they hide the number of files.
fn recipes(text: &str, breaches: &mut Vec<String>) -> BTreeMap<String, Recipe> {
    let mut recipes: BTreeMap<String, Recipe> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix('#') {
            let subject = title.trim_start_matches('#').trim().strip_prefix("How to add ").map(str::to_owned);
            if let Some(subject) = &subject {
                recipes.entry(subject.clone()).or_default();
            }
            current = subject;
            continue;
        }
        let Some((subject, recipe)) = current.as_ref().and_then(|subject| Some((subject, recipes.get_mut(subject)?)))
        else {
            continue;
        };
        let parts: Vec<&str> = line.split('`').collect();
        let mut follows = false;
        for (before, path) in parts.iter().zip(parts.iter().skip(1)).step_by(2) {
            if !TOP.iter().any(|top| path.starts_with(top)) {
                follows = false;
                continue;
            }
            if !path.rsplit('/').next().is_some_and(|name| name.contains('.')) {
                breaches.push(format!("docs/ARCHITECTURE.md: {path}, to touch when adding {subject}, is a directory"));
            }
            let is_alternative = follows && before.trim() == "or";
            let file = match before.trim_end().ends_with("NEW") {
                true => path.rsplit_once('/').map_or(*path, |(directory, _)| directory),
                false => path,
            };
            let is_known = recipe.named.contains(*path);
            recipe.named.insert(file.to_owned());
            recipe.count += usize::from(!is_alternative && !is_known);
            follows = true;
        }
    }
    recipes
}

#[cfg(test)]
mod tests {
    use super::{check_recipes, recipes};

    #[test]
    fn all_files_of_recipes_count() {
        let text = "### How to add a backend\n\nText with `code` and `docs/a.md`.\n\n1. NEW `crates/a/src/x.rs`: the store, \
                    with a row of `docs/b.md`.\n2. `crates/a/src/kit.rs` or `crates/a/src/other.rs`: its `row`. Again \
                    `crates/a/src/kit.rs`.\n\n### Else\n\n1. `docs/no.md`\n";
        let mut breaches = Vec::new();
        let found = recipes(text, &mut breaches);
        assert_eq!(breaches, Vec::<String>::new());
        let recipe = &found["a backend"];
        let named: Vec<&str> = recipe.named.iter().map(String::as_str).collect();
        assert_eq!(named, ["crates/a/src", "crates/a/src/kit.rs", "crates/a/src/other.rs", "docs/a.md", "docs/b.md"]);
        assert_eq!(recipe.count, 4);
        check_recipes(&found, |file| file != "crates/a/src/kit.rs", &mut breaches);
        assert_eq!(breaches[0], "docs/ARCHITECTURE.md: 4 files to add a backend, 1 to 3 are allowed");
        assert!(breaches[1].contains("kit.rs, to touch when adding a backend, does not exist"));
        assert_eq!(breaches.len(), 11, "nine recipes are missing");
    }

    #[test]
    fn directories_are_refused() {
        let mut breaches = Vec::new();
        recipes("## How to add a function\n\n1. `crates/value/src/functions`: a row.\n", &mut breaches);
        assert_eq!(breaches.len(), 1);
    }
}
