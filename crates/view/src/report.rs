//! A plan or a state as a report: plain data that the terminal, Markdown, HTML and JSON render.
//!
//! A [`Report`] is built once, by [`Report::of_plan`] or [`Report::of_state`]. Building removes all sensitive and ephemeral values:
//! no rendering can show one, and no flag shows them.
//!
//! Invariants: the size of a report and the work to build it grow with the number of changes, not with pairs of them (lists of
//! dependents end after [`MAX_LINKS`]). Lists are in the order of the plan. Indexes refer to [`Report::changes`].

mod build;
mod copies;
mod counts;
mod diff_text;
mod disabled;
mod groups;
pub mod json;
pub mod markdown;
mod module_tree;
mod relations;
mod secrets;
mod state;
mod tables;
#[cfg(test)]
mod tests;
mod tree;
pub mod views;

use ecow::EcoString;
use yuba_addrs::{InstanceKey, ResourceMode};
use yuba_plan::Mode;

pub use build::PlanSources;
pub use diff_text::Unchanged;
pub use state::StateConfiguration;
pub use tree::{DiffKind, DiffMark, DiffNode, NodeName};

/// Maximum number of dependents, and of dependencies, that a change lists. [`Links::total`] counts all of them.
pub const MAX_LINKS: usize = 50;

/// The text that replaces a sensitive value.
pub const SENSITIVE: &str = "(sensitive value)";
/// The text that replaces an unknown value.
pub const UNKNOWN: &str = "(known after apply)";

/// A plan or a state without secrets.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Subject of the report.
    pub subject: ReportSubject,
    /// Tool and version that created the report.
    pub tool: EcoString,
    /// The workspace; empty in a report of a state file.
    pub workspace: EcoString,
    /// Planning mode.
    pub mode: Mode,
    /// Time of planning in RFC 3339.
    pub timestamp: EcoString,
    /// Planning failed: the report shows the part that could be planned.
    pub errored: bool,
    /// Applying the plan changes something.
    pub applyable: bool,
    /// Number of changes by kind.
    pub counts: ChangeCounts,
    /// Numbers of OpenTofu's `Plan:` line.
    pub totals: PlanTotals,
    /// Counts by module instance, without those of modules inside.
    pub modules: Vec<ModuleCounts>,
    /// Counts by resource type.
    pub types: Vec<TypeCounts>,
    /// Shown changes.
    pub changes: Vec<ReportChange>,
    /// Changes with equal differences.
    pub groups: Vec<ChangeGroup>,
    /// Changes outside of Yuba since the last run. Their links are empty.
    pub drift: Vec<ReportChange>,
    /// Changed outputs of a plan, or all outputs of a state.
    pub outputs: Vec<ReportOutput>,
    /// Results of checks.
    pub checks: Vec<ReportCheck>,
    /// Warnings of planning. In a state: uses of deprecated objects in its configuration.
    pub warnings: Vec<ReportWarning>,
    /// Resources and their dependencies.
    pub graph: ReportGraph,
    /// Objects of a state.
    pub resources: Vec<ReportResource>,
    /// Resources and modules that the configuration of a state disables.
    pub disabled: Vec<DisabledObject>,
}

/// Subject of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportSubject {
    /// A plan.
    #[default]
    Plan,
    /// A state.
    State,
}

/// Number of changes by kind. A change can be counted in `import` or `moved` too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Created objects.
    pub create: usize,
    /// Objects updated in place.
    pub update: usize,
    /// Replaced objects.
    pub replace: usize,
    /// Destroyed objects.
    pub destroy: usize,
    /// Objects that are removed from the state only.
    pub forget: usize,
    /// Data resources that are read during apply.
    pub read: usize,
    /// Imported objects.
    pub import: usize,
    /// Objects with a new address.
    pub moved: usize,
    /// Objects that are not shown because nothing about them changes; in a state all objects.
    pub unchanged: usize,
}

/// Numbers of OpenTofu's `Plan:` line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanTotals {
    /// Created objects, with replacements.
    pub add: usize,
    /// Updated objects.
    pub change: usize,
    /// Destroyed objects, with replaced ones.
    pub destroy: usize,
    /// Imported objects.
    pub import: usize,
    /// Forgotten objects.
    pub forget: usize,
}

