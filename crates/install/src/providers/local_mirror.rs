//! A directory with packages, unpacked (`HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/`) or as archives
//! (`HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip`).
//!
//! Only the directories of the provider that is asked for are read, so a large mirror costs nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use yuba_addrs::{Hostname, ProviderSource, ProviderVersion};

use super::package;
use super::platform::Platform;
use super::source::{Offer, PackageContent, QueryError, Versions};

/// A directory with packages.
#[derive(Debug)]
pub struct LocalMirror {
    dir: PathBuf,
    /// Its canonical path.
    base: OnceLock<PathBuf>,
    /// Packages of each provider, so that every directory is read once.
    found: Mutex<BTreeMap<ProviderSource, Arc<[Found]>>>,
}

/// A package in a directory.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its version.
    pub version: ProviderVersion,
    /// Its platform.
    pub platform: Platform,
    /// The directory or archive.
    pub path: PathBuf,
    /// Whether it is an archive.
    pub is_archive: bool,
}

impl LocalMirror {
    /// At a path.
    pub fn new(dir: PathBuf) -> LocalMirror {
        LocalMirror { dir, base: OnceLock::new(), found: Mutex::default() }
    }

    /// Its path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The versions of a provider, for whichever platform.
    pub fn versions(&self, provider: &ProviderSource) -> Result<Versions, QueryError> {
        let mut list: Vec<ProviderVersion> =
            self.packages(provider)?.iter().map(|found| found.version.clone()).collect();
        list.sort();
        list.dedup();
        let mut warnings = Vec::new();
        if list.first() == Some(&ProviderVersion::default()) {
            warnings.push(format!(
                "The directory {} has the version 0.0.0 of {provider}, which is never used. For a provider that is \
                 not published, use dev_overrides in the CLI configuration",
                self.dir.display()
            ));
        }
        Ok(Versions { list, warnings })
    }

    /// The package for a platform.
    pub fn offer(
        &self,
        provider: &ProviderSource,
        version: &ProviderVersion,
        platform: &Platform,
    ) -> Result<Offer, QueryError> {
        let found = self.packages(provider)?;
        let mut fitting = found.iter().filter(|found| found.version == *version && found.platform == *platform);
        let Some(found) = fitting.next() else { return Err(QueryError::NoPlatform(None)) };
        let path = found.path.clone();
        let at = if found.is_archive { PackageContent::Archive(path) } else { PackageContent::Dir(path) };
        Ok(Offer { at, checks: Vec::new() })
    }

    /// All packages of a provider; unpacked ones first.
    pub fn packages(&self, provider: &ProviderSource) -> Result<Arc<[Found]>, QueryError> {
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = found().get(provider) {
            return Ok(found.clone());
        }
        // A mirror that does not exist is an error; one without the provider is not.
        let base = self.base().map_err(|error| self.unreadable(&self.dir, &error))?;
        let dir = directory(base, provider);
        let packages = self.packages_in(&dir, provider).map_err(|error| self.unreadable(&dir, &error))?;
        let packages: Arc<[Found]> = packages.into();
        found().insert(provider.clone(), packages.clone());
        Ok(packages)
    }

    /// A symbolic link can stand for the whole mirror only.
    fn base(&self) -> io::Result<&Path> {
        if let Some(base) = self.base.get() {
            return Ok(base);
        }
        fs::metadata(&self.dir)?;
        Ok(self.base.get_or_init(|| fs::canonicalize(&self.dir).unwrap_or_else(|_| self.dir.clone())))
    }

    fn packages_in(&self, dir: &Path, provider: &ProviderSource) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        let prefix = format!("terraform-provider-{}_", provider.kind);
        for entry in entries(dir)? {
            if let Ok(version) = ProviderVersion::parse(&entry.name)
                && entry.is_dir
            {
                for Entry { name, path, is_dir } in entries(&entry.path)? {
                    if let Some(platform) = Platform::parse(&name)
                        && is_dir
                    {
                        found.push(Found { version: version.clone(), platform, path, is_archive: false });
                    }
                }
            } else if let Some((version, platform)) = archive(&entry.name.to_lowercase(), &prefix)
                && entry.path.is_file()
            {
                found.push(Found { version, platform, path: entry.path, is_archive: true });
            }
        }
        found.sort_by(|a, b| (a.is_archive, &a.version, &a.path).cmp(&(b.is_archive, &b.version, &b.path)));
        Ok(found)
    }

    /// The providers that are in the directory.
    pub fn providers(&self) -> io::Result<Vec<ProviderSource>> {
        let mut found = Vec::new();
        for host in entries(&self.dir)? {
            let Ok(hostname) = Hostname::parse(&host.name) else { continue };
            for namespace in directories(&host.path)? {
                for kind in directories(&namespace.path)? {
                    let parts = (ProviderSource::parse_part(&namespace.name), ProviderSource::parse_part(&kind.name));
                    let (Ok(namespace), Ok(name)) = parts else { continue };
                    let provider = ProviderSource { host: hostname.clone(), namespace, kind: name };
                    if self.packages_in(&kind.path, &provider).is_ok_and(|packages| !packages.is_empty()) {
                        found.push(provider);
                    }
                }
            }
        }
        Ok(found)
    }

    fn unreadable(&self, path: &Path, error: &io::Error) -> QueryError {
        QueryError::Failed(format!("the directory {} cannot be searched: {error}", path.display()))
    }
}

