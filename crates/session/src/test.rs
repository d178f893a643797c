//! `test`: runs the files of tests of a module, one run after the other, and destroys what they made.
//!
//! [`Suite::load`] reads the configuration with its test files; [`Suite::run`] does the rest and reports [`Message`]s.
//! Files whose objects are not visible to other files run at the same time, each in a thread of its own; their messages
//! are in the order of the files all the same.
//!
//! Invariant: the state of a test is never in a file, except for objects that could not be destroyed.

mod cleanup;
mod diagnostics;
mod expectations;
mod file;
mod lanes;
mod leftovers;
mod prepare;
mod record;
mod run;
mod sealing;
mod substitution;
mod suite;
mod variables;
mod watching;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ecow::EcoString;
use yuba_addrs::AbsResourceInstance;
use yuba_engine::Interrupt;
use yuba_eval::ConfigTree;
use yuba_plan::Plan;
use yuba_state::{DeposedKey, State};
use yuba_syntax::{Diagnostics, Sources};

use crate::project::Project;

pub use suite::Suite;
pub use watching::{Affected, Watcher};

/// Options of tests.
pub struct TestRequest<'a> {
    /// The module under test, with the directory of its test files.
    pub project: &'a Project,
    /// Only these files; all files if empty.
    pub filter: &'a [String],
    /// Whether plans and states are wanted.
    pub verbose: bool,
    /// Number of files that run at the same time.
    pub parallel: usize,
    /// Number of simultaneous requests to providers.
    pub parallelism: usize,
    /// Made-up values are the same for the same seed.
    pub seed: u64,
    /// Whether the user asked to stop.
    pub stop: Stop<'a>,
}

/// Whether the user asked to stop.
#[derive(Clone)]
pub struct Stop<'a> {
    /// Raised once, no more runs begin, and created objects are destroyed. Raised twice, everything stops now, and
    /// nothing is destroyed.
    pub asked: &'a Interrupt,
    /// Set when everything stops now.
    pub now: Arc<AtomicBool>,
    /// Running operations see the second request only.
    hard: Arc<Interrupt>,
}

impl<'a> Stop<'a> {
    /// No request yet. `now` is set together with the second request.
    pub fn new(asked: &'a Interrupt, now: Arc<AtomicBool>) -> Stop<'a> {
        Stop { asked, now, hard: Arc::default() }
    }
    fn is_asked(&self) -> bool {
        self.asked.is_raised()
    }
    fn is_now(&self) -> bool {
        self.asked.count() > 1
    }
}

/// Outcome. Of two, the greater one wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestStatus {
    /// It did not begin.
    #[default]
    Pending,
    /// It was left out.
    Skip,
    /// All is well.
    Pass,
    /// An assertion failed.
    Fail,
    /// An error occurred.
    Error,
}

/// The plan or state of a run, for verbose output.
pub enum Verbose {
    /// It only planned.
    Plan(Box<Plan>, Arc<ConfigTree>),
    /// It was applied.
    State(Box<State>),
}

/// Result of a run.
pub struct RunReport {
    /// Its name.
    pub name: EcoString,
    /// Outcome.
    pub status: TestStatus,
    /// Diagnostics.
    pub problems: Diagnostics,
    /// Output, if requested.
    pub verbose: Option<Verbose>,
    /// Duration.
    pub took: Duration,
}

/// Result of a file.
pub struct FileReport {
    /// Outcome.
    pub status: TestStatus,
    /// Its runs, in order.
    pub runs: Vec<RunReport>,
    /// Duration, without cleaning up.
    pub took: Duration,
}

/// An object that still exists.
pub type Leftover = (AbsResourceInstance, Option<DeposedKey>);

/// Result of cleaning up one state of a file.
pub struct CleanupReport {
    /// The run that used the state last.
    pub run: EcoString,
    /// Errors.
    pub problems: Diagnostics,
    /// Remaining objects.
    pub left: Vec<Leftover>,
    /// File of the saved state, if objects remain.
    pub saved: Option<EcoString>,
    /// The state, if it could not be saved.
    pub unsaved: Option<Vec<u8>>,
}

/// Existing objects of a file that was stopped at once.
#[derive(Clone, Debug, Default)]
pub struct InterruptReport {
    /// Objects of the module under test.
    pub state: Vec<Leftover>,
    /// Objects of other modules: the run, the source of the module, the objects.
    pub states: Vec<(EcoString, EcoString, Vec<Leftover>)>,
    /// The running run with the objects that it was creating, and the source of its module.
    pub creating: Option<(EcoString, Option<EcoString>, Vec<AbsResourceInstance>)>,
    /// Files of saved states.
    pub saved: Vec<EcoString>,
}

/// A message about a file.
pub struct Message {
    /// The file.
    pub file: EcoString,
    /// The files that diagnostics are about, where these are not those of the suite.
    pub sources: Option<Arc<Sources>>,
    /// The message.
    pub event: TestEvent,
}

/// Diagnostics.
pub enum TestEvent {
    /// One of the runs of the file has ended. It is reported at once, not in the order of the files.
    RunEnded,
    /// All runs are over.
    File(FileReport),
    /// A state was cleaned up.
    Cleanup(CleanupReport),
    /// It was stopped at once.
    Interrupted(InterruptReport),
    /// The user asked to stop: for the first time, or again.
    Stopping(u8),
    /// It was stopped at once, before it was complete.
    Stuck(InterruptReport),
}
