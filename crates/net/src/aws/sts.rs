//! Requests to STS and IAM: roles, tokens of identity providers, and who the caller is.

use std::path::Path;
use std::time::Duration;

use super::profile::expand;
use super::sign::{Scope, sign};
use super::{
    AssumeRole, AwsCredentials, AwsError, AwsErrorKind, AwsFailure, Element, Moment, Service, Session, WebIdentity,
};
use crate::Secret;
use crate::http::{Request, Url};

const STS_VERSION: &str = "2011-06-15";
const IAM_VERSION: &str = "2010-05-08";
/// Duration of a role without another setting.
const USUAL_DURATION: Duration = Duration::from_secs(900);
/// Limit for one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Retries of requests for credentials.
const RETRIES: u32 = 3;

/// Identity of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerIdentity {
    /// The ARN of the user or role.
    pub arn: String,
    /// The number of the account.
    pub account: String,
}

type Pairs = Vec<(String, String)>;

impl Session {
    /// Sends a request of the query protocol, signed if there are credentials.
    fn query(
        &self,
        service: Service,
        pairs: &[(String, String)],
        credentials: Option<&AwsCredentials>,
    ) -> Result<Element, AwsError> {
        let endpoint = self.endpoint(service);
        let failed = |reason: String| AwsError::new(AwsErrorKind::Request, reason);
        let url = Url::parse(&format!("{}/", endpoint.url))
            .map_err(|error| AwsError::configuration(format!("the endpoint {} is not a URL: {error}", endpoint.url)))?;
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let action = pairs.first().map(|(_, action)| *action).unwrap_or_default();
        let call = format!("{} {action} at {}", service.name(), endpoint.url);
        let form = Request::form(url, &pairs).with_header("accept", "application/xml");
        let form = Request { timeout: Some(TIMEOUT), retries: Some(RETRIES), ..form };
        let send = || {
            let moment = self.now();
            let scope = Scope { service: service.signing_name(), region: &endpoint.region, moment };
            let request = match credentials {
                Some(credentials) => sign(form.clone(), credentials, scope),
                None => form.clone(),
            };
            self.client
                .get(&request)
                .map_err(|error| AwsError { may_pass: error.may_pass, ..failed(format!("{call}: {}", error.reason)) })
        };
        let mut response = send()?;
        if !response.is_success() && AwsFailure::of(&response).is_about_clocks() && self.learn_clock(&response) {
            response = send()?;
        }
        if !response.is_success() {
            let failure = AwsFailure::of(&response);
            let advice = failure.advice(&response).map(|advice| format!("; {advice}")).unwrap_or_default();
            let may_pass = response.may_pass() || failure.may_pass();
            return Err(AwsError { may_pass, ..failed(format!("{call}: {}{advice}", failure.shown(&response))) });
        }
        Element::parse(&String::from_utf8_lossy(&response.body))
            .ok_or_else(|| failed(format!("{call}: the response is not XML, so the endpoint may be wrong")))
    }

    /// Temporary credentials of a role.
    pub(super) fn assume_role(&self, role: &AssumeRole, base: &AwsCredentials) -> Result<AwsCredentials, AwsError> {
        let mut pairs = start("AssumeRole", STS_VERSION);
        push(&mut pairs, "RoleArn", &role.arn);
        push(&mut pairs, "RoleSessionName", &self.session_name(role.session_name.as_deref()));
        let duration = role.duration.filter(|duration| !duration.is_zero()).unwrap_or(USUAL_DURATION);
        push(&mut pairs, "DurationSeconds", &duration.as_secs().to_string());
        optional(&mut pairs, "ExternalId", role.external_id.as_deref());
        optional(&mut pairs, "Policy", role.policy.as_deref());
        optional(&mut pairs, "SourceIdentity", role.source_identity.as_deref());
        members(&mut pairs, "PolicyArns.member", ".arn", &role.policy_arns);
        for (position, (key, value)) in role.tags.iter().enumerate() {
            push(&mut pairs, &format!("Tags.member.{}.Key", position + 1), key);
            push(&mut pairs, &format!("Tags.member.{}.Value", position + 1), value);
        }
        members(&mut pairs, "TransitiveTagKeys.member", "", &role.transitive_tags);
        let response = self.query(Service::Sts, &pairs, Some(base));
        let credentials = response.and_then(|response| issued(&response));
        credentials.map_err(|error| {
            let reason = format!("failed to assume the role {}: {}", role.arn, error.reason);
            AwsError { reason, ..error }.with_kind(AwsErrorKind::AssumeRole)
        })
    }

