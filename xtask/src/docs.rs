//! `cargo xtask docs`: the book in `docs`, as HTML in `target/book`.
//!
//! mdBook is a tool, not a dependency: it is built once into `target/tools`. Rendering needs no network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::links;
use crate::tidy::root;

/// The renderer and the version that the book is checked with.
const MDBOOK: &str = "mdbook@0.5.4";

/// Writes the generated pages, checks all links, renders the book, and checks the links of the result.
pub(crate) fn run(args: &[String]) -> Result<String, String> {
    let checks_only = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: cargo xtask docs [--check]".to_owned()),
    };
    if !checks_only {
        write_command_pages()?;
    }
    let mut breaches = Vec::new();
    links::check(&mut breaches);
    if !breaches.is_empty() {
        return Err(breaches.join("\n"));
    }
    if checks_only {
        return Ok("docs: all links resolve".to_owned());
    }
    let staged = root().join("target/book-source");
    stage(&staged)?;
    let output = root().join("target/book");
    let _ = fs::remove_dir_all(&output);
    run_command(Command::new(mdbook()?).arg("build").arg(&staged).arg("--dest-dir").arg(&output))?;
    let pages = check_html(&output)?;
    Ok(format!("docs: {pages} pages, open {}", output.join("index.html").display()))
}

/// Writes the man pages.
pub(crate) fn man(args: &[String]) -> Result<String, String> {
    let [directory] = args else { return Err("usage: cargo xtask man DIR".to_owned()) };
    run_command(Command::new(binary()?).args(["metadata", "commands", &format!("-man={directory}")]))?;
    Ok(format!("man: the pages are in {directory}"))
}

/// Writes the pictures. The tests that compare them with real output write them, too.
pub(crate) fn pictures(_: &[String]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).env("YUBA_BLESS", "1").args([
        "test",
        "--quiet",
        "--workspace",
        "--test",
        "e2e",
        "--",
        "pictures",
    ]);
    run_command(&mut command)?;
    Ok("pictures: docs/*.svg are written".to_owned())
}

/// Writes the pages of `docs/commands` with the binary of this source tree.
fn write_command_pages() -> Result<(), String> {
    let directory = root().join("docs/commands");
    let binary = binary()?;
    let _ = fs::remove_dir_all(&directory);
    run_command(Command::new(&binary).current_dir(root()).args(["metadata", "commands", "-markdown=docs/commands"]))?;
    write_function_rows(&binary)
}

/// Writes the descriptions in the tables of `docs/functions.md`.
fn write_function_rows(binary: &Path) -> Result<(), String> {
    let output =
        Command::new(binary).args(["metadata", "functions", "-json"]).output().map_err(|error| error.to_string())?;
    let table: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let path = root().join("docs/functions.md");
    let row = |line: &str| -> Option<String> {
        let (start, _) = line.strip_prefix("| `")?.split_once('(')?;
        let description = table["function_signatures"][start]["description"].as_str()?;
        Some(format!("{} | {description} |", line.rsplit_once(" | ")?.0))
    };
    let text: String = read(&path)?.lines().map(|line| row(line).unwrap_or_else(|| line.to_owned()) + "\n").collect();
    write(&path, &text)
}

/// The binary of this source tree. `--workspace` uses the features, and so the dependencies, that the tests are built with.
pub(crate) fn binary() -> Result<PathBuf, String> {
    run_command(Command::new(env!("CARGO")).current_dir(root()).args([
        "build",
        "--quiet",
        "--workspace",
        "--bin",
        "yuba",
    ]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("debug").join(format!("yuba{}", std::env::consts::EXE_SUFFIX)))
}

/// The renderer; installs it where it is missing.
fn mdbook() -> Result<PathBuf, String> {
    let tools = root().join("target/tools");
    let program = tools.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    let version = MDBOOK.split_once('@').map_or("", |(_, version)| version);
    let installed = Command::new(&program).arg("--version").output();
    let is_current = installed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(version));
    if !is_current {
        eprintln!("docs: installing {MDBOOK} into target/tools");
        let features = ["--no-default-features", "--features", "search"];
        run_command(
            Command::new(env!("CARGO"))
                .args(["install", "--quiet", "--locked", "--force", MDBOOK, "--root"])
                .arg(&tools)
                .args(features),
        )?;
    }
    Ok(program)
}

