//! Digests, name-based UUIDs and RSA decryption.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ecow::{EcoString, eco_format};
use sha2::Digest;

use super::encoding::decode_base64;
use super::rsa;
use crate::function::{Function, FunctionBody, FunctionError, Param, Result};
use crate::{Type, Value};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let hash = |name, description, body: FunctionBody| {
        Function::new(
            name,
            description,
            [Param::new("str", Type::string(), "The string to hash.")],
            Type::string(),
            body,
        )
    };
    vec![
        hash("base64sha256", "Returns the SHA256 hash of a string, in Base64.", |args, _| {
            digest(args, Hash::Sha256, BASE64)
        }),
        hash("base64sha512", "Returns the SHA512 hash of a string, in Base64.", |args, _| {
            digest(args, Hash::Sha512, BASE64)
        }),
        hash("md5", "Returns the MD5 hash of a string, in hexadecimal digits.", |args, _| digest(args, Hash::Md5, HEX)),
        hash("sha1", "Returns the SHA1 hash of a string, in hexadecimal digits.", |args, _| {
            digest(args, Hash::Sha1, HEX)
        }),
        hash("sha256", "Returns the SHA256 hash of a string, in hexadecimal digits.", |args, _| {
            digest(args, Hash::Sha256, HEX)
        }),
        hash("sha512", "Returns the SHA512 hash of a string, in hexadecimal digits.", |args, _| {
            digest(args, Hash::Sha512, HEX)
        }),
        Function::new(
            "rsadecrypt",
            "Decrypts a string that was encrypted with RSA (PKCS #1 v1.5 padding) for a private key.",
            [
                Param::new("ciphertext", Type::string(), "The ciphertext, in Base64."),
                Param::new("privatekey", Type::string(), "The private key, in PEM format and without a passphrase."),
            ],
            Type::string(),
            |args, _| rsadecrypt(args),
        ),
        Function::new(
            "uuidv5",
            "Returns the UUID (version 5) of a name within a namespace.",
            [
                Param::new(
                    "namespace",
                    Type::string(),
                    "One of `dns`, `url`, `oid` and `x500`, or the UUID of the namespace.",
                ),
                Param::new("name", Type::string(), "The name."),
            ],
            Type::string(),
            |args, _| uuidv5(args),
        ),
    ]
}

/// A digest the language offers.
#[derive(Clone, Copy, Debug)]
pub enum Hash {
    /// MD5
    Md5,
    /// SHA-1
    Sha1,
    /// SHA-256
    Sha256,
    /// SHA-512
    Sha512,
}

/// A digest in the making.
#[derive(Clone, Debug)]
pub enum Hasher {
    /// MD5
    Md5(md5::Md5),
    /// SHA-1
    Sha1(sha1::Sha1),
    /// SHA-256
    Sha256(sha2::Sha256),
    /// SHA-512
    Sha512(sha2::Sha512),
}

impl Hash {
    /// The digest of no bytes, to be continued.
    pub fn start(self) -> Hasher {
        match self {
            Hash::Md5 => Hasher::Md5(Digest::new()),
            Hash::Sha1 => Hasher::Sha1(Digest::new()),
            Hash::Sha256 => Hasher::Sha256(Digest::new()),
            Hash::Sha512 => Hasher::Sha512(Digest::new()),
        }
    }
}

impl Hasher {
    /// Takes in more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Hasher::Md5(hasher) => hasher.update(bytes),
            Hasher::Sha1(hasher) => hasher.update(bytes),
            Hasher::Sha256(hasher) => hasher.update(bytes),
            Hasher::Sha512(hasher) => hasher.update(bytes),
        }
    }
    /// The digest of all bytes.
    pub fn finish(self) -> Vec<u8> {
        match self {
            Hasher::Md5(hasher) => hasher.finalize().to_vec(),
            Hasher::Sha1(hasher) => hasher.finalize().to_vec(),
            Hasher::Sha256(hasher) => hasher.finalize().to_vec(),
            Hasher::Sha512(hasher) => hasher.finalize().to_vec(),
        }
    }
}

/// Encoding of bytes as text.
pub type TextOf = fn(&[u8]) -> EcoString;

/// Lower-case hexadecimal digits.
pub const HEX: TextOf = hex;
/// Standard Base64 with padding.
pub const BASE64: TextOf = |bytes| STANDARD.encode(bytes).into();

fn hex(bytes: &[u8]) -> EcoString {
    let mut text = EcoString::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    text
}

fn text(args: &[Value], index: usize) -> &str {
    args.get(index).and_then(Value::as_str).map_or("", EcoString::as_str)
}

fn digest(args: &[Value], hash: Hash, text_of: TextOf) -> Result {
    let mut hasher = hash.start();
    hasher.update(text(args, 0).as_bytes());
    Ok(Value::string(text_of(&hasher.finish())))
}

fn rsadecrypt(args: &[Value]) -> Result {
    let ciphertext = decode_base64(text(args, 0))
        .map_err(|problem| FunctionError::arg(0, eco_format!("the ciphertext must be Base64 text: {problem}")))?;
    let key = rsa::PrivateKey::parse(text(args, 1))
        .map_err(|problem| FunctionError::arg(1, eco_format!("invalid private key: {problem}")))?;
    let plain =
        key.decrypt(&ciphertext).map_err(|problem| FunctionError::new(eco_format!("failed to decrypt: {problem}")))?;
    let plain = String::from_utf8(plain)
        .map_err(|_| FunctionError::new("the decrypted text is not valid UTF-8, so it cannot be a string"))?;
    Ok(Value::string(plain))
}

