//! Implied moves without a block: `count` was added or removed, so the first instance becomes the only one, or the
//! other way round.

use yuba_addrs::{AbsResourceInstance, InstanceKey, ModuleInstance, ModulePath};
use yuba_config::resource::{Repetition, ResourceKey};
use yuba_eval::ConfigTree;
use yuba_eval::tree::ModuleId;
use yuba_state::State;
use yuba_syntax::Span;

use super::index::Index;
use super::{Moveable, Statement};

/// Implied moves of modules, then of resources, each in the order of addresses. Skips objects that a `moved` block mentions:
/// the block may have chosen another instance.
pub(super) fn find(tree: &ConfigTree, state: &State, explicit: &Index) -> Vec<Statement> {
    let (mut modules, mut resources) = (Vec::new(), Vec::new());
    let mut seen = std::collections::BTreeSet::new();
    let mut current: Option<(&ModuleInstance, Option<ModuleId>)> = None;
    for resource in state.iter() {
        let module = &resource.addr.module;
        let id = match current {
            Some((same, id)) if same == module => id,
            _ => {
                let id = tree.find(&module.module());
                // A module that contains only module calls counts too: the state has it with the objects of the called modules.
                let mut around = Some(module.clone());
                while let Some(addr) = around.filter(|addr| !addr.is_root() && !seen.contains(addr)) {
                    modules.extend(of_module(tree, &addr, explicit));
                    around = addr.call().map(|(parent, _)| parent);
                    seen.insert(addr);
                }
                id
            }
        };
        current = Some((module, id));
        let Some(block) =
            id.and_then(|id| tree.node(id).module.resources.get(&ResourceKey::from(&resource.addr.resource)))
        else {
            continue;
        };
        let Some((from, to, span)) = rule(&block.repetition, block.span) else { continue };
        if resource.instances.contains_key(&from) && !explicit.mentions_resource(&resource.addr) {
            let at = |key: Option<InstanceKey>| {
                let AbsResourceInstance { module, resource, .. } = resource.addr.clone().instance(None);
                Moveable::Instance(AbsResourceInstance { module, resource, key })
            };
            resources.push(implied(at(from), at(to), span));
        }
    }
    modules.sort_by(|a: &Statement, b| a.from.cmp(&b.from));
    modules.append(&mut resources);
    modules
}

fn of_module(tree: &ConfigTree, addr: &ModuleInstance, explicit: &Index) -> Option<Statement> {
    let (parent, step) = addr.call()?;
    let call = tree.call(tree.find(&addr.module())?)?;
    let (from, to, span) = rule(&call.repetition, call.span)?;
    if step.key != from || explicit.mentions_module(addr) {
        return None;
    }
    Some(implied(Moveable::Module(addr.clone()), Moveable::Module(parent.child(step.name.clone(), to)), span))
}

/// Old and new keys, and the block that implies the move.
fn rule(repetition: &Repetition, block: Span) -> Option<(Option<InstanceKey>, Option<InstanceKey>, Span)> {
    let first = Some(InstanceKey::Int(0));
    match repetition {
        Repetition::Count(count) => Some((None, first, count.span)),
        Repetition::Single | Repetition::Enabled(_) => Some((first, None, block)),
        Repetition::ForEach(_) => None,
    }
}

/// Of one instance, so it is reported for the root module.
fn implied(from: Moveable, to: Moveable, span: Span) -> Statement {
    Statement { declared: ModulePath::ROOT, from, to, span, implied: true }
}
