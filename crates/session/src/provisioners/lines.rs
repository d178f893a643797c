//! Output of processes, cut into lines as it arrives.

use std::time::{Duration, Instant};

/// So long the rest of a line is waited for.
const PATIENCE: Duration = Duration::from_millis(100);
/// Longer lines are cut.
const LONGEST: usize = 64 * 1024;

/// Cuts bytes into lines.
#[derive(Default)]
pub(super) struct Lines {
    open: Vec<u8>,
    since: Option<Instant>,
}

impl Lines {
    /// Takes bytes, and hands out the lines that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8], mut say: impl FnMut(&str)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (part, whole) = part.strip_suffix(b"\n").map_or((part, false), |part| (part, true));
            self.open.extend_from_slice(part);
            if whole || self.open.len() >= LONGEST {
                self.hand_out(&mut say);
            }
        }
        self.since = (!self.open.is_empty()).then(Instant::now);
    }

    /// Hands out the beginning of a line whose rest does not come, such as a question.
    pub(super) fn tick(&mut self, mut say: impl FnMut(&str)) {
        if self.since.is_some_and(|since| since.elapsed() >= PATIENCE) {
            self.hand_out(&mut say);
        }
    }

    /// Hands out what is left.
    pub(super) fn finish(&mut self, mut say: impl FnMut(&str)) {
        if !self.open.is_empty() {
            self.hand_out(&mut say);
        }
    }

    fn hand_out(&mut self, say: &mut impl FnMut(&str)) {
        say(&String::from_utf8_lossy(&self.open));
        self.open.clear();
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parts: &[&str], expect: &[&str]) {
        let mut lines = Lines::default();
        let mut said = Vec::new();
        for part in parts {
            lines.feed(part.as_bytes(), |line| said.push(line.to_owned()));
        }
        lines.finish(|line| said.push(line.to_owned()));
        assert_eq!(said, expect);
    }

    #[test]
    fn lines_are_whole() {
        check(&[], &[]);
        check(&["a\nb"], &["a", "b"]);
        check(&["a", "b\n\n", "c\r\n"], &["ab", "", "c\r"]);
        check(&["\n"], &[""]);
        let long = "x".repeat(LONGEST);
        check(&[&long, "y\n"], &[&long, "y"]);
    }
}
