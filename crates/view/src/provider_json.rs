//! Schemas of providers as a JSON document: `providers schema -json`.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_addrs::ProviderSource;
use yuba_provider::{
    Attribute, AttributeType, BlockSchema, IdentitySchema, NestedAttribute, Nesting, ProviderSchema, Schema,
};
use yuba_value::Type;
use yuba_value::function::{Param, Signature};
use yuba_value::json::encode_type;

use crate::json_writer::Members;

/// The version of the format.
pub const FORMAT_VERSION: &str = "1.0";

/// Schemas of providers, in order of their sources.
pub fn schemas<'p>(providers: impl IntoIterator<Item = (&'p ProviderSource, &'p ProviderSchema)>) -> String {
    let providers = providers.into_iter().map(|(source, schema)| (source.to_string(), (source, schema)));
    let providers: BTreeMap<String, (&ProviderSource, &ProviderSchema)> = providers.collect();
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("format_version", FORMAT_VERSION);
    by_name(&mut members, "provider_schemas", &providers, |out, (source, schema)| provider(out, source, schema));
    members.close();
    out
}

/// An object by names, left out if it is empty.
fn by_name<'t, K: AsRef<str> + 't, V: 't>(
    members: &mut Members<'_>,
    name: &str,
    things: impl IntoIterator<Item = (&'t K, &'t V)>,
    mut write: impl FnMut(&mut String, &V),
) {
    let mut things = things.into_iter().peekable();
    if things.peek().is_none() {
        return;
    }
    let mut inner = Members::open(members.key(name));
    for (name, thing) in things {
        write(inner.key(name.as_ref()), thing);
    }
    inner.close();
}

fn provider(out: &mut String, source: &ProviderSource, provider: &ProviderSchema) {
    let mut members = Members::open(out);
    if source.is_builtin() {
        // It has nothing to configure, not even in an empty block.
        members.raw("provider", "{\"version\":0}");
    } else {
        schema(members.key("provider"), &provider.provider);
    }
    by_name(&mut members, "resource_schemas", &provider.resources, schema);
    by_name(&mut members, "data_source_schemas", &provider.data, schema);
    by_name(&mut members, "ephemeral_resource_schemas", &provider.ephemeral, schema);
    by_name(&mut members, "functions", &provider.functions, function);
    by_name(&mut members, "resource_identity_schemas", &provider.identities, identity);
    members.close();
}

fn schema(out: &mut String, schema: &Schema) {
    let mut members = Members::open(out);
    members.int("version", schema.version);
    block(members.key("block"), &schema.block);
    members.close();
}

fn block(out: &mut String, block_schema: &BlockSchema) {
    let mut members = Members::open(out);
    by_name(&mut members, "attributes", block_schema.attributes(), attribute);
    by_name(&mut members, "block_types", block_schema.blocks(), |out, nested| {
        let mut members = Members::open(out);
        members.text("nesting_mode", nesting(nested.nesting));
        block(members.key("block"), &nested.block);
        for (name, limit) in [("min_items", nested.min), ("max_items", nested.max)] {
            if limit > 0 {
                members.int(name, u64::from(limit));
            }
        }
        members.close();
    });
    members.text_if_any("description", &block_schema.description);
    members.text("description_kind", if block_schema.markdown { "markdown" } else { "plain" });
    deprecated(&mut members, block_schema.deprecated.as_ref());
    members.close();
}

fn deprecated(members: &mut Members<'_>, message: Option<&EcoString>) {
    members.bool_if_true("deprecated", message.is_some());
    members.text_if_any("deprecation_message", message.map(EcoString::as_str).unwrap_or_default());
}

fn attribute(out: &mut String, schema: &Attribute) {
    let mut members = Members::open(out);
    match &schema.ty {
        AttributeType::Plain(ty) => members.raw("type", &encode_type(ty)),
        AttributeType::Nested(NestedAttribute { nesting: mode, attributes }) => {
            let mut nested = Members::open(members.key("nested_type"));
            by_name(&mut nested, "attributes", attributes, attribute);
            nested.text("nesting_mode", nesting(*mode));
            nested.close();
        }
    }
    members.text_if_any("description", &schema.description);
    members.text("description_kind", if schema.markdown { "markdown" } else { "plain" });
    deprecated(&mut members, schema.deprecated.as_ref());
    members.bool_if_true("required", schema.required);
    members.bool_if_true("optional", schema.optional);
    members.bool_if_true("computed", schema.computed);
    members.bool_if_true("sensitive", schema.sensitive);
    members.bool_if_true("write_only", schema.write_only);
    members.close();
}

