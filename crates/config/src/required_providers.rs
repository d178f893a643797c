//! `required_providers` blocks.

use yuba_addrs::{ProviderSource, VersionConstraints};
use yuba_syntax::expr::{ExprKind, ObjectItem};
use yuba_syntax::{Attribute, Block, Diagnostics, Expr, TraversalStep};
use yuba_value::{EcoString, Type, Value};

use crate::constant::Decoding;
use crate::diagnostics;
use crate::language::version_constraint;
use crate::provider::{ProviderKey, check_local_name};
use crate::terraform::{ConfigurationAlias, RequiredProvider, Requirements};

/// Decodes a `required_providers` block.
pub(crate) fn decode(block: &Block, decoding: &Decoding<'_>, diagnostics: &mut Diagnostics) -> Requirements {
    let (attributes, problems) = block.body.just_attributes();
    let failed = problems.has_errors();
    diagnostics.extend(problems);
    let mut requirements = Requirements { span: Some(block.header_span), ..Requirements::default() };
    if !failed {
        for attribute in &attributes {
            let provider = decode_entry(attribute, decoding, diagnostics);
            requirements.providers.extend(provider.map(|provider| (attribute.name.clone(), provider)));
        }
    }
    requirements
}

fn decode_entry(
    attribute: &Attribute,
    decoding: &Decoding<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<RequiredProvider> {
    let (name, expr) = (&attribute.name, &attribute.expr);
    // The old form: only a version.
    let (value, problems) = decoding.constants.value(expr);
    if problems.is_empty() && value.ty().is_primitive() {
        let version = version_constraint(attribute, decoding, diagnostics);
        let provider = implied(name, expr, diagnostics)?;
        let version = version.filter(|version| version.constraints.is_some()).map(|found| (found.text, found.span));
        return Some(RequiredProvider {
            name: name.clone(),
            source: None,
            provider,
            version,
            aliases: Vec::new(),
            span: expr.span,
        });
    }
    if !check_local_name(name, expr.span, diagnostics) {
        return None;
    }
    let Some(items) = expr.as_map() else {
        diagnostics.push(diagnostics::requirement_not_object(expr.span));
        return None;
    };
    let mut problems = Diagnostics::new();
    let mut entry = Entry { attribute, decoding, source: None, version: None, aliases: Vec::new() };
    for item in items {
        let known = entry.item(item, &mut problems);
        if !known {
            break;
        }
    }
    let failed = problems.has_errors();
    diagnostics.extend(problems);
    if failed {
        return None;
    }
    let (source, provider) = match entry.source {
        Some((text, provider)) => (Some(text), provider),
        None => (None, implied(name, expr, diagnostics)?),
    };
    let Entry { version, aliases, .. } = entry;
    Some(RequiredProvider { name: name.clone(), source, provider, version, aliases, span: expr.span })
}

/// The provider that a local name implies.
fn implied(name: &str, expr: &Expr, diagnostics: &mut Diagnostics) -> Option<ProviderSource> {
    match ProviderSource::parse_part(name) {
        Ok(name) => ProviderSource::implied_for(&name).ok(),
        Err(reason) => {
            diagnostics.push(diagnostics::invalid_provider_name(name, reason, expr.span));
            None
        }
    }
}

/// An entry that is written as an object, as far as it was read.
struct Entry<'a> {
    attribute: &'a Attribute,
    decoding: &'a Decoding<'a>,
    source: Option<(EcoString, ProviderSource)>,
    version: Option<(EcoString, yuba_syntax::Span)>,
    aliases: Vec<ConfigurationAlias>,
}

