//! Sources of keys: a passphrase (PBKDF2), an external process, or a preceding key provider.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use aws_lc_rs::pbkdf2;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use yuba_syntax::Diagnostic;

use super::program::Conversation;
use super::services::{DataKey, KeyService};
use crate::diagnostics;

/// Metadata stored beside encrypted data to derive keys again, by key provider.
pub(super) type Metadata = BTreeMap<String, Vec<u8>>;

const MIN_PASSPHRASE: usize = 16;
const MIN_ITERATIONS: u32 = 200_000;
/// Limit for metadata written by other tools.
const MAX_ITERATIONS: u32 = 100_000_000;
const MAX_LENGTH: usize = 1 << 16;
/// Maximum size of the output of an external process.
const MAX_ANSWER: u64 = 1 << 20;

/// A `key_provider` block.
pub struct KeyProvider {
    /// Key of its metadata.
    pub meta_key: String,
    /// Its kind.
    pub source: KeySource,
}

/// Kinds of key providers.
pub enum KeySource {
    /// Makes keys of a passphrase.
    Pbkdf2 {
        /// Of what.
        passphrase: Passphrase,
        /// Length of keys in bytes.
        key_length: usize,
        /// Number of iterations.
        iterations: u32,
        /// With which function.
        hash: Pbkdf2Hash,
        /// Length of the salt in bytes.
        salt_length: usize,
    },
    /// Requests keys from an external process.
    External {
        /// The executable and its arguments.
        command: Vec<String>,
    },
    /// Requests data keys from a service.
    Service(Arc<dyn KeyService>),
}

/// Source of keys of PBKDF2.
pub enum Passphrase {
    /// A text.
    Text(String),
    /// The keys of another provider, by position.
    Chain(usize),
}

/// Hash functions for PBKDF2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pbkdf2Hash {
    /// `sha256`
    Sha256,
    /// `sha512`
    Sha512,
}

impl Pbkdf2Hash {
    /// By name.
    pub fn parse(name: &str) -> Option<Pbkdf2Hash> {
        match name {
            "sha256" => Some(Pbkdf2Hash::Sha256),
            "sha512" => Some(Pbkdf2Hash::Sha512),
            _ => None,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Pbkdf2Hash::Sha256 => "sha256",
            Pbkdf2Hash::Sha512 => "sha512",
        }
    }
}

/// The keys of a method.
pub enum Keys {
    /// Of a provider, by position.
    Of(usize),
    /// Written down.
    Given {
        /// To encrypt with.
        encryption: Vec<u8>,
        /// To decrypt with; may be empty.
        decryption: Vec<u8>,
    },
}

/// Keys as a provider gives them.
#[derive(Clone, Default)]
pub(super) struct Output {
    pub(super) encryption: Vec<u8>,
    pub(super) decryption: Vec<u8>,
}

/// Purpose of requested keys.
pub(super) enum Purpose<'m> {
    Seal,
    Unseal(&'m Metadata),
}

impl KeyProvider {
    /// The same key encrypts and decrypts.
    pub(super) fn is_symmetric(&self) -> bool {
        matches!(self.source, KeySource::Pbkdf2 { .. } | KeySource::Service(_))
    }

    /// Keys are derived in this process, without anything that can fail later.
    pub(super) fn is_derived_here(&self) -> bool {
        matches!(self.source, KeySource::Pbkdf2 { .. })
    }

    /// Whether a key with this metadata is derived as a new one is, but for the salt.
    pub(super) fn derives_as(&self, meta: &[u8]) -> bool {
        let KeySource::Pbkdf2 { key_length, iterations, hash, salt_length, .. } = &self.source else { return false };
        parse(meta).is_some_and(|(salt, known_iterations, known_hash, length)| {
            salt.len() == *salt_length
                && known_iterations == *iterations
                && known_hash.name() == hash.name()
                && length == *key_length
        })
    }

