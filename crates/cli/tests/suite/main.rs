//! Runs the executable specification: each section of `suite/*.md` and of the pages in `docs/` is a test of its own.
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
//! - `text`, `json`, `shell`, a lone `hcl` and a fence without a word are for readers. Every other word is an error.
//!
//! A line `exit N` states the exit code. Without it the code is 1 after an `Error: ` line and 0 otherwise.
//!
//! `cargo test -p yuba-cli --test suite -- WORDS` runs the sections whose name has these words. With `YUBA_BLESS=1` the
//! observed text replaces the stated one; review the diff against OpenTofu before you commit it.

mod block;
mod chapter;
mod condense;

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
            trials.push(Trial::test(name, move || {
                let differing = differences(&section)?;
                if bless {
                    let mut blessed = blessed.lock().map_err(|_| "another section panicked")?;
                    blessed
                        .entry(path)
                        .or_default()
                        .extend(differing.into_iter().map(|found| (found.lines, found.observed)));
                    return Ok(());
                }
                let report = differing.iter().fold(String::new(), |all, found| all + &found.show());
                if report.is_empty() { Ok(()) } else { Err(report.into()) }
            }));
        }
    }
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
}

impl Difference {
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
    let names: Vec<&str> = table.split("\"core::").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(names.len(), 121);
    for name in names {
        assert!(page.contains(&format!("| `{name}(")), "docs/functions.md lacks {name}");
    }
    Ok(())
}
