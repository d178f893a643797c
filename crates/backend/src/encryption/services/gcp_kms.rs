//! `key_provider "gcp_kms"`: data keys that Cloud KMS of Google encrypts.
//!
//! The data key is made on this machine. Cloud KMS encrypts it, and the ciphertext is stored beside the data, in the JSON of OpenTofu.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use yuba_net::Secret;
use yuba_net::google::{
    self, CLOUD_PLATFORM, DEFAULT_UNIVERSE, GoogleSettings, GoogleTokenSource, Impersonate, ReadFile,
};
use yuba_net::http::{ClientOptions, HttpClient, Method, Redirects, Request, Response, Url, shown};
use yuba_value::Type;

use super::{DataKey, KeyService};
use crate::kit::BackendEnvironment;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::requests::excerpt;

const ENDPOINT: &str = "https://cloudkms.googleapis.com/v1/";
const SCOPE: &str = "https://www.googleapis.com/auth/cloudkms";
/// The longest response.
const LIMIT: u64 = 1 << 20;
/// Retries of requests that fail for a moment.
const RETRIES: u32 = 3;

pub(super) fn schema() -> ArgumentSchema {
    let text = |name: &'static str| Argument::optional(name, Type::string());
    ArgumentSchema::new([
        Argument::required("kms_encryption_key", Type::string()).described("The resource name of the Cloud KMS key."),
        Argument::required("key_length", Type::number()).described("The number of bytes of data keys, 1 to 1024."),
        text("credentials")
            .from_environment(&["GOOGLE_CREDENTIALS"])
            .secret()
            .described("The path or the JSON content of a credential file."),
        text("access_token")
            .from_environment(&["GOOGLE_OAUTH_ACCESS_TOKEN"])
            .secret()
            .described("An OAuth 2.0 access token, used instead of credentials."),
        text("impersonate_service_account")
            .from_environment(&["GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"])
            .described("The email address of a service account to impersonate."),
        Argument::optional("impersonate_service_account_delegates", Type::list(Type::string()))
            .described("Service accounts between the credentials and the impersonated account, in order."),
    ])
}

pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn KeyService>, String> {
    open_at(ENDPOINT, arguments, environment).map(|service| Arc::new(service) as Arc<dyn KeyService>)
}

fn open_at(endpoint: &str, arguments: &Arguments, environment: &BackendEnvironment) -> Result<GcpKms, String> {
    let name = arguments.text("kms_encryption_key").unwrap_or_default();
    let key_length = match arguments.whole("key_length") {
        Some(length @ 1..=1024) => usize::try_from(length).expect("because it is at most 1024"),
        _ => return Err("The argument \"key_length\" requires a whole number from 1 to 1024.".to_owned()),
    };
    let files = Arc::clone(&environment.files);
    let read: ReadFile = Arc::new(move |path| files.read(path));
    let settings = settings(arguments, environment, &read)?;
    let client = environment.services.client();
    let source = google::find(&settings, &environment.variables, client, read);
    let source = source.map_err(|error| format!("Failed to load Google credentials: {}.", error.reason))?;
    let options = ClientOptions { redirects: Redirects::Return, ..ClientOptions::default() };
    Ok(GcpKms { client: client.with_options(options), source, key: key_url(endpoint, &name)?, key_length })
}

fn settings(
    arguments: &Arguments,
    environment: &BackendEnvironment,
    read: &ReadFile,
) -> Result<GoogleSettings, String> {
    let secret = |name: &str| arguments.secret(name).filter(|secret| !secret.reveal().is_empty());
    let access_token = secret("access_token");
    let credentials = match secret("credentials").filter(|_| access_token.is_none()) {
        None => None,
        Some(value) => {
            let content = google::path_or_content(&value, &environment.variables, read)
                .map_err(|error| format!("Failed to read the file of the argument \"credentials\": {error}."))?;
            if serde_json::from_str::<Json>(content.reveal()).is_err() {
                return Err(
                    "The argument \"credentials\" requires the path or the JSON content of a credential file.".into()
                );
            }
            Some(content)
        }
    };
    let account = arguments.text("impersonate_service_account").filter(|account| !account.is_empty());
    let delegates = arguments.texts("impersonate_service_account_delegates");
    let impersonate = account.map(|account| Impersonate {
        account: account.into(),
        delegates: delegates.into_iter().map(String::from).collect(),
        scopes: vec![SCOPE],
        endpoint: None,
    });
    let universe_domain = Some(DEFAULT_UNIVERSE.to_owned());
    Ok(GoogleSettings { access_token, credentials, impersonate, scopes: vec![CLOUD_PLATFORM, SCOPE], universe_domain })
}

