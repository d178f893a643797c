//! Layout of a directory of packages, and the executable of a package.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use yuba_addrs::{ProviderSource, ProviderVersion};

use super::platform::Platform;

/// Path of the unpacked package of a provider below a directory: `HOST/NAMESPACE/TYPE/VERSION/OS_ARCH`.
pub fn unpacked(base: &Path, provider: &ProviderSource, version: &ProviderVersion, platform: &Platform) -> PathBuf {
    of_provider(base, provider).join(version.to_string()).join(platform.to_string())
}

/// Path of the packages of a provider below a directory.
pub fn of_provider(base: &Path, provider: &ProviderSource) -> PathBuf {
    base.join(provider.host.as_str()).join(provider.namespace.as_str()).join(provider.kind.as_str())
}

/// File name of the archive of a package.
pub fn archive_name(provider: &ProviderSource, version: &ProviderVersion, platform: &Platform) -> String {
    format!("terraform-provider-{}_{version}_{platform}.zip", provider.kind)
}

/// The executable in an unpacked package.
pub fn executable(dir: &Path, provider: &ProviderSource) -> io::Result<PathBuf> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string()
            && !entry.file_type()?.is_dir()
        {
            names.push(name);
        }
    }
    program(names.iter().map(String::as_str), provider).map(|name| dir.join(name))
}

/// Makes the files of a package in a directory of their own, one by one.
pub(crate) fn transfer<N: AsRef<Path>>(
    source: &Path,
    target: &Path,
    files: impl IntoIterator<Item = N>,
    make: impl Fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    fs::create_dir_all(target)?;
    for name in files {
        let (from, to) = (source.join(&name), target.join(&name));
        if let Some(parent) = to.parent().filter(|parent| *parent != target) {
            fs::create_dir_all(parent)?;
        }
        make(&from, &to)?;
    }
    Ok(())
}

/// The executable among the files of a package: the first one that is called `terraform-provider-TYPE`, with or without a
/// suffix after an underscore or a dot.
pub(crate) fn program<'a>(files: impl Iterator<Item = &'a str>, provider: &ProviderSource) -> io::Result<&'a str> {
    let prefix = format!("terraform-provider-{}", provider.kind);
    let is_program = |name: &&str| {
        let rest = name.strip_prefix(prefix.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '.']))
    };
    files.filter(is_program).min().ok_or_else(|| {
        let text = format!("it has no file whose name starts with {prefix:?}");
        io::Error::new(io::ErrorKind::NotFound, text)
    })
}
