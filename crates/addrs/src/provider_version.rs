//! Versions of providers and constraints on them, in the Ruby-like syntax of apparentlymart/go-versions.

use std::cmp::Ordering;
use std::fmt;

use ecow::{EcoString, eco_format};

use crate::version::VersionError;

/// A version of a provider: `1.2.3-beta.1+build`. Metadata counts for being equal, but not for being later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProviderVersion {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// The pre-release; empty for a release.
    pub prerelease: EcoString,
    /// Build metadata.
    pub metadata: EcoString,
}

/// Constraints that a version must all meet; an empty list allows every release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderConstraints(Vec<Selection>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Selection {
    operator: Operator,
    boundary: ProviderVersion,
}

/// In the order in which constraints with the same boundary are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operator {
    Greater,
    GreaterEqual,
    Equal,
    PatchOnly,
    MinorOnly,
    LessEqual,
    Less,
    NotEqual,
}

/// Parts at the start of a string, not yet validated.
struct Scanned<'t> {
    operator: &'t str,
    /// Text between the operator and the first number.
    separator: &'t str,
    numbers: Vec<&'t str>,
    prerelease: &'t str,
    metadata: &'t str,
    rest: &'t str,
}

fn scan(text: &str) -> Scanned<'_> {
    let take = |text: &'_ str, accept: fn(char) -> bool| text.find(|c| !accept(c)).unwrap_or(text.len());
    let is_space = |c: char| matches!(c, ' ' | '\t'..='\r');
    let end =
        text.find(|c: char| c.is_ascii_alphanumeric() || is_space(c) || c == '.' || c == '*').unwrap_or(text.len());
    let (operator, rest) = text.split_at(end);
    let (separator, mut rest) = rest.split_at(take(rest, |c| matches!(c, ' ' | '\t'..='\r' | 'v')));
    let mut scanned = Scanned { operator, separator, numbers: Vec::new(), prerelease: "", metadata: "", rest };
    loop {
        let wildcard = rest.starts_with(['*', 'x', 'X']);
        let end = if wildcard { 1 } else { take(rest, |c| c.is_ascii_digit()) };
        if end == 0 {
            // Quirk: a dot after the last number is passed over.
            scanned.rest = rest;
            return scanned;
        }
        let (number, after) = rest.split_at(end);
        scanned.numbers.push(number);
        rest = after;
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None => break,
        }
    }
    for (sign, part) in [('-', &mut scanned.prerelease), ('+', &mut scanned.metadata)] {
        if let Some(after) = rest.strip_prefix(sign) {
            let (extra, after) = after.split_at(take(after, |c| c.is_ascii_alphanumeric() || c == '.' || c == '-'));
            *part = extra;
            rest = after;
            if extra.is_empty() {
                break;
            }
        }
    }
    scanned.rest = rest;
    scanned
}

impl Scanned<'_> {
    /// The numbers with zeros for those not written.
    fn version(&self) -> Result<ProviderVersion, VersionError> {
        if self.numbers.is_empty() {
            return error("it contains no number");
        }
        if self.numbers.len() > 3 {
            return error("there are more than three numbers (major, minor, patch)");
        }
        let mut numbers = [0; 3];
        for (number, text) in numbers.iter_mut().zip(&self.numbers) {
            if matches!(*text, "*" | "x" | "X") {
                return error("wildcards are not supported; leave out these numbers");
            }
            *number = text.parse().map_err(|_| VersionError(eco_format!("the number {text} is too large")))?;
        }
        let [major, minor, patch] = numbers;
        let (prerelease, metadata) = (self.prerelease.into(), self.metadata.into());
        Ok(ProviderVersion { major, minor, patch, prerelease, metadata })
    }
}

fn error<T>(message: &str) -> Result<T, VersionError> {
    Err(VersionError(message.into()))
}

const NO_V: &str = "versions are written without \"v\" before them";

impl ProviderVersion {
    /// Reads a version. Numbers that are not written are zeros.
    pub fn parse(text: &str) -> Result<ProviderVersion, VersionError> {
        if text.trim().is_empty() {
            return error("the version is empty");
        }
        let scanned = scan(text);
        if !scanned.operator.is_empty() {
            return Err(VersionError(eco_format!("a version is needed, without {:?} before it", scanned.operator)));
        }
        if scanned.separator.contains('v') {
            return error(NO_V);
        }
        if !scanned.separator.is_empty() || !scanned.rest.is_empty() && scanned.rest.trim().is_empty() {
            return error("there are spaces around the version");
        }
        if !scanned.rest.is_empty() {
            return Err(VersionError(eco_format!("{:?} is not allowed in a version", scanned.rest.trim())));
        }
        scanned.version()
    }
    /// Whether it is a pre-release.
    pub fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }
    /// Order of versions, ignoring metadata.
    fn precedence(&self, other: &ProviderVersion) -> Ordering {
        let numbers = |v: &ProviderVersion| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| match (self.is_prerelease(), other.is_prerelease()) {
            (true, true) => compare_extra(&self.prerelease, &other.prerelease),
            (a, b) => b.cmp(&a),
        })
    }
}

