//! A directory with packages, unpacked (`HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/`) or as archives
//! (`HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip`).
//!
//! Only the directories of the provider that is asked for are read, so a large mirror costs nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yuba_addrs::{Hostname, ProviderSource, ProviderVersion};

use super::package;
use super::platform::Platform;
use super::source::{Content, Offer, QueryError, Versions};

/// A directory with packages.
#[derive(Clone, Debug)]
pub struct LocalMirror {
    dir: PathBuf,
}

/// A package in a directory.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its version.
    pub version: ProviderVersion,
    /// What it is made for.
    pub platform: Platform,
    /// The directory or archive.
    pub path: PathBuf,
    /// Whether it is an archive.
    pub is_archive: bool,
}

impl LocalMirror {
    /// At a path.
    pub fn new(dir: PathBuf) -> LocalMirror {
        LocalMirror { dir }
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The versions of a provider, for whichever platform.
    pub fn versions(&self, provider: &ProviderSource) -> Result<Versions, QueryError> {
        let mut list: Vec<ProviderVersion> = self.packages(provider)?.into_iter().map(|found| found.version).collect();
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
        let found = self.packages(provider)?.into_iter();
        let mut fitting = found.filter(|found| found.version == *version && found.platform == *platform);
        let Some(found) = fitting.next() else { return Err(QueryError::NoPlatform(None)) };
        let at = if found.is_archive { Content::Archive(found.path) } else { Content::Dir(found.path) };
        Ok(Offer { at, checks: Vec::new() })
    }

    /// All packages of a provider; unpacked ones first.
    pub fn packages(&self, provider: &ProviderSource) -> Result<Vec<Found>, QueryError> {
        // A mirror that does not exist is a mistake; one without the provider is not.
        fs::metadata(&self.dir).map_err(|error| self.unreadable(&self.dir, &error))?;
        // A symbolic link can stand for the whole mirror only.
        let base = fs::canonicalize(&self.dir).unwrap_or_else(|_| self.dir.clone());
        let dir = directory(&base, provider);
        self.packages_in(&dir, provider).map_err(|error| self.unreadable(&dir, &error))
    }

    fn packages_in(&self, dir: &Path, provider: &ProviderSource) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        let prefix = format!("terraform-provider-{}_", provider.kind);
        for (name, path) in entries(dir)? {
            if let Ok(version) = ProviderVersion::parse(&name)
                && path.is_dir()
            {
                for (name, path) in entries(&path)? {
                    if let Some(platform) = Platform::parse(&name)
                        && path.is_dir()
                    {
                        found.push(Found { version: version.clone(), platform, path, is_archive: false });
                    }
                }
            } else if let Some((version, platform)) = archive(&name.to_lowercase(), &prefix)
                && path.is_file()
            {
                found.push(Found { version, platform, path, is_archive: true });
            }
        }
        found.sort_by(|a, b| (a.is_archive, &a.version, &a.path).cmp(&(b.is_archive, &b.version, &b.path)));
        Ok(found)
    }

    /// The providers that are in the directory.
    pub fn providers(&self) -> io::Result<Vec<ProviderSource>> {
        let mut found = Vec::new();
        for (host, path) in entries(&self.dir)? {
            let Ok(host) = Hostname::parse(&host) else { continue };
            for (namespace, path) in directories(&path)? {
                for (kind, path) in directories(&path)? {
                    let parts = (ProviderSource::parse_part(&namespace), ProviderSource::parse_part(&kind));
                    let (Ok(namespace), Ok(kind)) = parts else { continue };
                    let provider = ProviderSource { host: host.clone(), namespace, kind };
                    if self.packages_in(&path, &provider).is_ok_and(|packages| !packages.is_empty()) {
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
        let names = entries(&found).unwrap_or_default().into_iter();
        match names.filter(|(_, path)| path.is_dir()).find(|(name, _)| name.to_lowercase() == part) {
            Some((_, path)) => found = path,
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

/// What is in a directory, by name; nothing if there is none.
fn entries(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
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
            entries.push((name, entry.path()));
        }
    }
    entries.sort();
    Ok(entries)
}

fn directories(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    Ok(entries(dir)?.into_iter().filter(|(_, path)| path.is_dir()).collect())
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
                Ok(Content::Dir(_)) => "dir",
                Ok(Content::Archive(_)) => "archive",
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
