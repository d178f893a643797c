//! Verification of packages: each is installed in a clean directory, used and removed, with nothing of this machine but a shell
//! and system tools.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::files::sha256;
use super::packages::CHECKSUMS;
use super::shells::{SHELLS, Shell};
use super::{changelog, host, read};
use crate::tidy::root;

/// The configuration of a directory that OpenTofu has applied.
const EXISTING: &str = "variable \"name\" {\n  default = \"example\"\n}\n\nresource \"terraform_data\" \"example\" {\n  input = var.name\n}\n\n\
                        output \"name\" {\n  value = terraform_data.example.output\n}\n";

/// The largest size of the executable, in bytes.
const LARGEST: u64 = 30_000_000;

/// Directories of executables in the clean environment.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Verifies the checksums of a directory, and the packages in it that this machine can run.
pub(super) fn run(directory: &Path) -> Result<String, String> {
    let version = changelog::workspace_version(&read("Cargo.toml")?)?;
    let names = check_sums(directory)?;
    let target = host()?;
    // Static binaries of the other C library run, too.
    let is_native = |name: &str| {
        let start = format!("yuba-{version}-");
        let found = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".tar.gz"));
        found.is_some_and(|found| found == target || found == target.replace("-gnu", "-musl"))
    };
    let (mut verified, mut skipped) = (Vec::new(), BTreeSet::new());
    for name in names.iter().filter(|name| is_native(name)) {
        let mut trial = Trial::new(&format!("tarball-{}", verified.len()))?;
        trial.tarball(&directory.join(name), &version)?;
        trial.script(directory, name, &version)?;
        skipped.append(&mut trial.skipped);
        verified.push(name.clone());
    }
    let debian = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    for name in names.iter().filter(|name| name.ends_with(&format!("_{debian}.deb"))) {
        let mut trial = Trial::new("deb")?;
        if trial.has("dpkg")? {
            trial.debian_package(&directory.join(name), &version)?;
            verified.push(name.clone());
        }
        skipped.append(&mut trial.skipped);
    }
    let skipped: String = skipped.iter().map(|tool| format!("\nrelease: skipped what requires {tool}")).collect();
    match verified.is_empty() {
        true => Err(format!("{}: no package of version {version} for {target}", directory.display())),
        false => Ok(format!("release: verified {} checksums and {}{skipped}", names.len(), verified.join(", "))),
    }
}

