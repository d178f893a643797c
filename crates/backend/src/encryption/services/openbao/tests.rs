//! Requests to a transit engine, and the environment variables around them.

use serde_json::json;
use yuba_testkit::{Host, Reply};

use super::*;
use crate::encryption::services::key_service;

fn try_open(arguments: &Json, variables: &[(&str, &str)]) -> Result<Arc<dyn KeyService>, String> {
    let kind = key_service("openbao").expect("it is in the table");
    let environment = BackendEnvironment::new(variables.iter().copied().collect(), "data");
    let schema = (kind.schema)();
    let arguments = Arguments::of_json(&schema, arguments).resolved(&schema, &environment.variables);
    (kind.open)(&arguments.expect("the types are right"), &environment)
}

fn open(arguments: &Json, variables: &[(&str, &str)]) -> Arc<dyn KeyService> {
    try_open(arguments, variables).expect("the arguments are valid")
}

/// The key is sixteen times "k".
fn transit() -> Host {
    Host::start(|asked| match asked.path().rsplit_once('/') {
        Some((path, "name")) if path.ends_with("/datakey/plaintext") => {
            Reply::json(r#"{"data":{"ciphertext":"vault:v1:abc","plaintext":"a2tra2tra2tra2tra2traw=="}}"#)
        }
        Some((path, "name")) if path.ends_with("/decrypt") => {
            Reply::json(r#"{"data":{"plaintext":"a2tra2tra2tra2tra2traw=="}}"#)
        }
        _ => Reply { status: 404, ..Reply::json(r#"{"errors":["no handler for route"]}"#) },
    })
}

#[test]
fn data_keys_are_created_and_decrypted() {
    let host = transit();
    let arguments = json!({
        "address": host.url("/prefix"), "token": "t", "key_name": "name", "key_length": 16, "transit_engine_path": "/a/b/",
    });
    let service =
        open(&arguments, &[("BAO_NAMESPACE", "team"), ("BAO_ADDR", "http://ignored"), ("BAO_TOKEN", "ignored")]);
    let DataKey { key, metadata } = service.new_key().expect("the server answers");
    // The format of OpenTofu, with the Base64 form of "vault:v1:abc".
    assert_eq!((key, metadata.as_slice()), (b"k".repeat(16), &br#"{"ciphertext":"dmF1bHQ6djE6YWJj"}"#[..]));
    assert_eq!(service.known_key(&metadata), Ok(b"k".repeat(16)));
    let asked = host.asked();
    let sent: Vec<(&str, &str, &str)> =
        asked.iter().map(|asked| (asked.method.as_str(), asked.target.as_str(), asked.body.as_str())).collect();
    assert_eq!(
        sent,
        [
            ("PUT", "/prefix/v1/a/b/datakey/plaintext/name", r#"{"bits":128}"#),
            ("PUT", "/prefix/v1/a/b/decrypt/name", r#"{"ciphertext":"vault:v1:abc"}"#),
        ]
    );
    for asked in &asked {
        assert_eq!((asked.header("x-vault-token"), asked.header("x-vault-namespace")), (Some("t"), Some("team")));
    }
    for garbage in ["", "[]", "{}", r#"{"ciphertext":"?"}"#] {
        assert!(service.known_key(garbage.as_bytes()).is_err(), "{garbage}");
    }
    assert_eq!(host.asked().len(), 2);
}

#[test]
fn variables_of_openbao_hide_those_of_vault() {
    let host = transit();
    let url = host.url("");
    let token = |variables: &[(&str, &str)]| {
        open(&json!({ "key_name": "name" }), variables).new_key().expect("the server answers");
        host.asked().last().and_then(|asked| asked.header("x-vault-token")).map(str::to_owned)
    };
    assert_eq!(token(&[("VAULT_ADDR", &url), ("VAULT_TOKEN", "v")]).as_deref(), Some("v"));
    assert_eq!(
        token(&[("VAULT_ADDR", "http://x"), ("BAO_ADDR", &url), ("VAULT_TOKEN", "v"), ("BAO_TOKEN", "b")]).as_deref(),
        Some("b")
    );
    assert_eq!(token(&[("BAO_ADDR", &url), ("VAULT_TOKEN", "v"), ("BAO_TOKEN", "")]), None);
    assert_eq!(token(&[("BAO_AGENT_ADDR", &url), ("BAO_ADDR", "http://x"), ("BAO_TOKEN", "b")]).as_deref(), Some("b"));
    assert_eq!(host.asked()[0].target, "/v1/transit/datakey/plaintext/name");
    assert_eq!(host.asked()[0].body, r#"{"bits":256}"#);
}

#[test]
fn errors_are_found_before_the_first_request() {
    let name = json!({ "key_name": "name" });
    for (arguments, variables, text) in [
        (json!({ "key_name": "" }), vec![], "key_name"),
        (json!({ "key_name": "name", "key_length": 24 }), vec![], "16, 32 or 64"),
        (json!({ "key_name": "name", "address": "bao.example" }), vec![], "http://"),
        (name.clone(), vec![("BAO_SKIP_VERIFY", "maybe")], "BAO_SKIP_VERIFY"),
        (name.clone(), vec![("BAO_SRV_LOOKUP", "true")], "BAO_SRV_LOOKUP"),
        (name.clone(), vec![("BAO_MAX_RETRIES", "many")], "BAO_MAX_RETRIES"),
        (name.clone(), vec![("BAO_CLIENT_TIMEOUT", "soon")], "BAO_CLIENT_TIMEOUT"),
        (name.clone(), vec![("BAO_CACERT", "missing.pem")], "missing.pem"),
        (name.clone(), vec![("BAO_CACERT_BYTES", "x")], "certificates"),
        (name.clone(), vec![("VAULT_CAPATH", "missing")], "missing"),
        (name.clone(), vec![("BAO_CLIENT_CERT", "c.pem")], "BAO_CLIENT_KEY"),
    ] {
        let error = try_open(&arguments, &variables).map(drop).expect_err("it is an error");
        assert!(error.contains(text), "{variables:?}: {error}");
    }
    assert_eq!(timeout(&[("BAO_CLIENT_TIMEOUT", "90")].into_iter().collect()), Ok(Duration::from_secs(90)));
    assert_eq!(timeout(&[("BAO_CLIENT_TIMEOUT", "2m")].into_iter().collect()), Ok(Duration::from_secs(120)));
    assert_eq!(timeout(&[("BAO_CLIENT_TIMEOUT", "1500ms")].into_iter().collect()), Ok(Duration::from_millis(1500)));
}

#[test]
fn errors_say_what_to_do_and_show_no_token() {
    let other = transit();
    let target = other.url("/v1/transit/datakey/plaintext/name");
    let host = Host::start(move |asked| match asked.header("x-vault-token") {
        Some("redirected") => Reply::status(307).with("Location", &target),
        Some("sealed") => Reply { status: 503, ..Reply::json(r#"{"errors":["Vault is sealed"]}"#) },
        Some("page") => Reply::ok("<html>"),
        _ => Reply { status: 403, ..Reply::json(r#"{"errors":["permission denied"]}"#) },
    });
    let failed = |token: &str| {
        let arguments = json!({ "key_name": "name", "address": host.url(""), "token": token });
        let service = open(&arguments, &[("BAO_MAX_RETRIES", "0")]);
        let error = service.new_key().map(drop).expect_err("the server refuses");
        format!("{error} {service:?}")
    };
    for (token, text) in [
        ("secret", "\"update\" on \"transit/datakey/plaintext/name\""),
        ("", "BAO_TOKEN"),
        ("redirected", "not sent to"),
        ("sealed", "sealed"),
        ("page", "not that of a transit engine"),
    ] {
        let error = failed(token);
        assert!(error.contains(text) && error.starts_with("PUT http://127.0.0.1"), "{token}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
    assert!(other.asked().is_empty());
}
