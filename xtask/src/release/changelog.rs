//! The version of the workspace and the sections of the changelog.

/// The heading of entries that no release has yet.
const UNRELEASED: &str = "## Unreleased";

/// The version in the section `[workspace.package]` of a manifest.
pub(super) fn workspace_version(manifest: &str) -> Result<String, String> {
    let section = manifest.split("[workspace.package]").nth(1).unwrap_or_default();
    let line = section.lines().find_map(|line| line.strip_prefix("version = "));
    let version = line.map(|value| value.trim_matches('"').to_owned());
    version.ok_or_else(|| "Cargo.toml: [workspace.package] has no version".to_owned())
}

/// The changelog with the unreleased entries under a heading with version and date, below an empty unreleased section. If the
/// version has a section without a date already, its heading gets the date and the unreleased entries come first in it.
pub(super) fn released(changelog: &str, version: &str, date: &str) -> Result<String, String> {
    check_version(version)?;
    let (before, rest) = changelog.split_once(UNRELEASED).ok_or("CHANGELOG.md: no section \"## Unreleased\"")?;
    let end = rest.find("\n## ").map_or(rest.len(), |at| at + 1);
    let (entries, older) = rest.split_at(end);
    let (entries, heading) = (entries.trim(), format!("## {version} ({date})"));
    let is_own = |line: &str| line.strip_prefix("## ").and_then(|rest| rest.split(' ').next()) == Some(version);
    let older = match older.lines().next() {
        Some(line) if is_own(line) && line.contains('(') => {
            return Err(format!("CHANGELOG.md: version {version} has been released"));
        }
        Some(line) if is_own(line) => older[line.len()..].trim_start(),
        _ if changelog.lines().any(is_own) => {
            return Err(format!("CHANGELOG.md: the section of {version} is not the newest"));
        }
        _ if entries.is_empty() => return Err("CHANGELOG.md: there is nothing to release".to_owned()),
        _ => older,
    };
    let gap = if entries.is_empty() { "" } else { "\n\n" };
    Ok(format!("{before}{UNRELEASED}\n\n{heading}\n\n{entries}{gap}{older}"))
}

/// The entries of a version.
pub(super) fn section(changelog: &str, version: &str) -> Result<String, String> {
    let mut lines = changelog.lines().skip_while(|line| {
        line.strip_prefix("## ").and_then(|rest| rest.split(' ').next()).is_none_or(|found| found != version)
    });
    lines.next().ok_or_else(|| format!("CHANGELOG.md: no section of version {version}"))?;
    let entries: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    match entries.join("\n").trim() {
        "" => Err(format!("CHANGELOG.md: the section of version {version} is empty")),
        entries => Ok(entries.to_owned()),
    }
}

/// Three numbers, and after a dash a name such as `rc1`.
fn check_version(version: &str) -> Result<(), String> {
    let (numbers, name) = version.split_once('-').unwrap_or((version, "a"));
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    match numbers.split('.').filter(is_number).count() == 3 && numbers.split('.').count() == 3 && is_name {
        true => Ok(()),
        false => Err(format!("{version:?} is not a version. Write three numbers, for example 0.2.0 or 0.2.0-rc1.")),
    }
}

#[cfg(test)]
mod tests {
    use super::{released, section, workspace_version};

    const LOG: &str = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n";

    #[test]
    fn unreleased_entries_get_a_version() {
        let expected =
            "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-02-03)\n\n- New.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n";
        assert_eq!(released(LOG, "0.2.0", "2026-02-03").as_deref(), Ok(expected));
    }

    #[test]
    fn a_prepared_section_gets_the_date_and_the_late_entries() {
        let prepared = "# Changelog\n\n## Unreleased\n\n- Late.\n\n## 0.2.0\n\n### State\n\n- New.\n";
        let expected = "# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-02-03)\n\n- Late.\n\n### State\n\n- New.\n";
        assert_eq!(released(prepared, "0.2.0", "2026-02-03").as_deref(), Ok(expected));
        let empty = prepared.replace("- Late.\n\n", "");
        let expected = expected.replace("- Late.\n\n", "");
        assert_eq!(released(&empty, "0.2.0", "2026-02-03"), Ok(expected));
    }

    #[test]
    fn releases_without_entries_or_with_a_wrong_version_are_refused() {
        let empty = LOG.replace("- New.\n\n", "");
        assert!(released(&empty, "0.2.0", "2026-02-03").is_err());
        for version in ["0.1.0", "1", "0.2", "0.2.0.1", "0.2.x", "v0.2.0", "0.2.0-", "0.2.0-a b"] {
            assert!(released(LOG, version, "2026-02-03").is_err(), "{version}");
        }
    }

    #[test]
    fn a_section_is_printed() {
        assert_eq!(section(LOG, "0.1.0").as_deref(), Ok("- Old."));
        assert!(section(LOG, "0.3.0").is_err());
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[workspace]\nversion = \"9\"\n[workspace.package]\nversion = \"0.2.0\"\n";
        assert_eq!(workspace_version(manifest).as_deref(), Ok("0.2.0"));
    }
}
