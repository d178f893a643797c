//! The test provider: built once, laid out where the program under test finds it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use crate::Sandbox;

/// Its source address.
pub const TEST_PROVIDER: &str = "registry.opentofu.org/yuba/testing";

/// The executable of the test provider, built when it is first asked for in a process.
///
/// # Panics
/// If it cannot be built.
pub fn test_provider() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build).clone()
}

fn build() -> PathBuf {
    // A test is TARGET/PROFILE/deps/NAME.
    let test = env::current_exe().expect("because a running program has a path");
    let profile_dir = test.ancestors().nth(2).expect("because tests are in a directory of a profile");
    let target_dir = profile_dir.parent().expect("because profiles are in the target directory");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The binary under test is named too, so that both are built with the same dependencies.
    cargo.args(["build", "--quiet", "--package=yuba-cli", "--package=yuba-testprovider", "--bin=yuba-testprovider"]);
    cargo.arg("--target-dir").arg(target_dir).current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile_dir.ends_with("release") {
        cargo.arg("--release");
    }
    // Variables of cargo for the test's own package do not apply to this build.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let own = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "CARGO_PRIMARY_"];
        if own.iter().any(|prefix| name.starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status().expect("because tests are run by cargo");
    assert!(status.success(), "the test provider cannot be built");
    profile_dir.join(format!("yuba-testprovider{}", env::consts::EXE_SUFFIX))
}

/// Lays the test provider out in a directory as an unpacked mirror, as version 1.0.0.
///
/// # Panics
/// If files cannot be written.
pub fn provider_mirror(directory: &Path) {
    provider_mirror_version(directory, "1.0.0");
}

/// Lays the test provider out in a directory as an unpacked mirror.
///
/// # Panics
/// If files cannot be written.
pub fn provider_mirror_version(directory: &Path, version: &str) {
    let executable = test_provider();
    let about = fs::metadata(&executable).expect("because it was built");
    let changed = about.modified().expect("because files know when they changed");
    let changed = changed.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    // A script that becomes the provider: small to copy and to hash, and another one for every build.
    let script = format!("#!/bin/sh\n# {} bytes of {changed}\nexec '{}' \"$@\"\n", about.len(), executable.display());
    let package = directory.join(TEST_PROVIDER).join(version).join(platform());
    fs::create_dir_all(&package).expect("because the directory is writable");
    let path = package.join(format!("terraform-provider-testing_v{version}"));
    fs::write(&path, script).expect("because the directory is writable");
    make_executable(&path);
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("because the file is ours");
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

/// As in names of packages: `linux_amd64`.
pub fn platform() -> String {
    let os = if env::consts::OS == "macos" { "darwin" } else { env::consts::OS };
    let arch = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    };
    format!("{os}_{arch}")
}

/// Names of what is in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

impl Sandbox {
    /// With the test provider in a mirror that the commands install from, a directory for what it makes, and one for
    /// temporary files.
    ///
    /// # Panics
    /// If files cannot be written.
    #[must_use]
    pub fn with_test_provider(self) -> Sandbox {
        let mirror = self.root().join("mirror");
        provider_mirror(&mirror);
        let config = self.root().join("cli.tfrc");
        let text = format!("provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n");
        fs::write(&config, text).expect("because the sandbox is writable");
        let (world, temporary) = (self.world(), self.root().join("tmp"));
        for directory in [&world, &temporary] {
            fs::create_dir_all(directory).expect("because the sandbox is writable");
        }
        self.env("TF_CLI_CONFIG_FILE", &config.to_string_lossy())
            .env("TESTING_DIR", &world.to_string_lossy())
            .env("TMPDIR", &temporary.to_string_lossy())
    }

    /// Where the test provider stores its objects.
    pub fn world(&self) -> PathBuf {
        self.root().join("world")
    }

    /// Operations of the test provider, in order: lines `VERB KIND ID INSTANCE` without the process.
    pub fn record(&self) -> Vec<String> {
        let text = fs::read_to_string(self.world().join("record")).unwrap_or_default();
        text.lines().map(|line| line.rsplit_once(' ').map_or(line, |(deed, _)| deed).to_owned()).collect()
    }

    /// Processes of the test provider that were started, in order.
    pub fn provider_processes(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.world().join("processes")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Processes of the test provider that are still there.
    pub fn living_providers(&self) -> Vec<u32> {
        let ours = test_provider();
        let is_ours = |process: &u32| fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe == ours);
        self.provider_processes().into_iter().filter(is_ours).collect()
    }

    /// Remaining files in the directory for temporary files, sorted.
    pub fn temporary_files(&self) -> Vec<String> {
        names(&self.root().join("tmp"))
    }

    /// Forgets what the test provider did until now.
    pub fn clear_record(&self) {
        for file in ["record", "processes"] {
            // The file may be missing.
            let _ = fs::remove_file(self.world().join(file));
        }
    }

    /// Ids of objects that exist, sorted.
    pub fn objects(&self) -> Vec<String> {
        names(&self.world().join("objects"))
    }

    /// An existing object as JSON.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn object(&self, id: &str) -> String {
        fs::read_to_string(self.world().join("objects").join(id)).expect("because the test knows that it exists")
    }

    /// Changes an object from outside.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn change_object(&self, id: &str, change: impl FnOnce(String) -> String) {
        let text = change(self.object(id));
        fs::write(self.world().join("objects").join(id), text).expect("because the sandbox is writable");
    }

    /// Destroys an object from outside.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn destroy_object(&self, id: &str) {
        fs::remove_file(self.world().join("objects").join(id)).expect("because the test knows that it exists");
    }
}
