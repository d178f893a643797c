//! Ctrl-C: the first asks to stop when what is under way is done, the second stops now.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// What somebody at the keyboard wants.
pub(crate) struct Stop {
    count: Arc<AtomicU32>,
    now: Arc<AtomicBool>,
}

impl Stop {
    /// Watches from now on.
    pub(crate) fn watch() -> Stop {
        let stop = Stop { count: Arc::default(), now: Arc::default() };
        // Without it Ctrl-C ends the process at once, and the journal has what was done.
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
            let (count, now) = (stop.count.clone(), stop.now.clone());
            std::thread::spawn(move || {
                for _ in signals.forever() {
                    let before = count.fetch_add(1, Ordering::SeqCst);
                    now.store(before > 0, Ordering::SeqCst);
                    let text: &[u8] = match before {
                        0 => b"\nInterrupt received.\nPlease wait until what is under way is done, or press Ctrl-C again to stop now.\n\n",
                        _ => b"\nTwo interrupts received. Stopping now; what was done is saved.\n\n",
                    };
                    let _ = std::io::stderr().write_all(text);
                }
            });
        }
        stop
    }

    /// Whether to stop when what is under way is done.
    pub(crate) fn asked(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Set when everything shall stop now.
    pub(crate) fn now_flag(&self) -> Arc<AtomicBool> {
        self.now.clone()
    }
}