fn uuidv5(args: &[Value]) -> Result {
    let namespace = match text(args, 0) {
        "dns" => well_known_namespace(0x10),
        "url" => well_known_namespace(0x11),
        "oid" => well_known_namespace(0x12),
        "x500" => well_known_namespace(0x14),
        other => parse_uuid(other).ok_or_else(|| {
            FunctionError::new(eco_format!(
                "namespace {other:?} is not supported: use \"dns\", \"url\", \"oid\", \"x500\" or a UUID"
            ))
        })?,
    };
    let mut hash = sha1::Sha1::new();
    hash.update(namespace);
    hash.update(text(args, 1).as_bytes());
    let hash = hash.finalize();
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&hash[..16]);
    uuid[6] = uuid[6] & 0x0f | 0x50;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(Value::string(format_uuid(&uuid)))
}

/// The namespaces of RFC 4122 differ in one byte.
fn well_known_namespace(last: u8) -> [u8; 16] {
    [0x6b, 0xa7, 0xb8, last, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8]
}

/// Sixteen bytes in the usual notation of a UUID.
pub fn format_uuid(uuid: &[u8; 16]) -> EcoString {
    let mut text = EcoString::with_capacity(36);
    for (index, part) in [&uuid[..4], &uuid[4..6], &uuid[6..8], &uuid[8..10], &uuid[10..]].into_iter().enumerate() {
        if index > 0 {
            text.push('-');
        }
        text.push_str(&hex(part));
    }
    text
}

/// A UUID plain, as URN, in any pair of brackets, or without dashes.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    let (bytes, dashed) = match bytes.len() {
        36 => (bytes, true),
        45 if bytes[..9].eq_ignore_ascii_case(b"urn:uuid:") => (&bytes[9..], true),
        // Quirk: what the brackets are is not looked at.
        38 => (&bytes[1..37], true),
        32 => (bytes, false),
        _ => return None,
    };
    if dashed && [8, 13, 18, 23].iter().any(|&at| bytes[at] != b'-') {
        return None;
    }
    let digit = |at: usize| char::from(bytes[at]).to_digit(16).map(|digit| digit as u8);
    let mut uuid = [0; 16];
    let mut at = 0;
    for byte in &mut uuid {
        if dashed && matches!(at, 8 | 13 | 18 | 23) {
            at += 1;
        }
        *byte = digit(at)? << 4 | digit(at + 1)?;
        at += 2;
    }
    Some(uuid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, args: &[&str], expect: &str) {
        let function = functions().into_iter().find(|f| f.signature.name == name).expect("it is in the table");
        let args: Vec<Value> = args.iter().map(|arg| Value::string(*arg)).collect();
        let text = match function.call(&args) {
            Ok(value) => value.as_str().cloned().unwrap_or_default(),
            Err(error) => eco_format!("{:?} {}", error.arg, error.message()),
        };
        assert_eq!(text, expect, "{name}");
    }

    #[test]
    fn digests() {
        check("md5", &["hello world"], "5eb63bbbe01eeed093cb22bb8f5acdc3");
        check("sha1", &["test"], "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3");
        check("sha256", &["test"], "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
        check("base64sha256", &["test"], "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=");
    }

    #[test]
    fn name_based_uuids() {
        check("uuidv5", &["dns", "tada"], "faa898db-9b9d-5b75-86a9-149e7bb8e3b8");
        check(
            "uuidv5",
            &["URN:UUID:6ba7b810-9dad-11d1-80b4-00c04fd430c8", "tada"],
            "faa898db-9b9d-5b75-86a9-149e7bb8e3b8",
        );
        check("uuidv5", &["6ba7b8109dad11d180b400c04fd430c8", "tada"], "faa898db-9b9d-5b75-86a9-149e7bb8e3b8");
        check(
            "uuidv5",
            &["tada", "tada"],
            "None namespace \"tada\" is not supported: use \"dns\", \"url\", \"oid\", \"x500\" or a UUID",
        );
    }

    #[test]
    fn rsa() {
        check("rsadecrypt", &[include_str!("testdata/rsa.b64"), include_str!("testdata/rsa.pem")], "hello wörld");
        check(
            "rsadecrypt",
            &["AAAA", include_str!("testdata/rsa.pem")],
            "None failed to decrypt: the ciphertext does not fit this private key",
        );
        check(
            "rsadecrypt",
            &["?", "x"],
            "Some(0) the ciphertext must be Base64 text: invalid Base64 symbol at offset 0",
        );
        check("rsadecrypt", &["", "x"], "Some(1) invalid private key: no key in PEM format was found");
        check(
            "rsadecrypt",
            &["", "-----BEGIN RSA PRIVATE KEY-----\nMAA=\n-----END RSA PRIVATE KEY-----"],
            "Some(1) invalid private key: its content is damaged (not valid ASN.1)",
        );
    }
}
