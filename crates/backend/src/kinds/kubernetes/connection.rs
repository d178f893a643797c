//! Where the API server is and how a run identifies itself: the service account of a pod or kubeconfig files, with arguments on top.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};
use yuba_net::http::{ClientOptions, Proxies, Redirects, Url};
use yuba_net::trust::{Authorities, ClientIdentity, TlsSettings, Verification};
use yuba_net::{Environment, Secret};

use super::credentials::Credentials;
use super::exec::{ClusterInfo, Exec, Interaction};
use super::kubeconfig::{Choice, Cluster, Kubeconfig, Source, User};
use crate::files::StateFiles;
use crate::kit::arguments::Arguments;

/// Files of the service account in a pod.
pub(super) const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Everything that requests need. Reasons of failures are parts of sentences.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) base: Url,
    pub(super) options: ClientOptions,
    pub(super) credentials: Credentials,
    /// Headers of every request.
    pub(super) headers: Vec<(String, String)>,
}

/// The parts of the outside that decide about a connection.
pub(super) struct Outside<'a> {
    pub(super) variables: &'a Environment,
    pub(super) files: &'a Arc<dyn StateFiles>,
    /// The directory of the service account.
    pub(super) account: &'a Path,
}

/// Settings before they are checked.
#[derive(Debug, Default)]
struct Settings {
    host: Option<String>,
    authorities: Option<Vec<u8>>,
    skips_verification: bool,
    server_name: Option<String>,
    proxy: Option<String>,
    certificate: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
    token: Option<Secret>,
    token_file: Option<PathBuf>,
    username: Option<String>,
    password: Option<Secret>,
    exec: Option<Exec>,
    exec_config: Option<Json>,
    headers: Vec<(String, String)>,
}

/// The connection that arguments describe.
pub(super) fn connection(arguments: &Arguments, outside: &Outside<'_>) -> Result<Connection, String> {
    let mut settings = match arguments.is_on("in_cluster_config") {
        true => in_cluster(outside)?,
        false => of_files(arguments, outside)?,
    };
    let text = |name: &str| arguments.text(name).map(|text| text.to_string());
    let bytes = |name: &str| arguments.text(name).map(|text| text.as_bytes().to_vec());
    settings.host = text("host").or(settings.host);
    settings.username = text("username").or(settings.username);
    settings.password = arguments.secret("password").or(settings.password);
    settings.skips_verification |= arguments.is_on("insecure");
    settings.authorities = bytes("cluster_ca_certificate").or(settings.authorities);
    settings.certificate = bytes("client_certificate").or(settings.certificate);
    settings.key = bytes("client_key").or(settings.key);
    if let Some(token) = arguments.secret("token") {
        (settings.token, settings.token_file) = (Some(token), None);
    }
    if let Some(exec) = exec_block(arguments) {
        settings.exec = Some(exec);
    }
    settings.connect(outside)
}

/// The `exec` block.
fn exec_block(arguments: &Arguments) -> Option<Exec> {
    let block = Arguments::new(arguments.get("exec").as_seq()?.first()?.clone());
    let text = |name: &str| block.text(name).unwrap_or_default().to_string();
    let env = block.get("env").entries().unwrap_or_default().into_iter();
    let args = block.get("args");
    // Quirk: null in a list of strings stands for an empty string.
    let args =
        args.as_seq().unwrap_or_default().iter().map(|item| item.as_str().cloned().unwrap_or_default().to_string());
    Some(Exec {
        api_version: text("api_version"),
        command: text("command"),
        args: args.collect(),
        env: env
            .map(|(name, value)| (name.to_string(), value.as_str().cloned().unwrap_or_default().to_string()))
            .collect(),
        interaction: Interaction::Optional,
        install_hint: None,
        cluster_info: ClusterInfo::Hidden,
    })
}

/// Whether this process runs in a pod with a service account.
fn is_in_cluster(outside: &Outside<'_>) -> bool {
    let variables = outside.variables;
    variables.get("KUBERNETES_SERVICE_HOST").is_some()
        && variables.get("KUBERNETES_SERVICE_PORT").is_some()
        && outside.files.exists(&outside.account.join("token")).unwrap_or_default()
}

/// The service account of the pod.
fn in_cluster(outside: &Outside<'_>) -> Result<Settings, String> {
    let variable = |name: &str| {
        let missing = || {
            format!(
                "in_cluster_config is set, and the environment variable {name} is not, so this process does not run in a pod"
            )
        };
        outside.variables.get(name).ok_or_else(missing)
    };
    let (host, port) = (variable("KUBERNETES_SERVICE_HOST")?, variable("KUBERNETES_SERVICE_PORT")?);
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let token_file = outside.account.join("token");
    let token = read(outside, "the token of the service account", &token_file)?;
    Ok(Settings {
        host: Some(format!("https://{host}:{port}")),
        token: Some(Secret::new(String::from_utf8_lossy(&token).trim())),
        token_file: Some(token_file),
        // Without the file, authorities of the machine count.
        authorities: outside.files.read(&outside.account.join("ca.crt")).ok(),
        ..Settings::default()
    })
}

