//! The `terraform` block: versions, required providers, backend, encryption.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::{Body, Span};

use crate::provider::ProviderRef;

/// A `required_version` argument.
#[derive(Clone, Debug)]
pub struct CoreVersion {
    /// The constraint as written.
    pub text: EcoString,
    /// Where it stands.
    pub span: Span,
}

/// `required_providers`
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// By local name.
    pub providers: BTreeMap<EcoString, RequiredProvider>,
    /// The block's header.
    pub span: Option<Span>,
}

/// One entry of `required_providers`.
#[derive(Clone, Debug)]
pub struct RequiredProvider {
    /// The local name.
    pub name: EcoString,
    /// `source` as written.
    pub source: Option<EcoString>,
    /// The version constraint as written.
    pub version: Option<(EcoString, Span)>,
    /// `configuration_aliases`
    pub aliases: Vec<ProviderRef>,
    /// Where it stands.
    pub span: Span,
}

/// The `backend` block.
#[derive(Clone, Debug)]
pub struct Backend {
    /// The label.
    pub kind: EcoString,
    /// Its content.
    pub body: Body,
    /// The block's header.
    pub span: Span,
    /// The label.
    pub kind_span: Span,
}

/// The `cloud` block.
#[derive(Clone, Debug)]
pub struct Cloud {
    /// Its content.
    pub body: Body,
    /// The block's header.
    pub span: Span,
}

/// The `encryption` block; decoded when state is.
#[derive(Clone, Debug)]
pub struct Encryption {
    /// Its contents: one, or more where override files add to it.
    pub bodies: Arc<[Body]>,
    /// The block's header.
    pub span: Span,
}

/// A `provider_meta` block.
#[derive(Clone, Debug)]
pub struct ProviderMeta {
    /// The local name of the provider.
    pub provider: EcoString,
    /// Its content.
    pub body: Body,
    /// The block's header.
    pub span: Span,
}
