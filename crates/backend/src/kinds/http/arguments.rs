//! Arguments of the http backend.

use ecow::EcoString;
use yuba_net::Secret;
use yuba_net::http::{ClientOptions, HttpClient, Method, Redirects, Url};
use yuba_net::trust::{Authorities, ClientIdentity, TlsSettings, Verification};
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::{Type, Value};

use super::{Endpoint, HttpStore};
use crate::diagnostics;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};
use crate::kit::{BackendEnvironment, Retries};

pub(in crate::kinds) fn schema() -> ArgumentSchema {
    let text = |name| Argument::optional(name, Type::string());
    let count = |name, default| Argument::optional(name, Type::number()).default_to(Value::int(default));
    ArgumentSchema::new([
        Argument::required("address", Type::string())
            .from_environment(&["TF_HTTP_ADDRESS"])
            .described("URL of the state."),
        text("update_method")
            .from_environment(&["TF_HTTP_UPDATE_METHOD"])
            .default_to(Value::string("POST"))
            .described("HTTP method of requests that write the state."),
        text("lock_address")
            .from_environment(&["TF_HTTP_LOCK_ADDRESS"])
            .described("URL that locks the state. Without it there are no locks."),
        text("unlock_address").from_environment(&["TF_HTTP_UNLOCK_ADDRESS"]).described("URL that unlocks the state."),
        text("lock_method")
            .from_environment(&["TF_HTTP_LOCK_METHOD"])
            .default_to(Value::string("LOCK"))
            .described("HTTP method of requests that lock the state."),
        text("unlock_method")
            .from_environment(&["TF_HTTP_UNLOCK_METHOD"])
            .default_to(Value::string("UNLOCK"))
            .described("HTTP method of requests that unlock the state."),
        text("username").from_environment(&["TF_HTTP_USERNAME"]).described("User name for basic authentication."),
        text("password")
            .from_environment(&["TF_HTTP_PASSWORD"])
            .secret()
            .described("Password for basic authentication."),
        Argument::optional("headers", Type::map(Type::string())).secret().described("Headers of every request."),
        Argument::optional("skip_cert_verification", Type::bool())
            .default_to(Value::bool(false))
            .described("Accept any certificate of the server."),
        count("retry_max", 2).from_environment(&["TF_HTTP_RETRY_MAX"]).described("Number of retries of a request."),
        count("retry_wait_min", 1)
            .from_environment(&["TF_HTTP_RETRY_WAIT_MIN"])
            .described("Shortest pause before a retry, in seconds."),
        count("retry_wait_max", 30)
            .from_environment(&["TF_HTTP_RETRY_WAIT_MAX"])
            .described("Longest pause before a retry, in seconds."),
        text("client_ca_certificate_pem")
            .from_environment(&["TF_HTTP_CLIENT_CA_CERTIFICATE_PEM"])
            .described("Certificates, in PEM, of the authorities that sign the certificate of the server."),
        text("client_certificate_pem")
            .from_environment(&["TF_HTTP_CLIENT_CERTIFICATE_PEM"])
            .described("Certificate of the client, in PEM."),
        text("client_private_key_pem")
            .from_environment(&["TF_HTTP_CLIENT_PRIVATE_KEY_PEM"])
            .secret()
            .described("Private key of client_certificate_pem, in PEM."),
    ])
}

/// Headers that Go's HTTP client sets itself, whatever a configuration says.
const IGNORED_HEADERS: [&str; 4] = ["host", "content-length", "transfer-encoding", "trailer"];

pub(in crate::kinds) fn check(arguments: &Arguments) -> Diagnostics {
    let mut problems = Diagnostics::new();
    for (name, value) in headers(arguments) {
        let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(is_token) {
            problems.push(diagnostics::http_header_name(&name));
        }
        let is_text = |c: char| c.is_ascii() && (!c.is_control() || c == '\t');
        if value.trim().is_empty() || !value.chars().all(is_text) {
            problems.push(diagnostics::http_header_value(&name));
        }
    }
    for name in ["retry_max", "retry_wait_min", "retry_wait_max"] {
        if !arguments.get(name).is_null() && arguments.whole(name).is_none() {
            problems.push(diagnostics::http_not_whole(name));
        }
    }
    problems
}

/// Names and values of headers. Those without value are left out.
fn headers(arguments: &Arguments) -> Vec<(EcoString, EcoString)> {
    let entries = arguments.get("headers").entries().unwrap_or_default();
    entries.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.clone()))).collect()
}

