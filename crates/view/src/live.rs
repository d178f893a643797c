//! The live display at the end of a terminal: running operations, counts, and the time that is probably left.
//!
//! [`Operations`] gets events and the time since the start of the run, and returns the lines of a frame. [`LiveBlock`] returns
//! the control sequences that replace one frame by the next. Both are pure: the caller owns the clock and the terminal.

mod past;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};
use yuba_plan::{Event, Phase};

use crate::paint::{Paint, Style};
use crate::progress;

pub use past::{Durations, Learned, Work, WorkStep};

/// Interval between reports of a long operation where the output cannot be redrawn.
const BEAT: Duration = Duration::from_secs(10);
/// A refresh is named only if it takes longer.
const SLOW: Duration = Duration::from_secs(3);
/// Minimum number of finished operations for an estimate.
const ENOUGH: usize = 3;
/// Shorter estimates are not shown.
const SOON: Duration = Duration::from_secs(2);
/// Maximum number of lines of a frame.
const MOST_LINES: usize = 16;

/// Size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

impl Size {
    /// Number of lines that a frame may have: half of the terminal, so that finished operations stay visible.
    fn frame_lines(self) -> usize {
        (self.rows / 2).clamp(1, MOST_LINES)
    }

    /// Lines that fit into a frame; the last one names the number of objects that are not listed. `what` is their plural.
    pub fn fitted(self, mut lines: Vec<String>, what: &str) -> Vec<String> {
        let room = self.frame_lines();
        if lines.len() > room {
            let hidden = lines.len() - (room - 1);
            lines.truncate(room - 1);
            lines.push(if room == 1 { format!("{hidden} {what}") } else { format!("and {hidden} further {what}") });
        }
        lines
    }
}

/// The frame at the end of the output.
#[derive(Clone, Debug, Default)]
pub struct LiveBlock {
    /// Widths of the lines on the screen.
    drawn: Vec<usize>,
}

impl LiveBlock {
    /// Control sequences that replace the frame by another one. Lines are cut so that they never wrap.
    pub fn draw(&mut self, lines: &[String], columns: usize, style: Style) -> String {
        let mut out = self.erase(columns);
        let paint = Paint::new(style);
        for line in lines {
            let line = cut(line, columns.saturating_sub(1));
            self.drawn.push(line.width());
            out.push_str(&paint.with("2", &line));
            out.push('\n');
        }
        out
    }

    /// Control sequences that remove the frame, to be written before other output; empty without a frame. In a terminal that became
    /// narrower the lines occupy more rows than before.
    pub fn erase(&mut self, columns: usize) -> String {
        let columns = columns.max(1);
        let rows: usize = self.drawn.drain(..).map(|width| width.div_ceil(columns).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r\x1b[J") }
    }
}

/// The beginning of a line that fits into some columns.
fn cut(line: &str, columns: usize) -> String {
    let mut width = 0;
    let fits = |c: &char| {
        width += c.width().unwrap_or(0);
        width <= columns
    };
    line.chars().filter(|c| !c.is_control()).take_while(fits).collect()
}

/// A timed operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Refresh,
    Phase(u8),
    Provision,
}

/// Something that began and has not ended.
struct Begun {
    event: Event,
    since: Duration,
    /// Number of reports so far that it takes long.
    reports: u32,
}

/// The operations of a run.
#[derive(Default)]
pub struct Operations {
    begun: BTreeMap<(String, Kind), Begun>,
    /// Total number of changes; none while planning.
    total: Option<usize>,
    done: usize,
    /// Total number of objects that are refreshed, if it is known.
    refresh_total: Option<usize>,
    refreshed: usize,
    /// End of the last refresh.
    refresh_end: Duration,
    /// Time of the first event.
    start: Option<Duration>,
    /// Sum of the durations of finished operations that count.
    spent: Duration,
    /// Operations that are not finished, as far as their resource types are known.
    expected: BTreeMap<Work, usize>,
    /// Durations of earlier runs.
    past: Durations,
    /// Durations of this run.
    learned: Durations,
}

/// Progress as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveStatus {
    /// The objects are refreshed; otherwise changes are made.
    pub is_refresh: bool,
    /// Number of finished operations.
    pub done: usize,
    /// Number of all of them, if it is known.
    pub total: Option<usize>,
    /// Seconds that are probably left.
    pub rest: Option<u64>,
}

