//! Versions of Yuba and of modules, and constraints on them, in the syntax of hashicorp/go-version.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use ecow::{EcoString, EcoVec, eco_format};

/// A version: numbers, of which there may be any number, and perhaps a pre-release.
///
/// Missing numbers are zeros, and build metadata is ignored: `1.0` equals `1.0.0+x`.
#[derive(Clone, Debug)]
pub struct Version {
    segments: EcoVec<i64>,
    /// Number of given numbers.
    written: usize,
    prerelease: EcoString,
    metadata: EcoString,
}

/// Reason why a string is not a version or constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionError(
    /// The error.
    pub EcoString,
);

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for VersionError {}

impl Version {
    /// Reads a version: `1.2.3`, `v1.2`, `1.2.3-beta.1+build`, `1.2beta`.
    pub fn parse(text: &str) -> Result<Version, VersionError> {
        let malformed = || VersionError(eco_format!("{text:?} is not a version"));
        let mut rest = text.strip_prefix('v').unwrap_or(text);
        let mut segments = EcoVec::new();
        loop {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            if digits.is_empty() {
                return Err(malformed());
            }
            let too_large = |_| VersionError(eco_format!("the number {digits} in the version {text:?} is too large"));
            segments.push(digits.parse::<i64>().map_err(too_large)?);
            rest = after;
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None => break,
            }
        }
        let (prerelease, metadata) = match rest.split_once('+') {
            Some((prerelease, metadata)) if is_dotted(metadata) => (prerelease, metadata),
            Some(_) => return Err(malformed()),
            None => (rest, ""),
        };
        // Quirk: the dash may be missing before a letter, and is part of the pre-release where that has nothing else.
        let prerelease = match prerelease.strip_prefix('-') {
            Some(after) if !after.is_empty() && !after.starts_with('.') => after,
            _ => prerelease,
        };
        if !prerelease.is_empty() && !is_dotted(prerelease) {
            return Err(malformed());
        }
        let written = segments.len();
        while segments.len() < 3 {
            segments.push(0);
        }
        Ok(Version { segments, written, prerelease: prerelease.into(), metadata: metadata.into() })
    }
    /// Whether it is a pre-release.
    pub fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }
    /// The pre-release, which may be empty.
    pub fn prerelease(&self) -> &str {
        &self.prerelease
    }
    /// Its numbers, at least three.
    pub fn segments(&self) -> &[i64] {
        &self.segments
    }
    /// The version without pre-release and metadata.
    #[must_use]
    pub fn core(&self) -> Version {
        let segments: EcoVec<i64> = self.segments.iter().copied().take(3).collect();
        Version { segments, written: 3, prerelease: EcoString::new(), metadata: EcoString::new() }
    }
    /// The numbers without zeros at the end.
    fn significant(&self) -> &[i64] {
        let end = self.segments.iter().rposition(|&segment| segment != 0).map_or(0, |at| at + 1);
        &self.segments[..end]
    }
}

/// Parts between dots, each of letters, digits, dashes and tildes.
fn is_dotted(text: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'~');
    text.split('.').all(is_part)
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let numbers = self.significant().cmp(other.significant());
        numbers.then_with(|| match (self.is_prerelease(), other.is_prerelease()) {
            (true, true) => compare_prereleases(&self.prerelease, &other.prerelease),
            (a, b) => b.cmp(&a),
        })
    }
}

