//! Links of the documentation: each link to a file of the repository resolves, and so does each anchor in a page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::tidy::root;

/// The table of contents of the book.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Checks the links of all pages, and that the table of contents lists all pages of `docs`.
pub(crate) fn check(breaches: &mut Vec<String>) {
    let pages = pages();
    let texts: BTreeMap<&Path, String> =
        pages.iter().map(|page| (page.as_path(), fs::read_to_string(root().join(page)).unwrap_or_default())).collect();
    let anchors: BTreeMap<&Path, BTreeSet<String>> = texts.iter().map(|(page, text)| (*page, anchors(text))).collect();
    for (page, text) in &texts {
        for (line, target) in links(text) {
            if let Some(problem) = problem(page, &target, &anchors) {
                breaches.push(format!("{}:{line}: {problem}", page.display()));
            }
        }
    }
    check_listed(&texts, breaches);
}

/// The Markdown files of the repository that people read, relative to its root.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![PathBuf::new(), "docs".into(), "suite".into(), ".github".into()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            if root().join(&path).is_dir() && folder.starts_with("docs") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The table of contents and the README reach every page.
fn check_listed(texts: &BTreeMap<&Path, String>, breaches: &mut Vec<String>) {
    let reached = |from: &str| -> BTreeSet<PathBuf> {
        let page = Path::new(from);
        let text = texts.get(page).map_or("", String::as_str);
        links(text).into_iter().filter_map(|(_, target)| resolve(page, target.split('#').next()?)).collect()
    };
    let listed = reached(SUMMARY);
    let linked = reached("README.md");
    for page in texts.keys().filter(|page| page.starts_with("docs") && **page != Path::new(SUMMARY)) {
        if !listed.contains(*page) {
            breaches.push(format!("{}: {SUMMARY} does not list this page", page.display()));
        }
        let is_below = page.components().count() > 2;
        if !is_below && !linked.contains(*page) {
            breaches.push(format!("{}: README.md does not link this page", page.display()));
        }
    }
}

/// Reason why a link does not resolve.
fn problem(page: &Path, target: &str, anchors: &BTreeMap<&Path, BTreeSet<String>>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let resolved = if file.is_empty() { Some(page.to_owned()) } else { resolve(page, file) };
    let Some(resolved) = resolved.filter(|path| root().join(path).exists()) else {
        return Some(format!("the link to {target} does not resolve"));
    };
    let known = anchors.get(resolved.as_path());
    let anchor = anchor?;
    (!known.is_some_and(|known| known.contains(anchor)))
        .then(|| format!("{} has no heading #{anchor}", resolved.display()))
}

/// The path relative to the root of the repository; `None` if it leaves the repository.
pub(crate) fn resolve(page: &Path, target: &str) -> Option<PathBuf> {
    let mut resolved = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => resolved.pop().then_some(())?,
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(resolved)
}

/// Lines outside of fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        inside ^= is_fence;
        (!inside && !is_fence).then_some((index + 1, line))
    })
}

/// The targets of `[text](target)` with the number of their line, without those in code.
pub(crate) fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        let mut rest = line.as_str();
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, next)) = after.split_once(')') else { break };
            found.push((number, target.split_whitespace().next().unwrap_or_default().to_owned()));
            rest = next;
        }
    }
    found
}

/// A line whose code spans are blanked.
fn without_code(line: &str) -> String {
    let mut inside = false;
    line.chars()
        .map(|c| {
            inside ^= c == '`';
            if inside && c != '`' { ' ' } else { c }
        })
        .collect()
}

/// The anchors of the headings, as GitHub and mdBook name them: repeated ones are numbered.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let headings = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    for heading in headings {
        let slug = slug(heading);
        let numbered = (1..).map(|number| format!("{slug}-{number}"));
        let free = std::iter::once(slug.clone()).chain(numbered).find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

fn slug(heading: &str) -> String {
    let mut text = heading.trim().to_owned();
    // Of a link only its text counts.
    while let Some((before, after)) = text.split_once("](") {
        let rest = after.split_once(')').map_or("", |(_, rest)| rest);
        text = format!("{}{rest}", before.replace('[', ""));
    }
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::Path;

    use super::{anchors, links, problem, resolve};

    #[test]
    fn links_outside_of_code_are_found() {
        let text = "See [a](a.md#b), `[x](y)` and ![p](p.svg).\n```text\n[z](z)\n```\n[two](2.md \"title\")\n";
        let found: Vec<(usize, String)> = links(text);
        let expected = [(1, "a.md#b"), (1, "p.svg"), (5, "2.md")];
        assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn anchors_follow_the_rules_of_readers() {
        let text = "# `yuba state mv`: moves\n## Same\n## Same\n## [Link](x.md), and more\n```sh\n# comment\n```\n";
        let expected = ["link-and-more", "same", "same-1", "yuba-state-mv-moves"];
        assert_eq!(anchors(text), expected.map(str::to_owned).into());
    }

    #[test]
    fn targets_that_do_not_resolve_are_problems() {
        let anchors: BTreeMap<&Path, BTreeSet<String>> =
            [(Path::new("docs/fmt.md"), ["a".to_owned()].into())].into_iter().collect();
        let page = Path::new("docs/fmt.md");
        assert_eq!(problem(page, "#a", &anchors), None);
        assert_eq!(problem(page, "../docs/fmt.md#a", &anchors), None);
        assert_eq!(problem(page, "https://example.com/x", &anchors), None);
        assert!(problem(page, "#b", &anchors).is_some());
        assert!(problem(page, "nothing.md", &anchors).is_some());
        assert_eq!(resolve(page, "../../outside.md"), None);
    }
}
