//! Encryption of states and plans, in the format of OpenTofu: a JSON object with the encrypted bytes, the metadata of
//! key providers, and for a state the serial and lineage in the clear.
//!
//! Invariant: what a [`Sealing`] holds is never shown, not even by `Debug`.

mod aws_kms;
mod azure_vault;
mod cipher;
mod external;
mod keys;
mod program;
pub mod services;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value as Json;
use yuba_syntax::Diagnostic;

pub use external::Commands;
pub use keys::{KeyProvider, KeySource, Keys, Passphrase, Pbkdf2Hash};

use crate::diagnostics;
use keys::{Metadata, Output};

/// The version of the format.
const VERSION: &str = "v0";

/// Methods of encryption.
pub enum EncryptionMethod {
    /// Not at all, while migrating.
    Unencrypted,
    /// AES in Galois/Counter mode.
    AesGcm {
        /// With these keys.
        keys: Keys,
        /// Must be the same for decryption.
        aad: Vec<u8>,
    },
    /// External processes encrypt and decrypt.
    External {
        /// With these keys, if they need any.
        keys: Option<Keys>,
        /// The commands that start the processes.
        commands: Commands,
    },
}

impl EncryptionMethod {
    fn keys(&self) -> Option<&Keys> {
        match self {
            EncryptionMethod::Unencrypted => None,
            EncryptionMethod::AesGcm { keys, .. } => Some(keys),
            EncryptionMethod::External { keys, .. } => keys.as_ref(),
        }
    }

    /// Whether a key can be used.
    fn check_key(&self, key: &[u8]) -> Result<(), String> {
        match self {
            EncryptionMethod::AesGcm { .. } => cipher::check_length(key),
            EncryptionMethod::Unencrypted | EncryptionMethod::External { .. } => Ok(()),
        }
    }

    fn encrypt(&self, key: &[u8], content: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            EncryptionMethod::Unencrypted => Ok(content.to_vec()),
            EncryptionMethod::AesGcm { aad, .. } => cipher::encrypt(key, aad, content),
            EncryptionMethod::External { commands, .. } => commands.encrypt(key, content),
        }
    }

    fn decrypt(&self, key: &[u8], data: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            EncryptionMethod::Unencrypted => Ok(data.to_vec()),
            EncryptionMethod::AesGcm { aad, .. } => cipher::decrypt(key, aad, data),
            EncryptionMethod::External { commands, .. } => commands.decrypt(key, data),
        }
    }
}

/// Methods for encryption and decryption. Clones share derived keys.
#[derive(Clone)]
pub struct Sealing(Arc<Inside>);

struct Inside {
    /// For messages: `state`, `plan`.
    name: String,
    providers: Vec<KeyProvider>,
    /// The first method encrypts; all methods can decrypt.
    methods: Vec<EncryptionMethod>,
    sealed_with: OnceLock<Result<(Vec<u8>, Metadata), String>>,
    /// Keys that were found for decrypting: by method and metadata.
    known: Mutex<Vec<(usize, Metadata, Vec<u8>)>>,
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealing").field("name", &self.0.name).finish_non_exhaustive()
    }
}

/// Content of a file.
pub struct Unsealed {
    /// The content.
    pub content: Vec<u8>,
    /// It was not encrypted as it would be now.
    pub migrates: bool,
}

/// Something encrypted, as JSON has it.
struct Envelope {
    meta: Metadata,
    data: Vec<u8>,
    serial: Option<u64>,
    lineage: Option<String>,
}

impl Sealing {
    /// With methods, the first for encrypting. Performs every step that may fail now, so that saving cannot fail because of it.
    pub fn new(name: &str, providers: Vec<KeyProvider>, methods: Vec<EncryptionMethod>) -> Result<Sealing, Diagnostic> {
        for provider in &providers {
            provider.check()?;
        }
        let (sealed_with, known) = (OnceLock::new(), Mutex::new(Vec::new()));
        let sealing = Sealing(Arc::new(Inside { name: name.to_owned(), providers, methods, sealed_with, known }));
        if !sealing.0.providers.iter().all(KeyProvider::is_derived_here) {
            sealing.key_to_seal().map_err(|reason| diagnostics::key_unavailable(&reason))?;
        }
        for method in &sealing.0.methods {
            if let Some(Keys::Given { encryption, .. }) = method.keys() {
                method.check_key(encryption).map_err(|reason| diagnostics::invalid_method(&reason))?;
            }
            if let EncryptionMethod::External { commands, .. } = method {
                commands.check().map_err(|reason| diagnostics::invalid_method(&reason))?;
            }
        }
        Ok(sealing)
    }

