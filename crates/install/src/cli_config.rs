//! The CLI configuration: `.tofurc` and its kin, which say how packages are installed and who we are to which host.
//!
//! Invariant: errors are reported, and valid settings beside them stay in effect: commands continue with them.

mod decode;
mod diagnostics;
mod installation;
mod oci;
mod syntax;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json};
use yuba_addrs::Hostname;
use yuba_net::Environment;
use yuba_net::credentials::{CredentialSources, CredentialsProgram, HostCredentials};
use yuba_net::http::HttpSettings;
use yuba_syntax::Diagnostics;

pub use installation::{InstallationMethod, Location, ProviderInstallation, RepositoryTemplate, TrustedHashes};
pub use oci::{OciCredentials, OciDefaultCredentials, OciLogin, repository_prefix};

/// Settings.
#[derive(Clone, Debug, Default)]
pub struct CliConfig {
    /// Directory of downloaded providers, shared by all working directories.
    pub plugin_cache_dir: Option<PathBuf>,
    /// Whether that may leave the lock file incomplete.
    pub plugin_cache_may_break_lock_file: bool,
    /// Services of hosts that are not to be asked for them.
    pub hosts: BTreeMap<Hostname, Map<String, Json>>,
    /// Tokens of `credentials` blocks. Secret.
    pub credentials: BTreeMap<Hostname, HostCredentials>,
    /// The credentials helper.
    pub credentials_helper: Option<CredentialsProgram>,
    /// Number of retries, if set.
    pub registry_retries: Option<u32>,
    /// Timeout of a request to a registry, if set.
    pub registry_timeout: Option<Duration>,
    /// Installation methods of providers; the default ones if the block is missing.
    pub provider_installation: Option<ProviderInstallation>,
    /// Credentials for container registries in general.
    pub oci_default_credentials: Option<OciDefaultCredentials>,
    /// Credentials for container registries.
    pub oci_credentials: Vec<OciCredentials>,
    /// Directories and environment.
    pub directories: UserDirectories,
    /// The files that were looked for, in the order they were read.
    pub files: Vec<ConfigFile>,
}

/// A file of the CLI configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its path.
    pub path: PathBuf,
    /// Why this file is read.
    pub source: FileSource,
    /// It exists and was read.
    pub was_read: bool,
}

/// Why a file of the CLI configuration is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// This environment variable names it.
    Variable(&'static str),
    /// It is the file of the user.
    Default,
    /// It is in the configuration directory of the user.
    Directory,
}

/// Directories of the user on this machine.
#[derive(Clone, Debug, Default)]
pub struct UserDirectories {
    /// The home directory.
    pub home: Option<PathBuf>,
    /// The directory of configuration: `~/.terraform.d` usually.
    pub config_dir: Option<PathBuf>,
    /// Directories whose `plugins` have plugins: `~/.terraform.d` and `$XDG_DATA_HOME/opentofu`.
    pub data_dirs: Vec<PathBuf>,
}

impl UserDirectories {
    fn find(environment: &Environment) -> UserDirectories {
        let home = environment.home();
        let dot_dir = home.as_ref().map(|home| home.join(".terraform.d"));
        let config_dir = dot_dir.as_ref().map(|dir| match environment.path("XDG_CONFIG_HOME") {
            Some(xdg) if !dir.exists() => xdg.join("opentofu"),
            _ => dir.clone(),
        });
        let of_xdg = environment.path("XDG_DATA_HOME").map(|dir| dir.join("opentofu")).filter(|_| home.is_some());
        UserDirectories { data_dirs: dot_dir.into_iter().chain(of_xdg).collect(), home, config_dir }
    }

    /// The file in which `login` stores credentials.
    pub fn credentials_file(&self) -> Option<PathBuf> {
        self.config_dir.as_ref().map(|dir| dir.join("credentials.tfrc.json"))
    }

    /// The configuration file, unless the environment names another: `~/.tofurc`, or its old name where only that exists.
    fn config_file(&self, environment: &Environment) -> Option<PathBuf> {
        let home = self.home.as_ref()?;
        let (new, old) = (home.join(".tofurc"), home.join(".terraformrc"));
        match environment.path("XDG_CONFIG_HOME") {
            Some(xdg) if !new.exists() && !old.exists() => Some(xdg.join("opentofu").join("tofurc")),
            _ if !new.exists() && old.exists() => Some(old),
            _ => Some(new),
        }
    }
}

impl CliConfig {
    /// Sources of credentials of hosts, apart from the environment.
    pub fn credential_sources(&self) -> CredentialSources {
        CredentialSources {
            configured: self.credentials.clone(),
            helper: self.credentials_helper.clone(),
            data_dirs: self.directories.data_dirs.clone(),
            file: self.directories.credentials_file(),
        }
    }

