//! `cargo xtask differential --peer PATH`: random expressions and multi-step cases, run by Yuba and by OpenTofu.
//!
//! Everything is made from a seed. A difference is made as small as possible and printed; those with a reason stand in
//! `conformance/explained-differences.jsonl`.

mod batch;
mod block;
mod cases;
mod design;
mod difference;
mod expressions;
mod functions;
mod invention;
mod literals;
mod lost_events;
mod observation;
mod random;
mod shapes;
mod steps;
mod tool;
mod variation;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::tidy::root;
use batch::Sample;
use difference::Explained;
use functions::Functions;
use random::Random;
use tool::Tool;
use variation::Variation;

const USAGE: &str = "usage: cargo xtask differential --peer PATH [--ours PATH] [--seed N] [--expressions N] [--cases N] \
     [--first N] [--only expressions|cases] [--attempts N] [--providers DIR] [--work DIR] [--write DIR]";

/// Expressions evaluated by one process.
const BATCH: usize = 250;

/// Options of the command line.
struct Settings {
    peer: PathBuf,
    ours: PathBuf,
    seed: u64,
    expressions: usize,
    cases: usize,
    first: usize,
    /// Runs that may be spent on making a case smaller.
    attempts: usize,
    work: PathBuf,
    /// A filesystem mirror with providers that cases may use.
    providers: Option<PathBuf>,
    /// Directory for writing the cases, instead of running them.
    write: Option<PathBuf>,
}

fn settings(args: &[String]) -> Result<Settings, String> {
    let mut settings = Settings {
        peer: PathBuf::new(),
        ours: root().join("target/debug/yuba"),
        seed: 1,
        expressions: 10_000,
        cases: 500,
        first: 0,
        attempts: 150,
        work: std::env::temp_dir().join("yuba-differential"),
        providers: None,
        write: None,
    };
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().ok_or(USAGE)?;
        let number = || value.parse::<usize>().map_err(|e| format!("{flag} {value}: {e}"));
        match flag.as_str() {
            "--peer" => settings.peer = PathBuf::from(value),
            "--ours" => settings.ours = PathBuf::from(value),
            "--work" => settings.work = PathBuf::from(value),
            "--write" => settings.write = Some(PathBuf::from(value)),
            "--providers" => {
                let folder = PathBuf::from(value);
                settings.providers = Some(folder.canonicalize().map_err(|e| format!("{value}: {e}"))?);
            }
            "--seed" => settings.seed = number()? as u64,
            "--expressions" => settings.expressions = number()?,
            "--first" => settings.first = number()?,
            "--attempts" => settings.attempts = number()?,
            "--cases" => settings.cases = number()?,
            "--only" if value == "expressions" => settings.cases = 0,
            "--only" if value == "cases" => settings.expressions = 0,
            _ => return Err(USAGE.to_owned()),
        }
    }
    for path in [&mut settings.peer, &mut settings.ours] {
        *path = path.canonicalize().map_err(|e| format!("{}: {e}\n{USAGE}", path.display()))?;
    }
    Ok(settings)
}

/// Runs what the arguments ask for; the error lists the differences that have no reason.
pub(crate) fn run(args: &[String]) -> Result<String, String> {
    let settings = settings(args)?;
    if let Some(folder) = &settings.write {
        return Ok(write_cases(&settings, folder));
    }
    let explained = Explained::load()?;
    fs::create_dir_all(&settings.work).map_err(|e| format!("{}: {e}", settings.work.display()))?;
    let cli_config = settings.work.join("cli.tfrc");
    let installation = settings.providers.as_ref().map(|folder| {
        format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = {:?}\n  }}\n}}\n",
            folder.display().to_string()
        )
    });
    fs::write(&cli_config, installation.unwrap_or_default()).map_err(|e| e.to_string())?;
    let ours = Tool { path: settings.ours.clone(), cli_config: cli_config.clone() };
    let theirs = Tool { path: settings.peer.clone(), cli_config };
    let mut report = Report { explained: &explained, reasons: BTreeMap::new(), open: Vec::new(), unsteady: 0 };
    if settings.expressions > 0 {
        expressions(&settings, [&ours, &theirs], &mut report)?;
    }
    if settings.cases > 0 {
        cases(&settings, [&ours, &theirs], &mut report);
    }
    report.close(&settings)
}

/// Writes the cases that would run as directories, each with a script.
fn write_cases(settings: &Settings, folder: &Path) -> String {
    let kinds = kinds(settings);
    for number in settings.first..settings.first + settings.cases {
        let steps = steps::case(&mut Random::new(settings.seed, number as u64), &kinds);
        cases::keep(&folder.join(format!("case{number}")), &steps);
    }
    format!("differential: {} cases written to {}\n", settings.cases, folder.display())
}

/// Findings so far.
struct Report<'a> {
    explained: &'a Explained,
    reasons: BTreeMap<usize, usize>,
    open: Vec<String>,
    /// Cases that differed in some runs and agreed in another.
    unsteady: usize,
}

impl Report<'_> {
    /// Counts an explained difference. Returns false for an unexplained one.
    fn has_reason(&mut self, difference: &difference::Difference, source: &str) -> bool {
        let Some(index) = self.explained.reason(difference, source) else { return false };
        *self.reasons.entry(index).or_default() += 1;
        true
    }

    fn close(self, settings: &Settings) -> Result<String, String> {
        let mut text = format!(
            "differential: seed {}, {} expressions, {} cases, {} unexplained differences, {} in some runs only\n",
            settings.seed,
            settings.expressions,
            settings.cases,
            self.open.len(),
            self.unsteady
        );
        for (index, count) in &self.reasons {
            text += &format!("  {count} explained: {}\n", self.explained.text(*index));
        }
        if self.open.is_empty() { Ok(text) } else { Err(format!("{}\n{text}", self.open.join("\n"))) }
    }
}

