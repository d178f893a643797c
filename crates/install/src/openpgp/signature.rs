//! Signature packets: what they state, and the check that a key made them.

use super::algorithms::Hash;
use super::armor;
use super::certificate::PublicKey;
use super::packets::{Packet, Reader, packets};

/// The type of signature packets.
pub(super) const TAG: u8 = 2;

/// A signature.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    version: u8,
    /// Signature type: 0 for a binary document, 0x13 for a user id, and so on.
    pub(super) kind: u8,
    hash: Hash,
    salt: Vec<u8>,
    /// The part of the packet that is signed itself.
    hashed: Vec<u8>,
    /// The fields that depend on the algorithm.
    values: Vec<u8>,
    /// Statements of the subpackets.
    pub(super) statements: Statements,
}

/// Statements of the subpackets of a signature. Times are in seconds and only read from the signed part.
#[derive(Clone, Debug, Default)]
pub(super) struct Statements {
    pub(super) created: Option<u32>,
    /// Seconds after its creation at which the signature expires.
    pub(super) expires_after: Option<u32>,
    /// Seconds after the creation of the key at which the key expires.
    pub(super) key_expires_after: Option<u32>,
    /// Permitted uses of the key.
    pub(super) key_flags: Option<u8>,
    pub(super) is_primary_user_id: bool,
    /// Signature of a subkey over its main key: the body of the packet.
    pub(super) embedded: Vec<Vec<u8>>,
    issuers: Vec<Vec<u8>>,
    fingerprints: Vec<Vec<u8>>,
    /// The number of a subpacket that must not be ignored and is not known.
    unknown_critical: Option<u8>,
}

/// Maximum number of signatures of a document. Each is compared with each key.
const MOST_SIGNATURES: usize = 16;

/// Reads signatures, armored or not. Signatures of unsupported versions are skipped; fails if no other is left.
pub(crate) fn read_signatures(bytes: &[u8]) -> Result<Vec<Signature>, String> {
    let binary = match bytes.trim_ascii_start().starts_with(b"-----BEGIN") {
        true => armor::decode(&String::from_utf8_lossy(bytes), "SIGNATURE")?,
        false => bytes.to_vec(),
    };
    let (mut found, mut failure) = (Vec::new(), None);
    for Packet { tag, body } in packets(&binary)? {
        match tag {
            TAG => match Signature::read(body) {
                Ok(_) if found.len() == MOST_SIGNATURES => {
                    return Err(format!("it contains more than {MOST_SIGNATURES} signatures"));
                }
                Ok(signature) => found.push(signature),
                Err(reason) => failure = Some(reason),
            },
            // Packets that mean nothing: markers, trust and padding.
            10 | 12 | 21 => {}
            other => return Err(format!("it contains a packet of type {other}, which is not a signature")),
        }
    }
    match found.is_empty() {
        true => Err(failure.unwrap_or_else(|| "it is empty".to_owned())),
        false => Ok(found),
    }
}

/// A signature that Yuba cannot read, such as one of an unsupported version or with an unsupported hash algorithm.
#[derive(Clone, Debug)]
pub(super) struct Unreadable {
    pub(super) kind: u8,
    body: Vec<u8>,
}

impl Unreadable {
    /// The signature in a packet; none if the packet is too short to be one.
    pub(super) fn of(body: &[u8]) -> Option<Unreadable> {
        // The type is behind the version; versions 2 and 3 have a length in between.
        let kind = match body.first()? {
            2 | 3 => *body.get(2)?,
            _ => *body.get(1)?,
        };
        Some(Unreadable { kind, body: body.to_vec() })
    }

    /// Whether it could name a key as the one that made it: all ways to do so contain the id of the key.
    pub(super) fn could_name(&self, key: &PublicKey) -> bool {
        self.body.windows(key.id().len()).any(|bytes| bytes == key.id())
    }
}

