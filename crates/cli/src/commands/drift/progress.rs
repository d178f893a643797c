//! The number of objects that were read, on one line of a terminal.

use std::cell::Cell;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use yuba_plan::{Event, Phase};
use yuba_session::Progress;
use yuba_session::clock::Tick;

use crate::exit::Audience;
use crate::signals::{FIRST, SECOND, Stop};

/// Interval between updates of the line.
const BEAT: Duration = Duration::from_millis(100);

/// Counts objects that were read.
pub(super) struct Counter {
    total: usize,
    done: Cell<usize>,
    /// The last number on the terminal; none where standard error is not a terminal.
    shown: Option<Cell<usize>>,
    /// Number of reported interrupts.
    interrupts: Cell<u8>,
}

impl Counter {
    /// For so many objects. Programs get no progress.
    pub(super) fn new(total: usize, audience: Audience) -> Counter {
        let is_shown = audience == Audience::People && std::io::stderr().is_terminal();
        Counter { total, done: Cell::new(0), shown: is_shown.then(|| Cell::new(usize::MAX)), interrupts: Cell::new(0) }
    }

    /// Runs a part of an operation, and shows the count meanwhile.
    pub(super) fn follow<T>(&self, stop: &Stop, work: impl FnOnce(Progress<'_>) -> T) -> T {
        let events = |event: Event| {
            if let Event::Finished { phase: Phase::Refresh, .. } = event {
                self.done.set(self.done.get() + 1);
            }
        };
        let tick = || {
            let asked = stop.interrupt().count().min(2);
            for text in
                [FIRST, SECOND].iter().take(usize::from(asked)).skip(usize::from(self.interrupts.replace(asked)))
            {
                self.write(&format!("\r\x1b[K{text}\n"));
            }
            self.draw();
        };
        let result = work(Progress {
            events: &events,
            interrupt: stop.interrupt(),
            tick: Some(Tick { every: BEAT, run: &tick }),
        });
        self.write("\r\x1b[K");
        result
    }

    fn draw(&self) {
        let done = self.done.get();
        if self.shown.as_ref().is_some_and(|shown| shown.replace(done) != done) {
            self.write(&format!("\r\x1b[KRefreshed {done} of {} objects", self.total));
        }
    }

    /// Writes to the terminal, if there is one. A failure does not stop the command.
    fn write(&self, text: &str) {
        if self.shown.is_some() {
            let mut stderr = std::io::stderr().lock();
            let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
        }
    }
}
