//! Credentials of the machine itself: the metadata service of EC2 instances, and the credentials service of containers.

use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::Path;
use std::time::Duration;

use serde_json::Value as Json;

use super::{AwsCredentials, AwsError, Moment, Session};
use crate::Secret;
use crate::http::{Method, Request, Response, Url};
use crate::machine::{CONTAINER_HOSTS, MachineService};

/// The metadata service of EC2 instances.
#[derive(Clone, Debug, Default)]
pub struct MetadataSettings {
    /// Its address.
    pub endpoint: Option<String>,
    /// Usual address to use.
    pub address: MetadataAddress,
    /// Whether it is asked.
    pub usage: MetadataUse,
}

/// The usual addresses of the metadata service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataAddress {
    /// The one of IPv4.
    #[default]
    Ipv4,
    /// The one of IPv6.
    Ipv6,
}

impl MetadataAddress {
    /// Parses the name that arguments and variables use. None for other names.
    pub fn parse(text: &str) -> Option<MetadataAddress> {
        match text.to_ascii_lowercase().as_str() {
            "ipv4" => Some(MetadataAddress::Ipv4),
            "ipv6" => Some(MetadataAddress::Ipv6),
            _ => None,
        }
    }
}

/// Whether the metadata service is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataUse {
    /// Unless `AWS_EC2_METADATA_DISABLED` is true.
    #[default]
    ByEnvironment,
    /// It is.
    On,
    /// It is not.
    Off,
}

const TIMEOUT: Duration = Duration::from_secs(1);
const CONTAINER_TIMEOUT: Duration = Duration::from_secs(5);
const ROLES: &str = "latest/meta-data/iam/security-credentials/";

/// The sentence for a user without any credentials.
const NOTHING: &str = "no argument, environment variable, shared file or service provides AWS credentials";

impl Session {
    /// Credentials of the role of an EC2 instance.
    pub(super) fn metadata_credentials(&self) -> Result<AwsCredentials, AwsError> {
        let is_off = match self.settings.metadata.usage {
            MetadataUse::On => false,
            MetadataUse::Off => true,
            MetadataUse::ByEnvironment => {
                let disabled = self.environment.get("AWS_EC2_METADATA_DISABLED");
                disabled.is_some_and(|value| value.eq_ignore_ascii_case("true"))
            }
        };
        let failed = |reason: String| AwsError::no_credentials(format!("{NOTHING}; {reason}"));
        if is_off {
            return Err(failed("the metadata service of EC2 instances is disabled".to_owned()));
        }
        let asked = || -> Result<AwsCredentials, String> {
            let token = self.metadata_token()?;
            let roles = self.metadata(ROLES, token.as_ref())?;
            let role = String::from_utf8_lossy(&roles.body).lines().next().unwrap_or_default().trim().to_owned();
            if !roles.is_success() || role.is_empty() {
                return Err("the EC2 instance has no IAM role".to_owned());
            }
            let response = self.metadata(&format!("{ROLES}{role}"), token.as_ref())?;
            parse(&response, "the metadata service of the EC2 instance")
        };
        asked().map_err(failed)
    }

    /// The account of the EC2 instance that this machine is.
    pub(super) fn instance_account(&self) -> Option<String> {
        let token = self.metadata_token().ok()?;
        let response = self.metadata("latest/meta-data/iam/info", token.as_ref()).ok()?;
        let info: Json = serde_json::from_slice(&response.body).ok()?;
        super::sts::account_of(info.get("InstanceProfileArn")?.as_str()?)
    }

    fn metadata_url(&self, path: &str) -> Result<Url, String> {
        let settings = &self.settings.metadata;
        let variables = ["AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_METADATA_URL"];
        let variable = || variables.iter().find_map(|name| self.environment.get(name));
        let of_profile = || {
            let section = self.profiles.profile(&self.profile)?;
            section.get("ec2_metadata_service_endpoint").map(String::as_str).filter(|url| !url.is_empty())
        };
        let mode = self.environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE").and_then(MetadataAddress::parse);
        let usual = match (settings.address, mode) {
            (MetadataAddress::Ipv6, _) | (_, Some(MetadataAddress::Ipv6)) => MachineService::Ec2V6,
            _ => MachineService::Ec2,
        };
        let base = match settings.endpoint.as_deref().or_else(variable).or_else(of_profile) {
            Some(base) => base.to_owned(),
            None => format!("http://{}", self.environment.machine_service(usual)?),
        };
        let url = format!("{}/{path}", base.trim_end_matches('/'));
        Url::parse(&url).map_err(|error| format!("the address {base} of the metadata service is not a URL: {error}"))
    }

