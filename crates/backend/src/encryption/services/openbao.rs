//! Key provider `openbao`: data keys of the transit engine of OpenBao, or of Vault.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use yuba_net::http::{ClientOptions, HttpClient, Method, Proxies, Redirects, Request, Url, shown};
use yuba_net::trust::{Authorities, ClientIdentity, TlsSettings, Verification};
use yuba_net::{Environment, Secret};
use yuba_value::{Type, Value};

use super::{DataKey, KeyService};
use crate::kit::BackendEnvironment;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::requests::excerpt;

#[cfg(test)]
mod tests;

const DEFAULT_ADDRESS: &str = "https://127.0.0.1:8200";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
const DEFAULT_RETRIES: u32 = 2;

pub(super) fn schema() -> ArgumentSchema {
    let text = |name| Argument::optional(name, Type::string());
    // Variables of the environment are read below: an empty BAO_ variable hides the VAULT_ variable.
    ArgumentSchema::new([
        text("address").described("URL of the server."),
        text("token").secret().described("Token of the requests."),
        Argument::required("key_name", Type::string()).described("Name of the key in the transit engine."),
        Argument::optional("key_length", Type::number())
            .default_to(Value::int(32))
            .described("Length of data keys in bytes: 16, 32 or 64."),
        text("transit_engine_path")
            .default_to(Value::string("/transit"))
            .described("Path at which the transit engine is mounted."),
    ])
}

/// The transit engine of a server with one of its keys.
struct OpenBao {
    client: HttpClient,
    address: Url,
    token: Option<Secret>,
    namespace: Option<String>,
    engine: String,
    key_name: String,
    key_length: u64,
    retries: u32,
    timeout: Duration,
}

/// The address only.
impl fmt::Debug for OpenBao {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenBao").field(&shown(&self.address)).finish()
    }
}

/// The value of BAO_NAME, or of VAULT_NAME where the first does not exist.
fn variable<'e>(environment: &'e Environment, name: &str) -> Option<&'e str> {
    let mut own = environment.given_with_prefix("BAO_").filter(|(known, _)| *known == name);
    match own.next() {
        Some((_, value)) => Some(value).filter(|value| !value.is_empty()),
        None => environment.get(&format!("VAULT_{name}")),
    }
}

/// A variable that is true or false, as Go reads it.
fn switch(environment: &Environment, name: &str) -> Result<bool, String> {
    match variable(environment, name) {
        None | Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
        Some(_) => Err(format!("The environment variable BAO_{name} must be \"true\" or \"false\".")),
    }
}

/// Seconds, or a number with a unit.
fn timeout(environment: &Environment) -> Result<Duration, String> {
    let Some(text) = variable(environment, "CLIENT_TIMEOUT") else { return Ok(DEFAULT_TIMEOUT) };
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let parsed = units.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Duration::try_from_secs_f64(number * seconds).ok()
    });
    let wrong = "The environment variable BAO_CLIENT_TIMEOUT must be a number of seconds, or a number with the unit ms, s, m or h.";
    parsed.filter(|time| !time.is_zero()).ok_or_else(|| wrong.to_owned())
}

