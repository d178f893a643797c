//! Parallel execution of files, and the order of their messages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ecow::EcoString;
use yuba_addrs::AbsProviderConfig;
use yuba_config::test_file::TestFile;
use yuba_eval::ConfigTree;

use super::leftovers::Register;
use super::substitution::config_of;
use super::suite::Suite;
use super::{Message, TestEvent, TestRequest, TestStatus, file};

/// Time limit for running operations after a request to stop everything.
const PATIENCE: Duration = Duration::from_secs(5);
/// Interval for checking whether to stop.
const TICK: Duration = Duration::from_millis(200);

/// Message of a thread.
enum LaneReport {
    Message(usize, Message),
    Done(usize, TestStatus),
}

/// Runs all files. How all of them ended.
pub(super) fn run(suite: &Suite, request: &TestRequest<'_>, tell: &mut dyn FnMut(Message)) -> TestStatus {
    let register = Register::new(request.project.root());
    let names = &suite.selected;
    let alone: Vec<bool> = names.iter().map(|name| request.parallel <= 1 || !shares_nothing(suite, name)).collect();
    // Files that share resources run in order in one lane; all remaining files run in any free lane.
    let together: VecDeque<usize> = (0..names.len()).filter(|at| !alone[*at]).collect();
    let one_by_one: VecDeque<usize> = (0..names.len()).filter(|at| alone[*at]).collect();
    let lanes = request.parallel.max(1).min(together.len());
    let (say, hear) = mpsc::channel();
    let queue = Mutex::new(together);
    std::thread::scope(|scope| {
        let work = |at: usize, say: &mpsc::Sender<LaneReport>| {
            let status = file::run(suite, request, &register, &names[at], &mut |message| {
                let _ = say.send(LaneReport::Message(at, message));
            });
            let _ = say.send(LaneReport::Done(at, status));
        };
        if !one_by_one.is_empty() {
            let say = say.clone();
            scope.spawn(move || one_by_one.into_iter().for_each(|at| work(at, &say)));
        }
        for _ in 0..lanes {
            let (say, queue) = (say.clone(), &queue);
            scope.spawn(move || {
                while let Some(at) = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
                    work(at, &say);
                }
            });
        }
        drop(say);
        in_order(&hear, request, &register, tell)
    })
}

/// Passes on messages: everything about the first file, then everything about the second.
fn in_order(
    hear: &mpsc::Receiver<LaneReport>,
    request: &TestRequest<'_>,
    register: &Register,
    tell: &mut dyn FnMut(Message),
) -> TestStatus {
    let mut status = TestStatus::Pass;
    let mut turn = 0;
    let mut waiting: BTreeMap<usize, (Vec<Message>, bool)> = BTreeMap::new();
    let mut stopping = Stopping { heard: 0, since: None };
    loop {
        let report = hear.recv_timeout(TICK);
        stopping.listen(request, register, tell);
        let report = match report {
            Ok(report) => report,
            Err(RecvTimeoutError::Disconnected) => return status,
            Err(RecvTimeoutError::Timeout) => continue,
        };
        match report {
            LaneReport::Message(at, message) if at == turn || matches!(message.event, TestEvent::RunEnded) => {
                tell(message);
            }
            LaneReport::Message(at, message) => waiting.entry(at).or_default().0.push(message),
            LaneReport::Done(at, ended) => {
                status = status.max(ended);
                waiting.entry(at).or_default().1 = true;
            }
        }
        while let Some((messages, done)) = waiting.get_mut(&turn) {
            std::mem::take(messages).into_iter().for_each(&mut *tell);
            if !*done {
                break;
            }
            waiting.remove(&turn);
            turn += 1;
        }
    }
}

/// Progress of stopping.
struct Stopping {
    /// Number of stop requests that were reported.
    heard: u8,
    /// Time of the last stop request.
    since: Option<Instant>,
}

impl Stopping {
    /// Passes on the request to stop. Threads that do not end in time are abandoned.
    fn listen(&mut self, request: &TestRequest<'_>, register: &Register, tell: &mut dyn FnMut(Message)) {
        let asked = request.stop.asked.count().min(3);
        while self.heard < asked {
            self.heard += 1;
            if self.heard < 3 {
                tell(Message { file: EcoString::new(), sources: None, event: TestEvent::Stopping(self.heard) });
            }
            if self.heard > 1 {
                request.stop.hard.raise();
                self.since.get_or_insert_with(Instant::now);
            }
        }
        if self.since.is_some_and(|since| since.elapsed() > PATIENCE) {
            for (file, report) in register.all() {
                tell(Message { file, sources: None, event: TestEvent::Stuck(report) });
            }
            self.since = Some(Instant::now());
        }
    }
}

/// Whether the objects of a file are private to it: all its providers are mocks, or store nothing outside of the state.
pub(super) fn shares_nothing(suite: &Suite, name: &EcoString) -> bool {
    let Some(file) = suite.file(name) else { return true };
    file.runs.iter().all(|run| {
        let own = run.module.as_ref().and_then(|_| suite.runs.get(&(name.clone(), run.name.clone())));
        let tree = own.unwrap_or(&suite.root);
        let mocks = if run.providers.is_empty() { mocks_of(file, tree) } else { Vec::new() };
        tree.iter().all(|(id, node)| {
            node.module.resources.values().all(|resource| {
                let provider = tree.resource_provider(id, resource);
                let is_harmless = provider.is_some_and(|resolved| {
                    resolved.provider.is_builtin() || mocks.contains(&tree.provider_address(&resolved))
                });
                is_harmless && resource.provisioners.is_empty()
            })
        })
    })
}

fn mocks_of(file: &TestFile, tree: &ConfigTree) -> Vec<AbsProviderConfig> {
    file.mock_providers.keys().filter_map(|key| config_of(tree, key)).collect()
}
