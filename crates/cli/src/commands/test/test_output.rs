//! Prints the results of tests: for people, as JSON messages, and in a JUnit XML file.

use std::time::Instant;

use yuba_provider::Providers;
use yuba_session::test::{
    CleanupReport, FileReport, InterruptReport, Leftover, Message, RunReport, Suite, TestEvent, TestStatus, Verbose,
};
use yuba_syntax::{Diagnostics, Sources};
use yuba_view::snippet::Excerpts;
use yuba_view::test::json::About;
use yuba_view::test::{self, Interrupted, RunCounts, json, junit};
use yuba_view::{diagnostic, messages_json, plan, plan_json, progress, state, state_json};

use super::diagnostics;
use crate::commands::validate::signature;
use crate::deprecation::DeprecationChoice;
use crate::exit::Failure;
use crate::flags::Args;
use crate::json_into::{JsonInto, JsonSettings};
use crate::messages::{greeting, now};
use crate::signals;
use crate::terminal::Terminal;

/// Settings of the output of tests.
pub(super) struct TestOutputSettings {
    /// `-json`
    json: bool,
    /// `-json-into`
    into: Option<JsonInto>,
    /// `-junit-xml`
    junit: Option<String>,
    /// `-deprecation`
    deprecation: DeprecationChoice,
}

impl TestOutputSettings {
    /// Resolves the settings, and opens the file of `-json-into`.
    pub(super) fn resolve(args: &Args) -> Result<TestOutputSettings, Failure> {
        Ok(TestOutputSettings {
            into: JsonInto::open(&JsonSettings::resolve(args)?)?,
            junit: args.text("junit-xml").filter(|path| !path.is_empty()).map(str::to_owned),
            json: args.is_on("json"),
            deprecation: args.deprecation().unwrap_or_default(),
        })
    }
}

/// The outputs that receive the results.
pub(super) struct TestOutput<'t> {
    terminal: &'t mut Terminal,
    into: Option<JsonInto>,
    json: bool,
    deprecation: DeprecationChoice,
    counts: RunCounts,
    /// Number of files, and those whose runs are not over.
    files: (usize, Vec<String>),
    /// Number of runs that are over, and of all runs.
    runs: (usize, usize),
    /// Start of the runs.
    since: Instant,
    /// The target of JUnit XML, and its content.
    junit: Option<(String, Vec<junit::JunitSuite>)>,
}

fn shown(status: TestStatus) -> test::TestResult {
    match status {
        TestStatus::Pending => test::TestResult::Pending,
        TestStatus::Skip => test::TestResult::Skip,
        TestStatus::Pass => test::TestResult::Pass,
        TestStatus::Fail => test::TestResult::Fail,
        TestStatus::Error => test::TestResult::Error,
    }
}

fn object((addr, deposed): &Leftover) -> String {
    match deposed {
        Some(key) => format!("{addr} ({})", key.as_str()),
        None => addr.to_string(),
    }
}