/// The URL of a key from its resource name, without a method.
fn key_url(endpoint: &str, name: &str) -> Result<Url, String> {
    let collections = ["projects", "locations", "keyRings", "cryptoKeys"];
    let parts: Vec<&str> = name.split('/').collect();
    let is_part = |part: &&str| !matches!(*part, "" | "." | "..");
    let is_key = parts.len() == 8
        && parts.iter().step_by(2).eq(collections.iter())
        && parts.iter().skip(1).step_by(2).all(is_part);
    let mut url = Url::parse(endpoint).map_err(|error| format!("The endpoint {endpoint} is not a URL: {error}."))?;
    match (is_key, url.path_segments_mut()) {
        (true, Ok(mut segments)) => drop(segments.pop_if_empty().extend(parts)),
        _ => {
            return Err(format!(
                "The argument \"kms_encryption_key\" requires a resource name \
                 projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY, not {name:?}."
            ));
        }
    }
    Ok(url)
}

/// A key of Cloud KMS.
struct GcpKms {
    client: HttpClient,
    source: GoogleTokenSource,
    key: Url,
    key_length: usize,
}

impl fmt::Debug for GcpKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcpKms").field("key", &self.key.as_str()).field("source", &self.source).finish_non_exhaustive()
    }
}

impl GcpKms {
    /// Calls a method of the key and returns the bytes in a field of its response.
    fn call(&self, method: &str, body: &Json, field: &str) -> Result<Secret, String> {
        let token = self.source.token().map_err(|error| format!("failed to get an access token: {}", error.reason))?;
        let mut url = self.key.clone();
        url.set_path(&format!("{}:{method}", self.key.path()));
        let mut request = Request {
            method: Method::POST,
            body: Some(body.to_string().into_bytes()),
            token: Some(token),
            limit: Some(LIMIT),
            retries: Some(RETRIES),
            ..Request::new(url)
        }
        .with_header("content-type", "application/json");
        if let Some(project) = self.source.quota_project() {
            request = request.with_header("x-goog-user-project", project);
        }
        let response = self.client.get(&request).map_err(|error| format!("POST {error}"))?;
        if !response.is_success() {
            return Err(refused(method, &request, &response));
        }
        let document: Json = serde_json::from_slice(&response.body).unwrap_or_default();
        let text = document[field].as_str().filter(|text| !text.is_empty());
        let missing = || format!("POST {}: the response has no {field:?}", shown(&request.url));
        text.map(Secret::new).ok_or_else(missing)
    }
}

/// A refusal in words: the request, what the server said, and what to do about it.
fn refused(method: &str, request: &Request, response: &Response) -> String {
    let said = excerpt(response).map(|text| format!(": {text}")).unwrap_or_default();
    let advice = match (response.status, method) {
        (400, "decrypt") => ". Another key encrypted the data, or the data is damaged",
        (401, _) => ". The access token is invalid or expired",
        (403, "encrypt") => ". The credentials require cloudkms.cryptoKeyVersions.useToEncrypt on the key",
        (403, _) => ". The credentials require cloudkms.cryptoKeyVersions.useToDecrypt on the key",
        (404, _) => ". The key does not exist. Check \"kms_encryption_key\"",
        _ => "",
    };
    let said = said.trim_end_matches('.');
    format!("POST {}: the server responded \"{}\"{said}{advice}", shown(&request.url), response.status_text())
}

impl KeyService for GcpKms {
    fn new_key(&self) -> Result<DataKey, String> {
        let mut key = vec![0; self.key_length];
        getrandom::fill(&mut key).map_err(|error| format!("failed to read random bytes: {error}"))?;
        let ciphertext = self.call("encrypt", &json!({ "plaintext": BASE64.encode(&key) }), "ciphertext")?;
        let metadata = json!({ "ciphertext": ciphertext.reveal() }).to_string().into_bytes();
        Ok(DataKey { key, metadata })
    }