    /// Errors in its arguments.
    pub(super) fn check(&self) -> Result<(), Diagnostic> {
        let wrong = |reason: String| Err(diagnostics::key_not_built(&self.meta_key, &reason));
        match &self.source {
            KeySource::Pbkdf2 { passphrase, key_length, iterations, salt_length, .. } => {
                if let Passphrase::Text(text) = passphrase
                    && text.len() < MIN_PASSPHRASE
                {
                    return wrong(match text.is_empty() {
                        true => "it has neither passphrase nor chain".to_owned(),
                        false => format!("the passphrase is too short: it needs at least {MIN_PASSPHRASE} characters"),
                    });
                }
                if !(1..=MAX_LENGTH).contains(key_length) || !(1..=MAX_LENGTH).contains(salt_length) {
                    return wrong("key_length and salt_length must be above zero".to_owned());
                }
                if !(MIN_ITERATIONS..=MAX_ITERATIONS).contains(iterations) {
                    return wrong(format!("iterations must be at least {MIN_ITERATIONS}, and not without end"));
                }
                Ok(())
            }
            KeySource::External { command } if command.is_empty() => wrong("it has no command".to_owned()),
            KeySource::External { .. } | KeySource::Service(_) => Ok(()),
        }
    }
}

/// The keys of a method for a purpose. Metadata to store beside the data is added to `written`.
pub(super) fn output(
    keys: &Keys,
    providers: &[KeyProvider],
    purpose: &Purpose<'_>,
    written: &mut Metadata,
) -> Result<Output, String> {
    match keys {
        Keys::Given { encryption, decryption } => {
            Ok(Output { encryption: encryption.clone(), decryption: decryption.clone() })
        }
        Keys::Of(at) => provide(*at, providers, purpose, written),
    }
}

fn provide(
    at: usize,
    providers: &[KeyProvider],
    purpose: &Purpose<'_>,
    written: &mut Metadata,
) -> Result<Output, String> {
    let provider = providers.get(at).ok_or("it refers to no key provider")?;
    let known = match purpose {
        Purpose::Seal => None,
        Purpose::Unseal(meta) => meta.get(&provider.meta_key),
    };
    let (output, meta) = match &provider.source {
        KeySource::External { command } => external(command, known)?,
        KeySource::Service(service) => match (purpose, known) {
            (Purpose::Seal, _) => {
                let DataKey { key, metadata } = service.new_key()?;
                (Output { encryption: key, decryption: Vec::new() }, metadata)
            }
            (Purpose::Unseal(_), Some(metadata)) => {
                let decryption = service.known_key(metadata)?;
                (Output { encryption: Vec::new(), decryption }, Vec::new())
            }
            (Purpose::Unseal(_), None) => return Err(without_metadata(&provider.meta_key)),
        },
        KeySource::Pbkdf2 { passphrase, key_length, iterations, hash, salt_length } => {
            let secret = match passphrase {
                Passphrase::Text(text) => {
                    Output { encryption: text.as_bytes().to_vec(), decryption: text.as_bytes().to_vec() }
                }
                // Positions of chains go down only.
                Passphrase::Chain(before) if *before < at => {
                    long_enough(provide(*before, providers, purpose, written)?, provider, purpose)?
                }
                Passphrase::Chain(_) => return Err("key providers refer to each other in a circle".to_owned()),
            };
            match (purpose, known) {
                (Purpose::Seal, _) => {
                    let mut salt = vec![0_u8; *salt_length];
                    getrandom::fill(&mut salt)
                        .map_err(|error| format!("the random number generator of the system failed: {error}"))?;
                    let encryption = derive(&secret.encryption, &salt, *iterations, *hash, *key_length)?;
                    let meta = format!(
                        "{{\"salt\":\"{}\",\"iterations\":{iterations},\"hash_function\":\"{}\",\"key_length\":{key_length}}}",
                        BASE64.encode(&salt),
                        hash.name()
                    );
                    (Output { encryption, decryption: Vec::new() }, meta.into_bytes())
                }
                (Purpose::Unseal(_), Some(meta)) => {
                    let (salt, iterations, hash, key_length) = parse(meta).ok_or_else(|| {
                        format!("the metadata {:?} beside the data cannot be read", provider.meta_key)
                    })?;
                    let decryption = derive(&secret.decryption, &salt, iterations, hash, key_length)?;
                    (Output { encryption: Vec::new(), decryption }, Vec::new())
                }
                (Purpose::Unseal(_), None) => {
                    return Err(without_metadata(&provider.meta_key));
                }
            }
        }
    };
    if matches!(purpose, Purpose::Seal) && written.insert(provider.meta_key.clone(), meta).is_some() {
        return Err(format!(
            "two key providers store their metadata as {}: set another name for one of them with encrypted_metadata_alias",
            provider.meta_key
        ));
    }
    Ok(output)
}

