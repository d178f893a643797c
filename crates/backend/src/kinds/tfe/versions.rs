//! Whether the state of this version suits the version that a workspace is set to.
//!
//! Two versions with the same first two numbers suit each other, and so do all from 0.14 up to 1.3.

use yuba_addrs::{Version, VersionConstraints};

/// The first three numbers of a version.
fn numbers(version: &Version) -> (i64, i64, i64) {
    let segments = version.segments();
    let at = |index: usize| segments.get(index).copied().unwrap_or_default();
    (at(0), at(1), at(2))
}

/// The version that a workspace of the `remote` backend requires, if it does not suit the local version.
pub(super) fn remote_mismatch(local: &str, remote: &str) -> Option<String> {
    let required = Some(remote.to_owned());
    let (Ok(ours), Ok(theirs)) = (Version::parse(local), Version::parse(remote)) else { return required };
    let (one, other) = (numbers(&ours), numbers(&theirs));
    let suits = match one.min(other) < (0, 14, 0) {
        true => ours == theirs,
        false => one.max(other) < (1, 3, 0) || (one.0, one.1) == (other.0, other.1),
    };
    if suits { None } else { required }
}

/// The version that a workspace of a `cloud` block requires, if it does not suit the local version. It may be set to a constraint.
pub(super) fn cloud_mismatch(local: &str, remote: &str) -> Option<String> {
    let required = match Version::parse(remote) {
        Ok(version) if !version.is_prerelease() => match numbers(&version) {
            (0, minor, _) if minor < 14 => remote.to_owned(),
            exact if exact < (1, 3, 0) => ">= 0.14.0, < 1.3.0".to_owned(),
            (major, minor, _) => format!("~> {major}.{minor}.0"),
        },
        _ => remote.to_owned(),
    };
    let parsed = Version::parse(local).ok().zip(VersionConstraints::parse(&required).ok());
    let suits = parsed.is_some_and(|(local, constraints)| constraints.allows(&local));
    (!suits).then_some(required)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the tests of OpenTofu's version check expect it: which pairs suit each other.
    #[test]
    fn versions_suit_each_other_by_their_first_numbers() {
        let cases = [
            ("1.12.6", "1.12.0", true),
            ("1.12.6", "1.12.9", true),
            ("1.12.6", "1.11.0", false),
            ("1.12.6", "1.13.0", false),
            ("1.12.6", "1.2.9", false),
            ("1.2.0", "0.14.3", true),
            ("0.14.1", "0.13.9", false),
            ("0.13.9", "0.13.9", true),
        ];
        for (local, remote, suits) in cases {
            assert_eq!(remote_mismatch(local, remote).is_none(), suits, "remote: {local} {remote}");
            assert_eq!(cloud_mismatch(local, remote).is_none(), suits, "cloud: {local} {remote}");
        }
        assert_eq!(remote_mismatch("1.12.6", "nonsense").as_deref(), Some("nonsense"));
        assert_eq!(cloud_mismatch("1.12.6", "1.11.4").as_deref(), Some("~> 1.11.0"));
        assert_eq!(cloud_mismatch("1.12.6", "1.0.0").as_deref(), Some(">= 0.14.0, < 1.3.0"));
    }

    #[test]
    fn a_workspace_of_the_cloud_block_can_have_a_constraint() {
        assert_eq!(cloud_mismatch("1.12.6", ">= 1.10.0, < 2.0.0"), None);
        assert_eq!(cloud_mismatch("1.12.6", "~> 1.12.0"), None);
        assert_eq!(cloud_mismatch("1.12.6", "~> 1.11.0").as_deref(), Some("~> 1.11.0"));
        assert_eq!(cloud_mismatch("1.12.6", "nonsense").as_deref(), Some("nonsense"));
    }
}
