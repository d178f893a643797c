//! Evaluating until no call of a provider function is missing.
//!
//! Evaluation never waits. Where it needs a call it returns [`Needs`]; whoever drives it makes the calls and evaluates again. What
//! differs each time it is asked for, time and randomness, is the same in all rounds: arguments that depend on it would lead to new
//! calls forever.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use yuba_provider::Needs;

use crate::module_scope::Evaluation;
use crate::world::{DirEntry, FileKind, Timestamp, World};

impl Evaluation<'_> {
    /// The same, with this many calls at the same time.
    #[must_use]
    pub fn with_parallelism(mut self, parallelism: usize) -> Self {
        self.parallelism = parallelism;
        self
    }

    /// Evaluates something of this evaluation; the calls that have to be made first if there are any.
    pub fn attempt<T>(&self, evaluate: impl FnOnce() -> T) -> Result<T, Needs> {
        self.world.rewind();
        self.calls.attempt(evaluate)
    }

    /// Evaluates something of this evaluation, again after each round of calls. It takes as many rounds as calls are nested.
    pub async fn settle<T>(&self, mut evaluate: impl FnMut() -> T) -> T {
        self.world.record();
        loop {
            match self.attempt(&mut evaluate) {
                Ok(value) => {
                    self.world.pass();
                    return value;
                }
                Err(needs) => self.calls.make(needs, self.env().providers, self.parallelism).await,
            }
        }
    }

    /// The world as expressions of this evaluation see it.
    pub fn world(&self) -> &dyn World {
        &self.world
    }
}

/// A world that gives the same times and the same randomness in all rounds.
pub(crate) struct SteadyWorld<'a> {
    inner: &'a dyn World,
    recorded: Mutex<Option<Recorded>>,
}

#[derive(Default)]
struct Recorded {
    times: Vec<Timestamp>,
    randomness: Vec<Vec<u8>>,
    /// How many of them this round has used.
    used: (usize, usize),
}

impl<'a> SteadyWorld<'a> {
    pub(crate) fn new(inner: &'a dyn World) -> SteadyWorld<'a> {
        SteadyWorld { inner, recorded: Mutex::new(None) }
    }
    fn recorded(&self) -> MutexGuard<'_, Option<Recorded>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The first of several rounds begins.
    fn record(&self) {
        *self.recorded() = Some(Recorded::default());
    }
    /// A round begins.
    fn rewind(&self) {
        if let Some(recorded) = &mut *self.recorded() {
            recorded.used = (0, 0);
        }
    }
    /// The rounds are over.
    fn pass(&self) {
        *self.recorded() = None;
    }
}

impl World for SteadyWorld<'_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.inner.read(path)
    }
    fn read_parts(&self, path: &str, visit: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.inner.read_parts(path, visit)
    }
    fn kind(&self, path: &str) -> io::Result<FileKind> {
        self.inner.kind(path)
    }
    fn list(&self, dir: &str) -> io::Result<Vec<DirEntry>> {
        self.inner.list(dir)
    }
    fn home_dir(&self) -> io::Result<String> {
        self.inner.home_dir()
    }
    fn working_dir(&self) -> io::Result<String> {
        self.inner.working_dir()
    }
    fn now(&self) -> Timestamp {
        let mut recorded = self.recorded();
        let Some(recorded) = &mut *recorded else { return self.inner.now() };
        if recorded.used.0 == recorded.times.len() {
            recorded.times.push(self.inner.now());
        }
        recorded.used.0 += 1;
        recorded.times[recorded.used.0 - 1]
    }
    fn random(&self, buffer: &mut [u8]) {
        let mut recorded = self.recorded();
        let Some(recorded) = &mut *recorded else { return self.inner.random(buffer) };
        let at = recorded.used.1;
        recorded.used.1 += 1;
        match recorded.randomness.get(at) {
            Some(known) if known.len() == buffer.len() => buffer.copy_from_slice(known),
            Some(_) => {
                self.inner.random(buffer);
                recorded.randomness[at] = buffer.to_vec();
            }
            None => {
                self.inner.random(buffer);
                recorded.randomness.push(buffer.to_vec());
            }
        }
    }
    fn template_depth_limit(&self) -> Result<i64, String> {
        self.inner.template_depth_limit()
    }
}
