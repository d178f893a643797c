//! Credentials of IAM Identity Center, for the token that `aws sso login` stores.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::digest;
use serde_json::{Map, Value as Json, json};

use super::profile::{Profiles, Section};
use super::sign::hex;
use super::{AwsCredentials, AwsError, AwsFailure, Moment, Service, Session};
use crate::Secret;
use crate::http::{Method, Request, Url};

const TIMEOUT: Duration = Duration::from_secs(30);
/// A token is renewed this many seconds before it expires.
const RENEWAL: i64 = 300;

/// The part of a profile about IAM Identity Center.
#[derive(Clone, Debug)]
pub(super) struct SsoProfile {
    account: String,
    role: String,
    region: String,
    /// The name under which the token is stored: that of the session, or the start URL.
    token_name: String,
    token: TokenKind,
    /// For messages.
    profile: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    /// Of an `sso-session` section. It can be renewed.
    Session,
    /// Of a start URL in the profile.
    Legacy,
}

impl SsoProfile {
    /// Reads the arguments of a profile; none if it has no such arguments.
    pub(super) fn of(name: &str, section: &Section, profiles: &Profiles) -> Result<Option<SsoProfile>, AwsError> {
        let own = |key: &str| section.get(key).map(String::as_str).filter(|value| !value.is_empty());
        let missing =
            |key: &str| AwsError::configuration(format!("the profile \"{name}\" uses SSO and requires {key}"));
        let session = own("sso_session");
        let legacy = ["sso_account_id", "sso_region", "sso_role_name", "sso_start_url"];
        if session.is_none() && !legacy.iter().any(|key| own(key).is_some()) {
            return Ok(None);
        }
        let text = |key: &str| own(key).map(str::to_owned).ok_or_else(|| missing(key));
        let (account, role, profile) = (text("sso_account_id")?, text("sso_role_name")?, name.to_owned());
        let Some(session) = session else {
            let (region, token_name) = (text("sso_region")?, text("sso_start_url")?);
            return Ok(Some(SsoProfile { account, role, region, token_name, token: TokenKind::Legacy, profile }));
        };
        let shared = profiles.sso_session(session).ok_or_else(|| {
            AwsError::configuration(format!(
                "the profile \"{name}\" refers to sso-session \"{session}\", which does not exist"
            ))
        })?;
        let region = shared.get("sso_region").filter(|region| !region.is_empty());
        let region = region
            .cloned()
            .ok_or_else(|| AwsError::configuration(format!("the sso-session \"{session}\" requires sso_region")))?;
        let token_name = session.to_owned();
        Ok(Some(SsoProfile { account, role, region, token_name, token: TokenKind::Session, profile }))
    }

    fn failed(&self, reason: &str) -> AwsError {
        let profile = &self.profile;
        AwsError::no_credentials(format!(
            "the SSO token of the profile \"{profile}\" cannot be used: {reason}; run `aws sso login --profile {profile}`"
        ))
    }
}

impl Session {
    /// Temporary credentials of the role that a profile names.
    pub(super) fn sso_credentials(&self, profile: &SsoProfile) -> Result<AwsCredentials, AwsError> {
        let token = self.sso_token(profile)?;
        let endpoint = self.endpoint_in(Service::Sso, &profile.region);
        let mut url = Url::parse(&format!("{}/federation/credentials", endpoint.url))
            .map_err(|error| AwsError::configuration(format!("the endpoint {} is not a URL: {error}", endpoint.url)))?;
        url.query_pairs_mut().append_pair("role_name", &profile.role).append_pair("account_id", &profile.account);
        let request = Request { timeout: Some(TIMEOUT), retries: Some(2), ..Request::new(url) }
            .with_header("x-amz-sso_bearer_token", token.reveal());
        let response = self.client.get(&request).map_err(|error| AwsError {
            may_pass: error.may_pass,
            ..AwsError::no_credentials(format!("IAM Identity Center GetRoleCredentials: {error}"))
        })?;
        if !response.is_success() {
            let failure = AwsFailure::of(&response);
            if response.status == 401 {
                return Err(profile.failed(&failure.shown(&response)));
            }
            let (role, account) = (&profile.role, &profile.account);
            let shown = failure.shown(&response);
            return Err(AwsError::no_credentials(format!(
                "IAM Identity Center GetRoleCredentials for the role \"{role}\" in the account {account}: {shown}"
            )));
        }
        let json: Json = serde_json::from_slice(&response.body).unwrap_or_default();
        let issued = json.get("roleCredentials");
        let text = |name: &str| issued.and_then(|issued| issued.get(name)?.as_str()).map(str::to_owned);
        let missing = || AwsError::no_credentials("the response of IAM Identity Center has no credentials");
        let milliseconds = issued.and_then(|issued| issued.get("expiration")?.as_i64());
        Ok(AwsCredentials {
            access_key: text("accessKeyId").ok_or_else(missing)?,
            secret_key: Secret::new(text("secretAccessKey").ok_or_else(missing)?),
            token: text("sessionToken").map(Secret::new),
            expires: milliseconds.map(|milliseconds| Moment(milliseconds / 1000)),
        })
    }

