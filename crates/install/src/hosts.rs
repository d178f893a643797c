//! Everything that speaking to hosts needs, set up when it is first needed.

use std::sync::{Arc, OnceLock};

use yuba_net::Environment;
use yuba_net::credentials::Credentials;
use yuba_net::discovery::Services;
use yuba_net::http::{HttpClient, HttpSettings};
use yuba_syntax::Diagnostics;

use crate::cli_config::{self, CliConfig};
use crate::modules::{Fetcher, Registry};

/// The configuration of the user and its clients. Nothing is read before it is needed.
pub struct Hosts {
    environment: Environment,
    settings: Option<HttpSettings>,
    loaded: OnceLock<Loaded>,
}

struct Loaded {
    config: Arc<CliConfig>,
    problems: Diagnostics,
    services: Arc<Services>,
}

/// Without environment variables.
impl Default for Hosts {
    fn default() -> Hosts {
        Hosts::new(Environment::default())
    }
}

impl Hosts {
    /// With an environment.
    pub fn new(environment: Environment) -> Hosts {
        Hosts { environment, settings: None, loaded: OnceLock::new() }
    }

    /// With limits of the HTTP client, instead of those of the configuration.
    #[must_use]
    pub fn with_limits(self, settings: HttpSettings) -> Hosts {
        Hosts { settings: Some(settings), ..self }
    }

    fn loaded(&self) -> &Loaded {
        self.loaded.get_or_init(|| {
            let (config, problems) = cli_config::load(&self.environment);
            let credentials = Arc::new(Credentials::new(config.credential_sources(), &self.environment));
            let client = HttpClient::new(self.settings.clone().unwrap_or_else(|| config.http_settings()));
            let services = Arc::new(Services::new(client, credentials, config.hosts.clone()));
            Loaded { config: Arc::new(config), problems, services }
        })
    }

    /// The environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The CLI configuration.
    pub fn config(&self) -> &Arc<CliConfig> {
        &self.loaded().config
    }

    /// Errors in the CLI configuration.
    pub fn problems(&self) -> &Diagnostics {
        &self.loaded().problems
    }

    /// The services of hosts; with them the client and the credentials.
    pub fn services(&self) -> &Arc<Services> {
        &self.loaded().services
    }

    /// Something that fetches packages of modules.
    pub fn fetcher(&self) -> Fetcher {
        let Loaded { config, services, .. } = self.loaded();
        Fetcher::new(Arc::clone(services), Arc::clone(config), self.environment.clone())
    }

    /// Something that asks module registries.
    pub fn module_registry(&self) -> Registry {
        Registry::new(Arc::clone(self.services()))
    }
}
