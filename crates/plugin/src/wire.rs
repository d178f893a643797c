//! Wire format: messages and calls of protocols 5 and 6, and of the two services that every plugin has beside its own.
//!
//! The protocols differ in the names of some calls and in how an attribute is described; everything else stands once.

mod client;
mod failure;
mod messages;
mod schema;

pub use client::{GrpcClient, MESSAGE_LIMIT, Stdio};
pub use failure::{CallError, GrpcCode};
pub use messages::*;
pub use schema::*;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// The one of `tfplugin5`.
    V5,
    /// The one of `tfplugin6`: with nested attributes.
    V6,
}

impl Protocol {
    /// As given in the handshake.
    pub fn number(self) -> u32 {
        match self {
            Protocol::V5 => 5,
            Protocol::V6 => 6,
        }
    }
    /// By the number in the handshake, if it can be spoken.
    pub fn from_number(number: u32) -> Option<Protocol> {
        match number {
            5 => Some(Protocol::V5),
            6 => Some(Protocol::V6),
            _ => None,
        }
    }
}

/// Something that can be called: one request, one response.
pub trait Call: Send + Sync + 'static {
    /// Request.
    type Request: prost::Message + Default + 'static;
    /// Response.
    type Response: prost::Message + Default + 'static;
    /// Where, by the protocol.
    fn path(protocol: Protocol) -> &'static str;
}

/// Asks the process to exit. Part of every plugin.
#[derive(Clone, Copy, Debug)]
pub struct Shutdown;

impl Call for Shutdown {
    type Request = Empty;
    type Response = Empty;
    fn path(_: Protocol) -> &'static str {
        "/plugin.GRPCController/Shutdown"
    }
}

/// Follows the standard streams of the process after the handshake: the response is a stream of
/// [`StdioData`]. Part of every plugin.
pub const STREAM_STDIO: &str = "/plugin.GRPCStdio/StreamStdio";

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message as _;

    /// Bytes put together by hand from the numbers of the protocols.
    #[test]
    fn attributes_are_described_with_other_numbers_by_protocol() {
        let five =
            AttributeV5 { name: "a".into(), write_only: true, deprecation_message: "d".into(), ..Default::default() };
        assert_eq!(five.encode_to_vec(), b"\x0a\x01a\x50\x01\x5a\x01d");
        let nested = NestedObject { attributes: vec![], nesting: NestingMode::Set.into() };
        let six = AttributeV6 {
            name: "a".into(),
            nested_type: Some(nested),
            write_only: true,
            deprecation_message: "d".into(),
            ..Default::default()
        };
        assert_eq!(six.encode_to_vec(), b"\x0a\x01a\x52\x02\x18\x03\x58\x01\x62\x01d");
        assert_eq!(AttributeV6::decode(six.encode_to_vec().as_slice()).expect("because it was encoded"), six);
    }

    /// Schemas of single types stay encoded until they are needed.
    #[test]
    fn schemas_of_types_are_decoded_on_their_own() {
        let block = Block::<AttributeV6> { version: 7, ..Default::default() };
        let one = Schema { version: 3, block: Some(block) };
        let mut response = SchemaResponse::default();
        response.resource_schemas.insert("x".into(), one.encode_to_vec().into());
        let bytes = response.encode_to_vec();
        assert_eq!(bytes, b"\x12\x0b\x0a\x01x\x12\x06\x08\x03\x12\x02\x08\x07");
        let back = SchemaResponse::decode(bytes.as_slice()).expect("because it was encoded");
        let x = back.resource_schemas["x"].clone();
        assert_eq!(Schema::<AttributeV6>::decode(x).expect("because it was encoded"), one);
    }
}
