//! Arguments of the consul backend, and the environment variables that all clients of Consul read.

use std::path::Path;
use std::sync::Arc;

use yuba_net::Secret;
use yuba_net::http::{ClientOptions, HttpClient, Redirects, Url};
use yuba_net::trust::{Authorities, ClientIdentity, TlsSettings, Verification};
use yuba_syntax::{Diagnostic, Diagnostics};
use yuba_value::{Type, Value};

use super::ConsulStore;
use super::api::Api;
use super::layout::Compression;
use super::locks::Locks;
use crate::diagnostics;
use crate::kit::BackendEnvironment;
use crate::kit::arguments::{Argument, ArgumentSchema, Arguments};

pub(in crate::kinds) fn schema() -> ArgumentSchema {
    let text = |name| Argument::optional(name, Type::string());
    let switch = |name, default| Argument::optional(name, Type::bool()).default_to(Value::bool(default));
    ArgumentSchema::new([
        Argument::required("path", Type::string()).described("Key of the state of the default workspace."),
        text("access_token").from_environment(&["CONSUL_HTTP_TOKEN"]).secret().described("ACL token of the requests."),
        text("address")
            .from_environment(&["CONSUL_HTTP_ADDR"])
            .described("Address of the Consul agent: host and port, or a URL."),
        text("scheme").described("Scheme of the requests: http or https."),
        text("datacenter").described("Data center with the state, instead of that of the agent."),
        text("http_auth")
            .from_environment(&["CONSUL_HTTP_AUTH"])
            .secret()
            .described("User and password for basic authentication, separated by a colon."),
        switch("gzip", false).described("Compress the state with gzip."),
        switch("lock", true).described("Lock the state while it is in use."),
        text("ca_file")
            .from_environment(&["CONSUL_CACERT"])
            .described("File with the certificates of the authorities that sign the certificate of the agent."),
        text("cert_file")
            .from_environment(&["CONSUL_CLIENT_CERT"])
            .described("File with the certificate of the client."),
        text("key_file").from_environment(&["CONSUL_CLIENT_KEY"]).described("File with the private key of cert_file."),
    ])
}

pub(in crate::kinds) fn check(arguments: &Arguments) -> Diagnostics {
    match arguments.text("path") {
        // Consul has no such keys.
        Some(path) if path.starts_with('/') => diagnostics::consul_path_invalid(&path).into(),
        // URLs have no such segments, so the requests would be about another key.
        Some(path) if path.split('/').any(|segment| matches!(segment, "." | "..")) => {
            diagnostics::consul_path_relative(&path).into()
        }
        _ => Diagnostics::new(),
    }
}

/// The store that the arguments and the environment describe.
pub(super) fn store(arguments: &Arguments, environment: &BackendEnvironment) -> Result<ConsulStore, Diagnostics> {
    let problems = check(arguments);
    if problems.has_errors() {
        return Err(problems);
    }
    let Some(path) = arguments.text("path") else { return Err(diagnostics::consul_path_missing().into()) };
    let variable = |name: &str| environment.variables.get(name).map(str::to_owned);
    let named = [
        ("dc", arguments.text("datacenter").map(|name| name.to_string())),
        ("ns", variable("CONSUL_NAMESPACE")),
        ("partition", variable("CONSUL_PARTITION")),
    ];
    let api = Arc::new(Api {
        client: client(arguments, environment)?,
        base: base(arguments, environment)?,
        parameters: named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        token: token(arguments, environment)?,
        basic: arguments.text("http_auth").map(|auth| {
            let (user, password) = auth.split_once(':').unwrap_or((&auth, ""));
            (user.to_owned(), Secret::new(password))
        }),
    });
    let locks = arguments.is_on("lock").then(|| Locks::new(Arc::clone(&api)));
    let compression = if arguments.is_on("gzip") { Compression::Gzip } else { Compression::None };
    Ok(ConsulStore { api, path: path.to_string(), compression, locks })
}

/// A variable that is true or false, as Go reads it.
fn switch(environment: &BackendEnvironment, name: &str) -> Result<Option<bool>, Diagnostic> {
    match environment.variables.get(name) {
        None => Ok(None),
        Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(Some(true)),
        Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(Some(false)),
        Some(_) => Err(diagnostics::consul_switch_invalid(name)),
    }
}