    /// Retries and timeouts for hosts.
    pub fn http_settings(&self) -> HttpSettings {
        let usual = HttpSettings::default();
        HttpSettings {
            retries: self.registry_retries.unwrap_or(usual.retries),
            timeout: self.registry_timeout.unwrap_or(usual.timeout),
            ..usual
        }
    }

    /// Merges the settings of another file: lists grow, and for other settings the first or the last file wins, as in
    /// OpenTofu.
    fn merge(&mut self, other: CliConfig, problems: &mut Diagnostics) {
        self.plugin_cache_dir = self.plugin_cache_dir.take().or(other.plugin_cache_dir);
        self.plugin_cache_may_break_lock_file |= other.plugin_cache_may_break_lock_file;
        self.hosts.extend(other.hosts);
        self.credentials.extend(other.credentials);
        match (&self.credentials_helper, other.credentials_helper) {
            (Some(one), Some(two)) if one.kind != two.kind => problems.push(diagnostics::several("credentials_helper")),
            (_, Some(two)) => self.credentials_helper = Some(two),
            (_, None) => {}
        }
        self.registry_retries = self.registry_retries.or(other.registry_retries);
        self.registry_timeout = self.registry_timeout.or(other.registry_timeout);
        match (&self.provider_installation, other.provider_installation) {
            (Some(_), Some(_)) => problems.push(diagnostics::several("provider_installation")),
            (None, Some(other)) => self.provider_installation = Some(other),
            (_, None) => {}
        }
        match (&self.oci_default_credentials, other.oci_default_credentials) {
            (Some(_), Some(_)) => problems.push(diagnostics::several("oci_default_credentials")),
            (None, Some(other)) => self.oci_default_credentials = Some(other),
            (_, None) => {}
        }
        for more in other.oci_credentials {
            if self.oci_credentials.iter().any(|known| known.prefix == more.prefix) {
                problems.push(diagnostics::repeated_oci_credentials(&more.prefix));
            } else {
                self.oci_credentials.push(more);
            }
        }
    }
}

/// Reads the configuration of the user: files, then environment variables.
pub fn load(environment: &Environment) -> (CliConfig, Diagnostics) {
    let mut problems = Diagnostics::new();
    let mut config = CliConfig { directories: UserDirectories::find(environment), ..CliConfig::default() };
    let variables = ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"];
    let named = variables.into_iter().find_map(|name| Some((name, environment.path(name)?)));
    let file = match &named {
        Some((name, path)) => Some((path.clone(), FileSource::Variable(name))),
        None => config.directories.config_file(environment).map(|path| (path, FileSource::Default)),
    };
    if let Some((file, source)) = file {
        let content = fs::read(&file);
        config.files.push(ConfigFile { path: file.clone(), source, was_read: content.is_ok() });
        match content {
            Ok(bytes) => {
                let read = decode::file(&file, &bytes, environment, &mut problems);
                config.merge(read, &mut problems);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {}
            Err(error) => problems.push(diagnostics::unopened(&file, &error)),
        }
    }
    if named.is_none()
        && let Some(dir) = config.directories.config_dir.clone()
    {
        match fs::read_dir(&dir) {
            Ok(entries) => {
                let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
                let mut names: Vec<String> =
                    names.filter(|name| name.ends_with(".tfrc") || name.ends_with(".tfrc.json")).collect();
                names.sort_unstable();
                for name in names {
                    let file = dir.join(name);
                    let content = fs::read(&file);
                    let (path, was_read) = (file.clone(), content.is_ok());
                    config.files.push(ConfigFile { path, source: FileSource::Directory, was_read });
                    match content {
                        Ok(bytes) => {
                            let read = decode::file(&file, &bytes, environment, &mut problems);
                            config.merge(read, &mut problems);
                        }
                        Err(error) => problems.push(diagnostics::unreadable(&file, &error)),
                    }
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => problems.push(diagnostics::unreadable(&dir, &error)),
        }
    }
    from_environment(&mut config, environment);
    if let Some(dir) = &config.plugin_cache_dir
        && let Err(error) = fs::metadata(dir)
    {
        problems.push(diagnostics::unreadable_plugin_cache(dir, &error));
    }
    (config, problems)
}

/// Environment variables override files.
fn from_environment(config: &mut CliConfig, environment: &Environment) {
    if let Some(dir) = environment.path("TF_PLUGIN_CACHE_DIR") {
        config.plugin_cache_dir = Some(dir);
    }
    let may_break = environment.get("TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE");
    config.plugin_cache_may_break_lock_file |= may_break.is_some_and(|value| value != "0");
    if let Some(retries) = environment.positive("TF_REGISTRY_DISCOVERY_RETRY") {
        config.registry_retries = Some(retries);
    }
    if let Some(seconds) = environment.positive("TF_REGISTRY_CLIENT_TIMEOUT") {
        config.registry_timeout = Some(Duration::from_secs(seconds.into()));
    }
}
