//! `graph`: the objects of a configuration in their order, for drawing.

use std::path::Path;

use yuba_eval::ConfigTree;
use yuba_eval::graph::RefGraph;
use yuba_eval::tree::Purpose;
use yuba_plan::Plan;
use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::backend::{Refusal, StateFlags, state_location};
use crate::loaded::{LoadOptions, Loaded};
use crate::operation::diagnostics;
use crate::project::Project;

/// Types of graphs.
pub struct Objects<'a> {
    /// Dependencies.
    pub graph: &'a RefGraph<'a>,
    /// The configuration.
    pub tree: &'a ConfigTree,
    /// The state; empty if it does not exist.
    pub state: &'a State,
    /// The plan, if one was given.
    pub plan: Option<&'a Plan>,
    /// Whether objects depend on each other.
    pub has_cycles: bool,
}

/// Treatment of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycles {
    /// They are an error.
    Refused,
    /// They are drawn.
    Drawn,
}

impl Project {
    /// Reads the configuration and its state, or a saved plan with both, and draws them. The second part of the result are
    /// warnings about the state.
    pub fn draw(
        &self,
        plan: Option<&Path>,
        cycles: Cycles,
        drawing: &dyn Fn(&Objects<'_>) -> String,
    ) -> Result<(String, Diagnostics), Refusal> {
        let saved = match plan {
            None => None,
            Some(path) => Some(self.read_plan(path).map_err(|problem| diagnostics::plan_not_drawn(&problem))?),
        };
        let project = saved.as_ref().map_or_else(|| self.clone(), |saved| self.in_workspace(&saved.workspace));
        let snapshot = saved.as_ref().map(|saved| &saved.snapshot);
        let options = LoadOptions::new(Purpose::Use).without_tests().of_snapshot(snapshot);
        let loaded = project.load(options).and_then(Loaded::valid_with_backend)?;
        let mut warnings = Diagnostics::new();
        let state = match &saved {
            Some(saved) => (*saved.plan.prior_state).clone(),
            None => {
                let location =
                    state_location(&loaded, &StateFlags::default()).map_err(|problems| loaded.refuse(problems))?;
                let opened = location.look().map_err(|problems| loaded.refuse(problems))?;
                warnings.extend(opened.notes);
                opened.state.unwrap_or_else(State::empty)
            }
        };
        let references = loaded.linked().references();
        let mut problems = loaded.diagnostics.clone();
        problems.extend(references.invalid_arguments.clone());
        problems.extend(loaded.tree.unbound_resources());
        if problems.has_errors() {
            return Err(loaded.refuse(problems));
        }
        let graph = &references.graph;
        let found = graph.cycles(&graph.components(), Some(&loaded.sources), &loaded.tree);
        let has_cycles = found.has_errors();
        if has_cycles && cycles == Cycles::Refused {
            return Err(loaded.refuse(found));
        }
        let plan = saved.as_ref().map(|saved| &saved.plan);
        Ok((drawing(&Objects { graph, tree: &loaded.tree, state: &state, plan, has_cycles }), warnings))
    }
}
