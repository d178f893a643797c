//! `replace_triggered_by`: whether something that is named there changes.

use ecow::eco_format;
use yuba_addrs::{InstanceKey, ModuleInstance, Resource};
use yuba_plan::{Action, ResourceChange};
use yuba_syntax::Diagnostic;
use yuba_value::{Path, PathStep};

use super::{PlannedInstances, Planner};
use crate::diagnostics::trigger_instance_missing;
use crate::walk::block::BlockInstance;
use crate::walk::ignore::step_of;

impl<'a> Planner<'a> {
    /// Whether an instance is replaced because of a reference in its block, or none if that is unknown. A resource
    /// without instances triggers nothing.
    pub(super) async fn triggered(&mut self, instance: &BlockInstance<'_, 'a>) -> Option<bool> {
        let BlockInstance { block, at, values, .. } = instance;
        let at = *at;
        let mut triggered = false;
        for expr in &block.resource.lifecycle.replace_triggered_by {
            let scope = self.walk.scope(at).of_instance(values.clone());
            let (trigger, found) = self.walk.settle(|| scope.trigger(expr)).await;
            if !self.walk.report(found) {
                return None;
            }
            let Some(trigger) = trigger else { continue };
            let path = Path(trigger.steps.iter().filter_map(step_of).collect::<Vec<PathStep>>());
            let none = PlannedInstances::default();
            let planned = self.planned.get(&(at, trigger.resource.clone())).unwrap_or(&none);
            let change = |position: &u32| self.changes.get(*position as usize);
            let key = trigger.key.clone().flatten();
            if key.is_none() && path.is_empty() {
                triggered |= planned.values().filter_map(change).any(|change| changes_at(change, &path));
                continue;
            }
            // An attribute is that of one instance, which has no key unless the reference names one.
            match planned.get(&key).and_then(change) {
                Some(change) => triggered |= changes_at(change, &path),
                None => {
                    let expansion = self.walk.live.resource_expansion(at, &trigger.resource);
                    if let Some(expansion) = expansion.filter(|expansion| !expansion.is_empty()) {
                        let resource = Resource::from(&trigger.resource);
                        let existing = expansion.instances().next().and_then(|(key, _)| key);
                        let found = no_change(&resource, key.as_ref(), existing.as_ref(), &self.walk.live.address(at));
                        let found = found.at(expr.span);
                        self.walk.report(std::iter::once(found));
                        return None;
                    }
                }
            }
        }
        Some(triggered)
    }
}

/// A trigger names an instance that the resource does not have. `existing` is the key of one that it has.
fn no_change(
    resource: &Resource,
    key: Option<&InstanceKey>,
    existing: Option<&InstanceKey>,
    module: &ModuleInstance,
) -> Diagnostic {
    let location = match module.is_root() {
        true => "the root module".into(),
        false => eco_format!("{module}"),
    };
    let text = |key: Option<&InstanceKey>| key.map(|key| eco_format!("{key}")).unwrap_or_default();
    let (named, existing) = (eco_format!("{resource}{}", text(key)), eco_format!("{resource}{}", text(existing)));
    trigger_instance_missing(&eco_format!("{resource}"), &named, &existing, &location)
}

fn changes_at(change: &ResourceChange, path: &Path) -> bool {
    let changes = matches!(change.action, Action::Create | Action::Update) || change.action.is_replace();
    if !changes || path.is_empty() {
        return changes;
    }
    match (path.follow(&change.before), path.follow(&change.after)) {
        (Some(before), Some(after)) => !before.raw_equals(&after),
        (None, None) => false,
        _ => true,
    }
}
