//! `-watch`: which files of tests a change affects.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use yuba_syntax::Sources;
use yuba_syntax::files::{Files, entry_path, split_path};

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
    files: Arc<dyn Files>,
    /// Versions of files.
    seen: BTreeMap<EcoString, u64>,
    dirs: Vec<EcoString>,
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
        let mut dirs = vec![EcoString::from(project.dir())];
        dirs.extend(project.test_dir().map(|below| entry_path(project.dir(), below)));
        let read = sources.iter().filter(|(_, file)| project.files().version(&file.name).is_ok());
        for dir in read.map(|(_, file)| split_path(&file.name).0) {
            if !dirs.iter().any(|known| known == dir) {
                dirs.push(dir.into());
            }
        }
        let mut watcher = Watcher { files: project.shared_files(), seen: BTreeMap::new(), dirs };
        watcher.seen = watcher.now();
        watcher
    }

    fn now(&self) -> BTreeMap<EcoString, u64> {
        let mut found = BTreeMap::new();
        for dir in &self.dirs {
            let names = self.files.names(dir).unwrap_or_default();
            for path in names.iter().filter(|name| is_config(name)).map(|name| entry_path(dir, name)) {
                // One that is gone by now is a change, too.
                if let Ok(version) = self.files.version(&path) {
                    found.insert(path, version);
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
            match is_test(path) {
                true => files.push(EcoString::from(path.strip_prefix("./").unwrap_or(path))),
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
