//! Sources of credentials: arguments, environment, profiles, and roles assumed on top.

use std::collections::BTreeMap;
use std::time::Duration;

use super::profile::Section;
use super::sso::SsoProfile;
use super::{AssumeRole, AwsCredentials, AwsError, Session, WebIdentity};
use crate::Secret;

/// Source of credentials, used each time they are needed.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Credentials that are written down.
    Given(AwsCredentials),
    /// The output of a process.
    Process(String),
    /// A token of IAM Identity Center.
    Sso(SsoProfile),
    /// The credentials service of a container.
    Container,
    /// The metadata service of an EC2 instance.
    Metadata,
    /// A role assumed with a token of an identity provider.
    WebIdentity(Box<WebIdentity>),
    /// A role assumed with other credentials.
    Role { base: Box<Source>, role: Box<AssumeRole> },
}

impl Source {
    /// Obtains credentials.
    pub(super) fn retrieve(&self, session: &Session) -> Result<AwsCredentials, AwsError> {
        match self {
            Source::Given(credentials) => Ok(credentials.clone()),
            Source::Process(command) => super::process::run(command, &session.environment),
            Source::Sso(profile) => session.sso_credentials(profile),
            Source::Container => session.container_credentials(),
            Source::Metadata => session.metadata_credentials(),
            Source::WebIdentity(role) => session.assume_with_token(role),
            Source::Role { base, role } => session.assume_role(role, &base.retrieve(session)?),
        }
    }
}

/// Names of credentials in a profile.
const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];

impl Session {
    /// The first source that is configured, with the roles of the arguments on top.
    pub(super) fn source(&self) -> Result<Source, AwsError> {
        let base = self.base()?;
        let roles = self.settings.roles.iter();
        roles.enumerate().try_fold(base, |base, (position, role)| match role.arn.is_empty() {
            true => {
                let total = self.settings.roles.len();
                let reason = format!("role {} of {total} to assume has no ARN; set role_arn", position + 1);
                Err(AwsError::new(super::AwsErrorKind::AssumeRole, reason))
            }
            false => Ok(Source::Role { base: Box::new(base), role: Box::new(role.clone()) }),
        })
    }

    fn base(&self) -> Result<Source, AwsError> {
        let settings = &self.settings;
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let secret = |secret: &Option<Secret>| secret.clone().filter(|secret| !secret.reveal().is_empty());
        let (access_key, secret_key) = (given(&settings.access_key), secret(&settings.secret_key));
        let token = secret(&settings.token);
        match (access_key, secret_key, token) {
            (None, None, None) => {}
            (Some(access_key), Some(secret_key), token) => {
                return Ok(Source::Given(AwsCredentials { access_key, secret_key, token, expires: None }));
            }
            _ => {
                let reason = "access_key and secret_key must be set together; the argument token belongs to them";
                return Err(AwsError::no_credentials(reason));
            }
        }
        if let Some(role) = &settings.web_identity {
            return Ok(Source::WebIdentity(Box::new(role.clone())));
        }
        if settings.profile.as_deref().is_some_and(|profile| !profile.is_empty()) {
            return self.of_profile(&self.profile, &mut Vec::new());
        }
        if let Some(credentials) = self.environment_keys() {
            return Ok(Source::Given(credentials));
        }
        if let Some(file) = self.environment.get("AWS_WEB_IDENTITY_TOKEN_FILE") {
            let arn = self.environment.get("AWS_ROLE_ARN").ok_or_else(|| {
                AwsError::no_credentials("AWS_WEB_IDENTITY_TOKEN_FILE is set and AWS_ROLE_ARN is not; set both")
            })?;
            let session_name = self.environment.get("AWS_ROLE_SESSION_NAME").map(str::to_owned);
            let (arn, token_file) = (arn.to_owned(), Some(file.to_owned()));
            return Ok(Source::WebIdentity(Box::new(WebIdentity {
                arn,
                token_file,
                session_name,
                ..WebIdentity::default()
            })));
        }
        self.of_profile(&self.profile, &mut Vec::new())
    }

    fn environment_keys(&self) -> Option<AwsCredentials> {
        let first = |names: [&str; 2]| names.iter().find_map(|name| self.environment.get(name));
        let access_key = first(["AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"])?.to_owned();
        let secret_key = Secret::new(first(["AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"])?);
        let token = self.environment.get("AWS_SESSION_TOKEN").map(Secret::new);
        Some(AwsCredentials { access_key, secret_key, token, expires: None })
    }

