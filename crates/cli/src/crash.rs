//! What the user sees when Yuba itself is broken: a panic is always a bug, never a mistake of the user.

use std::io::Write as _;
use std::panic::PanicHookInfo;

/// The exit code of a crash, told apart from 1 (an error that was reported) and 2 (`plan`: there are changes).
pub(crate) const EXIT_CODE: u8 = 11;

/// Replaces the standard message of a panic by one that says what to send.
pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        // Nothing can be done about a closed stderr.
        let _ = std::io::stderr().lock().write_all(message(info).as_bytes());
    }));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map_or_else(String::new, |at| format!("\n  at {}:{}", at.file(), at.line()));
    format!(
        "\nYuba crashed. This is a bug in Yuba, not a mistake of yours.\n\n  {what}{place}\n  yuba {version}, {platform}\n\n\
         Please report it with the lines above, the command you ran and, if you can share it, the smallest\n\
         configuration that still crashes. RUST_BACKTRACE=1 adds the call stack.\n{trace}",
        version = env!("CARGO_PKG_VERSION"),
        platform = crate::commands::version::platform(),
        trace = backtrace(),
    )
}

fn backtrace() -> String {
    let trace = std::backtrace::Backtrace::capture();
    if trace.status() == std::backtrace::BacktraceStatus::Captured { format!("\n{trace}\n") } else { String::new() }
}
