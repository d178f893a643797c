//! `module` blocks.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Attribute, Block, Body, BodySchema, Diagnostics, Expr, Span, Traversal};

use crate::constant::Decoding;
use crate::depends_on;
use crate::diagnostics::blocks as diagnostics;
use crate::file::FileKind;
use crate::provider::{self, ProviderRef};
use crate::quoted::Syntax;
use crate::resource::{Repetition, RepetitionArguments};
use crate::schema::{nothing_required, schema};

/// A `module` block.
#[derive(Clone, Debug)]
pub struct ModuleCall {
    /// The label.
    pub name: EcoString,
    /// `source`, not evaluated.
    pub source: Option<Arc<Expr>>,
    /// `version`, not evaluated.
    pub version: Option<Arc<Expr>>,
    /// All of the `version` argument.
    pub version_span: Option<Span>,
    /// The arguments for the child's variables.
    pub body: Body,
    /// `count`, `for_each`, `lifecycle.enabled`.
    pub repetition: Repetition,
    /// `providers`: what the child calls them, and what they are here.
    pub providers: Vec<PassedProvider>,
    /// `depends_on`
    pub depends_on: Vec<Traversal>,
    /// The block's header.
    pub span: Span,
}

/// One entry of `providers`.
#[derive(Clone, Debug)]
pub struct PassedProvider {
    /// Local name in the child.
    pub in_child: ProviderRef,
    /// Configuration in this module.
    pub in_parent: ProviderRef,
}

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    let optional = ["version", "count", "for_each", "depends_on", "providers"];
    schema(&["source"], &optional, &[("_", &[]), ("lifecycle", &[]), ("locals", &[]), ("provider", &["type"])])
});
static OVERRIDE: LazyLock<BodySchema> = LazyLock::new(|| nothing_required(&SCHEMA));
static LIFECYCLE: LazyLock<BodySchema> = LazyLock::new(|| schema(&[], &["enabled"], &[]));

/// Decodes a block with one label.
pub(crate) fn decode(block: &Block, kind: FileKind, with: &Decoding<'_>) -> (Option<ModuleCall>, Diagnostics) {
    let [(name, name_span)] = block.labels.as_slice() else { return (None, Diagnostics::new()) };
    let (content, body, mut problems) =
        block.body.partial_content(if kind == FileKind::Override { &OVERRIDE } else { &SCHEMA });
    if !is_identifier(name) {
        problems.push(crate::diagnostics::invalid_name("module instance", name, *name_span));
    }
    let expr = |name| content.attribute(name).map(|attribute| attribute.expr.clone());
    let mut call = ModuleCall {
        name: name.clone(),
        source: expr("source"),
        version: expr("version"),
        version_span: content.attribute("version").map(|attribute| attribute.span),
        body,
        repetition: Repetition::Single,
        providers: Vec::new(),
        depends_on: Vec::new(),
        span: block.header_span,
    };
    let mut repetition = RepetitionArguments {
        count: content.attribute("count").cloned(),
        for_each: content.attribute("for_each").cloned(),
        enabled: None,
    };
    if let Some(attribute) = content.attribute("depends_on") {
        let (references, found) = depends_on::decode(&attribute.expr);
        problems.extend(found);
        call.depends_on = references;
    }
    if let Some(attribute) = content.attribute("providers") {
        call.providers = decode_providers(attribute, Syntax::of(&block.body), with, &mut problems);
    }
    let (mut lifecycle, mut escape) = (None, None);
    for inner in &content.blocks {
        let at = inner.header_span;
        match (inner.kind.as_str(), lifecycle, escape) {
            ("lifecycle", Some(first), _) => {
                problems.push(diagnostics::duplicate_block("lifecycle", "module", &with.location(first), at));
            }
            ("lifecycle", None, _) => {
                lifecycle = Some(at);
                let (content, found) = inner.body.content(&LIFECYCLE);
                problems.extend(found);
                repetition.enabled = content.attribute("enabled").cloned();
            }
            ("_", _, Some(first)) => {
                let specific = "input variables of the module";
                problems.push(diagnostics::duplicate_escape("module", specific, &with.location(first), at));
            }
            ("_", _, None) => {
                escape = Some(at);
                call.body = Body::merged(vec![call.body, inner.body.clone()]);
            }
            _ => problems.push(diagnostics::reserved_block(&inner.kind, "module", inner.kind_span)),
        }
    }
    call.repetition = repetition.decide("module instances", &mut problems);
    (Some(call), problems)
}

/// Whether all instances of a provider can be passed as one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Collections {
    Allowed,
    Refused,
}

/// Errors in passing all instances of providers: it requires the feature, and both sides must write `[*]`.
pub(crate) fn check_collections(providers: &[PassedProvider], collections: Collections) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for PassedProvider { in_child, in_parent } in providers {
        for reference in [in_child, in_parent].into_iter().filter(|reference| reference.all_instances) {
            if collections == Collections::Refused {
                problems.push(diagnostics::not_a_provider_reference("providers", reference.span));
            } else if in_child.all_instances != in_parent.all_instances {
                problems.push(diagnostics::collection_on_one_side(reference.span));
            }
        }
    }
    problems
}

