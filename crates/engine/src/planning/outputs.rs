//! Changes of the outputs of the root module.

use std::collections::BTreeSet;

use ecow::EcoString;
use yuba_eval::ModuleInstanceId;
use yuba_plan::{Action, Mode, OutputChange};
use yuba_value::Value;

use super::Planner;
use crate::object::is_same;

impl Planner<'_> {
    pub(super) fn outputs(&self) -> Vec<OutputChange> {
        let module = &self.walk.context.tree.root().module;
        let names: BTreeSet<&EcoString> = module.outputs.keys().chain(self.state.outputs.keys()).collect();
        names.into_iter().filter_map(|name| self.output(name)).collect()
    }

    fn output(&self, name: &EcoString) -> Option<OutputChange> {
        let module = &self.walk.context.tree.root().module;
        let known = self.state.outputs.get(name);
        let before = known.map_or_else(Value::null_dynamic, |known| known.value.clone());
        let sensitive_before = known.is_some_and(|known| known.sensitive);
        let deprecated_before = known.map(|known| known.deprecated.clone()).unwrap_or_default();
        let declared = module.outputs.get(name).filter(|_| self.options.mode != Mode::Destroy);
        let Some(declared) = declared else {
            known?;
            // A plan for a part says nothing about what does not depend on that part.
            if self.selection.is_limited() {
                return None;
            }
            return Some(OutputChange {
                name: name.clone(),
                action: Action::Delete,
                before,
                after: Value::null_dynamic(),
                sensitive: sensitive_before,
                sensitive_before,
                deprecated: EcoString::new(),
                deprecated_before,
            });
        };
        let included = self.walk.graph.outputs.get(name).is_none_or(|at| self.included[*at as usize]);
        if !included {
            return None;
        }
        // A change has the numbers that a plan file gives back; what does not change stays as it is.
        let after = self.walk.live.output(ModuleInstanceId::ROOT, name)?;
        let (plain, marks) = after.unmark_with_paths();
        let after = match is_same(&plain, &before) {
            true => before.mark_at(&marks),
            false => after.with_machine_floats().without_negative_zero(),
        };
        let (plain, _) = after.unmark_deep();
        let sensitive = declared.sensitive == Some(true);
        let deprecated = declared.deprecated.clone().unwrap_or_default();
        let action = if plain.is_null() && before.is_null() {
            Action::NoOp
        } else if known.is_none() {
            Action::Create
        } else if plain.is_wholly_known()
            && is_same(&plain, &before)
            && sensitive == sensitive_before
            && deprecated == deprecated_before
        {
            Action::NoOp
        } else {
            Action::Update
        };
        Some(OutputChange {
            name: name.clone(),
            action,
            before,
            after,
            sensitive: sensitive || sensitive_before,
            sensitive_before,
            deprecated,
            deprecated_before,
        })
    }
}
