//! Access tokens: requested from the login endpoint, a managed identity or the Azure CLI, and renewed before they expire.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::certificate::{ClientCertificate, Verifier};
use super::cli::AzureCli;
use super::identity::{IdentityKind, consolidated, is_tenant};
use super::managed::ManagedIdentity;
use super::{AzureCloud, AzureError, IdentitySettings, Outside, json, refused, response, url};
use crate::Secret;
use crate::http::{self, Request, Url};

/// Tokens are renewed so long before they expire.
const MARGIN: Duration = Duration::from_secs(300);
/// The validity of tokens that do not say when they expire.
const UNKNOWN_VALIDITY: Duration = Duration::from_secs(300);

/// Token flow of an identity.
#[derive(Debug)]
pub(super) enum Login {
    Certificate { client_id: String, certificate: Arc<ClientCertificate> },
    Secret { client_id: String, secret: Secret },
    Assertion { client_id: String, assertion: Assertion },
    Workload { client_id: String, tenant: String, assertion: Assertion },
    Managed(ManagedIdentity),
    Cli(AzureCli),
}

/// Source of the ID token of another provider.
#[derive(Debug)]
pub(super) enum Assertion {
    /// The token itself or a file with it.
    Given { token: Option<Secret>, file: String },
    /// A URL, as in GitHub Actions.
    Request { url: String, token: Secret, audience: &'static str },
    /// Azure Pipelines.
    Pipelines { url: String, connection: String, token: Secret },
}

/// The longest validity that counts. Tokens that say more are renewed earlier than necessary.
const LONGEST_VALIDITY: Duration = Duration::from_secs(365 * 24 * 3600);

/// A token and the time for which it is valid.
pub(super) struct Token {
    pub(super) token: Secret,
    pub(super) validity: Duration,
}

impl Token {
    /// The token of a response, in the forms of login endpoints and managed identities.
    pub(super) fn of_json(json: &Json, source: &str) -> Result<Token, AzureError> {
        let token = json.get("access_token").and_then(Json::as_str).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| AzureError::lasting(format!("the response of {source} contains no token")))?;
        Ok(Token { token: Secret::new(token), validity: validity(json) })
    }
}

/// The time for which a token is valid. Numbers may be strings.
pub(super) fn validity(json: &Json) -> Duration {
    let number = |name: &str| match json.get(name)? {
        Json::String(text) => text.trim().parse().ok(),
        number => number.as_u64(),
    };
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs();
    let seconds = number("expires_in").or_else(|| number("expires_on").map(|at| at.saturating_sub(now())));
    seconds.map_or(UNKNOWN_VALIDITY, Duration::from_secs).min(LONGEST_VALIDITY)
}

impl Assertion {
    /// A fresh ID token. The error is the second half of a sentence.
    pub(super) fn get(&self, outside: &Outside) -> Result<Secret, AzureError> {
        match self {
            Assertion::Given { token, file } => {
                let given = token.as_ref().map_or("", Secret::reveal);
                let token = consolidated(outside, given, file, "ID token").map_err(AzureError::lasting)?;
                match token.is_empty() {
                    true => Err(AzureError::lasting(format!("the file {file} is empty"))),
                    false => Ok(Secret::new(token)),
                }
            }
            Assertion::Request { url: text, token, audience } => {
                let mut address = url(text, "oidc_request_url")?;
                if !address.query_pairs().any(|(name, _)| name == "audience") {
                    address.query_pairs_mut().append_pair("audience", audience);
                }
                let request = Request::new(address)
                    .with_token(Some(token.clone()))
                    .with_header("accept", "application/json; api-version=2.0")
                    .with_header("content-type", "application/json");
                id_token(outside, &request, "value")
            }
            Assertion::Pipelines { url: text, connection, token } => {
                let mut address = url(text, "SYSTEM_OIDCREQUESTURI")?;
                address
                    .query_pairs_mut()
                    .append_pair("api-version", "7.1")
                    .append_pair("serviceConnectionId", connection);
                let request = Request { method: http::Method::POST, body: Some(Vec::new()), ..Request::new(address) }
                    .with_token(Some(token.clone()))
                    // Without it a refused token leads to a login page.
                    .with_header("x-tfs-fedauthredirect", "Suppress");
                id_token(outside, &request, "oidcToken")
            }
        }
    }
}