impl Entry<'_> {
    /// Reads one argument; false if it is one that does not exist.
    fn item(&mut self, item: &ObjectItem, diagnostics: &mut Diagnostics) -> bool {
        let Some(key) = self.decoding.value(&item.key, diagnostics) else { return true };
        let Some(key) = key.as_str() else {
            diagnostics.push(diagnostics::requirement_key_not_string(item.key.span));
            return true;
        };
        let value = &item.value;
        match key.as_str() {
            "version" => match self.text(value) {
                None => diagnostics.push(diagnostics::requirement_version_not_string(value.span)),
                Some(text) => match VersionConstraints::parse(&text) {
                    Ok(_) => self.version = Some((text, self.attribute.span)),
                    Err(error) => diagnostics.push(diagnostics::version_syntax(&error, value.span)),
                },
            },
            "source" => match self.text(value) {
                None => diagnostics.push(diagnostics::requirement_source_not_string(value.span)),
                Some(text) => match ProviderSource::parse(&text) {
                    Ok(provider) => self.source = Some((text, provider)),
                    Err(error) => diagnostics.push(error.at(value.span)),
                },
            },
            "configuration_aliases" => self.aliases(value, diagnostics),
            _ => {
                diagnostics.push(diagnostics::requirement_unknown_argument(item.key.span));
                return false;
            }
        }
        true
    }

    /// A constant text.
    fn text(&self, expr: &Expr) -> Option<EcoString> {
        let (value, problems) = self.decoding.constants.value(expr);
        let value: Option<Value> = (!problems.has_errors() && value.ty() == &Type::string()).then_some(value);
        value.as_ref().and_then(Value::as_str).cloned()
    }

    fn aliases(&mut self, value: &Expr, diagnostics: &mut Diagnostics) {
        let Some(items) = value.as_list() else {
            diagnostics.push(diagnostics::list_expected(value));
            return;
        };
        for item in items {
            let (source, all_instances) = match &item.kind {
                ExprKind::Splat(splat) if matches!(splat.each.kind, ExprKind::SplatItem) => (&splat.source, true),
                _ => (item, false),
            };
            let reference = match source.to_traversal() {
                Ok(reference) => reference,
                Err(problems) => {
                    diagnostics.extend(problems);
                    continue;
                }
            };
            let alias = match reference.steps.first() {
                None => None,
                Some(TraversalStep::Attr { name, .. }) => Some(name.clone()),
                Some(TraversalStep::Index { .. }) => {
                    diagnostics.push(diagnostics::alias_not_reference(value.span));
                    continue;
                }
            };
            if reference.root != self.attribute.name {
                let error = diagnostics::alias_of_other_provider(&self.attribute.name, &reference.root, value.span);
                diagnostics.push(error);
                continue;
            }
            let key = ProviderKey { name: reference.root, alias };
            self.aliases.push(ConfigurationAlias { key, all_instances, span: item.span });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_each;

    #[test]
    fn entries() {
        check_each(
            "main.tf",
            "terraform {\n required_providers {\n*\n}\n}",
            &[
                (r#"terraform = "1""#, ""),
                ("terraform = {}", ""),
                ("terraform = 1", ""),
                ("terraform = null", "3:13 Invalid required_providers object"),
                ("terraform = []", "3:13 Invalid required_providers object"),
                (r#"terraform = {source="a"}"#, ""),
                (r#"terraform = {source="a/b/c/d"}"#, "3:21 Invalid provider source string"),
                (r#"terraform = {source="x y"}"#, "3:21 Invalid provider type"),
                ("terraform = {source=1}", "3:21 Invalid source"),
                ("terraform = {source=foo}", "3:21 Invalid source"),
                ("terraform = {version=1}", "3:22 Invalid version constraint"),
                (r#"terraform = {version="x"}"#, "3:22 Invalid version constraint"),
                ("terraform = {version=null}", "3:22 Invalid version constraint"),
                ("terraform={foo=1}", "3:12 Invalid required_providers object"),
                (r#"terraform={foo=1,version="x"}"#, "3:12 Invalid required_providers object"),
                (
                    r#"terraform={version="x",foo=1}"#,
                    "3:20 Invalid version constraint; 3:24 Invalid required_providers object",
                ),
                ("terraform={(1)=2}", "3:12 Invalid Attribute"),
                ("terraform={(foo)=2}", "3:13 Variables not allowed"),
                (r#"A = "1""#, ""),
                ("A = {}", "3:5 Invalid provider local name"),
                (r#"a_b="1""#, "3:5 Invalid provider name"),
                ("a_b={}", "3:5 Invalid provider local name"),
                ("a--b={}", "3:6 Invalid provider local name"),
                (r#"terraform={"source"="terraform.io/builtin/terraform"}"#, ""),
                ("terraform={configuration_aliases=[terraform.a]}", ""),
                ("terraform={configuration_aliases=[terraform]}", ""),
                ("terraform={configuration_aliases=terraform.a}", "3:34 Invalid expression"),
                ("terraform={configuration_aliases=[foo.a]}", "3:34 Invalid configuration_aliases value"),
                (r#"terraform={configuration_aliases=["terraform.a"]}"#, "3:35 Invalid expression"),
                (r#"terraform={configuration_aliases=[terraform["a"]]}"#, "3:34 Invalid configuration_aliases value"),
                ("terraform={configuration_aliases=[terraform.a.b]}", ""),
                ("terraform={configuration_aliases=[terraform.a[*]]}", "3:35 Invalid expression"),
                ("terraform={configuration_aliases=[terraform.a[0]]}", ""),
                (r#"terraform={source="-/x"}"#, ""),
                (r#"terraform={source="terraform-provider-x"}"#, ""),
                (r#"terraform={source="a/terraform-provider-x"}"#, "3:19 Invalid provider type"),
                (r#"terraform={source="foo_bar.com/a/b"}"#, "3:19 Invalid provider source hostname"),
                (r#"terraform="x""#, "3:11 Invalid version constraint"),
                ("terraform=foo", "3:11 Invalid required_providers object"),
                ("x {}", r#"3:1 Unexpected "x" block"#),
                ("terraform=\"1\"\nterraform=\"2\"", "4:1 Attribute redefined"),
                (r#"terraform={version=">= 1.0, x"}"#, "3:20 Invalid version constraint"),
                (r#"terraform={source="../x"}"#, "3:19 Invalid provider namespace"),
                (r#"terraform={version="1", version="2"}"#, ""),
                (r#"terraform={source="hashicorp/AWS"}"#, ""),
                (r#"terraform={source="HASHICORP/aws"}"#, ""),
                (r#"terraform={source=""}"#, "3:19 Invalid provider source string"),
            ],
        );
    }

    #[test]
    fn entries_in_json() {
        check_each(
            "main.tf.json",
            r#"{"terraform":{"required_providers":*}}"#,
            &[
                (r#"{"a":{"source":"x/y","version":"1"}}"#, ""),
                (r#"[{"a":"1"},{"b":"2"}]"#, "1:36 Duplicate required providers configuration"),
                (r#"{"a":{"configuration_aliases":["a.b"]}}"#, ""),
                (r#"{"a":{"configuration_aliases":"a.b"}}"#, "1:66 Invalid expression"),
            ],
        );
    }
}
