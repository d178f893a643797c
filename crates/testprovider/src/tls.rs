//! Certificates on both sides: one made for this process, and exactly one client.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject as _};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName as Name, Error, ServerConfig, SignatureScheme};

/// A certificate and what is needed to use it.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    pub(crate) fn new() -> Result<Identity, String> {
        let make = || -> Result<Identity, rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
            let mut name = DistinguishedName::new();
            name.push(DnType::CommonName, "localhost");
            params.distinguished_name = name;
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            let certificate = params.self_signed(&key)?.der().clone();
            Ok(Identity { certificate, key: PrivateKeyDer::Pkcs8(key.serialize_der().into()) })
        };
        make().map_err(|error| format!("no certificate: {error}"))
    }

    /// As it stands in the greeting.
    pub(crate) fn announced(&self) -> String {
        STANDARD_NO_PAD.encode(&self.certificate)
    }

    /// Serves only the client whose certificate this is (PEM).
    pub(crate) fn serve(self, client: &str) -> Result<Arc<ServerConfig>, String> {
        let client = CertificateDer::from_pem_slice(client.as_bytes())
            .map_err(|error| format!("PLUGIN_CLIENT_CERT: {error}"))?;
        let crypto = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = Pinned { client, algorithms: crypto.signature_verification_algorithms };
        let config = |crypto: Arc<CryptoProvider>| -> Result<ServerConfig, Error> {
            let mut config = ServerConfig::builder_with_provider(crypto)
                .with_safe_default_protocol_versions()?
                .with_client_cert_verifier(Arc::new(verifier))
                .with_single_cert(vec![self.certificate], self.key)?;
            config.alpn_protocols = vec![b"h2".to_vec()];
            Ok(config)
        };
        config(crypto).map(Arc::new).map_err(|error| format!("no TLS: {error}"))
    }
}

struct Pinned {
    client: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pinned")
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[Name] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match *shown == self.client {
            true => Ok(ClientCertVerified::assertion()),
            false => Err(Error::General("not the client that started this process".into())),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