impl Operations {
    /// With the durations of earlier runs.
    pub fn new(past: Durations) -> Operations {
        Operations { past, ..Operations::default() }
    }

    /// The objects that are refreshed.
    pub fn expect_refresh(&mut self, expected: BTreeMap<Work, usize>) {
        self.refresh_total = Some(expected.values().sum());
        self.expected = expected;
    }

    /// Changes are made from now on: so many operations, of which some are on objects of known types.
    pub fn expect_changes(&mut self, total: usize, expected: BTreeMap<Work, usize>) {
        let (past, learned) = (std::mem::take(&mut self.past), std::mem::take(&mut self.learned));
        *self = Operations { total: Some(total), expected, past, learned, ..Operations::default() };
    }

    /// The durations of this run.
    pub fn learned(&self) -> &Durations {
        &self.learned
    }

    /// Progress as numbers; none before the first operation.
    pub fn status(&self, now: Duration) -> Option<LiveStatus> {
        self.start?;
        let is_refresh = self.total.is_none() && (self.refreshed > 0 || self.is_refreshing());
        let (done, total) = if is_refresh { (self.refreshed, self.refresh_total) } else { (self.done, self.total) };
        Some(LiveStatus { is_refresh, done, total, rest: self.rest(now).map(|rest| rest.as_secs()) })
    }

    /// Records an event. Returns the duration in seconds of the operation that it ends.
    pub fn event(&mut self, event: &Event, now: Duration) -> u64 {
        let (addr, kind, begins) = match event {
            Event::Started { addr, phase, .. } => (addr, kind_of(*phase), true),
            Event::Finished { addr, phase, .. } => (addr, kind_of(*phase), false),
            Event::ProvisionStarted { addr, .. } => (addr, Kind::Provision, true),
            Event::ProvisionFinished { addr, .. } => (addr, Kind::Provision, false),
            _ => return 0,
        };
        let key = (addr.to_string(), kind);
        if begins {
            self.start.get_or_insert(now);
            self.begun.insert(key, Begun { event: event.clone(), since: now, reports: 0 });
            return 0;
        }
        let took = self.begun.remove(&key).map_or(Duration::ZERO, |begun| now.saturating_sub(begun.since));
        if let Event::Finished { phase, ok, .. } = event {
            self.finish(addr.resource.kind.clone(), *phase, (*ok).then_some(took));
            match phase {
                Phase::Refresh if self.total.is_none() => {
                    self.refreshed += 1;
                    self.refresh_end = now;
                    self.spent += took;
                }
                Phase::Apply(_) => {
                    self.done += 1;
                    self.spent += took;
                }
                Phase::Read => self.done += 1,
                _ => {}
            }
        }
        took.as_secs()
    }

    /// An operation on an object of a type has ended. Operations that fail say nothing about the duration.
    fn finish(&mut self, kind: ecow::EcoString, phase: Phase, took: Option<Duration>) {
        let Some(step) = WorkStep::of(phase) else { return };
        let work = Work { kind, step };
        if let Some(left) = self.expected.get_mut(&work) {
            *left = left.saturating_sub(1);
        }
        if let Some(took) = took {
            self.learned.add(work, took);
        }
    }

    /// Removes all operations in progress.
    pub fn settle(&mut self) {
        self.begun.clear();
    }

    /// Number of refreshed objects since the last call of this function, and the seconds until the last of them.
    pub fn take_refreshed(&mut self) -> Option<(usize, u64)> {
        let count = std::mem::take(&mut self.refreshed);
        self.refresh_total = None;
        let start = self.start.unwrap_or(self.refresh_end);
        (count > 0).then(|| (count, self.refresh_end.saturating_sub(start).as_secs()))
    }

    /// Whether an object is being refreshed.
    fn is_refreshing(&self) -> bool {
        self.begun.keys().any(|(_, kind)| *kind == Kind::Refresh)
    }

