//! A plan as people read it.

use std::sync::Arc;

use yuba_addrs::ProviderSource;
use yuba_plan::Plan;
use yuba_provider::ProviderSchema;

use crate::paint::Style;

/// Where schemas of providers are found.
pub type Schemas<'a> = &'a dyn Fn(&ProviderSource) -> Option<Arc<ProviderSchema>>;

/// How a plan or state is shown.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Colours or none.
    pub style: Style,
    /// Columns; 78 where there is no terminal.
    pub width: usize,
    /// `-show-sensitive`
    pub show_sensitive: bool,
    /// Commands that people could run next are not mentioned.
    pub in_automation: bool,
}

impl Default for Look {
    fn default() -> Look {
        Look { style: Style::Plain, width: 78, show_sensitive: false, in_automation: false }
    }
}

/// All there is to say about a plan: what changed outside, what will be done, and in which outputs it results. Begins
/// with an empty line.
pub fn render(plan: &Plan, schemas: Schemas<'_>, look: Look) -> String {
    let _ = (plan, schemas, look);
    String::new()
}

/// The sentence with the numbers: `Plan: 1 to add, 0 to change, 0 to destroy.`
pub fn summary_line(plan: &Plan) -> String {
    let _ = plan;
    String::new()
}

/// What follows a plan that is not applied at once: where it was saved, and what can be done with it. `saved` is the path
/// of the plan file, `generated` the path of a file with configuration for imported objects.
pub fn next_steps(saved: Option<&str>, generated: Option<&str>, look: Look) -> String {
    let _ = (saved, generated, look);
    String::new()
}
