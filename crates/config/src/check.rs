//! `check` blocks, and the rules that stand in many blocks: condition and message.

use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::{Expr, Span};

use crate::resource::ResourceKey;

/// A `validation`, `precondition`, `postcondition` or `assert` block.
#[derive(Clone, Debug)]
pub struct CheckRule {
    /// What must hold.
    pub condition: Option<Arc<Expr>>,
    /// What to say if it does not.
    pub message: Option<Arc<Expr>>,
    /// The block's header.
    pub span: Span,
}

/// A `check` block.
#[derive(Clone, Debug)]
pub struct Check {
    /// The label.
    pub name: EcoString,
    /// The data block inside it, if any; declared in the module, visible only here.
    pub data: Option<ResourceKey>,
    /// `assert` blocks.
    pub asserts: Vec<CheckRule>,
    /// The block's header.
    pub span: Span,
}
