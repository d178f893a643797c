//! Credential files: JSON of a known `type`.

use serde_json::Value as Json;

use super::federation::Federation;
use super::impersonation::{self, Impersonation};
use super::service_account::{Exchange, ServiceAccount, private_key};
use super::user::{AuthorizedUser, ClientAuthentication};
use super::{CLOUD_PLATFORM, Cached, DEFAULT_UNIVERSE, GoogleError, Kind, exchange};
use crate::Secret;

/// Default token endpoint.
const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// Source credentials of impersonation may not be nested deeper.
const MOST_SOURCES: usize = 5;

/// The document in a file.
pub(super) fn parse(origin: &str, content: &Secret) -> Result<Json, GoogleError> {
    let parsed = serde_json::from_str(content.reveal()).ok().filter(Json::is_object);
    parsed.ok_or_else(|| GoogleError::lasting(format!("{origin} is not a JSON object with Google credentials")))
}

/// Credentials of a document.
pub(super) fn kind(origin: &str, file: &Json, scopes: &[String]) -> Result<Kind, GoogleError> {
    Reader { origin, file }.kind(scopes, 0)
}

/// A document with its origin, for messages.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) origin: &'a str,
    pub(super) file: &'a Json,
}

impl<'a> Reader<'a> {
    fn kind(self, scopes: &[String], depth: usize) -> Result<Kind, GoogleError> {
        match self.text("type")? {
            "service_account" => self.service_account(scopes).map(Kind::ServiceAccount),
            "authorized_user" => self.user().map(Kind::User),
            "external_account" => self.federated(scopes),
            "external_account_authorized_user" => self.workforce_user().map(Kind::User),
            "impersonated_service_account" => self.impersonated(scopes, depth),
            other => Err(self.wrong(&format!("the type {other:?} is not supported"))),
        }
    }

    fn service_account(self, scopes: &[String]) -> Result<ServiceAccount, GoogleError> {
        let key = private_key(self.text("private_key")?);
        let universe = self.optional("universe_domain").unwrap_or(DEFAULT_UNIVERSE);
        let url = self.optional("token_uri").unwrap_or(TOKEN_URL);
        Ok(ServiceAccount {
            email: self.text("client_email")?.to_owned(),
            key_id: self.optional("private_key_id").unwrap_or_default().to_owned(),
            key: key.ok_or_else(|| self.wrong("\"private_key\" is not an RSA key in PEM format"))?,
            scopes: scopes.to_vec(),
            exchange: match universe == DEFAULT_UNIVERSE {
                true => Exchange::At(exchange::endpoint(url, &format!("\"token_uri\" in {}", self.origin))?),
                false => Exchange::SelfSigned,
            },
        })
    }

    fn user(self) -> Result<AuthorizedUser, GoogleError> {
        let url = self.optional("token_uri").unwrap_or(TOKEN_URL);
        Ok(AuthorizedUser {
            client_id: self.text("client_id")?.to_owned(),
            client_secret: Secret::new(self.text("client_secret")?),
            refresh_token: Secret::new(self.text("refresh_token")?),
            token_url: exchange::endpoint(url, &format!("\"token_uri\" in {}", self.origin))?,
            client: ClientAuthentication::InForm,
        })
    }

    fn workforce_user(self) -> Result<AuthorizedUser, GoogleError> {
        let url = self.text("token_url")?;
        Ok(AuthorizedUser {
            client_id: self.text("client_id")?.to_owned(),
            client_secret: Secret::new(self.text("client_secret")?),
            refresh_token: Secret::new(self.text("refresh_token")?),
            token_url: exchange::endpoint(url, &format!("\"token_url\" in {}", self.origin))?,
            client: ClientAuthentication::InHeader,
        })
    }

    /// An identity of another cloud, which may act as a service account.
    fn federated(self, scopes: &[String]) -> Result<Kind, GoogleError> {
        let Some(url) = self.optional("service_account_impersonation_url") else {
            return Ok(Kind::Federated(Box::new(Federation::read(self, scopes)?)));
        };
        let source = Kind::Federated(Box::new(Federation::read(self, &[CLOUD_PLATFORM.to_owned()])?));
        let lifetime = self.file["service_account_impersonation"]["token_lifetime_seconds"].as_u64();
        let what = format!("\"service_account_impersonation_url\" in {}", self.origin);
        Ok(Kind::Impersonated(Box::new(Impersonation {
            source: Cached::new(source),
            url: exchange::endpoint(url, &what)?,
            delegates: Vec::new(),
            scopes: scopes.to_vec(),
            lifetime: lifetime.filter(|seconds| *seconds > 0).unwrap_or(impersonation::LIFETIME),
        })))
    }

    fn impersonated(self, scopes: &[String], depth: usize) -> Result<Kind, GoogleError> {
        if depth >= MOST_SOURCES {
            return Err(self.wrong(&format!("more than {MOST_SOURCES} credentials impersonate each other")));
        }
        let source = self.file.get("source_credentials").filter(|source| source.is_object());
        let source = source.ok_or_else(|| self.wrong("\"source_credentials\" is missing"))?;
        let source = Reader { file: source, ..self }.kind(&[CLOUD_PLATFORM.to_owned()], depth + 1)?;
        let what = format!("\"service_account_impersonation_url\" in {}", self.origin);
        let delegates = self.file["delegates"].as_array().into_iter().flatten().filter_map(Json::as_str);
        Ok(Kind::Impersonated(Box::new(Impersonation {
            source: Cached::new(source),
            url: exchange::endpoint(self.text("service_account_impersonation_url")?, &what)?,
            delegates: delegates.map(impersonation::resource_name).collect(),
            scopes: scopes.to_vec(),
            lifetime: impersonation::LIFETIME,
        })))
    }

    /// The value of a required field.
    pub(super) fn text(self, name: &str) -> Result<&'a str, GoogleError> {
        self.optional(name).ok_or_else(|| self.wrong(&format!("{name:?} is missing")))
    }

    /// A field that may be missing or empty.
    pub(super) fn optional(self, name: &str) -> Option<&'a str> {
        self.file.get(name).and_then(Json::as_str).filter(|text| !text.is_empty())
    }

    /// Credentials that cannot be used, by their origin.
    pub(super) fn wrong(self, reason: &str) -> GoogleError {
        GoogleError::lasting(format!("the credentials of {}: {reason}", self.origin))
    }
}
