//! The module registry protocol: which versions there are, and where a version is.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;
use yuba_addrs::{ModuleSource, RegistryModule, RemoteModule};
use yuba_net::Secret;
use yuba_net::discovery::Services;
use yuba_net::http::{Response, Url};

use super::address::Address;

/// The service of a host.
const SERVICE: &str = "modules.v1";

/// Registries, each asked once for everything.
pub struct Registry {
    services: Arc<Services>,
    versions: HashMap<String, Result<Vec<String>, RegistryError>>,
    locations: HashMap<(String, String), Result<ModuleDownload, String>>,
}

/// Location of the package of a version.
#[derive(Clone, Debug)]
pub enum PackageLocation {
    /// At an address of its own.
    Indirect(RemoteModule),
    /// The registry has the archive itself.
    Direct(Direct),
}

/// An archive of a registry.
#[derive(Clone, Debug)]
pub struct Direct {
    /// Its location.
    pub url: Url,
    /// Sent if the registry wants that.
    pub token: Option<Secret>,
    /// The directory in it.
    pub subdir: Option<ecow::EcoString>,
}

/// Response of a registry about a version, before the subdirectory.
#[derive(Clone, Debug)]
enum ModuleDownload {
    Indirect(RemoteModule),
    Direct(Url, bool),
}

/// Reason of a failed request to a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryError {
    /// The module does not exist.
    NotFound,
    /// The response is malformed.
    Invalid,
    /// Something else.
    Failed(String),
}

impl Registry {
    /// Nothing asked yet.
    pub fn new(services: Arc<Services>) -> Registry {
        Registry { services, versions: HashMap::new(), locations: HashMap::new() }
    }

    /// All versions of a module, as the registry writes them.
    pub fn versions(&mut self, module: &RegistryModule) -> Result<Vec<String>, RegistryError> {
        let key = format!("{}/{}", module.host, module.for_registry());
        if let Some(known) = self.versions.get(&key) {
            return known.clone();
        }
        let found = self.ask_versions(module);
        self.versions.insert(key, found.clone());
        found
    }

    fn ask_versions(&self, module: &RegistryModule) -> Result<Vec<String>, RegistryError> {
        let asked = self.address(module, "versions").and_then(|url| self.get(module, url));
        let response = asked.map_err(RegistryError::Failed)?;
        match response.status {
            200 => {}
            404 => return Err(RegistryError::NotFound),
            _ => {
                let reason = format!("the registry responded with \"{}\"", response.status_text());
                return Err(RegistryError::Failed(reason));
            }
        }
        let answer: Json = serde_json::from_slice(&response.body)
            .map_err(|error| RegistryError::Failed(format!("the response of the registry is not JSON: {error}")))?;
        listed(&answer)
    }

    /// Requests the location of a version of a module.
    pub fn location(&mut self, module: &RegistryModule, version: &str) -> Result<PackageLocation, String> {
        let key = (format!("{}/{}", module.host, module.for_registry()), version.to_owned());
        let known = match self.locations.get(&key) {
            Some(known) => known.clone(),
            None => {
                let found = self.ask_location(module, version);
                self.locations.insert(key, found.clone());
                found
            }
        };
        Ok(match known? {
            ModuleDownload::Indirect(remote) => PackageLocation::Indirect(remote.from_registry(module)),
            ModuleDownload::Direct(url, with_token) => {
                let token = if with_token { self.services.token(&module.host) } else { None };
                PackageLocation::Direct(Direct { url, token, subdir: module.subdir.clone() })
            }
        })
    }

