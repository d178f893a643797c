//! Runs the executable specification: each section of `suite/*.md`, of the pages in `docs/` and of the README is a test. A page with
//! the line `<!-- one directory -->` is one test: all its blocks run in the same directory.
//!
//! - `console`: lines with `> ` are expressions, the lines after each are the output of `yuba console`; of a diagnostic only
//!   the title (`Error: ...`).
//! - `fmt` followed by `formatted`: input and output of `yuba fmt -`.
//! - `hcl` followed by `diagnostics`: a file and its diagnostics, by line and title.
//! - `sh`: lines with `$ yuba` are commands, followed by their standard output and titles of diagnostics. They run in one
//!   directory per section, after the files that `file NAME` blocks of the section describe.
//! - `run`: the same, but of init and operations only a line per object, the summary, outputs and titles. A line `| text`
//!   states that the output has this text, wherever its lines break. With `-json`: a message per change and diagnostic, and
//!   nothing of `show`. Words may be quoted; `< FILE` at the end is standard input; `$ grep a|b FILE` shows the lines of a
//!   file with one of the words.
//! - `sh` without a line `$ ` is a script: `sh -eu` runs it and it has to succeed. `cargo run --release -- ARGS` runs the binary of the
//!   test. A section whose script runs `tofu` or `jq` is ignored where this tool is missing.
//! - `file NAME` writes a file; `hcl file NAME` is the same for pages that other programs show.
//! - `text` and `json` are lines of the output of the block before, in their order; a line `...` stands for any lines.
//! - `hcl` without `diagnostics` after it is a configuration of its own: canonical and valid.
//! - `WORD not run: REASON` is for readers only. Every other fence is an error.
//!
//! A line `exit N` states the exit code. Without it the code is 1 after an `Error: ` line and 0 otherwise.
//!
//! `cargo test -p yuba-cli --test suite -- WORDS` runs the sections whose name has these words. With `YUBA_BLESS=1` the
//! observed text replaces the stated one; review the diff against OpenTofu before you commit it.

mod block;
mod chapter;
mod condense;
mod script;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use yuba_testkit::Sandbox;

use chapter::{Chapter, Section, chapters};

/// Blocks to be replaced, by file.
type Replacements = BTreeMap<PathBuf, Vec<(Range<usize>, String)>>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bless = std::env::var_os("YUBA_BLESS").is_some();
    let blessed = Arc::new(Mutex::new(Replacements::new()));
    let mut trials = Vec::new();
    for chapter in chapters(&root) {
        let Chapter { name, path, sections } = chapter;
        for section in sections.into_iter().filter(|section| !section.blocks.is_empty()) {
            let name = format!("{name}: {}", section.name);
            let (path, blessed) = (path.clone(), blessed.clone());
            let scripts = section.blocks.iter().filter(|block| block.fence == "sh");
            let tools: Vec<&str> = scripts.flat_map(|block| script::tools(&block.body)).collect();
            let is_ignored = tools.into_iter().any(|tool| !yuba_testkit::has_program(tool));
            let trial = Trial::test(name, move || {
                let differing = differences(&section)?;
                if bless {
                    let mut blessed = blessed.lock().map_err(|_| "another section panicked")?;
                    blessed
                        .entry(path)
                        .or_default()
                        .extend(differing.into_iter().map(|found| (found.lines.clone(), found.indented())));
                    return Ok(());
                }
                let report = differing.iter().fold(String::new(), |all, found| all + &found.show());
                if report.is_empty() { Ok(()) } else { Err(report.into()) }
            });
            trials.push(trial.with_ignored_flag(is_ignored));
        }
    }
    trials.push(Trial::test("blocks of lists are blocks", chapter::blocks_of_lists_are_blocks));
    trials.push(Trial::test("docs/commands matches the tables of the binary", the_pages_of_commands_are_current));
    trials.push(Trial::test("docs/functions.md names every function", the_page_on_functions_names_all_of_them));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Ok(blessed) = blessed.lock() {
        for (path, replacements) in blessed.iter() {
            replace(path, replacements.clone());
        }
    }
    conclusion.exit_code()
}

