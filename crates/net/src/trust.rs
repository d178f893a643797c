//! TLS trust: certificates signed by the authorities of this machine or of a setting, and certificates of clients.
//!
//! Hosts inside a company often present a certificate that is its own authority and listed among those of the machine. WebPKI
//! rejects an authority as a host certificate; other clients accept it, so this verifier does too.

use std::collections::HashSet;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, InconsistentKeys, RootCertStore, SignatureScheme,
};

/// Identities of a client and a host.
#[derive(Clone, Debug, Default)]
pub struct TlsSettings {
    /// Authorities that sign certificates of hosts.
    pub authorities: Authorities,
    /// The certificate of the client, for hosts that require one.
    pub identity: Option<ClientIdentity>,
    /// Whether the certificate of the host is verified.
    pub verification: Verification,
    /// The name in the certificate of the host, where it is not the name in the URL.
    pub host_name: Option<String>,
}

/// Authorities that sign certificates of hosts.
#[derive(Clone, Debug, Default)]
pub enum Authorities {
    /// Those of this machine.
    #[default]
    Machine,
    /// These PEM certificates only.
    Only(Vec<u8>),
    /// Those of this machine and these PEM certificates.
    MachineAnd(Vec<u8>),
}

/// A certificate chain with its private key, in PEM.
#[derive(Clone)]
pub struct ClientIdentity {
    /// The certificate, followed by those that signed it.
    pub certificates: Vec<u8>,
    /// The private key.
    pub key: Vec<u8>,
}

/// The key stays hidden.
impl std::fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientIdentity")
    }
}

/// Whether the certificate of a host is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verification {
    /// It is.
    #[default]
    Full,
    /// A listed authority must have signed it, and it may belong to another host.
    Authority,
    /// Any certificate is accepted, because the user asked for it.
    Skipped,
}

/// TLS settings of rustls. The error is part of a sentence.
pub fn config(settings: &TlsSettings) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    // Without authorities every TLS connection fails; plain http still works.
    let builder = match verifier(settings)? {
        Some(verifier) => builder.dangerous().with_custom_certificate_verifier(verifier),
        None => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut config = match &settings.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let certified = certified(identity)?;
            builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The certificate of this client with its key.
fn certified(identity: &ClientIdentity) -> Result<CertifiedKey, String> {
    let chain = certificates(&identity.certificates, "the client certificate")?;
    let key = PrivateKeyDer::from_pem_slice(&identity.key)
        .map_err(|_| "the private key of the client certificate is not valid PEM".to_owned())?;
    let failed = |error: Error| format!("the client certificate and its private key cannot be used: {error}");
    let key = aws_lc_rs::default_provider().key_provider.load_private_key(key).map_err(failed)?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        // OpenSSL makes such certificates where no extensions are given. The server decides.
        Err(error) if is_version_1(&error) => Ok(certified),
        Err(error) => Err(failed(error)),
    }
}

/// Whether a certificate is not read because its version is 1.
fn is_version_1(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    other.0.downcast_ref() == Some(&webpki::Error::UnsupportedCertVersion)
}

fn verifier(settings: &TlsSettings) -> Result<Option<Arc<dyn ServerCertVerifier>>, String> {
    if settings.verification == Verification::Skipped {
        return Ok(Some(Arc::new(AcceptAll)));
    }
    // Authorities of the machine that cannot be read are skipped.
    let of_machine = || rustls_native_certs::load_native_certs().certs;
    let named = |pem: &[u8]| certificates(pem, "the list of certificate authorities");
    let authorities = match &settings.authorities {
        Authorities::Machine => of_machine(),
        Authorities::Only(pem) => named(pem)?,
        Authorities::MachineAnd(pem) => of_machine().into_iter().chain(named(pem)?).collect(),
    };
    let host_name = match &settings.host_name {
        None => None,
        Some(name) => {
            let parsed = ServerName::try_from(name.clone());
            Some(parsed.map_err(|_| format!("\"{name}\" is not a valid host name"))?)
        }
    };
    let names = if settings.verification == Verification::Authority { Names::Ignored } else { Names::Compared };
    let verifier = Verifier::new(authorities)?.map(|verifier| Verifier { host_name, names, ..verifier });
    Ok(verifier.map(|verifier| Arc::new(verifier) as Arc<dyn ServerCertVerifier>))
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(format!("{what} contains no valid PEM certificate")),
    }
}

