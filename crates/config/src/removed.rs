//! `removed` blocks.

use std::sync::LazyLock;

use yuba_addrs::{RemoveEndpoint, RemoveSubject};
use yuba_syntax::{Block, BodySchema, Diagnostics, Span};

use crate::constant::Decoding;
use crate::diagnostics::blocks as diagnostics;
use crate::provisioner::{self, Provisioner, ProvisionerWhen};
use crate::schema::schema;

/// A `removed` block.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The address of what was removed.
    pub from: RemoveEndpoint,
    /// `lifecycle.destroy`: whether the objects are destroyed or forgotten.
    pub destroy: bool,
    /// `provisioner` blocks, run before destroying.
    pub provisioners: Vec<Provisioner>,
    /// The block's header.
    pub span: Span,
}

static SCHEMA: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&["from"], &[], &[("lifecycle", &[]), ("provisioner", &["type"])]));
static LIFECYCLE: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["destroy"], &[]));

/// Decodes a block without labels.
pub(crate) fn decode(block: &Block, with: &Decoding<'_>) -> (Option<Removed>, Diagnostics) {
    let (content, mut problems) = block.body.content(&SCHEMA);
    let mut from = None;
    if let Some(attribute) = content.attribute("from") {
        match attribute.expr.to_traversal().and_then(|traversal| RemoveEndpoint::parse(&traversal)) {
            Ok(endpoint) => from = Some(endpoint),
            Err(found) => problems.extend(found),
        }
    }
    let mut destroy = None;
    let mut provisioners = Vec::new();
    let mut lifecycle = None;
    for inner in &content.blocks {
        let at = inner.header_span;
        if inner.kind == "provisioner" {
            let (provisioner, found) = provisioner::decode(inner, with);
            problems.extend(found);
            let is_module = from.as_ref().is_some_and(|from| matches!(from.subject, RemoveSubject::Module(_)));
            match provisioner {
                Some(provisioner) if provisioner.when != ProvisionerWhen::Destroy => {
                    problems.push(diagnostics::removed_provisioner_when(at));
                }
                Some(_) if is_module => problems.push(diagnostics::removed_module_with_provisioner(block.header_span)),
                provisioner => provisioners.extend(provisioner),
            }
        } else if let Some(first) = lifecycle {
            problems.push(diagnostics::duplicate_block("lifecycle", "removed block", &with.location(first), at));
        } else {
            lifecycle = Some(at);
            let (content, found) = inner.body.content(&LIFECYCLE);
            problems.extend(found);
            if let Some(attribute) = content.attribute("destroy") {
                destroy = Some(with.bool(&attribute.expr, &mut problems).unwrap_or_default());
            }
        }
    }
    if !problems.has_errors() {
        match destroy {
            None => problems.push(diagnostics::removed_without_lifecycle(block.header_span)),
            Some(false) if !provisioners.is_empty() => {
                problems.push(diagnostics::removed_provisioners_unused(block.header_span));
            }
            Some(_) => {}
        }
    }
    let destroy = destroy.unwrap_or_default();
    (from.map(|from| Removed { from, destroy, provisioners, span: block.header_span }), problems)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn removed_blocks() {
        check(
            r#"
removed {
  from = a.b
  lifecycle {
    destroy = true
  }
  provisioner "local-exec" {
    when    = destroy
    command = self.x
  }
}
removed {
  from = module.m
}
removed {
  from = a.b
  lifecycle {
    destroy = false
  }
  provisioner "local-exec" {
    when = destroy
  }
}
"#,
            &expect![[r#"
                12:1 Warning: Missing lifecycle from the removed block
                15:1 Warning: Removed block provisioners will not be executed
            "#]],
        );
        check(
            r#"
removed {
  from = a.b
  lifecycle {}
  lifecycle {}
  provisioner "local-exec" {}
  provisioner "chef" {}
}
removed {
  from = module.m
  provisioner "local-exec" {
    when    = destroy
    command = a.b
  }
}
removed {
  lifecycle {
    destroy = var.x
    other   = 1
  }
}
removed {
  from = a.b[0]
  lifecycle {
    destroy = "perhaps"
  }
}
removed {
  from = data.a.b
}
removed {
  from = f(x)
}
removed {
  from = "a.b"
}
"#,
            &expect![[r#"
                5:3 Error: Duplicate lifecycle block
                6:3 Error: Invalid "removed.provisioner" block
                7:15 Error: The "chef" provisioner has been removed
                13:15 Error: Invalid reference from destroy provisioner
                9:1 Error: Invalid "removed" block
                16:9 Error: Missing required argument
                19:5 Error: Unsupported argument
                18:15 Error: Variables not allowed
                23:13 Error: Resource instance address with keys is not allowed
                25:16 Error: Unsuitable value type
                29:10 Error: Data source address is not allowed
                32:10 Error: Invalid expression
                35:10 Error: Invalid expression
            "#]],
        );
    }
}
