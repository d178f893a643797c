//! The message of a panic, which is always a bug in Yuba.

use std::io::Write as _;

/// The exit code of a crash. It differs from 1 (a reported error) and 2 (a plan with changes).
pub(crate) const EXIT_CODE: u8 = 11;

/// Replaces the standard message of a panic with one that explains how to report it.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let what = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map_or_else(|| "unknown".to_owned(), |at| format!("{}:{}", at.file(), at.line()));
        // Nothing can be done about a closed stderr.
        let _ = std::io::stderr().lock().write_all(message(what, &place).as_bytes());
        let trace = std::backtrace::Backtrace::capture();
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            let _ = writeln!(std::io::stderr().lock(), "\n{trace}");
        }
    }));
}

fn message(what: &str, place: &str) -> String {
    format!(
        "\nYuba crashed. This is a bug in Yuba.\n\n  {what}\n  at {place}\n  yuba {version}, \
         {platform}\n\nPlease report it with the lines above, the command and, if possible, the smallest configuration that\n\
         causes the crash. RUST_BACKTRACE=1 adds the call stack.\n",
        version = env!("CARGO_PKG_VERSION"),
        platform = crate::commands::version::platform(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_what_to_send() {
        let message = message("index out of bounds", "crates/x/src/y.rs:7");
        for part in ["index out of bounds", "at crates/x/src/y.rs:7", env!("CARGO_PKG_VERSION"), "Please report"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
