//! Identities: which of them a configuration describes, in the order of OpenTofu.
//!
//! A client certificate comes first, then a client secret, a service connection of Azure DevOps, an ID token of another provider, a
//! managed identity, a workload identity of Kubernetes, and the account of the Azure CLI. The first one with all it needs is used.

use super::certificate::ClientCertificate;
use super::cli::AzureCli;
use super::managed::ManagedIdentity;
use super::tokens::{Assertion, Login, TokenSource};
use super::{AzureCloud, Outside};
use crate::Secret;

/// The arguments that describe an identity. Empty strings are not set.
#[derive(Clone, Debug, Default)]
pub struct IdentitySettings {
    /// The tenant.
    pub tenant_id: String,
    /// The subscription.
    pub subscription_id: String,
    /// The ID of the application.
    pub client_id: String,
    /// A file with that ID.
    pub client_id_file: String,
    /// The secret of the application.
    pub client_secret: Option<Secret>,
    /// A file with that secret.
    pub client_secret_file: String,
    /// A PKCS#12 file in base64.
    pub certificate: Option<Secret>,
    /// The path of a PKCS#12 file.
    pub certificate_file: String,
    /// The password of the PKCS#12 file.
    pub certificate_password: Option<Secret>,
    /// Whether ID tokens of other providers may be used.
    pub use_oidc: bool,
    /// An ID token.
    pub oidc_token: Option<Secret>,
    /// A file with an ID token, which is read again for each access token.
    pub oidc_token_file: String,
    /// The URL of a provider of ID tokens.
    pub oidc_request_url: String,
    /// The token for that URL.
    pub oidc_request_token: Option<Secret>,
    /// The service connection of Azure DevOps.
    pub service_connection_id: String,
    /// Whether the managed identity of this machine may be used.
    pub use_managed_identity: bool,
    /// The endpoint of the managed identity, instead of the usual one.
    pub managed_identity_endpoint: String,
    /// Whether the workload identity of a pod may be used.
    pub use_workload_identity: bool,
    /// Whether the account of the Azure CLI may be used.
    pub use_cli: bool,
}

/// A kind of identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityKind {
    /// An application with a certificate.
    ClientCertificate,
    /// An application with a secret.
    ClientSecret,
    /// A service connection of Azure DevOps.
    AzureDevOps,
    /// An application with ID tokens of another provider.
    OpenIdConnect,
    /// The managed identity of this machine.
    ManagedIdentity,
    /// The workload identity of a pod in Kubernetes.
    WorkloadIdentity,
    /// The account of the Azure CLI.
    AzureCli,
}

/// Reason why a kind of identity cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsuitable {
    /// The kind.
    pub method: IdentityKind,
    /// Reasons, each a sentence without its period.
    pub reasons: Vec<String>,
}

/// Collects reasons.
type Reasons = Vec<String>;
type Found = Result<Login, Reasons>;

impl IdentitySettings {
    /// The first identity with all it needs. The error has the reasons why each identity is unsuitable.
    pub fn select(&self, cloud: &AzureCloud, outside: &Outside) -> Result<TokenSource, Vec<Unsuitable>> {
        let selection = Selection { settings: self, cloud, outside };
        let methods = [
            IdentityKind::ClientCertificate,
            IdentityKind::ClientSecret,
            IdentityKind::AzureDevOps,
            IdentityKind::OpenIdConnect,
            IdentityKind::ManagedIdentity,
            IdentityKind::WorkloadIdentity,
            IdentityKind::AzureCli,
        ];
        let mut refused = Vec::new();
        for method in methods {
            match selection.find(method) {
                Ok(login) => {
                    tracing::debug!(?method, "selected the identity");
                    return Ok(TokenSource::new(method, login, self, cloud, outside));
                }
                Err(reasons) => refused.push(Unsuitable { method, reasons }),
            }
        }
        Err(refused)
    }
}

struct Selection<'s> {
    settings: &'s IdentitySettings,
    cloud: &'s AzureCloud,
    outside: &'s Outside,
}

