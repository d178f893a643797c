//! `expect_failures`: expected failures are removed from the diagnostics, and missing ones are reported.

use ecow::{EcoString, eco_format};
use yuba_addrs::Subject;
use yuba_config::Module;
use yuba_config::test_file::TestRun;
use yuba_syntax::{Diagnostic, Diagnostics, Severity, Span};

use super::diagnostics;

struct Expectation {
    object: EcoString,
    /// All instances of a resource are meant.
    any_instance: bool,
    span: Span,
    met: bool,
}

impl Expectation {
    fn is(&self, object: &str) -> bool {
        match object.strip_prefix(self.object.as_str()) {
            Some("") => true,
            Some(rest) => self.any_instance && rest.starts_with('['),
            None => false,
        }
    }
}

/// Expected failures of a run.
pub(super) struct Expectations(Vec<Expectation>);

impl Expectations {
    /// Of a run of a module.
    pub(super) fn of(run: &TestRun, tested: &Module) -> Expectations {
        let mut found: Vec<Expectation> = Vec::new();
        for (reference, span) in run.expected_failures(tested) {
            let object = eco_format!("{}", reference.subject);
            if found.iter().any(|known| known.object == object) {
                continue;
            }
            let any_instance = matches!(reference.subject, Subject::Resource(_));
            let span = reference.span.unwrap_or(span);
            found.push(Expectation { object, any_instance, span, met: false });
        }
        Expectations(found)
    }

    fn expected(&mut self, object: &str) -> bool {
        let mut expected = false;
        for one in self.0.iter_mut().filter(|one| one.is(object)) {
            one.met = true;
            expected = true;
        }
        expected
    }

    /// Takes back what was expected, and makes errors of what checks say.
    pub(super) fn sort_out(&mut self, problems: Diagnostics) -> Diagnostics {
        let mut left = Diagnostics::new();
        for mut problem in problems {
            let Some(extra) = &problem.extra else {
                left.push(problem);
                continue;
            };
            let (of_check, was_error) = (extra.of_check, extra.was_error);
            let Some(object) = extra.condition_of.clone() else {
                left.push(problem);
                continue;
            };
            // Data of a check may have warnings of their own.
            let is_data = of_check && !is_rule(&problem);
            let fails = match (of_check, is_data) {
                (true, true) => was_error,
                (true, false) => true,
                (false, _) => problem.is_error(),
            };
            if fails && self.expected(&object) {
                continue;
            }
            if of_check && fails {
                problem.severity = Severity::Error;
            }
            left.push(problem);
        }
        left
    }

    /// Missing failures.
    pub(super) fn unmet(&self) -> impl Iterator<Item = Diagnostic> + '_ {
        self.0.iter().filter(|one| !one.met).map(|one| diagnostics::missing_failure(&one.object, one.span))
    }

    /// Variables that fail as expected, but before anything can be applied.
    pub(super) fn too_early(&self, problems: &Diagnostics) -> Diagnostics {
        let mut notes = Diagnostics::new();
        for problem in problems.iter() {
            let Some(object) = problem.extra.as_ref().and_then(|extra| extra.condition_of.as_ref()) else { continue };
            if object.starts_with("var.") && self.0.iter().any(|one| one.is(object)) {
                notes.push(diagnostics::fails_before_apply(object));
            }
        }
        notes
    }
}

/// Whether it is about a condition of a check, and not about its data.
fn is_rule(problem: &Diagnostic) -> bool {
    yuba_eval::is_about_assertion(problem)
}
