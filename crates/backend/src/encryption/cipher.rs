//! AES in Galois/Counter mode: the nonce comes first, then the encrypted bytes with their tag.

use aws_lc_rs::aead::{
    AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};

fn algorithm(key: &[u8]) -> Option<&'static Algorithm> {
    match key.len() {
        16 => Some(&AES_128_GCM),
        24 => Some(&AES_192_GCM),
        32 => Some(&AES_256_GCM),
        _ => None,
    }
}

/// Whether a key can be used.
pub(super) fn check_length(key: &[u8]) -> Result<(), String> {
    match algorithm(key) {
        Some(_) => Ok(()),
        None => Err(format!("aes_gcm needs a key of 16, 24 or 32 bytes, and this one has {}", key.len())),
    }
}

fn prepared(key: &[u8]) -> Result<LessSafeKey, String> {
    check_length(key)?;
    let unusable = || "the key cannot be used".to_owned();
    let algorithm = algorithm(key).ok_or_else(unusable)?;
    UnboundKey::new(algorithm, key).map(LessSafeKey::new).map_err(|_| unusable())
}

pub(super) fn encrypt(key: &[u8], aad: &[u8], content: &[u8]) -> Result<Vec<u8>, String> {
    let key = prepared(key)?;
    let mut nonce = [0_u8; NONCE_LEN];
    getrandom::fill(&mut nonce)
        .map_err(|error| format!("the random number generator of the system failed: {error}"))?;
    let mut out = Vec::with_capacity(NONCE_LEN + content.len() + 16);
    out.extend_from_slice(content);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(aad), &mut out)
        .map_err(|_| "the cipher failed")?;
    out.splice(0..0, nonce);
    Ok(out)
}

pub(super) fn decrypt(key: &[u8], aad: &[u8], data: &[u8]) -> Result<Vec<u8>, String> {
    let key = prepared(key)?;
    let Some((nonce, data)) = data.split_first_chunk::<NONCE_LEN>() else {
        return Err("the encrypted data is too short, so it is damaged".to_owned());
    };
    let mut content = data.to_vec();
    let length = key
        .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(aad), &mut content)
        .map_err(|_| "the key does not fit, or the data is damaged")?
        .len();
    content.truncate(length);
    Ok(content)
}