fn run_command(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", command.get_program().display())) }
}

/// Writes the sources of the book: the pages of `docs`, and pages for the files of the repository that they link.
fn stage(staged: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(staged);
    let mut summary = Vec::new();
    copy(Path::new("docs"), staged)?;
    let examples = names(&root().join("examples"));
    summary.push("\n# Examples\n".to_owned());
    for name in examples.iter().filter(|name| root().join("examples").join(name).is_dir()) {
        write(&staged.join(format!("examples/{name}.md")), &example(name)?)?;
        summary.push(format!("- [{name}](examples/{name}.md)"));
    }
    summary.push("\n# Executable specification\n".to_owned());
    for name in names(&root().join("suite")) {
        let text = read(&root().join("suite").join(&name))?;
        let title = text.lines().next().unwrap_or(&name).trim_start_matches("# ").to_owned();
        write(&staged.join("suite").join(&name), &page(&text, &Path::new("suite").join(&name)))?;
        summary.push(format!("- [{title}](suite/{name})"));
    }
    summary.push("\n# Project\n".to_owned());
    for name in names(&root()).iter().filter(|name| name.ends_with(".md") && *name != "README.md") {
        let text = read(&root().join(name))?;
        write(&staged.join(name), &page(&text, Path::new(name)))?;
        summary.push(format!("- [{}]({name})", text.lines().next().unwrap_or(name).trim_start_matches("# ")));
    }
    let path = staged.join("SUMMARY.md");
    write(&path, &format!("{}\n{}\n", read(&path)?.trim_end(), summary.join("\n")))
}

/// A page of the book: links to files outside of `docs` lead to their staged copies, and fences have words that readers know. `path`
/// is the path of the page in the repository.
fn page(text: &str, path: &Path) -> String {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some(fence) = line.strip_prefix("```") else {
            let line = if inside { line.strip_prefix("| ").unwrap_or(line).to_owned() } else { outward(line, path) };
            lines.push(line);
            continue;
        };
        inside = !inside;
        if let Some(name) = fence.strip_prefix("file ").or_else(|| Some(fence.split_once(" file ")?.1)) {
            lines.push(format!("`{name}`:\n\n```{}", language(name)));
        } else {
            let word = fence.split(' ').next().unwrap_or_default();
            lines.push(format!("```{}", if matches!(word, "run" | "sh") { "console" } else { word }));
        }
    }
    lines.join("\n") + "\n"
}

fn language(name: &str) -> &str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "tf" | "tofu" | "tfvars" | "tfrc" => "hcl",
        extension => extension,
    }
}

/// A line whose links lead to pages of the book. `page` is the path of its page in the repository.
fn outward(line: &str, page: &Path) -> String {
    let depth = book_path(page).map_or(0, |path| path.components().count().saturating_sub(1));
    let mut written = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let (target, next) = after.split_once(')').unwrap_or((after, ""));
        let (file, anchor) =
            target.split_once('#').map_or((target, String::new()), |(file, a)| (file, format!("#{a}")));
        let is_local = !file.is_empty() && !target.contains("://");
        let linked = links::resolve(page, file).filter(|_| is_local).and_then(|path| book_path(&path));
        // mdBook renames README.md in the table of contents, and not in links.
        let linked = linked.map(|path| match path.ends_with("README.md") && !page.ends_with("SUMMARY.md") {
            true => path.with_file_name("index.md"),
            false => path,
        });
        let target =
            linked.map_or(target.to_owned(), |path| format!("{}{}{anchor}", "../".repeat(depth), path.display()));
        written.push_str(&format!("{before}]({target})"));
        rest = next;
    }
    written + rest
}

/// The page of the book for a file or directory of the repository.
fn book_path(path: &Path) -> Option<PathBuf> {
    if let Ok(inner) = path.strip_prefix("docs") {
        return Some(inner.to_owned());
    }
    match path.to_str()? {
        "examples" => Some("examples/tour.md".into()),
        "suite" => Some("suite/01-numbers.md".into()),
        text if path.starts_with("examples") => Some(format!("{text}.md").into()),
        _ if path.starts_with("suite") || path.components().count() == 1 => Some(path.to_owned()),
        _ => None,
    }
}

