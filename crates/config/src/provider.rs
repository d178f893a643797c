//! `provider` blocks, and references to provider configurations.

use std::fmt;
use std::sync::{Arc, LazyLock};

use ecow::EcoString;
use yuba_addrs::ProviderSource;
use yuba_syntax::expr::ObjectItem;
use yuba_syntax::lexer::is_identifier;
use yuba_syntax::{Attribute, Block, Body, BodySchema, Diagnostics, Expr, ExprKind, Span, Traversal, TraversalStep};

use crate::constant::Decoding;
use crate::diagnostics::blocks as diagnostics;
use crate::language::version_constraint;
use crate::quoted::{self, Syntax, Unquoted, Wanted};
use crate::schema::schema;

/// Local name and alias: unique in a module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProviderKey {
    /// The local name.
    pub name: EcoString,
    /// The alias.
    pub alias: Option<EcoString>,
}

/// A `provider` block.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    /// Its local name.
    pub key: ProviderKey,
    /// Location of the alias.
    pub alias_span: Option<Span>,
    /// The old way to demand a version.
    pub version: Option<(EcoString, Span)>,
    /// `for_each`
    pub for_each: Option<Arc<Expr>>,
    /// Everything that is not a meta-argument.
    pub body: Body,
    /// The block's header.
    pub span: Span,
    /// The label.
    pub name_span: Span,
    /// It is the `mock_provider` block of a test file, which has no configuration.
    pub is_mock: bool,
}

/// `aws`, `aws.west` or `aws.by_region[each.key]`
#[derive(Clone, Debug)]
pub struct ProviderRef {
    /// Its target.
    pub key: ProviderKey,
    /// The instance key, not evaluated.
    pub instance: Option<Arc<Expr>>,
    /// `aws.by_region[*]`: all instances, passed to a module (feature `provider_collections`).
    pub all_instances: bool,
    /// All of it.
    pub span: Span,
    /// The local name.
    pub name_span: Span,
    /// The alias.
    pub alias_span: Option<Span>,
}

/// `aws` or `aws.west`
impl fmt::Display for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.alias.iter().try_for_each(|alias| write!(f, ".{alias}"))
    }
}

const RESERVED: [&str; 3] = ["count", "depends_on", "source"];

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    let arguments = ["alias", "version", "for_each"].into_iter().chain(RESERVED).collect::<Vec<_>>();
    schema(&[], &arguments, &[("_", &[]), ("lifecycle", &[]), ("locals", &[])])
});

/// Decodes a block with one label.
pub(crate) fn decode(block: &Block, with: &Decoding<'_>) -> (Option<ProviderConfig>, Diagnostics) {
    let [(name, name_span)] = block.labels.as_slice() else { return (None, Diagnostics::new()) };
    let (content, body, mut problems) = block.body.partial_content(&SCHEMA);
    if !check_local_name(name, block.header_span, &mut problems) {
        return (None, problems);
    }
    let alias = content.attribute("alias");
    let mut config = ProviderConfig {
        key: ProviderKey { name: name.clone(), alias: None },
        alias_span: alias.map(|alias| alias.expr.span),
        version: None,
        for_each: content.attribute("for_each").map(|attribute| attribute.expr.clone()),
        body,
        span: block.header_span,
        name_span: *name_span,
        is_mock: false,
    };
    config.key.alias = alias.and_then(|alias| decode_alias(alias, "provider", None, with, &mut problems));
    if let Some(attribute) = content.attribute("version") {
        problems.push(diagnostics::version_in_provider(attribute.expr.span));
        config.version = version_constraint(attribute, with, &mut problems)
            .filter(|constraint| constraint.constraints.is_some())
            .map(|constraint| (constraint.text, constraint.span));
    }
    check_for_each(config.for_each.as_deref(), &config.key, &mut problems);
    for attribute in RESERVED.into_iter().filter_map(|name| content.attribute(name)) {
        problems.push(diagnostics::reserved_provider_argument(&attribute.name, attribute.name_span));
    }
    let mut escape = None;
    for inner in &content.blocks {
        match (inner.kind.as_str(), escape) {
            ("_", Some(first)) => {
                let (first, at) = (with.location(first), inner.header_span);
                problems.push(diagnostics::duplicate_escape("provider", "those of the provider", &first, at));
            }
            ("_", None) => {
                escape = Some(inner.header_span);
                config.body = Body::merged(vec![config.body, inner.body.clone()]);
            }
            _ => problems.push(diagnostics::reserved_block(&inner.kind, "provider", inner.kind_span)),
        }
    }
    (Some(config), problems)
}