    /// Temporary credentials of a role for a token of an identity provider.
    pub(super) fn assume_with_token(&self, role: &WebIdentity) -> Result<AwsCredentials, AwsError> {
        let failed = |reason: String| AwsError::new(AwsErrorKind::WebIdentity, reason);
        let token = match (&role.token, &role.token_file) {
            (Some(token), _) => token.reveal().to_owned(),
            (None, Some(file)) => {
                let path = expand(file, &self.environment);
                let bytes = (self.read)(Path::new(&path))
                    .map_err(|error| failed(format!("failed to read the web identity token {path}: {error}")))?;
                String::from_utf8(bytes).map_err(|_| failed(format!("the web identity token in {path} is not text")))?
            }
            (None, None) => return Err(failed("a role with web identity requires a token or a token file".to_owned())),
        };
        let mut pairs = start("AssumeRoleWithWebIdentity", STS_VERSION);
        push(&mut pairs, "RoleArn", &role.arn);
        push(&mut pairs, "RoleSessionName", &self.session_name(role.session_name.as_deref()));
        push(&mut pairs, "WebIdentityToken", &token);
        if let Some(duration) = role.duration.filter(|duration| !duration.is_zero()) {
            push(&mut pairs, "DurationSeconds", &duration.as_secs().to_string());
        }
        optional(&mut pairs, "Policy", role.policy.as_deref());
        members(&mut pairs, "PolicyArns.member", ".arn", &role.policy_arns);
        let response = self.query(Service::Sts, &pairs, None);
        let credentials = response.and_then(|response| issued(&response));
        credentials.map_err(|error| {
            let reason = format!("failed to assume the role {} with a web identity: {}", role.arn, error.reason);
            AwsError { reason, ..error }.with_kind(AwsErrorKind::WebIdentity)
        })
    }

    /// Owner of the credentials.
    pub(super) fn identity(&self, credentials: &AwsCredentials) -> Result<CallerIdentity, AwsError> {
        let pairs = start("GetCallerIdentity", STS_VERSION);
        let response = self.query(Service::Sts, &pairs, Some(credentials))?;
        let text = |name: &str| response.text_of(name).map(|text| text.trim().to_owned());
        let arn = text("Arn")
            .ok_or_else(|| AwsError::new(AwsErrorKind::Request, "the response of STS GetCallerIdentity has no ARN"))?;
        let account = account_of(&arn).or_else(|| text("Account")).unwrap_or_default();
        Ok(CallerIdentity { arn, account })
    }

    /// The account of the user that credentials belong to, or none if IAM does not return it.
    pub(super) fn account_of_user(&self, credentials: &AwsCredentials) -> Option<String> {
        let response = self.query(Service::Iam, &start("GetUser", IAM_VERSION), Some(credentials));
        match response {
            Ok(response) => account_of(response.text_of("Arn")?),
            Err(error) => {
                tracing::debug!(reason = %error, "the response of IAM does not contain the account");
                None
            }
        }
    }

    fn session_name(&self, given: Option<&str>) -> String {
        given.filter(|name| !name.is_empty()).map_or_else(|| format!("yuba-{}", self.now().0), str::to_owned)
    }
}

/// The account in an ARN.
pub(super) fn account_of(arn: &str) -> Option<String> {
    let mut parts = arn.trim().split(':');
    let account = parts.by_ref().nth(4)?;
    (arn.starts_with("arn:") && !account.is_empty()).then(|| account.to_owned())
}

fn issued(response: &Element) -> Result<AwsCredentials, AwsError> {
    let missing = || AwsError::new(AwsErrorKind::Request, "the response of STS has no credentials");
    let credentials = response.find("Credentials").ok_or_else(missing)?;
    let text = |name: &str| credentials.text_of(name).map(|text| text.trim().to_owned());
    Ok(AwsCredentials {
        access_key: text("AccessKeyId").ok_or_else(missing)?,
        secret_key: Secret::new(text("SecretAccessKey").ok_or_else(missing)?),
        token: text("SessionToken").map(Secret::new),
        expires: text("Expiration").as_deref().and_then(Moment::parse_rfc3339),
    })
}

fn start(action: &str, version: &str) -> Pairs {
    vec![("Action".to_owned(), action.to_owned()), ("Version".to_owned(), version.to_owned())]
}

fn push(pairs: &mut Pairs, name: &str, value: &str) {
    pairs.push((name.to_owned(), value.to_owned()));
}

fn optional(pairs: &mut Pairs, name: &str, value: Option<&str>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        push(pairs, name, value);
    }
}

fn members(pairs: &mut Pairs, name: &str, field: &str, values: &[String]) {
    for (position, value) in values.iter().enumerate() {
        push(pairs, &format!("{name}.{}{field}", position + 1), value);
    }
}