/// The pairs of a `providers` argument, of `module` and `run` blocks.
pub(crate) fn decode_providers(
    attribute: &Attribute,
    syntax: Syntax,
    with: &Decoding<'_>,
    problems: &mut Diagnostics,
) -> Vec<PassedProvider> {
    let Some(items) = attribute.expr.as_map() else {
        problems.push(diagnostics::object_literal_required(attribute.expr.start_span()));
        return Vec::new();
    };
    let mut passed = Vec::new();
    let mut seen = BTreeMap::new();
    for item in items {
        let (in_child, found) = provider::decode_key(item, "providers", syntax);
        let mut failed = found.has_errors();
        problems.extend(found);
        let (in_parent, found) = provider::decode_passed(&item.value, "providers", syntax);
        failed |= found.has_errors();
        problems.extend(found);
        let (Some(in_child), Some(in_parent), false) = (in_child, in_parent, failed) else { continue };
        if let Some(first) = seen.get(&in_child.key) {
            let name = ecow::eco_format!("{}", in_child.key);
            problems.push(diagnostics::provider_passed_twice(&name, &with.location(*first), item.value.span));
            continue;
        }
        seen.insert(in_child.key.clone(), item.key.span.to(item.value.span));
        passed.push(PassedProvider { in_child, in_parent });
    }
    passed
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, check_all, check_override, module};

    #[test]
    fn module_blocks() {
        check(
            r#"
module "ok" {
  source     = "./x"
  version    = null
  depends_on = [a.b]
  enabled    = true
  lifecycle {
    enabled = var.x
  }
  _ { count = 1 }
}
module "0" {
  count    = 1
  for_each = {}
  lifecycle {
    enabled         = true
    prevent_destroy = true
    precondition {}
  }
  lifecycle {}
  locals {}
  provider "x" {}
  provider {}
  _ {}
  _ {}
  other {}
}
"#,
            &expect![[r#"
                12:12 Error: Missing required argument
                23:12 Error: Missing type for provider
                12:8 Error: Invalid module instance name
                17:5 Error: Unsupported argument
                18:5 Error: Unsupported block type
                20:3 Error: Duplicate lifecycle block
                21:3 Error: Reserved block type name in module block
                22:3 Error: Reserved block type name in module block
                25:3 Error: Duplicate escaping block
                13:3 Error: Invalid combination of "count", "enabled", and "for_each"
            "#]],
        );
        check_override(
            "module \"a\" {\n  count = 1\n  for_each = {}\n}\n",
            &expect![[r#"
            2:3 Error: Invalid combination of "count" and "for_each"
        "#]],
        );
    }

    #[test]
    fn passed_providers() {
        check(
            r#"
module "ok" {
  source = "./x"
  providers = {
    a       = a.x
    a.b     = a
    "a.c"   = "a"
    c.d     = c.d["k"]
    c.e     = c.d[each.key]
    a.k["x"] = a
  }
}
module "twice" {
  source = "./x"
  providers = {
    a   = a
    a.b = b
    "a" = c
    a.b = d.e
  }
}
module "bad" {
  source = "./x"
  providers = {
    a.b.c  = a
    a      = a.b.c
    A      = a
    (a)    = a
    1      = a
    "a b"  = a
    a      = 5
    f(x)   = a
  }
}
module "list" {
  source    = "./x"
  providers = [a]
}
module "ref" {
  source    = "./x"
  providers = var.x
}
"#,
            &expect![[r#"
                7:5 Warning: Quoted references are deprecated
                7:15 Warning: Quoted references are deprecated
                18:5 Warning: Quoted references are deprecated
                18:11 Error: Duplicate provider address
                19:11 Error: Duplicate provider address
                25:8 Error: Invalid provider configuration reference
                26:17 Error: Invalid provider configuration reference
                27:5 Error: Invalid provider local name
                28:5 Error: Invalid provider configuration reference
                29:5 Error: Invalid provider configuration reference
                30:8 Error: Invalid character
                30:5 Warning: Quoted references are deprecated
                31:14 Error: Invalid provider configuration reference
                32:5 Error: Invalid provider configuration reference
                37:15 Error: Invalid expression
                41:15 Error: Invalid expression
            "#]],
        );
        check(
            r#"{"module": {"m": {"source": "./x", "providers": {"a": "a.b", "a.c": "a.d[each.key]", "A": "x", "b": 5, "c": "${x}"}}}}"#,
            &expect![[r#"
                1:86 Error: Invalid provider local name
                1:101 Error: Expected string expression
            "#]],
        );
    }

    #[test]
    fn all_instances_are_passed_with_an_experiment() {
        let call =
            |providers: &str| format!("module \"m\" {{\n source = \"./x\"\n providers = {{ {providers} }}\n}}\n");
        let collections = "language {\n experiments = [provider_collections]\n}\n";
        for (providers, without, with) in [
            ("a.b[*] = a.c[*]", "3:16 E; 3:25 E", ""),
            ("a.b[*] = a.c", "3:16 E", "6:16 E"),
            ("a.b = a.c[*]", "3:22 E", "6:22 E"),
            ("a.b = a[*]", "3:22 E", "6:22 E"),
            ("a.b = a.c[*].d", "3:22 E", "6:22 E"),
            ("a.b = a.c[0][*]", "3:22 E", "6:22 E"),
        ] {
            let spelled = |short: &str| short.replace('E', "Invalid provider configuration reference");
            let text = call(providers);
            check_all("main.tf", &[(&text, &spelled(without))]);
            let (_, problems) = module(&[("main.tf", &format!("{collections}{text}"))]);
            let problems: Vec<String> = problems.into_iter().filter(|p| p.contains("Error")).collect();
            let expected = spelled(with).replacen("6:", "main.tf:6:", 1).replace(" Invalid", " Error: Invalid");
            assert_eq!(problems.join("; "), expected, "{providers}");
        }
    }
}
