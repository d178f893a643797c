//! A key that signs, for tests: Ed25519 in version 4, as GnuPG makes it.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;

use super::algorithms::Hash;

/// When keys and signatures of tests are made, in seconds since 1970.
const CREATED: u32 = 1_704_153_600;

/// A key with one user id.
pub(crate) struct SigningKey {
    pair: Ed25519KeyPair,
    /// Permitted uses of the key.
    flags: u8,
}

impl SigningKey {
    /// A new key.
    pub(crate) fn new() -> SigningKey {
        SigningKey { pair: Ed25519KeyPair::generate().expect("because there is randomness"), flags: 3 }
    }

    /// A new key that its owner uses for signatures of keys only.
    pub(crate) fn for_certificates() -> SigningKey {
        SigningKey { flags: 1, ..SigningKey::new() }
    }

    /// The certificate.
    pub(crate) fn armored(&self) -> String {
        self.armored_with(&[], &[])
    }

    /// The certificate with packets after the main key, and packets at the end, after the user id.
    pub(crate) fn armored_with(&self, of_key: &[u8], of_user_id: &[u8]) -> String {
        let user_id = b"Publisher <publisher@example.com>";
        let mut bytes = packet(6, &self.body());
        bytes.extend(of_key);
        bytes.extend(packet(13, user_id));
        let mut signed = self.hashed();
        signed.push(0xB4);
        signed.extend((user_id.len() as u32).to_be_bytes());
        signed.extend(user_id);
        bytes.extend(self.signature(0x13, &signed, &[2, 27, self.flags]));
        bytes.extend(of_user_id);
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        format!("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{text}\n-----END PGP PUBLIC KEY BLOCK-----\n")
    }

    /// The key id in capital letters.
    pub(crate) fn id(&self) -> String {
        let fingerprint = Hash::Sha1.digest(&self.hashed());
        fingerprint.as_ref()[12..].iter().map(|byte| format!("{byte:02X}")).collect()
    }

    /// A signature of a document.
    pub(crate) fn sign(&self, document: &[u8]) -> Vec<u8> {
        self.signature(0, document, &[])
    }

    /// A signature of a type over the main key of a certificate, with further subpackets.
    pub(crate) fn sign_key(&self, kind: u8, other: &SigningKey, statements: &[u8]) -> Vec<u8> {
        self.signature(kind, &other.hashed(), statements)
    }

    fn body(&self) -> Vec<u8> {
        let mut body = vec![4];
        body.extend(CREATED.to_be_bytes());
        body.extend([22, 9, 0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x0F, 0x01, 0x01, 0x07, 0x40]);
        body.extend(self.pair.public_key().as_ref());
        body
    }

    fn hashed(&self) -> Vec<u8> {
        let body = self.body();
        let mut hashed = vec![0x99, 0, body.len() as u8];
        hashed.extend(body);
        hashed
    }

    fn signature(&self, kind: u8, signed: &[u8], statements: &[u8]) -> Vec<u8> {
        let mut body = vec![4, kind, 22, 8, 0, 6 + statements.len() as u8, 5, 2];
        body.extend(CREATED.to_be_bytes());
        body.extend(statements);
        let mut message = signed.to_vec();
        message.extend(&body);
        message.extend([4, 0xFF, 0, 0, 0, body.len() as u8]);
        let digest = Hash::Sha256.digest(&message);
        let id = Hash::Sha1.digest(&self.hashed());
        body.extend([0, 10, 9, 16]);
        body.extend(&id.as_ref()[12..]);
        body.extend(&digest.as_ref()[..2]);
        for number in self.pair.sign(digest.as_ref()).as_ref().chunks(32) {
            let zeros = number.iter().take_while(|byte| **byte == 0).count();
            let number = &number[zeros..];
            let bits = number.len() * 8 - number.first().map_or(0, |byte| byte.leading_zeros() as usize);
            body.extend((bits as u16).to_be_bytes());
            body.extend(number);
        }
        packet(2, &body)
    }
}

fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0xC0 | tag, body.len() as u8];
    packet.extend(body);
    packet
}
