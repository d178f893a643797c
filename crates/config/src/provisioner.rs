//! `provisioner` and `connection` blocks.

use std::sync::LazyLock;

use ecow::EcoString;
use yuba_syntax::{Block, Body, BodySchema, Diagnostics, Span, Traversal, TraversalStep};

use crate::constant::Decoding;
use crate::diagnostics::blocks as diagnostics;
use crate::quoted::{Wanted, unquote};
use crate::schema::schema;

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

/// Moment of a provisioner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProvisionerWhen {
    /// After the object was created.
    #[default]
    Create,
    /// Before the object is destroyed.
    Destroy,
}

/// Effect of a failed provisioner on the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It is tainted, and the operation failed.
    #[default]
    Fail,
    /// Nothing.
    Continue,
}

static SCHEMA: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&[], &["when", "on_failure"], &[("_", &[]), ("connection", &[]), ("lifecycle", &[])]));

/// Provisioners that once were.
const REMOVED: [&str; 4] = ["chef", "habitat", "puppet", "salt-masterless"];

/// Decodes a block with one label.
pub(crate) fn decode(block: &Block, with: &Decoding<'_>) -> (Option<Provisioner>, Diagnostics) {
    let [(kind, kind_span)] = block.labels.as_slice() else { return (None, Diagnostics::new()) };
    let (content, body, mut problems) = block.body.partial_content(&SCHEMA);
    if REMOVED.contains(&kind.as_str()) {
        problems.push(diagnostics::removed_provisioner(kind, *kind_span));
        return (None, problems);
    }
    let mut provisioner = Provisioner {
        kind: kind.clone(),
        body,
        connection: None,
        when: ProvisionerWhen::Create,
        on_failure: OnFailure::Fail,
        span: block.header_span,
        kind_span: *kind_span,
    };
    if let Some(attribute) = content.attribute("when") {
        match unquote(&attribute.expr, Wanted::Keyword, &mut problems).as_keyword().as_deref() {
            Some("create") => {}
            Some("destroy") => provisioner.when = ProvisionerWhen::Destroy,
            _ => problems.push(diagnostics::invalid_keyword("when", "create, destroy", attribute.expr.span)),
        }
    }
    if provisioner.when == ProvisionerWhen::Destroy {
        only_self(&provisioner.body, &mut problems);
    }
    if let Some(attribute) = content.attribute("on_failure") {
        match unquote(&attribute.expr, Wanted::Keyword, &mut problems).as_keyword().as_deref() {
            Some("fail") => {}
            Some("continue") => provisioner.on_failure = OnFailure::Continue,
            _ => problems.push(diagnostics::invalid_keyword("on_failure", "continue, fail", attribute.expr.span)),
        }
    }
    let mut escape = None;
    for inner in &content.blocks {
        let at = inner.header_span;
        match (inner.kind.as_str(), escape, &provisioner.connection) {
            ("_", Some(first), _) => {
                let specific = "those of the provisioner type";
                problems.push(diagnostics::duplicate_escape("provisioner", specific, &with.location(first), at));
            }
            ("_", None, _) => {
                escape = Some(at);
                provisioner.body = Body::merged(vec![provisioner.body, inner.body.clone()]);
            }
            ("connection", _, Some(first)) => {
                let first = with.location(first.span);
                problems.push(diagnostics::duplicate_block("connection", "provisioner", &first, at));
            }
            ("connection", _, None) => {
                if provisioner.when == ProvisionerWhen::Destroy {
                    only_self(&inner.body, &mut problems);
                }
                provisioner.connection = Some(Connection { body: inner.body.clone(), span: at });
            }
            _ => problems.push(diagnostics::reserved_block(&inner.kind, "provisioner", inner.kind_span)),
        }
    }
    (Some(provisioner), problems)
}

/// Provisioners that run on destroy can refer only to the object itself.
pub(crate) fn only_self(body: &Body, problems: &mut Diagnostics) {
    let (attributes, _) = body.just_attributes();
    for attribute in attributes {
        for _ in attribute.expr.variables().into_iter().filter(|name| !is_available_at_destroy(name)) {
            problems.push(diagnostics::destroy_provisioner_reference(attribute.expr.span));
        }
    }
}

fn is_available_at_destroy(name: &Traversal) -> bool {
    let only_step = |wanted: &str| match &*name.steps {
        [TraversalStep::Attr { name, .. }] => name == wanted,
        _ => false,
    };
    match name.root.as_str() {
        "self" | "path" | "terraform" | "tofu" => true,
        "count" => only_step("index"),
        "each" => only_step("key"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn provisioners() {
        check(
            r#"
resource "a" "b" {
  provisioner "local-exec" {
    when       = destroy
    on_failure = continue
    command    = "${self.a} ${count.index} ${each.key} ${path.module} ${tofu.workspace} ${terraform.workspace}"
    connection {
      host = self.x
    }
  }
  provisioner "local-exec" {
    when       = "create"
    on_failure = "fail"
    command    = a.b.c
    connection {}
    connection {}
    lifecycle {}
    _ {}
    _ {}
  }
  provisioner "local-exec" {
    when       = never
    on_failure = maybe
  }
  provisioner "local-exec" {
    when       = "a b"
    on_failure = 1
  }
  provisioner "local-exec" {
    when    = destroy
    command = "${var.a} ${local.b} ${count.x} ${each.value} ${each.key.x} ${count}"
    connection {
      host = a.b.c
    }
  }
  provisioner "chef" {}
  provisioner "habitat" {}
  provisioner "puppet" { when = nonsense }
  provisioner "salt-masterless" {}
  connection {
    host = a.c.d
    port = self.port
  }
}
"#,
            &expect![[r#"
                12:18 Warning: Quoted keywords are deprecated
                13:18 Warning: Quoted keywords are deprecated
                16:5 Error: Duplicate connection block
                17:5 Error: Reserved block type name in provisioner block
                19:5 Error: Duplicate escaping block
                22:18 Error: Invalid "when" keyword
                23:18 Error: Invalid "on_failure" keyword
                26:21 Error: Invalid character
                26:18 Warning: Quoted keywords are deprecated
                26:18 Error: Invalid "when" keyword
                27:18 Error: Invalid "on_failure" keyword
                31:15 Error: Invalid reference from destroy provisioner
                31:15 Error: Invalid reference from destroy provisioner
                31:15 Error: Invalid reference from destroy provisioner
                31:15 Error: Invalid reference from destroy provisioner
                31:15 Error: Invalid reference from destroy provisioner
                31:15 Error: Invalid reference from destroy provisioner
                33:14 Error: Invalid reference from destroy provisioner
                36:15 Error: The "chef" provisioner has been removed
                37:15 Error: The "habitat" provisioner has been removed
                38:15 Error: The "puppet" provisioner has been removed
                39:15 Error: The "salt-masterless" provisioner has been removed
                41:12 Error: Invalid reference from destroy provisioner
            "#]],
        );
    }
}
