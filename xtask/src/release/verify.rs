//! Verification of packages: each is installed in a clean directory, used and removed, with nothing of this machine but a shell
//! and system programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::files::sha256;
use super::packages::CHECKSUMS;
use super::{changelog, host, read};
use crate::tidy::root;

/// A configuration, and the state that OpenTofu 1.12 has written for it.
const EXISTING: [(&str, &str); 2] = [
    (
        "main.tf",
        "variable \"name\" {\n  default = \"example\"\n}\n\nresource \"terraform_data\" \"example\" {\n  input = var.name\n}\n\noutput \"name\" {\n  \
         value = terraform_data.example.output\n}\n",
    ),
    (
        "terraform.tfstate",
        r#"{
  "version": 4,
  "terraform_version": "1.12.0",
  "serial": 2,
  "lineage": "8a3ea5d7-7a4e-4a57-4ddb-24f0b3f2a1c5",
  "outputs": {
    "name": {
      "value": "example",
      "type": "string"
    }
  },
  "resources": [
    {
      "mode": "managed",
      "type": "terraform_data",
      "name": "example",
      "provider": "provider[\"terraform.io/builtin/terraform\"]",
      "instances": [
        {
          "schema_version": 0,
          "attributes": {
            "id": "0e0d6f3c-9d0c-5c39-8c3b-2f5e1b1ad0a1",
            "input": {
              "value": "example",
              "type": "string"
            },
            "output": {
              "value": "example",
              "type": "string"
            },
            "triggers_replace": null
          },
          "sensitive_attributes": []
        }
      ]
    }
  ],
  "check_results": null
}
"#,
    ),
];

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
    let mut verified = Vec::new();
    for name in names.iter().filter(|name| is_native(name)) {
        Trial::new(&format!("tarball-{}", verified.len()))?.tarball(&directory.join(name), &version)?;
        verified.push(name.clone());
    }
    let debian = match std::env::consts::ARCH {
        "aarch64" => "arm64",
        _ => "amd64",
    };
    for name in names.iter().filter(|name| name.ends_with(&format!("_{debian}.deb"))) {
        match has("dpkg") {
            true => Trial::new("deb")?.debian_package(&directory.join(name), &version)?,
            false => verified.push("not the Debian package, because dpkg is missing:".to_owned()),
        }
        verified.push(name.clone());
    }
    match verified.is_empty() {
        true => Err(format!("{}: no package of version {version} for {target}", directory.display())),
        false => Ok(format!("release: verified {} checksums and {}", names.len(), verified.join(", "))),
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

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A clean directory: home directory, prefix and projects. It is removed at the end.
struct Trial {
    top: PathBuf,
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
        Ok(Trial { top })
    }

    /// Installs, uses and removes a tarball.
    fn tarball(&self, package: &Path, version: &str) -> Result<(), String> {
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

    /// Installs, uses and removes a Debian package with a database of packages of its own. Its dependencies are not checked.
    fn debian_package(&self, package: &Path, version: &str) -> Result<(), String> {
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
    fn installed(&self, prefix: &Path, version: &str) -> Result<(), String> {
        let program = shown(&prefix.join("bin/yuba"));
        let shown_version = self.succeed(&self.top, &program, &["version"])?;
        expect(shown_version.lines().next() == Some(&format!("Yuba v{version}")), "version", &shown_version)?;
        self.completion(prefix)?;
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

    fn completion(&self, prefix: &Path) -> Result<(), String> {
        let zsh = [prefix.join("share/zsh/site-functions/_yuba"), prefix.join("share/zsh/vendor-completions/_yuba")];
        let [bash, fish] = ["share/bash-completion/completions/yuba", "share/fish/vendor_completions.d/yuba.fish"]
            .map(|path| prefix.join(path));
        expect(zsh.iter().any(|path| path.is_file()) && fish.is_file(), "completion", "a script is missing")?;
        if !has("bash") {
            return Ok(());
        }
        let script = format!(
            "export PATH={}:$PATH; source {}; function=$(complete -p yuba | sed 's/.*-F \\([^ ]*\\).*/\\1/'); COMP_WORDS=(yuba pla); COMP_CWORD=1; \
             COMP_LINE='yuba pla'; COMP_POINT=8; $function yuba pla yuba; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            shown(&prefix.join("bin")),
            shown(&bash)
        );
        let completed = self.succeed(&self.top, "bash", &["--norc", "-c", &script])?;
        expect(completed.split_whitespace().any(|word| word == "plan"), "completion in bash", &completed)
    }

    fn man_page(&self, prefix: &Path) -> Result<(), String> {
        let man = prefix.join("share/man");
        let exists = man.join("man1/yuba-plan.1").is_file() || man.join("man1/yuba-plan.1.gz").is_file();
        expect(exists, "man pages", "yuba-plan.1 is missing")?;
        if !has("man") {
            return Ok(());
        }
        let page = self.succeed(&self.top, "man", &["-P", "cat", "-M", &shown(&man), "yuba-plan"])?;
        expect(page.contains("-out"), "the man page of plan", &page)
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

    fn existing_directory(&self, program: &str) -> Result<(), String> {
        let project = self.directory("existing")?;
        for (name, text) in EXISTING {
            super::write(&project.join(name), text.as_bytes())?;
        }
        self.succeed(&project, program, &["init"])?;
        self.succeed(&project, program, &["plan", "-detailed-exitcode"])?;
        let applied = self.succeed(&project, program, &["apply", "-auto-approve", "-var=name=other"])?;
        expect(applied.contains("0 added, 1 changed, 0 destroyed"), "an existing directory", &applied)?;
        let state = fs::read_to_string(project.join("terraform.tfstate")).map_err(|error| error.to_string())?;
        expect(state.contains("8a3ea5d7-7a4e-4a57-4ddb-24f0b3f2a1c5"), "the lineage of the state", &state)
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

    /// The standard output of a program in a clean environment. Fails if the program fails.
    fn succeed(&self, directory: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(directory).env_clear();
        command
            .env("HOME", self.top.join("home"))
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("LC_ALL", "C");
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

fn expect(holds: bool, what: &str, output: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("release: {what} is not as expected:\n{output}")) }
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
