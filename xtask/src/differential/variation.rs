//! A case that differs in some runs only: which of the tools varies.
//!
//! Each tool is compared with itself. Yuba must not vary where providers respond at once, so its own variation is a difference that
//! nothing explains. OpenTofu walks its graph concurrently, and the order shows in some of its results.

use std::path::Path;

use serde_json::Value;

use super::cases::{Outcome, run_alone};
use super::difference::{Difference, compare};
use super::steps::Step;
use super::tool::Tool;

/// Runs of each tool alone, beside those in which the case differed and agreed.
const REPETITIONS: usize = 8;

/// Differences among the runs of each tool.
pub(super) struct Variation {
    pub(super) ours: Vec<Difference>,
    pub(super) theirs: Vec<Difference>,
}

impl Variation {
    /// Compares the runs so far, and further runs of each tool alone, with each other.
    pub(super) fn observe(tools: [&Tool; 2], folder: &Path, steps: &[Step], runs: &[Outcome]) -> Variation {
        let [ours, theirs] = [0, 1].map(|side| {
            let mut seen: Vec<Vec<Value>> = runs.iter().map(|run| one_side(run, side)).collect();
            let place = folder.join("alone");
            seen.extend((0..REPETITIONS).map(|_| run_alone(tools[side], &place, steps)));
            among(&seen)
        });
        Variation { ours, theirs }
    }
}

fn one_side(run: &Outcome, side: usize) -> Vec<Value> {
    run.seen.iter().map(|step| step[side].clone()).collect()
}

/// The first differences among runs of one tool. A run may have ended before the last step.
fn among(runs: &[Vec<Value>]) -> Vec<Difference> {
    for (index, run) in runs.iter().enumerate() {
        for other in &runs[..index] {
            let step = run.iter().zip(other).find(|(one, other)| one != other);
            if let Some((one, other)) = step {
                return compare("step", one, other);
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn runs_of_one_tool_are_compared_step_by_step_as_far_as_both_went() {
        let same = json!({"state": {"a": 1}});
        let other = json!({"state": {"a": 2}});
        let short = vec![same.clone()];
        assert!(super::among(&[short.clone(), vec![same.clone(), other.clone()]]).is_empty());
        let found = super::among(&[short, vec![same.clone(), same.clone()], vec![same, other]]);
        assert_eq!(found.iter().map(|d| d.path.as_str()).collect::<Vec<_>>(), ["state.a"]);
    }
}