    /// Operations that have taken ten seconds more since they were reported last, with their duration in seconds; the oldest first.
    pub fn slow(&mut self, now: Duration) -> Vec<(&Event, u64)> {
        let mut found = Vec::new();
        let mut all: Vec<&mut Begun> = self.begun.values_mut().collect();
        all.sort_by_key(|begun| begun.since);
        for begun in all {
            let elapsed = now.saturating_sub(begun.since);
            if elapsed >= BEAT * (begun.reports + 1) {
                begun.reports += 1;
                found.push((&begun.event, elapsed.as_secs()));
            }
        }
        found
    }

    /// The lines of a frame. Empty if no operation is in progress.
    pub fn frame(&self, size: Size, now: Duration) -> Vec<String> {
        let shown = self.shown(now);
        let running = self.running();
        if running == 0 {
            return Vec::new();
        }
        let room = size.frame_lines();
        let mut lines = Vec::new();
        // The last line has the counts; the one before may say how many operations are not shown.
        let fitting = room.saturating_sub(1);
        let listed = if shown.len() > fitting { fitting.saturating_sub(1) } else { shown.len() };
        for begun in shown.iter().take(listed) {
            let seconds = now.saturating_sub(begun.since).as_secs();
            lines.extend(progress::under_way(&begun.event, seconds));
        }
        if shown.len() > listed && fitting > 0 {
            let hidden = shown.len() - listed;
            lines.push(match (listed, hidden) {
                (0, hidden) => progress::operations(hidden),
                (_, hidden) => format!("and {}", progress::further_operations(hidden)),
            });
        }
        lines.push(self.counter(running, now));
        lines
    }

    /// The operations that get a line of their own, the oldest first. An object that is provisioned is shown once. Refreshes are counted
    /// and named only if they take long.
    fn shown(&self, now: Duration) -> Vec<&Begun> {
        let provisioned = self.provisioned();
        let is_named = |((addr, kind), begun): &(&(String, Kind), &Begun)| match kind {
            Kind::Refresh => now.saturating_sub(begun.since) >= SLOW,
            Kind::Phase(_) => !provisioned.contains(addr.as_str()),
            Kind::Provision => true,
        };
        let mut shown: Vec<&Begun> = self
            .begun
            .iter()
            .filter(is_named)
            .map(|(_, begun)| begun)
            .filter(|begun| progress::under_way(&begun.event, 0).is_some())
            .collect();
        shown.sort_by_key(|begun| begun.since);
        shown
    }

    fn provisioned(&self) -> HashSet<&str> {
        self.begun.keys().filter(|(_, kind)| *kind == Kind::Provision).map(|(addr, _)| addr.as_str()).collect()
    }

    fn running(&self) -> usize {
        let provisioned = self.provisioned();
        let counts = |(addr, kind): &&(String, Kind)| *kind == Kind::Provision || !provisioned.contains(addr.as_str());
        let is_shown = |key: &&(String, Kind)| progress::under_way(&self.begun[*key].event, 0).is_some();
        self.begun.keys().filter(counts).filter(is_shown).count()
    }

    fn counter(&self, running: usize, now: Duration) -> String {
        let elapsed = now.saturating_sub(self.start.unwrap_or(now)).as_secs();
        let rest = self.rest(now).map(|rest| rest.as_secs());
        if self.total.is_none() && (self.refreshed > 0 || self.is_refreshing()) {
            return progress::refresh_counter(self.refreshed, self.refresh_total, running, (elapsed, rest));
        }
        progress::counter(self.done, self.total, running, (elapsed, rest))
    }

