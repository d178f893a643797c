//! `import` blocks.

use std::sync::{Arc, LazyLock};

use yuba_addrs::ImportTarget;
use yuba_syntax::{Block, BodySchema, Diagnostics, Expr, Span};

use crate::diagnostics::blocks as diagnostics;
use crate::provider::{self, ProviderRef};
use crate::quoted::{self, Syntax};
use crate::schema::schema;

/// An `import` block.
#[derive(Clone, Debug)]
pub struct Import {
    /// The address, whose instance keys may be expressions.
    pub to: ImportTarget,
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
    /// All of the `provider` argument.
    pub provider_span: Option<Span>,
}

static SCHEMA: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&["to"], &["provider", "id", "identity", "for_each"], &[]));

/// Decodes a block without labels.
pub(crate) fn decode(block: &Block) -> (Option<Import>, Diagnostics) {
    let syntax = Syntax::of(&block.body);
    let (content, mut problems) = block.body.content(&SCHEMA);
    let mut to = None;
    if let Some(attribute) = content.attribute("to") {
        match quoted::native(&attribute.expr, syntax).and_then(|native| ImportTarget::parse(&native)) {
            Ok(target) => to = Some(target),
            Err(found) => {
                problems.extend(found);
                return (None, problems);
            }
        }
    }
    let mut provider = None;
    if let Some(attribute) = content.attribute("provider") {
        if to.as_ref().is_some_and(|to| !to.config.module.is_root()) {
            problems.push(diagnostics::import_provider_in_module(attribute.span));
        }
        let (reference, found) = provider::decode_ref(&attribute.expr, "provider", syntax);
        problems.extend(found);
        provider = reference;
    }
    let (id, identity) = (content.attribute("id"), content.attribute("identity"));
    match (id, identity) {
        (None, None) => problems.push(diagnostics::import_without_id(block.header_span)),
        (Some(id), Some(identity)) => problems.push(diagnostics::import_id_and_identity(id.span.to(identity.span))),
        _ => {}
    }
    let import = to.map(|to| Import {
        to,
        id: id.map(|attribute| attribute.expr.clone()),
        identity: identity.map(|attribute| attribute.expr.clone()),
        for_each: content.attribute("for_each").map(|attribute| attribute.expr.clone()),
        provider,
        span: block.header_span,
        provider_span: content.attribute("provider").map(|attribute| attribute.span),
    });
    (import, problems)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn import_blocks() {
        check(
            r#"
import {
  for_each = var.x
  to       = module.m[each.key].a.b[each.value]
  id       = each.key
}
import {
  to       = a.b
  identity = { a = 1 }
  provider = x.y
}
import {
  to = a.b
}
import {
  id       = "x"
  identity = {}
}
import {
  identity = {}
  to       = module.m.a.b
  provider = x.y
  id       = "x"
}
import {
  to       = "a.b"
  provider = "x y"
  id       = "x"
}
import {
  to = f(x)
}
import {
  to = module.m
}
import {
  to = data.a.b
  id = "x"
}
import {
  to       = a.b.c
  id       = "x"
  provider = X
}
import {
  to       = a.b
  id       = "x"
  provider = 5
  other    = 1
}
"#,
            &expect![[r#"
                12:1 Error: Missing required import argument
                15:8 Error: Missing required argument
                16:3 Error: Conflicting import arguments
                22:3 Error: Invalid import provider argument
                20:3 Error: Conflicting import arguments
                26:14 Error: Invalid import address expression
                31:8 Error: Invalid import address expression
                34:8 Error: Invalid address
                41:17 Error: Invalid address
                49:3 Error: Unsupported argument
                48:14 Error: Invalid provider configuration reference
            "#]],
        );
        check(
            r#"{"import": [{"to": "a.b[each.key]", "id": "x"}, {"to": 5, "id": "x"}, {"to": "a +", "id": "x"}, {"to": "${a.b}", "id": "x"}]}"#,
            &expect![[r#"
                1:56 Error: Expected string expression
                1:81 Error: Missing expression
                1:104 Error: Invalid character
                1:104 Error: Invalid expression
            "#]],
        );
    }
}
