//! How a state is stored in keys: as it is, compressed, or in chunks that the key of the state lists.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use md5::{Digest as _, Md5};
use serde_json::{Value as Json, json};

use crate::kit::requests::STATE_LIMIT;

/// Bytes of one chunk: the largest value of a key in Consul, unless its administrator has changed that.
pub(super) const CHUNK: usize = 524_288;
/// The first byte of a compressed state. No JSON starts with it.
const GZIP: u8 = 0x1f;

/// Whether new states are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    /// With gzip.
    Gzip,
    /// They are stored as they are.
    None,
}

impl Compression {
    /// The bytes to store.
    pub(super) fn applied(self, content: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Compression::None => Cow::Borrowed(content),
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                let compressed = encoder.write_all(content).and_then(|()| encoder.finish());
                Cow::Owned(compressed.expect("because memory takes every byte"))
            }
        }
    }
}

/// The state in stored bytes. The error is part of a sentence.
pub(super) fn expanded(payload: Vec<u8>) -> Result<Vec<u8>, String> {
    if payload.first() != Some(&GZIP) {
        return Ok(payload);
    }
    let mut content = Vec::new();
    let read = GzDecoder::new(payload.as_slice()).take(STATE_LIMIT + 1).read_to_end(&mut content);
    read.map_err(|error| format!("it cannot be decompressed: {error}"))?;
    check_size(content.len())?;
    Ok(content)
}

/// Fails if a state is larger than any state that is read.
pub(super) fn check_size(length: usize) -> Result<(), String> {
    match length as u64 > STATE_LIMIT {
        true => Err(format!("the state is larger than {STATE_LIMIT} bytes")),
        false => Ok(()),
    }
}

/// The MD5 sum of a content in hexadecimal digits.
pub(super) fn md5_hex(content: &[u8]) -> String {
    Md5::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The chunks of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    /// The MD5 sum of the state, without compression.
    pub(super) hash: String,
    /// Their keys, in order.
    pub(super) keys: Vec<String>,
}

impl Chunks {
    /// The chunks of a state that is stored under a key.
    pub(super) fn of(key: &str, payload: &[u8], hash: &str) -> Chunks {
        let chunks = Chunks { hash: hash.to_owned(), keys: Vec::new() };
        let directory = chunks.directory(key);
        let keys = (0..payload.chunks(CHUNK).len()).map(|number| format!("{directory}{number}")).collect();
        Chunks { keys, ..chunks }
    }

    /// The chunks that a value lists; none if the value is a state. The error is part of a sentence.
    pub(super) fn parse(value: &[u8]) -> Result<Option<Chunks>, String> {
        let Ok(Json::Object(object)) = serde_json::from_slice(value) else { return Ok(None) };
        let Some(hash) = object.get("current-hash") else { return Ok(None) };
        let malformed = || "the key lists the chunks of a state in an unknown form".to_owned();
        let hash = hash.as_str().filter(|hash| hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let hash = hash.ok_or_else(malformed)?.to_owned();
        let keys = object.get("chunks").and_then(Json::as_array).ok_or_else(malformed)?;
        let keys: Option<Vec<String>> = keys.iter().map(|key| key.as_str().map(str::to_owned)).collect();
        Ok(Some(Chunks { hash, keys: keys.ok_or_else(malformed)? }))
    }

    /// The value of the key of the state.
    pub(super) fn to_json(&self) -> Vec<u8> {
        json!({ "chunks": self.keys, "current-hash": self.hash }).to_string().into_bytes()
    }

    /// The prefix of their keys.
    pub(super) fn directory(&self, key: &str) -> String {
        format!("{}/tfstate.{}/", key.trim_end_matches('/'), self.hash)
    }
}
