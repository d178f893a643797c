//! Client certificates: a key pair from a PKCS#12 file, and the assertions that it signs.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_URL};
use serde_json::json;

use super::der::{CONTEXT_0, Reader, SEQUENCE};
use super::pkcs12;
use crate::Secret;

/// Seconds for which an assertion is valid.
const VALIDITY: u64 = 600;

/// A certificate with its private key.
pub(super) struct ClientCertificate {
    key: RsaKeyPair,
    certificate: Vec<u8>,
}

/// The key stays hidden.
impl std::fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientCertificate")
    }
}

/// The kind of server that verifies an assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verifier {
    /// Microsoft Entra ID.
    Entra,
    /// Active Directory Federation Services, which know SHA-1 thumbprints only.
    Adfs,
}

impl ClientCertificate {
    /// Reads a PKCS#12 file. The error is the second half of a sentence.
    pub(super) fn read(pfx: &[u8], password: &str) -> Result<ClientCertificate, String> {
        if pfx.starts_with(b"-----BEGIN") {
            return Err(
                "it is a PEM file, and a PKCS#12 (PFX) file is required. Convert it with `openssl pkcs12 -export`"
                    .to_owned(),
            );
        }
        let contents = pkcs12::read(pfx, password)?;
        let (key, id) = contents.keys.first().ok_or("it contains no private key")?;
        let key = RsaKeyPair::from_pkcs8(key)
            .map_err(|_| "its private key is not an RSA key of 2048 to 8192 bits".to_owned())?;
        let by_key = contents.certificates.iter().find(|(der, _)| public_key(der) == Some(key.public_key().as_ref()));
        let by_id = || contents.certificates.iter().find(|(_, known)| id.is_some() && known == id);
        let (certificate, _) = by_key.or_else(by_id).ok_or("it contains no certificate of its private key")?;
        Ok(ClientCertificate { certificate: certificate.clone(), key })
    }

    /// A signed statement that this client is who it says, for one token endpoint.
    pub(super) fn assertion(&self, client_id: &str, endpoint: &str, verifier: Verifier) -> Result<Secret, String> {
        // Quirk: thumbprints are in the ordinary alphabet of base64, as the libraries of Microsoft send them.
        let thumbprint = |hash| BASE64.encode(digest::digest(hash, &self.certificate));
        let (header, algorithm): (_, &'static dyn RsaEncoding) = match verifier {
            Verifier::Entra => {
                (json!({"alg": "PS256", "typ": "JWT", "x5t#S256": thumbprint(&digest::SHA256)}), &RSA_PSS_SHA256)
            }
            Verifier::Adfs => {
                let thumbprint = thumbprint(&digest::SHA1_FOR_LEGACY_USE_ONLY);
                (json!({"alg": "RS256", "typ": "JWT", "x5t": thumbprint}), &RSA_PKCS1_SHA256)
            }
        };
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| format!("the system has no random bytes: {error}"))?;
        let id: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let claims = json!({
            "aud": endpoint, "exp": now + VALIDITY, "iss": client_id, "jti": id, "nbf": now, "sub": client_id,
        });
        let signed = format!("{}.{}", BASE64_URL.encode(header.to_string()), BASE64_URL.encode(claims.to_string()));
        let mut signature = vec![0; self.key.public_modulus_len()];
        self.key
            .sign(algorithm, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| "the private key of the client certificate cannot sign".to_owned())?;
        Ok(Secret::new(format!("{signed}.{}", BASE64_URL.encode(&signature))))
    }
}

/// The RSA public key in a certificate, as PKCS#1 has it.
fn public_key(certificate: &[u8]) -> Option<&[u8]> {
    let mut inner = Reader::new(certificate).enter(SEQUENCE)?.enter(SEQUENCE)?;
    if inner.peek() == Some(CONTEXT_0) {
        inner.any()?;
    }
    // Serial number, signature algorithm, issuer, validity, subject.
    for _ in 0..5 {
        inner.any()?;
    }
    let mut info = inner.enter(SEQUENCE)?;
    info.any()?;
    let (unused_bits, key) = info.expect(0x03)?.split_first()?;
    (*unused_bits == 0).then_some(key)
}
