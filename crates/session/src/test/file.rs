//! One test file: its runs one after the other, with a state for each module they test.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ecow::{EcoString, eco_format};
use yuba_addrs::{AbsResourceInstance, ResourceMode};
use yuba_config::test_file::TestFile;
use yuba_state::State;
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::{Mark, Value};

use super::lanes::shares_nothing;
use super::leftovers::{Register, objects};
use super::prepare::{PreparedRun, Subject};
use super::record::RecordPaths;
use super::run::{Changed, execute};
use super::suite::Suite;
use super::{FileReport, InterruptReport, Message, RunReport, TestEvent, TestRequest, TestStatus};

/// The state of one module that runs of a file test.
pub(super) struct ModuleState {
    /// The source of the module; none for the one the file belongs to.
    pub(super) source: Option<EcoString>,
    pub(super) state: State,
    /// The runs that used it, and what they worked with.
    pub(super) history: Vec<(usize, PreparedRun)>,
    /// Objects of a provider that stores them outside of the state.
    pub(super) real: BTreeSet<AbsResourceInstance>,
    /// Objects that were made without asking a provider.
    pub(super) made_up: BTreeSet<AbsResourceInstance>,
}

impl ModuleState {
    fn new(source: Option<EcoString>) -> ModuleState {
        ModuleState {
            source,
            state: State::empty(),
            history: Vec::new(),
            real: BTreeSet::new(),
            made_up: BTreeSet::new(),
        }
    }

    /// The state after a run, which created some of its objects.
    fn take(&mut self, at: usize, prepared: PreparedRun, state: State, created: &[AbsResourceInstance]) {
        let created: BTreeSet<&AbsResourceInstance> = created.iter().collect();
        let (mut real, mut made_up) = (BTreeSet::new(), BTreeSet::new());
        for (addr, resource, _) in state.instances() {
            if addr.resource.mode != ResourceMode::Managed || resource.provider.provider.is_builtin() {
                continue;
            }
            let is_new = created.contains(&addr) || self.state.instance(&addr).is_none();
            let is_made_up = match is_new {
                true => prepared.stands_in(&resource.provider, &addr.config()),
                false => self.made_up.contains(&addr),
            };
            match is_made_up {
                true => made_up.insert(addr),
                false => real.insert(addr),
            };
        }
        (self.real, self.made_up) = (real, made_up);
        self.state = state;
        self.history.push((at, prepared));
    }
}

/// A file on its way.
pub(super) struct FileRunner<'a> {
    pub(super) suite: &'a Suite,
    pub(super) request: &'a TestRequest<'a>,
    pub(super) register: &'a Register,
    pub(super) name: &'a EcoString,
    pub(super) file: &'a TestFile,
    /// By source of the module.
    pub(super) states: BTreeMap<EcoString, ModuleState>,
    /// Outputs of runs that were applied: objects.
    pub(super) outputs: BTreeMap<EcoString, Value>,
    /// Files that were read for runs of this file.
    pub(super) sources: Option<Arc<Sources>>,
    /// Its objects are visible to other files.
    is_real: bool,
}

/// Runs a file and cleans up after it.
pub(super) fn run(
    suite: &Suite,
    request: &TestRequest<'_>,
    register: &Register,
    name: &EcoString,
    tell: &mut dyn FnMut(Message),
) -> TestStatus {
    let Some(file) = suite.file(name) else { return TestStatus::Pending };
    let mut runner = FileRunner {
        suite,
        request,
        register,
        name,
        file,
        states: BTreeMap::new(),
        outputs: BTreeMap::new(),
        sources: None,
        is_real: !shares_nothing(suite, name),
    };
    let began = Instant::now();
    let (status, runs) = runner.runs(tell);
    let report = FileReport { status, runs, took: began.elapsed() };
    let message = runner.message(TestEvent::File(report));
    tell(message);
    runner.clean_up(tell);
    register.forget(name);
    status
}

impl FileRunner<'_> {
    pub(super) fn message(&self, event: TestEvent) -> Message {
        Message { file: self.name.clone(), sources: self.sources.clone(), event }
    }

    pub(super) fn is_stopped_now(&self) -> bool {
        self.request.stop.is_now()
    }

    fn runs(&mut self, tell: &mut dyn FnMut(Message)) -> (TestStatus, Vec<RunReport>) {
        let mut status = TestStatus::Pass;
        let mut reports = Vec::with_capacity(self.file.runs.len());
        for at in 0..self.file.runs.len() {
            let run = &self.file.runs[at];
            let left_out = match () {
                () if self.is_stopped_now() => Some(TestStatus::Pending),
                () if self.request.stop.is_asked() || status == TestStatus::Error => Some(TestStatus::Skip),
                () => None,
            };
            let report = match left_out {
                Some(status) => RunReport {
                    name: run.name.clone(),
                    status,
                    problems: Diagnostics::new(),
                    verbose: None,
                    took: Duration::ZERO,
                },
                None => self.execute(at),
            };
            status = status.max(report.status);
            reports.push(report);
            tell(self.message(TestEvent::RunEnded));
        }
        (status, reports)
    }

    fn execute(&mut self, at: usize) -> RunReport {
        let run = &self.file.runs[at];
        let source = run.module.as_ref().map(|module| eco_format!("{}", module.source));
        let key = source.clone().unwrap_or_default();
        let state = self.states.get(&key).map_or_else(State::empty, |known| known.state.clone());
        let subject = Subject {
            suite: self.suite,
            request: self.request,
            file_name: self.name,
            file: self.file,
            run,
            outputs: &self.outputs,
        };
        let existing = self.existing();
        let creating = |objects: &[AbsResourceInstance]| {
            let creating = Some((run.name.clone(), source.clone(), objects.to_vec()));
            self.register.set(self.name, InterruptReport { creating, ..existing.clone() });
        };
        let executed = execute(&subject, state, self.record_paths(&key), &creating);
        if executed.sources.is_some() {
            self.sources = executed.sources;
        }
        if let Some(Changed { prepared, state, created }) = executed.changed {
            let output = |(name, output): (&EcoString, &yuba_state::Output)| {
                let value = match output.sensitive {
                    true => output.value.mark(Mark::Sensitive),
                    false => output.value.clone(),
                };
                (name.clone(), value)
            };
            let outputs = Value::object(state.outputs.iter().map(output).collect());
            self.outputs.insert(run.name.clone(), outputs);
            self.states.entry(key).or_insert_with(|| ModuleState::new(source)).take(at, prepared, state, &created);
        }
        self.register.set(self.name, self.existing());
        executed.report
    }

    /// File of a state while a run changes real objects.
    pub(super) fn record_paths(&self, module: &str) -> Option<RecordPaths> {
        self.is_real.then(|| RecordPaths::new(self.request.project, self.name, module, self.suite.sealing.clone()))
    }

    /// The objects of all states.
    pub(super) fn existing(&self) -> InterruptReport {
        let mut report = InterruptReport::default();
        for known in self.states.values() {
            let left = objects(&known.state);
            match &known.source {
                _ if left.is_empty() => {}
                None => report.state = left,
                Some(source) => {
                    let run = known.history.last().and_then(|(at, _)| self.file.runs.get(*at));
                    let run = run.map(|run| run.name.clone()).unwrap_or_default();
                    report.states.push((run, source.clone(), left));
                }
            }
        }
        report
    }
}