    /// A token for version 2 of the service; none if the service has version 1 only.
    fn metadata_token(&self) -> Result<Option<Secret>, String> {
        let url = self.metadata_url("latest/api/token")?;
        let request = Request { method: Method::PUT, timeout: Some(TIMEOUT), retries: Some(1), ..Request::new(url) };
        let request = request.with_header("x-aws-ec2-metadata-token-ttl-seconds", "300");
        let request = Request { body: Some(Vec::new()), ..request };
        let response =
            self.direct.get(&request).map_err(|_| "this machine has no metadata service of EC2".to_owned())?;
        let is_old_allowed = !self.is_on("AWS_EC2_METADATA_V1_DISABLED", "ec2_metadata_v1_disabled");
        match response.status {
            200 => Ok(Some(Secret::new(String::from_utf8_lossy(&response.body).trim()))),
            403..=405 if is_old_allowed => Ok(None),
            _ => Err(format!("the metadata service of EC2 refuses a token: \"{}\"", response.status_text())),
        }
    }

    fn metadata(&self, path: &str, token: Option<&Secret>) -> Result<Response, String> {
        let request = Request { timeout: Some(TIMEOUT), retries: Some(2), ..Request::new(self.metadata_url(path)?) };
        let request = match token {
            Some(token) => request.with_header("x-aws-ec2-metadata-token", token.reveal()),
            None => request,
        };
        self.direct.get(&request).map_err(|error| format!("the metadata service of EC2 failed: {error}"))
    }

    /// Credentials of the task or pod that this process belongs to.
    pub(super) fn container_credentials(&self) -> Result<AwsCredentials, AwsError> {
        let asked = || -> Result<AwsCredentials, String> {
            let variable = |name: &str| self.environment.get(name);
            let url = match variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
                Some(path) => {
                    format!("http://{}{path}", self.environment.machine_service(MachineService::EcsTask)?)
                }
                None => variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")
                    .ok_or("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI are not set")?
                    .to_owned(),
            };
            let url = Url::parse(&url).map_err(|error| format!("the address of the container credentials: {error}"))?;
            if url.scheme() == "http" && !is_local(&url) {
                return Err(format!(
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI has the host {}; without TLS only addresses of this machine, ECS \
                     and EKS are allowed",
                    url.host_str().unwrap_or_default()
                ));
            }
            let token = match variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
                Some(path) => {
                    let bytes = (self.read)(Path::new(path))
                        .map_err(|error| format!("failed to read the authorization token {path}: {error}"))?;
                    Some(String::from_utf8_lossy(&bytes).into_owned())
                }
                None => variable("AWS_CONTAINER_AUTHORIZATION_TOKEN").map(str::to_owned),
            };
            let mut request = Request { timeout: Some(CONTAINER_TIMEOUT), retries: Some(2), ..Request::new(url) }
                .with_header("accept", "application/json");
            if let Some(token) = token {
                if token.contains(['\r', '\n']) {
                    return Err("the authorization token of the container contains a line break".to_owned());
                }
                request = request.with_header("authorization", token);
            }
            let response = self.direct.get(&request).map_err(|error| error.to_string())?;
            parse(&response, "the credentials service of the container")
        };
        asked().map_err(|reason| AwsError::no_credentials(format!("failed to obtain container credentials: {reason}")))
    }
}

/// Whether a host is this machine, or the credentials service of ECS or EKS.
fn is_local(url: &Url) -> bool {
    let of_containers = CONTAINER_HOSTS.map(|host| host.parse::<IpAddr>().ok());
    let is_allowed = |address: IpAddr| address.is_loopback() || of_containers.contains(&Some(address));
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_allowed(address);
    }
    match (host, url.port_or_known_default().unwrap_or(80)).to_socket_addrs() {
        Ok(addresses) => {
            let addresses: Vec<IpAddr> = addresses.map(|address| address.ip()).collect();
            !addresses.is_empty() && addresses.into_iter().all(is_allowed)
        }
        Err(_) => false,
    }
}

fn parse(response: &Response, service: &str) -> Result<AwsCredentials, String> {
    let json: Json = serde_json::from_slice(&response.body).unwrap_or_default();
    let text = |name: &str| json.get(name).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    if !response.is_success() || text("Code").is_some_and(|code| code != "Success") {
        let said = text("Message").or_else(|| text("message")).map(|text| format!(": {text}")).unwrap_or_default();
        return Err(format!("{service} responded \"{}\"{said}", response.status_text()));
    }
    let missing = || format!("the response of {service} has no credentials");
    Ok(AwsCredentials {
        access_key: text("AccessKeyId").ok_or_else(missing)?,
        secret_key: Secret::new(text("SecretAccessKey").ok_or_else(missing)?),
        token: text("Token").map(Secret::new),
        expires: text("Expiration").as_deref().and_then(Moment::parse_rfc3339),
    })
}