impl Selection<'_> {
    fn find(&self, method: IdentityKind) -> Found {
        match method {
            IdentityKind::ClientCertificate => self.certificate(),
            IdentityKind::ClientSecret => self.secret(),
            IdentityKind::AzureDevOps => self.azure_devops(),
            IdentityKind::OpenIdConnect => self.open_id_connect(),
            IdentityKind::ManagedIdentity => self.managed_identity(),
            IdentityKind::WorkloadIdentity => self.workload_identity(),
            IdentityKind::AzureCli => self.azure_cli(),
        }
    }

    fn certificate(&self) -> Found {
        let mut reasons = Reasons::new();
        self.check_tenant(&mut reasons);
        let client_id = self.client_id(&mut reasons);
        let certificate = self.pfx().and_then(|pfx| {
            let password = self.settings.certificate_password.as_ref().map_or("", Secret::reveal);
            let invalid = |reason| format!("The client certificate is not valid: {reason}");
            ClientCertificate::read(&pfx, password).map_err(invalid)
        });
        let certificate = certificate.map_err(|reason| reasons.push(reason)).ok();
        match (client_id, certificate) {
            (Some(client_id), Some(certificate)) if reasons.is_empty() => {
                Ok(Login::Certificate { client_id, certificate: certificate.into() })
            }
            _ => Err(reasons),
        }
    }

    /// The bytes of the PKCS#12 file.
    fn pfx(&self) -> Result<Vec<u8>, String> {
        use base64::Engine as _;
        let given = match &self.settings.certificate {
            None => Vec::new(),
            Some(text) => {
                let decoded = base64::engine::general_purpose::STANDARD.decode(text.reveal().trim());
                decoded.map_err(|_| "The client certificate is not valid base64".to_owned())?
            }
        };
        let path = &self.settings.certificate_file;
        let file = match path.is_empty() {
            true => Vec::new(),
            false => (self.outside.read)(std::path::Path::new(path))
                .map_err(|error| format!("Failed to read the client certificate {path}: {error}"))?,
        };
        match (given.is_empty(), file.is_empty()) {
            (true, true) => Err("A client certificate is required".to_owned()),
            (true, false) => Ok(file),
            (false, true) => Ok(given),
            (false, false) if given == file => Ok(file),
            (false, false) => Err(differs("client certificate")),
        }
    }

    fn secret(&self) -> Found {
        let mut reasons = Reasons::new();
        self.check_tenant(&mut reasons);
        let client_id = self.client_id(&mut reasons);
        let given = self.settings.client_secret.as_ref().map_or("", Secret::reveal);
        let secret = consolidated(self.outside, given, &self.settings.client_secret_file, "client secret");
        let secret = secret.and_then(|secret| required(secret, "client secret"));
        let secret = secret.map_err(|reason| reasons.push(reason)).ok().map(Secret::new);
        match (client_id, secret) {
            (Some(client_id), Some(secret)) if reasons.is_empty() => Ok(Login::Secret { client_id, secret }),
            _ => Err(reasons),
        }
    }

    fn azure_devops(&self) -> Found {
        let settings = self.settings;
        if !settings.use_oidc || settings.service_connection_id.is_empty() {
            let reason =
                "The argument use_oidc (or ARM_USE_OIDC) must be true, and ado_service_connection_id must be set";
            return Err(vec![reason.to_owned()]);
        }
        let mut reasons = Reasons::new();
        let url = self.outside.environment.get("SYSTEM_OIDCREQUESTURI");
        if url.is_none() {
            let reason = "The environment variable SYSTEM_OIDCREQUESTURI is not set. Azure Pipelines sets it";
            reasons.push(reason.to_owned());
        }
        if settings.oidc_request_token.is_none() {
            reasons.push("The argument oidc_request_token (or SYSTEM_ACCESSTOKEN) is not set".to_owned());
        }
        self.check_tenant(&mut reasons);
        let client_id = self.client_id(&mut reasons);
        match (url, settings.oidc_request_token.clone(), client_id) {
            (Some(url), Some(token), Some(client_id)) if reasons.is_empty() => {
                let connection = settings.service_connection_id.clone();
                let assertion = Assertion::Pipelines { url: url.to_owned(), connection, token };
                Ok(Login::Assertion { client_id, assertion })
            }
            _ => Err(reasons),
        }
    }

    fn open_id_connect(&self) -> Found {
        let settings = self.settings;
        if !settings.use_oidc {
            return Err(vec!["The argument use_oidc (or ARM_USE_OIDC) is not true".to_owned()]);
        }
        let mut reasons = Reasons::new();
        self.check_tenant(&mut reasons);
        let client_id = self.client_id(&mut reasons);
        let assertion = if settings.oidc_token.is_some() || !settings.oidc_token_file.is_empty() {
            Some(Assertion::Given { token: settings.oidc_token.clone(), file: settings.oidc_token_file.clone() })
        } else {
            match (&settings.oidc_request_url, settings.oidc_request_token.clone()) {
                (url, Some(token)) if !url.is_empty() => {
                    let audience = self.cloud.exchange_audience();
                    Some(Assertion::Request { url: url.clone(), token, audience })
                }
                _ => {
                    let reason = "An ID token is required: set oidc_token, oidc_token_file_path, or oidc_request_url together with \
                                  oidc_request_token";
                    reasons.push(reason.to_owned());
                    None
                }
            }
        };
        // A provider that refuses its token leaves room for the other kinds of identity.
        if let Some(Err(error)) = assertion.as_ref().map(|assertion| assertion.get(self.outside)) {
            reasons.push(format!("The ID token is not available: {error}"));
        }
        match (client_id, assertion) {
            (Some(client_id), Some(assertion)) if reasons.is_empty() => Ok(Login::Assertion { client_id, assertion }),
            _ => Err(reasons),
        }
    }

    fn managed_identity(&self) -> Found {
        if !self.settings.use_managed_identity {
            return Err(vec!["The argument use_msi (or ARM_USE_MSI) is not true".to_owned()]);
        }
        let endpoint = &self.settings.managed_identity_endpoint;
        let found = ManagedIdentity::find(&self.outside.environment, endpoint, &self.settings.client_id);
        found.map(Login::Managed).map_err(|reason| vec![reason])
    }

    fn workload_identity(&self) -> Found {
        if !self.settings.use_workload_identity {
            let reason = "The argument use_aks_workload_identity (or ARM_USE_AKS_WORKLOAD_IDENTITY) is not true";
            return Err(vec![reason.to_owned()]);
        }
        let mut reasons = Reasons::new();
        let mut variable = |name: &str| {
            let value = self.outside.environment.get(name).map(str::to_owned);
            if value.is_none() {
                reasons
                    .push(format!("The environment variable {name} is not set. The workload identity webhook sets it"));
            }
            value.unwrap_or_default()
        };
        let (client_id, tenant) = (variable("AZURE_CLIENT_ID"), variable("AZURE_TENANT_ID"));
        let file = variable("AZURE_FEDERATED_TOKEN_FILE");
        if !is_tenant(&tenant) && !tenant.is_empty() {
            reasons.push("The environment variable AZURE_TENANT_ID is not a valid tenant ID".to_owned());
        }
        match reasons.is_empty() {
            true => Ok(Login::Workload { client_id, tenant, assertion: Assertion::Given { token: None, file } }),
            false => Err(reasons),
        }
    }

    fn azure_cli(&self) -> Found {
        if !self.settings.use_cli {
            return Err(vec!["The argument use_cli (or ARM_USE_CLI) is false".to_owned()]);
        }
        let tenant = &self.settings.tenant_id;
        if !tenant.is_empty() && !is_tenant(tenant) {
            return Err(vec![invalid_tenant(tenant)]);
        }
        let cli = AzureCli::find(&self.outside.environment, &self.settings.subscription_id);
        cli.map(Login::Cli).map_err(|reason| vec![reason])
    }

    fn check_tenant(&self, reasons: &mut Reasons) {
        match self.settings.tenant_id.as_str() {
            "" => reasons.push("The argument tenant_id (or ARM_TENANT_ID) is not set".to_owned()),
            tenant if is_tenant(tenant) => {}
            tenant => reasons.push(invalid_tenant(tenant)),
        }
    }

    fn client_id(&self, reasons: &mut Reasons) -> Option<String> {
        let found = consolidated(self.outside, &self.settings.client_id, &self.settings.client_id_file, "client ID");
        found.and_then(|id| required(id, "client ID")).map_err(|reason| reasons.push(reason)).ok()
    }
}

/// Whether a string can be a tenant, which is part of URLs.
pub(super) fn is_tenant(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '-')
}

fn invalid_tenant(tenant: &str) -> String {
    format!("The tenant ID \"{tenant}\" is not valid. It consists of letters, digits, periods and hyphens")
}

fn differs(name: &str) -> String {
    format!("The {name} and the file with the {name} are different. Set one of them")
}

fn required(value: String, name: &str) -> Result<String, String> {
    if value.is_empty() { Err(format!("A {name} is required")) } else { Ok(value) }
}

/// A value that is given directly, in a file, or in both if they are equal. Empty if it is in neither.
pub(super) fn consolidated(outside: &Outside, given: &str, file: &str, name: &str) -> Result<String, String> {
    let from_file = match file.is_empty() {
        true => String::new(),
        false => outside.text(file).map_err(|reason| format!("The {name} is not available: {reason}"))?,
    };
    match (given, from_file) {
        ("", from_file) => Ok(from_file),
        (given, from_file) if from_file.is_empty() || from_file == given => Ok(given.to_owned()),
        _ => Err(differs(name)),
    }
}