/// Accepts any certificate. Signatures of the handshake are verified, except for certificates of X.509 version 1, which WebPKI
/// cannot read: an attacker who forges such a signature can also present another certificate.
#[derive(Debug)]
struct AcceptAll;

impl AcceptAll {
    fn or_version_1(verdict: Result<HandshakeSignatureValid, Error>) -> Result<HandshakeSignatureValid, Error> {
        match &verdict {
            Err(error) if is_version_1(error) => Ok(HandshakeSignatureValid::assertion()),
            _ => verdict,
        }
    }
}

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        AcceptAll::or_version_1(rustls::crypto::verify_tls12_signature(message, certificate, signed, &algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
        AcceptAll::or_version_1(rustls::crypto::verify_tls13_signature(message, certificate, signed, &algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// The rules of WebPKI, except that a listed authority may be a host.
#[derive(Debug)]
struct Verifier {
    usual: Arc<WebPkiServerVerifier>,
    authorities: HashSet<CertificateDer<'static>>,
    /// The name to look for in certificates, instead of the one in the URL.
    host_name: Option<ServerName<'static>>,
    /// Whether the name in a certificate counts.
    names: Names,
}

/// Whether the name in a certificate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Compared,
    Ignored,
}

impl Verifier {
    fn new(authorities: Vec<CertificateDer<'static>>) -> Result<Option<Verifier>, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities.iter().cloned());
        if roots.is_empty() {
            return Ok(None);
        }
        let crypto = Arc::new(aws_lc_rs::default_provider());
        let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), crypto).build();
        let usual = usual.map_err(|error| error.to_string())?;
        let authorities = authorities.into_iter().collect();
        Ok(Some(Verifier { usual, authorities, host_name: None, names: Names::Compared }))
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        status: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let name = self.host_name.as_ref().unwrap_or(name);
        match self.usual.verify_server_cert(shown, others, name, status, now) {
            // WebPKI reports this only for certificates that are valid now.
            Err(error) if is_authority(&error) => match self.authorities.contains(shown) {
                true => {
                    if self.names == Names::Compared {
                        rustls::client::verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                    }
                    Ok(ServerCertVerified::assertion())
                }
                false => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
            },
            // The name is compared after everything else.
            Err(error) if self.names == Names::Ignored && is_other_name(&error) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Whether the certificate of a host is signed by an unknown authority. I/O errors wrap the TLS error.
pub(crate) fn is_unknown(error: &(dyn std::error::Error + 'static)) -> bool {
    match error.downcast_ref::<std::io::Error>() {
        Some(error) => error.get_ref().is_some_and(|inner| is_unknown(inner)),
        None => matches!(error.downcast_ref(), Some(Error::InvalidCertificate(CertificateError::UnknownIssuer))),
    }
}

/// Whether the only fault of a certificate is the name in it.
fn is_other_name(error: &Error) -> bool {
    let Error::InvalidCertificate(error) = error else { return false };
    matches!(error, CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })
}

/// Whether the only fault of a certificate is that it belongs to an authority.
fn is_authority(error: &Error) -> bool {
    let Error::InvalidCertificate(CertificateError::Other(other)) = error else { return false };
    other.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity)
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    use super::*;

    /// Parameters of a certificate for a host that is an authority too.
    fn authority(host: &str) -> CertificateParams {
        let mut params = CertificateParams::new([host.to_owned()]).expect("it is a name");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
    }

    fn self_signed(params: &CertificateParams) -> CertificateDer<'static> {
        params.self_signed(&KeyPair::generate().expect("there is chance")).expect("it can be made").der().clone()
    }

    fn check(
        authorities: &[&CertificateDer<'static>],
        shown: &CertificateDer<'static>,
        host: &str,
    ) -> Result<(), Error> {
        let authorities = authorities.iter().map(|der| (*der).clone()).collect();
        let verifier = Verifier::new(authorities).expect("they can be used").expect("there are some");
        let name = ServerName::try_from(host.to_owned()).expect("it is a name");
        verifier.verify_server_cert(shown, &[], &name, &[], UnixTime::now()).map(drop)
    }

    #[test]
    fn an_authority_of_this_machine_may_be_a_host() {
        let (ours, others) = (self_signed(&authority("h.example")), self_signed(&authority("h.example")));
        assert_eq!(check(&[&ours], &ours, "h.example"), Ok(()));
        let wrong_name = check(&[&ours], &ours, "x.example");
        assert!(
            matches!(wrong_name, Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. }))),
            "{wrong_name:?}"
        );
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        assert_eq!(check(&[&others], &ours, "h.example"), Err(unknown));
    }

    #[test]
    fn an_expired_authority_is_not_a_host() {
        let mut params = authority("h.example");
        params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        let old = self_signed(&params);
        let expired = check(&[&old], &old, "h.example");
        assert!(
            matches!(expired, Err(Error::InvalidCertificate(CertificateError::ExpiredContext { .. }))),
            "{expired:?}"
        );
    }

    #[test]
    fn hosts_that_an_authority_has_signed_are_believed() {
        let key = KeyPair::generate().expect("there is chance");
        let params = authority("ca.example");
        let ca = params.self_signed(&key).expect("it can be made").der().clone();
        let host_key = KeyPair::generate().expect("there is chance");
        let host = CertificateParams::new(["h.example".to_owned()]).expect("it is a name");
        let host = host.signed_by(&host_key, &Issuer::new(params, key)).expect("it can be made").der().clone();
        assert_eq!(check(&[&ca], &host, "h.example"), Ok(()));
        assert!(check(&[&ca], &host, "x.example").is_err());
        assert!(check(&[&self_signed(&authority("ca.example"))], &host, "h.example").is_err());
    }

    #[test]
    fn names_are_ignored_where_only_the_authority_counts() {
        let key = KeyPair::generate().expect("there is chance");
        let params = authority("ca.example");
        let ca = params.self_signed(&key).expect("it can be made").der().clone();
        let host_key = KeyPair::generate().expect("there is chance");
        let host = CertificateParams::new(["h.example".to_owned()]).expect("it is a name");
        let host = host.signed_by(&host_key, &Issuer::new(params, key)).expect("it can be made").der().clone();
        let name = ServerName::try_from("x.example").expect("it is a name");
        let verdict = |ca: &CertificateDer<'static>, shown: &CertificateDer<'static>| {
            let verifier = Verifier::new(vec![ca.clone()]).expect("it can be used").expect("there is one");
            let verifier = Verifier { names: Names::Ignored, ..verifier };
            verifier.verify_server_cert(shown, &[], &name, &[], UnixTime::now()).map(drop)
        };
        assert_eq!(verdict(&ca, &host), Ok(()));
        assert_eq!(verdict(&ca, &ca), Ok(()), "an authority may be a host");
        // Authorities of these tests have the same name and other keys.
        let wrong = Error::InvalidCertificate(CertificateError::BadSignature);
        assert_eq!(verdict(&self_signed(&authority("ca.example")), &host), Err(wrong));
    }

    #[test]
    fn without_authorities_there_is_a_way_to_connect() {
        assert!(Verifier::new(Vec::new()).is_ok_and(|verifier| verifier.is_none()));
    }
}
