//! The values of a configuration, as far as they are known before anything is planned: for the console.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use super::{ValidateEnv, call, named, rules};
use crate::graph::{References, Vertex};
use crate::module_scope::{EvalMode, Evaluation};
use crate::tree::{ConfigTree, ModuleId};

/// Errors in the variables, local values and outputs of a configuration, given the values of the root module's
/// variables. Fails if nothing can be evaluated.
pub async fn check_values(
    tree: &ConfigTree,
    env: &ValidateEnv<'_>,
    values: &BTreeMap<EcoString, Value>,
) -> Result<Diagnostics, Diagnostics> {
    let evaluation = Evaluation::new(tree, env.eval, EvalMode::Values(values));
    let References { arguments, invalid_arguments, graph, .. } = env.references;
    let mut problems = invalid_arguments.clone();
    if problems.has_errors() {
        return Err(problems);
    }
    let components = graph.components();
    let cycles = graph.cycles(&components, env.eval.sources, tree);
    if cycles.has_errors() {
        problems.extend(cycles);
        return Err(problems);
    }
    let mut failed = vec![false; graph.nodes.len()];
    for at in components.into_iter().flatten() {
        if graph.depends_on_any(at, &failed) {
            failed[at as usize] = true;
            continue;
        }
        let node = &graph.nodes[at as usize];
        let check = || match node.vertex {
            Vertex::Variable(variable) if node.module == ModuleId::ROOT => match values.get(&variable.name) {
                Some(value) => {
                    let scope = evaluation.scope(node.module).with_variable(&variable.name, value);
                    rules::of_variable(&scope, variable, None).1
                }
                None => Diagnostics::new(),
            },
            Vertex::Variable(variable) => named::variable(&evaluation, node.module, variable, arguments, env),
            Vertex::Input(variable) => call::check(&evaluation, node.module, variable, arguments),
            Vertex::Local(local) => named::local(&evaluation, node.module, local),
            Vertex::Output(output) => named::output(&evaluation, node.module, output),
            // Nothing is planned here.
            Vertex::Check(_) | Vertex::Resource(_) | Vertex::Provider(_) | Vertex::Call | Vertex::Close => {
                Diagnostics::new()
            }
        };
        let found = evaluation.settle(check).await;
        failed[at as usize] = found.has_errors();
        problems.extend(found);
    }
    Ok(problems)
}
