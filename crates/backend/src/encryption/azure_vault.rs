//! `key_provider "azure_vault"`: data keys that a key of Azure Key Vault or Managed HSM encrypts.
//!
//! The key never leaves the vault. The data key is random, the vault encrypts it, and the metadata contain the ciphertext with the
//! version of the key.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD as BASE64_URL};
use serde_json::{Map, Value as Json, json};
use yuba_net::azure::{AzureCloud, IdentitySettings, Outside, TokenSource, explanation};
use yuba_net::http::{HttpClient, Method, Request, Response, Url, shown};
use yuba_value::{Type, Value};

use super::services::{DataKey, KeyService};
use crate::kinds::azurerm::arguments::identity_settings;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};

/// The version of the vault service.
const VERSION: &str = "7.6";
/// Size limit of responses.
const LIMIT: u64 = 1 << 20;
/// The longest data key.
const LONGEST_KEY: u64 = 4096;

pub(super) fn schema() -> ArgumentSchema {
    let text = |name, variables| Argument::optional(name, Type::string()).from_environment(variables);
    let switch = |name| Argument::optional(name, Type::bool()).default_to(Value::bool(false));
    ArgumentSchema::new([
        Argument::required("vault_uri", Type::string())
            .described("The URL of the vault: https://NAME.vault.azure.net."),
        Argument::required("vault_key_name", Type::string()).described("The name of the key in the vault."),
        Argument::required("key_length", Type::number()).described("The length of the data key, in bytes."),
        switch("symmetric").described("Whether the key in the vault is an AES key, as Managed HSM has them."),
        Argument::optional("symmetric_key_size", Type::number())
            .described("The size of the AES key: 128, 192 or 256 bits."),
        text("metadata_host", &["ARM_METADATA_HOST"]).described("The host that describes the endpoints of the cloud."),
        text("environment", &["ARM_ENVIRONMENT"]).described("The cloud: public, usgovernment or china."),
        text("subscription_id", &["ARM_SUBSCRIPTION_ID"]).described("The subscription of the Azure CLI."),
        text("tenant_id", &["ARM_TENANT_ID"]).described("The tenant of the identity."),
        text("client_id", &["ARM_CLIENT_ID"]).described("The client ID of the application or of the managed identity."),
        text("client_id_file_path", &["ARM_CLIENT_ID_FILE_PATH"]).described("A file with the client ID."),
        text("client_secret", &["ARM_CLIENT_SECRET"]).secret().described("The secret of the application."),
        text("client_secret_file_path", &["ARM_CLIENT_SECRET_FILE_PATH"]).described("A file with the secret."),
        text("client_certificate", &["ARM_CLIENT_CERTIFICATE"]).secret().described("The PKCS#12 file in base64."),
        text("client_certificate_password", &["ARM_CLIENT_CERTIFICATE_PASSWORD"])
            .secret()
            .described("The password of the PKCS#12 file."),
        text("client_certificate_path", &["ARM_CLIENT_CERTIFICATE_PATH"]).described("The PKCS#12 file."),
        // Quirk: no environment variable turns a kind of identity on or off here, as in OpenTofu.
        switch("use_oidc").described("Use an ID token of another provider."),
        text("oidc_token", &["ARM_OIDC_TOKEN"]).secret().described("The ID token."),
        text("oidc_token_file_path", &["ARM_OIDC_TOKEN_FILE_PATH"]).described("A file with the ID token."),
        text("oidc_request_url", &["ARM_OIDC_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_URL"])
            .described("The URL that returns an ID token."),
        text("oidc_request_token", &["ARM_OIDC_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"])
            .secret()
            .described("The bearer token for oidc_request_url."),
        switch("use_msi").described("Use the managed identity of this machine."),
        text("msi_endpoint", &[]).described("The endpoint of the managed identity."),
        switch("use_aks_workload_identity").described("Use the workload identity of the pod."),
        Argument::optional("use_cli", Type::bool()).default_to(Value::bool(true)).described("Use the Azure CLI."),
    ])
}

/// A key in a vault.
#[derive(Debug)]
struct VaultKey {
    vault: Url,
    name: String,
    length: usize,
    algorithm: &'static str,
    identity: IdentitySettings,
    environment: String,
    metadata_host: String,
    outside: Outside,
    /// The identity, once it is needed.
    tokens: Mutex<Option<Arc<TokenSource>>>,
    /// Tenant and scope of tokens, once the vault has named them.
    scope: Mutex<Option<(String, String)>>,
}

/// Makes the provider. It sends no request.
pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn KeyService>, String> {
    let key = VaultKey::new(arguments, environment).map_err(|reason| format!("{reason}."))?;
    Ok(Arc::new(key))
}

/// Names of keys are part of URLs.
fn is_key_name(name: &str) -> bool {
    (1..=127).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The URL of a vault.
fn vault(uri: &str) -> Result<Url, String> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "https" && url.has_host());
    let url =
        url.ok_or_else(|| format!("vault_uri \"{uri}\" is not an https URL, such as https://NAME.vault.azure.net"))?;
    let name = url.host_str().and_then(|host| host.split('.').next()).unwrap_or_default();
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_name = (3..=24).contains(&name.len())
        && name.bytes().all(is_inner)
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && !name.ends_with('-')
        && !name.contains("--");
    match is_name {
        true => Ok(url),
        false => Err(format!(
            "\"{name}\" in vault_uri is not a valid name of a vault. A name has 3 to 24 letters, digits and single hyphens and begins \
             with a letter"
        )),
    }
}

