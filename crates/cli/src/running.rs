//! What is under way: a block at the end of the output that is drawn again and again on a terminal, and a line every ten
//! seconds elsewhere.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use yuba_plan::{Event, Phase};
use yuba_view::diagnostic::Style;
use yuba_view::{machine, progress};

/// How often something that takes long is reported where nothing can be drawn again.
const BEAT: Duration = Duration::from_secs(10);
/// How many things are shown at the same time.
const SHOWN: usize = 8;

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Phase(Phase),
    Provision,
}

/// Something that began and has not ended.
struct Begun {
    event: Event,
    since: Instant,
    /// Number of reports so far that it takes long.
    reports: u32,
}

/// Everything that is under way.
#[derive(Default)]
pub(crate) struct Running {
    begun: HashMap<(String, Kind), Begun>,
    /// How many changes are made in all; none while planning.
    total: Option<usize>,
    done: usize,
    start: Option<Instant>,
    /// How many lines of a block are on the screen.
    drawn: usize,
}

impl Running {
    /// From here on changes are made, so many.
    pub(crate) fn expect(&mut self, total: usize) {
        *self = Running { total: Some(total), ..Running::default() };
    }

    /// Something happens. How long something took that is over now, in seconds.
    pub(crate) fn event(&mut self, event: &Event) -> u64 {
        let (key, begins) = match event {
            Event::Started { addr, phase, .. } => ((addr.to_string(), Kind::Phase(*phase)), true),
            Event::Finished { addr, phase, .. } => ((addr.to_string(), Kind::Phase(*phase)), false),
            Event::ProvisionStarted { addr, .. } => ((addr.to_string(), Kind::Provision), true),
            Event::ProvisionFinished { addr, .. } => ((addr.to_string(), Kind::Provision), false),
            _ => return 0,
        };
        if begins {
            let since = Instant::now();
            self.start.get_or_insert(since);
            self.begun.insert(key, Begun { event: event.clone(), since, reports: 0 });
            return 0;
        }
        let counts = match key.1 {
            Kind::Phase(Phase::Apply(_) | Phase::Read) => true,
            Kind::Phase(Phase::Refresh) => self.total.is_none(),
            Kind::Phase(_) | Kind::Provision => false,
        };
        self.done += usize::from(counts);
        self.begun.remove(&key).map_or(0, |begun| begun.since.elapsed().as_secs())
    }

    /// Nothing is under way any more.
    pub(crate) fn settle(&mut self) {
        self.begun.clear();
    }

    fn oldest_first(&mut self) -> Vec<&mut Begun> {
        let mut all: Vec<&mut Begun> = self.begun.values_mut().collect();
        all.sort_by_key(|begun| begun.since);
        all
    }

    /// Lines about what has taken ten seconds more since it was reported last: for people, and for programs.
    pub(crate) fn beat(&mut self, style: Style, timestamp: impl Fn() -> String) -> (String, String) {
        let (mut people, mut programs) = (String::new(), String::new());
        for begun in self.oldest_first() {
            let elapsed = begun.since.elapsed();
            if elapsed < BEAT * (begun.reports + 1) {
                continue;
            }
            begun.reports += 1;
            let seconds = elapsed.as_secs();
            if let Some(line) = progress::still(&begun.event, seconds, style) {
                let _ = writeln!(people, "{line}");
            }
            if let Event::Started { addr, phase, .. } = &begun.event {
                programs += &machine::progress(addr, *phase, seconds, &timestamp());
            }
        }
        (people, programs)
    }

    /// What takes the block away, to be written before anything else.
    pub(crate) fn erase(&mut self) -> Option<String> {
        match std::mem::take(&mut self.drawn) {
            0 => None,
            lines => Some(format!("\x1b[{lines}A\r\x1b[J")),
        }
    }

