//! Settings of a connection: parameters of the connection string, `PG*` environment variables, files of passwords and
//! certificates, with the names, defaults and meanings of lib/pq.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::rustls::ClientConfig;
use yuba_net::trust::{Authorities, ClientIdentity, TlsSettings, Verification};
use yuba_net::{Environment, Secret};

use super::application::Application;
use super::connection_string::{self, Parameters};
use super::passwords;
use crate::files::StateFiles;
use crate::process;

/// Default limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Parameters that this backend understands, with the environment variable that sets them.
const PARAMETERS: &[(&str, &str)] = &[
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("dbname", "PGDATABASE"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("passfile", "PGPASSFILE"),
    ("options", "PGOPTIONS"),
    ("application_name", "PGAPPNAME"),
    ("sslmode", "PGSSLMODE"),
    ("sslnegotiation", "PGSSLNEGOTIATION"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslsni", "PGSSLSNI"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("client_encoding", "PGCLIENTENCODING"),
    ("datestyle", "PGDATESTYLE"),
    ("tz", "PGTZ"),
    ("geqo", "PGGEQO"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("load_balance_hosts", "PGLOADBALANCEHOSTS"),
];

/// Parameters of lib/pq without environment variable. The last two have no effect on this backend.
const ONLY_IN_STRING: &[&str] =
    &["fallback_application_name", "sslinline", "binary_parameters", "disable_prepared_binary_result"];

/// Parameters of libpq or lib/pq that this backend refuses. The server would take them for settings of its own.
const REFUSED: &[&str] = &[
    "channel_binding",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbspn",
    "krbsrvname",
    "max_protocol_version",
    "min_protocol_version",
    "replication",
    "require_auth",
    "requirepeer",
    "requiressl",
    "scram_client_key",
    "scram_server_key",
    "service",
    "servicefile",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkeylogfile",
    "sslpassword",
    "tcp_user_timeout",
];

/// Environment variables of libpq that lib/pq refuses, and this backend too.
const REFUSED_VARIABLES: &[&str] = &[
    "PGCHANNELBINDING",
    "PGGSSDELEGATION",
    "PGGSSENCMODE",
    "PGGSSLIB",
    "PGKRBSRVNAME",
    "PGLOCALEDIR",
    "PGMAXPROTOCOLVERSION",
    "PGMINPROTOCOLVERSION",
    "PGREALM",
    "PGREQUIREAUTH",
    "PGREQUIREPEER",
    "PGREQUIRESSL",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PGSSLCERTMODE",
    "PGSSLCOMPRESSION",
    "PGSSLCRL",
    "PGSSLCRLDIR",
    "PGSSLMAXPROTOCOLVERSION",
    "PGSSLMINPROTOCOLVERSION",
    "PGSYSCONFDIR",
];

/// Everything that a connection needs.
#[derive(Clone)]
pub(super) struct Settings {
    /// Servers in the order in which they are tried, unless it is random.
    pub(super) servers: Vec<Server>,
    pub(super) order: ServerOrder,
    pub(super) user: String,
    pub(super) database: Option<String>,
    /// Options of the server process, such as `-c search_path=x`.
    pub(super) options: Option<String>,
    pub(super) application: Application,
    /// None without TLS.
    pub(super) tls: Option<Tls>,
    pub(super) connect_timeout: Duration,
    pub(super) session: WantedSession,
    /// Why a password file was ignored, for the message about a wrong or missing password.
    pub(super) ignored_passwords: Option<String>,
}

/// One server.
#[derive(Clone)]
pub(super) struct Server {
    /// Its name, or the directory of its socket.
    pub(super) name: String,
    /// The address to connect to, instead of that of the name.
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
    pub(super) password: Option<Secret>,
}

impl Server {
    /// The file of its socket; none for servers in the network.
    pub(super) fn socket(&self) -> Option<PathBuf> {
        let is_socket = self.address.is_none() && self.name.starts_with('/');
        is_socket.then(|| Path::new(&self.name).join(format!(".s.PGSQL.{}", self.port)))
    }

    /// `host:port`, for people.
    pub(super) fn shown(&self) -> String {
        match self.socket() {
            Some(socket) => socket.display().to_string(),
            None if self.name.contains(':') => format!("[{}]:{}", self.name, self.port),
            None => format!("{}:{}", self.name, self.port),
        }
    }
}

/// The order in which servers are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerOrder {
    AsWritten,
    Random,
}

/// The required state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WantedSession {
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

/// TLS of a connection.
#[derive(Clone)]
pub(super) struct Tls {
    pub(super) config: Arc<ClientConfig>,
    pub(super) start: TlsStart,
}

/// How TLS begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsStart {
    /// The client asks for it in the protocol of PostgreSQL.
    Requested,
    /// The first byte is of TLS, for PostgreSQL 17 and later.
    Direct,
}

/// Reads the settings of a connection. The error is a sentence without the period.
pub(super) fn read(
    connection_string: &str,
    environment: &Environment,
    files: &dyn StateFiles,
) -> Result<Settings, String> {
    let given = gathered(connection_string, environment)?;
    let user = match given.text("user") {
        Some(user) => user.to_owned(),
        None => environment.get("USER").map_or_else(|| user_of_system(environment), str::to_owned),
    };
    let database = given.text("dbname").map(str::to_owned);
    let mut servers = servers(&given)?;
    let mut ignored_passwords = None;
    match given.text("password") {
        Some(password) => {
            servers.iter_mut().for_each(|server| server.password = Some(Secret::new(password)));
        }
        None => {
            let file = passwords::PasswordFile::open(given.text("passfile"), environment, files);
            for server in &mut servers {
                server.password = file.find(server, database.as_deref().unwrap_or(&user), &user);
            }
            ignored_passwords = file.ignored;
        }
    }
    let uses_network = servers.iter().any(|server| server.socket().is_none());
    Ok(Settings {
        order: match given.one_of("load_balance_hosts", &["disable", "random"])? {
            Some("random") => ServerOrder::Random,
            _ => ServerOrder::AsWritten,
        },
        options: options(&given)?,
        application: application(&given, environment),
        tls: if uses_network { tls(&given, environment, files)? } else { None },
        connect_timeout: connect_timeout(&given)?,
        session: wanted_session(&given)?,
        servers,
        user,
        database,
        ignored_passwords,
    })
}

/// Parameters of the string over those of the environment.
struct Given(Parameters);

impl Given {
    /// A value that is not empty.
    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn one_of(&self, name: &str, allowed: &[&'static str]) -> Result<Option<&'static str>, String> {
        let Some(value) = self.text(name) else { return Ok(None) };
        let known = allowed.iter().copied().find(|known| *known == value);
        let listed = allowed.join(", ");
        known.map(Some).ok_or_else(|| format!("{name} is \"{value}\"; supported values are {listed}"))
    }

    fn switch(&self, name: &str) -> Result<Option<bool>, String> {
        match self.text(name) {
            None => Ok(None),
            Some("1" | "t" | "T" | "true" | "TRUE" | "True" | "yes" | "on") => Ok(Some(true)),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False" | "no" | "off") => Ok(Some(false)),
            Some(value) => Err(format!("{name} is \"{value}\"; supported values are yes and no")),
        }
    }
}

fn gathered(connection_string: &str, environment: &Environment) -> Result<Given, String> {
    if let Some(variable) = REFUSED_VARIABLES.iter().find(|variable| environment.get(variable).is_some()) {
        return Err(format!("The environment variable {variable} is not supported. Unset it"));
    }
    let by_environment = PARAMETERS.iter().filter_map(|(name, variable)| {
        let value = environment.get(variable)?;
        Some(((*name).to_owned(), value.to_owned()))
    });
    let mut given: Parameters = by_environment.collect();
    let mut written = connection_string::parse(connection_string)
        .map_err(|reason| format!("The connection string is not valid: {reason}"))?;
    // Quirk: lib/pq accepts this name too.
    if let Some(database) = written.remove("database") {
        written.insert("dbname".to_owned(), database);
    }
    given.extend(written);
    if let Some(name) = given.keys().find(|name| REFUSED.contains(&name.as_str())) {
        return Err(format!("The connection string sets {name}, which this backend does not support"));
    }
    Ok(Given(given))
}

#[cfg(unix)]
fn user_of_system(environment: &Environment) -> String {
    let who = process::who(environment);
    who.split('@').next().unwrap_or_default().to_owned()
}

#[cfg(not(unix))]
fn user_of_system(environment: &Environment) -> String {
    environment.get("USERNAME").unwrap_or_default().to_owned()
}

fn servers(given: &Given) -> Result<Vec<Server>, String> {
    let split = |name: &str| -> Vec<String> {
        given.text(name).map(|list| list.split(',').map(str::to_owned).collect()).unwrap_or_default()
    };
    let (names, addresses, ports) = (split("host"), split("hostaddr"), split("port"));
    if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
        return Err(format!("host lists {} hosts and hostaddr lists {} addresses", names.len(), addresses.len()));
    }
    let count = names.len().max(addresses.len()).max(1);
    if ports.len() > 1 && ports.len() != count {
        return Err(format!("port lists {} ports for {count} hosts", ports.len()));
    }
    let mut servers = Vec::new();
    for index in 0..count {
        let address = addresses.get(index).filter(|text| !text.is_empty());
        let address =
            address.map(|text| text.parse().map_err(|_| format!("hostaddr has \"{text}\", not an IP address")));
        let address: Option<IpAddr> = address.transpose()?;
        let name = names.get(index).filter(|name| !name.is_empty()).cloned();
        let name = name.or_else(|| Some(address?.to_string())).unwrap_or_else(|| "localhost".to_owned());
        if name.starts_with('@') {
            return Err(format!("host is \"{name}\"; sockets in the abstract namespace are not supported"));
        }
        let port = ports.get(index).or(ports.first()).filter(|port| !port.is_empty());
        let port =
            port.map_or(Ok(5432), |port| port.parse().map_err(|_| format!("port is \"{port}\", not a port number")));
        servers.push(Server { name, address, port: port?, password: None });
    }
    Ok(servers)
}

/// The `options` parameter, followed by parameters that are settings of the server.
fn options(given: &Given) -> Result<Option<String>, String> {
    if let Some(encoding) = given.text("client_encoding") {
        let letters: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect();
        if !["utf8", "unicode"].contains(&letters.to_ascii_lowercase().as_str()) {
            return Err(format!("client_encoding is \"{encoding}\"; the supported value is UTF8"));
        }
    }
    if let Some(style) = given.text("datestyle").filter(|style| *style != "ISO, MDY") {
        return Err(format!("datestyle is \"{style}\"; the supported value is \"ISO, MDY\""));
    }
    let is_setting = |name: &str| {
        let known = PARAMETERS.iter().any(|(known, _)| *known == name) || ONLY_IN_STRING.contains(&name);
        !known || name == "geqo" || name == "tz"
    };
    let mut all: Vec<String> = given.text("options").map(str::to_owned).into_iter().collect();
    for (name, value) in given.0.iter().filter(|(name, _)| is_setting(name)) {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(format!("The connection string sets \"{name}\", which is not the name of a parameter"));
        }
        let name = if name == "tz" { "timezone" } else { name };
        let escaped: String = value
            .chars()
            .flat_map(|c| (c.is_whitespace() || c == '\\').then_some('\\').into_iter().chain([c]))
            .collect();
        all.push(format!("-c {name}={escaped}"));
    }
    Ok((!all.is_empty()).then(|| all.join(" ")))
}

fn application(given: &Given, environment: &Environment) -> Application {
    match given.text("application_name").or(given.text("fallback_application_name")) {
        Some(name) => Application::Given(name.to_owned()),
        None => Application::ourselves(environment),
    }
}

fn connect_timeout(given: &Given) -> Result<Duration, String> {
    let Some(text) = given.text("connect_timeout") else { return Ok(CONNECT_TIMEOUT) };
    match text.trim().parse::<i64>() {
        Ok(seconds) => Ok(u64::try_from(seconds).ok().filter(|n| *n > 0).map_or(CONNECT_TIMEOUT, Duration::from_secs)),
        Err(_) => Err(format!("connect_timeout is \"{text}\", not a number of seconds")),
    }
}

fn wanted_session(given: &Given) -> Result<WantedSession, String> {
    let allowed = ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"];
    Ok(match given.one_of("target_session_attrs", &allowed)? {
        Some("read-write") => WantedSession::ReadWrite,
        Some("read-only") => WantedSession::ReadOnly,
        Some("primary") => WantedSession::Primary,
        Some("standby") => WantedSession::Standby,
        Some("prefer-standby") => WantedSession::PreferStandby,
        _ => WantedSession::Any,
    })
}

/// Quirk: the default is `require`, which encrypts and verifies nothing; with a file of authorities it verifies them.
fn tls(given: &Given, environment: &Environment, files: &dyn StateFiles) -> Result<Option<Tls>, String> {
    let mode = given.one_of("sslmode", &["disable", "require", "verify-ca", "verify-full"])?.unwrap_or("require");
    if mode == "disable" {
        return Ok(None);
    }
    let start = match given.one_of("sslnegotiation", &["postgres", "direct"])? {
        Some("direct") => TlsStart::Direct,
        _ => TlsStart::Requested,
    };
    let is_inline = given.switch("sslinline")? == Some(true);
    let root = given.text("sslrootcert");
    let exists = |path: &str| files.exists(Path::new(path)).unwrap_or(false);
    let authorities = match root {
        // Quirk: with `require`, a file that does not exist is ignored.
        Some(path) if mode == "require" && !is_inline && !exists(path) => None,
        Some(pem) if is_inline => Some(pem.as_bytes().to_vec()),
        Some(path) => Some(read_file(files, Path::new(path), "sslrootcert")?),
        None => None,
    };
    let verification = match (mode, &authorities) {
        ("verify-full", _) => Verification::Full,
        ("verify-ca", _) | ("require", Some(_)) => Verification::Authority,
        _ => Verification::Skipped,
    };
    let settings = TlsSettings {
        authorities: authorities.map_or(Authorities::Machine, Authorities::Only),
        identity: if is_inline { inline_identity(given)? } else { identity(given, environment, files)? },
        verification,
        host_name: None,
    };
    let mut config = yuba_net::trust::config(&settings)?;
    config.enable_sni = given.switch("sslsni")? != Some(false);
    // Servers refuse protocols of HTTP.
    config.alpn_protocols = match start {
        TlsStart::Direct => vec![b"postgresql".to_vec()],
        TlsStart::Requested => Vec::new(),
    };
    Ok(Some(Tls { config: Arc::new(config), start }))
}

fn inline_identity(given: &Given) -> Result<Option<ClientIdentity>, String> {
    match (given.text("sslcert"), given.text("sslkey")) {
        (Some(certificate), Some(key)) => {
            Ok(Some(ClientIdentity { certificates: certificate.as_bytes().to_vec(), key: key.as_bytes().to_vec() }))
        }
        (None, None) => Ok(None),
        _ => Err("With sslinline, both sslcert and sslkey must be set".to_owned()),
    }
}

/// The client certificate: the named files, or those in the home directory if they exist.
fn identity(
    given: &Given,
    environment: &Environment,
    files: &dyn StateFiles,
) -> Result<Option<ClientIdentity>, String> {
    let in_home = |name: &str| environment.home().map(|home| home.join(".postgresql").join(name));
    let path = |parameter: &str, name: &str| given.text(parameter).map(PathBuf::from).or_else(|| in_home(name));
    let Some(certificate) = path("sslcert", "postgresql.crt") else { return Ok(None) };
    if !files.exists(&certificate).unwrap_or(false) {
        return Ok(None);
    }
    let Some(key) = path("sslkey", "postgresql.key") else { return Ok(None) };
    if is_open_to_others(files, &key, 0o037) {
        let key = key.display();
        return Err(format!("Other users can access the private key {key}. Run `chmod 600 {key}`"));
    }
    let certificates = read_file(files, &certificate, "sslcert")?;
    Ok(Some(ClientIdentity { certificates, key: read_file(files, &key, "sslkey")? }))
}

fn read_file(files: &dyn StateFiles, path: &Path, parameter: &str) -> Result<Vec<u8>, String> {
    files.read(path).map_err(|error| format!("Failed to read the file {} of {parameter}: {error}", path.display()))
}

/// Whether a file has any of these permissions. Elsewhere than on Unix, directories of users protect their files.
#[cfg(unix)]
pub(super) fn is_open_to_others(files: &dyn StateFiles, path: &Path, mask: u32) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    files.permissions(path).is_ok_and(|permissions| permissions.mode() & mask != 0)
}

#[cfg(not(unix))]
pub(super) fn is_open_to_others(_: &dyn StateFiles, _: &Path, _: u32) -> bool {
    false
}

#[cfg(test)]
mod tests;
