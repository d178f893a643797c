//! The two tools, and the directories and variables that they run with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::options::Options;
use super::results::{OURS, PEER};
use super::shapes::ConfigFile;
use crate::release::sha256;
use crate::tidy::root;

/// An executable to measure.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    pub(super) version: String,
    /// Of the executable: a version does not identify a build.
    pub(super) checksum: String,
}

/// Variables of commands.
pub(super) type Env = BTreeMap<String, String>;

impl Tool {
    fn new(name: &'static str, path: &Path) -> Result<Tool, String> {
        let path = fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let output = Command::new(&path).args(["version", "-json"]).env("CHECKPOINT_DISABLE", "1").output();
        let output = output.map_err(|error| format!("{}: {error}", path.display()))?;
        // Warnings about the CLI configuration of the user may precede it.
        let text = String::from_utf8_lossy(&output.stdout);
        let json = text.find('{').and_then(|start| text.get(start..));
        let json: serde_json::Value = json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let version = ["yuba_version", "version", "terraform_version"].iter().find_map(|name| json[name].as_str());
        let version = version.ok_or_else(|| format!("{}: `version -json` reports no version", path.display()))?;
        let content = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Tool { name, version: version.to_owned(), checksum: sha256(&content), path })
    }

    /// Its name for readers.
    pub(super) fn title(&self) -> &'static str {
        if self.name == OURS { "Yuba" } else { "OpenTofu" }
    }

    /// The tools of a run, ours first.
    pub(super) fn all(options: &Options) -> Result<Vec<Tool>, String> {
        let ours = match &options.bin {
            Some(path) => path.clone(),
            None => release_build(&["--package=yuba-cli"], "yuba")?,
        };
        let mut tools = vec![Tool::new(OURS, &ours)?];
        if let Some(peer) = &options.peer {
            tools.push(Tool::new(PEER, peer)?);
        }
        Ok(tools)
    }
}

/// Builds an executable of this source tree.
pub(super) fn release_build(packages: &[&str], name: &str) -> Result<PathBuf, String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).args(["build", "--release", "--bin", name]).args(packages);
    let status = command.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("the release build of {name} failed"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// The directory of a run, below `target`. Removed at the end.
pub(super) struct Scratch {
    root: PathBuf,
    count: usize,
}

impl Scratch {
    pub(super) fn new() -> Result<Scratch, String> {
        let root = root().join(format!("target/bench/run-{}", std::process::id()));
        fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(Scratch { root, count: 0 })
    }

    pub(super) fn path(&self) -> &Path {
        &self.root
    }

    /// A new working directory with the files of a configuration.
    pub(super) fn directory(&mut self, label: &str, files: &[ConfigFile]) -> Result<PathBuf, String> {
        self.count += 1;
        let directory = self.root.join(format!("{label}-{}", self.count));
        for (path, text) in files {
            super::write(&directory.join(path), text)?;
        }
        Ok(directory)
    }

    /// Variables for a tool in a working directory. Caches are as old as the directory.
    pub(super) fn env(&self, directory: &Path, extra: &[(&str, &str)]) -> Env {
        let inside = |name: &str| directory.join(".bench").join(name).display().to_string();
        let mut env: Env = [
            ("TF_IN_AUTOMATION".to_owned(), "1".to_owned()),
            ("TF_INPUT".to_owned(), "0".to_owned()),
            ("NO_COLOR".to_owned(), "1".to_owned()),
            ("CHECKPOINT_DISABLE".to_owned(), "1".to_owned()),
            ("TF_CLI_CONFIG_FILE".to_owned(), self.cli_config().display().to_string()),
            ("XDG_CACHE_HOME".to_owned(), inside("cache")),
            ("XDG_DATA_HOME".to_owned(), inside("data")),
        ]
        .into();
        env.extend(extra.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        env
    }

    fn cli_config(&self) -> PathBuf {
        self.root.join("cli.tfrc")
    }

    fn mirror(&self) -> PathBuf {
        self.root.join("mirror")
    }

    /// Offers a provider to the tools. `init` finds providers here only.
    pub(super) fn offer(&self, source: &str, version: &str, executable: &Path) -> Result<(), String> {
        let kind = source.rsplit_once('/').map_or(source, |(_, kind)| kind);
        let package = self.mirror().join("registry.opentofu.org").join(source).join(version).join(platform());
        let path = package.join(format!("terraform-provider-{kind}_v{version}"));
        let described = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(&package).map_err(described)?;
        fs::copy(executable, &path).map_err(described)?;
        self.write_cli_config()
    }

    /// The CLI configuration of all commands.
    pub(super) fn write_cli_config(&self) -> Result<(), String> {
        fs::create_dir_all(self.mirror()).map_err(|error| error.to_string())?;
        let text = format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = {:?}\n  }}\n}}\n",
            self.mirror().display().to_string()
        );
        super::write(&self.cli_config(), &text)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// As in names of packages: `linux_amd64`.
fn platform() -> String {
    let os = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{os}_{arch}")
}
