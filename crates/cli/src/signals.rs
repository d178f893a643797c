//! Ctrl-C: the first asks to stop when what is under way is done, the second stops now.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use yuba_engine::Interrupt;

use crate::messages::Messages;
use crate::settings::Settings;

/// What is said when somebody asks to stop for the first time.
pub(crate) const FIRST: &str = "\nInterrupt received.\nPlease wait until what is under way has come to an end, or press \
                                Ctrl-C again to stop now.\nGracefully shutting down...\n";
/// What is said the second time.
pub(crate) const SECOND: &str = "\nTwo interrupts received. Stopping now; what was done is saved.\n";

static HANDLED: AtomicBool = AtomicBool::new(false);

/// Whether requests to stop are answered by the work that is under way, so that they do not end the process at once.
pub(crate) fn are_handled() -> bool {
    HANDLED.load(Ordering::SeqCst)
}

/// Ctrl-C while packages are brought: downloads are given up, and nothing is left of what was not finished.
pub(crate) struct Cancel {
    raised: Arc<AtomicBool>,
}

impl Cancel {
    /// Watches from now on: the first request to stop is passed on, the second one ends the process.
    pub(crate) fn watch(settings: &Settings) -> Cancel {
        let cancel = Cancel { raised: Arc::default() };
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
            HANDLED.store(true, Ordering::SeqCst);
            let (client, raised) = (settings.hosts().services().client().clone(), cancel.raised.clone());
            std::thread::spawn(move || {
                let mut signals = signals.forever();
                if signals.next().is_some() {
                    raised.store(true, Ordering::SeqCst);
                    let _ = std::io::stderr().write_all(FIRST.as_bytes());
                    client.interrupt();
                }
                if signals.next().is_some() {
                    crate::telemetry::finish();
                    std::process::exit(1);
                }
            });
        }
        cancel
    }

    /// If something failed because of it, says so instead of what the failure looks like.
    pub(crate) fn tell(&self, messages: &mut Messages<'_>, what: &str, has_failed: bool) -> bool {
        let is_canceled = has_failed && self.raised.load(Ordering::SeqCst);
        if is_canceled {
            let text = format!("{what} was canceled by an interrupt signal.");
            messages.complain(&format!("{text}\n"), &text);
        }
        is_canceled
    }
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

    /// Raised by whoever asks to stop.
    pub(crate) fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// Set when everything shall stop now.
    pub(crate) fn now_flag(&self) -> Arc<AtomicBool> {
        self.now.clone()
    }
}
