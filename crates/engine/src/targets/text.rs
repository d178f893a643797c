//! Targets from the command line and from files.

use yuba_addrs::Target;
use yuba_syntax::{Diagnostics, FileId, parser};

use crate::diagnostics::invalid_target;

/// Reads the values of `-target` or `-exclude`; `option` is the name.
pub fn parse_option(option: &str, values: &[impl AsRef<str>]) -> (Vec<Target>, Diagnostics) {
    let (mut targets, mut problems) = (Vec::new(), Diagnostics::new());
    for value in values {
        let value = value.as_ref();
        match Target::parse_text(FileId(0), value) {
            Ok(target) => targets.push(target),
            Err(found) => {
                problems.push(invalid_target(option, value, found.iter().find(|problem| problem.is_error())));
            }
        }
    }
    (targets, problems)
}

/// Reads the file of `-target-file` or `-exclude-file`: one address in each line; lines may be comments.
pub fn parse_file(file: FileId, text: &[u8]) -> (Vec<Target>, Diagnostics) {
    let (mut targets, mut problems) = (Vec::new(), Diagnostics::new());
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let offset = start;
        start += line.len();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii_start().starts_with(b"#") {
            continue;
        }
        // Quirk: an empty line is not an address.
        let (traversal, found) = parser::parse_traversal_at(file, offset as u32, line);
        let failed = found.has_errors();
        problems.extend(found);
        match traversal.filter(|_| !failed).map(|traversal| Target::parse(&traversal)) {
            Some(Ok(target)) => targets.push(target),
            Some(Err(found)) => problems.extend(found),
            None => {}
        }
    }
    (targets, problems)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn lines_are_addresses_or_comments() {
        let text = "# all of these\na.b\r\n  module.m[0]\na.c # last\n\nfoo\na.b[";
        let (targets, problems) = parse_file(FileId(0), text.as_bytes());
        let targets: Vec<String> = targets.iter().map(|t| format!("{t} at {}", t.span.start)).collect();
        let problems: Vec<String> =
            problems.iter().map(|p| format!("{} at {:?}", p.summary, p.subject.map(|span| span.start))).collect();
        expect![[r#"
            a.b at 15
            module.m[0] at 22
            a.c at 34
            Variable name required at Some(45)
            Invalid address at Some(46)
            Index value required at Some(54)"#]]
        .assert_eq(&[targets, problems].concat().join("\n"));
    }

    #[test]
    fn values_of_options() {
        let (targets, problems) = parse_option("target", &["a.b", "foo", "a[", "\"x\""]);
        let problems: Vec<String> = problems.iter().map(|p| p.summary.to_string()).collect();
        expect![[r#"
            1: Invalid target "foo", Invalid target "a[", Invalid target "\"x\"""#]]
        .assert_eq(&format!("{}: {}", targets.len(), problems.join(", ")));
    }
}
