//! Schemas of a provider: each type is decoded from its bytes on the first use.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use ecow::{EcoString, eco_format};
use prost::Message as _;
use prost::bytes::Bytes;
use yuba_provider::{
    Attribute, AttributeType, BlockSchema, IdentitySchema, NestedAttribute, NestedBlock, Nesting, ProviderSchema,
    Schema, SchemaSource, Schemas,
};

use crate::functions::{signatures, type_of};
use crate::log::{LogLevel, LogSink};
use crate::wire::{self, AttributeV5, AttributeV6, NestingMode, Protocol, StringKind};

/// Everything that a provider says it has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Described {
    pub(crate) protocol: Protocol,
    pub(crate) provider: Bytes,
    pub(crate) meta: Option<Bytes>,
    pub(crate) functions: BTreeMap<String, wire::Function>,
    pub(crate) identities: BTreeMap<String, wire::IdentitySchema>,
    pub(crate) plan_destroy: bool,
    /// A process need not be asked for its schemas before it works.
    pub(crate) schema_optional: bool,
    pub(crate) resources: Types,
    pub(crate) data: Types,
    pub(crate) ephemeral: Types,
}

/// The bytes of schemas by the names of their types.
#[derive(Clone, Debug)]
pub(crate) enum Types {
    Memory(BTreeMap<EcoString, Bytes>),
    /// Offset in a file, and length.
    File(Arc<File>, BTreeMap<EcoString, (u64, u32)>),
}

impl Types {
    fn names(&self) -> Vec<EcoString> {
        match self {
            Types::Memory(types) => types.keys().cloned().collect(),
            Types::File(_, types) => types.keys().cloned().collect(),
        }
    }

    fn bytes(&self, name: &str) -> Option<Bytes> {
        match self {
            Types::Memory(types) => types.get(name).cloned(),
            Types::File(file, types) => {
                let (start, length) = *types.get(name)?;
                let mut bytes = vec![0; usize::try_from(length).ok()?];
                std::os::unix::fs::FileExt::read_exact_at(file.as_ref(), &mut bytes, start).ok()?;
                Some(bytes.into())
            }
        }
    }
}

/// Wherever the bytes are.
impl PartialEq for Types {
    fn eq(&self, other: &Types) -> bool {
        let names = self.names();
        names == other.names() && names.iter().all(|name| self.bytes(name) == other.bytes(name))
    }
}

impl Described {
    /// From the responses of a provider.
    pub(crate) fn new(
        protocol: Protocol,
        response: wire::SchemaResponse,
        identities: BTreeMap<String, wire::IdentitySchema>,
    ) -> Result<Described, EcoString> {
        let types = |types: BTreeMap<String, Bytes>| {
            Types::Memory(types.into_iter().map(|(name, bytes)| (name.into(), bytes)).collect())
        };
        let Some(provider) = response.provider else {
            return Err("it does not say what the provider block may contain".into());
        };
        let capabilities = response.server_capabilities.unwrap_or_default();
        Ok(Described {
            protocol,
            provider,
            meta: response.provider_meta,
            functions: response.functions,
            identities,
            plan_destroy: capabilities.plan_destroy,
            schema_optional: capabilities.get_provider_schema_optional,
            resources: types(response.resource_schemas),
            data: types(response.data_source_schemas),
            ephemeral: types(response.ephemeral_resource_schemas),
        })
    }

    /// Reads everything once, to find out whether it can be read. The error is part of a sentence.
    pub(crate) fn check(&self) -> Result<(), EcoString> {
        let kinds =
            [("resource", &self.resources), ("data source", &self.data), ("ephemeral resource", &self.ephemeral)];
        for (what, types) in kinds {
            for name in types.names() {
                let bytes = types.bytes(&name).unwrap_or_default();
                schema(&bytes, self.protocol).map_err(|reason| eco_format!("in the {what} type {name:?} {reason}"))?;
            }
        }
        Ok(())
    }

    /// As schemas of types that are read when they are asked for. The error is part of a sentence.
    pub(crate) fn into_schema(self, log: &LogSink) -> Result<ProviderSchema, EcoString> {
        let protocol = self.protocol;
        let one = |bytes: &Bytes, what: &str| {
            schema(bytes, protocol).map_err(|reason| eco_format!("in the {what} block {reason}"))
        };
        let lazy = |types: Types, ephemeral: bool| {
            Schemas::lazy(types.names(), Arc::new(Lazy { types, protocol, ephemeral, log: log.clone() }))
        };
        let mut provider = one(&self.provider, "provider")?;
        provider.block.ephemeral = true;
        Ok(ProviderSchema {
            provider,
            meta: self.meta.as_ref().map(|bytes| one(bytes, "provider_meta")).transpose()?,
            resources: lazy(self.resources, false),
            data: lazy(self.data, false),
            ephemeral: lazy(self.ephemeral, true),
            functions: signatures(self.functions)?,
            identities: identities(self.identities)?,
            plan_destroy: self.plan_destroy,
        })
    }
}

