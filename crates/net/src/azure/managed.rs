//! Managed identities: tokens from the metadata service of a virtual machine, or from the endpoint that a platform names in
//! environment variables.

use std::path::Path;
use std::time::Duration;

use super::tokens::Token;
use super::{AzureError, Outside, json, response, url};
use crate::http::{Request, shown};
use crate::machine::MachineService;
use crate::{Environment, Secret};

/// The agent of Azure Arc.
const ARC: &str = "http://127.0.0.1:40342/metadata/identity/oauth2/token";
/// The file that indicates an installed agent of Azure Arc.
const ARC_AGENT: &str = "/opt/azcmagent/bin/himds";
/// The directory with the secrets of that agent.
const ARC_SECRETS: &str = "/var/opt/azcmagent/tokens";
/// The largest secret of that agent, in bytes.
const ARC_SECRET_LIMIT: usize = 4096;
/// Limit for one request. These endpoints are near.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An endpoint with the identity that is requested.
#[derive(Debug)]
pub(super) struct ManagedIdentity {
    source: Source,
    endpoint: String,
    client_id: String,
}

/// The kinds of endpoints.
#[derive(Debug)]
enum Source {
    /// The metadata service of a virtual machine.
    Imds,
    /// App Service and Functions.
    AppService { header: Secret },
    /// Service Fabric.
    ServiceFabric { header: Secret },
    /// Azure Machine Learning.
    MachineLearning { secret: Secret, default_client: String },
    /// Cloud Shell.
    CloudShell,
    /// A machine with the agent of Azure Arc.
    Arc,
}

impl ManagedIdentity {
    /// The endpoint that the environment names; the metadata service if it names none. `configured` replaces its address. The
    /// error is a sentence without its period.
    pub(super) fn find(variables: &Environment, configured: &str, client_id: &str) -> Result<ManagedIdentity, String> {
        let get = |name: &str| variables.get(name).map(str::to_owned);
        let secret = |name: &str| variables.get(name).map(Secret::new);
        let (identity, header) = (get("IDENTITY_ENDPOINT"), secret("IDENTITY_HEADER"));
        let (source, endpoint) = match (identity, header, get("MSI_ENDPOINT")) {
            (Some(endpoint), Some(header), _) => match get("IDENTITY_SERVER_THUMBPRINT") {
                Some(_) => (Source::ServiceFabric { header }, endpoint),
                None => (Source::AppService { header }, endpoint),
            },
            (_, _, Some(endpoint)) => match secret("MSI_SECRET") {
                Some(secret) => {
                    let default_client = get("DEFAULT_IDENTITY_CLIENT_ID").unwrap_or_default();
                    (Source::MachineLearning { secret, default_client }, endpoint)
                }
                None => (Source::CloudShell, endpoint),
            },
            (Some(endpoint), None, None) if get("IMDS_ENDPOINT").is_some() => (Source::Arc, endpoint),
            _ if !configured.is_empty() => (Source::Imds, configured.to_owned()),
            (identity, ..) if Path::new(ARC_AGENT).exists() => {
                (Source::Arc, identity.unwrap_or_else(|| ARC.to_owned()))
            }
            _ => {
                let host = variables.machine_service(MachineService::Azure)?;
                (Source::Imds, format!("http://{host}/metadata/identity/oauth2/token"))
            }
        };
        let alone = match source {
            Source::Arc => Some("Azure Arc"),
            Source::CloudShell => Some("Cloud Shell"),
            Source::ServiceFabric { .. } => Some("Service Fabric"),
            _ => None,
        };
        match alone.filter(|_| !client_id.is_empty()) {
            Some(name) => Err(format!("{name} has one managed identity. Remove client_id and ARM_CLIENT_ID")),
            None => Ok(ManagedIdentity { source, endpoint, client_id: client_id.to_owned() }),
        }
    }