/// The chosen context of kubeconfig files.
fn of_files(arguments: &Arguments, outside: &Outside<'_>) -> Result<Settings, String> {
    let paths = paths(arguments, outside.variables)?;
    let mut merged = Kubeconfig::default();
    let mut missing = Vec::new();
    for path in &paths {
        let content = match outside.files.read(path) {
            Ok(content) => content,
            // Quirk: files that do not exist are skipped, also if there is only one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing.push(path.display().to_string());
                continue;
            }
            Err(error) => return Err(format!("the kubeconfig file {} cannot be read: {error}", path.display())),
        };
        let text = String::from_utf8_lossy(&content);
        let parsed = Kubeconfig::parse(&text, path);
        merged = merged.merged(parsed.map_err(|reason| format!("the kubeconfig file {}: {reason}", path.display()))?);
    }
    let text = |name: &str| arguments.text(name).map(|text| text.to_string());
    let choice = Choice {
        context: text("config_context"),
        cluster: text("config_context_cluster"),
        user: text("config_context_auth_info"),
    };
    // A file that does not exist has no contexts to choose from.
    let chosen = if paths.len() == 1 && missing.len() == 1 { None } else { merged.choose(&choice)? };
    match chosen {
        Some((cluster, user)) => of_context(cluster, user, outside),
        None if missing.is_empty() && is_in_cluster(outside) => in_cluster(outside),
        None if arguments.text("host").is_some() => Ok(Settings::default()),
        None if !missing.is_empty() => Err(format!("the kubeconfig file {} does not exist, and \"host\" is not set", missing.join(", "))),
        None if paths.is_empty() => {
            Err("no API server is configured. Set \"config_path\" or KUBE_CONFIG_PATH to a kubeconfig file, or set \"host\"".to_owned())
        }
        None => Err("the kubeconfig files select no context. Set \"config_context\" or KUBE_CTX".to_owned()),
    }
}

/// Paths of the kubeconfig files. KUBECONFIG is ignored, as OpenTofu ignores it.
fn paths(arguments: &Arguments, variables: &Environment) -> Result<Vec<PathBuf>, String> {
    let listed = arguments.texts("config_paths");
    let paths: Vec<String> = match (arguments.text("config_path"), variables.get("KUBE_CONFIG_PATHS")) {
        (Some(path), _) => vec![path.to_string()],
        (None, _) if !listed.is_empty() => listed.iter().map(ToString::to_string).collect(),
        (None, Some(paths)) => std::env::split_paths(paths).map(|path| path.display().to_string()).collect(),
        (None, None) => Vec::new(),
    };
    paths.iter().filter(|path| !path.is_empty()).map(|path| expanded(path, variables)).collect()
}

/// A path with the home directory in place of `~`.
fn expanded(path: &str, variables: &Environment) -> Result<PathBuf, String> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(PathBuf::from(path)) };
    if !(rest.is_empty() || rest.starts_with('/')) {
        return Err(format!("the path {path} starts with the home directory of another user, which is not supported"));
    }
    let home =
        variables.home().ok_or_else(|| format!("the path {path} needs a home directory, and HOME is not set"))?;
    Ok(home.join(rest.trim_start_matches('/')))
}

fn read(outside: &Outside<'_>, what: &str, file: &Path) -> Result<Vec<u8>, String> {
    outside.files.read(file).map_err(|error| format!("{what} cannot be read from {}: {error}", file.display()))
}

fn content(outside: &Outside<'_>, what: &str, source: Option<Source>) -> Result<Option<Vec<u8>>, String> {
    match source {
        None => Ok(None),
        Some(Source::Data(data)) => Ok(Some(data)),
        Some(Source::File(path)) => read(outside, what, &path).map(Some),
    }
}

fn of_context(cluster: Cluster, user: User, outside: &Outside<'_>) -> Result<Settings, String> {
    let settings =
        Settings { host: cluster.server, headers: user.impersonation, proxy: cluster.proxy, ..Settings::default() };
    // Credentials of a file are for TLS connections only.
    if !settings.host.as_ref().is_some_and(|host| host.to_ascii_lowercase().starts_with("https://")) {
        return Ok(settings);
    }
    if let Some(name) = user.auth_provider {
        return Err(format!(
            "the user has the auth-provider \"{name}\", which is not supported. Use an exec plugin, such as kubelogin or \
             gke-gcloud-auth-plugin, or set \"token\""
        ));
    }
    if user.token.is_some() && (user.username.is_some() || user.password.is_some()) {
        return Err("the user has both a token and a password. Remove one of them".to_owned());
    }
    let mut token = user.token;
    if let (None, Some(file)) = (&token, &user.token_file) {
        let content = read(outside, "the tokenFile of the user", file)?;
        token = Some(Secret::new(String::from_utf8_lossy(&content).trim()));
    }
    Ok(Settings {
        authorities: content(outside, "the certificate-authority of the cluster", cluster.authority)?,
        skips_verification: cluster.skips_verification,
        server_name: cluster.tls_server_name,
        certificate: content(outside, "the client-certificate of the user", user.certificate)?,
        key: content(outside, "the client-key of the user", user.key)?,
        token,
        token_file: user.token_file,
        username: user.username,
        password: user.password,
        exec: user.exec,
        exec_config: cluster.exec_config,
        ..settings
    })
}

