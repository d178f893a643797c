//! Durations of operations by resource type, so that the rest of a run can be estimated before its own operations have finished.
//!
//! The form is lines of four words: resource type, step, number of operations, mean in milliseconds. It has neither addresses nor values.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use ecow::EcoString;
use yuba_plan::{Action, Phase};

/// Maximum number of entries.
const MAX_ENTRIES: usize = 1000;
/// Earlier operations count as this many at most: means follow changes of a provider.
const MEMORY: u32 = 20;
/// Operations that take less time are recorded only if longer ones were recorded before.
const SHORT: Duration = Duration::from_secs(1);

/// A step of an operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkStep {
    /// It is read from its provider before planning.
    Refresh,
    /// A data resource is read.
    Read,
    /// It is created.
    Create,
    /// It is updated.
    Update,
    /// It is destroyed.
    Delete,
}

impl WorkStep {
    const WORDS: [(&'static str, WorkStep); 5] = [
        ("refresh", WorkStep::Refresh),
        ("read", WorkStep::Read),
        ("create", WorkStep::Create),
        ("update", WorkStep::Update),
        ("delete", WorkStep::Delete),
    ];

    /// The step that a phase is.
    pub fn of(phase: Phase) -> Option<WorkStep> {
        Some(match phase {
            Phase::Refresh => WorkStep::Refresh,
            Phase::Read | Phase::Apply(Action::Read) => WorkStep::Read,
            Phase::Apply(Action::Create) => WorkStep::Create,
            Phase::Apply(Action::Update) => WorkStep::Update,
            Phase::Apply(Action::Delete) => WorkStep::Delete,
            _ => return None,
        })
    }

    fn word(self) -> &'static str {
        WorkStep::WORDS.iter().find(|(_, step)| *step == self).map_or("", |(word, _)| word)
    }
}

/// A step on an object of a resource type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    /// The resource type.
    pub kind: EcoString,
    /// The step.
    pub step: WorkStep,
}

/// Number of operations, and their mean duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mean {
    count: u32,
    mean: Duration,
}

/// Durations of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    means: BTreeMap<Work, Mean>,
}

impl Durations {
    /// Reads the durations of a file. Lines that are not understood have no effect.
    pub fn parse(text: &str) -> Durations {
        let entry = |line: &str| {
            let mut words = line.split(' ');
            let kind = EcoString::from(words.next()?);
            let word = words.next()?;
            let step = WorkStep::WORDS.iter().find(|(name, _)| *name == word)?.1;
            let (count, millis) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            words.next().is_none().then_some((Work { kind, step }, Mean { count, mean: Duration::from_millis(millis) }))
        };
        Durations { means: text.lines().filter_map(entry).take(MAX_ENTRIES).collect() }
    }

    /// The content of a file.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (work, mean) in self.means.iter().take(MAX_ENTRIES) {
            let _ = writeln!(out, "{} {} {} {}", work.kind, work.step.word(), mean.count, mean.mean.as_millis());
        }
        out
    }

    /// The mean duration, if it is known.
    pub fn mean(&self, work: &Work) -> Option<Duration> {
        self.means.get(work).map(|mean| mean.mean)
    }

    /// The mean duration of at least so many operations.
    pub(super) fn mean_of(&self, work: &Work, least: usize) -> Option<Duration> {
        self.means.get(work).filter(|mean| mean.count as usize >= least).map(|mean| mean.mean)
    }

    /// Adds a finished operation.
    pub(super) fn add(&mut self, work: Work, took: Duration) {
        let known = self.means.entry(work).or_insert(Mean { count: 0, mean: Duration::ZERO });
        known.mean = (known.mean * known.count + took) / (known.count + 1);
        known.count += 1;
    }

    /// Adds the operations of a run. Returns whether anything is worth recording.
    #[must_use]
    pub fn learn(&mut self, run: &Durations) -> Learned {
        let mut learned = Learned::Nothing;
        for (work, new) in &run.means {
            let known = self.means.get(work).copied();
            if known.is_none() && (new.mean < SHORT || self.means.len() >= MAX_ENTRIES) {
                continue;
            }
            let old = known.map_or(0, |known| known.count.min(MEMORY));
            let sum = known.map_or(Duration::ZERO, |known| known.mean * old) + new.mean * new.count;
            let mean = Mean { count: old.saturating_add(new.count), mean: sum / old.saturating_add(new.count).max(1) };
            self.means.insert(work.clone(), mean);
            learned = Learned::Something;
        }
        learned
    }
}

/// Whether a run has changed what is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// It has not.
    Nothing,
    /// It has.
    Something,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(kind: &str, step: WorkStep) -> Work {
        Work { kind: kind.into(), step }
    }

    #[test]
    fn durations_survive_a_file_and_short_ones_are_not_recorded() {
        let mut run = Durations::default();
        for seconds in [4, 8] {
            run.add(work("a_db", WorkStep::Create), Duration::from_secs(seconds));
        }
        run.add(work("a_tag", WorkStep::Refresh), Duration::from_millis(20));
        let mut past = Durations::default();
        assert_eq!(past.learn(&run), Learned::Something);
        assert_eq!(past.text(), "a_db create 2 6000\n");
        let mut past = Durations::parse(&past.text());
        assert_eq!(past.mean(&work("a_db", WorkStep::Create)), Some(Duration::from_secs(6)));
        let mut faster = Durations::default();
        faster.add(work("a_db", WorkStep::Create), Duration::ZERO);
        assert_eq!(past.learn(&faster), Learned::Something);
        assert_eq!(past.text(), "a_db create 3 4000\n");
        assert_eq!(past.learn(&Durations::default()), Learned::Nothing);
    }

    #[test]
    fn a_damaged_file_is_ignored_where_it_is_damaged() {
        let past = Durations::parse("a create 1\nb eat 1 2\nc read 1 2 3\n\u{0}\nd delete 2 500\n");
        assert_eq!(past.text(), "d delete 2 500\n");
    }
}