/// Whether a text can be the local name of a provider.
pub(crate) fn check_local_name(name: &str, at: Span, problems: &mut Diagnostics) -> bool {
    match ProviderSource::parse_part(name) {
        Ok(normal) if normal == name => return true,
        Ok(normal) => problems.push(diagnostics::local_name_not_normal(name, &normal, at)),
        Err(reason) => problems.push(diagnostics::invalid_local_name(name, reason, at)),
    }
    false
}

/// The alias of a configuration; `what` is used in the message about an invalid one, which points at `at`.
pub(crate) fn decode_alias(
    attribute: &Attribute,
    what: &str,
    at: Option<Span>,
    with: &Decoding<'_>,
    problems: &mut Diagnostics,
) -> Option<EcoString> {
    let alias = with.string(&attribute.expr, problems).unwrap_or_default();
    if !is_identifier(&alias) {
        problems.push(diagnostics::invalid_alias(what, at));
    }
    Some(alias).filter(|alias| !alias.is_empty())
}

/// Only a configuration with an alias can have `for_each`.
pub(crate) fn check_for_each(for_each: Option<&Expr>, key: &ProviderKey, problems: &mut Diagnostics) {
    if let (Some(for_each), None) = (for_each, &key.alias) {
        problems.push(diagnostics::for_each_needs_alias(for_each.span));
    }
}

/// Decodes a reference; `argument` is where it stands.
pub(crate) fn decode_ref(expr: &Expr, argument: &str, syntax: Syntax) -> (Option<ProviderRef>, Diagnostics) {
    let native = match quoted::native_provider(expr, syntax) {
        Ok(native) => native,
        Err(problems) => return (None, problems),
    };
    match &native.kind {
        ExprKind::Index(index) => {
            decode_unquoted(&index.collection, Some(Arc::new(index.key.clone())), argument, native.span)
        }
        _ => decode_unquoted(&native, None, argument, native.span),
    }
}

/// Decodes what is passed to a module: a reference to one instance or, with `[*]`, to all of them.
pub(crate) fn decode_passed(expr: &Expr, argument: &str, syntax: Syntax) -> (Option<ProviderRef>, Diagnostics) {
    match quoted::native_provider(expr, syntax) {
        Ok(native) => match all_instances(&native) {
            Some(source) => decode_all_instances(source, argument, native.span),
            None => decode_ref(expr, argument, syntax),
        },
        Err(problems) => (None, problems),
    }
}

/// The expression before `[*]`, if the key is only that.
fn all_instances(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Splat(splat) if matches!(splat.each.kind, ExprKind::SplatItem) => Some(&splat.source),
        _ => None,
    }
}

fn decode_all_instances(source: &Expr, argument: &str, span: Span) -> (Option<ProviderRef>, Diagnostics) {
    let (reference, mut problems) = decode_unquoted(source, None, argument, span);
    let reference = reference.map(|reference| ProviderRef { all_instances: true, ..reference });
    if let Some(reference) = &reference
        && (reference.instance.is_some() || reference.key.alias.is_none())
    {
        problems.push(diagnostics::not_a_provider_reference(argument, span));
    }
    (reference, problems)
}

