//! `-watch`: which files of tests a change affects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ecow::EcoString;
use yuba_syntax::Sources;

use crate::project::Project;

/// Files to run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Affected {
    /// Nothing.
    Nothing,
    /// These test files.
    Files(Vec<EcoString>),
    /// All of them.
    Everything,
}

/// Looks at the files of a suite.
pub struct Watcher {
    /// The working directory, in which the other paths start.
    root: PathBuf,
    seen: BTreeMap<PathBuf, Option<(SystemTime, u64)>>,
    dirs: Vec<PathBuf>,
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

fn is_config(name: &str) -> bool {
    [".tf", ".tofu", ".tf.json", ".tofu.json", ".tfvars", ".tfvars.json", ".sym.hcl"].iter().any(|e| name.ends_with(e))
        || is_test(name)
}

fn is_test(name: &str) -> bool {
    [".tftest.hcl", ".tofutest.hcl", ".tftest.json", ".tofutest.json"].iter().any(|ending| name.ends_with(ending))
}

impl Watcher {
    /// Of the files that were read, and of new ones in the same directories.
    pub fn new(sources: &Sources, project: &Project) -> Watcher {
        let read = sources.iter().map(|(_, file)| PathBuf::from(file.name.to_string()));
        let dir = Path::new(project.dir());
        let mut watcher =
            Watcher { root: project.root().to_owned(), seen: BTreeMap::new(), dirs: vec![dir.to_owned()] };
        watcher.dirs.extend(project.test_dir().map(|below| dir.join(below)));
        for path in read.filter(|path| project.path(path).is_file()) {
            if let Some(parent) = path.parent().map(Path::to_owned) {
                let parent = if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent };
                if !watcher.dirs.contains(&parent) {
                    watcher.dirs.push(parent);
                }
            }
        }
        watcher.seen = watcher.now();
        watcher
    }

    fn now(&self) -> BTreeMap<PathBuf, Option<(SystemTime, u64)>> {
        let mut found = BTreeMap::new();
        for dir in &self.dirs {
            for entry in std::fs::read_dir(self.root.join(dir)).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if name.to_str().is_some_and(is_config) {
                    let path = if dir == Path::new(".") { PathBuf::from(&name) } else { dir.join(&name) };
                    let stamp = stamp(&self.root.join(&path));
                    found.insert(path, stamp);
                }
            }
        }
        found
    }

    /// Files that the latest changes affect.
    pub fn look(&mut self) -> Affected {
        let now = self.now();
        let mut files = Vec::new();
        let changed = now.iter().filter(|(path, stamp)| self.seen.get(*path) != Some(*stamp)).map(|(path, _)| path);
        let gone = self.seen.keys().filter(|path| !now.contains_key(*path));
        let mut everything = false;
        for path in changed.chain(gone) {
            let name = path.to_string_lossy();
            match is_test(&name) {
                true => files.push(EcoString::from(name.strip_prefix("./").unwrap_or(&name))),
                false => everything = true,
            }
        }
        self.seen = now;
        match (everything, files.is_empty()) {
            (true, _) => Affected::Everything,
            (false, true) => Affected::Nothing,
            (false, false) => Affected::Files(files),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::ProjectSettings;
    use yuba_testkit::Sandbox;

    #[test]
    fn what_a_change_affects() {
        let sandbox = Sandbox::new("", "//- main.tf\n//- tests/a.tftest.hcl\nrun \"a\" {}\n");
        let settings = ProjectSettings { test_dir: Some("tests".to_owned()), ..ProjectSettings::bare(sandbox.dir()) };
        let mut watcher = Watcher::new(&Sources::new(), &Project::new(settings));
        assert_eq!(watcher.look(), Affected::Nothing);
        sandbox.write("tests/a.tftest.hcl", "run \"longer\" {}\n");
        sandbox.write("notes.txt", "no test reads this");
        assert_eq!(watcher.look(), Affected::Files(vec![EcoString::from("tests/a.tftest.hcl")]));
        sandbox.write("new.tf", "locals {}\n");
        assert_eq!(watcher.look(), Affected::Everything);
        assert_eq!(watcher.look(), Affected::Nothing);
    }
}
