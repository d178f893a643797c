//! A run: all parts in their order, with each tool.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::measure::Measured;
use super::options::Options;
use super::results::{Ending, PEER, Results, Row};
use super::shapes::{self, ConfigFile, SHAPES};
use super::tool::{Env, Scratch, Tool};
use super::{cloud, crash, estate, machine, statistics};

/// Time after which a command of ours is killed.
const OUR_LIMIT: Duration = Duration::from_secs(900);
/// Files of the part `fmt`.
const UNFORMATTED: usize = 250;
/// Largest size of which the steps are repeated.
const REPEATED: usize = 1_000;

/// A command of a part.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) args: &'static [&'static str],
    /// The expected exit code.
    pub(super) code: i32,
    /// The step that must be done before.
    pub(super) needs: Option<&'static str>,
}

const fn step(name: &'static str, args: &'static [&'static str], needs: Option<&'static str>) -> Step {
    Step { name, args, code: 0, needs }
}

/// Steps of the smallest configuration.
const STARTUP: [Step; 5] = [
    step("version", &["version"], None),
    step("init", &["init"], None),
    step("validate", &["validate"], Some("init")),
    step("apply", &["apply", "-auto-approve"], Some("init")),
    step("output -json", &["output", "-json"], Some("apply")),
];

const FORMAT: [Step; 1] = [Step { code: 3, ..step("fmt -check", &["fmt", "-check", "-recursive"], None) }];

/// Steps of configurations with resources.
pub(super) const LIFE: [Step; 8] = [
    step("validate", &["validate"], None),
    step("plan", &["plan", "-out=saved.plan"], None),
    step("show -json", &["show", "-json", "saved.plan"], Some("plan")),
    step("apply", &["apply", "-auto-approve"], None),
    step("plan, no changes", &["plan"], Some("apply")),
    step("plan, no changes, no refresh", &["plan", "-refresh=false"], Some("apply")),
    step("state list", &["state", "list"], Some("apply")),
    step("destroy", &["destroy", "-auto-approve"], Some("apply")),
];

const EXPRESSIONS: [Step; 3] = [
    step("validate", &["validate"], None),
    step("plan", &["plan", "-out=saved.plan"], None),
    step("apply", &["apply", "-auto-approve"], None),
];

/// Steps with providers that are installed first. The first validation finds no cache of schemas.
pub(super) const WITH_PROVIDERS: [Step; 9] = [
    step("init", &["init"], None),
    step("init, installed", &["init"], Some("init")),
    step("validate, first", &["validate"], Some("init")),
    step("validate", &["validate"], Some("init")),
    step("plan", &["plan", "-out=saved.plan"], Some("init")),
    step("apply", &["apply", "-auto-approve"], Some("init")),
    step("plan, no changes", &["plan"], Some("apply")),
    step("plan, no changes, no refresh", &["plan", "-refresh=false"], Some("apply")),
    step("destroy", &["destroy", "-auto-approve"], Some("apply")),
];

/// A configuration to measure.
pub(super) struct Part<'p> {
    pub(super) name: &'p str,
    /// 0 if it has one size only.
    pub(super) size: usize,
    pub(super) files: Vec<ConfigFile>,
    pub(super) steps: Vec<Step>,
    pub(super) env: &'p [(&'p str, &'p str)],
    pub(super) cycles: usize,
}

/// A run in progress.
pub(super) struct Run<'o> {
    pub(super) options: &'o Options,
    pub(super) tools: Vec<Tool>,
    pub(super) scratch: Scratch,
    pub(super) results: Results,
    start: Instant,
}

/// Measures everything that is asked for.
pub(super) fn run(options: &Options) -> Result<Results, String> {
    let tools = Tool::all(options)?;
    let scratch = Scratch::new()?;
    scratch.write_cli_config()?;
    let versions = tools.iter().map(|tool| (tool.name.to_owned(), tool.version.clone())).collect();
    let mut facts = machine::facts(scratch.path());
    for tool in &tools {
        facts.push((format!("SHA-256 of {}", tool.title()), tool.checksum.clone()));
    }
    let results = Results { facts, command: options.command.clone(), versions, ..Results::default() };
    let mut run = Run { options, tools, scratch, results, start: Instant::now() };
    // Builds are not part of the time of the run.
    if options.has_part("cloud") || options.has_part("crash") {
        cloud::offer(&run.scratch, options.test_provider.as_deref())?;
    }
    let estate = options.has_part("estate").then(|| estate::offer(&run.scratch));
    run.start = Instant::now();
    run.all(estate);
    let minutes = run.start.elapsed().as_secs_f64() / 60.0;
    run.fact("Duration of the run", &format!("{minutes:.0} minutes"));
    Ok(std::mem::take(&mut run.results))
}

