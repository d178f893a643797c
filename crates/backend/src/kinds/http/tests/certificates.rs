//! TLS with certificates on both sides, against a server that requires them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use super::try_open;

/// An authority with a certificate for a server and one for a client, all in PEM.
struct Pair {
    authority: String,
    certificate: String,
    key: String,
}

fn authority(name: &str) -> (CertificateParams, KeyPair, String) {
    let mut params = CertificateParams::new([]).expect("no name is a name");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("there is chance");
    let pem = params.self_signed(&key).expect("it can be made").pem();
    (params, key, pem)
}

fn signed(authority: (CertificateParams, KeyPair, String), name: &str) -> Pair {
    let (params, key, pem) = authority;
    let own = KeyPair::generate().expect("there is chance");
    let leaf = CertificateParams::new([name.to_owned()]).expect("it is a name");
    let certificate = leaf.signed_by(&own, &Issuer::new(params, key)).expect("it can be made").pem();
    Pair { authority: pem, certificate, key: own.serialize_pem() }
}

/// Answers every request with a state, if the client has a certificate of this authority. Returns its URL.
fn server(own: &Pair, clients: &str) -> String {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let pem = |text: &str| rustls::pki_types::CertificateDer::from_pem_slice(text.as_bytes()).expect("it is PEM");
    let mut roots = RootCertStore::empty();
    roots.add(pem(clients)).expect("it is an authority");
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).expect("it is PEM");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .with_client_cert_verifier(verifier.build().expect("there is an authority"))
        .with_single_cert(vec![pem(&own.certificate)], key)
        .expect("they fit");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are free ports");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Ok(connection) = ServerConnection::new(Arc::clone(&config)) else { continue };
            let mut stream = BufReader::new(StreamOwned::new(connection, stream));
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|length| length > 2) {
                line.clear();
            }
            let _ = stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
            stream.get_mut().conn.send_close_notify();
            let _ = stream.get_mut().flush();
        }
    });
    format!("https://localhost:{port}/state")
}

#[test]
fn both_sides_prove_who_they_are() {
    let (host, client) = (signed(authority("hosts"), "localhost"), signed(authority("clients"), "client"));
    let stranger = signed(authority("strangers"), "client");
    let url = server(&host, &client.authority);
    let read = |ca: Option<&str>, identity: Option<&Pair>, skip: Option<bool>| {
        let arguments = json!({
            "address": url, "client_ca_certificate_pem": ca, "client_certificate_pem": identity.map(|pair| &pair.certificate),
            "client_private_key_pem": identity.map(|pair| &pair.key), "skip_cert_verification": skip,
        });
        let store = try_open(&arguments, &[]).expect("the arguments are valid");
        store.read("default").map(|stored| stored.is_some()).map_err(|error| error.reason)
    };
    assert_eq!(read(Some(&host.authority), Some(&client), None), Ok(true));
    assert_eq!(read(None, Some(&client), Some(true)), Ok(true));
    let unknown = read(None, Some(&client), None).expect_err("the authority is unknown");
    assert!(unknown.contains("unknown authority"), "{unknown}");
    let unknown = read(Some(&stranger.authority), Some(&client), None).expect_err("it is another authority");
    assert!(unknown.contains("unknown authority"), "{unknown}");
    assert!(read(Some(&host.authority), None, None).is_err(), "the server requires a certificate");
    assert!(read(Some(&host.authority), Some(&stranger), None).is_err(), "the server requires another certificate");
}