fn nesting(nesting: Nesting) -> &'static str {
    match nesting {
        Nesting::Single => "single",
        Nesting::Group => "group",
        Nesting::List => "list",
        Nesting::Set => "set",
        Nesting::Map => "map",
    }
}

fn identity(out: &mut String, identity: &IdentitySchema) {
    let mut members = Members::open(out);
    members.int("version", identity.version);
    by_name(&mut members, "attributes", &identity.object.attributes, |out, attribute| {
        let mut members = Members::open(out);
        members.raw("type", &encode_type(&attribute.implied_type()));
        members.text_if_any("description", &attribute.description);
        members.bool_if_true("required_for_import", attribute.required);
        members.bool_if_true("optional_for_import", attribute.optional);
        members.close();
    });
    members.close();
}

fn function(out: &mut String, signature: &Signature) {
    let mut members = Members::open(out);
    members.text("description", &signature.description);
    members.text("summary", if signature.summary.is_empty() { &signature.description } else { &signature.summary });
    members.raw("return_type", &type_text(&signature.result));
    members.list_if_any("parameters", &signature.params, parameter);
    if let Some(variadic) = &signature.variadic {
        parameter(members.key("variadic_parameter"), variadic);
    }
    members.close();
}

fn parameter(out: &mut String, param: &Param) {
    let mut members = Members::open(out);
    members.text("name", &param.name);
    members.text("description", &param.description);
    members.raw("type", &type_text(&param.ty));
    members.bool_if_true("is_nullable", param.allow_null);
    members.close();
}

/// Quirk: optional attributes of objects are not mentioned here.
fn type_text(ty: &Type) -> String {
    encode_type(&ty.without_optional())
}

#[cfg(test)]
mod tests {
    use yuba_provider::{NestedBlock, Schemas};

    use super::*;

    #[test]
    fn a_schema() {
        let mut inner = BlockSchema::new([("x", Attribute::required(Type::list(Type::string())).described("<"))]);
        inner.deprecated = Some("gone".into());
        let secret = Attribute { sensitive: true, write_only: true, ..Attribute::optional(Type::number()) };
        let nested = NestedAttribute { nesting: Nesting::List, attributes: BTreeMap::from([("s".into(), secret)]) };
        let nested = Attribute { ty: AttributeType::Nested(nested), ..Attribute::computed(Type::string()) };
        let blocks = [("b", NestedBlock { min: 1, ..NestedBlock::new(Nesting::Set, inner) })];
        let schema = Schema { version: 3, block: BlockSchema::new([("n", nested)]).with_blocks(blocks) };
        let params = vec![Param::new("a", Type::dynamic(), "First.").null()];
        let signature = Signature::new("f", "Does it.", params, Type::map(Type::bool()));
        let provider = ProviderSchema {
            resources: Schemas::from([("r", schema)]),
            functions: BTreeMap::from([("f".into(), signature)]),
            ..ProviderSchema::default()
        };
        let expect = [
            r#"{"format_version":"1.0","provider_schemas":{"registry.opentofu.org/hashicorp/x":{"provider":"#,
            r#"{"version":0,"block":{"description_kind":"plain"}},"resource_schemas":{"r":{"version":3,"block":{"attributes":"#,
            r#"{"n":{"nested_type":{"attributes":{"s":{"type":"number","description_kind":"plain","optional":true,"#,
            r#""sensitive":true,"write_only":true}},"nesting_mode":"list"},"description_kind":"plain","#,
            r#""computed":true}},"block_types":{"b":{"nesting_mode":"set","block":{"attributes":{"x":{"type":"#,
            r#"["list","string"],"description":"\u003c","description_kind":"plain","required":true}},"#,
            r#""description_kind":"plain","deprecated":true,"deprecation_message":"gone"},"min_items":1}},"#,
            r#""description_kind":"plain"}}},"functions":{"f":{"description":"Does it.","summary":"Does it.","#,
            r#""return_type":["map","bool"],"parameters":[{"name":"a","description":"First.","type":"dynamic","#,
            r#""is_nullable":true}]}}}}}"#,
        ];
        let source = ProviderSource::implied_for("x").expect("because it is a name");
        assert_eq!(schemas([(&source, &provider)]), expect.concat());
        let builtin = schemas([(&ProviderSource::builtin("x"), &ProviderSchema::default())]);
        let expect =
            r#"{"format_version":"1.0","provider_schemas":{"terraform.io/builtin/x":{"provider":{"version":0}}}}"#;
        assert_eq!(builtin, expect);
    }
}
