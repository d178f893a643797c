//! `cargo xtask servers`: installs the servers that tests of backends and key providers start.
//!
//! The servers go to the directory `$YUBA_SERVERS`, or else to `servers` in the target directory, where the tests find them.
//! Nothing but package clients downloads: apt-get, pip, npm and go, each with the verification that it does by default.

mod go_module;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tidy::root;
use table::{Client, Cost, Row, TABLE};

const USAGE: &str = "usage: cargo xtask servers install [--all | NAME...] | cargo xtask servers list";

/// Runs `install` or `list`.
pub(crate) fn run(args: &[String]) -> Result<String, String> {
    let place = Place::new();
    match args.split_first().map(|(verb, rest)| (verb.as_str(), rest)) {
        Some(("install", names)) => {
            let rows = selected(names)?;
            for row in &rows {
                install(row, &place).map_err(|message| format!("servers: {}: {message}", row.name))?;
            }
            Ok(format!("servers: {} of {} ready in {}", rows.len(), TABLE.len(), place.directory.display()))
        }
        Some(("list", [])) => Ok(list(&place)),
        _ => Err(USAGE.to_owned()),
    }
}

/// The rows that the arguments name, each with those that it needs, in the order of the table.
fn selected(names: &[String]) -> Result<Vec<&'static Row>, String> {
    let all = names.iter().any(|name| name == "--all");
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| *name != "--all").collect();
    for name in &names {
        if !TABLE.iter().any(|row| row.name == *name) {
            let known: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
            return Err(format!("servers: unknown server \"{name}\". Known servers: {}.\n{USAGE}", known.join(", ")));
        }
    }
    let is_named = |row: &Row| names.contains(&row.name) || (names.is_empty() && row.cost == Cost::Light);
    let is_needed = |row: &Row| TABLE.iter().any(|other| is_named(other) && other.needs.contains(&row.name));
    Ok(TABLE.iter().filter(|row| all || is_named(row) || is_needed(row)).collect())
}

/// Directory of installed servers.
pub(crate) struct Place {
    directory: PathBuf,
}

impl Place {
    fn new() -> Place {
        let named = std::env::var_os("YUBA_SERVERS").filter(|directory| !directory.is_empty()).map(PathBuf::from);
        // Cargo marks the target directory with this file.
        let running = std::env::current_exe().unwrap_or_default();
        let target = running.ancestors().find(|directory| directory.join("CACHEDIR.TAG").is_file());
        let target = target.map_or_else(|| root().join("target"), Path::to_owned);
        let directory = named.unwrap_or_else(|| target.join("servers"));
        // Commands run in other directories.
        Place { directory: std::path::absolute(&directory).unwrap_or(directory) }
    }

    pub(crate) fn program(&self, row: &Row) -> PathBuf {
        self.directory.join("bin").join(row.program)
    }

    /// A directory for the files of one server.
    pub(crate) fn files(&self, row: &Row) -> PathBuf {
        self.directory.join(row.name)
    }

    /// The file that names the installed version. It is written last.
    fn record(&self, row: &Row) -> PathBuf {
        self.directory.join("installed").join(row.name)
    }

    /// The version that an earlier run installed.
    fn installed(&self, row: &Row) -> Option<String> {
        let version = fs::read_to_string(self.record(row)).ok()?;
        self.program(row).is_file().then(|| version.trim().to_owned())
    }
}

fn install(row: &Row, place: &Place) -> Result<(), String> {
    if let Client::Apt(package) = row.client {
        return install_package(row, package);
    }
    if place.installed(row).as_deref() == Some(row.version) {
        println!("{} {}: already installed", row.name, row.version);
        return Ok(());
    }
    let client = row.client.program();
    if find(client).is_none() {
        return Err(format!("\"{client}\" is not on the PATH. Install it and run the command again."));
    }
    println!("{} {}: installing with {client}", row.name, row.version);
    let _ = fs::remove_file(place.record(row));
    fs::create_dir_all(place.directory.join("bin")).map_err(|error| error.to_string())?;
    match &row.client {
        Client::Apt(_) => {}
        Client::Pip(requirement) => install_by_pip(row, requirement, place)?,
        Client::Npm(package) => install_by_npm(row, package, place)?,
        Client::GoInstall(package) => {
            let mut go = Command::new("go");
            go.args(["install", &format!("{package}@v{}", row.version)]).env("GOBIN", place.directory.join("bin"));
            successful(go.env("GOWORK", "off").current_dir(&place.directory))?;
        }
        Client::GoModule(module) => go_module::install(row, module, place)?,
    }
    let record = place.record(row);
    fs::create_dir_all(record.parent().unwrap_or(&place.directory)).map_err(|error| error.to_string())?;
    fs::write(record, row.version).map_err(|error| error.to_string())
}

