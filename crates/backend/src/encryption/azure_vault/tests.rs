//! Data keys against a strict vault: a request that the published API does not describe is refused.

use yuba_net::Environment;
use yuba_net::credentials::Credentials;
use yuba_net::discovery::Services;
use yuba_net::http::{ClientOptions, HttpSettings, Proxies};
use yuba_net::trust::{Authorities, TlsSettings};
use yuba_testkit::{Asked, Host, Reply, Route, Tunnel};

use super::*;

const TENANT: &str = "11111111-2222-3333-4444-555555555555";

/// A login endpoint and a vault whose key turns bytes around.
fn internet(asked: &Asked) -> Reply {
    let failed = |status, code: &str| Reply {
        status,
        ..Reply::json(&format!(r#"{{"error":{{"code":"{code}","message":"No."}}}}"#))
    };
    if asked.header("host") == Some("login.microsoftonline.com") {
        let is_scope = asked.body.contains("scope=https%3A%2F%2Fvault.azure.net%2F.default");
        let is_path = asked.target == format!("/{TENANT}/oauth2/v2.0/token");
        let is_fine = is_scope && is_path && asked.body.contains("client_secret=hidden");
        return if is_fine {
            Reply::json(r#"{"access_token":"for vaults","expires_in":3599}"#)
        } else {
            failed(400, "invalid_scope")
        };
    }
    if asked.header("authorization").is_none() {
        let resource = if asked.header("host") == Some("astray.vault.azure.net") {
            "https://storage.azure.com"
        } else {
            "https://vault.azure.net"
        };
        let challenge = format!("Bearer authorization=\"https://login.windows.net/{TENANT}\", resource=\"{resource}\"");
        return if asked.body.is_empty() {
            Reply::status(401).with("WWW-Authenticate", &challenge)
        } else {
            failed(400, "BodyWithoutToken")
        };
    }
    if asked.header("authorization") != Some("Bearer for vaults") || asked.method != "POST" {
        return failed(401, "Unauthorized");
    }
    let body: Json = serde_json::from_str(&asked.body).unwrap_or_default();
    let turned = |name: &str| {
        let mut bytes = BASE64_URL.decode(body[name].as_str().unwrap_or_default()).unwrap_or_default();
        bytes.reverse();
        BASE64_URL.encode(bytes)
    };
    let algorithm = body["alg"].as_str().unwrap_or_default();
    let names: Vec<&String> = body.as_object().into_iter().flat_map(|object| object.keys()).collect();
    match (asked.target.as_str(), algorithm, names.len()) {
        ("/keys/state-key//encrypt?api-version=7.6", "RSA-OAEP-256", 2) => Reply::json(
            &json!({"kid": "https://unit.vault.azure.net/keys/state-key/v7", "value": turned("value")}).to_string(),
        ),
        ("/keys/state-key//encrypt?api-version=7.6", "A256GCM", 2) => Reply::json(
            &json!({"kid": "https://unit.vault.azure.net/keys/state-key/v8", "value": turned("value"), "iv": "aXY", "tag": "dGFn", "aad": "YWFk"})
                .to_string(),
        ),
        ("/keys/state-key/v7/decrypt?api-version=7.6", "RSA-OAEP-256", 2) => {
            Reply::json(&json!({"kid": "x", "value": turned("value")}).to_string())
        }
        ("/keys/state-key/v8/decrypt?api-version=7.6", "A256GCM", 5) if body["iv"] == "aXY" && body["tag"] == "dGFn" => {
            Reply::json(&json!({"kid": "x", "value": turned("value")}).to_string())
        }
        ("/keys/denied//encrypt?api-version=7.6", ..) => failed(403, "Forbidden"),
        _ => failed(400, "BadParameter"),
    }
}

/// The provider with these arguments, and the host that it sends requests to.
fn provider(more: &Json) -> (Result<Arc<dyn KeyService>, String>, Host) {
    let host = Host::start(internet);
    let address = host.address();
    let tunnel = Tunnel::start(move |_| Some(Route::Plain(address)));
    let authorities = Authorities::Only(tunnel.authority().as_bytes().to_vec());
    let options = ClientOptions {
        tls: TlsSettings { authorities, ..TlsSettings::default() },
        proxies: Some(Proxies { https: Some(tunnel.url()), ..Proxies::default() }),
        ..ClientOptions::default()
    };
    let variables = [("ARM_CLIENT_SECRET", "hidden"), ("ARM_CLIENT_ID", "app"), ("ARM_TENANT_ID", TENANT)];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let variables = Environment::new(variables, None, std::env::temp_dir());
    let credentials = Arc::new(Credentials::new(Default::default(), &variables));
    let client = HttpClient::new(HttpSettings { retries: 0, ..HttpSettings::default() }).with_options(options);
    let services = Arc::new(Services::new(client, credentials, Default::default()));
    let environment = BackendEnvironment::new(variables, std::env::temp_dir()).with_services(&services);
    let mut given =
        json!({"vault_uri": "https://unit.vault.azure.net/", "vault_key_name": "state-key", "key_length": 32});
    for (name, value) in more.as_object().into_iter().flatten() {
        given[name] = value.clone();
    }
    let arguments = Arguments::of_json(&schema(), &given).resolved(&schema(), &environment.variables);
    (open(&arguments.expect("because the types fit"), &environment), host)
}

fn fine(more: &Json) -> (Arc<dyn KeyService>, Host) {
    let (provider, host) = provider(more);
    (provider.unwrap_or_else(|reason| panic!("{reason}")), host)
}

#[test]
fn an_rsa_key_encrypts_data_keys() {
    let (provider, host) = fine(&json!({}));
    assert!(host.asked().is_empty(), "opening sends no request");
    let DataKey { key, metadata } = provider.new_key().unwrap_or_else(|reason| panic!("{reason}"));
    assert_eq!(key.len(), 32);
    let turned: Vec<u8> = key.iter().copied().rev().collect();
    // As the struct `keyMeta` of OpenTofu is encoded.
    let expected = format!(
        r#"{{"ciphertext":"{}","iv":null,"authentication_tag":null,"additional_authenticated_data":null,"key_version":"v7","algo":"RSA-OAEP-256"}}"#,
        BASE64.encode(turned)
    );
    assert_eq!(String::from_utf8_lossy(&metadata), expected);
    assert_eq!(provider.known_key(&metadata), Ok(key));
    let hosts: Vec<String> =
        host.asked().iter().map(|asked| asked.header("host").unwrap_or_default().to_owned()).collect();
    let (vault, login) = ("unit.vault.azure.net", "login.microsoftonline.com");
    assert_eq!(hosts, [vault, login, vault, vault], "one challenge and one token serve all requests");
}

#[test]
fn an_aes_key_needs_more_than_the_ciphertext() {
    let (provider, _host) = fine(&json!({"symmetric": true, "symmetric_key_size": 256}));
    let DataKey { key, metadata } = provider.new_key().unwrap_or_else(|reason| panic!("{reason}"));
    let text = String::from_utf8_lossy(&metadata).into_owned();
    let rest = r#""iv":"aXY=","authentication_tag":"dGFn","additional_authenticated_data":"YWFk","key_version":"v8","algo":"A256GCM"}"#;
    assert!(text.ends_with(rest), "{text}");
    assert_eq!(provider.known_key(&metadata), Ok(key));
}

#[test]
fn refusals_name_the_missing_role() {
    let (provider, _host) = fine(&json!({"vault_key_name": "denied"}));
    let error = provider.new_key().map(drop).expect_err("because the vault refuses");
    assert_eq!(
        error,
        "POST https://unit.vault.azure.net/keys/denied//encrypt?...: the server responded \"403 Forbidden\": Forbidden: No. Assign the role \
         \"Key Vault Crypto User\" (or the key permission encrypt) to the identity, and check that the firewall of the vault allows this machine"
    );
}

#[test]
fn a_token_of_another_service_is_not_sent() {
    let (provider, host) = fine(&json!({"vault_uri": "https://astray.vault.azure.net"}));
    let error = provider.new_key().map(drop).expect_err("because the vault asks for another token");
    let expected = "The vault astray.vault.azure.net asks for a token for storage.azure.com, which is another service. Check vault_uri";
    assert_eq!(error, expected);
    assert_eq!(host.asked().len(), 1);
}

#[test]
fn arguments_and_metadata_are_checked() {
    let error = |more: Json| provider(&more).0.map(drop).expect_err("because an argument is wrong");
    assert_eq!(error(json!({"symmetric": true})), "symmetric_key_size must be 128, 192 or 256 if symmetric is true.");
    assert_eq!(error(json!({"key_length": 0})), "key_length must be a whole number from 1 to 4096.");
    assert!(error(json!({"vault_key_name": "a/b"})).starts_with("vault_key_name \"a/b\" is not valid."));
    assert!(error(json!({"vault_uri": "http://unit.vault.azure.net"})).contains("is not an https URL"));
    assert!(error(json!({"vault_uri": "https://a--b.vault.azure.net"})).contains("is not a valid name of a vault"));
    let (provider, host) = fine(&json!({}));
    for metadata in ["", "{}", "[]", r#"{"ciphertext":"*"}"#, r#"{"ciphertext":"eA==","key_version":"../x"}"#] {
        let error = provider.known_key(metadata.as_bytes()).expect_err("because the metadata are damaged");
        assert!(error.contains("metadata"), "{metadata}: {error}");
    }
    assert!(host.asked().is_empty());
}
