//! The plan and the state for the resource instances that a reference or an address means.

use yuba_addrs::{AbsResourceInstance, InstanceKey, ModuleInstance, Resource};
use yuba_plan::{Action, ResourceChange};
use yuba_syntax::TraversalStep;
use yuba_syntax::expr::Literal;
use yuba_value::{EcoString, Number, Path, PathStep, Value};

use super::shown::{self, Secrecy};
use super::{Effect, Facts, Part};
use crate::state_json::schema_of;

/// Whether an address is meant by a module, a resource and a key. A call without a key stands for all its instances.
pub(super) fn is_meant(
    addr: &AbsResourceInstance,
    module: &ModuleInstance,
    resource: &Resource,
    key: Option<Option<&InstanceKey>>,
) -> bool {
    addr.resource == *resource && is_in(&addr.module, module) && key.is_none_or(|key| addr.key.as_ref() == key)
}

/// Whether a module instance is one that an address with or without keys means.
pub(super) fn is_in(found: &ModuleInstance, meant: &ModuleInstance) -> bool {
    found.steps().len() == meant.steps().len()
        && found
            .steps()
            .iter()
            .zip(meant.steps())
            .all(|(found, meant)| found.name == meant.name && (meant.key.is_none() || meant.key == found.key))
}

/// The changes of all meant instances, without deposed objects.
fn changes<'a>(
    facts: &Facts<'a>,
    resource: &Resource,
    key: Option<Option<&InstanceKey>>,
    module: &ModuleInstance,
) -> Vec<&'a ResourceChange> {
    let all = facts.plan.into_iter().flat_map(|plan| &plan.changes);
    all.filter(|change| change.deposed.is_none() && is_meant(&change.addr, module, resource, key)).collect()
}

/// The plan for a resource that an expression refers to, and for the part that it reads.
pub(super) fn effect(
    facts: &Facts<'_>,
    resource: &Resource,
    key: Option<Option<&InstanceKey>>,
    module: &ModuleInstance,
    steps: &[PathStep],
    secrecy: Secrecy,
) -> Option<Effect> {
    let changes = changes(facts, resource, key, module);
    let acting = changes.iter().find(|change| change.action != Action::NoOp).or(changes.first());
    let action = acting.map(|change| change.action);
    let path = Path(steps.to_vec());
    let part = match (changes.as_slice(), steps.is_empty()) {
        (_, true) => Part::Whole,
        ([change], false) => part_of(facts, change, &path, secrecy),
        ([], false) => {
            let value = recorded(facts, resource, key, module).and_then(|object| path.follow(&object));
            value.map_or(Part::Whole, |value| Part::Same(shown::value(&value, secrecy)))
        }
        _ => Part::Whole,
    };
    (action.is_some() || part != Part::Whole).then_some(Effect { action, part })
}

fn part_of(facts: &Facts<'_>, change: &ResourceChange, path: &Path, secrecy: Secrecy) -> Part {
    let marked = |object: &Value| shown::marked(facts, &change.addr.resource, &change.provider.provider, object);
    let (before, after) = (marked(&change.before), marked(&change.after));
    let Some(new) = path.follow(&after) else {
        // A part of something unknown is unknown.
        let is_unknown = (1..path.0.len())
            .any(|end| Path(path.0[..end].to_vec()).follow(&after).is_some_and(|part| !part.is_known()));
        return if is_unknown { Part::KnownLater } else { Part::Whole };
    };
    let secrecy = secrecy.with(Secrecy::at(&after, &path.0).with(Secrecy::at(&before, &path.0)));
    let old = path.follow(&before);
    if !new.is_wholly_known() {
        return Part::KnownLater;
    }
    let new_text = shown::value(&new, secrecy);
    match old {
        Some(old) if old.unmark_deep().0.raw_equals(&new.unmark_deep().0) => Part::Same(new_text),
        Some(old) => Part::Changes(shown::value(&old, secrecy), new_text),
        None => Part::Changes("null".to_owned(), new_text),
    }
}

/// The object of an instance in the state, with marks; none where several are meant.
fn recorded(
    facts: &Facts<'_>,
    resource: &Resource,
    key: Option<Option<&InstanceKey>>,
    module: &ModuleInstance,
) -> Option<Value> {
    let mut meant = facts.state.instances().filter(|(addr, ..)| is_meant(addr, module, resource, key));
    let (_, declared, instance) = meant.next()?;
    if meant.next().is_some() {
        return None;
    }
    let provider = &declared.provider.provider;
    let schemas = facts.schemas.schema(provider);
    let schema = schema_of(schemas.as_deref(), resource)?;
    let object = instance.current.as_ref()?.decode(schema.block.implied_type()).ok()?;
    Some(shown::marked(facts, resource, provider, &object))
}

/// The steps of a reference as a path into a value.
pub(super) fn steps(steps: &[TraversalStep]) -> Vec<PathStep> {
    let step = |step: &TraversalStep| match step {
        TraversalStep::Attr { name, .. } => Some(PathStep::Attr(name.clone())),
        TraversalStep::Index { key, .. } => Some(PathStep::Index(match key {
            Literal::String(key) => Value::string(key.clone()),
            Literal::Int(key) => Value::int(*key),
            Literal::Number(key) => Value::number(Number::parse(key)?),
            Literal::Null | Literal::Bool(_) => return None,
        })),
    };
    steps.iter().map_while(step).collect()
}

/// The planned action on an object, printed after its address.
pub(super) fn phrase(action: Action) -> &'static str {
    match action {
        Action::NoOp => "does not change",
        Action::Create => "will be created",
        Action::Read => "will be read during apply",
        Action::Update => "will be updated in place",
        Action::DeleteThenCreate => "will be replaced: destroyed, then created",
        Action::CreateThenDelete => "will be replaced: created, then the old object destroyed",
        Action::Delete => "will be destroyed",
        Action::Forget => "will be forgotten: the object stays, and Yuba no longer manages it",
        Action::ForgetThenCreate => "will be replaced: the old object forgotten, then a new one created",
    }
}

/// A key as text.
pub(super) fn key_text(key: &InstanceKey) -> String {
    match key {
        InstanceKey::Int(key) => key.to_string(),
        InstanceKey::String(key) => yuba_value::quote(key).to_string(),
    }
}

/// The address of a resource in an instance of its module.
pub(super) fn address(module: &ModuleInstance, resource: &Resource) -> EcoString {
    shown::in_module(module, &resource.to_string())
}
