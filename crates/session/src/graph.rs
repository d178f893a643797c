//! `graph`: the objects of a configuration in their order, for whoever draws them.

use std::path::Path;

use yuba_eval::graph::{Arguments, RefGraph, build};
use yuba_eval::{ConfigTree, Evaluation, Mode};
use yuba_plan::Plan;
use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::backend::{Refusal, StateFlags, not_loaded, place_of};
use crate::diagnostics;
use crate::load::{LoadRequest, load};
use crate::operation::{SavedPlan, read_plan};
use crate::validate::eval_env;

/// What can be drawn.
pub struct Objects<'a> {
    /// What depends on what.
    pub graph: &'a RefGraph<'a>,
    /// The configuration.
    pub tree: &'a ConfigTree,
    /// The state; empty if there is none.
    pub state: &'a State,
    /// The plan, if one was given.
    pub plan: Option<&'a Plan>,
    /// Whether objects depend on each other.
    pub has_cycles: bool,
}

/// Reads a configuration and its state, or a plan with both, and has them drawn. Cycles are an error unless they are to be
/// drawn. The second part of the result are warnings about the state.
pub fn draw(
    request: &LoadRequest<'_>,
    plan: Option<&Path>,
    cycles_too: bool,
    drawing: &dyn Fn(&Objects<'_>) -> String,
) -> Result<(String, Diagnostics), Refusal> {
    let mut notes = Diagnostics::new();
    let saved: Option<SavedPlan> = match plan {
        None => None,
        Some(path) => Some(read_plan(path, request).map_err(|problem| diagnostics::plan_not_drawn(&problem))?),
    };
    let request = LoadRequest {
        workspace: saved.as_ref().map_or(request.workspace, |saved| &saved.workspace),
        snapshot: saved.as_ref().map(|saved| &saved.snapshot),
        test_dir: None,
        ..*request
    };
    let (configuration, mut problems) = load(&request, None);
    let configuration = match configuration {
        Ok(configuration) => configuration,
        Err(sources) => return Err(Refusal { problems, sources }),
    };
    if problems.has_errors() {
        return Err(not_loaded(configuration, &request, problems));
    }
    let refused = |problems| Refusal { problems, sources: configuration.sources.clone() };
    let state = match &saved {
        Some(saved) => (*saved.plan.prior_state).clone(),
        None => {
            let place = place_of(&configuration, &request, &StateFlags::default()).map_err(refused)?;
            let opened = place.look().map_err(refused)?;
            notes.extend(opened.notes);
            opened.state.unwrap_or_else(State::empty)
        }
    };
    let tree = &configuration.tree;
    let evaluation = Evaluation::new(tree, eval_env(&request, &configuration.sources), Mode::Types);
    let (arguments, found) = Arguments::read(tree);
    problems.extend(found);
    problems.extend(tree.unbound_resources());
    if problems.has_errors() {
        return Err(refused(problems));
    }
    let graph = build(&evaluation, &arguments, &[]);
    let components = graph.components();
    let cycles = graph.cycles(&components, Some(&configuration.sources), tree);
    let has_cycles = cycles.has_errors();
    if has_cycles && !cycles_too {
        return Err(refused(cycles));
    }
    let plan = saved.as_ref().map(|saved| &saved.plan);
    Ok((drawing(&Objects { graph: &graph, tree, state: &state, plan, has_cycles }), notes))
}
