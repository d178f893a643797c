//! Credentials of Google Cloud: where they come from, and access tokens made of them.
//!
//! [`find`] looks where OpenTofu looks: an access token or a credential file that the configuration names, then application
//! default credentials. A [`GoogleTokenSource`] requests access tokens and renews them before they expire, so that a long apply does
//! not end with an expired one.
//!
//! Invariant: an assertion, refresh token or access token is sent to the endpoint that its credential names, and redirects are
//! not followed. No error and no `Debug` output contains one.

mod exchange;
mod federation;
mod file;
mod impersonation;
mod metadata;
mod service_account;
#[cfg(test)]
mod tests;
mod user;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Value as Json;

use crate::http::{ClientOptions, HttpClient, Proxies, Redirects};
use crate::{Environment, Secret};
use federation::Federation;
use impersonation::Impersonation;
use metadata::MetadataServer;
use service_account::ServiceAccount;
use user::AuthorizedUser;

/// The scope that covers all services of Google Cloud.
pub const CLOUD_PLATFORM: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The domain of Google's services, unless a sovereign cloud has another one.
pub const DEFAULT_UNIVERSE: &str = "googleapis.com";
/// Time before its expiry at which a token is renewed.
const RENEWED_BEFORE: Duration = Duration::from_secs(225);

/// Reads a file. Relative paths start in the directory of the run.
pub type ReadFile = Arc<dyn Fn(&Path) -> io::Result<Vec<u8>> + Send + Sync>;

/// Reason why there is no access token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoogleError {
    /// The reason, as the second half of a sentence, without secrets.
    pub reason: String,
    /// Whether the same request may succeed later.
    pub may_pass: bool,
}

impl GoogleError {
    pub(crate) fn lasting(reason: impl Into<String>) -> GoogleError {
        GoogleError { reason: reason.into(), may_pass: false }
    }
}

impl fmt::Display for GoogleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for GoogleError {}

/// Settings of a configuration for credentials.
#[derive(Clone, Debug, Default)]
pub struct GoogleSettings {
    /// An access token. It is used as it is and never renewed.
    pub access_token: Option<Secret>,
    /// The content of a credential file.
    pub credentials: Option<Secret>,
    /// A service account whose permissions are used instead of those of the credentials.
    pub impersonate: Option<Impersonate>,
    /// Scopes of access tokens.
    pub scopes: Vec<&'static str>,
    /// The domain of Google's services, where the configuration sets one.
    pub universe_domain: Option<String>,
}

/// A service account to impersonate.
#[derive(Clone, Debug, Default)]
pub struct Impersonate {
    /// Its email address.
    pub account: String,
    /// Service accounts between the credentials and it, in order.
    pub delegates: Vec<String>,
    /// Scopes of its access tokens.
    pub scopes: Vec<&'static str>,
    /// The address of the IAM Credentials API, where it is another one than Google's.
    pub endpoint: Option<String>,
}

/// Finds credentials. Reads files, but sends no request.
pub fn find(
    settings: &GoogleSettings,
    environment: &Environment,
    client: &HttpClient,
    read: ReadFile,
) -> Result<GoogleTokenSource, GoogleError> {
    let is_impersonated = settings.impersonate.is_some();
    let scopes: Vec<String> = match is_impersonated {
        // The credentials only call the IAM Credentials API.
        true => vec![CLOUD_PLATFORM.to_owned()],
        false => settings.scopes.iter().map(|scope| (*scope).to_owned()).collect(),
    };
    let mut quota_project = environment.get("GOOGLE_CLOUD_QUOTA_PROJECT").map(str::to_owned);
    let kind = match (&settings.access_token, default_file(settings, environment, &read)?) {
        (Some(token), _) => Kind::Fixed(token.clone()),
        (None, Some((origin, content))) => {
            let parsed = file::parse(&origin, &content)?;
            check_universe(&origin, &parsed, settings.universe_domain.as_deref())?;
            if !is_impersonated && quota_project.is_none() {
                quota_project = parsed.get("quota_project_id").and_then(Json::as_str).map(str::to_owned);
            }
            file::kind(&origin, &parsed, &scopes)?
        }
        (None, None) => Kind::Metadata(MetadataServer::of(environment, scopes)),
    };
    let kind = match &settings.impersonate {
        None => kind,
        Some(target) => Kind::Impersonated(Box::new(Impersonation::of(target, kind)?)),
    };
    let without_redirects = ClientOptions { redirects: Redirects::Return, ..ClientOptions::default() };
    let direct = ClientOptions { proxies: Some(Proxies::default()), ..without_redirects.clone() };
    let requests = Requests { http: client.with_options(without_redirects), direct: client.with_options(direct), read };
    let quota_project = quota_project.filter(|project| !project.is_empty());
    Ok(GoogleTokenSource(Arc::new(Inner { cached: Cached::new(kind), requests, quota_project })))
}

/// The credential file with its origin for people: the one of the configuration, or that of application default credentials.
fn default_file(
    settings: &GoogleSettings,
    environment: &Environment,
    read: &ReadFile,
) -> Result<Option<(String, Secret)>, GoogleError> {
    if settings.access_token.is_some() {
        return Ok(None);
    }
    if let Some(content) = &settings.credentials {
        return Ok(Some(("the argument \"credentials\"".to_owned(), content.clone())));
    }
    let text = |bytes: Vec<u8>| Secret::new(String::from_utf8_lossy(&bytes));
    if let Some(path) = environment.path("GOOGLE_APPLICATION_CREDENTIALS") {
        let origin = format!("the file {} of GOOGLE_APPLICATION_CREDENTIALS", path.display());
        let content = read(&path).map_err(|error| GoogleError::lasting(format!("failed to read {origin}: {error}")))?;
        return Ok(Some((origin, text(content))));
    }
    let Some(path) = well_known_file(environment) else { return Ok(None) };
    // Quirk: a file that cannot be read counts as missing.
    Ok(read(&path).ok().map(|content| (format!("the file {}", path.display()), text(content))))
}

