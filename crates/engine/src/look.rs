//! Evaluating a configuration without planning: values of resources are those of the state, and nobody is asked anything.

use yuba_addrs::{InstanceKey, Resource as ResourceName};
use yuba_config::resource::Resource;
use yuba_eval::graph::{Arguments, Vertex, build};
use yuba_eval::{Evaluation, Live, Mode, ModuleId, schema_of};
use yuba_state::State;
use yuba_syntax::Diagnostics;

use crate::planning::expansion_of;
use crate::request::Context;
use crate::walk::Walk;

/// Finds the values of everything, as far as the state knows; the rest is unknown. What is wrong with one object does not
/// matter for those that do not depend on it. The error: there is nothing to evaluate.
pub fn look(context: Context<'_>, state: &State, live: &Live) -> Result<Diagnostics, Diagnostics> {
    let tree = context.tree;
    let evaluation = Evaluation::new(tree, context.env, Mode::Live(live));
    let (arguments, mut problems) = Arguments::read(tree);
    if problems.has_errors() {
        return Err(problems);
    }
    let graph = build(&evaluation, &arguments, &[]);
    let components = graph.components();
    let cycles = graph.cycles(&components, context.env.sources, tree);
    if cycles.has_errors() {
        problems.extend(cycles);
        return Err(problems);
    }
    let mut walk = Walk::new(context, &evaluation, live, &graph, &arguments);
    let mut failed = vec![false; graph.nodes.len()];
    for at in components.into_iter().flatten() {
        let node = &graph.nodes[at as usize];
        if graph.depends_on_failed(at, &failed) {
            failed[at as usize] = true;
            continue;
        }
        match node.vertex {
            Vertex::Resource(resource) => take_from_state(&walk, node.module, resource, state),
            // Whether checks hold is not the question.
            Vertex::Provider(_) | Vertex::Check(_) | Vertex::Close => {}
            _ => failed[at as usize] = !walk.evaluate(at),
        }
    }
    problems.extend(walk.take_problems());
    Ok(problems)
}

/// Instances and values of a resource as the state has them; one that is not there is unknown.
fn take_from_state(walk: &Walk<'_>, module: ModuleId, resource: &Resource, state: &State) {
    let schemas = walk.evaluation.schemas_of(module, resource);
    let Some(schema) = schemas.as_deref().and_then(|schemas| schema_of(schemas, &resource.key)) else { return };
    for at in walk.live.instances(module) {
        let addr = ResourceName::from(&resource.key).absolute(walk.live.address(at));
        let Some(known) = state.get(&addr) else { continue };
        let keys: Vec<Option<InstanceKey>> = known.instances.keys().cloned().collect();
        walk.live.expand_resource(at, &resource.key, expansion_of(&keys));
        for (key, instance) in &known.instances {
            let object = instance.current.as_ref().and_then(|object| object.decode(schema.implied_type()).ok());
            if let Some(value) = object {
                walk.live.set_instance(at, &resource.key, key.clone(), schema.mark(&value, None));
            }
        }
    }
}
