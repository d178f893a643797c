//! Results of tests as text, as lines of JSON and as JUnit XML.

pub mod json;
pub mod junit;

use crate::paint::{GREEN, GREY, Paint, RED, Style};
use crate::wrap::wrap;

/// Result of a test file or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestResult {
    /// Not started.
    Pending,
    /// Skipped.
    Skip,
    /// All assertions hold.
    Pass,
    /// An assertion fails.
    Fail,
    /// The run failed before or while it checked its assertions.
    Error,
}

impl TestResult {
    /// As people read it: whatever is wrong is a failure.
    pub fn word(self) -> &'static str {
        match self {
            TestResult::Pending => "pending",
            TestResult::Skip => "skip",
            TestResult::Pass => "pass",
            TestResult::Fail | TestResult::Error => "fail",
        }
    }
    /// As tools read it.
    fn name(self) -> &'static str {
        match self {
            TestResult::Error => "error",
            other => other.word(),
        }
    }
    fn painted(self, paint: Paint) -> String {
        let colour = match self {
            TestResult::Pass => GREEN,
            TestResult::Fail | TestResult::Error => RED,
            TestResult::Pending | TestResult::Skip => GREY,
        };
        paint.with(colour, self.word()).into_owned()
    }
}

/// Number of runs by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Runs whose assertions all hold.
    pub passed: usize,
    /// Runs with an assertion that fails.
    pub failed: usize,
    /// Runs that failed with an error.
    pub errored: usize,
    /// Runs that were skipped.
    pub skipped: usize,
}

impl RunCounts {
    /// Counts the result of one run.
    pub fn add(&mut self, status: TestResult) {
        match status {
            TestResult::Pending => {}
            TestResult::Skip => self.skipped += 1,
            TestResult::Pass => self.passed += 1,
            TestResult::Fail => self.failed += 1,
            TestResult::Error => self.errored += 1,
        }
    }

    fn sentence(self, status: TestResult, title: impl Fn(&'static str) -> String) -> String {
        let head = match status {
            TestResult::Pending | TestResult::Skip => "Executed 0 tests".to_owned(),
            _ => {
                let title = title(if status == TestResult::Pass { "Success!" } else { "Failure!" });
                format!("{title} {} passed, {} failed", self.passed, self.failed + self.errored)
            }
        };
        match self.skipped {
            0 => format!("{head}."),
            skipped => format!("{head}, {skipped} skipped."),
        }
    }
}

/// The line of a file.
pub fn file_line(name: &str, status: TestResult, style: Style) -> String {
    format!("{name}... {}\n", status.painted(Paint::new(style)))
}

/// The line of a run.
pub fn run_line(name: &str, status: TestResult, style: Style) -> String {
    format!("  run {name:?}... {}\n", status.painted(Paint::new(style)))
}

/// The last line.
pub fn conclusion(status: TestResult, counts: RunCounts, style: Style) -> String {
    let colour = if status == TestResult::Pass { GREEN } else { RED };
    let paint = Paint::new(style);
    format!("\n{}\n", counts.sentence(status, |title| paint.with(colour, title).into_owned()))
}

/// Objects that could not be destroyed. `run` is the file and the run, such as `main.tftest.hcl/setup`.
pub fn destroy_failed(run: &str, width: usize) -> String {
    wrap(&format!("\nFailed to destroy all objects created by {run}.\n"), width)
}

/// Objects that still exist, with where their state is.
pub fn leftovers(run: &str, left: &[String], saved: Option<&str>, width: usize) -> String {
    let file_note = match saved {
        Some(path) => format!(" Their state is in the file {path}."),
        None => String::new(),
    };
    let head =
        format!("\n{run} created the following objects, and they still exist. Remove them manually.{file_note}\n");
    let mut text = wrap(&head, width);
    for one in left {
        text += &format!("  - {one}\n");
    }
    text
}

/// Existing objects of a file that was stopped at once.
#[derive(Clone, Debug, Default)]
pub struct Interrupted {
    /// Objects of the module under test.
    pub state: Vec<String>,
    /// Objects of other modules: the run, the source of the module, the objects.
    pub states: Vec<(String, String, Vec<String>)>,
    /// The running run with the objects that it was creating, and their sources.
    pub creating: Option<(String, Option<String>, Vec<String>)>,
    /// Files of saved states.
    pub saved: Vec<String>,
}

/// Existing objects of a file that was stopped at once, for people.
pub fn interrupted(file: &str, what: &Interrupted, width: usize) -> String {
    let mut text = wrap(&format!("\nThe tests in {file} were interrupted before all objects were destroyed.\n"), width);
    let mut list = |head: String, objects: &[String]| {
        if !objects.is_empty() {
            text += &wrap(&format!("\n{head}\n"), width);
            for one in objects {
                text += &format!("  - {one}\n");
            }
        }
    };
    list("These objects of the module under test exist:".to_owned(), &what.state);
    for (run, source, objects) in &what.states {
        list(format!("These objects exist for the run {run:?}, from {source:?}:"), objects);
    }
    if let Some((run, source, objects)) = &what.creating {
        let module = source.as_ref().map_or_else(|| "the module under test".to_owned(), |source| format!("{source:?}"));
        list(format!("These objects of {module} were being created for the run {run:?} and may exist:"), objects);
    }
    for path in &what.saved {
        text += &format!("\nState saved: {path}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_opentofu_writes_them() {
        assert_eq!(file_line("a.tftest.hcl", TestResult::Error, Style::Plain), "a.tftest.hcl... fail\n");
        assert_eq!(run_line("one", TestResult::Skip, Style::Coloured), "  run \"one\"... \x1b[90mskip\x1b[0m\n");
        let mut counts = RunCounts::default();
        assert_eq!(conclusion(TestResult::Pending, counts, Style::Plain), "\nExecuted 0 tests.\n");
        assert_eq!(conclusion(TestResult::Pass, counts, Style::Plain), "\nSuccess! 0 passed, 0 failed.\n");
        for status in [TestResult::Pass, TestResult::Fail, TestResult::Error, TestResult::Skip, TestResult::Pending] {
            counts.add(status);
        }
        assert_eq!(conclusion(TestResult::Error, counts, Style::Plain), "\nFailure! 1 passed, 2 failed, 1 skipped.\n");
    }
}
