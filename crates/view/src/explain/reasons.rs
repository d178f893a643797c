//! Why an action was chosen, with the argument or block that decides it.

use yuba_addrs::{InstanceKey, MoveSubject, RemoveSubject};
use yuba_config::resource::{Repetition, Resource, ResourceKey};
use yuba_plan::{Action, ActionReason, Mode, ResourceChange};
use yuba_syntax::Span;

use super::causes::argument;
use super::shown;
use super::{Facts, PlannedReason};

/// The reason of a planned action; none for an object that does not change.
pub(super) fn reason(facts: &Facts<'_>, change: &ResourceChange) -> Option<PlannedReason> {
    if change.action == Action::NoOp {
        return None;
    }
    if change.deposed.is_some() {
        let text = "An earlier run created its replacement and did not destroy this object.".to_owned();
        return Some(PlannedReason { code: change.reason.name(), text, at: None });
    }
    let (text, span) = match change.reason {
        ActionReason::None => unnamed(facts, change),
        reason => named(facts, change, reason),
    };
    Some(PlannedReason { code: change.reason.name(), text, at: span.and_then(|span| shown::location(facts, span)) })
}

/// The block of a resource.
fn block<'a>(facts: &Facts<'a>, change: &ResourceChange) -> Option<&'a Resource> {
    let module = facts.tree.find(&change.addr.module.module())?;
    facts.tree.node(module).module.resources.get(&ResourceKey::from(&change.addr.resource))
}

/// The reason of an action that the values show.
fn unnamed(facts: &Facts<'_>, change: &ResourceChange) -> (String, Option<Span>) {
    let declared = block(facts, change).map(|resource| resource.span);
    let mode = facts.plan.map(|plan| plan.mode);
    let text = match change.action {
        Action::Create if change.importing.is_some() => "An import block names an existing object.",
        Action::Create => "The configuration declares it, and the state has no object for it.",
        Action::Update if change.importing.is_some() => {
            "The imported object has other attributes than the configuration."
        }
        Action::Update => "Attributes in the configuration differ from those of the object.",
        Action::Delete | Action::Forget if mode == Some(Mode::Destroy) => "The plan destroys all managed objects.",
        Action::Delete => return ("The configuration does not declare it.".to_owned(), removed(facts, change)),
        Action::Forget => return ("A removed block excludes it from management.".to_owned(), removed(facts, change)),
        Action::Read => "Its data is read again.",
        _ => "The provider cannot change the object in place.",
    };
    (text.to_owned(), declared)
}

fn named(facts: &Facts<'_>, change: &ResourceChange, reason: ActionReason) -> (String, Option<Span>) {
    let resource = block(facts, change);
    let declared = resource.map(|resource| resource.span);
    let repetition = resource.and_then(|resource| argument(&resource.repetition)).map(|(_, expr)| expr.span);
    let local = &change.addr.resource;
    let module = &change.addr.module;
    let text = |text: &str| text.to_owned();
    match reason {
        ActionReason::None => (String::new(), None),
        ActionReason::ReplaceBecauseTainted => (
            text("The object is tainted: its creation did not complete, or a user marked it with `yuba taint`."),
            declared,
        ),
        ActionReason::ReplaceByRequest => (text("The option -replace requests it."), None),
        ActionReason::ReplaceByTriggers => {
            let triggers = resource.and_then(|resource| resource.lifecycle.replace_triggered_by.first());
            (text("An object in its replace_triggered_by changes."), triggers.map(|expr| expr.span).or(declared))
        }
        ActionReason::ReplaceBecauseCannotUpdate => {
            let paths = change.required_replace.iter().map(|path| shown::path(&path.0));
            let names: Vec<String> = paths.filter(|path| !path.is_empty()).collect();
            let names = if names.is_empty() { "the object".to_owned() } else { names.join(", ") };
            (format!("The provider cannot change {names} in place."), declared)
        }
        ActionReason::DeleteBecauseNoResourceConfig => {
            (format!("The configuration does not declare {local}."), removed(facts, change))
        }
        ActionReason::DeleteBecauseWrongRepetition => (wrong_repetition(change, resource), repetition.or(declared)),
        ActionReason::DeleteBecauseCountIndex => {
            (format!("Index {} is out of range for count.", key(change)), repetition)
        }
        ActionReason::DeleteBecauseEachKey => (format!("Key {} is not in for_each.", key(change)), repetition),
        ActionReason::DeleteBecauseEnabledFalse => (text("Its lifecycle.enabled is false."), repetition),
        ActionReason::DeleteBecauseNoModule => {
            (format!("The configuration has no {module}."), call(facts, change, None))
        }
        ActionReason::DeleteBecauseModuleEnabledFalse(depth) => {
            let steps = module.steps().iter().take(usize::from(depth)).cloned();
            let disabled: yuba_addrs::ModuleInstance = steps.collect();
            (format!("The lifecycle.enabled of {disabled} is false."), call(facts, change, Some(usize::from(depth))))
        }
        ActionReason::DeleteBecauseNoMoveTarget => {
            let from = change.moved_from.as_deref().unwrap_or(&change.addr);
            let text = format!("A moved block moves {from} to {}, which is not in the configuration.", change.addr);
            (text, moved(facts, change))
        }
        ActionReason::ReadBecauseConfigUnknown => {
            (text("Its arguments have values that are known only after apply."), declared)
        }
        ActionReason::ReadBecauseDependencyPending => {
            (text("It depends on a resource or module that changes in this plan."), declared)
        }
        ActionReason::ReadBecauseCheckNested => {
            (text("It belongs to a check block, which reads it again after apply."), declared)
        }
        ActionReason::ForgotBecauseDestroyFalseInState => {
            (text("Its lifecycle.destroy was false when its block was removed from the configuration."), None)
        }
        ActionReason::ForgotBecauseDestroyFalseInConfig => {
            let destroy = resource.and_then(|resource| resource.lifecycle.destroy.as_ref()).map(|expr| expr.span);
            (text("Its lifecycle.destroy is false."), destroy.or(declared))
        }
    }
}