    /// Whether any method encrypts: the one for new content, or one that old content can be read with.
    pub fn has_encryption(&self) -> bool {
        self.0.methods.iter().any(|method| !matches!(method, EncryptionMethod::Unencrypted))
    }

    /// Whether new content is written in clear text.
    pub fn is_clear(&self) -> bool {
        matches!(self.0.methods.first(), None | Some(EncryptionMethod::Unencrypted))
    }

    fn key_to_seal(&self) -> Result<&(Vec<u8>, Metadata), String> {
        let found = self.0.sealed_with.get_or_init(|| {
            let method = self.0.methods.first();
            let Some((method, keys)) = method.and_then(|method| Some((method, method.keys()?))) else {
                return Ok(Default::default());
            };
            let mut written = Metadata::new();
            let Output { encryption, .. } = keys::output(keys, &self.0.providers, &keys::Purpose::Seal, &mut written)?;
            method.check_key(&encryption)?;
            Ok((encryption, written))
        });
        found.as_ref().map_err(Clone::clone)
    }

    /// Encrypts content. For a state its serial and lineage are readable beside it.
    pub fn seal(&self, content: &[u8], state: Option<(u64, &str)>) -> Result<Vec<u8>, Diagnostic> {
        let method = match self.0.methods.first() {
            None | Some(EncryptionMethod::Unencrypted) => return Ok(content.to_vec()),
            Some(method) => method,
        };
        let failed = |reason: &str| diagnostics::encryption_failed(&self.0.name, reason);
        let (key, meta) = self.key_to_seal().map_err(|reason| failed(&reason))?;
        let data = method.encrypt(key, content).map_err(|reason| failed(&reason))?;
        let mut out = String::with_capacity(data.len() * 4 / 3 + 400);
        out.push('{');
        if let Some((serial, lineage)) = state {
            out.push_str(&format!("\"serial\":{serial},\"lineage\":{},", Json::from(lineage)));
        }
        out.push_str("\"meta\":{");
        for (index, (name, value)) in meta.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            out.push_str(&format!("{comma}{}:\"{}\"", Json::from(name.as_str()), BASE64.encode(value)));
        }
        out.push_str("},\"encrypted_data\":\"");
        BASE64.encode_string(&data, &mut out);
        out.push_str(&format!("\",\"encryption_version\":\"{VERSION}\"}}"));
        Ok(out.into_bytes())
    }

    /// Decrypts what a file has. `is_plain` knows content that is not encrypted.
    pub fn unseal(&self, bytes: &[u8], is_plain: impl FnOnce(&[u8]) -> bool) -> Result<Unsealed, Diagnostic> {
        let name = &self.0.name;
        let Some(envelope) = Envelope::read(bytes).map_err(|reason| diagnostics::undecryptable(name, &reason))? else {
            let allowed = self.0.methods.iter().any(|method| matches!(method, EncryptionMethod::Unencrypted));
            if !is_plain(bytes) {
                return Err(diagnostics::undecryptable(name, "it is neither encrypted nor valid clear text"));
            }
            if !allowed {
                return Err(diagnostics::in_clear_text(name));
            }
            return Ok(Unsealed { content: bytes.to_vec(), migrates: !self.is_clear() });
        };
        let mut reasons = Vec::new();
        for (index, method) in self.0.methods.iter().enumerate() {
            if matches!(method, EncryptionMethod::Unencrypted) {
                continue;
            }
            let found = match method.keys() {
                Some(keys) => self.key_to_unseal(index, keys, &envelope.meta),
                None => Ok(Vec::new()),
            };
            match found.and_then(|key| method.decrypt(&key, &envelope.data)) {
                Ok(content) => {
                    envelope.check(&content).map_err(|reason| diagnostics::undecryptable(name, &reason))?;
                    return Ok(Unsealed { content, migrates: index > 0 });
                }
                Err(reason) => reasons.push(reason),
            }
        }
        Err(diagnostics::not_decrypted(name, &reasons))
    }

    /// Encrypts further content with the key of this one, if a new key would be derived in the same way from another salt. The key
    /// stays as soon as something was encrypted.
    pub(crate) fn seal_like(&self, bytes: &[u8]) {
        if self.0.sealed_with.get().is_some() {
            return;
        }
        let Ok(Some(Envelope { meta, data, .. })) = Envelope::read(bytes) else { return };
        let is_same = |(name, known): (&String, &Vec<u8>)| {
            self.0.providers.iter().any(|provider| provider.meta_key == *name && provider.derives_as(known))
        };
        let Some(method) = self.0.methods.first().filter(|_| !meta.is_empty() && meta.iter().all(is_same)) else {
            return;
        };
        let Some(keys) = method.keys() else { return };
        if let Ok(key) = self.key_to_unseal(0, keys, &meta)
            && method.decrypt(&key, &data).is_ok()
        {
            let _ = self.0.sealed_with.set(Ok((key, meta)));
        }
    }

    fn key_to_unseal(&self, index: usize, keys: &Keys, meta: &Metadata) -> Result<Vec<u8>, String> {
        let known = || self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., key)) = known().iter().find(|(at, known, _)| *at == index && known == meta) {
            return Ok(key.clone());
        }
        let sealed_with = self.0.sealed_with.get().and_then(|found| found.as_ref().ok());
        let key = match sealed_with.filter(|(_, written)| index == 0 && written == meta && !meta.is_empty()) {
            // Data written by this process. Keys of other tools may differ for each purpose.
            Some((key, _)) if self.0.providers.iter().all(KeyProvider::is_symmetric) => key.clone(),
            _ => {
                let purpose = keys::Purpose::Unseal(meta);
                keys::output(keys, &self.0.providers, &purpose, &mut Metadata::new())?.decryption
            }
        };
        if key.is_empty() {
            return Err("no key for decryption is configured".to_owned());
        }
        self.0.methods.get(index).map_or(Ok(()), |method| method.check_key(&key))?;
        known().push((index, meta.clone(), key.clone()));
        Ok(key)
    }
}

