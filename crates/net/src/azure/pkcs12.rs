//! PKCS#12 (PFX) files: certificates and a private key, protected by a password (RFC 7292).
//!
//! Read are files with a MAC of SHA-1, SHA-256, SHA-384 or SHA-512, whose contents are encrypted with Triple DES, RC2 or, by PBES2,
//! with AES. Windows, OpenSSL and Azure Key Vault write such files. Files that are protected by a public key are refused.

use aws_lc_rs::cipher::{AES_128, AES_192, AES_256, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::{digest, hmac, pbkdf2};
use des::cipher::generic_array::GenericArray;
use des::cipher::{BlockDecrypt, KeyInit as _};

use super::der::{CONTEXT_0, CONTEXT_0_PRIMITIVE, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, dotted};

/// The most iterations that are computed: more take minutes.
const MOST_ITERATIONS: u32 = 10_000_000;

const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
const ENCRYPTED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x06];
const KEY_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x01];
const SHROUDED_KEY_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x02];
const CERTIFICATE_BAG: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x03];
const X509: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x16, 0x01];
const LOCAL_KEY_ID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x15];
const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
const SHA1_TRIPLE_DES: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01, 0x03];
const SHA1_TWO_KEY_DES: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01, 0x04];
const SHA1_RC2_128: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01, 0x05];
const SHA1_RC2_40: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x0c, 0x01, 0x06];
const AES_128_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x02];
const AES_192_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x16];
const AES_256_CBC: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2a];
const DES_EDE3_CBC: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x03, 0x07];
const HMAC_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x07];
const HMAC_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x09];
const HMAC_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x0a];
const HMAC_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x0b];
const SHA1: &[u8] = &[0x2b, 0x0e, 0x03, 0x02, 0x1a];
const SHA256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
const SHA384: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02];
const SHA512: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03];

/// The purposes of derived bytes.
const FOR_KEY: u8 = 1;
const FOR_IV: u8 = 2;
const FOR_MAC: u8 = 3;

/// The content of a file.
#[derive(Default)]
pub(super) struct Contents {
    /// Private keys in PKCS#8, with the ids that belong to them.
    pub(super) keys: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Certificates, with the ids that belong to them.
    pub(super) certificates: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Reads a file. The error is the second half of a sentence.
pub(super) fn read(bytes: &[u8], password: &str) -> Result<Contents, String> {
    let damaged = || "it is not a valid PKCS#12 (PFX) file".to_owned();
    let mut file = Reader::new(bytes).enter(SEQUENCE).ok_or_else(damaged)?;
    let _version = file.number().filter(|version| *version == 3).ok_or_else(damaged)?;
    let mut outer = file.enter(SEQUENCE).ok_or_else(damaged)?;
    let kind = outer.expect(OBJECT_IDENTIFIER).ok_or_else(damaged)?;
    if kind != DATA {
        return Err(format!("it is protected by a public key ({}), which is not supported", dotted(kind)));
    }
    let safe = outer.enter(CONTEXT_0).and_then(|mut content| content.octets(OCTET_STRING)).ok_or_else(damaged)?;
    let password = match file.is_empty() {
        true => Password::new(password),
        false => verified(&mut file, &safe, password)?,
    };
    let mut contents = Contents::default();
    let mut infos = Reader::new(&safe).enter(SEQUENCE).ok_or_else(damaged)?;
    while !infos.is_empty() {
        let mut info = infos.enter(SEQUENCE).ok_or_else(damaged)?;
        let kind = info.expect(OBJECT_IDENTIFIER).ok_or_else(damaged)?;
        let mut content = info.enter(CONTEXT_0).ok_or_else(damaged)?;
        let bags = match kind {
            DATA => content.octets(OCTET_STRING).ok_or_else(damaged)?,
            ENCRYPTED_DATA => decrypted_data(&mut content, &password)?,
            other => return Err(format!("it has content of the type {}, which is not supported", dotted(other))),
        };
        read_bags(&bags, &password, &mut contents).ok_or_else(damaged)??;
    }
    Ok(contents)
}

/// A password in the forms that derivations want.
struct Password {
    /// For PBES2.
    utf8: Vec<u8>,
    /// For the derivation of PKCS#12: UTF-16 with two zero bytes at the end.
    utf16: Vec<u8>,
}

impl Password {
    fn new(text: &str) -> Password {
        let utf16 = text.encode_utf16().chain([0]).flat_map(u16::to_be_bytes).collect();
        Password { utf8: text.as_bytes().to_vec(), utf16 }
    }