fn id_token(outside: &Outside, request: &Request, name: &str) -> Result<Secret, AzureError> {
    let found = json(outside.client(), request)?;
    let token = found.get(name).and_then(Json::as_str).filter(|token| !token.is_empty());
    let missing =
        || AzureError::lasting(format!("the response of {} contains no \"{name}\"", http::shown(&request.url)));
    token.map(Secret::new).ok_or_else(missing)
}

/// Tokens that were requested, by tenant and scope.
type Cache = HashMap<(String, String), (Secret, Instant, Instant)>;

/// The tokens of an identity.
pub struct TokenSource {
    method: IdentityKind,
    login: Login,
    tenant: String,
    subscription: String,
    cloud: AzureCloud,
    outside: Outside,
    cache: Mutex<Cache>,
}

impl std::fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenSource").field("method", &self.method).finish_non_exhaustive()
    }
}

impl TokenSource {
    pub(super) fn new(
        method: IdentityKind,
        login: Login,
        settings: &IdentitySettings,
        cloud: &AzureCloud,
        outside: &Outside,
    ) -> TokenSource {
        let (mut tenant, mut subscription) = (settings.tenant_id.clone(), settings.subscription_id.clone());
        match &login {
            Login::Workload { tenant: of_pod, .. } => tenant.clone_from(of_pod),
            Login::Cli(cli) if subscription.is_empty() => subscription = cli.default_subscription().to_owned(),
            _ => {}
        }
        let (cloud, outside) = (cloud.clone(), outside.clone());
        TokenSource { method, login, tenant, subscription, cloud, outside, cache: Mutex::default() }
    }

    /// The kind of the identity.
    pub fn method(&self) -> IdentityKind {
        self.method
    }

    /// The subscription of the configuration or of the Azure CLI; empty if neither sets it.
    pub fn subscription(&self) -> &str {
        &self.subscription
    }

    /// The cloud.
    pub fn cloud(&self) -> &AzureCloud {
        &self.cloud
    }

    /// The client for requests with these tokens, which follows no redirects.
    pub fn client(&self) -> &http::HttpClient {
        self.outside.client()
    }

    /// A token for a scope.
    pub fn token(&self, scope: &str) -> Result<Secret, AzureError> {
        self.token_in(None, scope)
    }

    /// A token for a scope in a tenant that a service names. Identities with another tenant of their own refuse.
    pub fn token_in(&self, tenant: Option<&str>, scope: &str) -> Result<Secret, AzureError> {
        let tenant = self.tenant_for(tenant)?;
        let key = (tenant.clone(), scope.to_owned());
        // Held during the request: of several threads one requests the token.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let known = cache.get(&key).cloned();
        if let Some((token, _, renewed)) = known.as_ref().filter(|(_, _, renewed)| now < *renewed) {
            tracing::trace!(valid_s = renewed.duration_since(now).as_secs(), "using a known token");
            return Ok(token.clone());
        }
        match self.request(&tenant, scope) {
            Ok(Token { token, validity }) => {
                // Short-lived tokens are used for half of their validity.
                let used = validity.saturating_sub(MARGIN).max(validity / 2).min(validity);
                cache.insert(key, (token.clone(), now + validity, now + used));
                Ok(token)
            }
            Err(error) => match known.filter(|(_, expires, _)| now < *expires) {
                Some((token, ..)) => {
                    tracing::warn!(reason = %error, "failed to renew a token that is still valid");
                    Ok(token)
                }
                None => Err(error),
            },
        }
    }

    fn tenant_for(&self, wanted: Option<&str>) -> Result<String, AzureError> {
        let is_fixed = !matches!(self.login, Login::Managed(_)) && !self.tenant.is_empty();
        match wanted.filter(|tenant| !tenant.is_empty()) {
            Some(tenant) if is_fixed && !tenant.eq_ignore_ascii_case(&self.tenant) => {
                let reason =
                    format!("the service requires a token of tenant {tenant}, and tenant_id is {}", self.tenant);
                Err(AzureError::lasting(reason))
            }
            Some(tenant) if !is_tenant(tenant) => Err(AzureError::lasting("the service names an invalid tenant")),
            Some(tenant) if !is_fixed => Ok(tenant.to_owned()),
            _ => Ok(self.tenant.clone()),
        }
    }

