//! `import` blocks.

use std::sync::Arc;

use yuba_syntax::{Expr, Span};

use crate::provider::ProviderRef;

/// An `import` block.
#[derive(Clone, Debug)]
pub struct Import {
    /// The address, whose instance keys may be expressions.
    pub to: Arc<Expr>,
    /// `id`
    pub id: Option<Arc<Expr>>,
    /// `identity`
    pub identity: Option<Arc<Expr>>,
    /// `for_each`
    pub for_each: Option<Arc<Expr>>,
    /// `provider`
    pub provider: Option<ProviderRef>,
    /// The block's header.
    pub span: Span,
}
