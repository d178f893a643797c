//! RSA private keys in PEM files, and decryption with PKCS #1 v1.5 padding.
//!
//! The arithmetic does not run in constant time: key, ciphertext and plaintext all belong to the user who evaluates the
//! expression, and other users cannot request decryptions and measure them.

use dashu_int::UBig;
use dashu_int::fast_div::ConstDivisor;

use super::encoding::decode_base64;

/// Keys of more bits would take too long to compute with.
const MAX_BITS: usize = 16_384;
/// Keys of fewer bits are refused, as they can be broken.
const MIN_BITS: usize = 1_024;

/// Parts of a private key that decryption requires.
#[derive(Debug)]
pub(super) struct PrivateKey {
    modulus: UBig,
    exponent: UBig,
}

type Result<T> = std::result::Result<T, &'static str>;

impl PrivateKey {
    /// Reads the first key of a PEM text: PKCS #1, PKCS #8 or OpenSSH, without passphrase.
    pub(super) fn parse(pem: &str) -> Result<PrivateKey> {
        let (label, body) = pem_block(pem).ok_or("no key in PEM format was found")?;
        let key = match label {
            "RSA PRIVATE KEY" => pkcs1(&body)?,
            "PRIVATE KEY" => pkcs8(&body)?,
            "OPENSSH PRIVATE KEY" => open_ssh(&body)?,
            "EC PRIVATE KEY" | "DSA PRIVATE KEY" => return Err("this is not an RSA key"),
            "ENCRYPTED PRIVATE KEY" => return Err("keys with a passphrase are not supported"),
            _ => return Err("the PEM text does not hold a private key"),
        };
        if bit_length(&key.modulus) > MAX_BITS {
            return Err("the key is longer than 16384 bits");
        }
        Ok(key)
    }

    /// Decrypts and removes the padding.
    pub(super) fn decrypt(&self, ciphertext: &[u8]) -> Result<Vec<u8>> {
        const WRONG: &str = "the ciphertext does not fit this private key";
        if bit_length(&self.modulus) < MIN_BITS {
            return Err("keys of less than 1024 bits are not secure and not supported");
        }
        let cipher = UBig::from_be_bytes(ciphertext);
        let size = bit_length(&self.modulus).div_ceil(8);
        if ciphertext.len() > size || cipher >= self.modulus {
            return Err(WRONG);
        }
        let ring = ConstDivisor::new(self.modulus.clone());
        let plain = ring.reduce(cipher).pow(&self.exponent).residue().to_be_bytes();
        let mut block = vec![0; size - plain.len()];
        block.extend_from_slice(&plain);
        let end = block.iter().skip(2).position(|byte| *byte == 0).map(|at| at + 2);
        match end {
            Some(end) if block[0] == 0 && block[1] == 2 && end >= 10 => Ok(block.split_off(end + 1)),
            _ => Err(WRONG),
        }
    }
}

fn bit_length(number: &UBig) -> usize {
    let bytes = number.to_be_bytes();
    bytes.first().map_or(0, |first| bytes.len() * 8 - first.leading_zeros() as usize)
}

/// Label and content of the first block.
fn pem_block(text: &str) -> Option<(&str, Vec<u8>)> {
    let start = text.find("-----BEGIN ")?;
    let text = &text[start + "-----BEGIN ".len()..];
    let (label, rest) = text.split_once("-----")?;
    let end = rest.find(&format!("-----END {label}-----"))?;
    let mut body = String::new();
    for line in rest[..end].lines() {
        if line.contains(':') {
            // A header; the only one in use says that the block is encrypted.
            if line.contains("ENCRYPTED") {
                return Some(("ENCRYPTED PRIVATE KEY", Vec::new()));
            }
        } else {
            body.extend(line.chars().filter(|c| !c.is_ascii_whitespace()));
        }
    }
    Some((label, decode_base64(&body).ok()?))
}

// ---- DER ------------------------------------------------------------------------------------------------------------

