//! The lines of the live display about packages that are being downloaded.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use yuba_view::live::Size;
use yuba_view::progress;

/// Minimum interval between frames.
const PACE: Duration = Duration::from_millis(100);

/// Downloads in progress.
#[derive(Debug, Default)]
pub(crate) struct Downloads {
    by_name: BTreeMap<String, Download>,
    drawn: Option<Instant>,
}

#[derive(Debug)]
struct Download {
    since: Instant,
    received: u64,
    total: Option<u64>,
}

impl Downloads {
    /// Records received bytes. Returns the lines of a frame, if it is time for one.
    pub(crate) fn update(
        &mut self,
        name: String,
        received: u64,
        total: Option<u64>,
        size: Size,
    ) -> Option<Vec<String>> {
        let now = Instant::now();
        let download = self.by_name.entry(name).or_insert(Download { since: now, received, total });
        (download.received, download.total) = (received, total);
        if self.drawn.is_some_and(|drawn| now.duration_since(drawn) < PACE) {
            return None;
        }
        self.drawn = Some(now);
        Some(self.lines(now, size))
    }

    /// One is done.
    pub(crate) fn done(&mut self, name: &str) {
        self.by_name.remove(name);
    }

    fn lines(&self, now: Instant, size: Size) -> Vec<String> {
        let line = |(name, download): (&String, &Download)| {
            let seconds = now.duration_since(download.since);
            progress::download(name, (download.received, download.total), seconds)
        };
        size.fitted(self.by_name.iter().map(line).collect(), "downloads")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_download_has_a_line() {
        let size = Size { columns: 80, rows: 24 };
        let mut downloads = Downloads::default();
        let drawn = downloads.update("a".to_owned(), 50 << 20, Some(200 << 20), size);
        assert_eq!(drawn.unwrap_or_default(), ["a: 50 of 200 MB (25%) [0s elapsed]"]);
        assert_eq!(downloads.update("b".to_owned(), 5 << 20, None, size), None, "a frame comes at most every 100 ms");
        let now = Instant::now();
        assert_eq!(downloads.lines(now, size).len(), 2);
        assert_eq!(downloads.lines(now, Size { rows: 2, ..size }), ["2 downloads"]);
        downloads.done("a");
        assert_eq!(downloads.lines(now, size), ["b: 5 MB [0s elapsed]"]);
    }
}