/// Part by part; a part that is a number comes before one that is not.
fn compare_extra(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (x, y) = match (left.split_once('.'), right.split_once('.')) {
            // Quirk: where one has no more dots it comes first, whatever its last part is.
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (None, None) => return compare_part(left, right),
            (Some((x, rest_x)), Some((y, rest_y))) => {
                (left, right) = (rest_x, rest_y);
                (x, y)
            }
        };
        let order = compare_part(x, y);
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn compare_part(a: &str, b: &str) -> Ordering {
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    match (is_number(a), is_number(b)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (true, true) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (false, false) => a.cmp(b),
    }
}

/// By precedence; versions that differ in metadata only are ordered by that.
impl Ord for ProviderVersion {
    fn cmp(&self, other: &ProviderVersion) -> Ordering {
        self.precedence(other).then_with(|| compare_extra(&self.metadata, &other.metadata))
    }
}

impl PartialOrd for ProviderVersion {
    fn partial_cmp(&self, other: &ProviderVersion) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ProviderVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        write_extra(f, self)
    }
}

fn write_extra(f: &mut fmt::Formatter<'_>, version: &ProviderVersion) -> fmt::Result {
    if version.is_prerelease() {
        write!(f, "-{}", version.prerelease)?;
    }
    if !version.metadata.is_empty() {
        write!(f, "+{}", version.metadata)?;
    }
    Ok(())
}

impl ProviderConstraints {
    /// Reads constraints with commas between them; an empty string is an empty list.
    pub fn parse(text: &str) -> Result<ProviderConstraints, VersionError> {
        let mut selections = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let scanned = scan(rest);
            let consumed = &rest[..rest.len() - scanned.rest.len()];
            let selection = Selection::new(&scanned)
                .map_err(|problem| VersionError(eco_format!("{consumed:?} is not a version constraint: {problem}")))?;
            rest = scanned.rest.trim();
            if rest.starts_with('v') {
                return error(NO_V);
            }
            if !rest.is_empty() {
                let missing = || VersionError(eco_format!("a comma is missing after {consumed:?}"));
                rest = rest.strip_prefix(',').ok_or_else(missing)?.trim();
            }
            selections.push(selection);
        }
        Ok(ProviderConstraints(selections))
    }
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Returns the constraints with those of another source added.
    pub fn extend(&mut self, other: &ProviderConstraints) {
        self.0.extend(other.0.iter().cloned());
    }
    /// Whether a version meets all constraints. One of them must name a pre-release exactly.
    pub fn allows(&self, version: &ProviderVersion) -> bool {
        let requested = |selection: &Selection| selection.operator == Operator::Equal && selection.boundary == *version;
        self.0.iter().all(|selection| selection.allows(version))
            && (!version.is_prerelease() || self.0.iter().any(requested))
    }
}

impl Selection {
    fn new(scanned: &Scanned<'_>) -> Result<Selection, VersionError> {
        let operator = match scanned.operator {
            "" | "=" => Operator::Equal,
            "!=" => Operator::NotEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessEqual,
            "~>" if scanned.numbers.len() == 3 => Operator::PatchOnly,
            "~>" => Operator::MinorOnly,
            "=<" => return error("there is no operator \"=<\"; did you mean \"<=\"?"),
            "=>" => return error("there is no operator \"=>\"; did you mean \">=\"?"),
            operator => return Err(VersionError(eco_format!("there is no operator {operator:?}"))),
        };
        match scanned.separator {
            "" => {}
            " " if !scanned.operator.is_empty() => {}
            separator if separator.contains('v') => return error(NO_V),
            _ if scanned.operator.is_empty() => return error("there are spaces before it"),
            _ => return error("there may be only one space after the operator"),
        }
        Ok(Selection { operator, boundary: scanned.version()? })
    }

    fn allows(&self, version: &ProviderVersion) -> bool {
        let boundary = &self.boundary;
        let order = version.precedence(boundary);
        let before = |upper: ProviderVersion| order.is_ge() && version.precedence(&upper).is_lt();
        match self.operator {
            Operator::Equal => version == boundary,
            Operator::NotEqual => version != boundary,
            Operator::Greater => order.is_gt(),
            Operator::GreaterEqual => order.is_ge(),
            Operator::Less => order.is_lt(),
            Operator::LessEqual => order.is_le(),
            Operator::MinorOnly => {
                before(ProviderVersion { major: boundary.major.saturating_add(1), ..ProviderVersion::default() })
            }
            Operator::PatchOnly => before(ProviderVersion {
                major: boundary.major,
                minor: boundary.minor.saturating_add(1),
                ..ProviderVersion::default()
            }),
        }
    }
}

