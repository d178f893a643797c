//! The objects that depend on an object, in the configuration and in the state.

use yuba_addrs::Resource;
use yuba_config::resource::Repetition;
use yuba_eval::graph::Vertex;
use yuba_syntax::Span;

use super::shown;
use super::{Dependents, Facts};

/// The dependents of objects of the graph.
pub(super) fn of_vertices(facts: &Facts<'_>, starts: &[u32]) -> Dependents {
    let mut reverse: Vec<Vec<u32>> = vec![Vec::new(); facts.graph.nodes.len()];
    for (from, edges) in facts.graph.edges.iter().enumerate() {
        for to in edges {
            reverse[*to as usize].push(from as u32);
        }
    }
    let mut seen = vec![false; reverse.len()];
    starts.iter().for_each(|start| seen[*start as usize] = true);
    let mut found = Dependents::default();
    // Objects of the first list are reached without another visible object between.
    let mut work: Vec<(u32, bool)> = starts.iter().map(|start| (*start, true)).collect();
    let mut late = Vec::new();
    let mut direct = Vec::new();
    while let Some((at, is_direct)) = work.pop().or_else(|| late.pop().map(|at| (at, false))) {
        for next in &reverse[at as usize] {
            if std::mem::replace(&mut seen[*next as usize], true) {
                continue;
            }
            let Some((name, span)) = visible(facts, *next) else {
                match is_direct {
                    true => work.push((*next, true)),
                    false => late.push(*next),
                }
                continue;
            };
            found.total += 1;
            if is_direct {
                direct.push((name, span.and_then(|span| shown::location(facts, span))));
            }
            late.push(*next);
        }
    }
    direct.sort_by(|(a, _), (b, _)| a.cmp(b));
    found.direct = direct;
    found
}

/// The resources in the state that depend on one.
pub(super) fn recorded(facts: &Facts<'_>, module: &yuba_addrs::ModulePath, resource: &Resource) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (addr, _, instance) in facts.state.instances() {
        let mut dependencies = instance.objects().flat_map(|(_, object)| object.dependencies.iter());
        if dependencies.any(|found| found.resource == *resource && found.module == *module) {
            names.push(addr.to_string());
        }
    }
    names
}

/// The name of an object that people know; none for steps that only order the evaluation.
fn visible(facts: &Facts<'_>, at: u32) -> Option<(String, Option<Span>)> {
    let node = &facts.graph.nodes[at as usize];
    let path = &facts.tree.node(node.module).path;
    let (name, span) = match node.vertex {
        Vertex::Variable(variable) => (format!("var.{}", variable.name), variable.span),
        Vertex::Local(local) => (format!("local.{}", local.name), local.span),
        Vertex::Output(output) => (format!("output.{}", output.name), output.span),
        Vertex::Resource(resource) => (Resource::from(&resource.key).to_string(), resource.span),
        Vertex::Check(check) => (format!("check.{}", check.name), check.span),
        Vertex::Provider(provider) => (format!("provider.{}", provider.key), provider.span),
        Vertex::Call => {
            let call = facts.tree.call(node.module)?;
            // The objects of a module depend on its call only through an argument that decides its instances.
            return match (&call.repetition, call.depends_on.is_empty()) {
                (Repetition::Single, true) => None,
                _ => Some((path.to_string(), Some(call.span))),
            };
        }
        Vertex::Input(_) | Vertex::Close => return None,
    };
    Some((shown::in_module(path, &name).to_string(), Some(span)))
}