/// A block that does not contain what was observed.
struct Difference {
    lines: Range<usize>,
    stated: String,
    observed: String,
    indent: usize,
}

impl Difference {
    /// The observed text with the indentation of its block.
    fn indented(&self) -> String {
        let spaces = " ".repeat(self.indent);
        self.observed.lines().fold(String::new(), |all, line| match line {
            "" => all + "\n",
            line => all + &spaces + line + "\n",
        })
    }

    fn show(&self) -> String {
        let diff = similar::TextDiff::from_lines(&self.stated, &self.observed);
        let lines = diff.iter_all_changes().map(|change| format!("{}{change}", change.tag()));
        lines.fold(format!("block at line {}, - stated, + observed:\n", self.lines.start), |all, line| all + &line)
    }
}

fn differences(section: &Section) -> Result<Vec<Difference>, Failed> {
    let observed = block::observe(section)?;
    let pairs = section.blocks.iter().zip(observed);
    let differing = pairs.filter(|(block, observed)| block.body.trim_end() != observed.trim_end());
    let found = differing.map(|(block, observed)| Difference {
        lines: block.lines.clone(),
        indent: block.indent,
        stated: block.body.clone(),
        observed,
    });
    Ok(found.collect())
}

/// Replaces blocks of a file, the last one first, so that line numbers stay valid.
fn replace(path: &Path, mut replacements: Vec<(Range<usize>, String)>) {
    let text = std::fs::read_to_string(path).expect("because it was read before");
    let mut lines: Vec<&str> = text.lines().collect();
    replacements.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    for (range, observed) in &replacements {
        lines.splice(range.clone(), observed.trim_end().lines());
    }
    let text = lines.into_iter().fold(String::new(), |all, line| all + line + "\n");
    std::fs::write(path, text).expect("because the repository is writable");
}

fn the_page_on_functions_names_all_of_them() -> Result<(), Failed> {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md"))?;
    let table = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "").run(&["metadata", "functions", "-json"]).stdout;
    let rows = table.split("\"core::").skip(1).filter_map(|rest| rest.split_once("\":{\"description\":\""));
    let rows: Vec<(&str, &str)> = rows.filter_map(|(name, rest)| Some((name, rest.split('"').next()?))).collect();
    assert!(!rows.is_empty(), "the binary describes its functions");
    for (name, description) in rows {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}(")));
        assert!(row.is_some(), "docs/functions.md lacks {name}");
        let is_current = row.is_some_and(|row| row.ends_with(&format!("| {description} |")));
        assert!(is_current, "docs/functions.md is outdated for {name}, run `cargo xtask docs`: {description}");
    }
    Ok(())
}

fn the_pages_of_commands_are_current() -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "");
    // Pages link the guides beside them: their names count, not their content.
    for entry in std::fs::read_dir(root.join("docs"))?.flatten() {
        sandbox.write(&format!("docs/{}", entry.file_name().to_string_lossy()), "");
    }
    std::fs::remove_file(sandbox.dir().join("docs/commands"))?;
    let run = sandbox.run(&["metadata", "commands", "-markdown=docs/commands"]);
    assert_eq!(run.to_string(), "exit 0\n");
    let pages = |directory: &Path| -> Result<BTreeMap<String, String>, Failed> {
        let page = |entry: std::fs::DirEntry| {
            Some((entry.file_name().into_string().ok()?, std::fs::read_to_string(entry.path()).ok()?))
        };
        Ok(std::fs::read_dir(directory)?.flatten().filter_map(page).collect())
    };
    let generated = pages(&sandbox.dir().join("docs/commands"))?;
    assert!(generated.len() > 20, "{generated:?}");
    if generated != pages(&root.join("docs/commands"))? {
        return Err("docs/commands is outdated: run `cargo xtask docs`".into());
    }
    Ok(())
}