/// Counts of a module instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleCounts {
    /// Its address; empty for the root module.
    pub path: EcoString,
    /// Its own changes.
    pub counts: ChangeCounts,
}

/// Counts of a resource type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeCounts {
    /// The resource type.
    pub kind: EcoString,
    /// Managed or data resource.
    pub mode: ResourceMode,
    /// Its changes.
    pub counts: ChangeCounts,
}

/// Parts of the address of an object.
#[derive(Clone, Debug)]
pub struct ReportAddress {
    /// The whole address, without a deposed key.
    pub text: EcoString,
    /// Key of a deposed object.
    pub deposed: Option<EcoString>,
    /// The module instance; empty for the root module.
    pub module: EcoString,
    /// Managed or data resource.
    pub mode: ResourceMode,
    /// The resource type.
    pub kind: EcoString,
    /// The name of the resource.
    pub name: EcoString,
    /// The instance key.
    pub key: Option<InstanceKey>,
    /// Source address of the provider.
    pub provider: EcoString,
    /// Alias of the provider configuration.
    pub provider_alias: Option<EcoString>,
    /// Key of the provider instance.
    pub provider_key: Option<InstanceKey>,
}

/// A change of one object.
#[derive(Clone, Debug)]
pub struct ReportChange {
    /// The object.
    pub address: ReportAddress,
    /// Action.
    pub action: ChangeAction,
    /// Order of the two steps of a replacement.
    pub order: Option<ReplaceOrder>,
    /// Reason of the action, where the difference does not show it.
    pub reason: Option<ReportReason>,
    /// Address in the last state, if it was moved.
    pub moved_from: Option<EcoString>,
    /// Id or identity of an imported object, or [`UNKNOWN`].
    pub import: Option<EcoString>,
    /// Configuration that was generated for an imported object.
    pub generated: Option<EcoString>,
    /// Paths of attributes that force a replacement. A path ends before a sensitive part.
    pub forces: Vec<EcoString>,
    /// How much can be lost.
    pub risk: ChangeRisk,
    /// Changes that depend directly on the resource of this one. All instances of a resource in a module instance have the same.
    pub dependents: Links,
    /// Changes that the resource of this one depends on directly.
    pub depends: Links,
    /// Index of its group, if other changes have the same difference.
    pub group: Option<u32>,
    /// The configuration disables the object with `enabled = false`.
    pub disabled: bool,
    /// For drift: the configuration depends on a changed attribute.
    pub relevant: bool,
    /// The difference: a block.
    pub diff: DiffNode,
}

/// Action on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeAction {
    /// It is destroyed.
    Destroy,
    /// Another object replaces it.
    Replace,
    /// It is removed from the state and stays.
    Forget,
    /// It is updated in place.
    Update,
    /// It is created.
    Create,
    /// A data resource is read.
    Read,
    /// It is moved or imported, and stays as it is.
    NoOp,
}

/// Order of the steps of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReplaceOrder {
    /// The old object is destroyed before the new one is created.
    DestroyFirst,
    /// The new object is created before the old one is destroyed.
    CreateFirst,
    /// The old object is removed from the state and stays; then the new one is created.
    ForgetFirst,
}

/// Reason of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportReason {
    /// As `show -json` names it: `delete_because_each_key`.
    pub code: &'static str,
    /// A sentence part: `because key ["b"] is not in for_each map`.
    pub text: EcoString,
}

/// How much can be lost by a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeRisk {
    /// An object is destroyed, replaced or no longer managed.
    High,
    /// An object is updated in place.
    Medium,
    /// Nothing that exists changes.
    Low,
}

/// Indexes of related changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The first [`MAX_LINKS`] of them.
    pub changes: Vec<u32>,
    /// Number of all of them. It is a lower bound where the configuration has more references than are followed.
    pub total: usize,
}

/// Changes of one resource type with equal differences. Unchanged values and computed values before the change can differ.
#[derive(Clone, Debug)]
pub struct ChangeGroup {
    /// Two or more changes.
    pub members: Vec<u32>,
    /// Their action.
    pub action: ChangeAction,
    /// Their resource type.
    pub kind: EcoString,
    /// The part of the difference that all members share.
    pub diff: DiffNode,
}

