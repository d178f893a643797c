//! Module packages: resolving an address, and installing its package into a directory.

mod address;
mod checksum;
mod files;
mod gcs;
mod git;
mod netrc;
mod oci;
mod registry;
mod s3;
mod web;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use address::Address;
pub use files::{copy_directory, find_subdir};
pub use registry::{PackageLocation, Registry, RegistryError};
use yuba_net::Environment;
use yuba_net::discovery::Services;
use yuba_net::http::Url;

use crate::cli_config::CliConfig;

/// Maximum number of addresses that lead to other addresses.
const MOST_HOPS: u32 = 10;

/// Downloads packages, each of them once per run.
pub struct Fetcher {
    services: Arc<Services>,
    config: Arc<CliConfig>,
    environment: Environment,
    /// Directories of packages of this run.
    previous: HashMap<String, PathBuf>,
    from_registry: HashMap<Url, PathBuf>,
}

impl Fetcher {
    /// Nothing fetched yet.
    pub fn new(services: Arc<Services>, config: Arc<CliConfig>, environment: Environment) -> Fetcher {
        Fetcher { services, config, environment, previous: HashMap::new(), from_registry: HashMap::new() }
    }

    /// Downloads the package of an address, with its protocol, into a new directory. On failure the directory does not
    /// exist, and the reason is a sentence without its period.
    pub fn fetch(&mut self, package: &str, into: &Path) -> Result<(), String> {
        if let Some(previous) = self.previous.get(package).filter(|previous| previous.exists()) {
            return copy_whole(previous, into);
        }
        let fetched = self.fetch_from(package, into, 0);
        if fetched.is_err() {
            files::remove(into);
        } else {
            self.previous.insert(package.to_owned(), into.to_owned());
        }
        fetched
    }

    /// Downloads an archive that a registry names as the package itself.
    pub fn fetch_archive(&mut self, location: &registry::Direct, into: &Path) -> Result<(), String> {
        if let Some(previous) = self.from_registry.get(&location.url).filter(|previous| previous.exists()) {
            return copy_whole(previous, into);
        }
        let fetched = web::direct(self, location, into);
        if fetched.is_err() {
            files::remove(into);
        } else {
            self.from_registry.insert(location.url.clone(), into.to_owned());
        }
        fetched
    }

    fn fetch_from(&self, package: &str, into: &Path, hops: u32) -> Result<(), String> {
        let address = Address::parse(package)?;
        if hops > 0 && address.is_local() {
            return Err("a host must not redirect to a file of this machine".to_owned());
        }
        match address.protocol.as_str() {
            "git" => git::fetch(&address.url, into, &self.environment),
            "http" | "https" => web::fetch(self, address, into, hops),
            "file" => files::fetch(address, into),
            "oci" => oci::fetch(self, &address.url, into),
            "hg" => {
                let reason = "Mercurial repositories are not supported: few hosts still serve them, and Yuba runs no \"hg\"; use git, or an \
                              archive over https";
                Err(reason.to_owned())
            }
            "s3" => s3::fetch(self, address, into),
            "gcs" => gcs::fetch(self, address, into),
            other => Err(format!("downloads from {other:?} are not supported")),
        }
    }
}

/// Copies an installed package to another directory.
fn copy_whole(previous: &Path, into: &Path) -> Result<(), String> {
    // A directory of this machine is linked to; so is its copy.
    if let Ok(target) = std::fs::read_link(previous) {
        return files::link(&target, into);
    }
    let copied = files::copy_directory(previous, into);
    if copied.is_err() {
        files::remove(into);
    }
    copied
}
