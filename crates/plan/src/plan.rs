//! The plan as a whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{AbsResourceInstance, Target};
use yuba_state::{CheckResult, Output, State};
use yuba_syntax::DeprecatedUse;
use yuba_value::{Path, Value};

use crate::change::{Action, OutputChange, ResourceChange};
use crate::exec::ExecGraph;

/// Modes of planning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Existing objects are changed to match the configuration.
    #[default]
    Normal,
    /// Everything is destroyed.
    Destroy,
    /// Only the state becomes what exists.
    RefreshOnly,
}

/// The value of a variable of the root module.
#[derive(Clone, Debug)]
pub struct PlannedVariable {
    /// As it was given; null for ephemeral ones, which must be given again.
    pub value: Value,
    /// It must be given again at apply.
    pub ephemeral: bool,
}

/// An attribute that something in the configuration depends on, for reports of what changed outside.
#[derive(Clone, Debug)]
pub struct RelevantAttribute {
    /// The instance; without key where all instances are meant.
    pub resource: AbsResourceInstance,
    /// The attribute; empty for all of it.
    pub path: Path,
}

/// A warning about something deprecated, which applying a saved plan repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedWarning {
    /// The title.
    pub summary: EcoString,
    /// The message.
    pub detail: EcoString,
    /// Address of the object; empty for a warning without one.
    pub address: EcoString,
    /// Name of the file; empty for a warning without a location.
    pub file: EcoString,
    /// Its byte offset in the file.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// The deprecated object.
    pub deprecated: DeprecatedUse,
}

/// A plan.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Mode.
    pub mode: Mode,
    /// `-target`
    pub targets: Vec<Target>,
    /// `-exclude`
    pub excludes: Vec<Target>,
    /// `-replace`
    pub force_replace: Vec<AbsResourceInstance>,
    /// Values of the variables that were given; defaults are not among them.
    pub variables: BTreeMap<EcoString, PlannedVariable>,
    /// Changes of resources, in order of addresses; data resources that are read at apply are among them, and objects
    /// that stay as they are.
    pub changes: Vec<ResourceChange>,
    /// Outside changes since the last run, in order of addresses.
    pub drift: Vec<ResourceChange>,
    /// Attributes the configuration depends on.
    pub relevant: Vec<RelevantAttribute>,
    /// Changes of outputs of the root module, in order of names; those that stay as they are, too.
    pub outputs: Vec<OutputChange>,
    /// Results of checks.
    pub checks: Vec<CheckResult>,
    /// The state of the last run, before anything was read again; with moved objects where they were.
    pub previous_state: Arc<State>,
    /// The state that the plan starts from: refreshed, moved objects where they are now.
    pub prior_state: Arc<State>,
    /// The order of operations.
    pub exec: ExecGraph,
    /// Value of `plantimestamp`: RFC 3339.
    pub timestamp: EcoString,
    /// Planning failed; the plan can be shown and not be applied.
    pub errored: bool,
    /// The workspace it was made in.
    pub workspace: EcoString,
    /// Deprecation warnings of planning.
    pub warnings: Vec<PlannedWarning>,
}

impl Plan {
    /// The state before the changes, with the outputs that are known already. The caller knows which outputs are
    /// sensitive by declaration.
    pub fn known_state(&self, is_sensitive: impl Fn(&str) -> bool) -> State {
        let planned = self.outputs.iter().filter(|change| change.action != Action::Delete);
        self.with_outputs(planned, is_sensitive, |value| value.is_wholly_known().then_some(value))
    }

    /// The state after an import: with all outputs, of which unknown parts are null.
    pub fn imported_state(&self, is_sensitive: impl Fn(&str) -> bool) -> State {
        self.with_outputs(self.outputs.iter(), is_sensitive, |value| Some(value.unknown_as_null()))
    }

    /// The state before the changes with these outputs. A null output is removed; one without a value to save stays as it was.
    fn with_outputs<'a>(
        &self,
        outputs: impl Iterator<Item = &'a OutputChange>,
        is_sensitive: impl Fn(&str) -> bool,
        to_save: impl Fn(Value) -> Option<Value>,
    ) -> State {
        let mut state = State::clone(&self.prior_state);
        for change in outputs {
            let (value, _) = change.after.unmark_deep();
            if value.is_null() {
                state.outputs.remove(&change.name);
            } else if let Some(value) = to_save(value) {
                let (sensitive, deprecated) = (is_sensitive(&change.name), change.deprecated.clone());
                state.outputs.insert(change.name.clone(), Output { value, sensitive, deprecated });
            }
        }
        state
    }

    /// Whether applying would do anything that is worth asking about: changes of resources or outputs, or in refresh-only
    /// mode of the state.
    pub fn can_apply(&self) -> bool {
        if self.errored {
            return false;
        }
        let changes = self
            .changes
            .iter()
            .any(|change| change.action != Action::NoOp || change.importing.is_some() || change.moved_from.is_some());
        let outputs = self.outputs.iter().any(|change| change.action != Action::NoOp);
        match self.mode {
            // A move alone is not a change, though applying the plan records it.
            Mode::RefreshOnly => outputs || self.drift.iter().any(|change| change.action != Action::NoOp),
            Mode::Normal | Mode::Destroy => changes || outputs,
        }
    }
}
