//! The HTTP client of AWS services: authorities, proxies, no redirects.

use std::path::Path;

use super::profile::expand;
use super::{AwsError, Reader};
use crate::Environment;
use crate::http::{ClientOptions, HttpClient, Proxies, Redirects};
use crate::trust::{Authorities, TlsSettings, Verification};

/// Arguments about connections.
#[derive(Clone, Debug, Default)]
pub struct AwsConnection {
    /// A file with the authorities to trust, instead of those of the machine.
    pub ca_bundle: Option<String>,
    /// Whether certificates of hosts are verified.
    pub verification: Verification,
    /// The proxy for `http` URLs, instead of that of the environment.
    pub http_proxy: Option<String>,
    /// The proxy for `https` URLs, instead of that of the environment.
    pub https_proxy: Option<String>,
    /// Hosts without proxy, instead of those of the environment.
    pub no_proxy: Option<String>,
}

impl AwsConnection {
    /// A client for services of AWS.
    pub fn client(
        &self,
        base: &HttpClient,
        environment: &Environment,
        read: Reader<'_>,
    ) -> Result<HttpClient, AwsError> {
        let authorities = match &self.ca_bundle {
            None => Authorities::Machine,
            Some(path) => {
                let path = expand(path, environment);
                let pem = read(Path::new(&path)).map_err(|error| {
                    AwsError::configuration(format!("failed to read the certificate authorities in {path}: {error}"))
                })?;
                Authorities::Only(pem)
            }
        };
        let tls = TlsSettings { authorities, verification: self.verification, ..TlsSettings::default() };
        let proxies = self.proxies(environment);
        let authority_setting = Some("custom_ca_bundle or AWS_CA_BUNDLE");
        Ok(base.with_options(ClientOptions { tls, proxies, redirects: Redirects::Return, authority_setting }))
    }

    fn proxies(&self, environment: &Environment) -> Option<Proxies> {
        if self.http_proxy.is_none() && self.https_proxy.is_none() && self.no_proxy.is_none() {
            return None;
        }
        let variable = |names: [&str; 2]| names.iter().find_map(|name| environment.get(name)).map(str::to_owned);
        let http = self.http_proxy.clone().or_else(|| variable(["HTTP_PROXY", "http_proxy"]));
        let https = self.https_proxy.clone().or_else(|| variable(["HTTPS_PROXY", "https_proxy"]));
        let except = self.no_proxy.clone().or_else(|| variable(["NO_PROXY", "no_proxy"])).unwrap_or_default();
        Some(Proxies { http, https, except })
    }

    /// A client for addresses of the machine itself: metadata of the instance, credentials of the container.
    pub(super) fn direct(client: &HttpClient) -> HttpClient {
        let proxies = Some(Proxies::default());
        client.with_options(ClientOptions { proxies, redirects: Redirects::Return, ..ClientOptions::default() })
    }
}
