//! Clouds of Azure: the public ones by name, other clouds by their metadata host.

use serde_json::Value as Json;

use super::{AzureError, Outside, json, url};
use crate::http::{Request, Url};

/// The endpoints of a cloud.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AzureCloud {
    /// Token endpoints of identities.
    pub login: Url,
    /// The resource manager.
    pub resource_manager: Url,
    /// The audience of tokens for the resource manager.
    pub audience: String,
    /// The suffix of the host names of storage services: `core.windows.net`.
    pub storage_suffix: String,
}

/// Names of an environment, login host, endpoint and audience of the resource manager, suffix of storage hosts.
type Row = (&'static [&'static str], &'static str, &'static str, &'static str, &'static str);

const CLOUDS: [Row; 3] = [
    (
        &["", "public", "global", "canary"],
        "https://login.microsoftonline.com/",
        "https://management.azure.com",
        "https://management.core.windows.net/",
        "core.windows.net",
    ),
    (
        &["usgovernment", "usgovernmentl4", "dod", "usgovernmentl5"],
        "https://login.microsoftonline.us/",
        "https://management.usgovcloudapi.net",
        "https://management.core.usgovcloudapi.net/",
        "core.usgovcloudapi.net",
    ),
    (
        &["china"],
        "https://login.chinacloudapi.cn/",
        "https://management.chinacloudapi.cn",
        "https://management.core.chinacloudapi.cn/",
        "core.chinacloudapi.cn",
    ),
];

impl AzureCloud {
    /// The cloud with this name; the public one for an empty name.
    pub fn named(environment: &str) -> Option<AzureCloud> {
        let (_, login, resource_manager, audience, suffix) = CLOUDS.iter().find(|row| row.0.contains(&environment))?;
        Some(AzureCloud {
            login: Url::parse(login).ok()?,
            resource_manager: Url::parse(resource_manager).ok()?,
            audience: (*audience).to_owned(),
            storage_suffix: (*suffix).to_owned(),
        })
    }

    /// Names that [`AzureCloud::named`] knows, for messages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        CLOUDS.iter().flat_map(|row| row.0).copied().filter(|name| !name.is_empty())
    }

    /// The cloud that a metadata host describes, such as one of Azure Stack.
    pub fn of_metadata_host(outside: &Outside, host: &str) -> Result<AzureCloud, AzureError> {
        let invalid = || AzureError::lasting(format!("\"{host}\" is not a valid host name"));
        let address = Url::parse(&format!("https://{host}/metadata/endpoints?api-version=2023-11-01"));
        let address = address.ok().filter(|address| address.path() == "/metadata/endpoints").ok_or_else(invalid)?;
        let found = json(outside.client(), &Request::new(address))?;
        let text = |pointer: &str| found.pointer(pointer).and_then(Json::as_str).filter(|text| !text.is_empty());
        let missing = |name: &str| AzureError::lasting(format!("the metadata of {host} contain no valid {name}"));
        let endpoint = |pointer: &str, name: &str| {
            let parsed = url(text(pointer).unwrap_or_default(), name).map_err(|_| missing(name))?;
            match parsed.scheme() {
                "https" => Ok(parsed),
                _ => Err(AzureError::lasting(format!("the {name} of {host} is not an https URL"))),
            }
        };
        Ok(AzureCloud {
            login: endpoint("/authentication/loginEndpoint", "login endpoint")?,
            resource_manager: endpoint("/resourceManager", "resource manager endpoint")?,
            audience: text("/authentication/audiences/0").ok_or_else(|| missing("token audience"))?.to_owned(),
            storage_suffix: text("/suffixes/storage").ok_or_else(|| missing("storage suffix"))?.to_owned(),
        })
    }

    /// The scope of tokens for the resource manager.
    pub fn resource_manager_scope(&self) -> String {
        // Quirk: the audience ends with a slash in the public clouds, and the scope then has two.
        format!("{}/.default", self.audience)
    }

    /// The audience that an ID token of another identity provider must have.
    pub(super) fn exchange_audience(&self) -> &'static str {
        match self.login.as_str() {
            "https://login.chinacloudapi.cn/" => "api://AzureADTokenExchangeChina",
            "https://login.microsoftonline.us/" => "api://AzureADTokenExchangeUSGov",
            _ => "api://AzureADTokenExchange",
        }
    }
}
