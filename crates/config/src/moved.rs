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

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn both_ends_are_addresses_of_one_kind() {
        check(
            r#"
moved {
  from = a.b
  to   = module.m[0].a.b["x"]
}
moved {
  from = a.b
  to   = module.m
}
moved {
  from = a.b
}
moved {
  from = ephemeral.a.b
  to   = ephemeral.a.c
}
moved {
  from = f(x)
  to   = "a.b"
}
moved {
  from = a
  to   = data.a.b
}
moved {
  from  = a.b[each.key]
  to    = resource.a.b
  other = 1
  block {}
}
"#,
            &expect![[r#"
                6:1 Error: Invalid "moved" addresses
                10:7 Error: Missing required argument
                10:1 Error: Invalid "moved" address
                13:1 Error: Invalid "moved" address
                13:1 Error: Invalid "moved" address
                18:10 Error: Invalid expression
                19:10 Error: Invalid expression
                17:1 Error: Invalid "moved" address
                17:1 Error: Invalid "moved" address
                22:10 Error: Invalid address
                21:1 Error: Invalid "moved" address
                28:3 Error: Unsupported argument
                29:3 Error: Unsupported block type
                26:11 Error: Invalid expression
                25:1 Error: Invalid "moved" address
            "#]],
        );
        check(
            r#"{"moved": [{"from": "a.b", "to": "module.x"}, {"from": 5, "to": "a b"}]}"#,
            &expect![[r#"
            1:11 Error: Invalid "moved" addresses
            1:56 Error: Invalid expression
            1:65 Error: Invalid expression
            1:11 Error: Invalid "moved" address
            1:11 Error: Invalid "moved" address
        "#]],
        );
    }
}