fn key(change: &ResourceChange) -> String {
    change.addr.key.as_ref().map(super::instances::key_text).unwrap_or_default()
}

fn wrong_repetition(change: &ResourceChange, resource: Option<&Resource>) -> String {
    let uses = match resource.map(|resource| &resource.repetition) {
        Some(Repetition::Count(_)) => "uses count",
        Some(Repetition::ForEach(_)) => "uses for_each",
        _ => "uses neither count nor for_each",
    };
    let has = match &change.addr.key {
        None => "this instance has no key".to_owned(),
        Some(InstanceKey::Int(key)) => format!("this instance has the index {key}"),
        Some(InstanceKey::String(key)) => format!("this instance has the key {}", yuba_value::quote(key)),
    };
    format!("The resource {uses}, and {has}.")
}

/// The argument that decides the instances of a module around a change: of its own module, or of the one that a number of steps of
/// its address leads to.
fn call(facts: &Facts<'_>, change: &ResourceChange, depth: Option<usize>) -> Option<Span> {
    let path = change.addr.module.module();
    let depth = depth.unwrap_or(path.steps().len());
    let path =
        path.steps().iter().take(depth).fold(yuba_addrs::ModulePath::ROOT, |path, step| path.child(step.clone()));
    let call = facts.tree.call(facts.tree.find(&path)?)?;
    Some(argument(&call.repetition).map_or(call.span, |(_, expr)| expr.span))
}

/// The `removed` block for the resource of a change or for a module around it.
fn removed(facts: &Facts<'_>, change: &ResourceChange) -> Option<Span> {
    let addr = change.addr.config();
    facts.tree.iter().find_map(|(_, node)| {
        let below = |path: &yuba_addrs::ModulePath| {
            path.steps().iter().fold(node.path.clone(), |path, step| path.child(step.clone()))
        };
        let block = node.module.removed.iter().find(|removed| match &removed.from.subject {
            RemoveSubject::Module(path) => below(path).contains(&addr.module),
            RemoveSubject::Resource(from) => from.resource == addr.resource && below(&from.module) == addr.module,
        })?;
        Some(block.span)
    })
}

/// The `moved` block whose destination is the resource of a change.
fn moved(facts: &Facts<'_>, change: &ResourceChange) -> Option<Span> {
    facts.tree.iter().find_map(|(_, node)| {
        let block = node.module.moved.iter().find(|moved| match &moved.to.subject {
            MoveSubject::Resource(to) => to.resource == change.addr.resource,
            MoveSubject::Module(to) => {
                to.steps().last().is_some_and(|to| change.addr.module.steps().iter().any(|step| step.name == to.name))
            }
        })?;
        Some(block.span)
    })
}
