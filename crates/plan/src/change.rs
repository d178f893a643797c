//! Changes of resources and outputs.

use ecow::{EcoString, EcoVec};
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, InstanceKey};
use yuba_state::DeposedKey;
use yuba_value::{Number, Path, Value};

/// Actions on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// Nothing.
    NoOp,
    /// It comes into being.
    Create,
    /// A data resource is read.
    Read,
    /// It changes where it is.
    Update,
    /// It is destroyed, then its replacement is created.
    DeleteThenCreate,
    /// Its replacement is created, then it is destroyed.
    CreateThenDelete,
    /// It is destroyed.
    Delete,
    /// It stays, but is no longer managed.
    Forget,
    /// It is no longer managed, and a replacement is created.
    ForgetThenCreate,
}

impl Action {
    /// An object ends: it is destroyed or forgotten.
    pub fn ends(self) -> bool {
        matches!(self, Action::Delete | Action::Forget) || self.is_replace()
    }
    /// An object is created, read or changed.
    pub fn makes(self) -> bool {
        matches!(self, Action::Create | Action::Read | Action::Update) || self.is_replace()
    }
    /// One object replaces another.
    pub fn is_replace(self) -> bool {
        matches!(self, Action::DeleteThenCreate | Action::CreateThenDelete | Action::ForgetThenCreate)
    }
    /// As JSON documents list it.
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Action::NoOp => &["no-op"],
            Action::Create => &["create"],
            Action::Read => &["read"],
            Action::Update => &["update"],
            Action::DeleteThenCreate => &["delete", "create"],
            Action::CreateThenDelete => &["create", "delete"],
            Action::Delete => &["delete"],
            Action::Forget => &["forget"],
            Action::ForgetThenCreate => &["forget", "create"],
        }
    }
}

/// Reason why an action was chosen, where the difference of values does not show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum ActionReason {
    /// The values show it.
    #[default]
    None,
    /// It was marked as damaged.
    ReplaceBecauseTainted,
    /// `-replace`
    ReplaceByRequest,
    /// `replace_triggered_by`
    ReplaceByTriggers,
    /// The provider cannot update it.
    ReplaceBecauseCannotUpdate,
    /// There is no such resource in the configuration.
    DeleteBecauseNoResourceConfig,
    /// Its key does not fit `count` or `for_each` of the resource.
    DeleteBecauseWrongRepetition,
    /// `count` is too small.
    DeleteBecauseCountIndex,
    /// `for_each` does not have the key.
    DeleteBecauseEachKey,
    /// `enabled` is false.
    DeleteBecauseEnabledFalse,
    /// The module it is in, or that instance of it, is not in the configuration.
    DeleteBecauseNoModule,
    /// `enabled` is false for the module it is in, or for one around that: the one that this number of steps of its module
    /// address leads to.
    DeleteBecauseModuleEnabledFalse(u8),
    /// It was moved to where nothing is declared.
    DeleteBecauseNoMoveTarget,
    /// Its configuration is not known yet.
    ReadBecauseConfigUnknown,
    /// It depends on something that changes.
    ReadBecauseDependencyPending,
    /// It stands in a `check` block.
    ReadBecauseCheckNested,
    /// `lifecycle.destroy` was false when it was last applied.
    ForgotBecauseDestroyFalseInState,
    /// `lifecycle.destroy` is false.
    ForgotBecauseDestroyFalseInConfig,
}

impl ActionReason {
    /// As JSON documents name it; empty for none.
    pub fn name(self) -> &'static str {
        match self {
            ActionReason::None => "",
            ActionReason::ReplaceBecauseTainted => "replace_because_tainted",
            ActionReason::ReplaceByRequest => "replace_by_request",
            ActionReason::ReplaceByTriggers => "replace_by_triggers",
            ActionReason::ReplaceBecauseCannotUpdate => "replace_because_cannot_update",
            ActionReason::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
            ActionReason::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
            ActionReason::DeleteBecauseCountIndex => "delete_because_count_index",
            ActionReason::DeleteBecauseEachKey => "delete_because_each_key",
            ActionReason::DeleteBecauseEnabledFalse => "delete_because_enabled_false",
            ActionReason::DeleteBecauseNoModule => "delete_because_no_module",
            ActionReason::DeleteBecauseModuleEnabledFalse(_) => "delete_because_module_enabled_false",
            ActionReason::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            ActionReason::ReadBecauseConfigUnknown => "read_because_config_unknown",
            ActionReason::ReadBecauseDependencyPending => "read_because_dependency_pending",
            ActionReason::ReadBecauseCheckNested => "read_because_check_nested",
            ActionReason::ForgotBecauseDestroyFalseInState => "forgot_because_lifecycle_destroy_in_state",
            ActionReason::ForgotBecauseDestroyFalseInConfig => "forgot_because_lifecycle_destroy_in_config",
        }
    }
}

/// The imported object.
#[derive(Clone, Debug, Default)]
pub struct Importing {
    /// Its id for the provider, if it is given by id and known.
    pub id: Option<EcoString>,
    /// Its identity, if it is given by identity.
    pub identity: Option<Value>,
    /// Nothing of that is known before apply.
    pub unknown: bool,
}

/// A change of one object of a resource instance.
#[derive(Clone, Debug)]
pub struct ResourceChange {
    /// Address.
    pub addr: AbsResourceInstance,
    /// Address in the last state, if it was moved.
    pub moved_from: Option<Box<AbsResourceInstance>>,
    /// An object that was to be destroyed after its replacement was created, and is still there.
    pub deposed: Option<DeposedKey>,
    /// Provider configuration.
    pub provider: AbsProviderConfig,
    /// Instance of that provider configuration.
    pub provider_key: Option<InstanceKey>,
    /// Action.
    pub action: Action,
    /// The reason of the action.
    pub reason: ActionReason,
    /// The object before, with marks; null if it does not exist.
    pub before: Value,
    /// The object after, with marks, with unknowns for values known after apply; null if it does not exist.
    pub after: Value,
    /// Private data of the provider for apply.
    pub private: EcoVec<u8>,
    /// The identity the provider plans for it, if its type has identities.
    pub identity: Option<Value>,
    /// Paths whose change makes it necessary to replace the object.
    pub required_replace: Vec<Path>,
    /// Set if it is imported.
    pub importing: Option<Box<Importing>>,
    /// Configuration that was written for an imported object.
    pub generated_config: Option<EcoString>,
}

/// A change of an output of the root module.
#[derive(Clone, Debug)]
pub struct OutputChange {
    /// Its name.
    pub name: EcoString,
    /// Action.
    pub action: Action,
    /// The value before; null if it did not exist.
    pub before: Value,
    /// The value after; null if it does not exist.
    pub after: Value,
    /// It must not be shown, before or after.
    pub sensitive: bool,
    /// It was not to be shown before.
    pub sensitive_before: bool,
    /// The replacement; empty if it is not deprecated.
    pub deprecated: EcoString,
    /// The same in the last state.
    pub deprecated_before: EcoString,
}

impl OutputChange {
    /// Only marks of the value change, not the value.
    pub fn is_only_about(&self) -> bool {
        self.action == Action::Update
            && self.before.unmark_deep().0.raw_equals(&self.after.unmark_deep().0)
            && self.sensitive == self.sensitive_before
    }
}

impl OutputChange {
    /// Whether the value has an infinite number in it, which no file can hold.
    pub fn is_infinite(&self) -> bool {
        self.after.has_number(&Number::is_infinite)
    }
}
