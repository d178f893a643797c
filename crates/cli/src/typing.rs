//! Lines that people type at a terminal.

use std::io::{self, BufRead as _};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Standard input does not show what is typed until this is dropped. Without a terminal nothing happens.
pub(crate) struct Unseen {
    active: bool,
}

impl Unseen {
    /// Begin before the prompt is shown: what is typed early is not shown either.
    pub(crate) fn begin() -> Unseen {
        Unseen { active: terminal::hide() }
    }

    /// Whether a terminal hides what is typed: the end of the line is not shown either.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        if self.active {
            terminal::show();
        }
    }
}

/// A line of standard input without its end; none at the end of the input.
pub(crate) fn line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line)?;
    Ok((read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// A line of standard input for a prompt that Ctrl-C ends without ending the process. The error is `EOF` or `interrupted`.
pub(crate) fn interruptible_line() -> Result<String, String> {
    let (sender, lines) = mpsc::channel();
    terminal::watch_prompt();
    // It may wait for ever. Nothing waits for the thread.
    std::thread::spawn(move || sender.send(line()));
    loop {
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(Ok(Some(line))) => {
                terminal::end_prompt();
                return Ok(line);
            }
            Ok(Err(error)) => return Err(error.to_string()),
            Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => return Err("EOF".to_owned()),
            Err(RecvTimeoutError::Timeout) if terminal::is_interrupted() => return Err("interrupted".to_owned()),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

#[cfg(unix)]
mod terminal {
    use std::io::{self, IsTerminal as _};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, Once, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGINT, SIGTERM};

    /// Previous settings of the terminal, while it hides input.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
    static WATCH: Once = Once::new();
    /// A prompt waits for a line and handles signals.
    static PROMPTING: AtomicBool = AtomicBool::new(false);
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);

    pub(super) fn watch_prompt() {
        WATCH.call_once(watch);
        PROMPTING.store(true, Ordering::SeqCst);
    }

    pub(super) fn end_prompt() {
        PROMPTING.store(false, Ordering::SeqCst);
    }

    pub(super) fn is_interrupted() -> bool {
        INTERRUPTED.load(Ordering::SeqCst)
    }

    pub(super) fn hide() -> bool {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return false;
        }
        let Ok(before) = tcgetattr(&stdin) else { return false };
        WATCH.call_once(watch);
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        tcsetattr(&stdin, OptionalActions::Now, &silent).is_ok()
    }

    pub(super) fn show() -> bool {
        let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
        before.is_some_and(|before| tcsetattr(io::stdin(), OptionalActions::Now, &before).is_ok())
    }

    /// A signal that ends the process leaves the terminal as it was. A handler cannot be taken away again, so from here on it
    /// stands for the default one until another part of the process handles signals.
    fn watch() {
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
        std::thread::spawn(move || {
            for signal in signals.forever() {
                let was_hidden = show();
                if PROMPTING.load(Ordering::SeqCst) && !INTERRUPTED.swap(true, Ordering::SeqCst) {
                    continue;
                }
                if was_hidden || !crate::signals::are_handled() {
                    crate::telemetry::finish();
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            }
        });
    }
}

#[cfg(not(unix))]
mod terminal {
    pub(super) fn watch_prompt() {}

    pub(super) fn end_prompt() {}

    /// Ctrl-C ends the process.
    pub(super) fn is_interrupted() -> bool {
        false
    }

    /// This system shows what is typed.
    pub(super) fn hide() -> bool {
        false
    }

    pub(super) fn show() -> bool {
        false
    }
}
