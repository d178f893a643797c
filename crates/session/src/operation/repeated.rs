//! Diagnostics that planning reports and applying finds again: each is reported once.

use std::collections::HashSet;

use yuba_engine::targets::Targets;
use yuba_plan::{Mode, Plan};
use yuba_syntax::{DeprecatedUse, Diagnostic, Diagnostics, Span};

/// Uses of deprecated objects that were reported, with their locations.
#[derive(Default)]
pub(crate) struct ReportedUses(HashSet<(DeprecatedUse, Option<Span>)>);

impl ReportedUses {
    /// The uses among these diagnostics.
    pub(crate) fn of(reported: &Diagnostics) -> ReportedUses {
        ReportedUses(reported.iter().filter_map(use_of).collect())
    }

    /// Diagnostics without uses that were reported before.
    pub(crate) fn new_among(&self, found: Diagnostics) -> impl Iterator<Item = Diagnostic> {
        found.into_iter().filter(|problem| use_of(problem).is_none_or(|used| !self.0.contains(&used)))
    }
}

/// The use of a deprecated object that a diagnostic is about.
fn use_of(problem: &Diagnostic) -> Option<(DeprecatedUse, Option<Span>)> {
    problem.deprecation().map(|used| (used.clone(), problem.subject))
}

/// Drops results of checks that applying a plan reports again. With -refresh-only it repeats failed assertions only.
pub(crate) fn drop_checks(planned: &mut Diagnostics, mode: Mode) {
    planned.retain(|problem| {
        let Some(extra) = &problem.extra else { return true };
        !extra.of_check || mode == Mode::RefreshOnly && !extra.failed_assertion
    });
}

/// Warnings that a plan covers a part of the configuration only.
pub(crate) fn target_warnings(plan: &Plan) -> Diagnostics {
    Targets { targets: plan.targets.clone(), excludes: plan.excludes.clone() }.apply_warnings()
}
