//! `resource`, `data` and `ephemeral` blocks.

use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::ResourceMode;
use yuba_syntax::{Body, Expr, Span, Traversal};

use crate::check::CheckRule;
use crate::provider::ProviderRef;
use crate::provisioner::{Connection, Provisioner};

/// Mode, type and name: unique in a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceKey {
    /// Managed, data or ephemeral.
    pub mode: ResourceMode,
    /// The first label.
    pub kind: EcoString,
    /// The second label.
    pub name: EcoString,
}

/// How many instances an object has.
#[derive(Clone, Debug, Default)]
pub enum Repetition {
    /// One, without key.
    #[default]
    Single,
    /// `count`
    Count(Arc<Expr>),
    /// `for_each`
    ForEach(Arc<Expr>),
    /// `lifecycle.enabled`: none or one, without key.
    Enabled(Arc<Expr>),
}

/// A `resource`, `data` or `ephemeral` block.
#[derive(Clone, Debug)]
pub struct Resource {
    /// What it is called.
    pub key: ResourceKey,
    /// Everything that is not a meta-argument: the provider's schema tells what it means.
    pub body: Body,
    /// `count`, `for_each`, `lifecycle.enabled`.
    pub repetition: Repetition,
    /// `provider`
    pub provider: Option<ProviderRef>,
    /// `depends_on`
    pub depends_on: Vec<Traversal>,
    /// `lifecycle` and what else only managed resources have.
    pub lifecycle: Lifecycle,
    /// `connection`
    pub connection: Option<Connection>,
    /// `provisioner` blocks.
    pub provisioners: Vec<Provisioner>,
    /// The `check` block it stands in; references from elsewhere are mistakes.
    pub inside_check: Option<EcoString>,
    /// The block's header.
    pub span: Span,
    /// The first label.
    pub kind_span: Span,
}

/// The `lifecycle` block.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// `create_before_destroy`, if given.
    pub create_before_destroy: Option<bool>,
    /// `prevent_destroy`: any expression.
    pub prevent_destroy: Option<Arc<Expr>>,
    /// `destroy`, if given.
    pub destroy: Option<Arc<Expr>>,
    /// `ignore_changes`
    pub ignore_changes: IgnoreChanges,
    /// `replace_triggered_by`
    pub replace_triggered_by: Vec<Arc<Expr>>,
    /// `precondition` blocks.
    pub preconditions: Vec<CheckRule>,
    /// `postcondition` blocks.
    pub postconditions: Vec<CheckRule>,
}

/// Which changes are not made.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    /// Every change counts.
    #[default]
    None,
    /// No change counts.
    All,
    /// Changes at these places do not count.
    Some(Vec<Traversal>),
}
