//! The live display at the end of the terminal. A thread can redraw it while the command waits for something that reports nothing.

use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use yuba_view::diagnostic::Style;
use yuba_view::live::{LiveBlock, Size};

/// Interval between frames of a thread.
const PACE: Duration = Duration::from_millis(100);
/// Interval between lines about work that a frame could disturb.
const REMINDER: Duration = Duration::from_secs(10);
/// Age at which work gets a frame. Shorter work is not shown.
const DELAY: Duration = Duration::from_millis(300);

/// The stream with the live display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveStream {
    /// Standard output, which has the messages of the command.
    Stdout,
    /// Standard error, where standard output is for data.
    Stderr,
}

impl LiveStream {
    /// The size of the terminal now.
    pub(super) fn size(self) -> Size {
        super::size(match self {
            LiveStream::Stdout => terminal_size::terminal_size_of(std::io::stdout()),
            LiveStream::Stderr => terminal_size::terminal_size_of(std::io::stderr()),
        })
    }

    /// Writes control sequences. A display that cannot be written does not stop the command.
    fn write(self, text: &str) {
        let _ = match self {
            LiveStream::Stdout => {
                let mut stdout = std::io::stdout().lock();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            }
            LiveStream::Stderr => std::io::stderr().write_all(text.as_bytes()),
        };
    }
}

/// The frame on the terminal.
#[derive(Clone, Default)]
pub(super) struct LiveDisplay {
    shown: Arc<Mutex<Shown>>,
}

#[derive(Default)]
struct Shown {
    block: LiveBlock,
    /// Incremented with each frame and text of the command: a thread with a lower number draws nothing.
    turn: u64,
}

impl Shown {
    /// The message of an interrupt stands below the frame, which stays where it is.
    fn leave_to_interrupt(&mut self) {
        if crate::signals::take_written() {
            self.block = LiveBlock::default();
        }
    }
}

impl LiveDisplay {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the frame.
    pub(super) fn replace(&self, lines: &[String], stream: LiveStream, style: Style) {
        let mut shown = self.shown();
        shown.leave_to_interrupt();
        shown.turn += 1;
        let drawn = shown.block.draw(lines, stream.size().columns, style);
        if !drawn.is_empty() {
            stream.write(&drawn);
        }
    }

    /// Removes the frame, and ends the thread that draws it. Returns whether there was one.
    pub(super) fn clear(&self, stream: LiveStream) -> bool {
        let mut shown = self.shown();
        shown.leave_to_interrupt();
        shown.turn += 1;
        let erase = shown.block.erase(stream.size().columns);
        if !erase.is_empty() {
            stream.write(&erase);
        }
        !erase.is_empty()
    }

    /// Writes a line every ten seconds until something else is written. Unlike frames, lines do not remove what another process
    /// writes to the terminal, such as the prompt of ssh for a passphrase.
    pub(super) fn remind(&self, stream: LiveStream, line: impl Fn(Duration) -> String + Send + 'static) {
        let mut shown = self.shown();
        shown.turn += 1;
        let turn = shown.turn;
        drop(shown);
        let (display, since) = (self.clone(), Instant::now());
        let _ = std::thread::Builder::new().name("display".to_owned()).spawn(move || {
            let mut next = REMINDER;
            loop {
                std::thread::sleep(PACE);
                let shown = display.shown();
                if shown.turn != turn {
                    return;
                }
                if since.elapsed() >= next {
                    next += REMINDER;
                    stream.write(&format!("{}\n", line(since.elapsed())));
                }
            }
        });
    }

    /// Draws frames from a thread until something else is written. The lines get the time since now.
    pub(super) fn watch(
        &self,
        stream: LiveStream,
        style: Style,
        lines: impl Fn(Duration, Size) -> Vec<String> + Send + 'static,
    ) {
        let mut shown = self.shown();
        shown.turn += 1;
        let turn = shown.turn;
        drop(shown);
        let (display, since) = (self.clone(), Instant::now());
        // Without a thread there is no display.
        let _ = std::thread::Builder::new().name("display".to_owned()).spawn(move || {
            std::thread::sleep(DELAY);
            loop {
                let mut shown = display.shown();
                if shown.turn != turn {
                    return;
                }
                shown.leave_to_interrupt();
                let size = stream.size();
                let drawn = shown.block.draw(&lines(since.elapsed(), size), size.columns, style);
                stream.write(&drawn);
                drop(shown);
                std::thread::sleep(PACE);
            }
        });
    }
}
