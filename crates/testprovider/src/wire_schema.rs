//! Schemas as they go over the wire.

use prost::Message;
use prost::bytes::Bytes;
use yuba_plugin::wire::{
    AttributeV5, AttributeV6, Block, NestedBlock, NestedObject, NestingMode, Protocol, Schema, StringKind,
};
use yuba_provider::schema::{self, AttributeType, BlockSchema, Nesting};
use yuba_value::{Type, json};

/// A schema by the protocol.
pub(crate) fn encode(protocol: Protocol, schema: &schema::Schema, broken: bool) -> Bytes {
    let schema = Schema::<AttributeV6> {
        version: i64::try_from(schema.version).unwrap_or(i64::MAX),
        block: Some(block(&schema.block, broken)),
    };
    match protocol {
        Protocol::V6 => schema.encode_to_vec().into(),
        Protocol::V5 => {
            let block = schema.block.map(for_five);
            Schema::<AttributeV5> { version: schema.version, block }.encode_to_vec().into()
        }
    }
}

/// A type as JSON.
pub(crate) fn type_bytes(ty: &Type) -> Bytes {
    json::encode_type(ty).into()
}

fn for_five(block: Block<AttributeV6>) -> Block<AttributeV5> {
    let nested = |nested: NestedBlock<AttributeV6>| NestedBlock {
        type_name: nested.type_name,
        block: nested.block.map(for_five),
        nesting: nested.nesting,
        min_items: nested.min_items,
        max_items: nested.max_items,
    };
    Block {
        version: block.version,
        attributes: block.attributes.into_iter().map(AttributeV5::from).collect(),
        block_types: block.block_types.into_iter().map(nested).collect(),
        description: block.description,
        description_kind: block.description_kind,
        deprecated: block.deprecated,
        deprecation_message: block.deprecation_message,
    }
}

fn block(schema: &BlockSchema, broken: bool) -> Block<AttributeV6> {
    let nested = |(name, nested): (&ecow::EcoString, &schema::NestedBlock)| NestedBlock {
        type_name: name.to_string(),
        block: Some(block(&nested.block, broken)),
        nesting: mode(nested.nesting).into(),
        min_items: nested.min.into(),
        max_items: nested.max.into(),
    };
    Block {
        attributes: schema.attributes().iter().map(|(name, of)| attribute(name, of, broken)).collect(),
        block_types: schema.blocks().iter().map(nested).collect(),
        description: schema.description.to_string(),
        description_kind: StringKind::Plain.into(),
        deprecated: schema.deprecated.is_some(),
        deprecation_message: schema.deprecated.as_deref().unwrap_or_default().to_owned(),
        version: 0,
    }
}

fn attribute(name: &str, of: &schema::Attribute, broken: bool) -> AttributeV6 {
    let (ty, nested_type) = match &of.ty {
        AttributeType::Plain(_) if broken => (Bytes::from_static(b"[\"heap\",7]"), None),
        AttributeType::Plain(ty) => (type_bytes(ty), None),
        AttributeType::Nested(nested) => {
            let attributes = nested.attributes.iter().map(|(name, of)| attribute(name, of, broken)).collect();
            (Bytes::new(), Some(NestedObject { attributes, nesting: mode(nested.nesting).into() }))
        }
    };
    AttributeV6 {
        name: name.to_owned(),
        r#type: ty,
        description: of.description.to_string(),
        required: of.required,
        optional: of.optional,
        computed: of.computed,
        sensitive: of.sensitive,
        description_kind: StringKind::Plain.into(),
        deprecated: of.deprecated.is_some(),
        nested_type,
        write_only: of.write_only,
        deprecation_message: of.deprecated.as_deref().unwrap_or_default().to_owned(),
    }
}

fn mode(nesting: Nesting) -> NestingMode {
    match nesting {
        Nesting::Single => NestingMode::Single,
        Nesting::Group => NestingMode::Group,
        Nesting::List => NestingMode::List,
        Nesting::Set => NestingMode::Set,
        Nesting::Map => NestingMode::Map,
    }
}