/// A changed output, or an output of a state.
#[derive(Clone, Debug)]
pub struct ReportOutput {
    /// Name.
    pub name: EcoString,
    /// Create, update, destroy, or no-op in a state.
    pub action: ChangeAction,
    /// Its value is not part of the report.
    pub sensitive: bool,
    /// The difference of its values.
    pub diff: DiffNode,
}

/// Results of the conditions of one object.
#[derive(Clone, Debug)]
pub struct ReportCheck {
    /// The object.
    pub address: EcoString,
    /// `pass`, `fail`, `error` or `unknown`.
    pub status: &'static str,
    /// Messages of the conditions that fail.
    pub messages: Vec<EcoString>,
}

/// A warning of planning, or of the configuration of a state.
#[derive(Clone, Debug)]
pub struct ReportWarning {
    /// Title.
    pub summary: EcoString,
    /// Message.
    pub detail: EcoString,
    /// Address of the object.
    pub address: Option<EcoString>,
    /// Name of the file.
    pub file: Option<EcoString>,
    /// Line in the file, from 1.
    pub line: Option<usize>,
    /// Address of the deprecated variable, output or attribute whose use it reports.
    pub deprecated: Option<EcoString>,
}

/// Resources of the configuration and the state, and their direct dependencies. One node stands for all instances of a resource
/// in all instances of its module, so the graph is as large as the configuration.
#[derive(Clone, Debug, Default)]
pub struct ReportGraph {
    /// Resources.
    pub nodes: Vec<GraphResource>,
    /// `(from, to)`: the first resource depends on the second one.
    pub edges: Vec<(u32, u32)>,
}

/// A resource in the graph.
#[derive(Clone, Debug)]
pub struct GraphResource {
    /// Address without keys: `module.a.aws_instance.b`.
    pub id: EcoString,
    /// Address in its module.
    pub label: EcoString,
    /// Module without keys; empty for the root module.
    pub module: EcoString,
    /// Changes of its instances.
    pub changes: Vec<u32>,
    /// The action with the highest risk among its changes; no-op without changes.
    pub action: ChangeAction,
}

/// A resource or module without instances because its `enabled` argument is false. Objects in a disabled module are not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisabledObject {
    /// Its address without keys.
    pub address: EcoString,
    /// Name of the file with the `enabled` argument.
    pub file: Option<EcoString>,
    /// Line of the argument, from 1.
    pub line: Option<usize>,
}

/// An object of a state.
#[derive(Clone, Debug)]
pub struct ReportResource {
    /// The object.
    pub address: ReportAddress,
    /// It is to be replaced by the next apply.
    pub tainted: bool,
    /// Its values: a block without changes. Values are left out where `problem` says why.
    pub values: DiffNode,
    /// Reason for missing values: without a schema, it is unknown which of them are sensitive.
    pub problem: Option<EcoString>,
}

impl ChangeAction {
    /// The word in JSON and in filters.
    pub fn word(self) -> &'static str {
        match self {
            ChangeAction::Destroy => "destroy",
            ChangeAction::Replace => "replace",
            ChangeAction::Forget => "forget",
            ChangeAction::Update => "update",
            ChangeAction::Create => "create",
            ChangeAction::Read => "read",
            ChangeAction::NoOp => "no-op",
        }
    }
    /// How much can be lost.
    pub fn risk(self) -> ChangeRisk {
        match self {
            ChangeAction::Destroy | ChangeAction::Replace | ChangeAction::Forget => ChangeRisk::High,
            ChangeAction::Update => ChangeRisk::Medium,
            ChangeAction::Create | ChangeAction::Read | ChangeAction::NoOp => ChangeRisk::Low,
        }
    }
}

impl ChangeRisk {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            ChangeRisk::High => "high",
            ChangeRisk::Medium => "medium",
            ChangeRisk::Low => "low",
        }
    }
}

impl ReplaceOrder {
    /// The word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            ReplaceOrder::DestroyFirst => "destroy-first",
            ReplaceOrder::CreateFirst => "create-first",
            ReplaceOrder::ForgetFirst => "forget-first",
        }
    }
}

impl ReportAddress {
    /// The address, with the key of a deposed object.
    pub fn display(&self) -> EcoString {
        match &self.deposed {
            Some(key) => ecow::eco_format!("{} (deposed object {key})", self.text),
            None => self.text.clone(),
        }
    }
}
