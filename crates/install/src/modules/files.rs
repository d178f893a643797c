//! Packages on this machine, and the directories of packages.

use std::fs;
use std::path::{Path, PathBuf};

use super::address::Address;
use super::checksum::Checksum;
use crate::archive::{Limits, unpack};

/// Maximum nesting of directories.
const DEEPEST: usize = 128;

/// Installs a package of this machine: an archive is unpacked, a directory is linked to.
pub(super) fn fetch(mut address: Address, into: &Path) -> Result<(), String> {
    let format = address.take_format()?;
    let given = address.take("checksum").filter(|given| !given.is_empty());
    let url = &address.url;
    let path = url.to_file_path().map_err(|()| format!("{:?} is not a path of this machine", url.path()))?;
    let checksum = given.map(|given| checksum(&given, &path)).transpose()?;
    let found = fs::metadata(&path).map_err(|error| format!("{} could not be read: {error}", path.display()))?;
    match format {
        Some(_) if found.is_dir() => Err(format!("{} is a directory, not an archive", path.display())),
        Some(format) => {
            if let Some(checksum) = checksum {
                checksum.check(&path)?;
            }
            create_parent(into)?;
            unpack(&path, format, into, Limits::default()).map_err(|error| error.to_string())
        }
        None if !found.is_dir() => Err(format!("{} is neither a directory nor an archive", path.display())),
        None if checksum.is_some() => {
            Err("a directory has no checksum; leave out the argument \"checksum\"".to_owned())
        }
        None => link(&path, into),
    }
}

/// The checksum that an argument says, or that the list has which it names.
fn checksum(given: &str, archive: &Path) -> Result<Checksum, String> {
    let Some(list) = given.strip_prefix("file:") else { return Checksum::parse(given) };
    let list = Path::new(list.strip_prefix("//").unwrap_or(list));
    if !list.is_absolute() {
        return Err(format!("the list of checksums {} needs an absolute path", list.display()));
    }
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let text = fs::read(list).map_err(|error| format!("{} could not be read: {error}", list.display()))?;
    Checksum::listed(&String::from_utf8_lossy(&text), &name)
        .ok_or_else(|| format!("{} has no checksum for {name}", list.display()))
}

pub(super) fn create_parent(path: &Path) -> Result<(), String> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| format!("{} could not be created: {error}", parent.display()))
}

/// Makes a directory also be somewhere else. The target is absolute.
pub(super) fn link(target: &Path, path: &Path) -> Result<(), String> {
    create_parent(path)?;
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, path)
        .map_err(|error| format!("{} could not be linked to: {error}", target.display()));
    #[cfg(not(unix))]
    copy_directory(target, path)
}

/// Removes whatever is at a path, links themselves rather than what they lead to.
pub(super) fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => drop(fs::remove_dir_all(path)),
        Ok(_) => drop(fs::remove_file(path)),
        Err(_) => {}
    }
}

/// Copies a directory, without what is hidden: neither files nor directories whose names begin with a dot. Links that lead
/// out of it are left out too.
pub fn copy_directory(from: &Path, to: &Path) -> Result<(), String> {
    let from = fs::canonicalize(from).map_err(|error| format!("{} could not be read: {error}", from.display()))?;
    fs::create_dir_all(to).map_err(|error| format!("{} could not be created: {error}", to.display()))?;
    let to = fs::canonicalize(to).map_err(|error| format!("{} could not be read: {error}", to.display()))?;
    copy_level(&from, &from, &to, &to, 0)
}

fn copy_level(root: &Path, from: &Path, to: &Path, skipped: &Path, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("the directories in {} are nested too deeply", root.display()));
    }
    let unreadable = |error: std::io::Error| format!("{} could not be read: {error}", from.display());
    for entry in fs::read_dir(from).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let (name, source) = (entry.file_name(), entry.path());
        if name.as_encoded_bytes().starts_with(b".") || source == skipped {
            continue;
        }
        let target = to.join(&name);
        let uncopied = |error: std::io::Error| format!("{} could not be copied: {error}", source.display());
        let kind = entry.file_type().map_err(uncopied)?;
        if kind.is_dir() {
            fs::create_dir_all(&target).map_err(uncopied)?;
            copy_level(root, &source, &target, skipped, depth + 1)?;
        } else if kind.is_symlink() {
            // A dangling link is useless, and a link that leads out of the package must not be followed.
            let inside = fs::canonicalize(&source).is_ok_and(|real| real.starts_with(root));
            let leads_to = fs::read_link(&source).map_err(uncopied)?;
            if !inside || leads_to.is_absolute() {
                continue;
            }
            #[cfg(unix)]
            {
                remove(&target);
                std::os::unix::fs::symlink(leads_to, &target).map_err(uncopied)?;
            }
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(uncopied)?;
        }
    }
    Ok(())
}