    /// The source of a profile. `seen` has the profiles that lead to it.
    fn of_profile(&self, name: &str, seen: &mut Vec<String>) -> Result<Source, AwsError> {
        let empty = Section::new();
        let section = self.profiles.profile(name).unwrap_or(&empty);
        let argument = |key: &str| section.get(key).map(String::as_str).filter(|value| !value.is_empty());
        let keys = keys_of(section);
        let is_repeated = seen.iter().any(|known| known == name);
        if is_repeated {
            // A profile that is its own source has keys and the role that they assume.
            return keys.map(Source::Given).ok_or_else(|| {
                AwsError::configuration(format!("the profiles {} are each other's source_profile", seen.join(", ")))
            });
        }
        self.check_profile(name, section)?;
        let base = match (&keys, argument("source_profile")) {
            (Some(keys), Some(_)) if !seen.is_empty() => Source::Given(keys.clone()),
            (_, Some(source)) => {
                if self.profiles.profile(source).is_none() {
                    return Err(AwsError::configuration(format!(
                        "the profile \"{name}\" has the source_profile \"{source}\", which does not exist"
                    )));
                }
                seen.push(name.to_owned());
                self.of_profile(source, seen)?
            }
            (Some(keys), None) => Source::Given(keys.clone()),
            (None, None) => match self.unkeyed(name, section)? {
                web_identity @ Source::WebIdentity(_) => return Ok(web_identity),
                source => source,
            },
        };
        match argument("role_arn") {
            None => Ok(base),
            Some(arn) => {
                let role = Box::new(role_of(arn, section));
                Ok(Source::Role { base: Box::new(base), role })
            }
        }
    }

    /// Refuses contradictions and what needs a person.
    fn check_profile(&self, name: &str, section: &Section) -> Result<(), AwsError> {
        let has = |key: &str| section.get(key).is_some_and(|value| !value.is_empty());
        let needs_role = ["source_profile", "credential_source", "web_identity_token_file"];
        if let Some(key) = needs_role.iter().find(|key| has(key)).filter(|_| !has("role_arn")) {
            return Err(AwsError::configuration(format!(
                "the profile \"{name}\" has {key} and requires role_arn, too"
            )));
        }
        let kinds = ["source_profile", "credential_source", "credential_process", "web_identity_token_file"];
        let found: Vec<&str> = kinds.into_iter().filter(|key| has(key)).collect();
        if found.len() > 1 {
            let found = found.join(", ");
            return Err(AwsError::configuration(format!("the profile \"{name}\" can have only one of {found}")));
        }
        if has("role_arn") && has("mfa_serial") {
            return Err(AwsError::configuration(format!(
                "the profile \"{name}\" requires a code of an MFA device, for which Yuba does not ask; obtain temporary \
                 credentials with `aws sts assume-role --serial-number ...` and set them in the environment"
            )));
        }
        Ok(())
    }

    /// The source of a profile without keys and source profile.
    fn unkeyed(&self, name: &str, section: &Section) -> Result<Source, AwsError> {
        let argument = |key: &str| section.get(key).map(String::as_str).filter(|value| !value.is_empty());
        if let Some(source) = argument("credential_source") {
            return self.of_credential_source(name, source);
        }
        if let Some(file) = argument("web_identity_token_file") {
            let role = WebIdentity {
                arn: argument("role_arn").unwrap_or_default().to_owned(),
                token_file: Some(file.to_owned()),
                session_name: argument("role_session_name").map(str::to_owned),
                ..WebIdentity::default()
            };
            return Ok(Source::WebIdentity(Box::new(role)));
        }
        if let Some(profile) = SsoProfile::of(name, section, &self.profiles)? {
            return Ok(Source::Sso(profile));
        }
        if argument("login_session").is_some() {
            return Err(AwsError::configuration(format!(
                "the profile \"{name}\" uses `aws login` (login_session), which Yuba does not support; export the \
                 credentials with `aws configure export-credentials --profile {name} --format env`"
            )));
        }
        if let Some(command) = argument("credential_process") {
            return Ok(Source::Process(command.to_owned()));
        }
        let container = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"];
        match container.iter().any(|variable| self.environment.get(variable).is_some()) {
            true => Ok(Source::Container),
            false => Ok(Source::Metadata),
        }
    }

    fn of_credential_source(&self, profile: &str, source: &str) -> Result<Source, AwsError> {
        match source {
            "Ec2InstanceMetadata" => Ok(Source::Metadata),
            "EcsContainer" => Ok(Source::Container),
            "Environment" => self.environment_keys().map(Source::Given).ok_or_else(|| {
                AwsError::no_credentials(format!(
                    "the profile \"{profile}\" has credential_source = Environment; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
                ))
            }),
            other => Err(AwsError::configuration(format!(
                "the profile \"{profile}\" has credential_source = {other}; it can be Environment, Ec2InstanceMetadata or EcsContainer"
            ))),
        }
    }
}

fn keys_of(section: &Section) -> Option<AwsCredentials> {
    let [access_key, secret_key, token] = KEYS.map(|key| section.get(key).filter(|value| !value.is_empty()));
    Some(AwsCredentials {
        access_key: access_key?.clone(),
        secret_key: Secret::new(secret_key?),
        token: token.map(Secret::new),
        expires: None,
    })
}

fn role_of(arn: &str, section: &Section) -> AssumeRole {
    let argument = |key: &str| section.get(key).filter(|value| !value.is_empty()).cloned();
    let seconds = argument("duration_seconds").and_then(|text| text.parse().ok());
    AssumeRole {
        arn: arn.to_owned(),
        // Quirk: durations up to 15 minutes are ignored; that is the usual one.
        duration: seconds.filter(|seconds| *seconds >= 960).map(Duration::from_secs),
        external_id: argument("external_id"),
        session_name: argument("role_session_name"),
        tags: BTreeMap::new(),
        ..AssumeRole::default()
    }
}
