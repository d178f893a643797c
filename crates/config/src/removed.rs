//! `removed` blocks.

use yuba_syntax::{Span, Traversal};

use crate::provisioner::Provisioner;

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The address of what was removed.
    pub from: Traversal,
    /// `lifecycle.destroy`: whether the objects are destroyed or forgotten.
    pub destroy: bool,
    /// `provisioner` blocks, run before destroying.
    pub provisioners: Vec<Provisioner>,
    /// The block's header.
    pub span: Span,
}
