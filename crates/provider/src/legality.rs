//! Valid responses of a provider: the object it is asked to plan, and whether a plan or a result follows the rules.
//!
//! A configured value must stay; values that the provider sets by itself are computed; planned values must come true.
//! All checks are linear in the size of the objects, elements of sets included as far as their known attributes
//! distinguish them.

mod compatible;
mod normalize;
mod plan_valid;
mod proposed;
mod values;

use ecow::{EcoString, eco_format};
use yuba_value::{Path, PathStep, Value};

use crate::diagnostics::path_text;

pub use compatible::{assert_object_compatible, assert_value_compatible};
pub use normalize::normalize_legacy;
pub use plan_valid::assert_plan_valid;
pub use proposed::{planned_unknown, proposed_new};
pub use values::same;
pub(crate) use values::{child, object_like};

/// A violation of a rule by a provider. Written for its developers.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Path in the object; empty for the object itself.
    pub path: Path,
    /// The error, without full stop.
    pub message: EcoString,
}

impl Violation {
    /// `.tags["a"]: was "x", but is null now`, with an address before the path if there is one.
    pub fn text(&self, address: &str) -> EcoString {
        let location = path_text(&self.path);
        match (address, location.as_str()) {
            ("", "") => self.message.clone(),
            _ => eco_format!("{address}{location}: {}", self.message),
        }
    }
}

/// Collects violations on the way through an object.
#[derive(Default)]
struct Report {
    path: Path,
    violations: Vec<Violation>,
    /// Only whether there is a violation matters: texts are not made.
    quiet: bool,
    found: bool,
}

impl Report {
    fn add(&mut self, message: impl FnOnce() -> EcoString) {
        self.found = true;
        if !self.quiet {
            self.violations.push(Violation { path: self.path.clone(), message: message() });
        }
    }

    /// One step further into the object.
    fn inside(&mut self, step: PathStep, check: impl FnOnce(&mut Report)) {
        self.path.0.push(step);
        check(self);
        self.path.0.pop();
    }

    /// Whether a check finds nothing.
    fn passes(&self, check: impl FnOnce(&mut Report)) -> bool {
        let mut trial = Report { quiet: true, ..Report::default() };
        check(&mut trial);
        !trial.found
    }
}

/// A value for a message, not longer than what fits there.
fn shown(value: &Value) -> EcoString {
    const MOST: usize = 300;
    let text = eco_format!("{value:?}");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => eco_format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