/// Decodes the key of an object, which is a reference too.
pub(crate) fn decode_key(item: &ObjectItem, argument: &str, syntax: Syntax) -> (Option<ProviderRef>, Diagnostics) {
    let bare = item.key_is_bare_name || item.key_is_bare_traversal;
    match item.key_as_traversal().filter(|_| bare) {
        Some(traversal) => {
            let mut problems = Diagnostics::new();
            let span = item.key.span;
            let reference = decode_traversal(Some(traversal), None, &item.key, argument, span, &mut problems);
            (reference, problems)
        }
        None => match quoted::native_provider(&item.key, syntax) {
            Ok(native) => match all_instances(&native) {
                Some(source) => decode_all_instances(source, argument, native.span),
                None => decode_unquoted(&native, None, argument, native.span),
            },
            Err(problems) => (None, problems),
        },
    }
}

fn decode_unquoted(
    expr: &Expr,
    key: Option<Arc<Expr>>,
    argument: &str,
    span: Span,
) -> (Option<ProviderRef>, Diagnostics) {
    let mut problems = Diagnostics::new();
    let unquoted = quoted::unquote(expr, Wanted::Reference, &mut problems);
    // A string that is not a reference at all is not reported as a quoted one.
    let traversal = match &unquoted {
        Unquoted::AsWritten(expr) => expr.as_traversal(),
        Unquoted::Quoted(traversal, _) => traversal.clone(),
    };
    let reference = decode_traversal(traversal, key, expr, argument, span, &mut problems);
    (reference, problems)
}