/// The key of another provider as a passphrase. Fails if it is too short.
fn long_enough(chained: Output, provider: &KeyProvider, purpose: &Purpose<'_>) -> Result<Output, String> {
    let needed = match purpose {
        Purpose::Seal => &chained.encryption,
        Purpose::Unseal(_) => &chained.decryption,
    };
    match needed.len() < MIN_PASSPHRASE {
        true => Err(format!(
            "the key that {} gets from the provider before is too short: it needs at least {MIN_PASSPHRASE} bytes",
            provider.meta_key
        )),
        false => Ok(chained),
    }
}

fn without_metadata(provider: &str) -> String {
    format!("the data has no metadata of {provider}, because another key provider encrypted it")
}

/// Metadata of PBKDF2.
fn parse(meta: &[u8]) -> Option<(Vec<u8>, u32, Pbkdf2Hash, usize)> {
    let meta: Json = serde_json::from_slice(meta).ok()?;
    let salt = BASE64.decode(meta.get("salt")?.as_str()?).ok()?;
    let iterations = u32::try_from(meta.get("iterations")?.as_u64()?).ok()?;
    let hash = Pbkdf2Hash::parse(meta.get("hash_function")?.as_str()?)?;
    let length = usize::try_from(meta.get("key_length")?.as_u64()?).ok()?;
    let sane = (1..=MAX_LENGTH).contains(&length) && (1..=MAX_ITERATIONS).contains(&iterations);
    sane.then_some((salt, iterations, hash, length))
}

fn derive(secret: &[u8], salt: &[u8], iterations: u32, hash: Pbkdf2Hash, length: usize) -> Result<Vec<u8>, String> {
    let iterations = NonZeroU32::new(iterations).ok_or("the number of iterations is zero")?;
    let algorithm = match hash {
        Pbkdf2Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
        Pbkdf2Hash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
    };
    let mut key = vec![0_u8; length];
    pbkdf2::derive(algorithm, iterations, salt, secret, &mut key);
    Ok(key)
}

/// Requests keys from an external process, which receives their known metadata.
fn external(command: &[String], known: Option<&Vec<u8>>) -> Result<(Output, Vec<u8>), String> {
    let name = format!("the external key provider {}", command.first().map(String::as_str).unwrap_or_default());
    let input = match known.and_then(|known| serde_json::from_slice::<Json>(known).ok()) {
        Some(meta) if meta.get("external_data").is_some_and(|data| !data.is_null()) => meta,
        _ => Json::Null,
    };
    let magic = "OpenTofu-External-Key-Provider";
    let input = input.to_string().into_bytes();
    let answer = Conversation { name, command, magic, input, limit: MAX_ANSWER }.run()?;
    let key = |name: &str| {
        let text = answer.get("keys").and_then(|keys| keys.get(name)).and_then(Json::as_str);
        text.and_then(|text| BASE64.decode(text).ok()).unwrap_or_default()
    };
    let external_data = answer.get("meta").and_then(|meta| meta.get("external_data")).cloned().unwrap_or(Json::Null);
    let meta = json!({ "external_data": external_data }).to_string().into_bytes();
    Ok((Output { encryption: key("encryption_key"), decryption: key("decryption_key") }, meta))
}
