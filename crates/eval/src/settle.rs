//! Evaluating until no call of a provider function is missing.
//!
//! Evaluation never waits. Where it needs a call it returns [`Needs`]; the driver makes the calls and evaluates again. The
//! time and random values are the same in all rounds: arguments that depend on changing values would lead to new calls
//! forever.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use yuba_provider::Needs;

use crate::module_scope::Evaluation;
use crate::world::{DirEntry, FileKind, World, WorldTime};

impl Evaluation<'_> {
    /// The same, with this many calls at the same time.
    #[must_use]
    pub fn with_parallelism(mut self, parallelism: usize) -> Self {
        self.parallelism = parallelism;
        self
    }

    /// Evaluates something of this evaluation. Fails with the calls that must be made first.
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
    times: Vec<WorldTime>,
    randomness: Vec<Vec<u8>>,
    /// Number of calls that this round has used.
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
    fn now(&self) -> WorldTime {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use yuba_syntax::parser::parse_expression;
    use yuba_syntax::{FileId, SourceFile};
    use yuba_value::Value;

    use crate::inputs::Inputs;
    use crate::module_scope::{EvalEnv, EvalMode, Evaluation};
    use crate::testing::{Halves, now};
    use crate::tree::tests::Memory;
    use crate::tree::{Link, Manifest, ModuleId, Purpose, link};
    use crate::world::MemoryWorld;

    /// The value of an expression, with the numbers of calls and of rounds.
    fn settled(text: &str) -> (Value, usize, u64) {
        let mut files =
            Memory::new("--- main.tf\nterraform {\n required_providers {\n p = { source = \"x/p\" }\n }\n}\n");
        let (world, inputs, manifest) = (MemoryWorld::default(), Inputs::default(), Manifest::default());
        let options = Link {
            root_dir: ".",
            world: &world,
            workspace: "default",
            original_dir: None,
            inputs: &inputs,
            manifest: &manifest,
            purpose: Purpose::Use,
        };
        let (tree, problems) = link(&mut files, &options);
        assert!(!problems.has_errors(), "{problems:?}");
        let file: FileId = files.sources.add(SourceFile::new("expression", text.as_bytes()));
        let (expr, problems) = parse_expression(file, text.as_bytes());
        assert!(!problems.has_errors(), "{problems:?}");
        let (providers, values) = (Halves::default(), BTreeMap::new());
        let env =
            EvalEnv { world: &world, workspace: "default", original_dir: None, providers: &providers, sources: None };
        let evaluation = Evaluation::new(&tree, env, EvalMode::Values(&values));
        let scope = evaluation.scope(ModuleId::ROOT);
        let (value, problems) = now(evaluation.settle(|| scope.eval(&expr)));
        assert!(!problems.has_errors(), "{problems:?}");
        let calls = providers.calls.lock().expect("because nothing panics").len();
        (value, calls, evaluation.calls.round())
    }

    #[test]
    fn there_are_as_many_rounds_as_calls_are_nested() {
        for (text, calls, rounds) in [
            ("1 + 1", 0, 0),
            ("provider::p::half(8)", 1, 1),
            ("[for n in range(200) : provider::p::half(2 * n)]", 200, 1),
            ("provider::p::half(8) + provider::p::half(8)", 1, 1),
            ("provider::p::half(provider::p::half(provider::p::half(80)))", 3, 3),
            ("[for n in range(50) : provider::p::half(1000 + 2 * provider::p::half(4 * n))]", 100, 2),
            ("[for n in range(provider::p::half(8)) : provider::p::half(100 + 2 * n)]", 5, 2),
            // Both results of a conditional are evaluated: their types are unified.
            ("false ? provider::p::half(8) : 0", 1, 1),
            ("try(provider::p::half(7), 0)", 1, 1),
        ] {
            let (_, made, took) = settled(text);
            assert_eq!((made, took), (calls, rounds), "{text}");
        }
        assert_eq!(settled("provider::p::half(8)").0.as_number().and_then(yuba_value::Number::to_i64), Some(4));
    }

    #[test]
    fn time_and_randomness_are_the_same_in_all_rounds() {
        let random = "2 * parseint(substr(uuid(), 0, 4), 16)";
        let (value, calls, rounds) = settled(&format!("provider::p::half({random})"));
        assert_eq!((value.is_wholly_known(), calls, rounds), (true, 1, 1));
        let (value, calls, rounds) = settled(&format!("[for n in range(3) : provider::p::half({random})]"));
        let numbers: Vec<String> = value.as_seq().into_iter().flatten().map(|number| format!("{number:?}")).collect();
        assert_eq!((numbers.len(), calls, rounds), (3, 3, 1));
        assert!(numbers[0] != numbers[1] && numbers[1] != numbers[2], "{numbers:?}");
    }
}