/// Installs a package of Debian, only if its executable is missing.
fn install_package(row: &Row, package: &str) -> Result<(), String> {
    if let Some(path) = find(row.program) {
        println!("{}: already installed as {}", row.name, path.display());
        return Ok(());
    }
    let by_hand = format!("Install the Debian package \"{package}\", or its equivalent, and run the command again.");
    if find("apt-get").is_none() {
        return Err(format!("\"{}\" is missing and \"apt-get\" is not on the PATH. {by_hand}", row.program));
    }
    let user = Command::new("id").arg("-u").output().map_err(|error| format!("id: {error}"))?;
    if user.stdout.trim_ascii() != b"0" {
        return Err(format!("\"{}\" is missing and apt-get needs root. {by_hand}", row.program));
    }
    println!("{}: installing with apt-get", row.name);
    let apt = |arguments: &[&str]| {
        successful(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "--quiet"])?;
    apt(&["install", "--yes", "--quiet", "--no-install-recommends", package])?;
    find(row.program).map(drop).ok_or_else(|| format!("package \"{package}\" does not contain \"{}\"", row.program))
}

fn install_by_pip(row: &Row, requirement: &str, place: &Place) -> Result<(), String> {
    let files = place.files(row);
    successful(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&files))?;
    let requirement = format!("{requirement}=={}", row.version);
    successful(Command::new(files.join("bin/pip")).args(["install", "--quiet", &requirement]))?;
    link(row, &format!("../{}/bin/{}", row.name, row.program), place)
}

fn install_by_npm(row: &Row, package: &str, place: &Place) -> Result<(), String> {
    let files = place.files(row);
    fs::create_dir_all(&files).map_err(|error| error.to_string())?;
    let package = format!("{package}@{}", row.version);
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", &package, "--prefix"]).arg(&files);
    successful(&mut npm)?;
    link(row, &format!("../{}/node_modules/.bin/{}", row.name, row.program), place)
}

/// Links an executable into `bin`, relative so that the directory can be moved into a cache and back.
fn link(row: &Row, target: &str, place: &Place) -> Result<(), String> {
    let program = place.program(row);
    let _ = fs::remove_file(&program);
    std::os::unix::fs::symlink(target, &program).map_err(|error| error.to_string())?;
    if program.is_file() { Ok(()) } else { Err(format!("the package does not contain \"{}\"", row.program)) }
}

/// Runs a command, with its output on the terminal.
pub(crate) fn successful(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().display().to_string();
    let words: Vec<String> = command.get_args().map(|word| word.display().to_string()).collect();
    println!("  {name} {}", words.join(" "));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} {} failed: {status}", words.join(" "))),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// An executable on the PATH, or in the directories of PostgreSQL that Debian leaves out of it.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    directories.extend(versions.map(|version| version.path().join("bin")));
    directories.into_iter().map(|directory| directory.join(program)).find(|file| file.is_file())
}

/// One line for each server: name, version, where it is, and its purpose.
fn list(place: &Place) -> String {
    let line = |row: &Row| {
        let found = match place.installed(row) {
            Some(version) if version == row.version => place.program(row).display().to_string(),
            Some(version) => format!("{} (version {version})", place.program(row).display()),
            None if place.program(row).is_file() => format!("{} (unknown version)", place.program(row).display()),
            None => find(row.program).map_or_else(|| "missing".to_owned(), |path| path.display().to_string()),
        };
        let cost = if row.cost == Cost::Heavy { ", not installed by default" } else { "" };
        format!("{:16}{:36}{found}\n{:16}{} ({}{cost})", row.name, row.version, "", row.purpose, row.client.program())
    };
    TABLE.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(arguments: &[&str]) -> Result<Vec<&'static str>, String> {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        selected(&arguments).map(|rows| rows.iter().map(|row| row.name).collect())
    }

    #[test]
    fn servers_are_selected_by_name_with_those_they_need() {
        assert_eq!(
            names(&[]).expect("because no name is unknown"),
            ["postgresql", "moto", "azurite", "fake-gcs-server"]
        );
        assert_eq!(
            names(&["kube-apiserver", "moto"]).expect("because both are known"),
            ["moto", "etcd", "kube-apiserver"]
        );
        assert_eq!(names(&["--all"]).map(|all| all.len()), Ok(TABLE.len()));
        let message = names(&["motto"]).expect_err("because the name is unknown");
        assert!(message.contains("unknown server \"motto\"") && message.contains("moto"), "{message}");
    }
}
