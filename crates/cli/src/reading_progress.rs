//! The live display of commands that plan and write data: objects that are read, on standard error.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use yuba_plan::Event;
use yuba_session::clock::Tick;
use yuba_session::{Progress, Project};
use yuba_view::live::{Durations, Operations, Work};

use crate::durations;
use crate::exit::Audience;
use crate::signals::{FIRST, SECOND, Stop};
use crate::terminal::Terminal;

/// Interval between frames.
const BEAT: Duration = Duration::from_millis(100);

/// Runs a part of an operation. People see which objects are read, and that a request to stop was received.
pub(crate) fn follow<T>(
    terminal: &mut Terminal,
    (project, audience): (&Project, Audience),
    stop: &Stop,
    expected: BTreeMap<Work, usize>,
    work: impl FnOnce(Progress<'_>) -> T,
) -> T {
    terminal.show_live_aside();
    let draws = audience == Audience::People && terminal.redraws();
    let mut operations = Operations::new(if draws { durations::load(project) } else { Durations::default() });
    operations.expect_refresh(expected);
    let (start, operations, interrupts) = (Instant::now(), RefCell::new(operations), Cell::new(0_u8));
    let terminal = RefCell::new(terminal);
    let events = |event: Event| {
        operations.borrow_mut().event(&event, start.elapsed());
    };
    let tick = || {
        let asked = stop.interrupt().count().min(2);
        let reported = interrupts.replace(asked);
        for text in [FIRST, SECOND].iter().take(usize::from(asked)).skip(usize::from(reported)) {
            if audience == Audience::People {
                terminal.borrow_mut().err(&format!("{text}\n"));
            }
        }
        if draws {
            let mut terminal = terminal.borrow_mut();
            let frame = operations.borrow().frame(terminal.size(), start.elapsed());
            terminal.show_live(&frame);
        }
    };
    let tick = Some(Tick { every: BEAT, run: &tick });
    let result = work(Progress { events: &events, interrupt: stop.interrupt(), tick });
    terminal.borrow_mut().show_live(&[]);
    durations::save(project, operations.borrow().learned());
    result
}
