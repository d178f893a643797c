//! `provisioner` and `connection` blocks.

use ecow::EcoString;
use yuba_syntax::{Body, Span};

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    /// The label.
    pub kind: EcoString,
    /// Everything that is not a meta-argument.
    pub body: Body,
    /// A `connection` block of its own.
    pub connection: Option<Connection>,
    /// `when`
    pub when: ProvisionerWhen,
    /// `on_failure`
    pub on_failure: OnFailure,
    /// The block's header.
    pub span: Span,
    /// The label.
    pub kind_span: Span,
}

/// A `connection` block.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Its content.
    pub body: Body,
    /// The block's header.
    pub span: Span,
}

/// When a provisioner runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProvisionerWhen {
    /// After the object was created.
    #[default]
    Create,
    /// Before the object is destroyed.
    Destroy,
}

/// What a failed provisioner does to the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It is tainted, and the operation failed.
    #[default]
    Fail,
    /// Nothing.
    Continue,
}