impl Run<'_> {
    pub(super) fn fact(&mut self, name: &str, value: &str) {
        self.results.facts.push((name.to_owned(), value.to_owned()));
    }

    /// Measures all parts. A part that cannot be measured is a fact in the results, and the other parts go on.
    fn all(&mut self, estate: Option<Result<(), String>>) {
        let options = self.options;
        if options.has_part("startup") {
            let cycles = if options.quick { 5 } else { 20 };
            let files = shapes::hello();
            self.attempt("startup", |run| {
                run.part(&Part { name: "startup", size: 0, files, steps: STARTUP.into(), env: &[], cycles })
            });
        }
        if options.has_part("fmt") {
            let files = shapes::unformatted(UNFORMATTED);
            let cycles = if options.quick { 1 } else { 5 };
            self.attempt("fmt", |run| {
                run.part(&Part { name: "fmt", size: UNFORMATTED * 20, files, steps: FORMAT.into(), env: &[], cycles })
            });
        }
        if options.has_part("cloud") {
            self.attempt("cloud", cloud::measure);
        }
        if let Some(offered) = estate {
            self.attempt("estate", |run| offered.and_then(|()| estate::measure(run)));
        }
        if options.has_part("crash") {
            self.attempt("crash", crash::measure);
        }
        // The longest part is last, and its largest sizes at its end.
        if options.has_part("shapes") {
            self.shapes();
        }
    }

    fn shapes(&mut self) {
        let options = self.options;
        for size in &options.sizes {
            for shape in SHAPES.iter().filter(|shape| options.shapes.iter().any(|name| name == shape.name)) {
                let steps = if shape.name == "locals" { EXPRESSIONS.to_vec() } else { LIFE.to_vec() };
                let cycles = if *size > REPEATED || options.quick { 1 } else { 2 };
                let files = (shape.generate)(*size);
                self.attempt(&format!("{} {size}", shape.name), |run| {
                    run.part(&Part { name: shape.name, size: *size, files, steps, env: &[], cycles })
                });
            }
        }
    }

    fn attempt(&mut self, part: &str, measure: impl FnOnce(&mut Self) -> Result<(), String>) {
        if let Err(reason) = measure(self) {
            eprintln!("{part}: {reason}");
            self.fact(&format!("Not measured completely: {part}"), &reason);
        }
    }

    /// Measures all steps of a part, with each tool in turn.
    pub(super) fn part(&mut self, part: &Part<'_>) -> Result<(), String> {
        let mut rows: Vec<Row> = part.steps.iter().map(|step| empty_row(part, step)).collect();
        for _ in 0..part.cycles.max(1) {
            let mut homes = Vec::new();
            for index in 0..self.tools.len() {
                homes.push(self.home(index, part)?);
            }
            let mut done: BTreeMap<(usize, &str), bool> = BTreeMap::new();
            for (step, row) in part.steps.iter().zip(&mut rows) {
                for (index, (directory, env)) in homes.iter().enumerate() {
                    let Some(tool) = self.tools.get(index) else { continue };
                    let ready = step.needs.is_none_or(|needed| done.get(&(index, needed)) == Some(&true));
                    let ending = match self.reason_to_skip(tool, part, step) {
                        _ if !ready => Ending::Skipped(format!("requires {}", step.needs.unwrap_or_default())),
                        Some(reason) => Ending::Skipped(reason),
                        None => self.measure(tool, step, directory, env)?,
                    };
                    done.insert((index, step.name), matches!(ending, Ending::Done(_)));
                    let merged = merge(row.endings.remove(tool.name), ending);
                    row.endings.insert(tool.name.to_owned(), merged);
                }
            }
            for (directory, _) in homes {
                let _ = fs::remove_dir_all(directory);
            }
        }
        for row in rows {
            eprintln!("{}", super::page::line(&row));
            self.results.rows.push(row);
        }
        Ok(())
    }

    /// A working directory for a tool, initialized unless that is measured.
    fn home(&mut self, tool: usize, part: &Part<'_>) -> Result<(PathBuf, Env), String> {
        let Some(tool) = self.tools.get(tool) else { return Err(format!("tool {tool} does not exist")) };
        let directory = self.scratch.directory(&format!("{}-{}", part.name, tool.name), &part.files)?;
        let env = self.scratch.env(&directory, part.env);
        let measured = part.steps.iter().any(|step| step.name == "init" || step.name.starts_with("fmt"));
        if !measured {
            let args = vec!["init".to_owned()];
            let command = Measured { program: &tool.path, args, dir: &directory, env: &env, limit: OUR_LIMIT };
            let sample = command.run()?;
            if sample.code != 0 {
                return Err(format!("{} init failed in {}", tool.name, directory.display()));
            }
        }
        Ok((directory, env))
    }

    /// Reason why a tool does not run a step.
    fn reason_to_skip(&self, tool: &Tool, part: &Part<'_>, step: &Step) -> Option<String> {
        if tool.name != PEER || part.size == 0 {
            return None;
        }
        if self.start.elapsed().as_secs_f64() > self.options.minutes * 60.0 {
            return Some(format!("{} minutes of the run had passed", self.options.minutes));
        }
        let smaller = self.results.of(part.name).filter(|row| row.step == step.name && row.size < part.size);
        let mut points = Vec::new();
        for row in smaller {
            match row.endings.get(tool.name)? {
                Ending::Done(sample) => points.push((row.size, sample.wall)),
                _ => return Some(format!("not done at {}", statistics::count(row.size as u64))),
            }
        }
        let expected = statistics::expected(&points, part.size)?;
        let limit = self.options.limit;
        (expected > limit).then(|| format!("growth so far leads beyond {limit} s"))
    }

    fn measure(&self, tool: &Tool, step: &Step, directory: &std::path::Path, env: &Env) -> Result<Ending, String> {
        let limit = if tool.name == PEER { Duration::from_secs_f64(self.options.limit) } else { OUR_LIMIT };
        let args = step.args.iter().map(|arg| (*arg).to_owned()).collect();
        let sample = Measured { program: &tool.path, args, dir: directory, env, limit }.run()?;
        Ok(match (sample.exceeded, sample.code == step.code) {
            (true, _) => Ending::Exceeded(limit.as_secs_f64()),
            (false, false) => Ending::Failed(sample.code),
            (false, true) => Ending::Done(sample),
        })
    }
}