    /// Requests a token for a resource.
    pub(super) fn token(&self, outside: &Outside, resource: &str) -> Result<Token, AzureError> {
        let endpoint = url(&self.endpoint, "the endpoint of the managed identity")?;
        let mut request = Request { timeout: Some(TIMEOUT), ..Request::new(endpoint) };
        let mut add = |name: &str, value: &str| {
            if !value.is_empty() {
                request.url.query_pairs_mut().append_pair(name, value);
            }
        };
        match &self.source {
            Source::Imds => {
                add("api-version", "2018-02-01");
                add("resource", resource);
                add("client_id", &self.client_id);
                request = request.with_header("metadata", "true");
            }
            Source::AppService { header } => {
                add("api-version", "2019-08-01");
                add("resource", resource);
                add("client_id", &self.client_id);
                request = request.with_header("x-identity-header", header.reveal());
            }
            Source::ServiceFabric { header } => {
                add("api-version", "2019-07-01-preview");
                add("resource", resource);
                request = request.with_header("accept", "application/json").with_header("secret", header.reveal());
            }
            Source::MachineLearning { secret, default_client } => {
                add("api-version", "2017-09-01");
                add("resource", resource);
                add("clientid", if self.client_id.is_empty() { default_client } else { &self.client_id });
                request = request.with_header("secret", secret.reveal());
            }
            Source::CloudShell => {
                let timeout = request.timeout;
                request = Request::form(request.url, &[("resource", resource)]).with_header("metadata", "true");
                request.timeout = timeout;
            }
            Source::Arc => {
                add("api-version", "2020-06-01");
                add("resource", resource);
                request = request.with_header("metadata", "true");
                let key = arc_secret(outside, &request)?;
                request = request.with_header("authorization", format!("Basic {}", key.reveal()));
            }
        }
        let found = json(&outside.direct, &request).map_err(|error| self.explained(error))?;
        Token::of_json(&found, &shown(&request.url))
    }

    fn explained(&self, error: AzureError) -> AzureError {
        let AzureError { reason, may_pass } = error;
        // The metadata service responds so while it is being updated.
        let may_pass = may_pass || reason.contains("\"404 ") || reason.contains("\"410 ");
        let advice = match (&self.source, reason.contains("\"400 "), self.client_id.is_empty()) {
            (Source::Imds | Source::AppService { .. }, true, false) => {
                format!(". Check that the identity {} is assigned to this machine", self.client_id)
            }
            (Source::Imds | Source::AppService { .. }, true, true) => {
                ". Check that a managed identity is assigned to this machine".to_owned()
            }
            (Source::Imds, ..) => ". The metadata service is available on virtual machines of Azure only".to_owned(),
            _ => String::new(),
        };
        AzureError { reason: format!("{}{advice}", reason.trim_end_matches('.')), may_pass }
    }
}

/// The secret of the agent of Azure Arc, from the file that the agent names. Other files are not read: the name comes from a response.
fn arc_secret(outside: &Outside, request: &Request) -> Result<Secret, AzureError> {
    let failed = |reason: &str| AzureError::lasting(format!("GET {}: {reason}", shown(&request.url)));
    let challenge = response(&outside.direct, request)?;
    if challenge.status != 401 {
        return Err(failed("the agent of Azure Arc did not name a file with its secret"));
    }
    let named =
        challenge.header("www-authenticate").and_then(|value| value.split_once("Basic realm=")).map(|(_, path)| path);
    let path = Path::new(named.ok_or_else(|| failed("the agent of Azure Arc did not name a file with its secret"))?);
    let is_expected = path.parent() == Some(Path::new(ARC_SECRETS)) && path.extension().is_some_and(|end| end == "key");
    if !is_expected {
        return Err(failed(&format!("the agent of Azure Arc named a file outside of {ARC_SECRETS}")));
    }
    let bytes = (outside.read)(path).map_err(|error| failed(&format!("failed to read {}: {error}", path.display())))?;
    let secret = String::from_utf8(bytes).ok().filter(|text| text.len() <= ARC_SECRET_LIMIT);
    let secret = secret.filter(|text| !text.chars().any(char::is_control));
    secret.map(Secret::new).ok_or_else(|| failed(&format!("the file {} is not a secret of Azure Arc", path.display())))
}
