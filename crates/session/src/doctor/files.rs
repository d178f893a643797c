//! Files and directories: whether they exist, their permissions, and caches that other users could write to.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use super::{Findings, diagnostics};
use crate::project::Project;

/// A file or directory.
#[derive(Clone, Debug)]
pub struct FileFacts {
    /// The path on this machine.
    pub path: PathBuf,
    /// The path as messages show it.
    pub shown: String,
    /// Whether it exists.
    pub exists: bool,
    /// Permission bits, where files have them.
    pub mode: Option<u32>,
    /// Size in bytes.
    pub size: u64,
    /// Whether this process can write to it.
    pub is_writable: bool,
}

impl FileFacts {
    /// The facts about a path.
    pub(crate) fn of(path: &Path, shown: &str) -> FileFacts {
        let found = fs::metadata(path).ok();
        FileFacts {
            path: path.to_path_buf(),
            shown: shown.to_owned(),
            exists: found.is_some(),
            mode: found.as_ref().and_then(mode),
            size: found.as_ref().map_or(0, Metadata::len),
            is_writable: found.is_some_and(|found| is_writable(path, &found)),
        }
    }
}

#[cfg(unix)]
fn mode(found: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(found.permissions().mode() & 0o7777)
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> Option<u32> {
    None
}

#[cfg(unix)]
fn is_writable(path: &Path, _: &Metadata) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_ok()
}

#[cfg(not(unix))]
fn is_writable(_: &Path, found: &Metadata) -> bool {
    !found.permissions().readonly()
}

/// A cache of the user.
#[derive(Clone, Debug)]
pub struct CacheFacts {
    /// Its name.
    pub name: &'static str,
    /// Its directory, if it has one.
    pub file: Option<FileFacts>,
    /// Whether it is used: other users cannot write to it.
    pub is_used: bool,
}

/// The caches of the user, and the shared provider cache.
pub(super) fn caches(project: &Project, found: &mut Findings) -> Vec<CacheFacts> {
    let environment = project.environment();
    let mut caches = Vec::new();
    let all = environment.cache_home().map(|home| home.join("yuba"));
    for (name, kind) in [("provider_schemas", "schemas"), ("checksums", "sums"), ("unpacked_packages", "kept")] {
        let path = all.as_ref().map(|all| all.join(kind));
        let file = path.map(|path| FileFacts::of(&path, &path.to_string_lossy()));
        let is_used = environment.existing_cache(kind).is_some();
        if let Some(file) = file.as_ref().filter(|file| file.exists && !is_used) {
            found.own(diagnostics::cache_not_trusted(&file.shown));
        }
        caches.push(CacheFacts { name, file, is_used });
    }
    if let Some(dir) = &project.hosts().config().plugin_cache_dir {
        let file = FileFacts::of(dir, &dir.to_string_lossy());
        if file.exists && !file.is_writable {
            found.own(diagnostics::not_writable(&file.shown));
        }
        caches.push(CacheFacts { name: "providers", is_used: file.exists, file: Some(file) });
    }
    caches
}

/// The file in which `login` stores tokens.
pub(super) fn credentials(project: &Project, found: &mut Findings) -> Option<FileFacts> {
    let path = project.hosts().config().directories.credentials_file()?;
    let file = FileFacts::of(&path, &path.to_string_lossy());
    if file.mode.is_some_and(|mode| mode & 0o077 != 0) {
        found.own(diagnostics::credentials_readable(&file.shown));
    }
    file.exists.then_some(file)
}
