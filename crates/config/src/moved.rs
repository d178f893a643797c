//! `moved` blocks.

use std::sync::LazyLock;

use yuba_addrs::MoveEndpoint;
use yuba_syntax::{Attribute, Block, BodySchema, Diagnostics, Span};

use crate::diagnostics::blocks as diagnostics;
use crate::schema::schema;

/// A `moved` block.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The old address.
    pub from: MoveEndpoint,
    /// The new address.
    pub to: MoveEndpoint,
    /// The block's header.
    pub span: Span,
}

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| schema(&["from", "to"], &[], &[]));

/// Decodes a block without labels.
pub(crate) fn decode(block: &Block) -> (Option<Moved>, Diagnostics) {
    let (content, mut problems) = block.body.content(&SCHEMA);
    let mut endpoint = |name| decode_endpoint(content.attribute(name), &mut problems);
    let (from, to) = (endpoint("from"), endpoint("to"));
    for (name, end) in [("from", &from), ("to", &to)] {
        // Quirk: an address that could not be read is one that cannot move, too.
        if !end.as_ref().is_some_and(MoveEndpoint::is_movable) {
            problems.push(diagnostics::moved_address(name, block.header_span));
        }
    }
    let (Some(from), Some(to), false) = (from, to, problems.has_errors()) else { return (None, problems) };
    if !from.might_unify_with(&to) {
        problems.push(diagnostics::moved_addresses_differ(block.header_span));
    }
    (Some(Moved { from, to, span: block.header_span }), problems)
}

fn decode_endpoint(attribute: Option<&Attribute>, problems: &mut Diagnostics) -> Option<MoveEndpoint> {
    let endpoint = attribute?.expr.to_traversal().and_then(|traversal| MoveEndpoint::parse(&traversal));
    endpoint.map_err(|found| problems.extend(found)).ok()
}