pub(super) fn open(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Arc<dyn KeyService>, String> {
    let variables = &environment.variables;
    let key_name = arguments.text("key_name").filter(|name| !name.is_empty());
    let key_name = key_name.ok_or("The argument \"key_name\" must not be empty.")?.to_string();
    let key_length = arguments.whole("key_length").filter(|length| matches!(length, 16 | 32 | 64));
    let key_length = key_length.ok_or("The argument \"key_length\" must be 16, 32 or 64.")?;
    // The address of an agent overrides all other addresses, as in OpenTofu.
    let address = variable(variables, "AGENT_ADDR").map(str::to_owned);
    let address = address.or_else(|| arguments.text("address").map(|text| text.to_string()));
    let address = address.or_else(|| variable(variables, "ADDR").map(str::to_owned));
    let address = address.unwrap_or_else(|| DEFAULT_ADDRESS.to_owned());
    let url = Url::parse(&address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let address = url.ok_or("The address of the server must be a URL that starts with \"http://\" or \"https://\".")?;
    if switch(variables, "SRV_LOOKUP")? {
        return Err("This version of Yuba does not look up SRV records. Unset BAO_SRV_LOOKUP.".to_owned());
    }
    let retries = match variable(variables, "MAX_RETRIES") {
        None => DEFAULT_RETRIES,
        Some(text) => text.parse().map_err(|_| "The environment variable BAO_MAX_RETRIES must be a whole number.")?,
    };
    let token = arguments.secret("token").or_else(|| variable(variables, "TOKEN").map(Secret::new));
    Ok(Arc::new(OpenBao {
        client: client(environment)?,
        address,
        token,
        namespace: variable(variables, "NAMESPACE").map(str::to_owned),
        engine: arguments.text("transit_engine_path").unwrap_or_default().to_string(),
        key_name,
        key_length,
        retries,
        timeout: timeout(variables)?,
    }))
}

/// A client with the certificates and the proxy of the environment.
fn client(environment: &BackendEnvironment) -> Result<HttpClient, String> {
    let variables = &environment.variables;
    let read = |path: &str| {
        let content = environment.files.read(Path::new(path));
        content.map_err(|error| format!("Failed to read the certificate file {path}: {error}."))
    };
    let authorities =
        match (variable(variables, "CACERT"), variable(variables, "CACERT_BYTES"), variable(variables, "CAPATH")) {
            (Some(file), ..) => Authorities::Only(read(file)?),
            (None, Some(pem), _) => Authorities::Only(pem.as_bytes().to_vec()),
            (None, None, Some(directory)) => {
                let names = environment.files.names(Path::new(directory));
                let names = names.map_err(|error| format!("Failed to read the directory {directory}: {error}."))?;
                let mut all = Vec::new();
                for name in names {
                    all.extend(read(&format!("{directory}/{name}"))?);
                    all.push(b'\n');
                }
                Authorities::Only(all)
            }
            (None, None, None) => Authorities::Machine,
        };
    let identity = match (variable(variables, "CLIENT_CERT"), variable(variables, "CLIENT_KEY")) {
        (Some(certificate), Some(key)) => Some(ClientIdentity { certificates: read(certificate)?, key: read(key)? }),
        (None, None) => None,
        _ => return Err("Set both BAO_CLIENT_CERT and BAO_CLIENT_KEY, or neither.".to_owned()),
    };
    let verification = if switch(variables, "SKIP_VERIFY")? { Verification::Skipped } else { Verification::Full };
    let host_name = variable(variables, "TLS_SERVER_NAME").map(str::to_owned);
    let tls = TlsSettings { authorities, identity, verification, host_name };
    yuba_net::trust::config(&tls).map_err(|reason| format!("The certificates cannot be used: {reason}."))?;
    let proxy = variable(variables, "PROXY_ADDR").or_else(|| variable(variables, "HTTP_PROXY")).map(str::to_owned);
    let proxies = proxy.map(|proxy| Proxies { http: Some(proxy.clone()), https: Some(proxy), except: String::new() });
    // A token must not follow a redirect to another server.
    let authority_setting = Some("BAO_CACERT");
    let options = ClientOptions { tls, proxies, redirects: Redirects::Return, authority_setting };
    Ok(environment.services.client().with_options(options))
}

impl OpenBao {
    /// Calls an operation of the engine with the key. Returns the data of the response.
    fn call(&self, operation: &str, input: &Json) -> Result<Json, String> {
        let mut url = self.address.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            let engine = self.engine.split('/').filter(|part| !part.is_empty());
            segments.pop_if_empty().push("v1").extend(engine).extend(operation.split('/')).push(&self.key_name);
        }
        let mut request = Request { method: Method::PUT, ..Request::new(url) };
        request.body = Some(input.to_string().into_bytes());
        request.retries = Some(self.retries);
        request.timeout = Some(self.timeout);
        request = request.with_header("content-type", "application/json").with_header("x-vault-request", "true");
        if let Some(token) = &self.token {
            request = request.with_header("x-vault-token", token.reveal());
        }
        if let Some(namespace) = &self.namespace {
            request = request.with_header("x-vault-namespace", namespace.clone());
        }
        let place = format!("PUT {}", shown(&request.url));
        let response = self.client.get(&request).map_err(|error| format!("{place}: {}", error.reason))?;
        if response.status != 200 {
            let said = excerpt(&response).map(|text| format!(": {text}")).unwrap_or_default();
            let advice = self.advice(response.status, operation, response.header("location"));
            return Err(format!("{place}: the server responded \"{}\"{said}{advice}", response.status_text()));
        }
        let json: Option<Json> = serde_json::from_slice(&response.body).ok();
        let data = json.and_then(|mut json| json.get_mut("data").map(Json::take)).filter(Json::is_object);
        data.ok_or_else(|| format!("{place}: the response is not that of a transit engine"))
    }

    fn advice(&self, status: u16, operation: &str, location: Option<&str>) -> String {
        let path = format!("{}/{operation}/{}", self.engine.trim_matches('/'), self.key_name);
        match status {
            301 | 302 | 307 | 308 => {
                let to = location.and_then(|location| Url::parse(location).ok()).map(|url| shown(&url));
                format!(
                    ". The token is not sent to {}. Set \"address\" to the active server",
                    to.as_deref().unwrap_or("another server")
                )
            }
            403 if self.token.is_none() => ". The request contained no token. Set \"token\" or BAO_TOKEN".to_owned(),
            403 => format!(
                ". The policies of the token need the capability \"update\" on \"{path}\", and the token must not have expired"
            ),
            404 => format!(". Check that a transit engine is mounted at \"{}\"", self.engine),
            503 => ". The server is sealed or does not serve requests".to_owned(),
            _ => String::new(),
        }
    }
}

/// A member of the data of a response that is Base64.
fn decoded(data: &Json, name: &str) -> Result<Vec<u8>, String> {
    let text = data.get(name).and_then(Json::as_str);
    let bytes = text.and_then(|text| BASE64.decode(text).ok());
    bytes.ok_or_else(|| format!("The response of the transit engine contains no valid \"{name}\""))
}

impl KeyService for OpenBao {
    fn new_key(&self) -> Result<DataKey, String> {
        let data = self.call("datakey/plaintext", &json!({ "bits": self.key_length * 8 }))?;
        let ciphertext = data.get("ciphertext").and_then(Json::as_str);
        let ciphertext = ciphertext.ok_or("The response of the transit engine contains no \"ciphertext\"")?;
        let metadata = format!("{{\"ciphertext\":\"{}\"}}", BASE64.encode(ciphertext)).into_bytes();
        Ok(DataKey { key: decoded(&data, "plaintext")?, metadata })
    }

    fn known_key(&self, metadata: &[u8]) -> Result<Vec<u8>, String> {
        let metadata: Json = serde_json::from_slice(metadata).unwrap_or_default();
        let ciphertext = decoded(&metadata, "ciphertext").ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let ciphertext =
            ciphertext.ok_or("The metadata of the key provider openbao contains no valid \"ciphertext\"")?;
        decoded(&self.call("decrypt", &json!({ "ciphertext": ciphertext }))?, "plaintext")
    }
}
