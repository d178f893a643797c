//! Messages of schemas. The two protocols have other numbers for the same fields in attributes: all messages that
//! contain attributes have the kind of attribute as a parameter.

#![allow(missing_docs, reason = "the names are those of the protocol and say what is meant")]

use std::fmt::Debug;

use prost::Message;
use prost::bytes::Bytes;

use super::messages::StringKind;

/// A schema and its version.
#[derive(Clone, PartialEq, Message)]
pub struct Schema<A: Message + Default + Debug> {
    #[prost(int64, tag = 1)]
    pub version: i64,
    #[prost(message, optional, tag = 2)]
    pub block: Option<Block<A>>,
}

/// Content of a block.
#[derive(Clone, PartialEq, Message)]
pub struct Block<A: Message + Default + Debug> {
    #[prost(int64, tag = 1)]
    pub version: i64,
    #[prost(message, repeated, tag = 2)]
    pub attributes: Vec<A>,
    #[prost(message, repeated, tag = 3)]
    pub block_types: Vec<NestedBlock<A>>,
    #[prost(string, tag = 4)]
    pub description: String,
    #[prost(enumeration = "StringKind", tag = 5)]
    pub description_kind: i32,
    #[prost(bool, tag = 6)]
    pub deprecated: bool,
    #[prost(string, tag = 7)]
    pub deprecation_message: String,
}

/// A block type in a block.
#[derive(Clone, PartialEq, Message)]
pub struct NestedBlock<A: Message + Default + Debug> {
    #[prost(string, tag = 1)]
    pub type_name: String,
    #[prost(message, optional, tag = 2)]
    pub block: Option<Block<A>>,
    #[prost(enumeration = "NestingMode", tag = 3)]
    pub nesting: i32,
    #[prost(int64, tag = 4)]
    pub min_items: i64,
    #[prost(int64, tag = 5)]
    pub max_items: i64,
}

/// Nesting mode of nested blocks or nested attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum NestingMode {
    Invalid = 0,
    Single = 1,
    List = 2,
    Set = 3,
    Map = 4,
    Group = 5,
}

/// An attribute in protocol 5. Its type is JSON.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeV5 {
    #[prost(string, tag = 1)]
    pub name: String,
    #[prost(bytes = "bytes", tag = 2)]
    pub r#type: Bytes,
    #[prost(string, tag = 3)]
    pub description: String,
    #[prost(bool, tag = 4)]
    pub required: bool,
    #[prost(bool, tag = 5)]
    pub optional: bool,
    #[prost(bool, tag = 6)]
    pub computed: bool,
    #[prost(bool, tag = 7)]
    pub sensitive: bool,
    #[prost(enumeration = "StringKind", tag = 8)]
    pub description_kind: i32,
    #[prost(bool, tag = 9)]
    pub deprecated: bool,
    #[prost(bool, tag = 10)]
    pub write_only: bool,
    #[prost(string, tag = 11)]
    pub deprecation_message: String,
}

/// An attribute in protocol 6. Its type is JSON, or it has a nested type.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeV6 {
    #[prost(string, tag = 1)]
    pub name: String,
    #[prost(bytes = "bytes", tag = 2)]
    pub r#type: Bytes,
    #[prost(string, tag = 3)]
    pub description: String,
    #[prost(bool, tag = 4)]
    pub required: bool,
    #[prost(bool, tag = 5)]
    pub optional: bool,
    #[prost(bool, tag = 6)]
    pub computed: bool,
    #[prost(bool, tag = 7)]
    pub sensitive: bool,
    #[prost(enumeration = "StringKind", tag = 8)]
    pub description_kind: i32,
    #[prost(bool, tag = 9)]
    pub deprecated: bool,
    #[prost(message, optional, tag = 10)]
    pub nested_type: Option<NestedObject>,
    #[prost(bool, tag = 11)]
    pub write_only: bool,
    #[prost(string, tag = 12)]
    pub deprecation_message: String,
}

/// Objects whose attributes have schemas.
#[derive(Clone, PartialEq, Message)]
pub struct NestedObject {
    #[prost(message, repeated, tag = 1)]
    pub attributes: Vec<AttributeV6>,
    #[prost(enumeration = "NestingMode", tag = 3)]
    pub nesting: i32,
}

impl From<AttributeV5> for AttributeV6 {
    fn from(five: AttributeV5) -> AttributeV6 {
        AttributeV6 {
            name: five.name,
            r#type: five.r#type,
            description: five.description,
            required: five.required,
            optional: five.optional,
            computed: five.computed,
            sensitive: five.sensitive,
            description_kind: five.description_kind,
            deprecated: five.deprecated,
            nested_type: None,
            write_only: five.write_only,
            deprecation_message: five.deprecation_message,
        }
    }
}

impl From<AttributeV6> for AttributeV5 {
    /// Nested types are omitted: protocol 5 does not have them.
    fn from(six: AttributeV6) -> AttributeV5 {
        AttributeV5 {
            name: six.name,
            r#type: six.r#type,
            description: six.description,
            required: six.required,
            optional: six.optional,
            computed: six.computed,
            sensitive: six.sensitive,
            description_kind: six.description_kind,
            deprecated: six.deprecated,
            write_only: six.write_only,
            deprecation_message: six.deprecation_message,
        }
    }
}
