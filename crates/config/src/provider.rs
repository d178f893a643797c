//! `provider` blocks, and references to provider configurations.

use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::{Body, Expr, Span};

/// Local name and alias: unique in a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderKey {
    /// The local name.
    pub name: EcoString,
    /// The alias.
    pub alias: Option<EcoString>,
}

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// What it is called.
    pub key: ProviderKey,
    /// Where the alias stands.
    pub alias_span: Option<Span>,
    /// The old way to demand a version.
    pub version: Option<(EcoString, Span)>,
    /// `for_each`
    pub for_each: Option<Arc<Expr>>,
    /// Everything that is not a meta-argument.
    pub body: Body,
    /// Only there to override; set for a `provider` block of a test file that is a mock.
    pub mock: bool,
    /// The block's header.
    pub span: Span,
    /// The label.
    pub name_span: Span,
}

/// `aws`, `aws.west` or `aws.by_region[each.key]`
#[derive(Clone, Debug)]
pub struct ProviderRef {
    /// What it refers to.
    pub key: ProviderKey,
    /// The instance key, not evaluated.
    pub instance: Option<Arc<Expr>>,
    /// All of it.
    pub span: Span,
    /// The local name.
    pub name_span: Span,
    /// The alias.
    pub alias_span: Option<Span>,
}
