//! Statements checked, after planning, when the instances of all modules and resources are known.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use yuba_addrs::{ModuleInstance, Resource};
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_eval::{ConfigTree, Live};
use yuba_plan::Mode;
use yuba_syntax::{Diagnostics, Sources, Span};

use super::{Moveable, Statements, diagnostics};

/// Errors in statements. They precede all other errors of planning, because a plan made with wrong moves is likely to be
/// wrong in other ways.
pub fn validate(
    statements: &Statements,
    tree: &ConfigTree,
    live: &Live,
    mode: Mode,
    sources: Option<&Sources>,
) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let mut by_from: BTreeMap<Moveable, (Moveable, Span)> = BTreeMap::new();
    let mut by_to: BTreeMap<Moveable, (Moveable, Span)> = BTreeMap::new();
    for statement in &statements.list {
        let Some(module) = tree.find(&statement.declared) else { continue };
        for base in live.instances(module) {
            let base = live.address(base);
            let (from, to) = (statement.from.in_module(&base), statement.to.in_module(&base));
            if from == to {
                problems.push(diagnostics::redundant(&from, statement.span));
                continue;
            }
            // Objects to be destroyed may exist.
            if mode != Mode::Destroy && exists(&from, live) {
                let location = declaration(&from, tree).map(|span| diagnostics::location(sources, span));
                problems.push(diagnostics::still_exists(&from, &to, location.as_deref(), statement.span));
            }
            match by_from.entry(from.clone()) {
                Entry::Occupied(other) => {
                    let (other, span) = other.get();
                    if *other != to {
                        let location = diagnostics::location(sources, *span);
                        problems.push(diagnostics::two_targets(&from, other, &to, &location, statement.span));
                    }
                }
                Entry::Vacant(entry) => {
                    entry.insert((to.clone(), statement.span));
                }
            }
            match by_to.entry(to.clone()) {
                Entry::Occupied(other) => {
                    let (other, span) = other.get();
                    if *other != from {
                        let location = diagnostics::location(sources, *span);
                        problems.push(diagnostics::two_sources(&to, other, &from, &location, statement.span));
                    }
                }
                Entry::Vacant(entry) => {
                    entry.insert((from, statement.span));
                }
            }
        }
    }
    // Cycles are hard to explain, and the errors above are their most common causes.
    if !problems.has_errors() {
        for group in statements.groups.iter().filter(|group| group.len() > 1) {
            let mut lines: Vec<String> = group
                .iter()
                .map(|at| {
                    let statement = &statements.list[*at as usize];
                    let location = diagnostics::location(sources, statement.span);
                    format!("\n  - {location}: {} → {}", statement.show(&statement.from), statement.show(&statement.to))
                })
                .collect();
            lines.sort();
            problems.push(diagnostics::cycle(&lines.concat()));
        }
    }
    problems
}

/// Whether the configuration declares it still.
fn exists(subject: &Moveable, live: &Live) -> bool {
    let resource = |module: &ModuleInstance, resource: &Resource| {
        live.resource_expansion(live.find(module)?, &ResourceKey::from(resource))
    };
    match subject {
        Moveable::Call(module, name) => live.find(module).is_some_and(|at| live.call_expansion(at, name).is_some()),
        Moveable::Module(module) => live.find(module).is_some(),
        Moveable::Resource(addr) => resource(&addr.module, &addr.resource).is_some(),
        Moveable::Instance(addr) => {
            resource(&addr.module, &addr.resource).is_some_and(|expansion| expansion.contains(addr.key.as_ref()))
        }
    }
}

/// The block that declares it: for an instance, its repetition argument.
fn declaration(subject: &Moveable, tree: &ConfigTree) -> Option<Span> {
    let blamed = |repetition: &Repetition, block: Span| match repetition {
        Repetition::Count(expr) | Repetition::ForEach(expr) => expr.span,
        Repetition::Single | Repetition::Enabled(_) => block,
    };
    let module = |addr: &ModuleInstance| Some(&tree.node(tree.find(&addr.module())?).module);
    match subject {
        Moveable::Call(caller, name) => Some(module(caller)?.calls.get(name)?.span),
        Moveable::Module(addr) => {
            let (caller, step) = addr.call()?;
            let call = module(&caller)?.calls.get(&step.name)?;
            Some(blamed(&call.repetition, call.span))
        }
        Moveable::Resource(addr) => Some(module(&addr.module)?.resources.get(&ResourceKey::from(&addr.resource))?.span),
        Moveable::Instance(addr) => {
            let block = module(&addr.module)?.resources.get(&ResourceKey::from(&addr.resource))?;
            Some(blamed(&block.repetition, block.span))
        }
    }
}