/// The file that `gcloud auth application-default login` writes.
fn well_known_file(environment: &Environment) -> Option<PathBuf> {
    let directory = match cfg!(windows) {
        true => environment.path("APPDATA"),
        false => environment.home().map(|home| home.join(".config")),
    };
    directory.map(|directory| directory.join("gcloud").join("application_default_credentials.json"))
}

fn check_universe(origin: &str, file: &Json, configured: Option<&str>) -> Result<(), GoogleError> {
    let Some(configured) = configured else { return Ok(()) };
    let found = file.get("universe_domain").and_then(Json::as_str).filter(|domain| !domain.is_empty());
    let found = found.unwrap_or(DEFAULT_UNIVERSE);
    match found == configured {
        true => Ok(()),
        false => Err(GoogleError::lasting(format!(
            "the credentials of {origin} belong to the universe domain \"{found}\", and \"universe_domain\" is \
             \"{configured}\""
        ))),
    }
}

/// The content of an argument that is a path or the content itself. A path that starts with `~/` is in the home directory.
pub fn path_or_content(value: &Secret, environment: &Environment, read: &ReadFile) -> io::Result<Secret> {
    let text = value.reveal();
    // No path looks like this, and the system would reject its length.
    if text.is_empty() || text.trim_start().starts_with('{') || text.contains(['\n', '\0']) {
        return Ok(value.clone());
    }
    let path = match (text.strip_prefix("~/"), environment.home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    match read(&path) {
        Ok(content) => Ok(Secret::new(String::from_utf8_lossy(&content))),
        Err(error) if is_no_file(&error) => Ok(value.clone()),
        Err(error) => Err(error),
    }
}

fn is_no_file(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::NotFound | Kind::NotADirectory | Kind::InvalidFilename | Kind::InvalidInput)
}

/// Access tokens. Clones share them.
#[derive(Clone)]
pub struct GoogleTokenSource(Arc<Inner>);

struct Inner {
    cached: Cached,
    requests: Requests,
    quota_project: Option<String>,
}

/// The kind only.
impl fmt::Debug for GoogleTokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GoogleTokenSource").field(&self.0.cached.kind.name()).finish()
    }
}

impl GoogleTokenSource {
    /// A token that is valid for some minutes. Requests a new token before the first use and shortly before the last one expires.
    pub fn token(&self) -> Result<Secret, GoogleError> {
        self.0.cached.token(&self.0.requests)
    }

    /// The project that requests are billed to, for the header `X-Goog-User-Project`.
    pub fn quota_project(&self) -> Option<&str> {
        self.0.quota_project.as_deref()
    }
}

/// Environment of flows.
struct Requests {
    /// Follows no redirects: they would carry the secrets of a form to another host.
    http: HttpClient,
    /// The same without proxies, for hosts of this machine or its network.
    direct: HttpClient,
    read: ReadFile,
}

/// An access token with its end.
struct Token {
    value: Secret,
    /// None if it does not expire.
    expires: Option<SystemTime>,
}

impl Token {
    fn is_fresh(&self) -> bool {
        self.is_valid_after(RENEWED_BEFORE)
    }

    /// Whether a request can still be sent with it.
    fn is_valid(&self) -> bool {
        self.is_valid_after(Duration::ZERO)
    }

    fn is_valid_after(&self, time: Duration) -> bool {
        self.expires.is_none_or(|expires| SystemTime::now() + time < expires)
    }
}

/// Credentials with the last token.
struct Cached {
    kind: Kind,
    token: Mutex<Option<Token>>,
}

impl Cached {
    fn new(kind: Kind) -> Cached {
        Cached { kind, token: Mutex::default() }
    }

    /// Several threads wait for one request.
    fn token(&self, requests: &Requests) -> Result<Secret, GoogleError> {
        let mut cached = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = cached.as_ref().filter(|token| token.is_fresh()) {
            return Ok(token.value.clone());
        }
        match (self.kind.request(requests), cached.as_ref().filter(|token| token.is_valid())) {
            (Ok(token), _) => Ok(cached.insert(token).value.clone()),
            (Err(error), Some(known)) => {
                tracing::warn!(reason = %error, "failed to renew a token that is still valid");
                Ok(known.value.clone())
            }
            (Err(error), None) => Err(error),
        }
    }
}

/// Source of tokens.
enum Kind {
    Fixed(Secret),
    ServiceAccount(ServiceAccount),
    User(AuthorizedUser),
    Federated(Box<Federation>),
    Impersonated(Box<Impersonation>),
    Metadata(MetadataServer),
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Kind::Fixed(_) => "access token",
            Kind::ServiceAccount(_) => "service account",
            Kind::User(_) => "user",
            Kind::Federated(_) => "external account",
            Kind::Impersonated(_) => "impersonated service account",
            Kind::Metadata(_) => "metadata server",
        }
    }

    fn request(&self, requests: &Requests) -> Result<Token, GoogleError> {
        match self {
            Kind::Fixed(token) => Ok(Token { value: token.clone(), expires: None }),
            Kind::ServiceAccount(account) => account.token(requests),
            Kind::User(user) => user.token(requests),
            Kind::Federated(federation) => federation.token(requests),
            Kind::Impersonated(impersonation) => impersonation.token(requests),
            Kind::Metadata(server) => server.token(requests),
        }
    }
}
