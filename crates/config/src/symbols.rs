//! `symbols` blocks and symbol libraries.

use ecow::EcoString;
use yuba_syntax::Span;

/// A `symbols` block.
#[derive(Clone, Debug)]
pub struct SymbolsCall {
    /// The label.
    pub name: EcoString,
    /// `source`
    pub source: Option<(EcoString, Span)>,
    /// The block's header.
    pub span: Span,
}

/// Decodes a block with one label.
pub(crate) fn decode(
    _: &yuba_syntax::Block,
    _: &crate::constant::Decoding<'_>,
) -> (Option<SymbolsCall>, yuba_syntax::Diagnostics) {
    (None, yuba_syntax::Diagnostics::new())
}
