//! Patterns for paths: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for any number of directories.

use std::collections::{BTreeSet, HashSet};

use yuba_value::functions::path;

use crate::world::{FileKind, World};

/// Reason of a failed search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GlobError {
    /// Brackets or braces without partner, an empty class, or a backslash at the end.
    BadPattern,
    /// The work is more than any sensible pattern makes.
    TooMuch,
}

/// Directories and alternatives looked at before giving up.
const MAX_WORK: usize = 1_000_000;
/// Patterns that braces may expand to.
const MAX_ALTERNATIVES: usize = 10_000;

/// All paths that match a cleaned pattern, sorted, whatever they are: files, directories, or links to nowhere.
/// Unreadable directories are skipped.
pub(crate) fn find(world: &dyn World, pattern: &str) -> Result<BTreeSet<String>, GlobError> {
    if !is_valid(pattern) {
        return Err(GlobError::BadPattern);
    }
    let (base, pattern) = split(pattern);
    let mut search = Search { world, found: BTreeSet::new(), seen: HashSet::new() };
    let mut patterns = Vec::new();
    expand(pattern, &mut patterns)?;
    for (index, pattern) in patterns.iter().enumerate() {
        let segments: Vec<&str> = pattern.split('/').collect();
        // A segment like these can only come out of braces, and leads nowhere.
        if !segments.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
            search.walk(index, &base, &segments, 0)?;
        }
    }
    Ok(search.found)
}

/// The path before the first segment with special characters, and the pattern after it.
fn split(pattern: &str) -> (String, &str) {
    let special = first_special(pattern).unwrap_or(pattern.len());
    match pattern[..special].rfind('/') {
        Some(0) => ("/".to_owned(), &pattern[1..]),
        Some(at) => (unescape(&pattern[..at]), &pattern[at + 1..]),
        None => (".".to_owned(), pattern),
    }
}

fn first_special(pattern: &str) -> Option<usize> {
    unescaped(pattern).find(|(_, byte)| matches!(byte, b'*' | b'?' | b'[' | b'{')).map(|(at, _)| at)
}

/// The bytes that no backslash stands before, and their positions.
fn unescaped(pattern: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut escape = false;
    pattern.bytes().enumerate().filter(move |(_, byte)| {
        let escaped = escape;
        escape = !escaped && *byte == b'\\';
        !escaped && !escape
    })
}

fn unescape(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some('*' | '?' | '[' | ']' | '{' | '}') if c == '\\' => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}

fn is_valid(pattern: &str) -> bool {
    let mut depth = 0usize;
    let mut bytes = pattern.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if bytes.next().is_none() => return false,
            b'[' => {
                bytes.next_if(|byte| matches!(byte, b'^' | b'!'));
                if bytes.peek() == Some(&b']') {
                    return false;
                }
                loop {
                    match bytes.next() {
                        Some(b'\\') => drop(bytes.next()),
                        Some(b']') => break,
                        Some(_) => {}
                        None => return false,
                    }
                }
            }
            b'{' => depth += 1,
            b'}' if depth == 0 => return false,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// All patterns without braces that a pattern stands for.
fn expand(pattern: &str, out: &mut Vec<String>) -> Result<(), GlobError> {
    let mut pending = vec![pattern.to_owned()];
    while let Some(pattern) = pending.pop() {
        let Some((open, _)) = unescaped(&pattern).find(|(_, byte)| *byte == b'{') else {
            out.push(pattern);
            continue;
        };
        let mut depth = 0;
        let mut start = open + 1;
        for (at, byte) in unescaped(&pattern).skip_while(|(at, _)| *at < open) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            if (byte == b',' && depth == 1) || depth == 0 {
                let close = closing_brace(&pattern, open).ok_or(GlobError::BadPattern)?;
                pending.push(format!("{}{}{}", &pattern[..open], &pattern[start..at], &pattern[close + 1..]));
                start = at + 1;
            }
            if depth == 0 {
                break;
            }
        }
        if depth != 0 {
            return Err(GlobError::BadPattern);
        }
        if pending.len() + out.len() > MAX_ALTERNATIVES {
            return Err(GlobError::TooMuch);
        }
    }
    Ok(())
}