/// Whether a request encrypts or decrypts, for URLs and advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Encrypt,
    Decrypt,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Encrypt => "encrypt",
            Operation::Decrypt => "decrypt",
        }
    }
}

impl KeyService for VaultKey {
    fn new_key(&self) -> Result<DataKey, String> {
        let mut key = vec![0; self.length];
        getrandom::fill(&mut key).map_err(|error| format!("The system has no random bytes: {error}"))?;
        let parameters = json!({"alg": self.algorithm, "value": BASE64_URL.encode(&key)});
        let result = self.operate(Operation::Encrypt, "", &parameters)?;
        let ciphertext = bytes(&result, "value").ok_or_else(|| self.incomplete(Operation::Encrypt))?;
        let id = result.get("kid").and_then(Json::as_str).and_then(|id| Url::parse(id).ok());
        let version = id.and_then(|id| id.path_segments()?.nth(2).map(str::to_owned)).unwrap_or_default();
        let encoded = |name: &str| match bytes(&result, name) {
            Some(bytes) => format!("\"{}\"", BASE64.encode(bytes)),
            None => "null".to_owned(),
        };
        let metadata = format!(
            r#"{{"ciphertext":"{}","iv":{},"authentication_tag":{},"additional_authenticated_data":{},"key_version":{},"algo":"{}"}}"#,
            BASE64.encode(ciphertext),
            encoded("iv"),
            encoded("tag"),
            encoded("aad"),
            Json::from(version),
            self.algorithm
        );
        Ok(DataKey { key, metadata: metadata.into_bytes() })
    }

    fn known_key(&self, metadata: &[u8]) -> Result<Vec<u8>, String> {
        let damaged = || "The metadata of the encrypted data are not those of the key provider azure_vault".to_owned();
        let stored: Map<String, Json> = serde_json::from_slice(metadata).map_err(|_| damaged())?;
        let text = |name: &str| stored.get(name).and_then(Json::as_str).unwrap_or_default();
        let algorithm = if text("algo").is_empty() { self.algorithm } else { text("algo") };
        let version = text("key_version");
        if !version.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(damaged());
        }
        let mut parameters = json!({"alg": algorithm});
        let fields = [
            ("ciphertext", "value"),
            ("iv", "iv"),
            ("authentication_tag", "tag"),
            ("additional_authenticated_data", "aad"),
        ];
        for (ours, theirs) in fields {
            let decoded = BASE64.decode(text(ours)).map_err(|_| damaged())?;
            if !decoded.is_empty() {
                parameters[theirs] = BASE64_URL.encode(decoded).into();
            }
        }
        if parameters.get("value").is_none() {
            return Err(damaged());
        }
        let result = self.operate(Operation::Decrypt, version, &parameters)?;
        bytes(&result, "value").ok_or_else(|| self.incomplete(Operation::Decrypt))
    }
}

/// Bytes of a result, in base64 for URLs with or without padding.
fn bytes(result: &Json, name: &str) -> Option<Vec<u8>> {
    let text = result.get(name)?.as_str()?.trim_end_matches('=');
    BASE64_URL.decode(text).ok().filter(|bytes| !bytes.is_empty())
}

impl VaultKey {
    /// The error is a sentence without its period.
    fn new(arguments: &Arguments, environment: &BackendEnvironment) -> Result<VaultKey, String> {
        let text = |name: &str| arguments.text(name).map(String::from).unwrap_or_default();
        let algorithm = match (arguments.is_on("symmetric"), arguments.whole("symmetric_key_size")) {
            (false, _) => "RSA-OAEP-256",
            (true, Some(128)) => "A128GCM",
            (true, Some(192)) => "A192GCM",
            (true, Some(256)) => "A256GCM",
            (true, _) => return Err("symmetric_key_size must be 128, 192 or 256 if symmetric is true".to_owned()),
        };
        let length = arguments.whole("key_length").filter(|length| (1..=LONGEST_KEY).contains(length));
        let length = length.ok_or_else(|| format!("key_length must be a whole number from 1 to {LONGEST_KEY}"))?;
        let name = text("vault_key_name");
        if !is_key_name(&name) {
            return Err(format!(
                "vault_key_name \"{name}\" is not valid. A name has 1 to 127 letters, digits and hyphens"
            ));
        }
        let vault = vault(&text("vault_uri"))?;
        let files = Arc::clone(&environment.files);
        let read = Arc::new(move |path: &std::path::Path| files.read(path));
        let outside = Outside::new(environment.services.client(), environment.variables.clone(), read);
        Ok(VaultKey {
            vault,
            name,
            length: usize::try_from(length).unwrap_or(usize::MAX),
            algorithm,
            identity: identity_settings(arguments),
            environment: text("environment"),
            metadata_host: text("metadata_host"),
            outside,
            tokens: Mutex::default(),
            scope: Mutex::default(),
        })
    }