/// Reads types when they are asked for.
struct Lazy {
    types: Types,
    protocol: Protocol,
    /// Ephemeral values may be anywhere in them.
    ephemeral: bool,
    log: LogSink,
}

impl SchemaSource for Lazy {
    fn read(&self, name: &str) -> Option<Schema> {
        let bytes = self.types.bytes(name);
        let read = bytes.ok_or_else(|| "it cannot be read from the disk".into());
        match read.and_then(|bytes| schema(&bytes, self.protocol)) {
            Ok(mut schema) => {
                schema.block.ephemeral = self.ephemeral;
                Some(schema)
            }
            // Everything could be read when it came from the provider, so this is a disk that forgets.
            Err(reason) => {
                let logger = "provider.schema".into();
                self.log.say(LogLevel::Error, &logger, || eco_format!("the schema of {name:?} is lost: {reason}"));
                None
            }
        }
    }
}

/// An attribute of a protocol.
trait AnyAttribute: prost::Message + Default + std::fmt::Debug + Into<AttributeV6> {}
impl<A: prost::Message + Default + std::fmt::Debug + Into<AttributeV6>> AnyAttribute for A {}

/// A schema from its bytes. The error is part of a sentence.
fn schema(bytes: &[u8], protocol: Protocol) -> Result<Schema, EcoString> {
    match protocol {
        Protocol::V5 => read::<AttributeV5>(bytes),
        Protocol::V6 => read::<AttributeV6>(bytes),
    }
}

fn read<A: AnyAttribute>(bytes: &[u8]) -> Result<Schema, EcoString> {
    let schema = wire::Schema::<A>::decode(bytes).map_err(|error| eco_format!("the schema is malformed: {error}"))?;
    let version = u64::try_from(schema.version).unwrap_or_default();
    Ok(Schema { version, block: block(schema.block.unwrap_or_default())? })
}

fn block<A: AnyAttribute>(block: wire::Block<A>) -> Result<BlockSchema, EcoString> {
    let attributes = attributes(block.attributes)?;
    let mut blocks = BTreeMap::new();
    for nested in block.block_types {
        let name: EcoString = nested.type_name.into();
        let found = nested_block(nested.block, nested.nesting, nested.min_items, nested.max_items)
            .map_err(|reason| eco_format!("in blocks of type {name:?} {reason}"))?;
        blocks.insert(name, found);
    }
    let mut found = BlockSchema::of(attributes, blocks);
    found.description = block.description.into();
    found.markdown = block.description_kind == i32::from(StringKind::Markdown);
    found.deprecated = block.deprecated.then(|| block.deprecation_message.into());
    Ok(found)
}

fn nested_block<A: AnyAttribute>(
    content: Option<wire::Block<A>>,
    mode: i32,
    min: i64,
    max: i64,
) -> Result<NestedBlock, EcoString> {
    let limit = |items: i64| u32::try_from(items.max(0)).unwrap_or(u32::MAX);
    let nesting = nesting(mode)?;
    Ok(NestedBlock { nesting, min: limit(min), max: limit(max), block: block(content.unwrap_or_default())? })
}

fn nesting(mode: i32) -> Result<Nesting, EcoString> {
    match NestingMode::try_from(mode) {
        Ok(NestingMode::Single) => Ok(Nesting::Single),
        Ok(NestingMode::Group) => Ok(Nesting::Group),
        Ok(NestingMode::List) => Ok(Nesting::List),
        Ok(NestingMode::Set) => Ok(Nesting::Set),
        Ok(NestingMode::Map) => Ok(Nesting::Map),
        Ok(NestingMode::Invalid) | Err(_) => Err(eco_format!("the nesting mode {mode} is not supported")),
    }
}

fn attributes<A: Into<AttributeV6>>(list: Vec<A>) -> Result<BTreeMap<EcoString, Attribute>, EcoString> {
    list.into_iter()
        .map(|described| {
            let described: AttributeV6 = described.into();
            let name: EcoString = described.name.as_str().into();
            let found = attribute(described).map_err(|reason| eco_format!("in the attribute {name:?} {reason}"))?;
            Ok((name, found))
        })
        .collect()
}

