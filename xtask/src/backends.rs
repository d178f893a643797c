//! The lists of backends in the documentation: `docs/backends.md` and `docs/SUMMARY.md` have an entry for each page in
//! `docs/backends`, made from its heading and its list of properties.

use std::fs;
use std::path::Path;

use crate::tidy::root;

/// The page with the table, relative to the root of the repository.
const TABLE: &str = "docs/backends.md";
const SUMMARY: &str = "docs/SUMMARY.md";

/// A page about a backend.
struct Page {
    file: String,
    /// The names of the backends in its heading.
    names: Vec<String>,
    /// Its lock, workspaces and journal.
    properties: Vec<String>,
}

/// Checks that both lists are current.
pub(crate) fn check(breaches: &mut Vec<String>) {
    match lists() {
        Ok(lists) => {
            for (path, text) in lists {
                if fs::read_to_string(root().join(path)).unwrap_or_default() != text {
                    breaches.push(format!("{path}: does not match docs/backends, run `cargo xtask backends`"));
                }
            }
        }
        Err(found) => breaches.push(found),
    }
}

/// Writes both lists.
pub(crate) fn write() -> Result<String, String> {
    for (path, text) in lists()? {
        fs::write(root().join(path), text).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(format!("{TABLE} and {SUMMARY} are written"))
}

/// The current text of both lists.
fn lists() -> Result<[(&'static str, String); 2], String> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let directory = root().join("docs/backends");
    let mut files: Vec<_> =
        fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut pages = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        pages.push(page(&name, &read(&file)?)?);
    }
    let table = table(&read(&root().join(TABLE))?, &pages)?;
    Ok([(TABLE, table), (SUMMARY, summary(&read(&root().join(SUMMARY))?, &pages)?)])
}

/// `# Backend `NAME``, and a list with "Lock", "Workspaces" and "Journal".
fn page(file: &str, text: &str) -> Result<Page, String> {
    let heading = text.lines().next().unwrap_or_default();
    let words = heading.split('`').skip(1).step_by(2);
    let names: Vec<String> = words.map(|name| name.trim().to_owned()).collect();
    if names.is_empty() {
        return Err(format!("docs/backends/{file}.md: the heading names no backend in backticks"));
    }
    let property = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("- ")?.strip_prefix(name)?.strip_prefix(": "));
        line.map(str::to_owned).ok_or_else(|| format!("docs/backends/{file}.md: no line \"- {name}: ...\""))
    };
    let properties = ["Lock", "Workspaces", "Journal"].into_iter().map(property).collect::<Result<_, _>>()?;
    Ok(Page { file: file.to_owned(), names, properties })
}

/// The page with the table, with a row for each page instead of its rows with links.
fn table(text: &str, pages: &[Page]) -> Result<String, String> {
    let row = |page: &Page| {
        let names: Vec<String> = page.names.iter().map(|name| format!("`{name}`")).collect();
        format!("| [{}](backends/{}.md) | {} |\n", names.join(", "), page.file, page.properties.join(" | "))
    };
    let rows = pages.iter().map(row).collect();
    replaced(text, |line| line.starts_with("| [`"), rows).ok_or_else(|| format!("{TABLE}: no table of backends"))
}

/// The table of contents, with an entry for each page. Entries below these stay.
fn summary(text: &str, pages: &[Page]) -> Result<String, String> {
    let is_entry = |line: &str| line.starts_with("  - ") && line.contains("](backends/");
    let below = |file: &str| -> String {
        let mut lines = text.lines().skip_while(|line| !line.contains(&format!("](backends/{file}.md)")));
        lines.next();
        lines.take_while(|line| line.starts_with("    ")).map(|line| format!("{line}\n")).collect()
    };
    let entry =
        |page: &Page| format!("  - [{}](backends/{}.md)\n{}", page.names.join(" and "), page.file, below(&page.file));
    let mut inside = false;
    let is_part = |line: &str| {
        inside = is_entry(line) || (inside && line.starts_with("    "));
        inside
    };
    replaced(text, is_part, pages.iter().map(entry).collect()).ok_or_else(|| format!("{SUMMARY}: no list of backends"))
}

/// The text with other lines in the position of those that are replaced; `None` if no line is replaced.
fn replaced(text: &str, mut is_replaced: impl FnMut(&str) -> bool, lines: String) -> Option<String> {
    let mut out = String::new();
    let mut lines = Some(lines);
    for line in text.lines() {
        match is_replaced(line) {
            true => out.push_str(&lines.take().unwrap_or_default()),
            false => out.push_str(&format!("{line}\n")),
        }
    }
    lines.is_none().then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{page, summary, table};

    #[test]
    fn a_new_page_gets_its_entries() {
        let text = |name: &str| format!("# Backend `{name}`\n\n- Lock: L {name}.\n- Workspaces: W.\n- Journal: J.\n");
        let pages = [page("a", &text("a")), page("new", &text("new` and the block `other"))].map(Result::unwrap);
        let before = "# T\n\n| `local` | x |\n| [`a`](backends/a.md) | old |\n| `inmem` | x |\n";
        assert_eq!(
            table(before, &pages).unwrap(),
            "# T\n\n| `local` | x |\n| [`a`](backends/a.md) | L a. | W. | J. |\n\
             | [`new`, `other`](backends/new.md) | L new` and the block `other. | W. | J. |\n| `inmem` | x |\n"
        );
        let before =
            "- [B](backends.md)\n  - [a](backends/a.md)\n    - [more](more.md)\n  - [gone](backends/gone.md)\n\n# E\n";
        assert_eq!(
            summary(before, &pages).unwrap(),
            "- [B](backends.md)\n  - [a](backends/a.md)\n    - [more](more.md)\n  - [new and other](backends/new.md)\n\n# E\n"
        );
        assert!(page("a", "# Backend a\n").is_err() && page("a", "# Backend `a`\n- Lock: L.\n").is_err());
    }
}