fn compare_prereleases(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            // Quirk: a missing part comes before a number and after a text.
            (None, Some(part)) => {
                if part.parse::<i64>().is_ok() {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (Some(part), None) => {
                if part.parse::<i64>().is_ok() {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (Some(a), Some(b)) => match (a.parse::<i64>(), b.parse::<i64>()) {
                (Ok(x), Ok(y)) => x.cmp(&y).then_with(|| a.cmp(b)),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.significant() == other.significant() && self.prerelease == other.prerelease
    }
}

impl Eq for Version {}

impl Hash for Version {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.significant().hash(state);
        self.prerelease.hash(state);
    }
}

/// With at least three numbers.
impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.segments.iter().enumerate() {
            write!(f, "{}{segment}", if at > 0 { "." } else { "" })?;
        }
        if self.is_prerelease() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// Constraints that a version must all meet: `>= 1.2, < 2.0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionConstraints {
    constraints: Vec<Constraint>,
    text: EcoString,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Constraint {
    operator: Operator,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    Pessimistic,
}

const OPERATORS: &[(&str, Operator)] = &[
    ("<=", Operator::LessEqual),
    (">=", Operator::GreaterEqual),
    ("!=", Operator::NotEqual),
    ("~>", Operator::Pessimistic),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("=", Operator::Equal),
];

impl VersionConstraints {
    /// Reads constraints with commas between them.
    pub fn parse(text: &str) -> Result<VersionConstraints, VersionError> {
        let constraints = text.split(',').map(Constraint::parse).collect::<Result<_, _>>()?;
        Ok(VersionConstraints { constraints, text: text.into() })
    }
    /// Whether a version meets all of them.
    ///
    /// A pre-release meets comparisons only with pre-releases of the same version.
    pub fn allows(&self, version: &Version) -> bool {
        self.constraints.iter().all(|constraint| constraint.allows(version))
    }
    /// The version that alone is wanted, if they are one constraint that says so.
    pub fn exact(&self) -> Option<&Version> {
        match self.constraints.as_slice() {
            [only] if matches!(only.operator, Operator::Equal) => Some(&only.version),
            _ => None,
        }
    }
    /// The pre-releases that they name.
    pub fn prereleases(&self) -> impl Iterator<Item = &Version> {
        self.constraints.iter().map(|constraint| &constraint.version).filter(|version| version.is_prerelease())
    }
}

impl Constraint {
    fn parse(text: &str) -> Result<Constraint, VersionError> {
        let spaces = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
        let given = text.trim_matches(spaces);
        let (operator, version) = OPERATORS
            .iter()
            .find_map(|(sign, operator)| Some((*operator, given.strip_prefix(sign)?)))
            .unwrap_or((Operator::Equal, given));
        let version = Version::parse(version.trim_start_matches(spaces))
            .map_err(|_| VersionError(eco_format!("{text:?} is not a version constraint")))?;
        Ok(Constraint { operator, version })
    }

    fn allows(&self, version: &Version) -> bool {
        let wanted = &self.version;
        let comparable = match (version.is_prerelease(), wanted.is_prerelease()) {
            (true, true) => version.segments == wanted.segments,
            (true, false) => false,
            (false, _) => true,
        };
        match self.operator {
            Operator::Equal => version == wanted,
            Operator::NotEqual => version != wanted,
            Operator::Greater => comparable && version > wanted,
            Operator::GreaterEqual => comparable && version >= wanted,
            Operator::Less => comparable && version < wanted,
            Operator::LessEqual => comparable && version <= wanted,
            Operator::Pessimistic => {
                let fixed = wanted.written.saturating_sub(1);
                let last = wanted.segments.len() - 1;
                comparable
                    && (version.is_prerelease() || !wanted.is_prerelease())
                    && version >= wanted
                    && wanted.segments.len() <= version.segments.len()
                    && version.segments.iter().zip(&wanted.segments).take(fixed).all(|(a, b)| a == b)
                    // Quirk: the last number counts even where an earlier one is greater: 1.5.0 is not ~> 1.4.2.0.
                    && version.segments.get(last) >= wanted.segments.get(last)
            }
        }
    }
}

/// As it was written.
impl fmt::Display for VersionConstraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        Version::parse(text).expect("because it is well-formed")
    }

    #[test]
    fn versions_are_read_and_printed() {
        for (text, expect) in [
            ("1.2.3", "1.2.3"),
            ("v1.2", "1.2.0"),
            ("1", "1.0.0"),
            ("1.2.3.4", "1.2.3.4"),
            ("1.2.3-beta.1+x.y", "1.2.3-beta.1+x.y"),
            ("1.2beta", "1.2.0-beta"),
            ("1.2-5", "1.2.0-5"),
            ("1.2-", "1.2.0--"),
            ("1.2+", "error"),
            ("", "error"),
            ("1.", "error"),
            ("1.x", "error"),
            ("1.2-a..b", "error"),
            ("vv1", "error"),
            (" 1", "error"),
            ("99999999999999999999", "error"),
        ] {
            assert_eq!(Version::parse(text).map_or("error".to_owned(), |v| v.to_string()), expect, "{text:?}");
        }
    }

    #[test]
    fn prereleases_come_before_their_version() {
        let mut all =
            ["1.10.0", "1.0.0", "1.0.0-beta.11", "1.0.0-beta.2", "1.0.0-alpha", "1.0.0-1", "1.2", "0.9"].map(version);
        all.sort();
        let all = all.map(|v| v.to_string()).join(" ");
        assert_eq!(all, "0.9.0 1.0.0-1 1.0.0-alpha 1.0.0-beta.2 1.0.0-beta.11 1.0.0 1.2.0 1.10.0");
        assert_eq!(version("1.0"), version("1.0.0+meta"));
    }

    #[test]
    fn constraints_allow_and_refuse() {
        for (constraint, given, expect) in [
            ("1.2.3", "1.2.3", true),
            ("= 1.2", "1.2.0", true),
            ("!= 1.2.3", "1.2.3", false),
            (">= 1.0, < 2.0", "1.9.9", true),
            (">= 1.0, < 2.0", "2.0.0", false),
            ("~> 1.2", "1.9.0", true),
            ("~> 1.2", "2.0.0", false),
            ("~> 1.2.3", "1.2.9", true),
            ("~> 1.2.3", "1.3.0", false),
            ("~> 1", "5.0.0", true),
            (">= 1.0", "1.1.0-beta", false),
            (">= 1.1.0-alpha", "1.1.0-beta", true),
            (">= 1.1.0-alpha", "1.2.0-beta", false),
            (">= 1.1.0-alpha", "1.2.0", true),
            ("~> 1.1.0-alpha", "1.1.0", false),
            ("> 1.0.0-beta", "1.0.0", true),
            ("1.2.3-rc1", "1.2.3-rc1", true),
            (">1.0,<=1.5", "1.5.0", true),
        ] {
            let constraints = VersionConstraints::parse(constraint).expect("because it is well-formed");
            assert_eq!(constraints.allows(&version(given)), expect, "{constraint} {given}");
        }
        for malformed in ["", ">=", "=> 1.0", "1.0,", ">= 1.0 < 2", "~1.0", "1.*", ">= 1.x"] {
            assert!(VersionConstraints::parse(malformed).is_err(), "{malformed:?}");
        }
    }
}