impl Settings {
    fn connect(self, outside: &Outside<'_>) -> Result<Connection, String> {
        let base = self.base()?;
        let cluster = self.described(&base);
        let identity = match (self.certificate, self.key) {
            (Some(certificates), Some(key)) => Some(ClientIdentity { certificates, key }),
            (None, _) => None,
            (Some(_), None) => {
                return Err("the client certificate has no key. Set \"client_key\" or client-key".to_owned());
            }
        };
        let has_identity = identity.is_some();
        let tls = TlsSettings {
            authorities: self.authorities.map_or(Authorities::Machine, Authorities::Only),
            identity,
            verification: if self.skips_verification { Verification::Skipped } else { Verification::Full },
            host_name: self.server_name,
        };
        if self.skips_verification && matches!(tls.authorities, Authorities::Only(_)) {
            return Err("a certificate authority is set, and \"insecure\" or insecure-skip-tls-verify turns its verification off. Remove \
                        one of them"
                .to_owned());
        }
        yuba_net::trust::config(&tls)?;
        let credentials = match (self.token, self.token_file, self.username, self.password) {
            (Some(_), _, Some(_), _) | (Some(_), _, _, Some(_)) => {
                return Err("both a token and a user with a password are set. Remove one of them".to_owned());
            }
            (Some(token), Some(file), ..) => Credentials::token_file(file, token, Arc::clone(outside.files)),
            (Some(token), None, ..) => Credentials::Token(token),
            (None, _, None, None) => match self.exec {
                Some(exec) if !has_identity => {
                    exec.check()?;
                    if base.scheme() != "https" {
                        return Err("an exec plugin is set, and the URL of the API server is not https".to_owned());
                    }
                    Credentials::plugin(exec, cluster)
                }
                _ => Credentials::Anonymous,
            },
            (None, _, user, password) => {
                Credentials::Basic(user.unwrap_or_default(), password.unwrap_or_else(|| Secret::new("")))
            }
        };
        let proxies = self.proxy.as_deref().map(proxies).transpose()?;
        let options = ClientOptions { tls, proxies, redirects: Redirects::Return, authority_setting: None };
        Ok(Connection { base, options, credentials, headers: self.headers })
    }

    /// The URL of the API server.
    fn base(&self) -> Result<Url, String> {
        let Some(host) = &self.host else {
            return Err("no API server is configured. Set \"host\" or KUBE_HOST".to_owned());
        };
        let has_tls = self.authorities.is_some() || self.certificate.is_some() || self.skips_verification;
        let text = match host.contains("://") {
            true => host.clone(),
            // Quirk: without scheme, TLS settings decide.
            false => format!("{}://{host}", if has_tls { "https" } else { "http" }),
        };
        let invalid = |reason: &str| {
            format!("the URL of the API server is not valid: {reason}. Check \"host\" and the server of the cluster")
        };
        let mut url = Url::parse(&text).map_err(|error| invalid(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(invalid("it must start with https:// or http://, followed by a host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("it contains a user or a password. Set \"username\" and \"password\" instead"));
        }
        url.set_query(None);
        url.set_fragment(None);
        Ok(url)
    }

    /// The cluster, as exec plugins get it.
    fn described(&self, base: &Url) -> Json {
        let mut cluster = json!({ "server": base.as_str().trim_end_matches('/') });
        if let Some(name) = &self.server_name {
            cluster["tls-server-name"] = json!(name);
        }
        if self.skips_verification {
            cluster["insecure-skip-tls-verify"] = json!(true);
        }
        if let Some(authorities) = &self.authorities {
            cluster["certificate-authority-data"] = json!(STANDARD.encode(authorities));
        }
        if let Some(proxy) = &self.proxy {
            cluster["proxy-url"] = json!(proxy);
        }
        cluster["config"] = self.exec_config.clone().unwrap_or_default();
        cluster
    }
}

/// The proxy of a cluster. It may contain a password, so no message shows it.
fn proxies(text: &str) -> Result<Proxies, String> {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme).unwrap_or_default();
    match scheme {
        "http" | "https" => {
            let url = Url::parse(text)
                .map_err(|error| format!("the proxy-url of the cluster is not valid: {error}"))?
                .to_string();
            Ok(Proxies { http: Some(url.clone()), https: Some(url), except: String::new() })
        }
        "socks5" => {
            Err("the proxy-url of the cluster is a SOCKS proxy, which is not supported. Use an HTTP proxy".to_owned())
        }
        _ => Err("the proxy-url of the cluster must start with http:// or https://".to_owned()),
    }
}
