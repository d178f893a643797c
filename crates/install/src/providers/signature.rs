//! Detached OpenPGP signatures over lists of checksums.

#[cfg(test)]
mod tests;

use std::time::SystemTime;

use crate::openpgp::{self, Certificate, Issuer, PublicKey, Revocation, Signature};

/// How far the clocks of publishers may be ahead, in seconds.
const A_DAY: u64 = 24 * 60 * 60;

/// Maximum size of a signature or key.
const MAX_SIZE: usize = 1 << 20;

/// Whether a signature by a key that has expired is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpiredKeys {
    /// It is: registries still publish releases that were signed with such keys.
    #[default]
    Accepted,
    /// It is not.
    Refused,
}

/// Checks that one of the keys has signed a document: its id, or why none has, in words that end no sentence.
pub(super) fn check(
    document: &[u8],
    signature: &[u8],
    keys: &[String],
    expired_keys: ExpiredKeys,
) -> Result<String, String> {
    if signature.len() > MAX_SIZE || keys.iter().any(|key| key.len() > MAX_SIZE) {
        return Err("a signature or key is too large to be one".to_owned());
    }
    let signatures =
        openpgp::read_signatures(signature).map_err(|error| format!("the signature cannot be read: {error}"))?;
    // An expired key, and the reason why it is not accepted. A later key can be valid.
    let mut expired = None;
    for armored in keys {
        let certificates = openpgp::read_certificates(armored)
            .map_err(|error| format!("a signing key of the registry cannot be read: {error}"))?;
        for certificate in certificates {
            let Some(outcome) = check_certificate(document, &signatures, &certificate) else { continue };
            let (signature, issuer) = outcome?;
            let id = super::hash::hex(certificate.primary().id()).to_uppercase();
            match issuer.revocation {
                Some(Revocation::Valid) => return Err(format!("the signing key {id} has been revoked")),
                Some(Revocation::Unverified) => {
                    return Err(format!("the signing key {id} has a revocation that Yuba cannot verify"));
                }
                None => {}
            }
            let now = seconds_now();
            let has_ended = |end: Option<u64>| end.is_some_and(|end| end < now);
            let reason = match (has_ended(issuer.expires), has_ended(signature.expires())) {
                (true, _) => format!("the signing key {id} has expired"),
                (false, true) => format!("the signature by the key {id} has expired"),
                (false, false) => return Ok(id),
            };
            expired.get_or_insert((id, reason));
        }
    }
    match (expired, expired_keys) {
        (Some((id, _)), ExpiredKeys::Accepted) => Ok(id),
        (Some((_, reason)), ExpiredKeys::Refused) => Err(reason),
        (None, _) => Err("authentication signature from unknown issuer".to_owned()),
    }
}

/// The key of a certificate that has signed a document. None if no signature is said to be of one of its keys.
fn check_certificate<'a>(
    document: &[u8],
    signatures: &'a [Signature],
    certificate: &'a Certificate,
) -> Option<Result<(&'a Signature, Issuer<'a>), String>> {
    let mut failure = None;
    for signature in signatures {
        for issuer in certificate.issuers(signature) {
            match issuer.and_then(|issuer| verify(document, signature, issuer.key).map(|()| issuer)) {
                Ok(issuer) => return Some(Ok((signature, issuer))),
                Err(reason) => failure = Some(Err(reason)),
            }
        }
    }
    failure
}

fn verify(document: &[u8], signature: &Signature, key: &PublicKey) -> Result<(), String> {
    if !signature.is_of_document() {
        return Err("the signature is not one of a document".to_owned());
    }
    // A signature from the future has been tampered with, or the clock is wrong.
    if signature.created() > seconds_now() + A_DAY {
        return Err("the signature was made in the future: check the clock of this machine".to_owned());
    }
    signature.verify_document(key, document).map_err(|reason| match reason.as_str() {
        openpgp::MISMATCH => "error checking signature: it is not one of this list of checksums".to_owned(),
        _ => format!("error checking signature: {reason}"),
    })
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