fn closing_brace(pattern: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in unescaped(pattern).skip_while(|(at, _)| *at < open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

struct Search<'a> {
    world: &'a dyn World,
    found: BTreeSet<String>,
    /// Pairs of a directory and the rest of a pattern that were visited already.
    seen: HashSet<(usize, usize, String)>,
}

/// Directories nested deeper than this are not entered; links in circles end long before.
const MAX_DEPTH: usize = 512;

impl Search<'_> {
    fn walk(&mut self, pattern: usize, dir: &str, segments: &[&str], at: usize) -> Result<(), GlobError> {
        let Some(segment) = segments.get(at) else { return Ok(()) };
        if dir.matches('/').count() > MAX_DEPTH || !self.seen.insert((pattern, at, dir.to_owned())) {
            return Ok(());
        }
        if self.seen.len() > MAX_WORK || self.found.len() > MAX_WORK {
            return Err(GlobError::TooMuch);
        }
        let last = at + 1 == segments.len();
        if first_special(segment).is_none() {
            let path = path::join(dir, &unescape(segment));
            if !last {
                return self.walk(pattern, &path, segments, at + 1);
            }
            if self.world.kind(&path).is_ok() {
                self.found.insert(path);
            }
            return Ok(());
        }
        if *segment == "**" && !last {
            self.walk(pattern, dir, segments, at + 1)?;
        }
        let Ok(entries) = self.world.list(dir) else { return Ok(()) };
        for entry in entries {
            let path = path::join(dir, &entry.name);
            let is_dir = || match entry.kind {
                FileKind::Link => matches!(self.world.kind(&path), Ok(FileKind::Directory)),
                kind => kind == FileKind::Directory,
            };
            if *segment == "**" {
                if is_dir() {
                    self.walk(pattern, &path, segments, at)?;
                } else if last {
                    self.found.insert(path);
                }
            } else if matches(segment, &entry.name) {
                if last {
                    self.found.insert(path);
                } else if is_dir() {
                    self.walk(pattern, &path, segments, at + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a name matches a segment without braces. The match backtracks only to the last star seen.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                p += 1;
                star = Some((p, n));
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(&pattern[p..], name[n]),
            Some('\\') => (pattern.get(p + 1) == Some(&name[n])).then_some(2),
            Some(c) => (*c == name[n]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(step), _) => {
                p += step;
                n += 1;
            }
            (None, Some((after, from))) => {
                star = Some((after, from + 1));
                p = after;
                n = from + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The length of the class at the start of a pattern, if it has a character.
fn class(pattern: &[char], wanted: char) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let mut at = if negated { 2 } else { 1 };
    let mut matched = false;
    let mut last: Option<char> = None;
    loop {
        let mut c = *pattern.get(at)?;
        at += 1;
        if c == ']' {
            return (matched != negated).then_some(at);
        }
        if let (Some(first), '-', Some(next)) = (last, c, pattern.get(at).filter(|next| **next != ']')) {
            let escaped = *next == '\\';
            let end = *pattern.get(at + usize::from(escaped))?;
            at += 1 + usize::from(escaped);
            matched |= (first..=end).contains(&wanted);
            last = None;
            continue;
        }
        if c == '\\' {
            c = *pattern.get(at)?;
            at += 1;
        }
        matched |= c == wanted;
        last = Some(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::MemoryWorld;

    fn check(pattern: &str, expect: &str) {
        let files = ["a.txt", "b.md", "sub/a.txt", "sub/deep/c.txt", "sub/deep/.h", "x{1}", "sub2/[z]"];
        let world = files.iter().fold(MemoryWorld::new(), |world, file| world.with_file(file, ""));
        let text = match find(&world, pattern) {
            Ok(found) => found.into_iter().collect::<Vec<_>>().join(" "),
            Err(problem) => format!("{problem:?}"),
        };
        assert_eq!(text, expect, "{pattern}");
    }

    #[test]
    fn patterns() {
        check("*", "a.txt b.md sub sub2 x{1}");
        check("*.{txt,md}", "a.txt b.md");
        check("**/*.txt", "a.txt sub/a.txt sub/deep/c.txt");
        check("**", "a.txt b.md sub/a.txt sub/deep/.h sub/deep/c.txt sub2/[z] x{1}");
        check("sub/**/c.txt", "sub/deep/c.txt");
        check("{sub,sub/deep}/?.txt", "sub/a.txt sub/deep/c.txt");
        check("{sub{,/deep}}/*.txt", "sub/a.txt sub/deep/c.txt");
        check("[!b-z].txt", "a.txt");
        check("[]", "BadPattern");
        check("[a", "BadPattern");
        check("{a", "BadPattern");
        check("a}", "BadPattern");
        check("x\\{*\\}", "x{1}");
        check("sub2/\\[z\\]", "sub2/[z]");
        check("nothing/*", "");
        check("/work/s*/a.txt", "/work/sub/a.txt");
        check("sub**/a.txt", "sub/a.txt");
        check(&"{a,b}".repeat(20), "TooMuch");
    }

    #[test]
    fn stars_do_not_explode() {
        assert!(!matches(&"*a".repeat(2_000), &"a".repeat(1_999)));
        assert!(matches("a*b*c", "aXbYbZc"));
        assert!(matches("[a\\-c]", "-"));
        assert!(!matches("[a\\-c]", "b"));
    }
}
