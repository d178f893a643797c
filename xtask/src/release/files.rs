//! The files of a package, below the prefix that they are installed to.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use md5::{Digest as _, Md5};
use sha2::Sha256;

use super::{archives, output, read};

/// A file in a package.
#[derive(Clone, Debug)]
pub(super) struct PackedFile {
    /// The path below the prefix.
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) content: Vec<u8>,
}

impl PackedFile {
    /// A file that can be read.
    pub(super) fn text(path: &str, content: &str) -> PackedFile {
        PackedFile { path: path.to_owned(), mode: 0o644, content: content.into() }
    }

    /// A file that can be run.
    pub(super) fn executable(path: &str, content: Vec<u8>) -> PackedFile {
        PackedFile { path: path.to_owned(), mode: 0o755, content }
    }

    /// The checksum that Debian packages list.
    pub(super) fn md5(&self) -> String {
        hex(&Md5::digest(&self.content))
    }
}

/// The checksum of a file, as `sha256sum` prints it.
pub(crate) fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("strings can be written");
        text
    })
}

/// All files but the executable: completion for three shells, man pages, licences and documents. `program` runs on this machine and
/// writes completions and man pages; its own version is checked.
pub(super) fn accompanying(program: &Path, version: &str, licences: &str) -> Result<Vec<PackedFile>, String> {
    let shown = output(quiet(program).arg("version"))?;
    if shown.lines().next() != Some(&format!("Yuba v{version}")) {
        return Err(format!("{} is not version {version}, but: {}", program.display(), shown.trim()));
    }
    let mut files = Vec::new();
    for (shell, path) in [
        ("bash", "share/bash-completion/completions/yuba"),
        ("zsh", "share/zsh/site-functions/_yuba"),
        ("fish", "share/fish/vendor_completions.d/yuba.fish"),
    ] {
        files.push(PackedFile::text(path, &output(quiet(program).args(["completion", shell]))?));
    }
    files.extend(man_pages(program)?);
    for (path, text) in [
        ("LICENSE", read("LICENSE")?),
        ("README.md", read("README.md")?),
        ("CHANGELOG.md", read("CHANGELOG.md")?),
        ("THIRD-PARTY-LICENSES.txt", licences.to_owned()),
    ] {
        files.push(PackedFile::text(&format!("share/doc/yuba/{path}"), &text));
    }
    Ok(files)
}

/// A command of the executable without settings of this machine.
fn quiet(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("TF_CLI_CONFIG_FILE").env_remove("TF_CLI_ARGS").env_remove("TF_LOG").env("NO_COLOR", "1");
    command
}

fn man_pages(program: &Path) -> Result<Vec<PackedFile>, String> {
    let directory = std::env::temp_dir().join(format!("yuba-man-{}", std::process::id()));
    output(quiet(program).args(["metadata", "commands"]).arg(format!("-man={}", directory.display())))?;
    let mut pages = Vec::new();
    let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(entry.path()).map_err(|error| format!("{name}: {error}"))?;
        pages.push(PackedFile::text(&format!("share/man/man1/{name}"), &text));
    }
    let _ = fs::remove_dir_all(&directory);
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    match pages.is_empty() {
        true => Err(format!("{} wrote no man pages", program.display())),
        false => Ok(pages),
    }
}

/// The files where Debian has them: below `usr`, man pages and long documents compressed.
pub(super) fn as_debian(files: &[PackedFile], copyright: &str) -> Vec<PackedFile> {
    let mut moved: Vec<PackedFile> = files.iter().filter(|file| !file.path.ends_with("/LICENSE")).map(debian).collect();
    moved.push(PackedFile::text("usr/share/doc/yuba/copyright", copyright));
    moved.sort_by(|one, other| one.path.cmp(&other.path));
    moved
}

fn debian(file: &PackedFile) -> PackedFile {
    let path = file.path.replace("zsh/site-functions", "zsh/vendor-completions");
    let is_compressed =
        path.starts_with("share/man/") || path.ends_with("CHANGELOG.md") || path.ends_with("LICENSES.txt");
    let path = format!("usr/{}", path.replace("CHANGELOG.md", "changelog"));
    match is_compressed {
        true => PackedFile { path: path + ".gz", mode: file.mode, content: archives::gzip(&file.content) },
        false => PackedFile { path, ..file.clone() },
    }
}

#[cfg(test)]
mod tests {
    use super::{PackedFile, as_debian, sha256};

    #[test]
    fn debian_has_other_directories() {
        let files = [
            PackedFile::executable("bin/yuba", Vec::new()),
            PackedFile::text("share/man/man1/yuba.1", ""),
            PackedFile::text("share/zsh/site-functions/_yuba", ""),
            PackedFile::text("share/doc/yuba/LICENSE", ""),
            PackedFile::text("share/doc/yuba/CHANGELOG.md", ""),
        ];
        let paths: Vec<String> = as_debian(&files, "").into_iter().map(|file| file.path).collect();
        let expected = [
            "usr/bin/yuba",
            "usr/share/doc/yuba/changelog.gz",
            "usr/share/doc/yuba/copyright",
            "usr/share/man/man1/yuba.1.gz",
            "usr/share/zsh/vendor-completions/_yuba",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn checksums_are_those_of_sha256sum() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
