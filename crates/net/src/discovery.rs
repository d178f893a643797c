//! Services of a host: the document `.well-known/terraform.json`, requested once per host and run.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ecow::{EcoString, eco_format};
use serde_json::{Map, Value as Json};
use yuba_addrs::Hostname;

use crate::Secret;
use crate::credentials::Credentials;
use crate::http::{HttpClient, Request, Response, Url};

const PATH: &str = "/.well-known/terraform.json";
/// The longest document that is read.
const LIMIT: u64 = 1 << 20;

/// The services of hosts, and how to speak to them.
pub struct Services {
    client: HttpClient,
    credentials: Arc<Credentials>,
    /// Hosts whose services are known. A failure is stored too, so that it does not cost time again.
    hosts: Mutex<HashMap<Hostname, Result<Arc<Host>, ServiceError>>>,
    overridden: BTreeMap<Hostname, Map<String, Json>>,
}

/// Services of a host.
#[derive(Clone, Debug)]
pub struct Host {
    name: Hostname,
    base: Url,
    services: Map<String, Json>,
}

/// Reason why a service cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceError {
    /// The host could not be asked.
    Unreachable(EcoString),
    /// The host says something that makes no sense.
    Malformed(EcoString),
    /// The host does not have it.
    NotProvided(EcoString),
    /// The host has it in other versions only.
    OtherVersion(EcoString),
}

impl ServiceError {
    /// The reason, as a sentence without its period.
    pub fn reason(&self) -> &EcoString {
        match self {
            ServiceError::Unreachable(reason)
            | ServiceError::Malformed(reason)
            | ServiceError::NotProvided(reason)
            | ServiceError::OtherVersion(reason) => reason,
        }
    }
}

impl std::fmt::Display for ServiceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.reason())
    }
}

impl Services {
    /// Sends no request yet. The services of `overridden` hosts are those given here.
    pub fn new(
        client: HttpClient,
        credentials: Arc<Credentials>,
        overridden: BTreeMap<Hostname, Map<String, Json>>,
    ) -> Services {
        Services { client, credentials, hosts: Mutex::default(), overridden }
    }

    /// The same services through a client that an interrupt does not stop.
    #[must_use]
    pub fn uninterrupted(&self) -> Services {
        let (client, credentials) = (self.client.uninterrupted(), Arc::clone(&self.credentials));
        Services::new(client, credentials, self.overridden.clone())
    }

    /// The client, for requests to services.
    pub fn client(&self) -> &HttpClient {
        &self.client
    }

    /// The token for a host, to be sent to its services.
    pub fn token(&self, host: &Hostname) -> Option<Secret> {
        self.credentials.token(host)
    }

    /// All credentials.
    pub fn credentials(&self) -> &Arc<Credentials> {
        &self.credentials
    }

    /// The address of a service of a host: `modules.v1`.
    pub fn url(&self, host: &Hostname, service: &str) -> Result<Url, ServiceError> {
        self.host(host)?.url(service)
    }

    /// A request to a service of a host, with the credentials for it.
    pub fn request(&self, host: &Hostname, url: Url) -> Request {
        Request::new(url).with_token(self.token(host))
    }

    /// Services of a host.
    pub fn host(&self, name: &Hostname) -> Result<Arc<Host>, ServiceError> {
        if let Some(known) = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).get(name) {
            return known.clone();
        }
        let found = self.discover(name).map(Arc::new);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.entry(name.clone()).or_insert(found).clone()
    }

    fn discover(&self, name: &Hostname) -> Result<Host, ServiceError> {
        let base = Url::parse(&format!("https://{name}{PATH}"));
        let base = base.map_err(|error| {
            ServiceError::Malformed(eco_format!("the hostname {name} cannot be used in a URL: {error}"))
        })?;
        if let Some(services) = self.overridden.get(name) {
            return Ok(Host { name: name.clone(), base, services: services.clone() });
        }
        let request = self.request(name, base).with_header("accept", "application/json").at_most(LIMIT);
        let response = self.client.get(&request).map_err(|error| {
            ServiceError::Unreachable(eco_format!("the services of {name} could not be requested at {error}"))
        })?;
        let services = document(name, &response)?;
        Ok(Host { name: name.clone(), base: response.url, services })
    }
}

/// Reads the services of a host from its response.
fn document(name: &Hostname, response: &Response) -> Result<Map<String, Json>, ServiceError> {
    if response.status == 404 {
        return Ok(Map::new());
    }
    if response.status != 200 {
        let status = response.status_text();
        let reason = eco_format!("the host {name} responded with \"{status}\" to the request for its services");
        return Err(ServiceError::Unreachable(reason));
    }
    match response.media_type().as_deref() {
        Some("application/json") => {}
        other => {
            let other = other.unwrap_or("nothing");
            let reason = eco_format!(
                "the host {name} responded with content of type {other:?} to the request for its services; it must be \
                 \"application/json\""
            );
            return Err(ServiceError::Malformed(reason));
        }
    }
    serde_json::from_slice(&response.body).map_err(|error| {
        ServiceError::Malformed(eco_format!("the discovery document of {name} is not a JSON object: {error}"))
    })
}

impl Host {
    /// The address of a service.
    pub fn url(&self, service: &str) -> Result<Url, ServiceError> {
        match self.declared(service)? {
            Json::String(text) => self.resolve(service, text),
            _ => Err(self.not_provided(service)),
        }
    }

    /// Description of a service that is more than an address, `login.v1` for instance.
    pub fn object(&self, service: &str) -> Result<&Map<String, Json>, ServiceError> {
        match self.declared(service)? {
            Json::Object(object) => Ok(object),
            // The old syntax of CLI configuration files makes lists of blocks.
            Json::Array(list) if matches!(list.as_slice(), [Json::Object(_)]) => {
                list[0].as_object().ok_or_else(|| self.not_provided(service))
            }
            _ => {
                let name = &self.name;
                let reason = eco_format!("the host {name} must declare the service {service} with a JSON object");
                Err(ServiceError::Malformed(reason))
            }
        }
    }

    /// An address that a host declares, relative to where it declares it.
    pub fn resolve(&self, service: &str, text: &str) -> Result<Url, ServiceError> {
        let name = &self.name;
        let wrong = |reason: &str| {
            ServiceError::Malformed(eco_format!(
                "the host {name} has a wrong address for the service {service}: {reason}"
            ))
        };
        let mut url = self.base.join(text).map_err(|error| wrong(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong(&format!("{:?} is neither http nor https", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it must not contain a user or a password"));
        }
        url.set_fragment(None);
        Ok(url)
    }

    fn declared(&self, service: &str) -> Result<&Json, ServiceError> {
        if let Some(declared) = self.services.get(service) {
            return Ok(declared);
        }
        let kind = service.split('.').next().unwrap_or(service);
        let has_other = self.services.keys().any(|key| key.split('.').next() == Some(kind) && key != kind);
        if has_other {
            let name = &self.name;
            let reason = eco_format!("the host {name} has the service {kind}, but not in the version of {service:?}");
            return Err(ServiceError::OtherVersion(reason));
        }
        Err(self.not_provided(service))
    }

    fn not_provided(&self, service: &str) -> ServiceError {
        let kind = service.split('.').next().unwrap_or(service);
        ServiceError::NotProvided(eco_format!("the host {} does not provide a {kind} service", self.name))
    }
}
