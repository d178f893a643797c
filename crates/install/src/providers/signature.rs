//! Detached OpenPGP signatures over lists of checksums.

use std::io::Cursor;
use std::time::SystemTime;

use pgp::composed::{Deserializable as _, SignedPublicKey, StandaloneSignature};
use pgp::packet::SignatureType;
use pgp::types::{KeyDetails as _, PublicKeyTrait};

/// How large a signature or key can be.
const MAX_SIZE: usize = 1 << 20;

/// Checks that one of the keys has signed a document: its id, or why none has, in words that end no sentence.
///
/// Keys that have expired are accepted unless `refuse_expired`: registries keep the releases that were signed with them.
pub(super) fn check(
    document: &[u8],
    signature: &[u8],
    keys: &[String],
    refuse_expired: bool,
) -> Result<String, String> {
    if signature.len() > MAX_SIZE || keys.iter().any(|key| key.len() > MAX_SIZE) {
        return Err("a signature or key is too large to be one".to_owned());
    }
    let signatures = read(signature)?;
    for armored in keys {
        let unreadable =
            |error: &dyn std::fmt::Display| format!("a signing key of the registry cannot be read: {error}");
        let (ring, _) = SignedPublicKey::from_armor_many(Cursor::new(armored)).map_err(|error| unreadable(&error))?;
        for key in ring {
            let key = key.map_err(|error| unreadable(&error))?;
            if let Some(outcome) = check_key(document, &signatures, &key) {
                outcome?;
                if !key.details.revocation_signatures.is_empty() {
                    return Err(format!("the signing key {} has been revoked", id(&key)));
                }
                if refuse_expired && key.expires_at().is_some_and(|end| SystemTime::from(end) < SystemTime::now()) {
                    return Err(format!("the signing key {} has expired", id(&key)));
                }
                return Ok(id(&key));
            }
        }
    }
    Err("authentication signature from unknown issuer".to_owned())
}

/// Signatures in their binary form, or armored.
fn read(signature: &[u8]) -> Result<Vec<StandaloneSignature>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("the signature cannot be read: {error}");
    let found: Result<Vec<_>, _> = match signature.trim_ascii_start().starts_with(b"-----BEGIN") {
        true => {
            let (many, _) =
                StandaloneSignature::from_armor_many(Cursor::new(signature)).map_err(|error| unreadable(&error))?;
            many.collect()
        }
        false => {
            StandaloneSignature::from_bytes_many(Cursor::new(signature)).map_err(|error| unreadable(&error))?.collect()
        }
    };
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err("the signature is empty".to_owned()),
        Err(error) => Err(unreadable(&error)),
    }
}

/// Whether a key, or one that belongs to it, has signed a document. None if no signature is said to be of it.
fn check_key(document: &[u8], signatures: &[StandaloneSignature], key: &SignedPublicKey) -> Option<Result<(), String>> {
    let mut outcome = None;
    for signature in signatures {
        if is_of(signature, &key.primary_key) {
            outcome = Some(verify(document, signature, &key.primary_key));
        }
        for subkey in &key.public_subkeys {
            if is_of(signature, &subkey.key) {
                // A key that the owner of the main key has not claimed proves nothing.
                let claimed = subkey.verify(&key.primary_key);
                outcome = Some(match claimed {
                    Ok(()) => verify(document, signature, &subkey.key),
                    Err(error) => Err(format!("a signing key is not bound to its owner: {error}")),
                });
            }
        }
        if matches!(outcome, Some(Ok(()))) {
            return outcome;
        }
    }
    outcome
}

fn is_of(signature: &StandaloneSignature, key: &impl PublicKeyTrait) -> bool {
    let signature = &signature.signature;
    signature.issuer().contains(&&key.key_id()) || signature.issuer_fingerprint().contains(&&key.fingerprint())
}

fn verify(document: &[u8], signature: &StandaloneSignature, key: &impl PublicKeyTrait) -> Result<(), String> {
    if !matches!(signature.signature.typ(), Some(SignatureType::Binary | SignatureType::Text)) {
        return Err("the signature is not one of a document".to_owned());
    }
    // A signature from the future has been tampered with, or the clock is wrong.
    let created = signature.signature.created().map(|time| SystemTime::from(*time));
    let a_day = std::time::Duration::from_secs(24 * 60 * 60);
    if created.is_some_and(|created| created > SystemTime::now() + a_day) {
        return Err("the signature was made in the future: check the clock of this machine".to_owned());
    }
    // The reason is about numbers that nobody knows.
    let verified = signature.verify(key, document);
    verified.map_err(|_| "error checking signature: it is not one of this list of checksums".to_owned())
}

/// The id of a key, as people compare it.
fn id(key: &SignedPublicKey) -> String {
    super::hash::hex(key.primary_key.key_id().as_ref()).to_uppercase()
}