    /// The stored token, renewed if it is about to expire.
    fn sso_token(&self, profile: &SsoProfile) -> Result<Secret, AwsError> {
        let home = self.environment.home().ok_or_else(|| profile.failed("no home directory is set"))?;
        let name = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, profile.token_name.as_bytes());
        let path = home.join(".aws/sso/cache").join(format!("{}.json", hex(name.as_ref())));
        let bytes = (self.read)(&path)
            .map_err(|error| profile.failed(&format!("failed to read {}: {error}", path.display())))?;
        let stored: Map<String, Json> =
            serde_json::from_slice(&bytes).map_err(|_| profile.failed(&format!("{} is not JSON", path.display())))?;
        let text = |name: &str| stored.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        let (token, end) = (text("accessToken"), text("expiresAt").and_then(Moment::parse_rfc3339));
        let (Some(token), Some(end)) = (token, end) else {
            return Err(profile.failed(&format!("{} has no accessToken and expiresAt", path.display())));
        };
        let now = self.now();
        if end > now.plus(RENEWAL) {
            return Ok(Secret::new(token));
        }
        let renewed = match profile.token {
            TokenKind::Session => self.renewed_token(profile, &stored, &path),
            TokenKind::Legacy => Err(profile.failed("it has expired")),
        };
        match renewed {
            Ok(token) => Ok(token),
            Err(_) if end > now => Ok(Secret::new(token)),
            Err(error) => Err(error),
        }
    }

    fn renewed_token(&self, profile: &SsoProfile, stored: &Map<String, Json>, path: &Path) -> Result<Secret, AwsError> {
        let text = |name: &str| stored.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        let (Some(id), Some(secret), Some(refresh)) = (text("clientId"), text("clientSecret"), text("refreshToken"))
        else {
            return Err(profile.failed("it has expired and cannot be renewed"));
        };
        let endpoint = self.endpoint_in(Service::SsoOidc, &profile.region);
        let url = Url::parse(&format!("{}/token", endpoint.url))
            .map_err(|error| AwsError::configuration(format!("the endpoint {} is not a URL: {error}", endpoint.url)))?;
        let body =
            json!({"clientId": id, "clientSecret": secret, "refreshToken": refresh, "grantType": "refresh_token"});
        let body = Some(body.to_string().into_bytes());
        let request = Request { method: Method::POST, body, timeout: Some(TIMEOUT), ..Request::new(url) }
            .with_header("content-type", "application/json");
        let response = self
            .client
            .get(&request)
            .map_err(|error| profile.failed(&format!("it has expired, and renewing failed: {error}")))?;
        let json: Json = serde_json::from_slice(&response.body).unwrap_or_default();
        let token = json.get("accessToken").and_then(Json::as_str).filter(|_| response.is_success());
        let Some(token) = token else {
            let shown = AwsFailure::of(&response).shown(&response);
            return Err(profile.failed(&format!("it has expired, and renewing failed: {shown}")));
        };
        let seconds = json.get("expiresIn").and_then(Json::as_i64).unwrap_or(0);
        let mut renewed = stored.clone();
        renewed.insert("accessToken".to_owned(), token.into());
        renewed.insert("expiresAt".to_owned(), self.now().plus(seconds).rfc3339().into());
        if let Some(refresh) = json.get("refreshToken").and_then(Json::as_str) {
            renewed.insert("refreshToken".to_owned(), refresh.into());
        }
        // The refresh token may have changed: without the file the next run could not renew it.
        if let Err(error) = store(path, &renewed) {
            tracing::warn!(path = %path.display(), %error, "the renewed SSO token was not stored");
        }
        Ok(Secret::new(token))
    }
}

/// Replaces a token file with one that only this user can read.
fn store(path: &Path, token: &Map<String, Json>) -> std::io::Result<()> {
    let partial: PathBuf = path.with_extension(format!("tmp-{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written =
        options.open(&partial).and_then(|mut file| file.write_all(Json::Object(token.clone()).to_string().as_bytes()));
    written.and_then(|()| std::fs::rename(&partial, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&partial);
    })
}
