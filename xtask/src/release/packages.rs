//! Builds the packages of one target: a tarball, a Debian package, the licences, the bill of materials and the checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{PackedFile, accompanying, as_debian, sha256};
use super::{archives, changelog, crates, host, licences, output, read, sbom, write};
use crate::docs;
use crate::tidy::root;

/// The list of checksums.
pub(super) const CHECKSUMS: &str = "SHA256SUMS";

/// Maintainer of the Debian package. Forks set `YUBA_MAINTAINER`.
const MAINTAINER: &str = "The Yuba authors <maintainers@yuba.invalid>";

/// Packages to build.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) target: String,
    /// An executable that exists. None builds one.
    pub(super) binary: Option<PathBuf>,
    pub(super) output: PathBuf,
    /// The address where the files will be published. Empty if it is unknown.
    pub(super) url: String,
}

impl Request {
    /// A request for the executable of a target that is yet to be built.
    pub(super) fn new(target: String, output: PathBuf) -> Request {
        Request { target, binary: None, output, url: String::new() }
    }
}

/// Builds the packages. Returns the names of the files.
pub(super) fn build(request: &Request) -> Result<Vec<String>, String> {
    let version = changelog::workspace_version(&read("Cargo.toml")?)?;
    changelog::section(&read("CHANGELOG.md")?, &version)?;
    let target = request.target.as_str();
    let binary = match &request.binary {
        Some(binary) => binary.clone(),
        None => compile(target)?,
    };
    let content = fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    // Completion and man pages are the same for all targets, and come from a binary that this machine can run.
    let program = if target == host()? { binary } else { docs::binary()? };
    let linked = crates::linked(target)?;
    let licences = licences::document(&linked)?;
    let mut files = accompanying(&program, &version, &licences)?;
    let depends = depends(&content, target);
    files.insert(0, PackedFile::executable(&format!("bin/yuba{}", suffix(target)), content));
    let (time, date) = commit_time()?;
    let top = format!("yuba-{version}-{target}");
    let bill = serde_json::to_string_pretty(&sbom::document(&version, target, &date, &linked));
    let mut written = vec![
        (format!("{top}.tar.gz"), archives::gzip(&archives::tar(&top, &files, time))),
        (format!("{top}.cdx.json"), bill.map_err(|error| error.to_string())?.into_bytes()),
        ("THIRD-PARTY-LICENSES.txt".to_owned(), licences.into_bytes()),
    ];
    written.extend(scripts(&version, &request.url)?);
    if let Some(architecture) = debian_architecture(target) {
        let files = as_debian(&files, &copyright()?);
        let control = control(&version, architecture, &depends, &files);
        written.push((format!("yuba_{version}_{architecture}.deb"), archives::deb(&control, &files, time)));
    }
    for (name, content) in &written {
        write(&request.output.join(name), content)?;
    }
    write_checksums(&request.output)?;
    Ok(written.into_iter().map(|(name, _)| name).chain([CHECKSUMS.to_owned()]).collect())
}

/// Files that pipelines download from a release: the script that installs it, with its defaults, and the template for GitLab.
fn scripts(version: &str, url: &str) -> Result<[(String, Vec<u8>); 2], String> {
    let script = installer(&read("packaging/install.sh")?, version, url)?;
    let template = read("packaging/gitlab-ci.yml")?;
    Ok([("install.sh".to_owned(), script.into_bytes()), ("gitlab-ci.yml".to_owned(), template.into_bytes())])
}

/// The script that installs a release, with its defaults.
fn installer(script: &str, version: &str, url: &str) -> Result<String, String> {
    if url.contains(|character: char| character.is_control() || character.is_whitespace() || character == '\'') {
        return Err(format!("{url:?} is not an address"));
    }
    let mut script = script.to_owned();
    for (name, value) in [("version", version), ("url", url)] {
        let line = format!("\ndefault_{name}=''\n");
        if script.matches(&line).count() != 1 {
            return Err(format!("packaging/install.sh: the line {:?} is missing", line.trim()));
        }
        script = script.replace(&line, &format!("\ndefault_{name}='{value}'\n"));
    }
    Ok(script)
}

/// Builds the executable of a target.
fn compile(target: &str) -> Result<PathBuf, String> {
    let arguments = ["build", "--release", "--locked", "--package", "yuba-cli", "--bin", "yuba", "--target", target];
    let mut command = Command::new(env!("CARGO"));
    let status = command.current_dir(root()).args(arguments).status().map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!(
            "release: the build for {target} failed. Check that its standard library is installed (rustup target add {target}) and \
             a C compiler for it (docs/RELEASING.md)."
        ));
    }
    let top = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(top.join(target).join("release").join(format!("yuba{}", suffix(target))))
}

fn suffix(target: &str) -> &'static str {
    if target.contains("windows") { ".exe" } else { "" }
}

