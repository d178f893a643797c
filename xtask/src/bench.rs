//! `cargo xtask bench`: Yuba beside OpenTofu, on the same configurations in the same run.
//!
//! `--publish` writes the page docs/benchmarks.md, its charts and the table of the README. All of them are rendered from one file
//! of results, docs/benchmarks/results.json: `cargo xtask tidy` renders them again and compares, so no figure is written by hand.

mod chart;
mod cloud;
mod compare;
mod crash;
mod estate;
mod machine;
mod measure;
mod options;
mod page;
mod readme;
mod results;
mod run;
mod shapes;
mod statistics;
mod tool;

use std::fs;
use std::path::Path;

use crate::tidy::root;
use options::Options;
use results::Results;

pub(crate) use measure::chore as measure;

/// Results of the published run.
const RESULTS: &str = "docs/benchmarks/results.json";
/// The page.
const PAGE: &str = "docs/benchmarks.md";
/// The directory of the charts.
const CHARTS: &str = "docs/benchmarks";
const README: &str = "README.md";

/// Runs the benchmark.
pub(crate) fn run(args: &[String]) -> Result<String, String> {
    let options = Options::parse(args)?;
    if options.render {
        write_pages(&read_results(&root().join(RESULTS))?)?;
        return Ok(format!("bench: {PAGE}, {CHARTS} and {README} are rendered from {RESULTS}"));
    }
    // Before hours of measuring: errors of the old file.
    let old = options.compare.as_deref().map(read_results).transpose()?;
    let results = run::run(&options)?;
    if let Some(path) = &options.json {
        write(path, &results.to_text())?;
    }
    if options.publish {
        write(&root().join(RESULTS), &results.to_text())?;
        write_pages(&results)?;
    }
    Ok(match old {
        Some(old) => compare::report(&old, &results),
        None => page::tables(&results),
    })
}

/// Files that are rendered from results: path and text.
fn pages(results: &Results, readme: &str) -> Vec<(String, String)> {
    let charts = chart::all(results).into_iter().map(|(name, text)| (format!("{CHARTS}/{name}.svg"), text));
    let mut pages: Vec<(String, String)> = charts.collect();
    pages.push((PAGE.to_owned(), page::page(results)));
    if let Some(text) = readme::with_table(readme, results) {
        pages.push((README.to_owned(), text));
    }
    pages
}

fn write_pages(results: &Results) -> Result<(), String> {
    let readme = fs::read_to_string(root().join(README)).map_err(|error| format!("{README}: {error}"))?;
    if readme::with_table(&readme, results).is_none() {
        return Err(format!("{README}: the lines {} and {} are missing", readme::BEGIN, readme::END));
    }
    for entry in fs::read_dir(root().join(CHARTS)).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "svg") {
            fs::remove_file(entry.path()).map_err(|error| error.to_string())?;
        }
    }
    pages(results, &readme).iter().try_for_each(|(path, text)| write(&root().join(path), text))
}

/// Pages, charts and the table of the README are what the results say.
pub(crate) fn check(breaches: &mut Vec<String>) {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_default();
    if !read(PAGE).starts_with(page::MARKER) {
        breaches.push(format!("{PAGE}: does not start with the line of its generator, `{}`", page::MARKER));
    }
    match Results::from_text(&read(RESULTS)) {
        Err(reason) => breaches.push(format!("{RESULTS}: {reason}")),
        Ok(results) => {
            let outdated = pages(&results, &read(README)).into_iter().filter(|(path, text)| read(path) != *text);
            breaches.extend(outdated.map(|(path, _)| {
                format!("{path}: differs from the results in {RESULTS}; run `cargo xtask bench --render`")
            }));
        }
    }
}

fn read_results(path: &Path) -> Result<Results, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Results::from_text(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let described = |error: std::io::Error| format!("{}: {error}", path.display());
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(described)?;
    fs::write(path, text).map_err(described)
}
