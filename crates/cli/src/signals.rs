//! Ctrl-C: the first stops when the running operations are finished, the second stops now.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use yuba_engine::Interrupt;
use yuba_syntax::Diagnostics;

use crate::messages::Messages;
use crate::settings::Settings;

/// Message of the first interrupt.
pub(crate) const FIRST: &str = "\nInterrupt received.\nPlease wait for Yuba to finish the running operations, or press Ctrl-C again to \
                                stop now.\nGracefully shutting down...\n";
/// Message of the second interrupt.
pub(crate) const SECOND: &str = "\nTwo interrupts received. Stopping now. All finished operations are saved.\n";

static HANDLED: AtomicBool = AtomicBool::new(false);

/// The message of an interrupt was written beside the output of the command.
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// Whether the message of an interrupt was written since the last call.
pub(crate) fn take_written() -> bool {
    WRITTEN.swap(false, Ordering::SeqCst)
}

/// Whether the running operation handles interrupts, so that they do not end the process at once.
pub(crate) fn are_handled() -> bool {
    HANDLED.load(Ordering::SeqCst)
}

/// Ctrl-C while packages are installed: downloads are cancelled, and unfinished packages are removed.
#[derive(Default)]
pub(crate) struct Cancel {
    raised: Arc<AtomicBool>,
}

impl Cancel {
    /// Handles signals from now on: the first one cancels downloads, the second one ends the process.
    pub(crate) fn watch(settings: &Settings) -> Cancel {
        let cancel = Cancel::default();
        cancel.begin(settings);
        cancel
    }

    /// Handles signals from now on, as [`Cancel::watch`] does. Call it once.
    pub(crate) fn begin(&self, settings: &Settings) {
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
            HANDLED.store(true, Ordering::SeqCst);
            let (client, raised) = (settings.hosts().services().client().clone(), self.raised.clone());
            std::thread::spawn(move || {
                let mut signals = signals.forever();
                if signals.next().is_some() {
                    raised.store(true, Ordering::SeqCst);
                    WRITTEN.store(true, Ordering::SeqCst);
                    let _ = std::io::stderr().write_all(FIRST.as_bytes());
                    client.interrupt();
                }
                if signals.next().is_some() {
                    crate::telemetry::finish();
                    std::process::exit(1);
                }
            });
        }
    }

    /// Whether a signal has arrived.
    pub(crate) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Whether an operation failed because of an interrupt, which is reported instead of the errors it caused.
    pub(crate) fn reported(&self, messages: &mut Messages<'_>, what: &str, problems: &Diagnostics) -> bool {
        let is_canceled = problems.has_errors() && self.raised.load(Ordering::SeqCst);
        if is_canceled {
            let text = format!("{what} was canceled by an interrupt signal.");
            messages.complain(&format!("{text}\n"), &text);
        }
        is_canceled
    }
}

/// Interrupts of an operation that saves its results before it stops.
pub(crate) struct Stop {
    interrupt: Arc<Interrupt>,
    now: Arc<AtomicBool>,
}

impl Stop {
    /// Handles signals from now on.
    pub(crate) fn watch() -> Stop {
        let stop = Stop { interrupt: Arc::default(), now: Arc::default() };
        // Without it Ctrl-C ends the process at once, and the journal has what was done.
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
            HANDLED.store(true, Ordering::SeqCst);
            let (interrupt, now) = (stop.interrupt.clone(), stop.now.clone());
            std::thread::spawn(move || {
                for _ in signals.forever() {
                    if interrupt.raise() > 0 {
                        now.store(true, Ordering::SeqCst);
                    }
                }
            });
        }
        stop
    }

    /// Raised by each signal.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Set by the second signal.
    pub(crate) fn now_flag(&self) -> Arc<AtomicBool> {
        self.now.clone()
    }
}
