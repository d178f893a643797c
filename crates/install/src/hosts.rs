//! Everything that speaking to hosts needs, set up when it is first needed.

use std::sync::{Arc, OnceLock};

use yuba_net::Environment;
use yuba_net::credentials::Credentials;
use yuba_net::discovery::Services;
use yuba_net::http::{Client, HttpSettings};
use yuba_syntax::Diagnostics;

use crate::cli_config::{self, CliConfig};
use crate::modules::{Fetcher, Registry};

/// The configuration of the user and what follows from it. Nothing is read before somebody asks for it.
#[derive(Default)]
pub struct Hosts {
    given: Option<(Environment, Option<HttpSettings>)>,
    loaded: OnceLock<Loaded>,
}

struct Loaded {
    environment: Environment,
    config: Arc<CliConfig>,
    problems: Diagnostics,
    services: Arc<Services>,
}

impl Hosts {
    /// With the environment of this process.
    pub fn new() -> Hosts {
        Hosts::default()
    }

    /// With an environment, and maybe other patience than the configuration has.
    pub fn with(environment: Environment, settings: Option<HttpSettings>) -> Hosts {
        Hosts { given: Some((environment, settings)), loaded: OnceLock::new() }
    }

    fn loaded(&self) -> &Loaded {
        self.loaded.get_or_init(|| {
            let (environment, settings) = self.given.clone().unwrap_or_else(|| (Environment::of_process(), None));
            let (config, problems) = cli_config::load(&environment);
            let credentials = Arc::new(Credentials::new(config.credential_sources(), &environment));
            let client = Client::new(settings.unwrap_or_else(|| config.http_settings()));
            let services = Arc::new(Services::new(client, credentials, config.hosts.clone()));
            Loaded { environment, config: Arc::new(config), problems, services }
        })
    }

    /// The environment.
    pub fn environment(&self) -> &Environment {
        &self.loaded().environment
    }

    /// The CLI configuration.
    pub fn config(&self) -> &Arc<CliConfig> {
        &self.loaded().config
    }

    /// What is wrong with the CLI configuration.
    pub fn problems(&self) -> &Diagnostics {
        &self.loaded().problems
    }

    /// The services of hosts; with them the client and the credentials.
    pub fn services(&self) -> &Arc<Services> {
        &self.loaded().services
    }

    /// Something that fetches packages of modules.
    pub fn fetcher(&self) -> Fetcher {
        let Loaded { environment, config, services, .. } = self.loaded();
        Fetcher::new(Arc::clone(services), Arc::clone(config), environment.clone())
    }

    /// Something that asks module registries.
    pub fn module_registry(&self) -> Registry {
        Registry::new(Arc::clone(self.services()))
    }
}