    /// The time that is left if the remaining operations take as long as those of their resource type did, in this run or before, or
    /// else as those that finished, and as many run at the same time.
    fn rest(&self, now: Duration) -> Option<Duration> {
        let (finished, total) = match self.total {
            Some(total) => (self.done, total),
            None => (self.refreshed, self.refresh_total?),
        };
        if finished >= total {
            return None;
        }
        let of_all = u32::try_from(finished).ok().filter(|_| finished >= ENOUGH).map(|count| self.spent / count);
        let mean = |work: &Work| self.learned.mean_of(work, ENOUGH).or_else(|| self.past.mean(work)).or(of_all);
        let mut work = Duration::ZERO;
        for (one, left) in self.expected.iter().filter(|(_, left)| **left > 0) {
            work += mean(one)? * u32::try_from(*left).ok()?;
        }
        let mut running = 0;
        for begun in self.begun.values() {
            let Event::Started { addr, phase, .. } = &begun.event else { continue };
            running += 1;
            if let Some(step) = WorkStep::of(*phase) {
                let usual = mean(&Work { kind: addr.resource.kind.clone(), step })?;
                work = work.saturating_sub(now.saturating_sub(begun.since).min(usual));
            }
        }
        let rest = work / running.max(1);
        (rest >= SOON).then_some(rest)
    }
}

/// Operations of one kind on one object do not overlap.
fn kind_of(phase: Phase) -> Kind {
    match phase {
        Phase::Refresh => Kind::Refresh,
        Phase::Read => Kind::Phase(0),
        Phase::PrepareImport => Kind::Phase(1),
        Phase::Import => Kind::Phase(2),
        Phase::Open => Kind::Phase(3),
        Phase::Renew => Kind::Phase(4),
        Phase::Close => Kind::Phase(5),
        Phase::Apply(action) => Kind::Phase(6 + action as u8),
    }
}

#[cfg(test)]
mod tests {
    use yuba_plan::Action;

    use super::*;
    use crate::testing::addr;

    const WIDE: Size = Size { columns: 80, rows: 24 };

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn started(text: &str, phase: Phase) -> Event {
        Event::Started { addr: addr(text), deposed: None, phase, id: None }
    }

    fn finished(text: &str, phase: Phase) -> Event {
        Event::Finished { addr: addr(text), deposed: None, phase, id: None, ok: true }
    }

    fn expected(kind: &str, step: WorkStep, count: usize) -> BTreeMap<Work, usize> {
        BTreeMap::from([(Work { kind: kind.into(), step }, count)])
    }

    const CREATE: Phase = Phase::Apply(Action::Create);

    fn check(operations: &Operations, size: Size, seconds: u64, expected: &[&str]) {
        assert_eq!(operations.frame(size, at(seconds)), expected);
    }

    #[test]
    fn changes_are_listed_counted_and_estimated() {
        let mut all = Operations::default();
        all.expect_changes(12, expected("a", WorkStep::Create, 12));
        check(&all, WIDE, 0, &[]);
        all.event(&started("a.a", CREATE), at(1));
        all.event(&Event::ProvisionStarted { addr: addr("a.a"), provisioner: "local-exec".into() }, at(2));
        let shown = "a.a: Provisioning with 'local-exec'... [3s]";
        check(&all, WIDE, 5, &[shown, "0 of 12 done, 1 running [4s elapsed]"]);
        for name in ["a.b", "a.c", "a.d"] {
            all.event(&started(name, CREATE), at(5));
            assert_eq!(all.event(&finished(name, CREATE), at(11)), 6);
        }
        all.event(&started("a.e", CREATE), at(11));
        // Nine operations of six seconds are left, two of which began: one has taken longer than the mean, one began a second before.
        let counter = "3 of 12 done, 2 running [11s elapsed, about 23s left]";
        check(&all, WIDE, 12, &["a.a: Provisioning with 'local-exec'... [10s]", "a.e: Creating... [1s]", counter]);
    }

    #[test]
    fn earlier_runs_give_an_estimate_before_the_first_operation_ends() {
        let mut all = Operations::new(Durations::parse("a create 3 60000\nb create 1 10000\n"));
        let mut work = expected("a", WorkStep::Create, 2);
        work.extend(expected("b", WorkStep::Create, 3));
        all.expect_changes(5, work);
        all.event(&started("a.a", CREATE), at(0));
        all.event(&started("b.b", CREATE), at(0));
        // Two minutes and half a minute of work, ten seconds of which each of two operations has done.
        let status = all.status(at(10)).expect("it has begun");
        assert_eq!(status, LiveStatus { is_refresh: false, done: 0, total: Some(5), rest: Some(65) });
        let counter = "0 of 5 done, 2 running [10s elapsed, about 1m5s left]";
        check(&all, WIDE, 10, &["a.a: Creating... [10s]", "b.b: Creating... [10s]", counter]);
        // An operation that fails says nothing about the next ones.
        all.event(&Event::Finished { addr: addr("b.b"), deposed: None, phase: CREATE, id: None, ok: false }, at(10));
        assert_eq!(all.learned(), &Durations::default());
        // Without a past for one of the types there is no estimate.
        let mut all = Operations::new(Durations::parse("a create 3 60000\n"));
        let mut work = expected("a", WorkStep::Create, 2);
        work.extend(expected("c", WorkStep::Create, 1));
        all.expect_changes(3, work);
        all.event(&started("a.a", CREATE), at(0));
        assert_eq!(all.status(at(1)).expect("it has begun").rest, None);
    }