    /// No bytes at all: some tools use this form for files without a password.
    fn none() -> Password {
        Password { utf8: Vec::new(), utf16: Vec::new() }
    }
}

/// The password in the form whose MAC is that of the file.
fn verified(file: &mut Reader<'_>, safe: &[u8], text: &str) -> Result<Password, String> {
    let damaged = || "its checksum is not valid".to_owned();
    let mut mac = file.enter(SEQUENCE).ok_or_else(damaged)?;
    let mut info = mac.enter(SEQUENCE).ok_or_else(damaged)?;
    let hash =
        info.enter(SEQUENCE).and_then(|mut algorithm| algorithm.expect(OBJECT_IDENTIFIER)).ok_or_else(damaged)?;
    let (hash, algorithm) = match hash {
        SHA1 => (&digest::SHA1_FOR_LEGACY_USE_ONLY, hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY),
        SHA256 => (&digest::SHA256, hmac::HMAC_SHA256),
        SHA384 => (&digest::SHA384, hmac::HMAC_SHA384),
        SHA512 => (&digest::SHA512, hmac::HMAC_SHA512),
        other => return Err(format!("its checksum uses the algorithm {}, which is not supported", dotted(other))),
    };
    let expected = info.expect(OCTET_STRING).ok_or_else(damaged)?;
    let salt = mac.expect(OCTET_STRING).ok_or_else(damaged)?;
    let iterations = if mac.is_empty() { 1 } else { iterations(&mut mac).ok_or_else(damaged)? };
    let mut forms = vec![Password::new(text)];
    if text.is_empty() {
        forms.push(Password::none());
    }
    let fits = |password: &Password| {
        let key = derive(hash, FOR_MAC, &password.utf16, salt, iterations, hash.output_len());
        hmac::verify(&hmac::Key::new(algorithm, &key), safe, expected).is_ok()
    };
    forms.into_iter().find(fits).ok_or_else(|| match text.is_empty() {
        true => "it requires a password".to_owned(),
        false => "the password is wrong".to_owned(),
    })
}

fn iterations(reader: &mut Reader<'_>) -> Option<u32> {
    reader.number().filter(|count| (1..=MOST_ITERATIONS).contains(count))
}

fn decrypted_data(content: &mut Reader<'_>, password: &Password) -> Result<Vec<u8>, String> {
    let damaged = || "its encrypted content is not valid".to_owned();
    let mut encrypted = content.enter(SEQUENCE).ok_or_else(damaged)?;
    let _version = encrypted.number().ok_or_else(damaged)?;
    let mut info = encrypted.enter(SEQUENCE).ok_or_else(damaged)?;
    let _kind = info.expect(OBJECT_IDENTIFIER).ok_or_else(damaged)?;
    let algorithm = info.enter(SEQUENCE).ok_or_else(damaged)?;
    let data = info.octets(CONTEXT_0_PRIMITIVE).ok_or_else(damaged)?;
    decrypt(algorithm, &data, password)
}

/// Keys and certificates of one part. None if it is damaged.
fn read_bags(bytes: &[u8], password: &Password, contents: &mut Contents) -> Option<Result<(), String>> {
    let mut bags = Reader::new(bytes).enter(SEQUENCE)?;
    while !bags.is_empty() {
        let mut bag = bags.enter(SEQUENCE)?;
        let kind = bag.expect(OBJECT_IDENTIFIER)?;
        let value = bag.expect(CONTEXT_0)?;
        let id = local_key_id(bag);
        match kind {
            KEY_BAG => contents.keys.push((value.to_vec(), id)),
            SHROUDED_KEY_BAG => {
                let mut shrouded = Reader::new(value).enter(SEQUENCE)?;
                let algorithm = shrouded.enter(SEQUENCE)?;
                match decrypt(algorithm, shrouded.expect(OCTET_STRING)?, password) {
                    Ok(key) => contents.keys.push((key, id)),
                    Err(reason) => return Some(Err(reason)),
                }
            }
            CERTIFICATE_BAG => {
                let mut certificate = Reader::new(value).enter(SEQUENCE)?;
                if certificate.expect(OBJECT_IDENTIFIER)? == X509 {
                    let der = certificate.enter(CONTEXT_0)?.octets(OCTET_STRING)?;
                    contents.certificates.push((der, id));
                }
            }
            // Revocation lists and other secrets.
            _ => {}
        }
    }
    Some(Ok(()))
}

fn local_key_id(mut bag: Reader<'_>) -> Option<Vec<u8>> {
    let mut attributes = bag.enter(0x31)?;
    while !attributes.is_empty() {
        let mut attribute = attributes.enter(SEQUENCE)?;
        if attribute.expect(OBJECT_IDENTIFIER)? == LOCAL_KEY_ID {
            return attribute.enter(0x31)?.expect(OCTET_STRING).map(<[u8]>::to_vec);
        }
    }
    None
}

fn decrypt(mut algorithm: Reader<'_>, data: &[u8], password: &Password) -> Result<Vec<u8>, String> {
    let damaged = || "the parameters of its encryption are not valid".to_owned();
    let failed = || "the password is wrong, or the file is damaged".to_owned();
    let kind = algorithm.expect(OBJECT_IDENTIFIER).ok_or_else(damaged)?;
    let mut parameters = algorithm.enter(SEQUENCE).ok_or_else(damaged)?;
    if kind == PBES2 {
        return pbes2(&mut parameters, data, password);
    }
    let salt = parameters.expect(OCTET_STRING).ok_or_else(damaged)?;
    let iterations = iterations(&mut parameters).ok_or_else(damaged)?;
    let derived =
        |purpose, length| derive(&digest::SHA1_FOR_LEGACY_USE_ONLY, purpose, &password.utf16, salt, iterations, length);
    let iv = derived(FOR_IV, 8);
    let clear = match kind {
        SHA1_TRIPLE_DES => triple_des(&derived(FOR_KEY, 24), &iv, data),
        SHA1_TWO_KEY_DES => {
            let mut key = derived(FOR_KEY, 16);
            key.extend_from_within(..8);
            triple_des(&key, &iv, data)
        }
        SHA1_RC2_128 => rc2(&derived(FOR_KEY, 16), &iv, data),
        SHA1_RC2_40 => rc2(&derived(FOR_KEY, 5), &iv, data),
        other => return Err(unsupported_cipher(other)),
    };
    clear.ok_or_else(failed)
}

fn unsupported_cipher(oid: &[u8]) -> String {
    format!("it is encrypted with the algorithm {}, which is not supported", dotted(oid))
}

fn pbes2(parameters: &mut Reader<'_>, data: &[u8], password: &Password) -> Result<Vec<u8>, String> {
    let damaged = || "the parameters of its encryption are not valid".to_owned();
    let failed = || "the password is wrong, or the file is damaged".to_owned();
    let mut derivation = parameters.enter(SEQUENCE).ok_or_else(damaged)?;
    let kind = derivation.expect(OBJECT_IDENTIFIER).ok_or_else(damaged)?;
    if kind != PBKDF2 {
        return Err(format!("its key is derived with the algorithm {}, which is not supported", dotted(kind)));
    }
    let mut derivation = derivation.enter(SEQUENCE).ok_or_else(damaged)?;
    let salt = derivation.expect(OCTET_STRING).ok_or_else(damaged)?;
    let rounds = iterations(&mut derivation).and_then(std::num::NonZeroU32::new).ok_or_else(damaged)?;
    if derivation.peek() == Some(super::der::INTEGER) {
        derivation.number().ok_or_else(damaged)?;
    }
    let function = match derivation.enter(SEQUENCE) {
        None => HMAC_SHA1,
        Some(mut function) => function.expect(OBJECT_IDENTIFIER).ok_or_else(damaged)?,
    };
    let function = match function {
        HMAC_SHA1 => pbkdf2::PBKDF2_HMAC_SHA1,
        HMAC_SHA256 => pbkdf2::PBKDF2_HMAC_SHA256,
        HMAC_SHA384 => pbkdf2::PBKDF2_HMAC_SHA384,
        HMAC_SHA512 => pbkdf2::PBKDF2_HMAC_SHA512,
        other => return Err(format!("its key is derived with {}, which is not supported", dotted(other))),
    };
    let mut cipher = parameters.enter(SEQUENCE).ok_or_else(damaged)?;
    let kind = cipher.expect(OBJECT_IDENTIFIER).ok_or_else(damaged)?;
    let length = match kind {
        AES_128_CBC => 16,
        AES_192_CBC | DES_EDE3_CBC => 24,
        AES_256_CBC => 32,
        other => return Err(unsupported_cipher(other)),
    };
    let iv = cipher.expect(OCTET_STRING).ok_or_else(damaged)?;
    let mut key = vec![0; length];
    pbkdf2::derive(function, rounds, salt, &password.utf8, &mut key);
    match kind {
        DES_EDE3_CBC => triple_des(&key, iv, data),
        _ => aes(&key, iv, data),
    }
    .ok_or_else(failed)
}

/// The derivation of keys of PKCS#12 (RFC 7292, appendix B).
fn derive(
    hash: &'static digest::Algorithm,
    purpose: u8,
    password: &[u8],
    salt: &[u8],
    rounds: u32,
    length: usize,
) -> Vec<u8> {
    let block = hash.block_len();
    let stretched =
        |bytes: &[u8]| -> Vec<u8> { bytes.iter().copied().cycle().take(bytes.len().div_ceil(block) * block).collect() };
    let mut input = stretched(salt);
    input.extend(stretched(password));
    let mut output = Vec::with_capacity(length + hash.output_len());
    while output.len() < length {
        let mut context = digest::Context::new(hash);
        context.update(&vec![purpose; block]);
        context.update(&input);
        let mut digested = context.finish();
        for _ in 1..rounds {
            digested = digest::digest(hash, digested.as_ref());
        }
        output.extend_from_slice(digested.as_ref());
        let added: Vec<u8> = digested.as_ref().iter().copied().cycle().take(block).collect();
        for part in input.chunks_mut(block) {
            // Adds the digest and one, as numbers of the size of a block.
            let mut carry = 1_u16;
            for (byte, more) in part.iter_mut().zip(&added).rev() {
                carry += u16::from(*byte) + u16::from(*more);
                *byte = carry as u8;
                carry >>= 8;
            }
        }
    }
    output.truncate(length);
    output
}

fn aes(key: &[u8], iv: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let algorithm = match key.len() {
        16 => &AES_128,
        24 => &AES_192,
        _ => &AES_256,
    };
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(UnboundCipherKey::new(algorithm, key).ok()?).ok()?;
    let iv = DecryptionContext::Iv128(<[u8; 16]>::try_from(iv).ok()?.into());
    let mut data = data.to_vec();
    key.decrypt(&mut data, iv).ok().map(|clear| clear.to_vec())
}

fn triple_des(key: &[u8], iv: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    cbc(&des::TdesEde3::new_from_slice(key).ok()?, iv, data)
}

fn rc2(key: &[u8], iv: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    cbc(&rc2::Rc2::new_with_eff_key_len(key, key.len() * 8), iv, data)
}

/// Cipher block chaining of blocks of eight bytes, with padding.
fn cbc<C: BlockDecrypt>(cipher: &C, iv: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let size = C::block_size();
    if data.is_empty() || !data.len().is_multiple_of(size) || iv.len() != size {
        return None;
    }
    let mut clear = Vec::with_capacity(data.len());
    let mut before = iv;
    for block in data.chunks(size) {
        let mut decrypted = GenericArray::clone_from_slice(block);
        cipher.decrypt_block(&mut decrypted);
        clear.extend(decrypted.iter().zip(before).map(|(byte, mask)| byte ^ mask));
        before = block;
    }
    let padding = usize::from(*clear.last()?);
    let end = clear.len().checked_sub(padding).filter(|_| (1..=size).contains(&padding))?;
    let is_padded = clear[end..].iter().all(|byte| usize::from(*byte) == padding);
    clear.truncate(end);
    is_padded.then_some(clear)
}