    fn request(&self, tenant: &str, scope: &str) -> Result<Token, AzureError> {
        let resource = scope.strip_suffix("/.default").unwrap_or(scope);
        match &self.login {
            Login::Managed(identity) => identity.token(&self.outside, resource),
            Login::Cli(cli) => cli.token(resource, tenant),
            Login::Secret { client_id, secret } => {
                self.log_in(tenant, scope, client_id, &[("client_secret", secret.reveal())])
            }
            Login::Certificate { client_id, certificate } => {
                let (endpoint, verifier) = token_endpoint(&self.cloud.login, tenant)?;
                let assertion = certificate.assertion(client_id, endpoint.as_str(), verifier);
                self.log_in_with(tenant, scope, client_id, &assertion.map_err(AzureError::lasting)?)
            }
            Login::Assertion { client_id, assertion } | Login::Workload { client_id, assertion, .. } => {
                self.log_in_with(tenant, scope, client_id, &assertion.get(&self.outside)?)
            }
        }
    }

    fn log_in_with(&self, tenant: &str, scope: &str, client_id: &str, assertion: &Secret) -> Result<Token, AzureError> {
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let proof = [("client_assertion_type", kind), ("client_assertion", assertion.reveal())];
        self.log_in(tenant, scope, client_id, &proof)
    }

    /// Requests a token for an application.
    fn log_in(&self, tenant: &str, scope: &str, client_id: &str, proof: &[(&str, &str)]) -> Result<Token, AzureError> {
        let (endpoint, _) = token_endpoint(&self.cloud.login, tenant)?;
        let mut form = vec![("grant_type", "client_credentials"), ("client_id", client_id), ("scope", scope)];
        form.extend_from_slice(proof);
        let request = Request::form(endpoint, &form);
        let response = response(self.outside.client(), &request)?;
        if !response.is_success() {
            return Err(refused_login(&request, &response));
        }
        let json = serde_json::from_slice(&response.body).unwrap_or_default();
        Token::of_json(&json, &http::shown(&request.url))
    }
}

/// The token endpoint of a tenant, and what verifies assertions there.
fn token_endpoint(login: &Url, tenant: &str) -> Result<(Url, Verifier), AzureError> {
    let is_adfs = tenant.eq_ignore_ascii_case("adfs") || login.path().trim_matches('/').eq_ignore_ascii_case("adfs");
    let (path, verifier) = match is_adfs {
        true => ("/adfs/oauth2/token".to_owned(), Verifier::Adfs),
        false => (format!("{}/{tenant}/oauth2/v2.0/token", login.path().trim_end_matches('/')), Verifier::Entra),
    };
    let mut endpoint = login.clone();
    endpoint.set_path(&path);
    endpoint.set_query(None);
    match endpoint.scheme() {
        "https" => Ok((endpoint, verifier)),
        _ => Err(AzureError::lasting("the login endpoint of the cloud is not an https URL")),
    }
}

/// A refused login, with advice for the codes that have a usual cause.
fn refused_login(request: &Request, response: &http::Response) -> AzureError {
    let mut error = refused(request, response);
    let body = String::from_utf8_lossy(&response.body);
    let advice = [
        ("AADSTS7000215", "The client secret is wrong. Use the value of the secret, not its ID"),
        ("AADSTS7000222", "The client secret has expired. Create a new one"),
        ("AADSTS700027", "The client certificate is not registered for this application, or has expired"),
        ("AADSTS700016", "The application does not exist in this tenant. Check client_id and tenant_id"),
        ("AADSTS90002", "The tenant does not exist. Check tenant_id"),
        ("AADSTS70021", "No federated identity credential of the application matches the ID token"),
        ("AADSTS700213", "No federated identity credential of the application matches the ID token"),
        ("AADSTS700024", "The assertion is outside of its validity. Check the clock of this machine"),
    ];
    if let Some((_, advice)) = advice.iter().find(|(code, _)| body.contains(&format!("{code}:"))) {
        error.reason = format!("{}. {advice}", error.reason.trim_end_matches('.'));
    }
    error
}