const DAMAGED: &str = "its content is damaged (not valid ASN.1)";
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OBJECT_ID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn element(&mut self, tag: u8) -> Result<&'a [u8]> {
        let (&found, rest) = self.0.split_first().ok_or(DAMAGED)?;
        let (&first, mut rest) = rest.split_first().ok_or(DAMAGED)?;
        let mut length = usize::from(first);
        if first & 0x80 != 0 {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 || count > rest.len() {
                return Err(DAMAGED);
            }
            let (digits, tail) = rest.split_at(count);
            length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            rest = tail;
        }
        if found != tag || length > rest.len() {
            return Err(DAMAGED);
        }
        let (content, rest) = rest.split_at(length);
        self.0 = rest;
        Ok(content)
    }
    /// A number above zero.
    fn positive(&mut self) -> Result<UBig> {
        let bytes = self.element(INTEGER)?;
        match bytes.first() {
            Some(first) if first & 0x80 == 0 && bytes.iter().any(|b| *b != 0) => Ok(UBig::from_be_bytes(bytes)),
            _ => Err(DAMAGED),
        }
    }
}

fn pkcs1(der: &[u8]) -> Result<PrivateKey> {
    let mut outer = Der(der);
    let mut key = Der(outer.element(SEQUENCE)?);
    if !outer.0.is_empty() {
        return Err(DAMAGED);
    }
    if key.element(INTEGER)?.iter().any(|b| *b > 1) {
        return Err("its version is not supported");
    }
    let modulus = key.positive()?;
    let public = key.positive()?;
    let exponent = key.positive()?;
    let factors = [key.positive()?, key.positive()?];
    check(modulus, &public, exponent, &factors)
}

fn pkcs8(der: &[u8]) -> Result<PrivateKey> {
    let mut outer = Der(Der(der).element(SEQUENCE)?);
    outer.element(INTEGER)?;
    let mut algorithm = Der(outer.element(SEQUENCE)?);
    if algorithm.element(OBJECT_ID)? != RSA_ENCRYPTION {
        return Err("this is not an RSA key");
    }
    pkcs1(outer.element(OCTETS)?)
}

fn check(modulus: UBig, public: &UBig, exponent: UBig, factors: &[UBig; 2]) -> Result<PrivateKey> {
    let one = UBig::ONE;
    let inverse = |factor: &UBig| factor > &one && (&exponent * public) % (factor - &one) == one;
    if bit_length(&modulus) > MAX_BITS {
        return Err("the key is longer than 16384 bits");
    }
    // Keys of more than two primes do not have the product of the first two as modulus.
    let product = &factors[0] * &factors[1];
    if product.is_zero() || !(&modulus % &product).is_zero() || !factors.iter().all(inverse) {
        return Err("its numbers do not fit together");
    }
    Ok(PrivateKey { modulus, exponent })
}

// ---- OpenSSH --------------------------------------------------------------------------------------------------------

const DAMAGED_SSH: &str = "its content is damaged (not a valid OpenSSH key)";

struct Wire<'a>(&'a [u8]);

impl<'a> Wire<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.0.len() {
            return Err(DAMAGED_SSH);
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken)
    }
    fn length(&mut self) -> Result<usize> {
        Ok(self.take(4)?.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)))
    }
    fn field(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }
    fn number(&mut self) -> Result<UBig> {
        Ok(UBig::from_be_bytes(self.field()?))
    }
}

fn open_ssh(bytes: &[u8]) -> Result<PrivateKey> {
    let mut wire = Wire(bytes.strip_prefix(b"openssh-key-v1\0").ok_or(DAMAGED_SSH)?);
    let cipher = wire.field()?;
    let derivation = wire.field()?;
    if cipher != b"none" || derivation != b"none" {
        return Err("keys with a passphrase are not supported");
    }
    wire.field()?;
    if wire.length()? != 1 {
        return Err("it does not contain exactly one key");
    }
    wire.field()?;
    let mut private = Wire(wire.field()?);
    if private.length()? != private.length()? {
        return Err(DAMAGED_SSH);
    }
    if private.field()? != b"ssh-rsa" {
        return Err("this is not an RSA key");
    }
    let modulus = private.number()?;
    let public = private.number()?;
    let exponent = private.number()?;
    private.number()?;
    let factors = [private.number()?, private.number()?];
    check(modulus, &public, exponent, &factors)
}
