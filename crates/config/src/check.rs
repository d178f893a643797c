//! `check` blocks, and the rules that stand in many blocks: condition and message.

use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_addrs::{ParseRefContext, Reference, ResourceMode, Subject};
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Block, BodySchema, Diagnostics, Expr, Span};

use crate::constant::Decoding;
use crate::diagnostics::blocks as diagnostics;
use crate::file::FileKind;
use crate::lifecycle::AnyResource;
use crate::resource::{self, BlockContext, Resource, ResourceKey};
use crate::schema::schema;

/// A `validation`, `precondition`, `postcondition` or `assert` block.
#[derive(Clone, Debug)]
pub struct CheckRule {
    /// The condition.
    pub condition: Option<Arc<Expr>>,
    /// The error message.
    pub message: Option<Arc<Expr>>,
    /// The block's header.
    pub span: Span,
}

/// A `check` block.
#[derive(Clone, Debug)]
pub struct Check {
    /// The label.
    pub name: EcoString,
    /// The data block inside it, if any; declared in the module, visible only here.
    pub data: Option<ResourceKey>,
    /// `assert` blocks.
    pub asserts: Vec<CheckRule>,
    /// The block's header.
    pub span: Span,
}

static RULE: LazyLock<BodySchema> = LazyLock::new(|| schema(&["condition", "error_message"], &[], &[]));
static CHECK: LazyLock<BodySchema> =
    LazyLock::new(|| schema(&[], &[], &[("data", &["type", "name"]), ("assert", &[])]));

/// Decodes a block that has the form of a rule, whatever its type.
pub(crate) fn decode_rule(block: &Block, kind: FileKind) -> (CheckRule, Diagnostics) {
    let mut rule = CheckRule { condition: None, message: None, span: block.header_span };
    if kind == FileKind::Override {
        return (rule, diagnostics::override_rule(&block.kind, block.header_span).into());
    }
    let (content, mut problems) = block.body.content(&RULE);
    if let Some(attribute) = content.attribute("condition") {
        if attribute.expr.variables().is_empty() {
            problems.push(diagnostics::constant_condition(&block.kind, attribute.expr.span));
        }
        rule.condition = Some(attribute.expr.clone());
    }
    rule.message = content.attribute("error_message").map(|attribute| attribute.expr.clone());
    (rule, problems)
}

/// A condition of a resource cannot refer to the resource by its name. Names that may belong to an opt-in feature are left to
/// [`own_resource_problems`].
pub(crate) fn forbid_own_resource(rule: &CheckRule, kind: &str, key: &ResourceKey, problems: &mut Diagnostics) {
    if resource::is_of_feature_type(key) {
        return;
    }
    problems.extend(own_resource_problems(rule, kind, key, &AnyResource));
}

/// Errors in a condition of a resource that refers to the resource by its name.
pub fn own_resource_problems(
    rule: &CheckRule,
    kind: &str,
    key: &ResourceKey,
    context: &dyn ParseRefContext,
) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let own = yuba_addrs::Resource::from(key);
    for expr in [&rule.condition, &rule.message].into_iter().flatten() {
        let is_own = |traversal| match Reference::parse(traversal, context).0.map(|reference| reference.subject) {
            Some(Subject::Resource(resource) | Subject::ResourceInstance(resource, _)) => resource == own,
            _ => false,
        };
        if expr.variables().into_iter().any(is_own) {
            problems.push(diagnostics::rule_refers_to_own_resource(kind, &ecow::eco_format!("{own}"), expr.span));
        }
    }
    problems
}

/// Decodes a `check` block; the data block inside it comes apart.
pub(crate) fn decode(
    block: &Block,
    kind: FileKind,
    with: &Decoding<'_>,
) -> (Option<Check>, Option<Resource>, Diagnostics) {
    let [(name, name_span)] = block.labels.as_slice() else { return (None, None, Diagnostics::new()) };
    let mut check = Check { name: name.clone(), data: None, asserts: Vec::new(), span: block.header_span };
    if kind == FileKind::Override {
        return (Some(check), None, diagnostics::override_rule("check", block.header_span).into());
    }
    let (content, mut problems) = block.body.content(&CHECK);
    if !is_identifier(name) {
        problems.push(crate::diagnostics::invalid_name("check block", name, *name_span));
    }
    let mut data: Option<Resource> = None;
    for inner in &content.blocks {
        if inner.kind == "assert" {
            let (rule, found) = decode_rule(inner, FileKind::Primary);
            if !found.has_errors() {
                check.asserts.push(rule);
            }
            problems.extend(found);
        } else if let Some(first) = &data {
            problems.push(diagnostics::second_data_in_check(&with.location(first.span), inner.header_span));
        } else {
            let (resource, found) = resource::decode(inner, ResourceMode::Data, BlockContext::Check, with);
            if !found.has_errors() {
                data = resource.map(|resource| Resource { inside_check: Some(name.clone()), ..resource });
                check.data = data.as_ref().map(|resource| resource.key.clone());
            }
            problems.extend(found);
        }
    }
    if check.asserts.is_empty() {
        problems.push(diagnostics::check_without_assert(check.span));
    }
    (Some(check), data, problems)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, check_override};

    #[test]
    fn checks_have_asserts_and_at_most_one_data_block() {
        check(
            r#"
check "ok" {
  data "terraform_remote_state" "a" {}
  assert {
    condition     = data.terraform_remote_state.a.outputs != null
    error_message = "no"
  }
}
check "0 bad" {
  data "a" "b" {
    count    = 1
    for_each = {}
    lifecycle {
      enabled = true
      prevent_destroy = true
    }
  }
  data "a" "b" {}
  data "a" "c" {}
  assert {
    condition = true
  }
  assert {
    error_message = "x"
    more          = 1
  }
  other {}
}
"#,
            &expect![[r#"
                27:3 Error: Unsupported block type
                9:7 Error: Invalid check block name
                11:5 Error: Invalid "count" attribute
                12:5 Error: Invalid "for_each" attribute
                13:5 Error: Invalid lifecycle block
                15:7 Error: Invalid data resource lifecycle argument
                19:3 Error: Multiple data resource blocks
                20:10 Error: Missing required argument
                21:17 Error: Invalid assert expression
                23:10 Error: Missing required argument
                25:5 Error: Unsupported argument
                9:1 Error: Zero assert blocks
            "#]],
        );
        check_override(
            "check \"a\" {\n}\n",
            &expect![[r#"
            1:1 Error: Can't override check blocks
        "#]],
        );
    }

    #[test]
    fn a_condition_does_not_name_its_own_resource() {
        check(
            r#"
resource "a" "b" {
  lifecycle {
    precondition {
      condition     = a.b.c == data.a.b
      error_message = "no ${resource.a.b.c}"
    }
    postcondition {
      condition     = self.c == 1
      error_message = "no ${a.c.d} ${data.a.b}"
    }
    postcondition {
      condition     = a.b[0].c == a.b.d
      error_message = "no"
    }
  }
}
data "a" "b" {
  lifecycle {
    precondition {
      condition     = data.a.b != a.b
      error_message = "no"
    }
  }
}
"#,
            &expect![[r#"
                5:23 Error: Invalid reference in precondition
                6:23 Error: Invalid reference in precondition
                13:23 Error: Invalid reference in postcondition
                21:23 Error: Invalid reference in precondition
            "#]],
        );
        check_override(
            "resource \"a\" \"b\" {\n  lifecycle {\n    precondition {\n    }\n  }\n}\n",
            &expect![[r#"
                3:5 Error: Can't override precondition blocks
            "#]],
        );
    }
}