    fn known_key(&self, metadata: &[u8]) -> Result<Vec<u8>, String> {
        let metadata: Json = serde_json::from_slice(metadata).unwrap_or_default();
        let ciphertext = metadata["ciphertext"].as_str().filter(|text| !text.is_empty());
        let ciphertext = ciphertext.ok_or("the metadata of the key has no \"ciphertext\"")?;
        let plaintext = self.call("decrypt", &json!({ "ciphertext": ciphertext }), "plaintext")?;
        BASE64.decode(plaintext.reveal()).map_err(|_| "the response of Cloud KMS is not valid base64".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use yuba_net::Environment;
    use yuba_testkit::{Asked, Host, Reply};

    use super::*;

    const NAME: &str = "projects/p/locations/eu/keyRings/r/cryptoKeys/k";

    /// The API as published: a key that turns bytes around, for callers with a token.
    fn cloud_kms() -> Host {
        Host::start(|asked: &Asked| {
            let refusal = |status: u16, message: &str| {
                let error = json!({ "error": { "code": status, "message": message } });
                Reply { status, ..Reply::json(&error.to_string()) }
            };
            if asked.header("authorization") != Some("Bearer hush") {
                return refusal(401, "Request had invalid authentication credentials.");
            }
            let Some(method) = asked.target.strip_prefix(&format!("/v1/{NAME}:")) else {
                return refusal(404, "CryptoKey not found.");
            };
            let body: Json = serde_json::from_str(&asked.body).unwrap_or_default();
            let fields: Vec<&String> = body.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
            let is_post = asked.method == "POST" && asked.header("content-type") == Some("application/json");
            let turned = |field: &str| {
                let mut bytes = BASE64.decode(body[field].as_str()?).ok()?;
                bytes.reverse();
                Some(bytes)
            };
            match (method, fields.as_slice()) {
                ("encrypt", [field]) if is_post && *field == "plaintext" => {
                    let mut sealed = b"sealed".to_vec();
                    sealed.extend(turned("plaintext").unwrap_or_default());
                    let version = format!("{NAME}/cryptoKeyVersions/1");
                    Reply::json(&json!({ "name": version, "ciphertext": BASE64.encode(sealed) }).to_string())
                }
                ("decrypt", [field]) if is_post && *field == "ciphertext" => match turned("ciphertext") {
                    Some(bytes) if bytes.ends_with(b"delaes") => {
                        let plain = BASE64.encode(&bytes[..bytes.len() - 6]);
                        Reply::json(&json!({ "plaintext": plain }).to_string())
                    }
                    _ => refusal(400, "Decryption failed: the ciphertext is invalid."),
                },
                _ => refusal(400, "Invalid request."),
            }
        })
    }

    fn service(host: &Host, more: &Json) -> Result<GcpKms, String> {
        let mut arguments = json!({ "kms_encryption_key": NAME, "key_length": 32, "access_token": "hush" });
        for (name, value) in more.as_object().expect("it is an object") {
            arguments[name] = value.clone();
        }
        let environment = BackendEnvironment::new(Environment::default(), "data");
        let arguments = Arguments::of_json(&schema(), &arguments);
        open_at(&host.url("/v1/"), &arguments, &environment)
    }

    #[test]
    fn data_keys_are_encrypted_and_decrypted_by_the_key() {
        let host = cloud_kms();
        let service = service(&host, &json!({})).expect("it is complete");
        let new = service.new_key().expect("the request is right");
        let other = service.new_key().expect("the request is right");
        assert!(new.key.len() == 32 && new.key != other.key, "every data key is new");
        let metadata: Json = serde_json::from_slice(&new.metadata).expect("it is JSON");
        let fields: Vec<&String> = metadata.as_object().expect("it is an object").keys().collect();
        assert_eq!(fields, ["ciphertext"]);
        assert_eq!(service.known_key(&new.metadata), Ok(new.key));
        let shorter = self::service(&host, &json!({ "key_length": 16 })).expect("it is complete");
        assert_eq!(shorter.new_key().map(|key| key.key.len()), Ok(16));
    }

    #[test]
    fn refusals_name_the_permission_or_the_argument() {
        let host = cloud_kms();
        let right = service(&host, &json!({})).expect("it is complete");
        let error = right.known_key(br#"{"ciphertext":"YWJj"}"#).expect_err("another key encrypted it");
        assert!(error.contains("the ciphertext is invalid. Another key encrypted the data"), "{error}");
        let error = right.known_key(b"{}").expect_err("there is nothing to decrypt");
        assert!(error.contains("has no \"ciphertext\""), "{error}");
        let other = NAME.replace("cryptoKeys/k", "cryptoKeys/other");
        let error = service(&host, &json!({ "kms_encryption_key": other })).and_then(|service| service.new_key());
        assert!(error.is_err_and(|error| error.contains("CryptoKey not found. The key does not exist")));
        let error = service(&host, &json!({ "access_token": "old" })).and_then(|service| service.new_key());
        assert!(error.is_err_and(|error| error.contains("invalid or expired") && !error.contains("old")));
        let denied = Host::start(|_| Reply::status(403));
        let error = service(&denied, &json!({})).and_then(|service| service.new_key().map(drop));
        assert!(error.is_err_and(|error| error.contains("cloudkms.cryptoKeyVersions.useToEncrypt")));
        for (arguments, argument) in [
            (json!({ "key_length": 0 }), "key_length"),
            (json!({ "key_length": 1025 }), "key_length"),
            (json!({ "kms_encryption_key": "k" }), "kms_encryption_key"),
            (json!({ "kms_encryption_key": "projects/p/locations/../keyRings/r/cryptoKeys/k" }), "kms_encryption_key"),
            (json!({ "access_token": "", "credentials": "nope" }), "credentials"),
        ] {
            let error = service(&host, &arguments).map(drop).expect_err("the arguments are wrong");
            assert!(error.contains(argument), "{error}");
        }
    }
}
