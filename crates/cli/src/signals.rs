//! Ctrl-C: the first asks to stop when what is under way is done, the second stops now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use yuba_engine::Interrupt;

/// What is said when somebody asks to stop for the first time.
pub(crate) const FIRST: &str = "\nInterrupt received.\nPlease wait until what is under way has come to an end, or press \
                                Ctrl-C again to stop now.\nGracefully shutting down...\n";
/// What is said the second time.
pub(crate) const SECOND: &str = "\nTwo interrupts received. Stopping now; what was done is saved.\n";

/// Watches from now on: the first request to stop is passed on, the second one ends the process.
pub(crate) fn at_interrupt(first: impl FnOnce() + Send + 'static) {
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        let mut signals = signals.forever();
        if signals.next().is_some() {
            first();
        }
        if signals.next().is_some() {
            std::process::exit(1);
        }
    });
}

/// What somebody at the keyboard wants.
pub(crate) struct Stop {
    interrupt: Arc<Interrupt>,
    now: Arc<AtomicBool>,
}

impl Stop {
    /// Watches from now on.
    pub(crate) fn watch() -> Stop {
        let stop = Stop { interrupt: Arc::default(), now: Arc::default() };
        // Without it Ctrl-C ends the process at once, and the journal has what was done.
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
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

    /// Raised by whoever asks to stop.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Set when everything shall stop now.
    pub(crate) fn now_flag(&self) -> Arc<AtomicBool> {
        self.now.clone()
    }
}
