//! Client certificates: files that OpenSSL wrote, and assertions that their keys signed.

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use super::super::certificate::{ClientCertificate, Verifier};
use super::*;

/// Written by `openssl pkcs12 -export` of OpenSSL 3.0, with these options.
const FILES: [(&str, &str, &[u8]); 6] = [
    ("no options: PBES2 with AES-256, SHA-256", "geheim", include_bytes!("../testdata/modern.pfx")),
    ("-legacy: RC2 of 40 bits and Triple DES", "geheim", include_bytes!("../testdata/legacy.pfx")),
    ("-certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES -macalg sha1", "geheim", include_bytes!("../testdata/des.pfx")),
    ("-certpbe PBE-SHA1-RC2-128 -keypbe PBE-SHA1-2DES", "geheim", include_bytes!("../testdata/rc2.pfx")),
    ("-certpbe NONE -keypbe AES-128-CBC -macalg sha512", "gehüim", include_bytes!("../testdata/aes128.pfx")),
    ("empty password", "", include_bytes!("../testdata/nopass.pfx")),
];
/// The certificate in all of them.
const CERTIFICATE: &[u8] = include_bytes!("../testdata/certificate.der");

#[test]
fn files_of_all_ciphers_are_read() {
    for (options, password, file) in FILES {
        ClientCertificate::read(file, password).unwrap_or_else(|reason| panic!("{options}: {reason}"));
    }
}

#[test]
fn files_that_cannot_be_read_are_refused_by_reason() {
    let error = |file: &[u8], password: &str| match ClientCertificate::read(file, password) {
        Ok(_) => "accepted".to_owned(),
        Err(reason) => reason,
    };
    let modern = FILES[0].2;
    assert_eq!(error(modern, "wrong"), "the password is wrong");
    assert_eq!(error(modern, ""), "it requires a password");
    assert_eq!(error(b"", ""), "it is not a valid PKCS#12 (PFX) file");
    assert_eq!(error(CERTIFICATE, ""), "it is not a valid PKCS#12 (PFX) file");
    assert!(error(b"-----BEGIN CERTIFICATE-----\n", "").starts_with("it is a PEM file"));
    let elliptic = include_bytes!("../testdata/ec.pfx");
    assert_eq!(error(elliptic, "geheim"), "its private key is not an RSA key of 2048 to 8192 bits");
    let camellia = include_bytes!("../testdata/camellia.pfx");
    assert_eq!(
        error(camellia, "geheim"),
        "it is encrypted with the algorithm 1.2.392.200011.61.1.1.1.4, which is not supported"
    );
    // No prefix and no changed byte makes it panic.
    for end in 0..modern.len() {
        assert_ne!(error(&modern[..end], "geheim"), "accepted", "{end}");
    }
    for at in (0..modern.len()).step_by(7) {
        let mut changed = modern.to_vec();
        changed[at] ^= 0x41;
        let _ = error(&changed, "geheim");
    }
}

/// Header and claims of an assertion whose signature is right.
fn verified(assertion: &str, verifier: Verifier) -> (Json, Json) {
    let parts: Vec<&str> = assertion.split('.').collect();
    let decoded = |part: &str| URL_SAFE_NO_PAD.decode(part).expect("because assertions are base64");
    let certificate = rustls::pki_types::CertificateDer::from(CERTIFICATE);
    let certificate = webpki::EndEntityCert::try_from(&certificate).expect("because it is a certificate");
    let key = certificate.subject_public_key_info();
    let algorithm = match verifier {
        Verifier::Entra => &RSA_PSS_2048_8192_SHA256,
        Verifier::Adfs => &RSA_PKCS1_2048_8192_SHA256,
    };
    // The key itself follows 24 bytes of headers of the key information.
    let key = UnparsedPublicKey::new(algorithm, &key.as_ref()[24..]);
    let signed = format!("{}.{}", parts[0], parts[1]);
    key.verify(signed.as_bytes(), &decoded(parts[2])).expect("because the key signed it");
    let json = |part: &str| serde_json::from_slice(&decoded(part)).expect("because it is JSON");
    (json(parts[0]), json(parts[1]))
}

#[test]
fn a_certificate_logs_in_with_an_assertion() {
    let internet = Internet::new(|asked| {
        let (host, form) = (asked.header("host").unwrap_or_default(), fields(&asked.body));
        let (path, verifier) = match host {
            "login.microsoftonline.com" => (format!("/{TENANT}/oauth2/v2.0/token"), Verifier::Entra),
            _ => ("/adfs/oauth2/token".to_owned(), Verifier::Adfs),
        };
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        if asked.target != path || form.get("client_assertion_type").map(String::as_str) != Some(kind) {
            return wrong(asked);
        }
        let (header, claims) = verified(&form["client_assertion"], verifier);
        let hash = |algorithm| STANDARD.encode(aws_lc_rs::digest::digest(algorithm, CERTIFICATE));
        let expected = match verifier {
            Verifier::Entra => json!({"alg": "PS256", "typ": "JWT", "x5t#S256": hash(&aws_lc_rs::digest::SHA256)}),
            Verifier::Adfs => {
                json!({"alg": "RS256", "typ": "JWT", "x5t": hash(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY)})
            }
        };
        let seconds = claims["exp"].as_u64().zip(claims["nbf"].as_u64()).map(|(end, begin)| end - begin);
        let is_fine = header == expected
            && seconds == Some(600)
            && (&claims["iss"], &claims["sub"]) == (&json!("app"), &json!("app"))
            && claims["aud"] == json!(format!("https://{host}{path}"))
            && claims["jti"].as_str().is_some_and(|id| id.len() == 32);
        if is_fine { token("access") } else { wrong(&(header, claims)) }
    });
    let outside = internet.outside(&[], &[("client.pfx", FILES[1].2)]);
    let settings = IdentitySettings {
        certificate_file: "client.pfx".to_owned(),
        certificate_password: secret("geheim"),
        // A certificate comes before a secret.
        client_secret: secret("s"),
        ..application()
    };
    let stack =
        Cloud { login: Url::parse("https://adfs.stack.example/adfs").expect("because it is a URL"), ..public() };
    for cloud in [public(), stack] {
        let tokens = settings.select(&cloud, &outside).expect("because the settings are complete");
        assert_eq!(tokens.method(), Method::ClientCertificate);
        assert_eq!(tokens.token(STORAGE_SCOPE), Ok(Secret::new("access")));
    }
    let encoded = IdentitySettings { certificate: secret(&STANDARD.encode(FILES[0].2)), ..settings };
    let refused = IdentitySettings { client_secret: None, ..encoded.clone() }.select(&public(), &outside);
    let reasons = &refused.expect_err("because the certificates differ")[0].reasons;
    assert_eq!(
        reasons[..],
        ["The client certificate and the file with the client certificate are different. Set one of them"]
    );
    let encoded = IdentitySettings { certificate_file: String::new(), ..encoded };
    assert!(encoded.select(&public(), &outside).is_ok_and(|tokens| tokens.method() == Method::ClientCertificate));
}
