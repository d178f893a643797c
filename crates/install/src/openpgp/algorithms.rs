//! Public keys by algorithm, and the verification of what was signed with them.

use aws_lc_rs::{digest, signature as lc};
use dashu_int::UBig;
use dashu_int::fast_div::ConstDivisor;
use dashu_int::ops::BitTest as _;

use super::packets::Reader;

/// Object identifiers of curves, as keys have them.
const P256: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07];
const P384: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x22];
const P521: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x23];
const SECP256K1: &[u8] = &[0x2B, 0x81, 0x04, 0x00, 0x0A];
const ED25519_LEGACY: &[u8] = &[0x2B, 0x06, 0x01, 0x04, 0x01, 0xDA, 0x47, 0x0F, 0x01];
const ED25519: &[u8] = &[0x2B, 0x65, 0x70];

/// Limits of DSA keys, in bits. Verification computes with numbers of this size.
const MAX_DSA_PRIME: usize = 4096;
const MAX_DSA_ORDER: usize = 512;

/// The reason for a signature that was not made with a key.
pub(crate) const MISMATCH: &str = "the signature does not match";

/// A public key without its metadata.
#[derive(Clone, Debug)]
pub(super) enum Material {
    /// RSA: modulus and exponent.
    Rsa(Vec<u8>, Vec<u8>),
    /// DSA.
    Dsa(Box<Dsa>),
    /// A curve with ECDSA, and an uncompressed point on it.
    Ecdsa(Curve, Vec<u8>),
    /// Ed25519 with signatures of two integers, as version 4 keys have them.
    Ed25519Legacy(Vec<u8>),
    /// Ed25519 with signatures of 64 bytes.
    Ed25519(Vec<u8>),
    /// A key that cannot sign, or whose algorithm is not supported: its name.
    Unsupported(String),
}

/// The numbers of a DSA key.
#[derive(Clone, Debug)]
pub(super) struct Dsa {
    prime: UBig,
    order: UBig,
    generator: UBig,
    public: UBig,
}

/// A curve for ECDSA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
    P521,
    Secp256k1,
}

/// A hash algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
    Sha3_256,
    Sha3_512,
}

impl Hash {
    /// The algorithm with an id. None if it is not supported, as MD5 and RIPEMD-160.
    pub(super) fn of(id: u8) -> Option<Hash> {
        Some(match id {
            2 => Hash::Sha1,
            8 => Hash::Sha256,
            9 => Hash::Sha384,
            10 => Hash::Sha512,
            11 => Hash::Sha224,
            12 => Hash::Sha3_256,
            14 => Hash::Sha3_512,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Hash::Sha1 => "SHA-1",
            Hash::Sha224 => "SHA-224",
            Hash::Sha256 => "SHA-256",
            Hash::Sha384 => "SHA-384",
            Hash::Sha512 => "SHA-512",
            Hash::Sha3_256 => "SHA3-256",
            Hash::Sha3_512 => "SHA3-512",
        }
    }

    /// Length of the salt that version 6 signatures have with this algorithm.
    pub(super) fn salt_length(self) -> usize {
        match self {
            Hash::Sha1 => 0,
            Hash::Sha224 | Hash::Sha256 | Hash::Sha3_256 => 16,
            Hash::Sha384 => 24,
            Hash::Sha512 | Hash::Sha3_512 => 32,
        }
    }

    pub(super) fn digest(self, message: &[u8]) -> digest::Digest {
        let algorithm = match self {
            Hash::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Hash::Sha224 => &digest::SHA224,
            Hash::Sha256 => &digest::SHA256,
            Hash::Sha384 => &digest::SHA384,
            Hash::Sha512 => &digest::SHA512,
            Hash::Sha3_256 => &digest::SHA3_256,
            Hash::Sha3_512 => &digest::SHA3_512,
        };
        digest::digest(algorithm, message)
    }
}

impl Material {
    /// Reads the fields of a key that depend on its algorithm.
    pub(super) fn read(algorithm: u8, reader: &mut Reader<'_>) -> Result<Material, String> {
        let unsupported = |name: &str| Material::Unsupported(name.to_owned());
        Ok(match algorithm {
            1 | 3 => Material::Rsa(reader.integer()?.to_vec(), reader.integer()?.to_vec()),
            17 => {
                let mut number = || Ok::<_, String>(UBig::from_be_bytes(reader.integer()?));
                Material::Dsa(Box::new(Dsa {
                    prime: number()?,
                    order: number()?,
                    generator: number()?,
                    public: number()?,
                }))
            }
            19 => {
                let length = usize::from(reader.u8()?);
                let oid = reader.take(length)?;
                let point = reader.integer()?.to_vec();
                match oid {
                    P256 => Material::Ecdsa(Curve::P256, point),
                    P384 => Material::Ecdsa(Curve::P384, point),
                    P521 => Material::Ecdsa(Curve::P521, point),
                    SECP256K1 => Material::Ecdsa(Curve::Secp256k1, point),
                    _ => unsupported("ECDSA on an unknown curve"),
                }
            }
            22 => {
                let length = usize::from(reader.u8()?);
                let oid = reader.take(length)?;
                // The first byte says that the point is in the native form of the curve.
                match (oid, reader.integer()?) {
                    (ED25519_LEGACY | ED25519, [0x40, point @ ..]) if point.len() == 32 => {
                        Material::Ed25519Legacy(point.to_vec())
                    }
                    _ => unsupported("EdDSA on another curve than Ed25519"),
                }
            }
            27 => Material::Ed25519(reader.take(32)?.to_vec()),
            28 => unsupported("Ed448"),
            2 | 16 | 18 | 25 | 26 => unsupported("an algorithm that only encrypts"),
            other => Material::Unsupported(format!("the unknown algorithm {other}")),
        })
    }

