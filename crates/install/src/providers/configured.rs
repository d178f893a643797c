//! The configured package sources: the block `provider_installation`, or the usual ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yuba_net::Environment;
use yuba_net::discovery::Services;
use yuba_syntax::Diagnostics;

use super::diagnostics;
use super::local_mirror::LocalMirror;
use super::network_mirror::NetworkMirror;
use super::oci_mirror::OciMirror;
use super::registry::{ProviderRegistry, Signing};
use super::source::{PackageSource, PackageSources, Pattern, Rule};
use crate::cli_config::{CliConfig, InstallationMethod, Location, TrustedHashes};

/// Shared inputs of all package sources.
#[derive(Clone)]
pub struct Means {
    /// Settings.
    pub config: Arc<CliConfig>,
    /// Hosts.
    pub services: Arc<Services>,
    /// Strictness about signatures.
    pub signing: Signing,
    /// Number of retries of a download, if set.
    pub retries: Option<u32>,
}

impl Means {
    /// As configuration and environment want it.
    pub fn new(config: Arc<CliConfig>, services: Arc<Services>, environment: &Environment) -> Means {
        let retries = environment.get("TF_PROVIDER_DOWNLOAD_RETRY").and_then(|text| text.parse().ok());
        // A package is worth more patience than a question.
        let retries = Some(retries.unwrap_or(2));
        Means { config, services, signing: Signing::of(environment), retries }
    }

    /// Registries.
    pub fn registry(&self) -> ProviderRegistry {
        ProviderRegistry::new(self.services.clone(), self.signing, self.retries)
    }

    /// A network mirror, or why there cannot be one.
    pub fn network_mirror(&self, url: &str) -> Result<NetworkMirror, String> {
        NetworkMirror::new(url, self.services.clone(), TrustedHashes::Verified, self.retries)
    }
}

/// The package sources of providers. `dir` is the directory in which the process was started.
pub fn package_sources(means: &Means, dir: &Path, environment: &Environment) -> (PackageSources, Diagnostics) {
    match &means.config.provider_installation {
        Some(installation) if !installation.methods.is_empty() => explicit(means, &installation.methods, environment),
        // Quirk: with nothing but dev_overrides there is no other source.
        Some(_) => (PackageSources::default(), Diagnostics::new()),
        None => (usual(means, dir, environment), Diagnostics::new()),
    }
}

/// Directories only, as `-plugin-dir` wants it.
pub fn directories(dirs: impl IntoIterator<Item = PathBuf>) -> PackageSources {
    let rule =
        |dir| Rule { source: PackageSource::Local(LocalMirror::new(dir)), include: Vec::new(), exclude: Vec::new() };
    PackageSources { rules: dirs.into_iter().map(rule).collect() }
}

fn explicit(means: &Means, methods: &[InstallationMethod], environment: &Environment) -> (PackageSources, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut rules = Vec::new();
    for method in methods {
        let retries = method.download_retries.or(means.retries);
        let source = match &method.location {
            Location::Direct => {
                PackageSource::Registry(ProviderRegistry::new(means.services.clone(), means.signing, retries))
            }
            Location::FilesystemMirror(path) => PackageSource::Local(LocalMirror::new(path.clone())),
            Location::NetworkMirror(url) => {
                match NetworkMirror::new(url, means.services.clone(), method.trusted_hashes, retries) {
                    Ok(mirror) => PackageSource::Network(mirror),
                    Err(reason) => {
                        problems.push(diagnostics::mirror_url(&reason));
                        continue;
                    }
                }
            }
            Location::OciMirror(template) => {
                let (client, config) = (means.services.client().clone(), means.config.clone());
                PackageSource::Oci(OciMirror::new(template.clone(), client, config, environment.clone()))
            }
        };
        let patterns = |texts: &[ecow::EcoString]| texts.iter().map(|text| Pattern::parse(text)).collect();
        let include: Result<Vec<Pattern>, _> = patterns(&method.include);
        let exclude: Result<Vec<Pattern>, _> = patterns(&method.exclude);
        match (include, exclude) {
            (Ok(include), Ok(exclude)) => rules.push(Rule { source, include, exclude }),
            (Err(reason), _) => problems.push(diagnostics::inclusion(&reason)),
            (_, Err(reason)) => problems.push(diagnostics::exclusion(&reason)),
        }
    }
    (PackageSources { rules }, problems)
}

/// Directories that are searched where they exist, and registries for everything that is in none of them.
fn usual(means: &Means, dir: &Path, environment: &Environment) -> PackageSources {
    let mut dirs = vec![dir.join("terraform.d/plugins")];
    dirs.extend(means.config.directories.data_dirs.iter().map(|dir| dir.join("plugins")));
    let home = means.config.directories.home.as_ref().map(|home| home.join(".local/share"));
    let of_user = environment.path("XDG_DATA_HOME").or(home);
    let of_system = environment.get("XDG_DATA_DIRS").unwrap_or("/usr/local/share:/usr/share");
    let shared = of_user.into_iter().chain(of_system.split(':').filter(|dir| !dir.is_empty()).map(PathBuf::from));
    dirs.extend(shared.map(|dir| dir.join("terraform/plugins")));
    let mut exclude = Vec::new();
    let mut rules = Vec::new();
    for dir in dirs.into_iter().filter(|dir| dir.is_dir()) {
        let mirror = LocalMirror::new(dir);
        // A directory that cannot be read now is reported when it is needed.
        exclude.extend(mirror.providers().unwrap_or_default().iter().map(Pattern::exactly));
        rules.push(Rule { source: PackageSource::Local(mirror), include: Vec::new(), exclude: Vec::new() });
    }
    rules.push(Rule { source: PackageSource::Registry(means.registry()), include: Vec::new(), exclude });
    PackageSources { rules }
}