/// Quirk: the file with a token wins over the token of the configuration, as it does with OpenTofu.
fn token(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Option<Secret>, Diagnostic> {
    let Some(file) = environment.variables.path("CONSUL_HTTP_TOKEN_FILE") else {
        return Ok(arguments.secret("access_token"));
    };
    let content = read(environment, "CONSUL_HTTP_TOKEN_FILE", &file)?;
    let token = String::from_utf8_lossy(&content).trim().to_owned();
    Ok(if token.is_empty() { arguments.secret("access_token") } else { Some(Secret::new(token)) })
}

/// The URL of the agent.
fn base(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Url, Diagnostic> {
    let address = arguments.text("address").unwrap_or_else(|| "localhost:8500".into());
    let uses_tls = switch(environment, "CONSUL_HTTP_SSL")? == Some(true);
    let scheme = arguments.text("scheme").unwrap_or_else(|| if uses_tls { "https".into() } else { "http".into() });
    let (scheme, rest) = match address.split_once("://") {
        None => (scheme.as_str(), address.as_str()),
        // An address with http does not turn off TLS that was asked for.
        Some(("http", rest)) => (scheme.as_str(), rest),
        Some(("https", rest)) => ("https", rest),
        Some(("unix", _)) => return Err(diagnostics::consul_socket()),
        Some((other, _)) => return Err(diagnostics::consul_scheme_unknown(other)),
    };
    if !matches!(scheme, "http" | "https") {
        return Err(diagnostics::consul_scheme_unknown(scheme));
    }
    let url = Url::parse(&format!("{scheme}://{}", rest.trim_end_matches('/')));
    let url = url.map_err(|error| diagnostics::consul_address_invalid(&error.to_string()))?;
    match url.has_host() && url.query().is_none() && url.fragment().is_none() {
        true => Ok(url),
        false => Err(diagnostics::consul_address_invalid("it must consist of a host, a port and a path")),
    }
}

fn read(environment: &BackendEnvironment, what: &str, file: &Path) -> Result<Vec<u8>, Diagnostic> {
    environment.files.read(file).map_err(|error| diagnostics::consul_file_unreadable(what, file, &error))
}

/// Certificates of the authorities: of one file, or of all files in a directory.
fn authorities(arguments: &Arguments, environment: &BackendEnvironment) -> Result<Authorities, Diagnostic> {
    if let Some(file) = arguments.text("ca_file") {
        return read(environment, "ca_file", Path::new(file.as_str())).map(Authorities::Only);
    }
    let Some(directory) = environment.variables.path("CONSUL_CAPATH") else { return Ok(Authorities::Machine) };
    let names = environment.files.names(&directory);
    let names = names.map_err(|error| diagnostics::consul_file_unreadable("CONSUL_CAPATH", &directory, &error))?;
    let mut all = Vec::new();
    for name in names {
        all.extend(read(environment, "CONSUL_CAPATH", &directory.join(name))?);
        all.push(b'\n');
    }
    Ok(Authorities::Only(all))
}

/// A client with the certificates of the arguments. The API of Consul has no redirects.
fn client(arguments: &Arguments, environment: &BackendEnvironment) -> Result<HttpClient, Diagnostic> {
    let identity = match (arguments.text("cert_file"), arguments.text("key_file")) {
        (Some(certificate), Some(key)) => Some(ClientIdentity {
            certificates: read(environment, "cert_file", Path::new(certificate.as_str()))?,
            key: read(environment, "key_file", Path::new(key.as_str()))?,
        }),
        (None, None) => None,
        _ => return Err(diagnostics::consul_certificate_incomplete()),
    };
    let verification = match switch(environment, "CONSUL_HTTP_SSL_VERIFY")? {
        Some(false) => Verification::Skipped,
        _ => Verification::Full,
    };
    // The name of the server may come with a port.
    let host_name = environment.variables.get("CONSUL_TLS_SERVER_NAME");
    let host_name = host_name.map(|name| name.rsplit_once(':').map_or(name, |(host, _)| host).to_owned());
    let tls = TlsSettings { authorities: authorities(arguments, environment)?, identity, verification, host_name };
    yuba_net::trust::config(&tls).map_err(|reason| diagnostics::consul_certificate_invalid(&reason))?;
    let authority_setting = Some("ca_file or CONSUL_CACERT");
    let options = ClientOptions { tls, proxies: None, redirects: Redirects::Return, authority_setting };
    Ok(environment.services.client().with_options(options))
}