    /// Checks that a message was signed with this key. `values` are the fields of the signature that depend on the algorithm.
    pub(super) fn verify(&self, hash: Hash, message: &[u8], values: &[u8]) -> Result<(), String> {
        if hash == Hash::Sha1 && !is_free_of_collisions(message) {
            return Err("the signed data was made to collide with other data under SHA-1".to_owned());
        }
        let mut values = Reader(values);
        match self {
            Material::Rsa(modulus, exponent) => verify_rsa(modulus, exponent, hash, message, values.integer()?),
            Material::Dsa(key) => {
                let (r, s) = (UBig::from_be_bytes(values.integer()?), UBig::from_be_bytes(values.integer()?));
                key.verify(hash.digest(message).as_ref(), &r, &s)
            }
            Material::Ecdsa(curve, point) => {
                let signature = der(values.integer()?, values.integer()?);
                let algorithm = curve.algorithm(hash)?;
                let key = lc::UnparsedPublicKey::new(algorithm, point);
                key.verify(message, &signature).map_err(|_| MISMATCH.to_owned())
            }
            Material::Ed25519Legacy(point) => {
                let mut signature = Vec::with_capacity(64);
                for _ in 0..2 {
                    let number = values.integer()?;
                    signature.resize(signature.len() + 32usize.saturating_sub(number.len()), 0);
                    signature.extend(number);
                }
                verify_ed25519(point, hash, message, &signature)
            }
            Material::Ed25519(point) => verify_ed25519(point, hash, message, values.take(64)?),
            Material::Unsupported(name) => Err(format!("the key uses {name}, which Yuba does not support")),
        }
    }
}

fn unsupported(key: &str, hash: Hash) -> String {
    format!("the signature uses {key} with {}, which Yuba does not support", hash.name())
}

fn verify_rsa(modulus: &[u8], exponent: &[u8], hash: Hash, message: &[u8], signature: &[u8]) -> Result<(), String> {
    let parameters = match hash {
        Hash::Sha1 => &lc::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
        Hash::Sha256 => &lc::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        Hash::Sha384 => &lc::RSA_PKCS1_2048_8192_SHA384,
        Hash::Sha512 => &lc::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        Hash::Sha224 | Hash::Sha3_256 | Hash::Sha3_512 => return Err(unsupported("RSA", hash)),
    };
    let bits = modulus.len() * 8;
    if !(1024..=8192).contains(&bits) {
        return Err(format!("the key uses RSA with {bits} bits; Yuba supports 1024 to 8192 bits"));
    }
    // The signature is as long as the modulus; the integer has no leading zeros.
    let mut padded = vec![0; modulus.len().saturating_sub(signature.len())];
    padded.extend(signature);
    let key = lc::RsaPublicKeyComponents { n: modulus, e: exponent };
    key.verify(parameters, message, &padded).map_err(|_| MISMATCH.to_owned())
}

/// Ed25519 signs the digest of a message, not the message.
fn verify_ed25519(point: &[u8], hash: Hash, message: &[u8], signature: &[u8]) -> Result<(), String> {
    let key = lc::UnparsedPublicKey::new(&lc::ED25519, point);
    key.verify(hash.digest(message).as_ref(), signature).map_err(|_| MISMATCH.to_owned())
}

impl Curve {
    fn algorithm(self, hash: Hash) -> Result<&'static lc::EcdsaVerificationAlgorithm, String> {
        Ok(match (self, hash) {
            (Curve::P256, Hash::Sha1) => &lc::ECDSA_P256_SHA1_ASN1,
            (Curve::P256, Hash::Sha256) => &lc::ECDSA_P256_SHA256_ASN1,
            (Curve::P256, Hash::Sha384) => &lc::ECDSA_P256_SHA384_ASN1,
            (Curve::P256, Hash::Sha512) => &lc::ECDSA_P256_SHA512_ASN1,
            (Curve::P384, Hash::Sha256) => &lc::ECDSA_P384_SHA256_ASN1,
            (Curve::P384, Hash::Sha384) => &lc::ECDSA_P384_SHA384_ASN1,
            (Curve::P384, Hash::Sha512) => &lc::ECDSA_P384_SHA512_ASN1,
            (Curve::P521, Hash::Sha1) => &lc::ECDSA_P521_SHA1_ASN1,
            (Curve::P521, Hash::Sha224) => &lc::ECDSA_P521_SHA224_ASN1,
            (Curve::P521, Hash::Sha256) => &lc::ECDSA_P521_SHA256_ASN1,
            (Curve::P521, Hash::Sha384) => &lc::ECDSA_P521_SHA384_ASN1,
            (Curve::P521, Hash::Sha512) => &lc::ECDSA_P521_SHA512_ASN1,
            (Curve::Secp256k1, Hash::Sha256) => &lc::ECDSA_P256K1_SHA256_ASN1,
            _ => return Err(unsupported("ECDSA on this curve", hash)),
        })
    }
}

