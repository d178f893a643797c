//! Paths as text, with slashes: `basename` and `dirname`, and what the functions on files need.

use ecow::EcoString;

use crate::function::{Function, Param};
use crate::{Type, Value};

/// This family's rows of the table.
pub(crate) fn functions() -> Vec<Function> {
    let path = || Param::new("path", Type::string(), "The path of a file or directory; it need not exist.");
    vec![
        Function::new("basename", "Returns the last part of a path.", [path()], Type::string(), |args, _| {
            Ok(Value::string(base(args.first().and_then(Value::as_str).map_or("", EcoString::as_str))))
        }),
        Function::new("dirname", "Returns a path without its last part.", [path()], Type::string(), |args, _| {
            Ok(Value::string(dir(args.first().and_then(Value::as_str).map_or("", EcoString::as_str))))
        }),
    ]
}

/// The last part of a path; `.` for an empty one, `/` for one of slashes only.
pub fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match (path.is_empty(), trimmed.is_empty()) {
        (true, _) => ".",
        (false, true) => "/",
        (false, false) => trimmed.rsplit('/').next().unwrap_or(trimmed),
    }
}

/// A path without its last part, cleaned.
pub fn dir(path: &str) -> String {
    clean(path.rfind('/').map_or("", |at| &path[..=at]))
}

/// The shortest path that means the same: without `.`, doubled slashes and `x/..`. Links are not looked at.
pub fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// Both paths one after the other, cleaned; empty if both are.
pub fn join(first: &str, second: &str) -> String {
    match (first.is_empty(), second.is_empty()) {
        (true, true) => String::new(),
        (true, false) => clean(second),
        (false, true) => clean(first),
        (false, false) => clean(&format!("{first}/{second}")),
    }
}

/// The relative path from one directory to a path; `None` where the strings do not determine it.
pub fn relative(from: &str, to: &str) -> Option<String> {
    let (from, to) = (clean(from), clean(to));
    if from.starts_with('/') != to.starts_with('/') {
        return None;
    }
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
    };
    let (from, to) = (parts(&from), parts(&to));
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if from[same..].iter().any(|part| part == "..") {
        return None;
    }
    let up = std::iter::repeat_n("..", from.len() - same);
    let path: Vec<&str> = up.chain(to[same..].iter().map(String::as_str)).collect();
    Some(if path.is_empty() { ".".to_owned() } else { path.join("/") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_paths() {
        for (path, want_base, want_dir) in [
            ("", ".", "."),
            ("/", "/", "/"),
            ("a", "a", "."),
            ("a/b/c.txt", "c.txt", "a/b"),
            ("a/b/", "b", "a/b"),
            ("/a", "a", "/"),
            ("//a//b//", "b", "/a/b"),
            ("../x/./y", "y", "../x"),
        ] {
            assert_eq!((base(path), dir(path).as_str()), (want_base, want_dir), "{path}");
        }
    }

    #[test]
    fn clean_join_relative() {
        assert_eq!(clean("/../a//b/./../c/"), "/a/c");
        assert_eq!(clean("a/../../b"), "../b");
        assert_eq!(join(".", "x"), "x");
        assert_eq!(join("", ""), "");
        assert_eq!(relative("a/b", "a/c/d").as_deref(), Some("../c/d"));
        assert_eq!(relative(".", "../x").as_deref(), Some("../x"));
        assert_eq!(relative("..", "x"), None);
    }
}
