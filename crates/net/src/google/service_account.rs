//! Service accounts with a private key: an assertion signed with RS256 is exchanged for an access token.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use super::{GoogleError, Requests, Token, exchange};
use crate::Secret;
use crate::http::{Request, Url};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// Lifetime of an assertion, which is the maximum that Google accepts.
const LIFETIME: Duration = Duration::from_secs(3600);
/// Assertions are dated back, because clocks differ a little.
const DATED_BACK: Duration = Duration::from_secs(10);

/// A service account with its key.
pub(super) struct ServiceAccount {
    pub(super) email: String,
    /// The id of the key, which the server looks it up by.
    pub(super) key_id: String,
    pub(super) key: KeyPair,
    pub(super) scopes: Vec<String>,
    pub(super) exchange: Exchange,
}

/// Exchange of an assertion for an access token.
pub(super) enum Exchange {
    /// At this endpoint.
    At(Url),
    /// It is one itself: clouds with another universe domain have no token endpoint.
    SelfSigned,
}

impl ServiceAccount {
    pub(super) fn token(&self, requests: &Requests) -> Result<Token, GoogleError> {
        let issued = SystemTime::now().checked_sub(DATED_BACK).unwrap_or(UNIX_EPOCH);
        match &self.exchange {
            Exchange::At(url) => {
                let assertion = self.assertion(issued, Some(url))?;
                let form = [("grant_type", GRANT), ("assertion", assertion.reveal())];
                exchange::token(&requests.http, Request::form(url.clone(), &form))
            }
            Exchange::SelfSigned => {
                Ok(Token { value: self.assertion(issued, None)?, expires: issued.checked_add(LIFETIME) })
            }
        }
    }

    /// A signed JSON Web Token.
    fn assertion(&self, issued: SystemTime, audience: Option<&Url>) -> Result<Secret, GoogleError> {
        let issued = issued.duration_since(UNIX_EPOCH).unwrap_or_default();
        let header = json!({ "alg": "RS256", "typ": "JWT", "kid": self.key_id });
        let mut claims = json!({
            "iss": self.email,
            "scope": self.scopes.join(" "),
            "iat": issued.as_secs(),
            "exp": (issued + LIFETIME).as_secs(),
        });
        match audience {
            Some(audience) => claims["aud"] = json!(audience.as_str()),
            None => claims["sub"] = json!(self.email),
        }
        let encoded = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&claims));
        let mut signature = vec![0; self.key.public_modulus_len()];
        let random = SystemRandom::new();
        self.key
            .sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature)
            .map_err(|_| GoogleError::lasting("failed to sign with the private key of the credentials"))?;
        Ok(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }
}

/// The RSA key in a PEM text, as PKCS#8 or PKCS#1.
pub(super) fn private_key(pem: &str) -> Option<KeyPair> {
    match PrivateKeyDer::from_pem_slice(pem.as_bytes()).ok()? {
        PrivateKeyDer::Pkcs8(key) => KeyPair::from_pkcs8(key.secret_pkcs8_der()).ok(),
        PrivateKeyDer::Pkcs1(key) => KeyPair::from_der(key.secret_pkcs1_der()).ok(),
        _ => None,
    }
}