fn expressions(settings: &Settings, tools: [&Tool; 2], report: &mut Report<'_>) -> Result<(), String> {
    let listed = tools[1].run(&settings.work, &["metadata", "functions", "-json"], None);
    let json = serde_json::from_str(&listed.stdout).map_err(|e| format!("metadata functions: {e}"))?;
    let functions = Functions::read(&json);
    let mut start = 0;
    while start < settings.expressions {
        let count = BATCH.min(settings.expressions - start);
        let samples: Vec<Sample> = (start..start + count)
            .map(|number| sample(&mut Random::new(settings.seed, number as u64), &functions, number))
            .collect();
        for found in batch::run(tools, &settings.work.join("expressions"), &samples) {
            let source =
                format!("{} {}", found.sample.expression, found.sample.constraint.as_deref().unwrap_or_default());
            if !report.has_reason(&found.difference, &source) {
                let line = format!("{source}\n  {}", found.difference.show());
                eprintln!("{line}");
                report.open.push(line);
            }
        }
        start += count;
    }
    Ok(())
}

/// The types of resources that cases use: the built-in one and those of the available providers.
fn kinds(settings: &Settings) -> Vec<&'static str> {
    let offered =
        [("null", "null_resource"), ("random", "random_integer"), ("random", "random_id"), ("local", "local_file")];
    let mirror = settings.providers.as_ref().map(|folder| folder.join("registry.opentofu.org/hashicorp"));
    let at_hand = |name: &str| mirror.as_ref().is_some_and(|folder| folder.join(name).is_dir());
    let mut kinds = vec!["terraform_data"];
    kinds.extend(offered.iter().filter(|(provider, _)| at_hand(provider)).map(|(_, kind)| *kind));
    kinds
}

/// Processes that run cases at the same time.
const WORKERS: usize = 2;

/// Runs of a case that differs.
const RUNS: usize = 3;

/// Part of one case in the report.
#[derive(Default)]
struct CaseResult {
    reasons: Vec<usize>,
    open: Option<String>,
    unsteady: bool,
}

fn cases(settings: &Settings, tools: [&Tool; 2], report: &mut Report<'_>) {
    let next = AtomicUsize::new(settings.first);
    let kinds = kinds(settings);
    let explained = report.explained;
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (next, results, kinds) = (&next, &results, &kinds);
            scope.spawn(move || {
                let folder = settings.work.join(format!("worker{worker}"));
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= settings.first + settings.cases {
                        break;
                    }
                    let result = case(settings, tools, &folder, kinds, explained, number);
                    if let Some(text) = &result.open {
                        eprintln!("{text}");
                    }
                    if let Ok(mut results) = results.lock() {
                        results.push(result);
                    }
                }
            });
        }
    });
    for result in results.into_inner().unwrap_or_default() {
        for reason in result.reasons {
            *report.reasons.entry(reason).or_default() += 1;
        }
        report.open.extend(result.open);
        report.unsteady += usize::from(result.unsteady);
    }
}

/// Runs one case. A difference counts if every run shows one, or if Yuba's results differ from run to run.
fn case(
    settings: &Settings,
    tools: [&Tool; 2],
    folder: &Path,
    kinds: &[&str],
    explained: &Explained,
    number: usize,
) -> CaseResult {
    let steps = steps::case(&mut Random::new(settings.seed, number as u64), kinds);
    let mut runs = vec![cases::run(tools, folder, &steps, explained)];
    if runs[0].found.is_some() {
        runs.extend((1..RUNS).map(|_| cases::run(tools, folder, &steps, explained)));
    }
    let place = settings.work.join(format!("case{number}"));
    let shown = |differences: &[difference::Difference]| {
        differences.iter().map(difference::Difference::show).collect::<Vec<_>>().join("\n  ")
    };
    let mut result = CaseResult { reasons: runs[0].reasons.clone(), ..CaseResult::default() };
    if runs.iter().all(|run| run.found.is_some()) {
        if let Some(found) = runs.swap_remove(0).found {
            let found = cases::shrink(tools, folder, found, explained, settings.attempts);
            cases::keep(&place, &found.steps);
            result.open = Some(format!("case {number}: {}\n  {}", place.display(), shown(&found.differences)));
        }
    } else if runs.iter().any(|run| run.found.is_some()) {
        result.unsteady = true;
        cases::keep(&place, &steps);
        let varies = Variation::observe(tools, folder, &steps, &runs);
        eprintln!(
            "case {number} differs in some runs only: {}\n  OpenTofu varies in: {}",
            place.display(),
            shown(&varies.theirs)
        );
        if !varies.ours.is_empty() {
            result.open = Some(format!("case {number}: Yuba varies: {}\n  {}", place.display(), shown(&varies.ours)));
        }
    }
    result
}

/// The expression with this number: every second one calls the next function, so that all are reached.
fn sample(random: &mut Random, functions: &Functions, number: usize) -> Sample {
    let depth = 1 + random.below(3);
    if random.chance(15) {
        let wanted = shapes::shape(random, 3);
        let given = if random.chance(80) { wanted.clone() } else { shapes::shape(random, 2) };
        let constraint = Some(wanted.constraint(random));
        return Sample { expression: expressions::expression(random, functions, &given, depth), constraint };
    }
    let expression = if number.is_multiple_of(2) {
        functions.call_number(random, number / 2 % functions.len(), depth)
    } else {
        let wanted = shapes::shape(random, 3);
        expressions::expression(random, functions, &wanted, depth)
    };
    Sample { expression, constraint: None }
}
