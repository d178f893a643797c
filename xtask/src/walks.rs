//! The walks of docs/ARCHITECTURE.md: nested lists of files with their functions, in the order of the calls. Each function exists in
//! its file, and is called there or in the file of the item around it.

use std::fs;

use crate::tidy::root;

/// The title of the section with the walks.
const TITLE: &str = "Walks through the code";
/// Number of walks.
const WALKS: usize = 3;

/// An item of a walk: a file, and functions in it.
#[derive(Debug, PartialEq, Eq)]
struct Item {
    depth: usize,
    file: String,
    functions: Vec<String>,
}

/// Checks all walks.
pub(crate) fn check(breaches: &mut Vec<String>) {
    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap_or_default();
    let walks = walks(&text);
    if walks.len() != WALKS {
        breaches.push(format!("docs/ARCHITECTURE.md: {} lists in \"{TITLE}\", {WALKS} are expected", walks.len()));
    }
    for walk in &walks {
        check_walk(walk, |file| fs::read_to_string(root().join(file)).ok(), breaches);
    }
}

/// The lists of the section. An item begins with a file in backticks; all other words in backticks that begin with a lower-case
/// letter, or with a type and `::`, are functions.
fn walks(text: &str) -> Vec<Vec<Item>> {
    let mut walks: Vec<Vec<Item>> = Vec::new();
    let (mut is_inside, mut is_list) = (false, false);
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            is_inside = title == TITLE;
        }
        let content = line.trim_start();
        let depth = (line.len() - content.len()) / 2;
        let Some(item) = content.strip_prefix("- `crates/").filter(|_| is_inside) else {
            match walks.last_mut().and_then(|walk| walk.last_mut()).filter(|_| is_list && depth > 0) {
                Some(item) => item.functions.extend(functions(content, 0)),
                None => is_list = false,
            }
            continue;
        };
        if !is_list {
            walks.push(Vec::new());
            is_list = true;
        }
        let file = item.split('`').next().unwrap_or_default();
        let item = Item { depth, file: format!("crates/{file}"), functions: functions(content, 1).collect() };
        walks.last_mut().expect("because one was pushed with the first item").push(item);
    }
    walks
}

/// Names of functions among the words in backticks, after some of them.
fn functions(text: &str, skipped: usize) -> impl Iterator<Item = String> + use<'_> {
    let words = text.split('`').skip(1).step_by(2).skip(skipped);
    let names = words.map(|word| word.rsplit("::").next().unwrap_or(word));
    names.filter(|name| is_name(name)).map(str::to_owned)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_lowercase())
        && word.chars().all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit())
}

fn check_walk(walk: &[Item], read: impl Fn(&str) -> Option<String>, breaches: &mut Vec<String>) {
    for (at, item) in walk.iter().enumerate() {
        let Some(text) = read(&item.file) else {
            breaches.push(format!("docs/ARCHITECTURE.md: {}, part of a walk, does not exist", item.file));
            continue;
        };
        let around = walk[..at].iter().rev().find(|other| other.depth < item.depth);
        let around = around.and_then(|item| read(&item.file)).unwrap_or_default();
        for (position, name) in item.functions.iter().enumerate() {
            if !uses(&text, name).any(|is_declared| is_declared) {
                breaches.push(format!("docs/ARCHITECTURE.md: {} has no function {name}, part of a walk", item.file));
            }
            let is_first = item.depth == 0 && position == 0;
            let is_called = |text: &str| uses(text, name).any(|is_declared| !is_declared);
            if !is_first && !is_called(&text) && !is_called(&around) {
                breaches.push(format!(
                    "docs/ARCHITECTURE.md: {name} of {} is called neither there nor in the file of the item around it",
                    item.file
                ));
            }
        }
    }
}

/// The declarations and calls of a function, or its uses as a value: whether each is a declaration.
fn uses<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = bool> + use<'t> {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(move |line| line.match_indices(name).map(move |(at, _)| (&line[..at], &line[at + name.len()..])))
        .filter(move |(before, after)| !before.ends_with(is_part) && !after.starts_with(is_part))
        .filter_map(|(before, after)| match before.ends_with("fn ") {
            true => Some(true),
            false => (after.starts_with(['(', ':']) || before.ends_with("::")).then_some(false),
        })
}

#[cfg(test)]
mod tests {
    use super::{Item, check_walk, walks};

    const TEXT: &str = "\
## Else

- `crates/x.rs`: `no`

## Walks through the code

Text with `code`.

- `crates/a.rs`: `first`, then `Type::second` with an `Option`
  - `crates/b.rs`: `third`,
    `fourth`

More text.

- `crates/a.rs`: `first`
";

    fn item(depth: usize, file: &str, functions: &[&str]) -> Item {
        Item { depth, file: file.to_owned(), functions: functions.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn walks_are_read() {
        let nested = vec![item(0, "crates/a.rs", &["first", "second"]), item(1, "crates/b.rs", &["third", "fourth"])];
        assert_eq!(walks(TEXT), [nested, vec![item(0, "crates/a.rs", &["first"])]]);
    }

    #[test]
    fn functions_exist_and_are_called() {
        let check = |a: &'static str, b: &'static str| {
            let read = |file: &str| match file {
                "crates/a.rs" => Some(a.to_owned()),
                "crates/b.rs" => Some(b.to_owned()),
                _ => None,
            };
            let mut breaches = Vec::new();
            walks(TEXT).iter().for_each(|walk| check_walk(walk, read, &mut breaches));
            breaches
        };
        let a = "fn first() {\n  Type::second();\n  b.third();\n}\nfn second() {}";
        let none: [&str; 0] = [];
        assert_eq!(check(a, "fn third() {\n  all.map(Self::fourth)\n}\nfn fourth() {}"), none);
        let found = check(a, "fn third() {}\n// fourth()\nfn fourths() {}");
        assert!(found[0].contains("crates/b.rs has no function fourth"), "{found:?}");
        assert!(found[1].contains("fourth of crates/b.rs is called neither"), "{found:?}");
        assert_eq!(found.len(), 2);
        assert!(check("fn first() {}\nfn second() {}", "fn third() {}\nfn fourth() {}").len() > 2);
    }
}
