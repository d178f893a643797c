//! `cargo xtask release`: version and changelog, packages, their verification, and the tag. `docs/RELEASING.md` has the order.

mod archives;
mod changelog;
mod crates;
mod files;
mod licences;
mod packages;
mod sbom;
mod shells;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tidy::root;

pub(crate) use files::sha256;

const USAGE: &str = "usage: cargo xtask release prepare VERSION
       cargo xtask release build [--target TARGET] [--binary FILE] [--output DIR] [--url URL]
       cargo xtask release verify [DIR]
       cargo xtask release notes VERSION
       cargo xtask release tag [--push REMOTE]

prepare  Set the version and date the section of the changelog.
build    Write tarball, Debian package, licences, SBOM, scripts for installation and checksums to target/release-files, for one target.
         --binary packages an executable that exists, instead of building it. --url is the address where the files will be
         published: install.sh downloads from there by default.
verify   Install the packages in clean directories, use them and remove them. Checks that need a missing tool are listed as skipped,
         and fail if YUBA_REQUIRE lists the tool.
notes    Print the section of the changelog.
tag      Tag the commit with the version, if the work tree is clean and the changelog has its section.";

/// The directory of the packages, unless `--output` names another.
const OUTPUT: &str = "target/release-files";

/// Runs one step of a release.
pub(crate) fn run(args: &[String]) -> Result<String, String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["prepare", version] => prepare(version),
        ["build", options @ ..] => build(options),
        ["verify"] => verify::run(&root().join(OUTPUT)),
        ["verify", directory] => verify::run(Path::new(directory)),
        ["notes", version] => changelog::section(&read("CHANGELOG.md")?, version),
        ["tag"] => tag(None),
        ["tag", "--push", remote] => tag(Some(remote)),
        _ => Err(USAGE.to_owned()),
    }
}

/// Sets the version of all crates and moves the unreleased entries of the changelog below a heading with version and date.
fn prepare(version: &str) -> Result<String, String> {
    let manifest = read("Cargo.toml")?;
    let old = changelog::workspace_version(&manifest)?;
    let date = output(Command::new("git").current_dir(root()).args(["show", "-s", "--format=%cs", "HEAD"]))?;
    let text = changelog::released(&read("CHANGELOG.md")?, version, date.trim())?;
    let manifest = manifest.replacen(&format!("\nversion = \"{old}\"\n"), &format!("\nversion = \"{version}\"\n"), 1);
    write(&root().join("Cargo.toml"), manifest.as_bytes())?;
    write(&root().join("CHANGELOG.md"), text.as_bytes())?;
    for directory in [root(), root().join("fuzz")] {
        output(Command::new(env!("CARGO")).current_dir(directory).args(["update", "--workspace", "--quiet"]))?;
    }
    Ok(format!("release: version {old} is now {version}. Review the changes, run .ci/run and commit."))
}

/// Builds the packages of one target and adds them to the checksums of the directory.
fn build(options: &[&str]) -> Result<String, String> {
    let mut request = packages::Request::new(host()?, root().join(OUTPUT));
    let mut options = options.iter();
    while let Some(name) = options.next() {
        let value = options.next().ok_or(USAGE)?;
        match *name {
            "--target" => request.target = (*value).to_owned(),
            "--binary" => request.binary = Some(PathBuf::from(value)),
            "--output" => request.output = PathBuf::from(value),
            "--url" => request.url = (*value).to_owned(),
            _ => return Err(USAGE.to_owned()),
        }
    }
    let written = packages::build(&request)?;
    Ok(format!("release: {} contains {}", request.output.display(), written.join(", ")))
}

/// Creates an annotated tag, and pushes it if a remote is given.
fn tag(remote: Option<&str>) -> Result<String, String> {
    let version = changelog::workspace_version(&read("Cargo.toml")?)?;
    let notes = changelog::section(&read("CHANGELOG.md")?, &version)?;
    let git = || {
        let mut command = Command::new("git");
        command.current_dir(root());
        command
    };
    if !output(git().args(["status", "--porcelain"]))?.is_empty() {
        return Err("release: the work tree has uncommitted changes. Commit them, then tag.".to_owned());
    }
    let name = format!("v{version}");
    let message = format!("Yuba {version}\n\n{notes}");
    output(git().args(["tag", "--annotate", "--cleanup=verbatim", &name, "--message", &message]))?;
    if let Some(remote) = remote {
        output(git().args(["push", remote, &name]))?;
        return Ok(format!("release: created and pushed the tag {name}"));
    }
    Ok(format!("release: created the tag {name}. Push it with: git push REMOTE {name}"))
}

/// The target that this toolchain builds for by default.
fn host() -> Result<String, String> {
    let shown = output(Command::new(env!("CARGO")).args(["-vV"]))?;
    let line = shown.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned).ok_or_else(|| "cargo -vV names no host".to_owned())
}

/// The standard output of a command. Fails with its standard error.
fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A file of the repository.
fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))?;
    fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}
