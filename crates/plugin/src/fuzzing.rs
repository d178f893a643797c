//! Entry points for the fuzz targets to parsers of provider messages that are private to this crate.

use prost::Message as _;

use crate::log::{LogSink, Record};
use crate::schema::Described;
use crate::wire::{IdentitySchemasResponse, Protocol, SchemaResponse};

/// The first line of a provider.
pub fn handshake(line: &str) -> bool {
    crate::handshake::read(line).is_ok()
}

/// A line of a log.
pub fn log_line(line: &str) -> String {
    let record = Record::of_line(line, &"provider".into());
    format!("{record:?}")
}

/// Schemas of a provider, all of them read.
pub fn schemas(bytes: &[u8], protocol: Protocol) -> Option<usize> {
    let identities = IdentitySchemasResponse::decode(bytes).map(|answer| answer.identity_schemas).unwrap_or_default();
    let described = Described::new(protocol, SchemaResponse::decode(bytes).ok()?, identities).ok()?;
    described.check().ok()?;
    let schema = described.into_schema(&LogSink::off()).ok()?;
    let types = schema.resources.iter().map(|(_, schema)| schema.block.empty_value().ty().to_string().len());
    Some(types.sum())
}
