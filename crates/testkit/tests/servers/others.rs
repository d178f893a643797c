//! The other servers: each answers a request that only this kind of server answers so.

use yuba_testkit::servers::{
    S3Server, Scheme, azurite, consul, fake_gcs, kubernetes, minio, request, vault_transit, versitygw,
};

const INSTALLED: &str = "because it is installed";

pub(crate) fn fake_gcs_serves() {
    let gcs = fake_gcs().expect(INSTALLED);
    gcs.create_bucket("tofu-state");
    let create = "/upload/storage/v1/b/tofu-state/o?uploadType=media&name=a&ifGenerationMatch=0";
    assert_eq!(gcs.ask("POST", create, "one").status, 200);
    assert_eq!(gcs.ask("POST", create, "two").status, 412);
    assert_eq!(gcs.ask("GET", "/storage/v1/b/tofu-state/o/a?alt=media", "").body, "one");
    assert!(gcs.endpoint().ends_with("/storage/v1/"));
}

pub(crate) fn azurite_serves_http() {
    let azurite = azurite(Scheme::Http).expect(INSTALLED);
    assert!(azurite.endpoint().starts_with("http://127.0.0.1:"), "{}", azurite.endpoint());
    let answer = request(azurite.port(), "GET", "/devstoreaccount1?comp=list", &[], "").expect("because it answers");
    assert_eq!(
        (answer.status, answer.header("server").is_some_and(|name| name.starts_with("Azurite-Blob"))),
        (403, true)
    );
}

pub(crate) fn azurite_serves_https() {
    let azurite = azurite(Scheme::Https(&["*.blob.azurite.test"])).expect(INSTALLED);
    assert!(azurite.endpoint().starts_with("https://127.0.0.1:"), "{}", azurite.endpoint());
    let certificate = azurite.certificate().expect("because it speaks TLS");
    let mut client = std::process::Command::new("openssl");
    client.args(["s_client", "-connect", &azurite.address(), "-servername", "devstoreaccount1.blob.azurite.test"]);
    client.args(["-verify_hostname", "devstoreaccount1.blob.azurite.test", "-verify_return_error", "-CAfile"]);
    let output =
        client.arg(&certificate.authority).stdin(std::process::Stdio::null()).output().expect("because it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("Verify return code: 0 (ok)"), "{text}");
}

pub(crate) fn consul_serves() {
    let consul = consul().expect(INSTALLED);
    assert_eq!(consul.ask("PUT", "/v1/kv/tofu/proj", "state").body.trim(), "true");
    assert_eq!(consul.ask("GET", "/v1/kv/tofu/proj?raw", "").body, "state");
    assert!(consul.keys().contains("tofu/proj"), "{}", consul.keys());
}

pub(crate) fn vault_transit_serves() {
    let vault = vault_transit().expect(INSTALLED);
    vault.create_key("tofu");
    let data = vault.ask("POST", "/v1/transit/datakey/plaintext/tofu", r#"{"bits":256}"#);
    assert_eq!(data.status, 200, "{}", data.body);
    let after =
        |name: &str| data.body.split_once(name).and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default();
    let (ciphertext, plaintext) = (after(r#""ciphertext":""#), after(r#""plaintext":""#));
    assert!(ciphertext.starts_with("vault:v1:"), "{}", data.body);
    let body = format!(r#"{{"ciphertext":"{ciphertext}"}}"#);
    let decrypted = vault.ask("POST", "/v1/transit/decrypt/tofu", &body).body;
    assert!(plaintext.len() == 44 && decrypted.contains(plaintext), "{decrypted}");
    let unknown = request(vault.port(), "GET", "/v1/transit/keys/tofu", &[("X-Vault-Token", "other")], "");
    assert_eq!(unknown.map(|answer| answer.status), Some(403));
}

pub(crate) fn versitygw_serves() {
    refuses_strangers(&versitygw().expect(INSTALLED));
}

pub(crate) fn minio_serves() {
    refuses_strangers(&minio().expect(INSTALLED));
}

fn refuses_strangers(server: &S3Server) {
    let answer = request(server.port(), "PUT", "/tofu-state", &[], "").expect("because it answers");
    assert!(answer.status == 403 && answer.body.contains("AccessDenied"), "{} {}", answer.status, answer.body);
    let scope = format!("{}/20260101/us-east-1/s3/aws4_request", server.access_key());
    let signature = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
    let wrong = request(server.port(), "GET", "/", &[("Authorization", &signature)], "").expect("because it answers");
    assert!((400..500).contains(&wrong.status), "{} {}", wrong.status, wrong.body);
}

pub(crate) fn kubernetes_serves() {
    let kubernetes = kubernetes().expect(INSTALLED);
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret =
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"tfstate-default-a"},"data":{"tfstate":"eA=="}}"#;
    assert_eq!(kubernetes.ask("POST", secrets, secret).status, 201);
    assert_eq!(kubernetes.ask("POST", secrets, secret).status, 409);
    kubernetes.restart();
    assert!(kubernetes.ask("GET", secrets, "").body.contains("tfstate-default-a"));
    let file = std::fs::read_to_string(kubernetes.kubeconfig()).expect("because the starter writes it");
    assert!(file.contains(&kubernetes.url()) && file.contains(kubernetes.token()), "{file}");
}
