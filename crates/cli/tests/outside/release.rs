//! Packages of a release, made of the executable that `YUBA_RELEASE_BINARY` names, are installed, used and removed. A second test
//! installs them with the script for pipelines.

use std::path::{Path, PathBuf};
use std::process::Command;

use yuba_testkit::Sandbox;

/// The executable to package.
pub(crate) fn binary() -> Option<PathBuf> {
    std::env::var_os("YUBA_RELEASE_BINARY").map(PathBuf::from).filter(|path| path.is_file())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Builds the packages and returns their directory.
fn packages(sandbox: &Sandbox) -> PathBuf {
    let directory = sandbox.dir().join("packages");
    let binary = binary().expect("the test runs only with an executable");
    xtask(&["build", "--binary", &binary.display().to_string(), "--output", &directory.display().to_string()]);
    directory
}

fn xtask(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).args(["xtask", "release"]).args(arguments);
    let output = command.output().expect("cargo runs this test");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    shown
}

/// The tarball and, where dpkg exists, the Debian package.
pub(crate) fn packages_are_installed_used_and_removed() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "");
    let directory = packages(&sandbox);
    let shown = xtask(&["verify", &directory.display().to_string()]);
    assert!(shown.contains(".tar.gz"), "{shown}");
    // One changed byte is found.
    let list = std::fs::read_to_string(directory.join("SHA256SUMS")).expect("the packages have checksums");
    let bill = list.lines().find(|line| line.ends_with(".cdx.json")).expect("the packages have a bill of materials");
    let bill = directory.join(bill.split("  ").nth(1).expect("the line has a name"));
    let text = std::fs::read_to_string(&bill).expect("it is a file");
    for part in ["\"CycloneDX\"", "pkg:cargo/aws-lc-rs@", "\"yuba:target\""] {
        assert!(text.contains(part), "{part} is missing in {}", bill.display());
    }
    std::fs::write(&bill, text + " ").expect("the sandbox is writable");
    let mut command = Command::new(env!("CARGO"));
    let changed = command.current_dir(root()).args(["xtask", "release", "verify"]).arg(&directory).output();
    assert!(!changed.expect("cargo runs this test").status.success());
}

/// `packaging/install.sh`, from a directory instead of a server.
pub(crate) fn the_script_installs_what_its_checksum_confirms() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_yuba"), "");
    let directory = packages(&sandbox);
    let names: Vec<String> = std::fs::read_dir(&directory)
        .expect("the packages exist")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let tarball = names.iter().find(|name| name.ends_with(".tar.gz")).expect("one package is a tarball");
    let target = tarball
        .strip_prefix(&format!("yuba-{}-", env!("CARGO_PKG_VERSION")))
        .and_then(|name| name.strip_suffix(".tar.gz"))
        .expect("the name has version and target");
    let install = |prefix: &str| {
        let mut command = Command::new("sh");
        command.arg(root().join("packaging/install.sh")).env("YUBA_TARGET", target);
        command
            .arg(format!("file://{}", directory.display()))
            .arg(env!("CARGO_PKG_VERSION"))
            // A path that begins in the working directory.
            .arg(prefix)
            .current_dir(sandbox.dir());
        command.output().expect("sh exists")
    };
    // A name that is not the same, though a dot in a pattern matches it.
    let sums = std::fs::read_to_string(directory.join("SHA256SUMS")).expect("the sums exist");
    let other = tarball.replacen('.', "x", 1);
    let sums = format!("{}  {other}\n{sums}", "0".repeat(64));
    std::fs::write(directory.join("SHA256SUMS"), sums).expect("the sandbox is writable");
    let output = install("prefix");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(sandbox.dir().join("prefix/share/man/man1/yuba-plan.1").is_file());
    std::fs::write(directory.join(tarball), b"changed").expect("the sandbox is writable");
    assert!(!install("other").status.success());
    assert!(!sandbox.dir().join("other").exists());
}
