//! Lines that people type at a terminal.

use std::io::{self, BufRead as _};

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

#[cfg(unix)]
mod terminal {
    use std::io::{self, IsTerminal as _};
    use std::sync::{Mutex, Once, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
    use signal_hook::consts::{SIGINT, SIGTERM};

    /// How the terminal was, while it hides what is typed.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    pub(super) fn hide() -> bool {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return false;
        }
        let Ok(before) = tcgetattr(&stdin) else { return false };
        static WATCH: Once = Once::new();
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
    /// stands for the default one until another part of the program handles signals.
    fn watch() {
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
        std::thread::spawn(move || {
            for signal in signals.forever() {
                if show() || !crate::signals::are_handled() {
                    crate::telemetry::finish();
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            }
        });
    }
}

#[cfg(not(unix))]
mod terminal {
    /// This system shows what is typed.
    pub(super) fn hide() -> bool {
        false
    }

    pub(super) fn show() -> bool {
        false
    }
}