/// The time of the commit, in seconds since 1970 and as text, or `SOURCE_DATE_EPOCH`.
fn commit_time() -> Result<(u64, String), String> {
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(seconds) => seconds,
        Err(_) => output(Command::new("git").current_dir(root()).args(["show", "-s", "--format=%ct", "HEAD"]))?,
    };
    let seconds: u64 = seconds.trim().parse().map_err(|_| format!("{seconds:?} is not a time in seconds"))?;
    Ok((seconds, rfc3339(seconds)))
}

/// A time in seconds since 1970, as text in UTC.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in eras of 400 years.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (day, month) =
        (day_of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The architecture that Debian packages for a target have. None for targets without such packages.
fn debian_architecture(target: &str) -> Option<&'static str> {
    match target {
        "x86_64-unknown-linux-gnu" => Some("amd64"),
        "aarch64-unknown-linux-gnu" => Some("arm64"),
        _ => None,
    }
}

/// The packages that an executable needs: the newest version of the C library that it names.
fn depends(binary: &[u8], target: &str) -> String {
    if !target.ends_with("-gnu") {
        return String::new();
    }
    let marker = b"GLIBC_2.";
    let minors = binary.windows(marker.len() + 2).filter(|window| window.starts_with(marker)).filter_map(|window| {
        let digits: String =
            window[marker.len()..].iter().map(|byte| char::from(*byte)).take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    let minor = minors.max().unwrap_or(17);
    format!("Depends: libc6 (>= 2.{minor}), libgcc-s1\n")
}

fn control(version: &str, architecture: &str, depends: &str, files: &[PackedFile]) -> String {
    let maintainer = std::env::var("YUBA_MAINTAINER").unwrap_or_else(|_| MAINTAINER.to_owned());
    let size = files.iter().map(|file| file.content.len().div_ceil(1024)).sum::<usize>();
    // A pre-release comes before its release.
    let version = version.replace('-', "~");
    format!(
        "Package: yuba\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {maintainer}\nInstalled-Size: {size}\n{depends}\
         Suggests: git, openssh-client\nSection: admin\nPriority: optional\n\
         Description: infrastructure as code for the OpenTofu language\n Yuba plans and applies configurations in the language of OpenTofu, with its \
         providers,\n states and commands, in the same working directory.\n"
    )
}

fn copyright() -> Result<String, String> {
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: Yuba\n\nFiles: *\nCopyright: The Yuba \
         authors\nLicense: MPL-2.0\n{}\n\nComment: Licences of the crates in the binary are in THIRD-PARTY-LICENSES.txt.gz.\n",
        read("LICENSE")?
            .lines()
            .map(|line| if line.trim().is_empty() { " .".to_owned() } else { format!(" {line}") })
            .collect::<Vec<_>>()
            .join("\n")
    ))
}

/// Writes the checksums of all other files in a directory.
fn write_checksums(directory: &Path) -> Result<(), String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| error.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != CHECKSUMS && entry.path().is_file() {
            let content = fs::read(entry.path()).map_err(|error| format!("{name}: {error}"))?;
            lines.push(format!("{}  {name}\n", sha256(&content)));
        }
    }
    lines.sort_by(|one, other| one[64..].cmp(&other[64..]));
    write(&directory.join(CHECKSUMS), lines.concat().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::files::PackedFile;
    use super::{control, depends, installer, rfc3339};

    #[test]
    fn a_released_script_has_defaults() {
        let script = "set -eu\ndefault_url=''\ndefault_version=''\nrest\n";
        let released = installer(script, "0.2.0", "https://example.com/yuba/0.2.0");
        let expected = "set -eu\ndefault_url='https://example.com/yuba/0.2.0'\ndefault_version='0.2.0'\nrest\n";
        assert_eq!(released.as_deref(), Ok(expected));
        assert!(installer(script, "0.2.0", "https://example.com/'; rm -r ~").is_err());
        assert!(installer("set -eu\n", "0.2.0", "").is_err());
        assert!(super::scripts("0.2.0", "").is_ok());
    }

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(rfc3339(1_767_225_599), "2025-12-31T23:59:59Z");
    }

    #[test]
    fn the_newest_symbols_decide_about_the_c_library() {
        let binary = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.17\0";
        assert_eq!(depends(binary, "x86_64-unknown-linux-gnu"), "Depends: libc6 (>= 2.34), libgcc-s1\n");
        assert_eq!(depends(binary, "x86_64-unknown-linux-musl"), "");
    }

    #[test]
    fn a_pre_release_comes_before_its_release() {
        let text = control("0.2.0-rc1", "amd64", "Depends: libc6\n", &[PackedFile::text("a", "b")]);
        assert!(text.starts_with("Package: yuba\nVersion: 0.2.0~rc1\nArchitecture: amd64\n"), "{text}");
        assert!(text.contains("\nInstalled-Size: 1\nDepends: libc6\n"), "{text}");
        assert!(text.lines().all(|line| !line.is_empty()), "{text}");
    }
}
