//! The recipes "How to add ..." of docs/ARCHITECTURE.md: each extension point has one, and the files it names exist.

use std::collections::BTreeMap;
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

/// Checks that all recipes exist, with few enough files, all of which exist.
pub(crate) fn check(breaches: &mut Vec<String>) {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap_or_default();
    check_recipes(&recipes(&text), |file| root().join(file).exists(), breaches);
}

fn check_recipes(recipes: &BTreeMap<String, Vec<String>>, exists: impl Fn(&str) -> bool, breaches: &mut Vec<String>) {
    for (subject, limit) in RECIPES {
        let Some(files) = recipes.get(subject) else {
            breaches.push(format!("docs/ARCHITECTURE.md: no section \"## How to add {subject}\""));
            continue;
        };
        if files.is_empty() || files.len() > limit {
            breaches.push(format!(
                "docs/ARCHITECTURE.md: {} files to add {subject}, 1 to {limit} are allowed",
                files.len()
            ));
        }
        for file in files.iter().filter(|file| !exists(file)) {
            breaches.push(format!("docs/ARCHITECTURE.md: {file}, to touch when adding {subject}, does not exist"));
        }
    }
}

/// By subject, the files of its numbered list: the first path in backticks of each item. `NEW` stands before files that the
/// recipe creates; their directory has to exist.
fn recipes(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut recipes: BTreeMap<String, Vec<String>> = BTreeMap::new();
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
        let is_item = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        let (Some(subject), true, Some(file)) = (&current, is_item, line.split('`').nth(1)) else { continue };
        let file = match line.contains("NEW `") {
            true => file.rsplit_once('/').map_or(file, |(directory, _)| directory),
            false => file,
        };
        recipes.entry(subject.clone()).or_default().push(file.to_owned());
    }
    recipes
}

#[cfg(test)]
mod tests {
    use super::{check_recipes, recipes};

    #[test]
    fn files_of_recipes_are_read() {
        let text = "### How to add a backend\n\nText with `code`.\n\n1. NEW `crates/a/src/x.rs`: the store.\n2. `crates/a/src/kit.rs`: its `row`.\n\n### Else\n\n1. `no`\n";
        let found = recipes(text);
        assert_eq!(found["a backend"], ["crates/a/src", "crates/a/src/kit.rs"]);
        let mut breaches = Vec::new();
        check_recipes(&found, |file| file == "crates/a/src", &mut breaches);
        assert!(
            breaches.iter().any(|breach| breach.contains("kit.rs, to touch when adding a backend, does not exist"))
        );
        assert_eq!(breaches.len(), 10, "nine recipes and one file are missing");
    }
}