/// Two integers as a sequence in DER. They have at most 66 bytes each, so the sequence has a length of one or two bytes.
fn der(r: &[u8], s: &[u8]) -> Vec<u8> {
    let mut integers = Vec::with_capacity(144);
    for number in [r, s] {
        let number = &number[..number.len().min(100)];
        let needs_zero = number.first().is_none_or(|byte| *byte >= 0x80);
        integers.extend([2, (number.len() + usize::from(needs_zero)) as u8]);
        integers.extend(needs_zero.then_some(0));
        integers.extend(number);
    }
    let mut sequence = vec![0x30];
    if integers.len() >= 0x80 {
        sequence.push(0x81);
    }
    sequence.push(integers.len() as u8);
    sequence.extend(integers);
    sequence
}

impl Dsa {
    /// FIPS 186-4, section 4.7.
    fn verify(&self, digest: &[u8], r: &UBig, s: &UBig) -> Result<(), String> {
        let (one, bits) = (UBig::ONE, self.order.bit_len());
        let is_supported = self.prime.bit_len() <= MAX_DSA_PRIME && (160..=MAX_DSA_ORDER).contains(&bits);
        if !is_supported || self.order >= self.prime || self.generator <= one || self.public <= one {
            return Err("the numbers of the DSA key are out of range".to_owned());
        }
        if *r < one || *s < one || *r >= self.order || *s >= self.order {
            return Err(MISMATCH.to_owned());
        }
        let kept = &digest[..digest.len().min(bits.div_ceil(8))];
        let hash = UBig::from_be_bytes(kept) >> (kept.len() * 8).saturating_sub(bits);
        let (order, prime) = (ConstDivisor::new(self.order.clone()), ConstDivisor::new(self.prime.clone()));
        let Some(inverse) = order.reduce(s.clone()).inv() else { return Err(MISMATCH.to_owned()) };
        let first = (order.reduce(hash) * &inverse).residue();
        let second = (order.reduce(r.clone()) * &inverse).residue();
        let product = prime.reduce(self.generator.clone()).pow(&first) * prime.reduce(self.public.clone()).pow(&second);
        if product.residue() % &self.order == *r { Ok(()) } else { Err(MISMATCH.to_owned()) }
    }
}

/// Whether a message has no trace of the known attacks on SHA-1.
fn is_free_of_collisions(message: &[u8]) -> bool {
    use sha1_checked::Digest as _;
    let mut hasher = sha1_checked::Sha1::new();
    hasher.update(message);
    !hasher.try_finalize().has_collision()
}