/// Compares all checksums. Returns the names of the files.
fn check_sums(directory: &Path) -> Result<Vec<String>, String> {
    let list = directory.join(CHECKSUMS);
    let text = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut names = Vec::new();
    for line in text.lines() {
        let (sum, name) = line.split_once("  ").ok_or_else(|| format!("{CHECKSUMS}: malformed line {line:?}"))?;
        let content = fs::read(directory.join(name)).map_err(|error| format!("{name}: {error}"))?;
        if sha256(&content) != sum {
            return Err(format!("{name}: the checksum in {CHECKSUMS} is another one"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// The path of an executable in a list of directories.
fn found(program: &str, directories: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(directories).map(|directory| directory.join(program)).find(|path| path.is_file())
}

/// A clean directory: home directory, prefix and projects. It is removed at the end.
struct Trial {
    top: PathBuf,
    /// Missing tools.
    skipped: BTreeSet<String>,
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.top);
    }
}

impl Trial {
    fn new(name: &str) -> Result<Trial, String> {
        let top = std::env::temp_dir().join(format!("yuba-release-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&top);
        fs::create_dir_all(top.join("home")).map_err(|error| format!("{}: {error}", top.display()))?;
        Ok(Trial { top, skipped: BTreeSet::new() })
    }

    /// Whether a tool exists. Fails if it is missing and `YUBA_REQUIRE` lists it.
    fn has(&mut self, tool: &str) -> Result<bool, String> {
        Ok(self.tool(tool, OsStr::new(PATH))?.is_some())
    }

    /// The path of a tool. None is recorded as skipped.
    fn tool(&mut self, tool: &str, directories: &OsStr) -> Result<Option<PathBuf>, String> {
        let path = found(tool, directories);
        if path.is_none() {
            let required = std::env::var("YUBA_REQUIRE").unwrap_or_default();
            if required.split(',').any(|listed| listed == tool) {
                return Err(format!("release: {tool} is required by YUBA_REQUIRE and missing"));
            }
            self.skipped.insert(tool.to_owned());
        }
        Ok(path)
    }

    /// Installs, uses and removes a tarball.
    fn tarball(&mut self, package: &Path, version: &str) -> Result<(), String> {
        let prefix = self.directory("prefix")?;
        self.succeed(&self.top, "tar", &["-xzf", &shown(package), "--strip-components=1", "-C", &shown(&prefix)])?;
        self.installed(&prefix, version)?;
        // Uninstalling removes what the archive lists.
        let listed = self.succeed(&self.top, "tar", &["-tzf", &shown(package)])?;
        for path in listed.lines().filter(|path| !path.ends_with('/')) {
            let path = prefix.join(path.split_once('/').map_or(path, |(_, path)| path));
            fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        self.is_empty(&prefix)
    }

    /// Installs a tarball with the script of the release, from the directory instead of a server. Neither a changed package nor an
    /// unknown version is installed.
    fn script(&mut self, packages: &Path, name: &str, version: &str) -> Result<(), String> {
        if !self.has("curl")? {
            return Ok(());
        }
        let served = self.directory("served")?;
        for file in ["install.sh", CHECKSUMS, name] {
            fs::copy(packages.join(file), served.join(file)).map_err(|error| format!("{file}: {error}"))?;
        }
        let (script, url) = (shown(&served.join("install.sh")), format!("file://{}", served.display()));
        let target = name.strip_prefix(&format!("yuba-{version}-")).and_then(|rest| rest.strip_suffix(".tar.gz"));
        let target = format!("YUBA_TARGET={}", target.unwrap_or_default());
        let install = |version: &str, prefix: &str| {
            self.succeed(&self.top, "env", &[&target, "sh", &script, &url, version, prefix])
        };
        let installed = install(version, "by-script")?;
        expect(installed.starts_with(&format!("Yuba v{version}\n")), "install.sh", &installed)?;
        // The version is in the script. The prefix defaults to a directory of the user.
        self.succeed(&self.top, "env", &[&target, "sh", &script, &url])?;
        expect(self.top.join("home/.local/bin/yuba").is_file(), "the default of install.sh", "bin/yuba is missing")?;
        fs::remove_dir_all(self.top.join("home/.local")).map_err(|error| error.to_string())?;
        let fails = |version: &str, words: &str| match install(version, "refused") {
            Ok(output) => Err(format!("release: install.sh installed a package that it must refuse\n{output}")),
            Err(reason) => expect(reason.contains(words), "the error of install.sh", &reason),
        };
        fails("0.0.0", "lists no package of version 0.0.0")?;
        super::write(&served.join(name), b"changed")?;
        fails(version, &format!("the checksum of {name} differs"))?;
        fs::remove_file(served.join(name)).map_err(|error| error.to_string())?;
        fails(version, "failed to download")?;
        expect(!self.top.join("refused").exists(), "a refused package", "files were installed")
    }

    /// Installs, uses and removes a Debian package with a database of packages of its own. Its dependencies are not checked.
    fn debian_package(&mut self, package: &Path, version: &str) -> Result<(), String> {
        let system = self.directory("system")?;
        for path in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
            self.directory(&format!("system/{path}"))?;
        }
        for path in ["var/lib/dpkg/status", "var/lib/dpkg/available"] {
            super::write(&system.join(path), b"")?;
        }
        let (root, log) = (format!("--root={}", shown(&system)), "--log=/dev/null");
        let forced = ["--force-not-root", "--force-depends", "--force-bad-path"];
        let package = shown(package);
        self.succeed(
            &self.top,
            "dpkg",
            &[&[root.as_str(), log], &forced[..], &["--install", package.as_str()]].concat(),
        )?;
        self.succeed(&self.top, "dpkg", &[root.as_str(), "--verify", "yuba"])?;
        self.installed(&system.join("usr"), version)?;
        self.succeed(&self.top, "dpkg", &[&[root.as_str(), log], &forced[..], &["--purge", "yuba"]].concat())?;
        self.is_empty(&system.join("usr"))
    }

    /// Uses everything below a prefix: the binary, completion, a man page, the tour and a directory of OpenTofu.
    fn installed(&mut self, prefix: &Path, version: &str) -> Result<(), String> {
        let program = shown(&prefix.join("bin/yuba"));
        let shown_version = self.succeed(&self.top, &program, &["version"])?;
        expect(shown_version.lines().next() == Some(&format!("Yuba v{version}")), "version", &shown_version)?;
        let size = fs::metadata(&program).map_err(|error| format!("{program}: {error}"))?.len();
        expect(size <= LARGEST, "the size of the executable", &format!("{size} bytes, the limit is {LARGEST}"))?;
        self.completion(prefix)?;
        self.completion_of_startup_files(prefix, &program)?;
        self.man_page(prefix)?;
        self.tour(&program)?;
        self.existing_directory(&program)?;
        for name in ["share/doc/yuba/THIRD-PARTY-LICENSES.txt", "share/doc/yuba/README.md"] {
            let path = prefix.join(name);
            let exists = path.is_file() || path.with_extension("txt.gz").is_file();
            expect(exists, "documents", &path.display().to_string())?;
        }
        Ok(())
    }

    /// The scripts of the package, in each shell.
    fn completion(&mut self, prefix: &Path) -> Result<(), String> {
        for shell in &SHELLS {
            let script = shell.installed(prefix);
            let script = script.ok_or_else(|| format!("release: the completion for {} is missing", shell.name))?;
            if self.has(shell.name)? {
                self.completes(prefix, shell, &shell.with_script(&script))?;
            }
        }
        Ok(())
    }

    /// `-install-autocomplete` changes startup files so that each shell completes, and `-uninstall-autocomplete` restores them.
    fn completion_of_startup_files(&mut self, prefix: &Path, program: &str) -> Result<(), String> {
        let home = self.top.join("home");
        let own = "# a line of the user\n";
        for shell in &SHELLS {
            let file = home.join(shell.startup);
            match shell.name {
                "fish" => fs::create_dir_all(home.join(".config/fish")).map_err(|error| error.to_string())?,
                _ => super::write(&file, own.as_bytes())?,
            }
        }
        self.succeed(&self.top, program, &["-install-autocomplete"])?;
        for shell in &SHELLS {
            expect(home.join(shell.startup).is_file(), "-install-autocomplete", shell.startup)?;
            if self.has(shell.name)? {
                self.completes(prefix, shell, &shell.with_startup_file())?;
            }
        }
        self.succeed(&self.top, program, &["-uninstall-autocomplete"])?;
        for shell in &SHELLS {
            let text = fs::read_to_string(home.join(shell.startup)).unwrap_or_default();
            expect(text == if shell.name == "fish" { "" } else { own }, "-uninstall-autocomplete", &text)?;
        }
        Ok(())
    }

    /// Checks that a shell completes the name of a command.
    fn completes(&self, prefix: &Path, shell: &Shell, script: &str) -> Result<(), String> {
        let path = format!("PATH={}:{PATH}", shown(&prefix.join("bin")));
        let start = [&[path.as_str(), "TERM=dumb", shell.name], shell.flags, &[script]].concat();
        let completed = self.succeed(&self.top, "env", &start)?;
        expect(completed.contains("workspace"), &format!("completion in {}", shell.name), &completed)
    }

    fn man_page(&mut self, prefix: &Path) -> Result<(), String> {
        let man = prefix.join("share/man");
        let pages = [man.join("man1/yuba-plan.1"), man.join("man1/yuba-plan.1.gz")];
        let page = pages.iter().find(|page| page.is_file()).ok_or("release: the man page of plan is missing")?;
        for (program, arguments) in [
            ("man", ["-P", "cat", "-M", &shown(&man), "yuba-plan"].as_slice()),
            ("mandoc", &["-T", "utf8", &shown(page)]),
        ] {
            if self.has(program)? {
                let text = self.succeed(&self.top, program, arguments)?.replace('\u{8}', "");
                expect(text.contains("YUBA-PLAN(1)"), &format!("the man page of plan in {program}"), &text)?;
            }
        }
        Ok(())
    }

    fn tour(&self, program: &str) -> Result<(), String> {
        let tour = self.directory("tour")?;
        for name in ["main.tf", "page.tftpl"] {
            super::write(&tour.join(name), read(&format!("examples/tour/{name}"))?.as_bytes())?;
        }
        self.succeed(&tour, program, &["validate"])?;
        let applied = self.succeed(&tour, program, &["apply", "-auto-approve"])?;
        expect(applied.contains("Resources: 3 added") && tour.join("site/index.html").is_file(), "the tour", &applied)?;
        self.succeed(&tour, program, &["plan", "-detailed-exitcode"])?;
        self.succeed(&tour, program, &["destroy", "-auto-approve"])?;
        expect(!tour.join("site/index.html").is_file(), "destroying the tour", "site/index.html still exists")
    }

    /// A directory that OpenTofu has applied: no changes, a change, and back to OpenTofu, which finds no changes.
    fn existing_directory(&mut self, program: &str) -> Result<(), String> {
        let directories = std::env::var_os("PATH").unwrap_or_default();
        let Some(tofu) = self.tool("tofu", &directories)? else { return Ok(()) };
        let tofu = tofu.display().to_string();
        let project = self.directory("existing")?;
        super::write(&project.join("main.tf"), EXISTING.as_bytes())?;
        self.succeed(&project, &tofu, &["init"])?;
        self.succeed(&project, &tofu, &["apply", "-auto-approve"])?;
        let lineage =
            |text: String| text.split("\"lineage\": ").nth(1).map(|rest| rest[..40.min(rest.len())].to_owned());
        let state = || fs::read_to_string(project.join("terraform.tfstate")).map_err(|error| error.to_string());
        let before = lineage(state()?);
        self.succeed(&project, program, &["init"])?;
        self.succeed(&project, program, &["plan", "-detailed-exitcode"])?;
        let applied = self.succeed(&project, program, &["apply", "-auto-approve", "-var=name=other"])?;
        expect(applied.contains("0 added, 1 changed, 0 destroyed"), "an existing directory", &applied)?;
        expect(before.is_some() && before == lineage(state()?), "the lineage of the state", &state()?)?;
        self.succeed(&project, &tofu, &["plan", "-detailed-exitcode", "-var=name=other"])?;
        Ok(())
    }

    fn directory(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.top.join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Checks that uninstalling has left no file.
    fn is_empty(&self, directory: &Path) -> Result<(), String> {
        let mut folders = vec![directory.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                match entry.path().is_dir() {
                    true => folders.push(entry.path()),
                    false => return Err(format!("release: uninstalling left {}", entry.path().display())),
                }
            }
        }
        Ok(())
    }

    /// The standard output of a command in a clean environment. Fails if the command fails.
    fn succeed(&self, directory: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).env_clear();
        command.env("HOME", self.top.join("home")).env("PATH", PATH).env("LC_ALL", "C");
        let Output { status, stdout, stderr } = command.output().map_err(|error| format!("{program}: {error}"))?;
        let text = String::from_utf8_lossy(&stdout).into_owned();
        match status.success() {
            true => Ok(text),
            false => Err(format!(
                "release: {program} {} failed: {status}\n{text}{}",
                arguments.join(" "),
                String::from_utf8_lossy(&stderr)
            )),
        }
    }
}

fn shown(path: &Path) -> String {
    // Packages may be named relative to the root of the repository.
    let path = if path.is_absolute() { path.to_owned() } else { root().join(path) };
    path.display().to_string()
}

fn expect(is_met: bool, what: &str, output: &str) -> Result<(), String> {
    if is_met { Ok(()) } else { Err(format!("release: {what} is not as expected:\n{output}")) }
}

#[cfg(test)]
mod tests {
    use super::{check_sums, sha256};

    #[test]
    fn a_changed_file_does_not_match_its_checksum() {
        let directory = std::env::temp_dir().join(format!("yuba-sums-{}", std::process::id()));
        let write = |name: &str, text: &str| {
            super::super::write(&directory.join(name), text.as_bytes()).expect("because it is ours")
        };
        write("a.deb", "content");
        write("SHA256SUMS", &format!("{}  a.deb\n", sha256(b"content")));
        assert_eq!(check_sums(&directory), Ok(vec!["a.deb".to_owned()]));
        write("a.deb", "changed");
        assert!(check_sums(&directory).is_err());
        std::fs::remove_file(directory.join("a.deb")).expect("because it exists");
        assert!(check_sums(&directory).is_err());
        let _ = std::fs::remove_dir_all(&directory);
    }
}
