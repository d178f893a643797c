//! Mutual TLS: a certificate of our own for one run, and the rule that the other side must show exactly the certificate
//! of its handshake.
//!
//! Certificates of Go processes are self-signed authorities used as leaves, which no ordinary verification accepts. The
//! verification here requires the very bytes of the handshake, and that the other side holds the key.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

/// The name in the certificates of both sides.
const NAME: &str = "localhost";

/// Our identity for all providers of this run.
pub(crate) struct Identity {
    /// The certificate that providers must expect.
    pub(crate) pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// A new one. The error is part of a sentence.
    pub(crate) fn new() -> Result<Identity, String> {
        let made = || {
            let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
            let mut params = CertificateParams::new([NAME.to_owned()])?;
            params.distinguished_name.push(DnType::CommonName, NAME);
            // The other side verifies it as an authority that has signed itself.
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages = vec![
                KeyUsagePurpose::DigitalSignature,
                KeyUsagePurpose::KeyEncipherment,
                KeyUsagePurpose::KeyAgreement,
                KeyUsagePurpose::KeyCertSign,
            ];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
            let certificate = params.self_signed(&key)?;
            Ok((certificate.pem(), certificate.der().clone(), key.serialize_der()))
        };
        let (pem, certificate, key) = made().map_err(|error: rcgen::Error| error.to_string())?;
        let key = PrivateKeyDer::try_from(key)?;
        Ok(Identity { pem, certificate, key })
    }

    /// Settings for a connection to the owner of this certificate. The error is part of a sentence.
    pub(crate) fn client(&self, expected: Vec<u8>) -> Result<(ClientConfig, ServerName<'static>), String> {
        let crypto = Arc::new(aws_lc_rs::default_provider());
        let pinned = Pinned { expected: CertificateDer::from(expected), crypto: crypto.clone() };
        let mut config = ClientConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pinned))
            .with_client_auth_cert(vec![self.certificate.clone()], self.key.clone_key())
            .map_err(|error| error.to_string())?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        config.resumption = rustls::client::Resumption::disabled();
        let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
        Ok((config, name))
    }
}

/// Accepts one certificate.
#[derive(Debug)]
struct Pinned {
    expected: CertificateDer<'static>,
    crypto: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match shown.as_ref() == self.expected.as_ref() {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.crypto.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.crypto.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto.signature_verification_algorithms.supported_schemes()
    }
}