    #[test]
    fn refreshes_are_one_counter_and_slow_ones_are_named() {
        let mut all = Operations::default();
        all.expect_refresh(expected("a", WorkStep::Refresh, 40));
        for number in 0..10 {
            all.event(&started(&format!("a.a[{number}]"), Phase::Refresh), at(0));
        }
        check(&all, WIDE, 1, &["Refreshing state: 0 of 40 objects, 10 running [1s elapsed]"]);
        for number in 0..9 {
            all.event(&finished(&format!("a.a[{number}]"), Phase::Refresh), at(2));
        }
        let slow = "a.a[9]: Refreshing state... [4s]";
        check(&all, WIDE, 4, &[slow, "Refreshing state: 9 of 40 objects, 1 running [4s elapsed, about 1m0s left]"]);
        all.event(&finished("a.a[9]", Phase::Refresh), at(5));
        check(&all, WIDE, 5, &[]);
        assert_eq!(all.take_refreshed(), Some((10, 5)));
        assert_eq!(all.take_refreshed(), None);
    }

    #[test]
    fn a_frame_fits_into_the_terminal() {
        let mut all = Operations::default();
        all.expect_changes(30, expected("a", WorkStep::Create, 30));
        for number in 0..30 {
            all.event(&started(&format!("a.a[{number}]"), CREATE), at(number));
        }
        let small = Size { columns: 80, rows: 8 };
        let last = "0 of 30 done, 30 running [30s elapsed]";
        check(
            &all,
            small,
            30,
            &["a.a[0]: Creating... [30s]", "a.a[1]: Creating... [29s]", "and 28 further operations", last],
        );
        check(&all, Size { rows: 4, ..small }, 30, &["30 operations", last]);
        check(&all, Size { rows: 1, ..small }, 30, &[last]);
        assert_eq!(all.frame(Size { rows: 200, ..small }, at(30)).len(), MOST_LINES);
    }

    #[test]
    fn a_frame_replaces_the_one_before_even_if_the_terminal_became_narrower() {
        let mut block = LiveBlock::default();
        assert_eq!(block.erase(80), "");
        let lines = ["0123456789".to_owned(), "\u{4e16}\u{754c}x\u{7}y".to_owned()];
        assert_eq!(block.draw(&lines, 80, Style::Plain), "0123456789\n\u{4e16}\u{754c}xy\n");
        assert_eq!(block.draw(&lines[..1], 80, Style::Coloured), "\x1b[2A\r\x1b[J\x1b[2m0123456789\x1b[0m\n");
        assert_eq!(block.draw(&lines, 4, Style::Plain), "\x1b[3A\r\x1b[J012\n\u{4e16}\n", "the line took three rows");
        assert_eq!(block.erase(80), "\x1b[2A\r\x1b[J");
        assert_eq!(block.erase(80), "", "it is gone");
    }

    #[test]
    fn long_operations_are_reported_every_ten_seconds() {
        let mut all = Operations::default();
        all.event(&started("a.a", CREATE), at(0));
        assert!(all.slow(at(9)).is_empty());
        assert_eq!(all.slow(at(25)).first().map(|(_, seconds)| *seconds), Some(25));
        assert_eq!(all.slow(at(25)).len(), 1);
        assert!(all.slow(at(26)).is_empty());
        all.settle();
        assert!(all.slow(at(60)).is_empty());
    }
}