/// In the form of the dependency lock file: complete versions, sorted, each constraint once.
impl fmt::Display for ProviderConstraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut selections: Vec<&Selection> = self.0.iter().collect();
        selections.sort_by(|a, b| a.boundary.cmp(&b.boundary).then(a.operator.cmp(&b.operator)));
        selections.dedup();
        for (at, Selection { operator, boundary }) in selections.into_iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            f.write_str(match operator {
                Operator::Greater => "> ",
                Operator::GreaterEqual => ">= ",
                Operator::Equal => "",
                Operator::PatchOnly | Operator::MinorOnly => "~> ",
                Operator::LessEqual => "<= ",
                Operator::Less => "< ",
                Operator::NotEqual => "!= ",
            })?;
            if *operator == Operator::MinorOnly {
                write!(f, "{}.{}", boundary.major, boundary.minor)?;
                write_extra(f, boundary)?;
            } else {
                write!(f, "{boundary}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ProviderVersion {
        ProviderVersion::parse(text).expect("because it is well-formed")
    }

    #[test]
    fn versions_are_read_and_printed() {
        for (text, expect) in [
            ("1.2.3", "1.2.3"),
            ("1", "1.0.0"),
            ("1.2-beta.1+b.2", "1.2.0-beta.1+b.2"),
            ("1.2.3+x", "1.2.3+x"),
            ("v1.2.3", "error"),
            (" 1.2.3", "error"),
            ("1.2.3 ", "error"),
            (">= 1.2.3", "error"),
            ("1.2.3.4", "error"),
            ("1.x", "error"),
            ("foo", "error"),
            ("", "error"),
            ("1.2.3, 1.2.4", "error"),
            ("99999999999999999999", "error"),
        ] {
            let shown = ProviderVersion::parse(text).map_or("error".to_owned(), |v| v.to_string());
            assert_eq!(shown, expect, "{text:?}");
        }
    }

    #[test]
    fn constraints_are_printed_in_canonical_form() {
        for (text, expect) in [
            ("", ""),
            ("1.2", "1.2.0"),
            ("= 1.2.3", "1.2.3"),
            ("~> 1.2", "~> 1.2"),
            ("~> 2", "~> 2.0"),
            ("~> 1.2.3", "~> 1.2.3"),
            (">= 2.0,>= 2.0.0, < 3, != 2.5.1", ">= 2.0.0, != 2.5.1, < 3.0.0"),
            ("< 2.0.0, > 2.0.0, <= 2.0.0", "> 2.0.0, <= 2.0.0, < 2.0.0"),
            (">= 1.0.0-beta.1", ">= 1.0.0-beta.1"),
            ("~> 1.0-beta", "~> 1.0-beta"),
            ("1.0.0,", "1.0.0"),
            ("1.", "1.0.0"),
            (">= v1.0", "error"),
            ("v1.0", "error"),
            ("=> 1.0", "error"),
            ("~ 1.0", "error"),
            (">=  1.0", "error"),
            (">= 1.0 < 2.0", "error"),
            ("1.*", "error"),
            ("1.2.3.4", "error"),
            ("foo", "error"),
            (">=", "error"),
            (",", "error"),
            ("1.0,,2.0", "error"),
            (">= 1.0-", ">= 1.0.0"),
            ("1.0.0-a_b", "error"),
        ] {
            let shown = ProviderConstraints::parse(text).map_or("error".to_owned(), |c| c.to_string());
            assert_eq!(shown, expect, "{text:?}");
        }
    }

    #[test]
    fn constraints_allow_and_refuse() {
        for (constraint, given, expect) in [
            ("", "1.0.0", true),
            ("", "1.0.0-beta", false),
            ("1.0.0-beta", "1.0.0-beta", true),
            (">= 1.0.0-beta", "1.0.0-beta", false),
            (">= 1.0.0-beta", "1.0.0", true),
            ("1.0.0-beta, < 1.0.0-alpha", "1.0.0-beta", false),
            ("~> 1.2", "1.9.9", true),
            ("~> 1.2", "2.0.0", false),
            ("~> 1.2.3", "1.2.2", false),
            ("~> 1.2.3", "1.2.10", true),
            ("~> 1.2.3", "1.3.0", false),
            ("> 1.0, <= 2", "2.0.0", true),
            ("> 1.0, <= 2", "1.0.0", false),
            ("!= 1.5.0", "1.5.0", false),
            ("1.0.0", "1.0.0+build", false),
            (">= 1.0.0", "1.0.0+build", true),
        ] {
            let constraints = ProviderConstraints::parse(constraint).expect("because it is well-formed");
            assert_eq!(constraints.allows(&version(given)), expect, "{constraint} {given}");
        }
    }

    #[test]
    fn prereleases_come_before_their_version() {
        let mut all =
            ["1.0.0", "1.0.0-beta.11", "1.0.0-beta.2", "1.0.0-rc", "1.0.0-2", "0.9.0", "1.10.0", "1.9.0"].map(version);
        all.sort();
        let all = all.map(|v| v.to_string()).join(" ");
        assert_eq!(all, "0.9.0 1.0.0-2 1.0.0-rc 1.0.0-beta.2 1.0.0-beta.11 1.0.0 1.9.0 1.10.0");
    }
}
