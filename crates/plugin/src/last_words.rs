//! The last output of a provider on its standard error, shown when it is gone.

use std::collections::VecDeque;

use ecow::EcoString;

/// Number of stored lines of a panic: the reason and the calls that led to it come first.
const PANIC_LINES: usize = 100;
/// Number of stored lines otherwise.
const RECENT_LINES: usize = 12;
/// Longer lines are cut.
const LINE_LENGTH: usize = 1000;

/// The last lines, or a panic from its first line.
#[derive(Debug, Default)]
pub(crate) struct LastWords {
    recent: VecDeque<EcoString>,
    panic: Vec<EcoString>,
}

impl LastWords {
    /// Records a line. Log records are dropped unless they are errors.
    pub(crate) fn hear(&mut self, line: &str) {
        if line.starts_with('{') && !line.contains(r#""@level":"error""#) {
            return;
        }
        let line = line.char_indices().nth(LINE_LENGTH).map_or(line, |(at, _)| line.get(..at).unwrap_or(line));
        if !self.panic.is_empty() || is_panic(line) {
            if self.panic.len() < PANIC_LINES {
                self.panic.push(line.into());
            }
            return;
        }
        if line.trim().is_empty() {
            return;
        }
        if self.recent.len() == RECENT_LINES {
            self.recent.pop_front();
        }
        self.recent.push_back(line.into());
    }

    /// All of it, if it said anything.
    pub(crate) fn text(&self) -> Option<String> {
        let lines = |lines: &mut dyn Iterator<Item = &EcoString>| {
            lines.map(EcoString::as_str).collect::<Vec<_>>().join("\n").trim_end().to_owned()
        };
        let text = match self.panic.is_empty() {
            true => lines(&mut self.recent.iter()),
            false => lines(&mut self.panic.iter()),
        };
        Some(text).filter(|text| !text.is_empty())
    }
}

/// Whether a line is the first of a panic of a Go process, or of the output of a Go process that a signal ends.
pub(crate) fn is_panic(line: &str) -> bool {
    let signal = || line.strip_prefix("SIG").and_then(|rest| rest.split_once(": "));
    line.starts_with("panic: ")
        || line.starts_with("fatal error: ")
        || signal().is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_or_the_panic() {
        let heard = |lines: &[&str]| {
            let mut words = LastWords::default();
            lines.iter().for_each(|line| words.hear(line));
            words.text()
        };
        assert_eq!(heard(&[]), None);
        assert_eq!(heard(&[r#"{"@level":"debug","@message":"x"}"#, ""]), None);
        assert_eq!(heard(&["a", "", "b"]).as_deref(), Some("a\nb"));
        let many: Vec<String> = (0..40).map(|at| at.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(heard(&many).is_some_and(|text| text.starts_with("28\n") && text.ends_with("\n39")));
        assert!(is_panic("SIGSEGV: segmentation violation") && !is_panic("SIGnal: no"));
        let panic = ["before", "panic: oh", "", "goroutine 1 [running]:"];
        let text = heard(&[&panic[..], &many].concat());
        assert!(text.is_some_and(|text| text.starts_with("panic: oh\n\ngoroutine 1 [running]:\n0\n")));
    }
}
