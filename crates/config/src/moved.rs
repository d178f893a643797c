//! `moved` blocks.

use yuba_syntax::{Span, Traversal};

/// A `moved` block; the endpoints were checked to be addresses.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The old address.
    pub from: Traversal,
    /// The new address.
    pub to: Traversal,
    /// The block's header.
    pub span: Span,
}