    fn incomplete(&self, operation: Operation) -> String {
        format!("The response of {} to {} contains no result", shown(&self.vault), operation.name())
    }

    fn tokens(&self) -> Result<Arc<TokenSource>, String> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tokens.as_ref() {
            return Ok(Arc::clone(known));
        }
        let cloud = match self.metadata_host.as_str() {
            "" => AzureCloud::named(&self.environment)
                .ok_or_else(|| format!("No Azure environment is named \"{}\"", self.environment))?,
            host => AzureCloud::of_metadata_host(&self.outside, host)
                .map_err(|error| format!("Failed to read the endpoints of the Azure environment: {error}"))?,
        };
        let found = self.identity.select(&cloud, &self.outside).map_err(|refused| {
            let reasons: String = refused
                .iter()
                .map(|refused| format!("\n  - {:?}: {}", refused.method, refused.reasons.join(". ")))
                .collect();
            format!("No Azure identity type has all required arguments:{reasons}")
        })?;
        Ok(Arc::clone(tokens.insert(Arc::new(found))))
    }

    /// Sends an operation and returns its result.
    fn operate(&self, operation: Operation, version: &str, parameters: &Json) -> Result<Json, String> {
        let tokens = self.tokens()?;
        let mut url = self.vault.clone();
        // Quirk: without version the path has two slashes, as in requests of the libraries of Microsoft.
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/keys/{}/{version}/{}", self.name, operation.name()));
        url.set_query(Some(&format!("api-version={VERSION}")));
        let request = Request { method: Method::POST, limit: Some(LIMIT), ..Request::new(url) }
            .with_header("accept", "application/json");
        let (tenant, scope) = self.scope(tokens.client(), &request)?;
        let token = tokens
            .token_in(Some(&tenant), &scope)
            .map_err(|error| format!("Failed to get a token for {}: {error}", shown(&self.vault)))?;
        let body = Some(parameters.to_string().into_bytes());
        let request =
            Request { body, ..request.with_token(Some(token)) }.with_header("content-type", "application/json");
        let response = sent(tokens.client(), &request)?;
        if !response.is_success() {
            return Err(self.refused(operation, &request, &response));
        }
        serde_json::from_slice(&response.body).map_err(|_| self.incomplete(operation))
    }

    /// Tenant and scope, which the vault names in its response to a request without token and content.
    fn scope(&self, client: &HttpClient, request: &Request) -> Result<(String, String), String> {
        let mut known = self.scope.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref() {
            return Ok(known.clone());
        }
        let response = sent(client, &Request { body: Some(Vec::new()), ..request.clone() })?;
        let unexpected =
            || format!("{} {}: the vault did not name the scope of tokens", request.method, shown(&request.url));
        let challenge = response.header("www-authenticate").and_then(|text| text.strip_prefix("Bearer "));
        let challenge = challenge.filter(|_| response.status == 401).ok_or_else(unexpected)?;
        let value = |wanted: &str| {
            let mut parts = challenge.split([' ', ',']).filter_map(|part| part.split_once('='));
            parts.find(|(name, _)| *name == wanted).map(|(_, value)| value.trim_matches('"').to_owned())
        };
        let resource = value("scope").or_else(|| value("resource")).ok_or_else(unexpected)?;
        let parsed = Url::parse(&resource).map_err(|_| unexpected())?;
        // A token for another service must not go to a host that asks for it.
        let (vault, service) = (self.vault.host_str().unwrap_or_default(), parsed.host_str().unwrap_or_default());
        if service.is_empty() || !vault.ends_with(&format!(".{service}")) {
            return Err(format!(
                "The vault {vault} asks for a token for {service}, which is another service. Check vault_uri"
            ));
        }
        let login = value("authorization").and_then(|login| Url::parse(&login).ok());
        let tenant = login.and_then(|login| login.path_segments()?.next().map(str::to_owned)).unwrap_or_default();
        let scope = if resource.ends_with("/.default") { resource } else { format!("{resource}/.default") };
        Ok(known.insert((tenant, scope)).clone())
    }

    fn refused(&self, operation: Operation, request: &Request, response: &Response) -> String {
        let (method, url, status) = (&request.method, shown(&request.url), response.status_text());
        let explained = explanation(&response.body).map(|text| format!(": {text}")).unwrap_or_default();
        let advice = match response.status {
            401 => ". The vault does not accept the token. Check that tenant_id is the tenant of the vault".to_owned(),
            403 => format!(
                ". Assign the role \"Key Vault Crypto User\" (or the key permission {}) to the identity, and check that the \
                 firewall of the vault allows this machine",
                operation.name()
            ),
            404 => format!(". Check that the vault has a key \"{}\"", self.name),
            _ => String::new(),
        };
        format!("{method} {url}: the server responded \"{status}\"{}{advice}", explained.trim_end_matches('.'))
    }
}

fn sent(client: &HttpClient, request: &Request) -> Result<Response, String> {
    client.get(request).map_err(|error| format!("{} {error}", request.method))
}

#[cfg(test)]
mod tests;
