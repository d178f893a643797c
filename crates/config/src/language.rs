//! The `language` block.

use ecow::EcoString;
use yuba_syntax::Span;

/// The `language` block.
#[derive(Clone, Debug, Default)]
pub struct Language {
    /// `edition`
    pub edition: Option<(EcoString, Span)>,
    /// `compatible_with { opentofu = ... }`
    pub compatible_with: Option<(EcoString, Span)>,
    /// Keywords of `experiments`.
    pub experiments: Vec<(EcoString, Span)>,
}