fn empty_row(part: &Part<'_>, step: &Step) -> Row {
    Row { part: part.name.to_owned(), size: part.size, step: step.name.to_owned(), endings: BTreeMap::new() }
}

/// The ending after another repetition: the least figures, or what prevented the last one.
fn merge(before: Option<Ending>, now: Ending) -> Ending {
    match (before, now) {
        (Some(Ending::Done(before)), Ending::Done(now)) => Ending::Done(before.least(&now)),
        (Some(Ending::Done(_)) | None, now) => now,
        (Some(before), _) => before,
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Sample;
    use super::*;

    #[test]
    fn a_repetition_that_fails_is_the_ending() {
        let done = |wall| Ending::Done(Sample { wall, ..Sample::default() });
        assert_eq!(merge(None, done(2.0)), done(2.0));
        assert_eq!(merge(Some(done(2.0)), done(1.0)), done(1.0));
        assert_eq!(merge(Some(done(2.0)), Ending::Failed(1)), Ending::Failed(1));
        assert_eq!(merge(Some(Ending::Failed(1)), done(1.0)), Ending::Failed(1));
    }

    #[test]
    fn needed_steps_are_before_those_that_need_them() {
        for steps in [&STARTUP[..], &LIFE, &EXPRESSIONS, &WITH_PROVIDERS] {
            for (at, step) in steps.iter().enumerate() {
                let before = |name| steps[..at].iter().any(|other| other.name == name);
                assert!(step.needs.is_none_or(before), "{}", step.name);
            }
        }
    }
}
