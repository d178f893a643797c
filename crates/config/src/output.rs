//! `output` blocks.

use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::{Expr, Span, Traversal};

use crate::check::CheckRule;

/// An `output` block.
#[derive(Clone, Debug)]
pub struct Output {
    /// The label.
    pub name: EcoString,
    /// For people.
    pub description: Option<EcoString>,
    /// `value`; missing only where the block overrides another one.
    pub value: Option<Arc<Expr>>,
    /// `depends_on`
    pub depends_on: Vec<Traversal>,
    /// `sensitive`, if given.
    pub sensitive: Option<bool>,
    /// `ephemeral`, if given.
    pub ephemeral: Option<bool>,
    /// The author's message.
    pub deprecated: Option<EcoString>,
    /// `precondition` blocks.
    pub preconditions: Vec<CheckRule>,
    /// The block's header.
    pub span: Span,
}
