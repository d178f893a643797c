//! A line at the end of the terminal that shows how downloads go on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often the line changes at most.
const PACE: Duration = Duration::from_millis(100);

/// Downloads that are under way.
#[derive(Debug, Default)]
pub(crate) struct Downloads {
    by_name: BTreeMap<String, (u64, Option<u64>)>,
    drawn: Option<Instant>,
    is_visible: bool,
}

impl Downloads {
    /// Takes note of bytes; what to write to the terminal, if it is time.
    pub(crate) fn update(&mut self, name: String, received: u64, total: Option<u64>, width: usize) -> Option<String> {
        self.by_name.insert(name, (received, total));
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < PACE) {
            return None;
        }
        self.drawn = Some(Instant::now());
        self.is_visible = true;
        Some(format!("\r\x1b[2K{}", self.line(width)))
    }

    /// One is done.
    pub(crate) fn done(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    /// What to write to the terminal before anything else is written.
    pub(crate) fn clear(&mut self) -> &'static str {
        match std::mem::take(&mut self.is_visible) {
            true => "\r\x1b[2K",
            false => "",
        }
    }

    fn line(&self, width: usize) -> String {
        let shares = self.by_name.iter().map(|(name, (received, total))| match total.filter(|total| *total > 0) {
            Some(total) => format!("{name} {}%", received.saturating_mul(100) / total),
            None => format!("{name} {} MB", received >> 20),
        });
        let line = format!("  {}", shares.collect::<Vec<_>>().join(", "));
        // A line that wraps could not be erased.
        line.chars().take(width.saturating_sub(1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_fits() {
        let mut downloads = Downloads::default();
        assert_eq!(downloads.clear(), "");
        let drawn = downloads.update("a".to_owned(), 50, Some(200), 80);
        assert_eq!(drawn.as_deref(), Some("\r\x1b[2K  a 25%"));
        assert_eq!(downloads.update("b".to_owned(), 5 << 20, None, 80), None);
        assert_eq!(downloads.line(80), "  a 25%, b 5 MB");
        assert_eq!(downloads.line(6), "  a 2");
        downloads.done("a");
        assert_eq!((downloads.line(80).as_str(), downloads.clear(), downloads.clear()), ("  b 5 MB", "\r\x1b[2K", ""));
    }
}
