//! The commit that is checked out in a Git repository, read from its files.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The commit of the repository that contains a directory. None outside of a repository and before its first commit.
pub fn source_commit(directory: &Path) -> Option<String> {
    let git = directory.ancestors().find_map(repository)?;
    let head = read_to_string(git.join("HEAD")).ok()?;
    let Some(name) = head.strip_prefix("ref: ").map(str::trim) else { return commit(&head) };
    let is_inside = name.starts_with("refs/") && name.split('/').all(|part| !part.is_empty() && part != "..");
    if !is_inside {
        return None;
    }
    // A worktree has a HEAD of its own, and shares branches with the repository.
    let shared = read_to_string(git.join("commondir")).map_or_else(|_| git.clone(), |path| git.join(path.trim()));
    let loose = [&git, &shared].into_iter().find_map(|git| read_to_string(git.join(name)).ok());
    loose.as_deref().and_then(commit).or_else(|| packed(&shared, name))
}

/// The directory with the data of a repository whose files are in a directory.
fn repository(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let link = read_to_string(&git).ok()?;
    Some(directory.join(link.strip_prefix("gitdir: ")?.trim()))
}

fn packed(git: &Path, name: &str) -> Option<String> {
    let refs = read_to_string(git.join("packed-refs")).ok()?;
    refs.lines()
        .find_map(|line| line.split_once(' ').filter(|(_, named)| *named == name))
        .and_then(|(id, _)| commit(id))
}

/// An id of SHA-1 or SHA-256.
fn commit(text: &str) -> Option<String> {
    let id = text.trim();
    let is_id = [40, 64].contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use yuba_testkit::Sandbox;

    use super::*;

    #[test]
    fn commits_are_found_as_git_stores_them() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let s = Sandbox::new("", "");
        assert_eq!(source_commit(&s.dir()), None);
        s.write("r/.git/HEAD", "ref: refs/heads/main\n");
        let inner = s.dir().join("r/environments/prod");
        assert_eq!(source_commit(&inner), None, "there is no commit yet");
        s.write(
            "r/.git/packed-refs",
            format!("# pack-refs with: peeled\n{one} refs/heads/main\n{two} refs/heads/other\n"),
        );
        assert_eq!(source_commit(&inner), Some(one.clone()));
        s.write("r/.git/refs/heads/main", format!("{two}\n"));
        assert_eq!(source_commit(&inner), Some(two.clone()), "a loose ref is newer");
        s.write("r/.git/HEAD", format!("{one}\n"));
        assert_eq!(source_commit(&inner), Some(one.clone()));
        // A worktree.
        s.write("w/.git", "gitdir: ../r/.git/worktrees/w\n");
        s.write("r/.git/worktrees/w/HEAD", "ref: refs/heads/other\n");
        s.write("r/.git/worktrees/w/commondir", "../..\n");
        assert_eq!(source_commit(&s.dir().join("w")), Some(two));
        s.write("r/.git/HEAD", "ref: refs/../../secret\n");
        s.write("r/secret", &one);
        assert_eq!(source_commit(&inner), None);
    }
}
