//! Evaluating a configuration without planning: values of resources are those of the state, and no provider receives a
//! request.

use yuba_eval::graph::{References, Vertex};
use yuba_eval::{EvalMode, Evaluation, Live};
use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::request::Context;
use crate::walk::Walk;

/// Finds the values of everything, as far as the state knows; the rest is unknown. An error in one object does not
/// matter for those that do not depend on it. Fails if nothing can be evaluated.
pub async fn look(context: Context<'_>, state: &State, live: &Live) -> Result<Diagnostics, Diagnostics> {
    let tree = context.tree;
    let evaluation = Evaluation::new(tree, context.env, EvalMode::Live(live));
    let References { arguments, invalid_arguments, graph, .. } = context.references;
    let mut problems = invalid_arguments.clone();
    if problems.has_errors() {
        return Err(problems);
    }
    let components = graph.components();
    let cycles = graph.cycles(&components, context.env.sources, tree);
    if cycles.has_errors() {
        problems.extend(cycles);
        return Err(problems);
    }
    let mut walk = Walk::new(context, &evaluation, live, graph, arguments);
    let mut failed = vec![false; graph.nodes.len()];
    for at in components.into_iter().flatten() {
        let node = &graph.nodes[at as usize];
        if graph.depends_on_any(at, &failed) {
            failed[at as usize] = true;
            continue;
        }
        match node.vertex {
            // One that is not in the state is unknown.
            Vertex::Resource(resource) => walk.values_of_state(state, node.module, resource),
            // Results of checks are not needed.
            Vertex::Provider(_) | Vertex::Check(_) | Vertex::Close => {}
            _ => failed[at as usize] = !walk.evaluate(at).await,
        }
    }
    problems.extend(walk.take_problems());
    Ok(problems)
}
