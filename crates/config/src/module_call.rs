//! `module` blocks.

use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::{Body, Expr, Span, Traversal};

use crate::provider::ProviderRef;
use crate::resource::Repetition;

/// A `module` block.
#[derive(Clone, Debug)]
pub struct ModuleCall {
    /// The label.
    pub name: EcoString,
    /// `source`, not evaluated.
    pub source: Option<Arc<Expr>>,
    /// `version`, not evaluated.
    pub version: Option<Arc<Expr>>,
    /// The arguments for the child's variables.
    pub body: Body,
    /// `count`, `for_each`, `lifecycle.enabled`.
    pub repetition: Repetition,
    /// `providers`: what the child calls them, and what they are here.
    pub providers: Vec<PassedProvider>,
    /// `depends_on`
    pub depends_on: Vec<Traversal>,
    /// The block's header.
    pub span: Span,
}

/// One entry of `providers`.
#[derive(Clone, Debug)]
pub struct PassedProvider {
    /// What the child calls it.
    pub in_child: ProviderRef,
    /// What it is in this module.
    pub in_parent: ProviderRef,
}