/// The parts of the reference; `key` is an instance key that must be evaluated.
fn decode_traversal(
    traversal: Option<Traversal>,
    key: Option<Arc<Expr>>,
    expr: &Expr,
    argument: &str,
    span: Span,
    problems: &mut Diagnostics,
) -> Option<ProviderRef> {
    let most_steps = if key.is_some() { 1 } else { 2 };
    let Some(traversal) = traversal.filter(|traversal| traversal.steps.len() <= most_steps) else {
        problems.push(match quoted::is_quoted(expr) {
            true => diagnostics::provider_reference_in_quotes(expr.span),
            false => diagnostics::not_a_provider_reference(argument, expr.span),
        });
        return None;
    };
    check_local_name(&traversal.root, traversal.root_span, problems);
    if problems.has_errors() {
        return None;
    }
    let mut reference = ProviderRef {
        key: ProviderKey { name: traversal.root.clone(), alias: None },
        instance: key,
        all_instances: false,
        span,
        name_span: traversal.root_span,
        alias_span: None,
    };
    match traversal.steps.first() {
        Some(TraversalStep::Attr { name, span }) => {
            reference.key.alias = Some(name.clone());
            reference.alias_span = Some(*span);
        }
        Some(TraversalStep::Index { span, .. }) => {
            problems.push(diagnostics::provider_alias_expected(*span));
            return Some(reference);
        }
        None => {}
    }
    match traversal.steps.get(1) {
        Some(TraversalStep::Index { key, .. }) => {
            let key = Expr { kind: ExprKind::Literal(key.clone()), span: traversal.span };
            reference.instance = Some(Arc::new(key));
        }
        Some(TraversalStep::Attr { name, span }) => {
            let shown = reference.key.to_string();
            problems.push(diagnostics::provider_key_as_attribute(&shown, name, *span));
            return Some(reference);
        }
        None => {}
    }
    if reference.key.alias.is_none() && reference.instance.is_some() {
        problems.push(diagnostics::provider_key_without_alias(traversal.span));
    }
    Some(reference)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn provider_blocks() {
        check(
            r#"
provider "ok" {
  alias    = "x"
  for_each = var.x
  region   = each.key
  _ { count = 1 }
}
provider "Foo" {}
provider "a b" {
  count = 1
}
provider "_x" {}
provider "foo_bar" {}
provider "foo" {
  alias      = "0"
  version    = "~> 1.0"
  count      = 1
  depends_on = []
  source     = ""
  lifecycle {}
  locals {}
  other {}
  _ {}
  _ {}
}
provider "foo" {
  for_each = {}
}
provider "foo" {
  alias    = ""
  for_each = {}
}
provider "foo" {
  alias   = var.x
  version = "nonsense"
}
provider "foo" {
  alias   = null
  version = []
}
provider "foo" {
  alias   = 5
  version = var.x
}
"#,
            &expect![[r#"
                8:1 Error: Invalid provider local name
                9:1 Error: Invalid provider local name
                12:1 Error: Invalid provider local name
                13:1 Error: Invalid provider local name
                - Error: Invalid provider configuration alias
                16:16 Warning: Version constraints inside provider configuration blocks are deprecated
                17:3 Error: Reserved argument name in provider block
                18:3 Error: Reserved argument name in provider block
                19:3 Error: Reserved argument name in provider block
                20:3 Error: Reserved block type name in provider block
                21:3 Error: Reserved block type name in provider block
                24:3 Error: Duplicate escaping block
                27:14 Error: Alias required when using "for_each"
                - Error: Invalid provider configuration alias
                31:14 Error: Alias required when using "for_each"
                34:13 Error: Variables not allowed
                - Error: Invalid provider configuration alias
                35:13 Warning: Version constraints inside provider configuration blocks are deprecated
                35:13 Error: Invalid version constraint
                38:13 Error: Unsuitable value type
                - Error: Invalid provider configuration alias
                39:13 Warning: Version constraints inside provider configuration blocks are deprecated
                39:13 Error: Invalid version constraint
                - Error: Invalid provider configuration alias
                43:13 Warning: Version constraints inside provider configuration blocks are deprecated
                43:13 Error: Variables not allowed
            "#]],
        );
    }

    #[test]
    fn references() {
        check(
            r#"
resource "a" "ok" {
  provider = aws
}
resource "a" "ok2" {
  provider = aws.b["c"]
}
resource "a" "ok3" {
  provider = aws.b[each.key]
}
resource "a" "c" {
  provider = "aws"
}
resource "a" "d" {
  provider = "aws.b"
}
resource "a" "e" {
  provider = "aws.b[\"c\"]"
}
resource "a" "f" {
  provider = "aws b"
}
resource "a" "g" {
  provider = "${aws}"
}
resource "a" "h" {
  provider = aws["a"]
}
resource "a" "i" {
  provider = aws[each.key]
}
resource "a" "j" {
  provider = aws.b["c"]["d"]
}
resource "a" "k" {
  provider = aws.b["c"][each.key]
}
resource "a" "l" {
  provider = aws.b.c
}
resource "a" "m" {
  provider = AWS
}
resource "a" "n" {
  provider = f(aws)
}
resource "a" "o" {
  provider = aws[each.key]["x"]
}
resource "a" "p" {
  provider = aws.b.c[each.key]
}
resource "a" "q" {
  provider = "a${b}"
}
resource "a" "r" {
  provider = aws_x
}
resource "a" "s" {
  provider = null
}
resource "a" "t" {
  provider = (aws)
}
resource "a" "u" {
  provider = aws.*.x
}
resource "a" "v" {
  provider = ""
}
"#,
            &expect![[r#"
                12:14 Warning: Quoted references are deprecated
                15:14 Warning: Quoted references are deprecated
                18:14 Warning: Quoted references are deprecated
                21:19 Error: Invalid character
                21:14 Warning: Quoted references are deprecated
                24:14 Error: Invalid provider configuration reference
                27:17 Error: Invalid provider configuration reference
                30:14 Error: Invalid provider configuration reference
                33:14 Error: Invalid provider configuration reference
                36:14 Error: Invalid provider configuration reference
                39:19 Error: Invalid provider configuration reference
                42:14 Error: Invalid provider local name
                45:14 Error: Invalid provider configuration reference
                48:14 Error: Invalid provider configuration reference
                51:14 Error: Invalid provider configuration reference
                54:14 Error: Invalid provider configuration reference
                57:14 Error: Invalid provider local name
                63:14 Error: Invalid provider configuration reference
                66:14 Error: Invalid provider configuration reference
                69:15 Error: Variable name required
                69:14 Warning: Quoted references are deprecated
                69:14 Error: Invalid provider configuration reference
            "#]],
        );
    }
}