fn attribute(described: AttributeV6) -> Result<Attribute, EcoString> {
    let ty = match described.nested_type {
        Some(nested) => AttributeType::Nested(NestedAttribute {
            nesting: nesting(nested.nesting)?,
            attributes: attributes(nested.attributes)?,
        }),
        None => AttributeType::Plain(type_of(&described.r#type).map_err(|reason| eco_format!("the type {reason}"))?),
    };
    Ok(Attribute {
        ty,
        required: described.required,
        optional: described.optional,
        computed: described.computed,
        sensitive: described.sensitive,
        write_only: described.write_only,
        deprecated: described.deprecated.then(|| described.deprecation_message.into()),
        description: described.description.into(),
        markdown: described.description_kind == i32::from(StringKind::Markdown),
    })
}

fn identities(
    described: BTreeMap<String, wire::IdentitySchema>,
) -> Result<BTreeMap<EcoString, IdentitySchema>, EcoString> {
    described
        .into_iter()
        .map(|(kind, identity)| {
            let attributes = identity.identity_attributes.into_iter().map(|described| {
                let ty = type_of(&described.r#type).map_err(|reason| {
                    eco_format!("in the identity of {kind:?} the type of {:?} {reason}", described.name)
                })?;
                let attribute = Attribute {
                    required: described.required_for_import,
                    optional: described.optional_for_import,
                    description: described.description.into(),
                    ..Attribute::new(ty)
                };
                Ok((described.name.into(), attribute))
            });
            let attributes = attributes.collect::<Result<BTreeMap<EcoString, Attribute>, EcoString>>()?;
            let object = NestedAttribute { nesting: Nesting::Single, attributes };
            let version = u64::try_from(identity.version).unwrap_or_default();
            Ok((kind.as_str().into(), IdentitySchema { version, object }))
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn attribute(name: &str, ty: &'static str) -> AttributeV6 {
        AttributeV6 { name: name.into(), r#type: ty.into(), optional: true, ..AttributeV6::default() }
    }

    fn nested(attributes: Vec<AttributeV6>, nesting: NestingMode) -> AttributeV6 {
        let nested_type = Some(wire::NestedObject { attributes, nesting: nesting.into() });
        AttributeV6 { name: "nested".into(), nested_type, required: true, ..AttributeV6::default() }
    }

    fn block_of<A: prost::Message + Default + std::fmt::Debug>(attributes: Vec<A>) -> wire::Block<A> {
        wire::Block { attributes, ..wire::Block::default() }
    }

    fn in_block<A: prost::Message + Default + std::fmt::Debug>(
        name: &str,
        nesting: NestingMode,
        block: wire::Block<A>,
    ) -> wire::NestedBlock<A> {
        wire::NestedBlock {
            type_name: name.into(),
            block: Some(block),
            nesting: nesting.into(),
            min_items: 1,
            max_items: 1 << 40,
        }
    }

    fn bytes<A: prost::Message + Default + std::fmt::Debug>(block: wire::Block<A>) -> Bytes {
        wire::Schema { version: 3, block: Some(block) }.encode_to_vec().into()
    }

    /// A provider with a resource type in a protocol.
    pub(crate) fn described(protocol: Protocol) -> Described {
        let secret = AttributeV6 {
            write_only: true,
            sensitive: true,
            deprecated: true,
            deprecation_message: "old".into(),
            ..attribute("secret", r#""string""#)
        };
        let thing = match protocol {
            Protocol::V5 => bytes(wire::Block {
                block_types: vec![in_block(
                    "part",
                    NestingMode::Set,
                    block_of(vec![AttributeV5::from(attribute("n", r#""number""#))]),
                )],
                ..block_of(vec![AttributeV5::from(secret)])
            }),
            Protocol::V6 => bytes(wire::Block {
                block_types: vec![in_block("part", NestingMode::Set, block_of(vec![attribute("n", r#""number""#)]))],
                ..block_of(vec![secret, nested(vec![attribute("x", r#"["map","bool"]"#)], NestingMode::List)])
            }),
        };
        let response = wire::SchemaResponse {
            provider: Some(bytes(block_of::<AttributeV6>(Vec::new()))),
            resource_schemas: BTreeMap::from([("thing".to_owned(), thing.clone()), ("thing_two".to_owned(), thing)]),
            functions: BTreeMap::from([(
                "f".to_owned(),
                wire::Function { r#return: Some(wire::Return { r#type: r#""bool""#.into() }), ..Default::default() },
            )]),
            server_capabilities: Some(wire::ServerCapabilities { plan_destroy: true, ..Default::default() }),
            ..wire::SchemaResponse::default()
        };
        let identity = wire::IdentityAttribute {
            name: "id".into(),
            r#type: r#""string""#.into(),
            required_for_import: true,
            ..Default::default()
        };
        let identity = wire::IdentitySchema { version: 2, identity_attributes: vec![identity] };
        Described::new(protocol, response, BTreeMap::from([("thing".to_owned(), identity)]))
            .expect("because it has all")
    }

    /// The schemas of a provider, short.
    pub(crate) fn text(schema: &ProviderSchema) -> String {
        let mut out = String::new();
        for (name, schema) in &schema.resources {
            out += &format!("{name} v{} {}\n", schema.version, schema.block.implied_type().friendly_name());
            for (name, attribute) in schema.block.attributes() {
                out += &format!("  {name} {}", attribute.implied_type().friendly_name());
                for (is, flag) in [
                    (attribute.required, "required"),
                    (attribute.optional, "optional"),
                    (attribute.sensitive, "sensitive"),
                    (attribute.write_only, "write-only"),
                    (matches!(attribute.ty, AttributeType::Nested(_)), "nested"),
                ] {
                    out += &if is { format!(" {flag}") } else { String::new() };
                }
                out +=
                    &attribute.deprecated.as_ref().map(|message| format!(" deprecated({message})")).unwrap_or_default();
                out.push('\n');
            }
            for (name, nested) in schema.block.blocks() {
                out += &format!("  {name} {:?} {}..{}\n", nested.nesting, nested.min, nested.max);
            }
        }
        out += &format!("functions {:?}", schema.functions.keys());
        for (name, identity) in &schema.identities {
            out += &format!(" identity of {name} v{} {:?}", identity.version, identity.object.attributes.keys());
        }
        out + &format!(" plan_destroy {}\n", schema.plan_destroy)
    }

    fn check(protocol: Protocol, expect: &Expect) {
        let described = described(protocol);
        assert_eq!(described.check(), Ok(()));
        let schema = described.into_schema(&LogSink::off()).expect("because it was checked");
        expect.assert_eq(&text(&schema));
    }

    #[test]
    fn both_protocols_describe_the_same() {
        check(
            Protocol::V5,
            &expect![[r#"
            thing v3 object
              secret string optional sensitive write-only deprecated(old)
              part Set 1..4294967295
            thing_two v3 object
              secret string optional sensitive write-only deprecated(old)
              part Set 1..4294967295
            functions ["f"] identity of thing v2 ["id"] plan_destroy true
        "#]],
        );
        check(
            Protocol::V6,
            &expect![[r#"
            thing v3 object
              nested list of object required nested
              secret string optional sensitive write-only deprecated(old)
              part Set 1..4294967295
            thing_two v3 object
              nested list of object required nested
              secret string optional sensitive write-only deprecated(old)
              part Set 1..4294967295
            functions ["f"] identity of thing v2 ["id"] plan_destroy true
        "#]],
        );
    }

    #[test]
    fn nonsense_is_found_and_named() {
        let problem = |block: wire::Block<AttributeV6>| {
            let mut described = described(Protocol::V6);
            described.data = Types::Memory(BTreeMap::from([("d".into(), bytes(block))]));
            described.check().err().unwrap_or_default()
        };
        let start = "in the data source type \"d\" ";
        assert!(
            problem(block_of(vec![attribute("a", "what")]))
                .starts_with(&format!("{start}in the attribute \"a\" the type is not a type"))
        );
        let deep = block_of(vec![nested(vec![attribute("x", "")], NestingMode::Map)]);
        assert!(
            problem(deep).starts_with(&format!("{start}in the attribute \"nested\" in the attribute \"x\" the type"))
        );
        let lost = wire::Block {
            block_types: vec![in_block("b", NestingMode::Invalid, block_of(Vec::new()))],
            ..wire::Block::default()
        };
        assert!(problem(lost).starts_with(&format!("{start}in blocks of type \"b\" the nesting mode")));
        let mut broken = described(Protocol::V6);
        broken.ephemeral = Types::Memory(BTreeMap::from([("e".into(), Bytes::from_static(b"\xff\xff"))]));
        assert!(
            broken.check().is_err_and(
                |reason| reason.starts_with("in the ephemeral resource type \"e\" the schema is malformed")
            )
        );
    }
}