/// Whether a content was encrypted as states and plans are.
pub fn is_encrypted(bytes: &[u8]) -> bool {
    matches!(Envelope::read(bytes), Ok(Some(_)))
}

/// Whether bytes are a plan that is encrypted; a state has its serial beside.
pub fn is_encrypted_plan(bytes: &[u8]) -> bool {
    match bytes.first() {
        Some(b'{') => match Envelope::read(bytes) {
            Ok(Some(envelope)) => envelope.serial.is_none(),
            Ok(None) => false,
            Err(_) => true,
        },
        _ => false,
    }
}

impl Envelope {
    /// None for something that is not encrypted.
    fn read(bytes: &[u8]) -> Result<Option<Envelope>, String> {
        // A state in clear text starts with its version, and a plan is not JSON.
        let Ok(Json::Object(mut object)) = serde_json::from_slice::<Json>(bytes) else { return Ok(None) };
        let version = match object.get("encryption_version") {
            Some(Json::String(version)) if !version.is_empty() => version.clone(),
            _ => return Ok(None),
        };
        if version != VERSION {
            return Err(format!("it is encrypted in the format {version}, and this version supports only {VERSION}"));
        }
        let bytes = |value: &Json| value.as_str().and_then(|text| BASE64.decode(text).ok());
        let data = object.get("encrypted_data").and_then(bytes).ok_or("it has no encrypted data")?;
        let mut meta = Metadata::new();
        if let Some(Json::Object(entries)) = object.remove("meta") {
            for (name, value) in entries {
                let value = bytes(&value).ok_or_else(|| format!("its metadata {name:?} cannot be read"))?;
                meta.insert(name, value);
            }
        }
        let serial = object.get("serial").and_then(Json::as_u64);
        let lineage = object.get("lineage").and_then(Json::as_str).map(str::to_owned);
        Ok(Some(Envelope { meta, data, serial, lineage: lineage.filter(|lineage| !lineage.is_empty()) }))
    }

    /// The serial and lineage in the clear must match the encrypted ones.
    fn check(&self, content: &[u8]) -> Result<(), String> {
        if self.serial.is_none() && self.lineage.is_none() {
            return Ok(());
        }
        let inside: Json = serde_json::from_slice(content).map_err(|_| "the decrypted data is not a state")?;
        if let (Some(outer), Some(inner)) = (self.serial, inside.get("serial").and_then(Json::as_u64))
            && outer != inner
        {
            return Err(format!("its serial is {inner} inside and {outer} outside"));
        }
        match (&self.lineage, inside.get("lineage").and_then(Json::as_str)) {
            (Some(outer), inner) if inner != Some(outer) => {
                Err("its lineage inside differs from the one outside".to_owned())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
