//! `test`: runs the files of tests of a module, one run after the other, and destroys what they made.
//!
//! [`Suite::load`] reads the configuration with its test files; [`Suite::run`] does the rest and tells about it in
//! [`Message`]s. Files whose objects nobody else can see run at the same time, each in a thread of its own; what they tell is
//! in the order of the files all the same.
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

/// What to test, and how.
pub struct TestRequest<'a> {
    /// The module under test, with the directory of its test files.
    pub project: &'a Project,
    /// Only these files; all if there are none.
    pub filter: &'a [String],
    /// Whether plans and states are wanted.
    pub verbose: bool,
    /// How many files run at the same time.
    pub parallel: usize,
    /// How many things providers are asked at the same time.
    pub parallelism: usize,
    /// Made-up values are the same for the same seed.
    pub seed: u64,
    /// Whether somebody asked to stop.
    pub stop: Stop<'a>,
}

/// Whether somebody asked to stop.
#[derive(Clone)]
pub struct Stop<'a> {
    /// Raised once, no more runs are begun, and what was made is destroyed. Raised twice, everything stops now, and nothing
    /// is destroyed any more.
    pub asked: &'a Interrupt,
    /// Set when everything stops now.
    pub now: Arc<AtomicBool>,
    /// What is under way hears of the second time only.
    hard: Arc<Interrupt>,
}

impl<'a> Stop<'a> {
    /// Nobody asked yet. `now` is set together with the second time.
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

/// How something ended. Of two the greater one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestStatus {
    /// It did not begin.
    #[default]
    Pending,
    /// It was left out.
    Skip,
    /// All is well.
    Pass,
    /// An assertion does not hold.
    Fail,
    /// Something went wrong.
    Error,
}

/// What a run showed, for those who want to see everything.
pub enum Verbose {
    /// It only planned.
    Plan(Box<Plan>, Arc<ConfigTree>),
    /// It was applied.
    State(Box<State>),
}

/// What became of a run.
pub struct RunReport {
    /// Its name.
    pub name: EcoString,
    /// How it ended.
    pub status: TestStatus,
    /// What there is to say.
    pub problems: Diagnostics,
    /// What it showed, if that is wanted.
    pub verbose: Option<Verbose>,
    /// How long it took.
    pub took: Duration,
}

/// What became of a file.
pub struct FileReport {
    /// How it ended.
    pub status: TestStatus,
    /// Its runs, in order.
    pub runs: Vec<RunReport>,
    /// How long it took, without cleaning up.
    pub took: Duration,
}

/// An object that still exists.
pub type Leftover = (AbsResourceInstance, Option<DeposedKey>);

/// What became of the objects of one state of a file.
pub struct CleanupReport {
    /// The run that used the state last.
    pub run: EcoString,
    /// What went wrong.
    pub problems: Diagnostics,
    /// What still exists.
    pub left: Vec<Leftover>,
    /// Where the state was saved, if something still exists.
    pub saved: Option<EcoString>,
    /// The state, if it could not be saved.
    pub unsaved: Option<Vec<u8>>,
}

/// What exists in a file that was stopped at once.
#[derive(Clone, Debug, Default)]
pub struct InterruptReport {
    /// Objects of the module under test.
    pub state: Vec<Leftover>,
    /// Objects of other modules: the run, the source of the module, the objects.
    pub states: Vec<(EcoString, EcoString, Vec<Leftover>)>,
    /// The run that was under way with what it was creating, and the source of its module.
    pub creating: Option<(EcoString, Option<EcoString>, Vec<AbsResourceInstance>)>,
    /// Where states were saved.
    pub saved: Vec<EcoString>,
}

/// Something to tell about a file.
pub struct Message {
    /// The file.
    pub file: EcoString,
    /// The files that diagnostics are about, where these are not those of the suite.
    pub sources: Option<Arc<Sources>>,
    /// What.
    pub event: TestEvent,
}

/// What there is to tell.
pub enum TestEvent {
    /// All runs are over.
    File(FileReport),
    /// A state was cleaned up.
    Cleanup(CleanupReport),
    /// It was stopped at once.
    Interrupted(InterruptReport),
    /// Somebody asked to stop: for the first time, or again.
    Stopping(u8),
    /// It was stopped at once, and does not come to an end.
    Stuck(InterruptReport),
}
