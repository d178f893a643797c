//! Faults of single requests, as the argument `behave` defines: `fail_create`, `slow_read,lie_plan`, ...

use yuba_plugin::wire::{AttributePath, Diagnostic, Selector, Severity, Step};

/// The fault of a request. The word in front of `_`; the request follows (`create`, `update`, `delete`, `apply` for all
/// three, `read`, `plan`, `validate`, `import`, `data`, `open`, `renew`, `close`, `upgrade`, `configure`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `fail`: an error, and nothing happens.
    Fail,
    /// `partial`: it happens, and there is an error beside the answer.
    Partial,
    /// `warn`: it happens, with a warning.
    Warn,
    /// `hang`: the answer comes when the provider is stopped, as an error.
    Hang,
    /// `deaf`: no answer, not even after it was asked to stop.
    Deaf,
    /// `slow`: the answer takes a while.
    Slow,
    /// `crash`: the process dies before it happens.
    Crash,
    /// `die`: it happens, and the process dies before it answers.
    Die,
    /// `hangup`: the connection is closed and the process lives on.
    HangUp,
    /// `lie`: the answer says something else.
    Lie,
    /// `unknown`: the answer has unknown values where there must not be any.
    Unknown,
    /// `null`: the answer is null.
    Null,
    /// `garbage`: the answer cannot be read.
    Garbage,
    /// `defer`: it should be done some other time.
    Defer,
    /// `legacy`: lies are made with an old library.
    Legacy,
}

/// All faults of a request of this kind.
pub(crate) fn faults(behave: &str, verb: &str) -> Vec<Fault> {
    let changes = matches!(verb, "create" | "update" | "delete");
    let words = behave.split(',').map(str::trim).filter(|word| !word.is_empty());
    let about = words.filter_map(|word| {
        let (what, when) = word.split_once('_').unwrap_or((word, ""));
        let meant = when == verb || when.is_empty() || when == "apply" && changes;
        Fault::from_word(what).filter(|_| meant)
    });
    about.collect()
}

impl Fault {
    fn from_word(word: &str) -> Option<Fault> {
        Some(match word {
            "fail" => Fault::Fail,
            "partial" => Fault::Partial,
            "warn" => Fault::Warn,
            "hang" => Fault::Hang,
            "deaf" => Fault::Deaf,
            "slow" => Fault::Slow,
            "crash" => Fault::Crash,
            "die" => Fault::Die,
            "hangup" => Fault::HangUp,
            "lie" => Fault::Lie,
            "unknown" => Fault::Unknown,
            "null" => Fault::Null,
            "garbage" => Fault::Garbage,
            "defer" => Fault::Defer,
            "legacy" => Fault::Legacy,
            _ => return None,
        })
    }
}

/// An error of the whole object.
pub(crate) fn error(summary: &str, detail: impl Into<String>) -> Diagnostic {
    Diagnostic { severity: Severity::Error.into(), summary: summary.into(), detail: detail.into(), attribute: None }
}

/// An error or a warning about an attribute.
pub(crate) fn about(severity: Severity, attribute: &str, summary: &str, detail: String) -> Diagnostic {
    let attribute = Some(attribute_path(attribute));
    Diagnostic { severity: severity.into(), summary: summary.into(), detail, attribute }
}

pub(crate) fn attribute_path(attribute: &str) -> AttributePath {
    AttributePath { steps: vec![Step { selector: Some(Selector::AttributeName(attribute.into())) }] }
}

/// Ends the process as a program in Go does that panicked.
pub(crate) fn last_words(why: &str) -> ! {
    use std::io::Write as _;
    let words = format!(
        "panic: {why}\n\ngoroutine 1 [running]:\nexample.com/testing/internal/thing.(*resource).Create(0xc0001)\n\t\
         /src/internal/thing/resource.go:42 +0x1d\nmain.main()\n\t/src/main.go:17 +0x2b\n"
    );
    // The parent process is gone.
    let _ = std::io::stderr().lock().write_all(words.as_bytes());
    std::process::exit(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_about_requests() {
        let check =
            |behave: &str, verb: &str, expect: &[Fault]| assert_eq!(faults(behave, verb), expect, "{behave} {verb}");
        check("fail_create", "create", &[Fault::Fail]);
        check("fail_create", "update", &[]);
        check("crash_apply, slow_read", "delete", &[Fault::Crash]);
        check("crash_apply, slow_read", "read", &[Fault::Slow]);
        check("legacy,lie_plan,what", "plan", &[Fault::Legacy, Fault::Lie]);
        check("", "plan", &[]);
    }
}