impl Signature {
    /// Reads the body of a packet.
    pub(super) fn read(body: &[u8]) -> Result<Signature, String> {
        let mut reader = Reader(body);
        let version = reader.u8()?;
        if !matches!(version, 4 | 6) {
            return Err(format!("signatures of version {version} are not supported"));
        }
        // The algorithm of the key is that of the signature.
        let (kind, _, hash) = (reader.u8()?, reader.u8()?, reader.u8()?);
        let hash = Hash::of(hash).ok_or_else(|| format!("the hash algorithm {hash} is not supported"))?;
        let length = |reader: &mut Reader<'_>| match version {
            4 => Ok(usize::from(reader.u16()?)),
            _ => reader.length(),
        };
        let signed_length = length(&mut reader)?;
        let signed = reader.take(signed_length)?;
        let hashed = body[..body.len() - reader.0.len()].to_vec();
        let unsigned_length = length(&mut reader)?;
        let unsigned = reader.take(unsigned_length)?;
        // The first bytes of the digest would only save the verification of some wrong signatures.
        reader.u16()?;
        let salt = match version {
            4 => Vec::new(),
            _ => {
                let salt_length = usize::from(reader.u8()?);
                if salt_length != hash.salt_length() || salt_length == 0 {
                    return Err("the salt of the signature has the wrong length".to_owned());
                }
                reader.take(salt_length)?.to_vec()
            }
        };
        let mut statements = Statements::default();
        statements.read_signed(signed)?;
        statements.read_unsigned(unsigned)?;
        if statements.created.is_none() {
            return Err("the signature has no time of creation".to_owned());
        }
        Ok(Signature { version, kind, hash, salt, hashed, values: reader.rest().to_vec(), statements })
    }

    /// When it was made, in seconds since 1970.
    pub(crate) fn created(&self) -> u64 {
        u64::from(self.statements.created.unwrap_or_default())
    }

    /// When it expires, in seconds since 1970.
    pub(crate) fn expires(&self) -> Option<u64> {
        let after = self.statements.expires_after.filter(|after| *after != 0)?;
        Some(self.created() + u64::from(after))
    }

    /// Whether it names a key as the one that made it.
    pub(crate) fn is_said_to_be_of(&self, key: &PublicKey) -> bool {
        let Statements { issuers, fingerprints, .. } = &self.statements;
        issuers.iter().any(|id| *id == key.id()) || fingerprints.iter().any(|print| print == key.fingerprint())
    }

    /// Whether it names a key as the one that made it, or none at all.
    pub(super) fn may_be_of(&self, key: &PublicKey) -> bool {
        let Statements { issuers, fingerprints, .. } = &self.statements;
        (issuers.is_empty() && fingerprints.is_empty()) || self.is_said_to_be_of(key)
    }

    /// Whether it is a signature of a document, as opposed to one of a key.
    pub(crate) fn is_of_document(&self) -> bool {
        matches!(self.kind, 0 | 1)
    }

    /// Checks that a key has signed a document.
    pub(crate) fn verify_document(&self, key: &PublicKey, document: &[u8]) -> Result<(), String> {
        match self.kind {
            0 => self.verify(key, &[document]),
            1 => self.verify(key, &[&with_network_line_ends(document)]),
            _ => Err("the signature is not one of a document".to_owned()),
        }
    }

    /// Checks that a key has signed the given parts.
    pub(super) fn verify(&self, key: &PublicKey, parts: &[&[u8]]) -> Result<(), String> {
        if let Some(number) = self.statements.unknown_critical {
            return Err(format!("the signature has an unknown critical statement {number}"));
        }
        if key.version() != self.version {
            return Err("the signature and its key have different versions".to_owned());
        }
        let mut message = self.salt.clone();
        for part in parts {
            message.extend_from_slice(part);
        }
        message.extend_from_slice(&self.hashed);
        message.extend([self.version, 0xFF]);
        let length = u32::try_from(self.hashed.len()).map_err(|_| "the signature is too long".to_owned())?;
        message.extend(length.to_be_bytes());
        key.material().verify(self.hash, &message, &self.values)
    }
}

impl Statements {
    fn read_signed(&mut self, area: &[u8]) -> Result<(), String> {
        for Subpacket { number, is_critical, mut body } in subpackets(area)? {
            match number {
                2 => self.created = Some(body.u32()?),
                3 => self.expires_after = Some(body.u32()?),
                9 => self.key_expires_after = Some(body.u32()?),
                25 => self.is_primary_user_id = body.u8()? != 0,
                27 => self.key_flags = Some(body.0.first().copied().unwrap_or_default()),
                16 | 32 | 33 => self.read_issuer(number, body)?,
                // Preferences, reasons and addresses, which change nothing here.
                4..=7 | 11 | 21..=24 | 26 | 28..=31 | 34 | 35 | 39 => {}
                _ if is_critical => self.unknown_critical = Some(number),
                _ => {}
            }
        }
        Ok(())
    }

    /// The unsigned area only helps to find keys, and has signatures that prove themselves.
    fn read_unsigned(&mut self, area: &[u8]) -> Result<(), String> {
        for Subpacket { number, body, .. } in subpackets(area)? {
            self.read_issuer(number, body)?;
        }
        Ok(())
    }

    fn read_issuer(&mut self, number: u8, mut body: Reader<'_>) -> Result<(), String> {
        match number {
            16 => self.issuers.push(body.take(8)?.to_vec()),
            32 => self.embedded.push(body.rest().to_vec()),
            33 => {
                body.u8()?;
                self.fingerprints.push(body.rest().to_vec());
            }
            _ => {}
        }
        Ok(())
    }
}

struct Subpacket<'a> {
    number: u8,
    is_critical: bool,
    body: Reader<'a>,
}

fn subpackets(area: &[u8]) -> Result<Vec<Subpacket<'_>>, String> {
    let mut reader = Reader(area);
    let mut found = Vec::new();
    while !reader.0.is_empty() {
        let length = match reader.u8()? {
            short @ 0..192 => usize::from(short),
            first @ 192..255 => ((usize::from(first) - 192) << 8) + usize::from(reader.u8()?) + 192,
            255 => reader.length()?,
        };
        let mut body = Reader(reader.take(length)?);
        let number = body.u8()?;
        found.push(Subpacket { number: number & 0x7F, is_critical: number & 0x80 != 0, body });
    }
    Ok(found)
}

/// Signatures of texts are made over lines that end with CR LF.
fn with_network_line_ends(text: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(text.len() + text.len() / 32);
    let mut previous = 0;
    for byte in text {
        if *byte == b'\n' && previous != b'\r' {
            written.push(b'\r');
        }
        written.push(*byte);
        previous = *byte;
    }
    written
}