    fn ask_location(&self, module: &RegistryModule, version: &str) -> Result<ModuleDownload, String> {
        let url = self.address(module, &format!("{version}/download"))?;
        let response = self.get(module, url.clone())?;
        let header = response.header("x-terraform-get").filter(|value| !value.is_empty()).map(str::to_owned);
        match response.status {
            204 => indirect(header, &url),
            200 => {
                let answer: Json = serde_json::from_slice(&response.body)
                    .map_err(|error| format!("the response of the registry is not JSON: {error}"))?;
                let location = answer.get("location").and_then(Json::as_str).filter(|text| !text.is_empty());
                match answer.get("use_registry_credentials") {
                    None | Some(Json::Null) => indirect(location.map(str::to_owned).or(header), &url),
                    Some(wanted) => {
                        let location = location.ok_or("the registry does not name the location of the package")?;
                        let url = url.join(location).map_err(|error| {
                            format!("the registry names the location {location:?} of the package, which is not a URL: {error}")
                        })?;
                        if !matches!(url.scheme(), "http" | "https") || url.fragment().is_some() {
                            return Err(format!(
                                "the registry names {location:?} as the location of the package; it must be an \
                                                http or https URL without a fragment"
                            ));
                        }
                        // Quirk: the text "true" is as good.
                        let with_token = *wanted == Json::Bool(true) || *wanted == Json::String("true".into());
                        Ok(ModuleDownload::Direct(url, with_token))
                    }
                }
            }
            404 => Err(format!("the registry does not have version {version}")),
            _ => Err(format!("the registry responded with \"{}\"", response.status_text())),
        }
    }

    fn address(&self, module: &RegistryModule, what: &str) -> Result<Url, String> {
        let mut base = self.services.url(&module.host, SERVICE).map_err(|error| error.to_string())?;
        // Quirk: the service is a directory, also where its address does not end like one; for other services it is not.
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        base.join(&format!("{}/{what}", module.for_registry())).map_err(|error| error.to_string())
    }

    fn get(&self, module: &RegistryModule, url: Url) -> Result<Response, String> {
        let request = self.services.request(&module.host, url);
        // Registries know us by the version of the language that we speak.
        let request = request.with_header("x-terraform-version", "1.12.6");
        self.services.client().get(&request).map_err(|error| error.to_string())
    }
}

/// The versions in the response of a registry. Invalid entries are included, so that they can be reported.
fn listed(answer: &Json) -> Result<Vec<String>, RegistryError> {
    let wrong = |what: &str| RegistryError::Failed(format!("in the response of the registry {what}"));
    let list = |json: Option<&Json>, what: &str| match json {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(list)) => Ok(list.clone()),
        Some(_) => Err(wrong(what)),
    };
    if !answer.is_object() {
        return Err(wrong("it is not a JSON object"));
    }
    let modules = list(answer.get("modules"), "\"modules\" is not an array")?;
    let first = modules.first().ok_or(RegistryError::Invalid)?;
    let versions = list(first.get("versions"), "\"versions\" is not an array")?;
    let text = |version: &Json| match version.get("version") {
        None | Some(Json::Null) => Ok(String::new()),
        Some(Json::String(text)) => Ok(text.clone()),
        Some(_) => Err(wrong("a version is not a string")),
    };
    versions.iter().map(text).collect()
}

/// Location of a package, relative to the original request, even after redirects.
fn indirect(location: Option<String>, asked: &Url) -> Result<ModuleDownload, String> {
    let location = location.ok_or("the registry does not name the location of the package")?;
    let is_relative = ["/", "./", "../"].iter().any(|start| location.starts_with(start));
    let wrong = |reason: &dyn std::fmt::Display| {
        format!("the registry names the location {location:?} of the package, which is not a package address: {reason}")
    };
    let absolute = match is_relative {
        true => asked.join(&location).map_err(|error| wrong(&error))?.to_string(),
        false => location.clone(),
    };
    match ModuleSource::parse(&absolute) {
        Ok(ModuleSource::Remote(remote)) if Address::parse(&remote.package).is_ok_and(|address| address.is_local()) => {
            Err(wrong(&"a registry must not lead to a file of this machine"))
        }
        Ok(ModuleSource::Remote(remote)) => Ok(ModuleDownload::Indirect(remote)),
        Ok(_) => Err(wrong(&"it is the address of a module")),
        Err(error) => Err(wrong(&error.diagnostic().explanation())),
    }
}
