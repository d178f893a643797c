//! `replace_triggered_by`: whether something that is named there changes.

use yuba_eval::{InstanceValues, ModuleInstanceId};
use yuba_plan::{Action, ResourceChange};
use yuba_value::{Path, PathStep};

use super::Planner;
use super::ignore::step_of;
use crate::walk::block::Block;

impl<'a> Planner<'a> {
    /// Whether an instance is replaced because of what its block names; none if that cannot be told. A resource without
    /// instances triggers nothing.
    pub(super) fn triggered(
        &mut self,
        block: &Block<'a>,
        at: ModuleInstanceId,
        values: &InstanceValues,
    ) -> Option<bool> {
        let mut triggered = false;
        for expr in &block.resource.lifecycle.replace_triggered_by {
            let scope = self.walk.scope(at).of_instance(values.clone());
            let (trigger, found) = scope.trigger(expr);
            if !self.walk.tell(found) {
                return None;
            }
            let Some(trigger) = trigger else { continue };
            let Some(planned) = self.planned.get(&(at, trigger.resource.clone())) else { continue };
            let path = Path(trigger.steps.iter().filter_map(step_of).collect::<Vec<PathStep>>());
            let change = |position: &u32| self.changes.get(*position as usize);
            triggered |= match &trigger.key {
                None => planned.values().filter_map(change).any(|change| changes_at(change, &path)),
                Some(key) => planned.get(key).and_then(change).is_some_and(|change| changes_at(change, &path)),
            };
        }
        Some(triggered)
    }
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
