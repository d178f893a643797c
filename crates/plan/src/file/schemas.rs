//! Schemas of providers, as far as showing a plan needs them: descriptions and functions are left out.

use std::collections::BTreeMap;

use ecow::EcoString;
use yuba_addrs::ProviderSource;
use yuba_provider::schema::{
    Attribute, AttributeType, BlockSchema, IdentitySchema, NestedAttribute, NestedBlock, Nesting, Schema,
};
use yuba_provider::{ProviderSchema, Schemas};
use yuba_value::MAX_DEPTH;

use super::codes::Code;
use super::reader::Reader;
use super::writer::Writer;
use super::{Malformed, Read};

pub(super) fn write(writer: &mut Writer, providers: &BTreeMap<ProviderSource, ProviderSchema>) {
    writer.count(providers.len());
    for (source, schema) in providers {
        let ProviderSchema { provider, resources, data, ephemeral, functions: _, meta, identities, plan_destroy } =
            schema;
        writer.text(&source.to_string());
        write_schema(writer, provider);
        for schemas in [resources, data, ephemeral] {
            writer.count(schemas.iter().count());
            for (name, schema) in schemas {
                writer.name(name);
                write_schema(writer, schema);
            }
        }
        writer.option(meta.as_ref(), write_schema);
        writer.count(identities.len());
        for (name, identity) in identities {
            writer.name(name);
            writer.number(identity.version);
            write_nested(writer, &identity.object);
        }
        writer.flag(*plan_destroy);
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Read<BTreeMap<ProviderSource, ProviderSchema>> {
    let providers = reader.list(|reader| {
        let source = ProviderSource::parse(&reader.text()?).map_err(|_| Malformed)?;
        let provider = read_schema(reader)?;
        let (resources, data, ephemeral) = (read_schemas(reader)?, read_schemas(reader)?, read_schemas(reader)?);
        let meta = reader.option(read_schema)?;
        let identities = reader.list(|reader| {
            let (name, version) = (reader.name()?, reader.number()?);
            Ok((name, IdentitySchema { version, object: read_nested(reader, 0)? }))
        })?;
        let schema = ProviderSchema {
            provider,
            resources,
            data,
            ephemeral,
            functions: BTreeMap::new(),
            meta,
            identities: identities.into_iter().collect(),
            plan_destroy: reader.flag()?,
        };
        Ok((source, schema))
    })?;
    Ok(providers.into_iter().collect())
}

fn read_schemas(reader: &mut Reader<'_>) -> Read<Schemas> {
    let schemas = reader.list(|reader| Ok((reader.name()?, read_schema(reader)?)))?;
    Ok(schemas.into_iter().collect())
}

fn write_schema(writer: &mut Writer, schema: &Schema) {
    writer.number(schema.version);
    write_block(writer, &schema.block);
}

fn read_schema(reader: &mut Reader<'_>) -> Read<Schema> {
    let schema = Schema { version: reader.number()?, block: read_block(reader, 0)? };
    if schema.block.implied_type().depth() > MAX_DEPTH { Err(Malformed) } else { Ok(schema) }
}

fn write_block(writer: &mut Writer, block: &BlockSchema) {
    write_attributes(writer, block.attributes());
    writer.count(block.blocks().len());
    for (name, nested) in block.blocks() {
        let NestedBlock { nesting, min, max, block } = nested;
        writer.name(name);
        writer.byte(nesting.code());
        writer.number(u64::from(*min));
        writer.number(u64::from(*max));
        write_block(writer, block);
    }
    writer.option(block.deprecated.as_ref(), Writer::name);
    writer.flag(block.ephemeral);
}

fn read_block(reader: &mut Reader<'_>, depth: usize) -> Read<BlockSchema> {
    let depth = deeper(depth)?;
    let attributes = read_attributes(reader, depth)?;
    let blocks = reader.list(|reader| {
        let name = reader.name()?;
        let (nesting, min, max) = (Code::from_code(reader.byte()?)?, reader.small()?, reader.small()?);
        Ok((name, NestedBlock { nesting, min, max, block: read_block(reader, depth)? }))
    })?;
    let mut block = BlockSchema::of(attributes, blocks.into_iter().collect());
    block.deprecated = reader.option(Reader::name)?;
    block.ephemeral = reader.flag()?;
    Ok(block)
}

/// Maximum nesting of blocks and attributes.
const DEEPEST: usize = 64;

/// The depth of what is inside; schemas that are nested too deeply are refused.
fn deeper(depth: usize) -> Read<usize> {
    if depth < DEEPEST { Ok(depth + 1) } else { Err(Malformed) }
}

fn write_attributes(writer: &mut Writer, attributes: &BTreeMap<EcoString, Attribute>) {
    writer.count(attributes.len());
    for (name, attribute) in attributes {
        let Attribute {
            ty,
            required,
            optional,
            computed,
            sensitive,
            write_only,
            deprecated,
            description: _,
            markdown: _,
        } = attribute;
        writer.name(name);
        match ty {
            AttributeType::Plain(ty) => {
                writer.byte(0);
                writer.ty(ty);
            }
            AttributeType::Nested(nested) => {
                writer.byte(1);
                write_nested(writer, nested);
            }
        }
        let flags = [*required, *optional, *computed, *sensitive, *write_only];
        writer.byte(flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag)));
        writer.option(deprecated.as_ref(), Writer::name);
    }
}

fn read_attributes(reader: &mut Reader<'_>, depth: usize) -> Read<BTreeMap<EcoString, Attribute>> {
    let attributes = reader.list(|reader| {
        let name = reader.name()?;
        let ty = match reader.byte()? {
            0 => AttributeType::Plain(reader.ty()?),
            1 => AttributeType::Nested(read_nested(reader, depth)?),
            _ => return Err(Malformed),
        };
        let bits = reader.byte()?;
        if bits >= 1 << 5 {
            return Err(Malformed);
        }
        let flag = |at: u8| bits & (1 << at) != 0;
        let attribute = Attribute {
            ty,
            required: flag(0),
            optional: flag(1),
            computed: flag(2),
            sensitive: flag(3),
            write_only: flag(4),
            deprecated: reader.option(Reader::name)?,
            description: EcoString::new(),
            markdown: false,
        };
        Ok((name, attribute))
    })?;
    Ok(attributes.into_iter().collect())
}

fn write_nested(writer: &mut Writer, nested: &NestedAttribute) {
    writer.byte(nested.nesting.code());
    write_attributes(writer, &nested.attributes);
}

fn read_nested(reader: &mut Reader<'_>, depth: usize) -> Read<NestedAttribute> {
    let depth = deeper(depth)?;
    let nesting: Nesting = Code::from_code(reader.byte()?)?;
    Ok(NestedAttribute { nesting, attributes: read_attributes(reader, depth)? })
}