/// The directory in a package of a host that a pattern names, as a path below it: exactly one must match, and no link in the package
/// may lead out of it.
pub(super) fn find_subdir_inside(package: &Path, pattern: &str) -> Result<PathBuf, String> {
    let found = find_subdir(package, pattern)?;
    let real =
        |path: &Path| fs::canonicalize(path).map_err(|error| format!("{} could not be read: {error}", path.display()));
    match real(&package.join(&found))?.starts_with(real(package)?) {
        true => Ok(found),
        false => Err(format!("the subdirectory {pattern:?} leads out of the package")),
    }
}

/// The directory in a package that a pattern names, as a path below it: exactly one must match.
pub fn find_subdir(package: &Path, pattern: &str) -> Result<PathBuf, String> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            return Err(format!("the subdirectory {pattern:?} leads out of the package"));
        }
        let mut next = Vec::new();
        for dir in &found {
            if !part.contains(['*', '?', '[', '\\']) {
                let path = dir.join(part);
                if package.join(&path).exists() {
                    next.push(path);
                }
                continue;
            }
            let entries = fs::read_dir(package.join(dir)).into_iter().flatten().flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            let mut names: Vec<String> = names.filter(|name| matches(part.as_bytes(), name.as_bytes())).collect();
            names.sort_unstable();
            next.extend(names.into_iter().map(|name| dir.join(name)));
        }
        found = next;
    }
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!("the package does not contain a subdirectory {pattern:?}")),
        _ => Err(format!("several subdirectories of the package match {pattern:?}")),
    }
}

/// Whether a name matches a pattern with `*`, `?` and `[...]`. After a mismatch, only the last `*` takes another byte, so the time is at
/// most the product of both lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut rest, mut left) = (pattern, name);
    // The pattern after the last `*`, and the part of the name at which its match starts.
    let mut star: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', after @ ..] = rest {
            star = Some((after, left));
            rest = after;
            continue;
        }
        let one = match (rest, left) {
            ([], []) => return true,
            (_, [first, after @ ..]) => matches_one(rest, *first).map(|next| (next, after)),
            (_, []) => None,
        };
        (rest, left) = match (one, star) {
            (Some(one), _) => one,
            (None, Some((after, [_, shorter @ ..]))) => {
                star = Some((after, shorter));
                (after, shorter)
            }
            (None, _) => return false,
        };
    }
}

/// The pattern after what matches one byte.
fn matches_one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [b'?', rest @ ..] => Some(rest),
        [b'\\', literal, rest @ ..] => (*literal == byte).then_some(rest),
        [b'[', rest @ ..] => {
            let end = rest.iter().skip(1).position(|b| *b == b']')? + 1;
            let (class, is_negated) = match rest[..end].strip_prefix(b"^") {
                Some(class) => (class, true),
                None => (&rest[..end], false),
            };
            let mut is_in = false;
            let mut at = 0;
            while at < class.len() {
                if let [low, b'-', high] = class[at..(at + 3).min(class.len())] {
                    is_in |= (low..=high).contains(&byte);
                    at += 3;
                } else {
                    is_in |= class[at] == byte;
                    at += 1;
                }
            }
            (is_in != is_negated).then_some(&rest[end + 1..])
        }
        [literal, rest @ ..] => (*literal == byte).then_some(rest),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_those_of_shells() {
        let check = |pattern: &str, name: &str| matches(pattern.as_bytes(), name.as_bytes());
        assert!(check("a*c", "abbc") && check("*", "x") && check("a?c", "abc") && check("[a-c]x", "bx"));
        assert!(check("[^a]x", "bx") && check("\\*", "*") && !check("\\*", "x") && !check("[^a]x", "ax"));
        assert!(!check("a*c", "ab") && !check("a", "ab") && !check("[", "["));
        assert!(check("*a*b", "xaxabxb") && check("a**", "a") && !check("*a*b", "xbxa") && check("*[ab]?", "ab"));
        // With many of them, too.
        assert!(
            !check(&"*a".repeat(30), &"a".repeat(29)) && !check(&format!("{}b", "*a".repeat(30)), &"a".repeat(200))
        );
    }
}
