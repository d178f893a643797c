//! TLS trust: certificates signed by the authorities of this machine.
//!
//! Hosts inside a company often present a certificate that is its own authority and listed among those of the machine. WebPKI
//! rejects an authority as a host certificate; other clients accept it, so this verifier does too.

use std::collections::HashSet;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// TLS settings with the authorities of this machine. The error is part of a sentence.
pub(crate) fn of_machine() -> Result<ClientConfig, String> {
    // Authorities that cannot be read are skipped.
    config(rustls_native_certs::load_native_certs().certs)
}

fn config(authorities: Vec<CertificateDer<'static>>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    // Without authorities every TLS connection fails; plain http still works.
    let mut config = match Verifier::new(authorities)? {
        Some(verifier) => builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)),
        None => builder.with_root_certificates(RootCertStore::empty()),
    }
    .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The rules of WebPKI, except that a listed authority may be a host.
#[derive(Debug)]
struct Verifier {
    usual: Arc<WebPkiServerVerifier>,
    authorities: HashSet<CertificateDer<'static>>,
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
        Ok(Some(Verifier { usual, authorities: authorities.into_iter().collect() }))
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
        match self.usual.verify_server_cert(shown, others, name, status, now) {
            // WebPKI reports this only for certificates that are valid now.
            Err(error) if is_authority(&error) => match self.authorities.contains(shown) {
                true => {
                    rustls::client::verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                    Ok(ServerCertVerified::assertion())
                }
                false => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
            },
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
    fn an_authority_that_has_expired_is_no_host() {
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
    fn without_authorities_there_is_a_way_to_connect() {
        assert!(config(Vec::new()).is_ok());
    }
}