/// The store that the arguments describe.
pub(super) fn store(arguments: &Arguments, environment: &BackendEnvironment) -> Result<HttpStore, Diagnostics> {
    let problems = check(arguments);
    if problems.has_errors() {
        return Err(problems);
    }
    let basic = arguments.text("username").map(|user| {
        let password = arguments.secret("password").unwrap_or_else(|| Secret::new(""));
        (user.to_string(), password)
    });
    let headers = request_headers(arguments, basic.as_ref())?;
    let endpoint = |url: Url, method: Method| {
        let own = headers.iter().all(|(name, _)| !super::is_authorization(name)).then(|| of_url(&url)).flatten();
        let mut url = url;
        // An http URL can contain both.
        let _ = (url.set_username(""), url.set_password(None));
        Endpoint { url, method, basic: basic.clone().or(own) }
    };
    let address = match url(arguments, "address")? {
        Some(url) => endpoint(url, method(arguments, "update_method")?),
        None => return Err(diagnostics::http_address_scheme("address").into()),
    };
    let lock = match url(arguments, "lock_address")? {
        Some(url) => Some(endpoint(url, method(arguments, "lock_method")?)),
        None => None,
    };
    let unlock = match url(arguments, "unlock_address")? {
        Some(url) => Some(endpoint(url, method(arguments, "unlock_method")?)),
        None => None,
    };
    let client = client(arguments, environment)?;
    let seconds = |name: &str| std::time::Duration::from_secs(arguments.whole(name).unwrap_or_default());
    let retries = Retries {
        attempts: u32::try_from(arguments.whole("retry_max").unwrap_or_default()).unwrap_or(u32::MAX).saturating_add(1),
        pause: seconds("retry_wait_min"),
        longest: seconds("retry_wait_max"),
    };
    Ok(HttpStore { client, address, lock, unlock, headers, retries, memory: Default::default() })
}

fn request_headers(
    arguments: &Arguments,
    basic: Option<&(String, Secret)>,
) -> Result<Vec<(String, String)>, Diagnostic> {
    let mut kept = Vec::new();
    for (name, value) in headers(arguments) {
        match name.to_ascii_lowercase().as_str() {
            "authorization" if basic.is_some() => return Err(diagnostics::http_header_with_user(&name)),
            "content-type" | "content-md5" => return Err(diagnostics::http_header_reserved(&name)),
            lower if IGNORED_HEADERS.contains(&lower) => {}
            _ => kept.push((name.to_string(), value.to_string())),
        }
    }
    Ok(kept)
}

/// The user and password in a URL.
fn of_url(url: &Url) -> Option<(String, Secret)> {
    let decoded = |text: &str| {
        let pair = format!("x={}", text.replace('+', "%2B"));
        let parsed = Url::parse(&format!("http://localhost/?{pair}")).ok()?;
        parsed.query_pairs().next().map(|(_, value)| value.into_owned())
    };
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    if user.is_empty() && password.is_empty() {
        return None;
    }
    Some((decoded(user)?, Secret::new(decoded(password)?)))
}

/// The URL in an argument; none if it is not set. The value may contain a password, so no message shows it.
fn url(arguments: &Arguments, name: &str) -> Result<Option<Url>, Diagnostic> {
    let Some(text) = arguments.text(name) else { return Ok(None) };
    let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase()).unwrap_or_default();
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(diagnostics::http_address_scheme(name));
    }
    let parsed = Url::parse(&text).map_err(|error| diagnostics::http_address_invalid(name, &error.to_string()))?;
    Ok(Some(parsed))
}

fn method(arguments: &Arguments, name: &str) -> Result<Method, Diagnostic> {
    let text = arguments.text(name).unwrap_or_default();
    Method::from_bytes(text.as_bytes()).map_err(|_| diagnostics::http_method_invalid(name, &text))
}

/// A client with the certificates of the arguments. Redirects are the store's business.
fn client(arguments: &Arguments, environment: &BackendEnvironment) -> Result<HttpClient, Diagnostic> {
    let text = |name: &str| arguments.text(name).map(|text| text.as_bytes().to_vec());
    let identity = match (text("client_certificate_pem"), text("client_private_key_pem")) {
        (Some(certificates), Some(key)) => Some(ClientIdentity { certificates, key }),
        (Some(_), None) => return Err(diagnostics::http_certificate_without_key()),
        (None, Some(_)) => return Err(diagnostics::http_key_without_certificate()),
        (None, None) => None,
    };
    let tls = TlsSettings {
        authorities: text("client_ca_certificate_pem").map_or(Authorities::Machine, Authorities::Only),
        identity,
        verification: if arguments.is_on("skip_cert_verification") {
            Verification::Skipped
        } else {
            Verification::Full
        },
        host_name: None,
    };
    // The settings are tried here, so that an error is found before the first request.
    if let Authorities::Only(_) = &tls.authorities {
        let alone = TlsSettings { identity: None, verification: Verification::Full, ..tls.clone() };
        yuba_net::trust::config(&alone).map_err(|reason| diagnostics::http_authorities_invalid(&reason))?;
    }
    yuba_net::trust::config(&tls).map_err(|reason| diagnostics::http_identity_invalid(&reason))?;
    let options = ClientOptions { tls, redirects: Redirects::Return, ..ClientOptions::default() };
    Ok(environment.services.client().with_options(options))
}