/// The page of an example: its files.
fn example(name: &str) -> Result<String, String> {
    let mut text = format!("# Example: {name}\n");
    let top = root().join("examples").join(name);
    let mut folders = vec![top.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_source = path
                .extension()
                .is_some_and(|extension| ["tf", "hcl", "tftpl"].iter().any(|known| extension == *known));
            if path.is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
                folders.push(path);
            } else if is_source {
                files.push(path);
            }
        }
    }
    files.sort();
    for file in files {
        let shown = file.strip_prefix(&top).unwrap_or(&file).display().to_string();
        text.push_str(&format!("\n`{shown}`:\n\n```{}\n{}```\n", language(&shown), read(&file)?));
    }
    Ok(text)
}

/// Copies a directory of the repository. Pages are changed for the book.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    for name in names(&root().join(from)) {
        let (source, target) = (from.join(&name), to.join(&name));
        let file = root().join(&source);
        if file.is_dir() {
            copy(&source, &target)?;
        } else if name.ends_with(".md") {
            write(&target, &page(&read(&file)?, &source))?;
        } else {
            // Pictures and figures, as they are.
            fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
            fs::copy(&file, &target).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    Ok(())
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Checks that every link between rendered pages resolves, anchors included. Returns the number of pages.
fn check_html(output: &Path) -> Result<usize, String> {
    let mut breaches = Vec::new();
    let mut pages = Vec::new();
    let mut folders = vec![output.to_owned()];
    while let Some(folder) = folders.pop() {
        for name in names(&folder) {
            let path = folder.join(&name);
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".html") && !matches!(&*name, "404.html" | "toc.html") {
                pages.push(path);
            }
        }
    }
    for page in &pages {
        let text = read(page)?;
        let main =
            text.split_once("<main>").and_then(|(_, rest)| rest.split_once("</main>")).map_or("", |(main, _)| main);
        for target in main.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if file.is_empty() { page.clone() } else { page.parent().unwrap_or(output).join(file) };
            let linked_text = fs::read_to_string(&linked).unwrap_or_default();
            let has_anchor = anchor.is_empty() || linked_text.contains(&format!("id=\"{anchor}\""));
            if !linked.is_file() || !has_anchor {
                breaches.push(format!("{}: the link to {target} does not resolve", page.display()));
            }
        }
    }
    if breaches.is_empty() { Ok(pages.len()) } else { Err(breaches.join("\n")) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{outward, page};

    #[test]
    fn links_lead_to_pages_of_the_book() {
        let check = |line: &str, page: &str, expected: &str| assert_eq!(outward(line, Path::new(page)), expected);
        check(
            "[a](../examples/enabled), [b](state.md#x)",
            "docs/enabled.md",
            "[a](examples/enabled.md), [b](state.md#x)",
        );
        check("[c](../CONTRIBUTING.md) x", "docs/enabled.md", "[c](CONTRIBUTING.md) x");
        check("[d](../../examples/tour)", "docs/start/first-project.md", "[d](../examples/tour.md)");
        check("[e](../cli.md#logs)", "docs/start/first-project.md", "[e](../cli.md#logs)");
        check("[f](docs/cli.md) [g](https://example.com/)", "CHANGELOG.md", "[f](cli.md) [g](https://example.com/)");
        check("[g](README.md#x)", "docs/commands/plan.md", "[g](../commands/index.md#x)");
        check("[g](commands/README.md)", "docs/SUMMARY.md", "[g](commands/README.md)");
        check("[h](#here)", "docs/start/ci.md", "[h](#here)");
    }

    #[test]
    fn fences_have_words_that_readers_know() {
        let text =
            "```file main.tf\na = 1\n```\n```run\n$ yuba plan\n| Some text\n```\n```hcl not run: needs a server\n```\n";
        let expected = "`main.tf`:\n\n```hcl\na = 1\n```\n```console\n$ yuba plan\nSome text\n```\n```hcl\n```\n";
        assert_eq!(page(text, Path::new("docs/enabled.md")), expected);
    }
}
