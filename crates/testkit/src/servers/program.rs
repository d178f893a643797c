//! Paths of the executables of the servers.

use std::path::{Path, PathBuf};

/// Whether every program of this server is installed. The names are those of `cargo xtask servers list`.
pub fn is_installed(server: &str) -> bool {
    let is_found = |name: &str| program(name).is_some();
    match server {
        "postgresql" => ["postgres", "initdb", "psql"].into_iter().all(is_found),
        "moto" => is_found("moto_server"),
        "azurite" => is_found("azurite-blob"),
        "kube-apiserver" => ["kube-apiserver", "etcd", "openssl"].into_iter().all(is_found),
        other => is_found(other),
    }
}

/// Whether the environment variable `YUBA_REQUIRE` lists this server: its absence fails a test instead of ignoring it.
pub fn is_required(server: &str) -> bool {
    std::env::var("YUBA_REQUIRE").is_ok_and(|list| list.split(',').any(|listed| listed.trim() == server))
}

/// The path of a program: from `$YUBA_SERVERS/bin`, else from `servers/bin` of the target directory, else from PATH, else from the
/// directories of PostgreSQL that Debian leaves out of PATH.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let installed = match std::env::var_os("YUBA_SERVERS").filter(|directory| !directory.is_empty()) {
        Some(directory) => Some(PathBuf::from(directory)),
        None => target_directory().map(|target| target.join("servers")),
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = installed.iter().map(|directory| directory.join("bin")).collect();
    directories.extend(std::env::split_paths(&path));
    directories.extend(postgresql_directories());
    directories.into_iter().map(|directory| directory.join(name)).find(|file| file.is_file())
}

/// The target directory that contains the running test. Cargo marks it with a file.
fn target_directory() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    test.ancestors().find(|directory| directory.join("CACHEDIR.TAG").is_file()).map(Path::to_owned)
}

/// Newest version first.
fn postgresql_directories() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, directory)| directory).collect()
}