impl<'t> TestOutput<'t> {
    /// Begins the output with the version, for tools.
    pub(super) fn new(terminal: &'t mut Terminal, settings: TestOutputSettings) -> TestOutput<'t> {
        let TestOutputSettings { json, into, junit, deprecation } = settings;
        let junit = junit.map(|path| (path, Vec::new()));
        let (counts, files) = (RunCounts::default(), (0, Vec::new()));
        let mut output =
            TestOutput { terminal, into, json, deprecation, counts, files, runs: (0, 0), since: Instant::now(), junit };
        output.programs(greeting);
        output
    }

    fn people(&mut self, text: &str) {
        if !self.json {
            self.terminal.out(text);
        }
    }

    fn aside(&mut self, text: &str) {
        if !self.json {
            self.terminal.err(text);
        }
    }

    fn programs(&mut self, lines: impl FnOnce() -> String) {
        if !self.json && self.into.is_none() {
            return;
        }
        let lines = lines();
        if self.json {
            self.terminal.out(&lines);
        }
        if let Some(into) = &mut self.into {
            into.write(&lines);
        }
    }

    /// Prints the diagnostics of a file or a run.
    pub(super) fn report(&mut self, file: Option<&str>, run: Option<&str>, problems: &Diagnostics, sources: &Sources) {
        if problems.is_empty() {
            return;
        }
        let wanted = self.deprecation.wanted(problems.clone());
        if !self.json {
            self.terminal.report(&wanted, sources);
        }
        self.programs(|| {
            let excerpts = Excerpts::new(sources);
            let time = now();
            let about = About { file, run, timestamp: &time };
            wanted.iter().map(|problem| json::diagnostic(problem, &excerpts, &signature, about)).collect()
        });
    }

    /// Says what will be tested.
    pub(super) fn begin(&mut self, suite: &Suite) {
        self.counts = RunCounts::default();
        if let Some((_, groups)) = &mut self.junit {
            groups.clear();
        }
        self.programs(|| {
            let names = |runs: Vec<&_>| runs.into_iter().map(ToString::to_string).collect();
            let files: Vec<(String, Vec<String>)> =
                suite.files().map(|(name, runs)| (name.to_string(), names(runs))).collect();
            json::abstract_of(&files, About { timestamp: &now(), ..About::default() })
        });
        let files: Vec<String> = suite.files().map(|(name, _)| name.to_string()).collect();
        self.files = (files.len(), files);
        self.runs = (0, suite.files().map(|(_, runs)| runs.len()).sum());
        self.since = Instant::now();
        self.show_progress();
    }

    /// Shows at the end of the terminal how many runs and files are done, and for how long they have been running.
    fn show_progress(&mut self) {
        let (total, left) = self.files.clone();
        if !self.json && !left.is_empty() {
            let (runs, since) = (self.runs, self.since);
            self.terminal.watch(move |_, _| vec![progress::tests(runs, total, &left, since.elapsed())]);
        }
    }

    /// Prints the result of a file.
    pub(super) fn message(&mut self, message: &Message, suite: &Suite, schemas: &dyn Providers) {
        let sources = message.sources.as_ref().unwrap_or(&suite.sources);
        let file = message.file.as_str();
        match &message.event {
            TestEvent::RunEnded => self.runs.0 += 1,
            TestEvent::File(report) => self.file(file, report, sources, schemas),
            TestEvent::Cleanup(report) => self.cleanup(file, report, sources),
            TestEvent::Stopping(1) => self.stopping(signals::FIRST),
            TestEvent::Stopping(_) => self.stopping(signals::SECOND),
            TestEvent::Interrupted(report) | TestEvent::Stuck(report) => self.interrupted(file, report),
        }
        if matches!(message.event, TestEvent::File(_)) {
            self.files.1.retain(|left| left != file);
        }
        self.show_progress();
    }

    fn stopping(&mut self, text: &str) {
        self.aside(text);
        self.programs(|| messages_json::line(messages_json::MessageLevel::Info, text.trim(), &now(), Vec::new()));
    }

    fn file(&mut self, name: &str, report: &FileReport, sources: &Sources, schemas: &dyn Providers) {
        let status = shown(report.status);
        let style = self.terminal.style();
        self.people(&test::file_line(name, status, style));
        self.programs(|| json::file(name, status, About { timestamp: &now(), ..About::default() }));
        for run in &report.runs {
            self.run(name, run, sources, schemas);
        }
        if self.junit.is_some() {
            let cases = report.runs.iter().map(|run| self.case(run, sources)).collect();
            if let Some((_, groups)) = &mut self.junit {
                groups.push(junit::JunitSuite { name: name.to_owned(), cases });
            }
        }
    }

    fn run(&mut self, file: &str, run: &RunReport, sources: &Sources, schemas: &dyn Providers) {
        let status = shown(run.status);
        self.counts.add(status);
        let style = self.terminal.style();
        self.people(&test::run_line(&run.name, status, style));
        self.programs(|| json::run(file, &run.name, status, About { timestamp: &now(), ..About::default() }));
        let mut problems = run.problems.clone();
        if let Some(verbose) = &run.verbose {
            let found = self.verbose(file, &run.name, verbose, schemas);
            problems.extend(found);
        }
        self.report(Some(file), Some(&run.name), &problems, sources);
    }

    /// Shows a plan or a state. Hidden parts are reported with a warning.
    fn verbose(&mut self, file: &str, run: &str, verbose: &Verbose, schemas: &dyn Providers) -> Diagnostics {
        let look = self.terminal.look();
        let mut problems = Diagnostics::new();
        match verbose {
            Verbose::Plan(planned, _) => self.people(&plan::render(planned, schemas, look)),
            Verbose::State(after) => match state::render(after, schemas, look) {
                Ok(text) => self.people(&text),
                Err(found) => problems.extend(found),
            },
        }
        let document = match verbose {
            Verbose::Plan(planned, tree) => {
                plan_json::plan(planned, tree, schemas).map_err(|reason| diagnostics::plan_not_rendered(&reason))
            }
            Verbose::State(after) => {
                state_json::state(Some(after), schemas).map_err(|reason| diagnostics::state_not_rendered(&reason))
            }
        };
        match document {
            Err(problem) => problems.push(problem),
            Ok(document) => self.programs(|| {
                let time = now();
                let about = About { file: Some(file), run: Some(run), timestamp: &time };
                match verbose {
                    Verbose::Plan(..) => json::plan(document, about),
                    Verbose::State(_) => json::state(document, about),
                }
            }),
        }
        problems
    }

    fn case(&self, run: &RunReport, sources: &Sources) -> junit::Case {
        let wanted = self.deprecation.wanted(run.problems.clone());
        let options = diagnostic::Options::default();
        let texts = diagnostic::render_all(&wanted, sources, diagnostic::Style::Plain, 0, &options);
        let title = wanted.iter().find(|problem| problem.is_error());
        junit::Case {
            name: run.name.to_string(),
            status: shown(run.status),
            took: run.took,
            title: title.map(|problem| problem.summary.to_string()).unwrap_or_default(),
            text: texts.into_iter().map(|(_, text)| text).collect::<String>().trim_start().to_owned(),
        }
    }

    fn cleanup(&mut self, file: &str, report: &CleanupReport, sources: &Sources) {
        let width = self.terminal.width();
        let name = format!("{file}/{}", report.run);
        if report.problems.has_errors() {
            self.aside(&test::destroy_failed(&name, width));
        }
        let time = now();
        let about = About { file: Some(file), run: Some(&report.run), timestamp: &time };
        let saved = report.saved.as_deref();
        if !report.left.is_empty() {
            self.programs(|| {
                let left: Vec<json::ObjectAddress> = report
                    .left
                    .iter()
                    .map(|(addr, deposed)| (addr.to_string(), deposed.as_ref().map(|key| key.as_str().to_owned())))
                    .collect();
                json::cleanup(&left, saved, about)
            });
        }
        self.report(Some(file), Some(&report.run), &report.problems, sources);
        if !report.left.is_empty() {
            let left: Vec<String> = report.left.iter().map(object).collect();
            self.aside(&test::leftovers(&name, &left, saved, width));
        }
        if let Some(path) = saved {
            self.aside(&format!("\nWriting state to file: {path}\n"));
            self.programs(|| json::saved(path, about));
        }
        if let Some(bytes) = &report.unsaved {
            let problem = diagnostics::state_not_persisted();
            self.report(Some(file), Some(&report.run), &problem.into(), sources);
            self.terminal.err(&format!("{}\n", String::from_utf8_lossy(bytes)));
        }
    }

    fn interrupted(&mut self, file: &str, report: &InterruptReport) {
        let all = |left: &[Leftover]| left.iter().map(object).collect::<Vec<String>>();
        let what = Interrupted {
            state: all(&report.state),
            states: report
                .states
                .iter()
                .map(|(run, source, left)| (run.to_string(), source.to_string(), all(left)))
                .collect(),
            creating: report.creating.as_ref().map(|(run, source, planned)| {
                let planned = planned.iter().map(ToString::to_string).collect();
                (run.to_string(), source.as_ref().map(ToString::to_string), planned)
            }),
            saved: report.saved.iter().map(ToString::to_string).collect(),
        };
        let width = self.terminal.width();
        self.aside(&test::interrupted(file, &what, width));
        let time = now();
        self.programs(|| json::interrupted(&what, About { file: Some(file), run: None, timestamp: &time }));
    }

    /// Says how everything ended. Whether all of it could be written.
    pub(super) fn conclusion(&mut self, status: TestStatus) -> bool {
        let (status, counts, style) = (shown(status), self.counts, self.terminal.style());
        self.people(&test::conclusion(status, counts, style));
        self.programs(|| json::summary(status, counts, About { timestamp: &now(), ..About::default() }));
        let failed = match &self.junit {
            Some((path, groups)) => {
                std::fs::write(path, junit::render(groups)).err().map(|error| (path.clone(), error))
            }
            None => None,
        };
        let Some((path, error)) = failed else { return true };
        let problem = diagnostics::junit_unwritable(&path, &error);
        self.report(None, None, &problem.into(), &Sources::new());
        false
    }

    /// Says that files are watched now.
    pub(super) fn waiting(&mut self) {
        self.people("\nWaiting for changes; press Ctrl-C to leave.\n");
    }

    /// Flushes all outputs.
    pub(super) fn finish(&mut self) {
        self.terminal.finish(1);
    }
}