/// The directory of a provider, in whichever case its names are written.
fn directory(base: &Path, provider: &ProviderSource) -> PathBuf {
    let exact = package::of_provider(base, provider);
    if exact.is_dir() {
        return exact;
    }
    let mut found = base.to_path_buf();
    for part in [provider.host.as_str(), &provider.namespace, &provider.kind] {
        let names = directories(&found).unwrap_or_default();
        match names.into_iter().find(|entry| entry.name.to_lowercase() == part) {
            Some(entry) => found = entry.path,
            None => return exact,
        }
    }
    found
}

/// The version and platform in the name of an archive, in lower case.
fn archive(name: &str, prefix: &str) -> Option<(ProviderVersion, Platform)> {
    let mut parts = name.strip_prefix(prefix)?.strip_suffix(".zip")?.split('_');
    let (version, os, arch) = (parts.next()?, parts.next()?, parts.next()?);
    Some((ProviderVersion::parse(version).ok()?, Platform::parse(&format!("{os}_{arch}"))?))
}

/// Something in a directory.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: String,
    path: PathBuf,
    /// It is a directory, or a link to one.
    is_dir: bool,
}

/// Entries of a directory, by name; empty if it does not exist.
fn entries(dir: &Path) -> io::Result<Vec<Entry>> {
    let found = match fs::read_dir(dir) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut entries = Vec::new();
    for entry in found {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string() {
            let (path, kind) = (entry.path(), entry.file_type()?);
            let is_dir = kind.is_dir() || kind.is_symlink() && path.is_dir();
            entries.push(Entry { name, path, is_dir });
        }
    }
    entries.sort();
    Ok(entries)
}

fn directories(dir: &Path) -> io::Result<Vec<Entry>> {
    Ok(entries(dir)?.into_iter().filter(|entry| entry.is_dir).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_in_both_layouts() {
        let sandbox = yuba_testkit::Sandbox::new(
            "",
            "
//- m/example.com/x/y/1.0.0/linux_amd64/terraform-provider-y
//- m/example.com/x/y/1.0.0/darwin_arm64/terraform-provider-y
//- m/example.com/x/y/2.0.0-beta1/linux_amd64/terraform-provider-y
//- m/example.com/x/y/nonsense/linux_amd64/terraform-provider-y
//- m/example.com/x/y/terraform-provider-y_1.0.0_linux_amd64.zip
//- m/example.com/x/y/terraform-provider-Y_1.5.0_linux_amd64.zip
//- m/example.com/x/y/terraform-provider-z_1.6.0_linux_amd64.zip
//- m/example.com/x/y/1.7.0.json
//- m/example.com/x/y/0.0.0/linux_amd64/terraform-provider-y
//- m/example.com/x/empty/index.json
//- m/Example.com/Mastercard/REST/1.0.0/linux_amd64/terraform-provider-rest
",
        );
        let mirror = LocalMirror::new(sandbox.dir().join("m"));
        let provider = ProviderSource::parse("example.com/x/y").expect("because it is well-formed");
        let versions = mirror.versions(&provider).expect("it can be read");
        let list: Vec<String> = versions.list.iter().map(ToString::to_string).collect();
        assert_eq!((list.join(" ").as_str(), versions.warnings.len()), ("0.0.0 1.0.0 1.5.0 2.0.0-beta1", 1));
        let offer = |version: &str, platform: &str| {
            let version = ProviderVersion::parse(version).expect("because it is well-formed");
            let platform = Platform::parse(platform).expect("because it is well-formed");
            match mirror.offer(&provider, &version, &platform).map(|offer| offer.at) {
                Ok(PackageContent::Dir(_)) => "dir",
                Ok(PackageContent::Archive(_)) => "archive",
                _ => "none",
            }
        };
        assert_eq!(
            [offer("1.0.0", "linux_amd64"), offer("1.5.0", "linux_amd64"), offer("1.5.0", "darwin_arm64")],
            ["dir", "archive", "none"]
        );
        let written = ProviderSource::parse("example.com/Mastercard/rest").expect("because it is well-formed");
        assert_eq!(mirror.versions(&written).expect("it can be read").list.len(), 1);
        assert_eq!(mirror.providers().expect("it can be read"), [written, provider.clone()]);
        let nowhere = LocalMirror::new(sandbox.dir().join("nowhere"));
        assert!(matches!(nowhere.versions(&provider), Err(QueryError::Failed(_))));
    }
}