    /// The block as it is now, with what takes the last one away.
    pub(crate) fn draw(&mut self, style: Style, width: usize) -> String {
        let mut out = self.erase().unwrap_or_default();
        if self.begun.is_empty() {
            return out;
        }
        let (total, done) = (self.total, self.done);
        let elapsed = self.start.map_or(0, |start| start.elapsed().as_secs());
        // An object that is provisioned is shown once.
        let provisioned: HashSet<String> =
            self.begun.keys().filter(|key| key.1 == Kind::Provision).map(|key| key.0.clone()).collect();
        let is_hidden = |event: &Event| match event {
            Event::Started { addr, .. } => !provisioned.is_empty() && provisioned.contains(&addr.to_string()),
            _ => false,
        };
        let count = self.begun.values().filter(|begun| !is_hidden(&begun.event)).count();
        let mut lines = Vec::new();
        for begun in self.oldest_first() {
            if is_hidden(&begun.event) {
                continue;
            }
            if lines.len() == SHOWN {
                break;
            }
            lines.extend(progress::under_way(&begun.event, begun.since.elapsed().as_secs()));
        }
        if lines.is_empty() {
            return out;
        }
        if count > lines.len() {
            lines.push(format!("and {} more operations", count - lines.len()));
        }
        lines.push(progress::counter(done, total, count, elapsed));
        self.drawn = lines.len();
        for line in lines {
            let cut: String = line.chars().take(width.saturating_sub(1)).collect();
            match style {
                Style::Coloured => {
                    let _ = writeln!(out, "\x1b[2m{cut}\x1b[0m");
                }
                Style::Plain => {
                    let _ = writeln!(out, "{cut}");
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use yuba_addrs::AbsResourceInstance;
    use yuba_plan::Action;
    use yuba_syntax::FileId;

    use super::*;

    fn addr(text: &str) -> AbsResourceInstance {
        AbsResourceInstance::parse_text(FileId(0), text).expect("because it is well-formed")
    }

    fn started(text: &str) -> Event {
        let phase = Phase::Apply(Action::Create);
        Event::Started { addr: addr(text), deposed: None, phase, id: None }
    }

    #[test]
    fn the_block_takes_its_own_lines_away_and_shows_an_object_once() {
        let mut running = Running::default();
        running.expect(12);
        assert_eq!(running.draw(Style::Plain, 80), "", "nothing is under way");
        running.event(&started("a.a"));
        running.event(&Event::ProvisionStarted { addr: addr("a.a"), provisioner: "local-exec".into() });
        let first = "a.a: Provisioning with 'local-exec'... [0s]\n0 of 12 done, 1 running [0s elapsed]\n";
        assert_eq!(running.draw(Style::Plain, 80), first);
        assert_eq!(running.draw(Style::Plain, 12), "\x1b[2A\r\x1b[Ja.a: Provis\n0 of 12 don\n", "lines never wrap");
        for number in 0..10 {
            running.event(&started(&format!("a.b[{number}]")));
        }
        let lines = running.draw(Style::Plain, 80);
        assert!(lines.ends_with("and 3 more operations\n0 of 12 done, 11 running [0s elapsed]\n"), "{lines}");
        assert_eq!(running.erase().as_deref(), Some("\x1b[10A\r\x1b[J"));
        assert_eq!(running.erase(), None, "it is gone");
    }

    #[test]
    fn what_takes_long_is_told_every_ten_seconds() {
        let mut running = Running::default();
        running.event(&started("a.a"));
        assert_eq!(running.beat(Style::Plain, String::new).0, "");
        let back = Instant::now().checked_sub(Duration::from_secs(25)).expect("because the machine runs for longer");
        running.begun.values_mut().for_each(|begun| begun.since = back);
        let (people, programs) = running.beat(Style::Plain, String::new);
        assert_eq!(people, "a.a: Still creating... [25s elapsed]\n");
        assert!(programs.contains("\"type\":\"apply_progress\""), "{programs}");
    }
}
