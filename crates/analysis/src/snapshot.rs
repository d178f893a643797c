//! One state of a configuration: its modules, linked, and their errors, by file.

use std::collections::BTreeMap;
use std::sync::Arc;

use yuba_eval::tree::{Link, LinkDiagnostics};
use yuba_eval::{ConfigTree, link};
use yuba_syntax::files::Files;
use yuba_syntax::{Diagnostic, FileId, Sources};

use crate::reader::{ModuleReader, ReadModules};

/// A configuration as it was when its files were read. It never changes.
#[derive(Clone, Debug)]
pub struct Analysis {
    read: ReadModules,
    tree: Arc<ConfigTree>,
    found: LinkDiagnostics,
}

impl Analysis {
    /// Reads and links the configuration that starts at the root directory of the options.
    pub fn new(reader: ModuleReader, options: &Link<'_>) -> Analysis {
        Analysis::linked(reader, |reader| link(reader, options))
    }

    /// The configuration that a caller links with the modules of a reader, such as one that installs missing modules.
    pub fn linked(
        mut reader: ModuleReader,
        link: impl FnOnce(&mut ModuleReader) -> (ConfigTree, LinkDiagnostics),
    ) -> Analysis {
        let (tree, found) = link(&mut reader);
        Analysis { read: reader.into_read_modules(), tree: Arc::new(tree), found }
    }

    /// The configuration after files at these paths have changed, were added or removed. Files elsewhere are not read again.
    #[must_use]
    pub fn updated(
        &self,
        files: Arc<dyn Files>,
        tests: Option<&str>,
        changed: &[&str],
        options: &Link<'_>,
    ) -> Analysis {
        let reader = ModuleReader::resume(files, self.read.clone()).with_tests(options.root_dir, tests);
        Analysis::new(reader.changed(changed), options)
    }

    /// The modules. Incomplete where there are errors.
    pub fn tree(&self) -> &ConfigTree {
        &self.tree
    }

    /// Errors and warnings about syntax, blocks, and how modules go together.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let LinkDiagnostics { root, modules, rules } = &self.found;
        root.iter().chain(modules.iter()).chain(rules.iter())
    }

    /// The parts that a run goes on with: the modules, the diagnostics by subject, and the files that were read.
    pub fn into_parts(self) -> (ConfigTree, LinkDiagnostics, ReadModules) {
        (Arc::unwrap_or_clone(self.tree), self.found, self.read)
    }

    /// The diagnostics that point into each file. Those without a location stand at `None`.
    pub fn diagnostics_by_file(&self) -> BTreeMap<Option<FileId>, Vec<&Diagnostic>> {
        let mut by_file: BTreeMap<Option<FileId>, Vec<&Diagnostic>> = BTreeMap::new();
        for diagnostic in self.diagnostics() {
            by_file.entry(diagnostic.subject.map(|span| span.file)).or_default().push(diagnostic);
        }
        by_file
    }

    /// The files that were read.
    pub fn sources(&self) -> &Sources {
        &self.read.sources
    }

    /// Number of files parsed for this snapshot and those before it.
    pub fn parsed(&self) -> usize {
        self.read.parsed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use yuba_eval::MemoryWorld;
    use yuba_eval::inputs::Inputs;
    use yuba_eval::tree::{Link, Manifest, Purpose};
    use yuba_syntax::files::MemoryFiles;

    use super::Analysis;
    use crate::ModuleReader;

    /// Runs with options for the root directory.
    fn with_options<T>(run: impl FnOnce(&Link<'_>) -> T) -> T {
        let (world, inputs, manifest) = (MemoryWorld::default(), Inputs::default(), Manifest::default());
        run(&Link {
            root_dir: ".",
            world: &world,
            workspace: "default",
            original_dir: None,
            inputs: &inputs,
            manifest: &manifest,
            purpose: Purpose::Use,
        })
    }

    fn analyse(files: &MemoryFiles) -> Analysis {
        with_options(|options| {
            Analysis::new(
                ModuleReader::new(Arc::new(files.clone())).with_tests(".", Some(crate::DEFAULT_TEST_DIR)),
                options,
            )
        })
    }

    fn update(before: &Analysis, files: &MemoryFiles, changed: &str) -> Analysis {
        with_options(|options| {
            before.updated(Arc::new(files.clone()), Some(crate::DEFAULT_TEST_DIR), &[changed], options)
        })
    }

    /// Diagnostics as sorted text: file, start, title.
    fn shown(analysis: &Analysis) -> Vec<String> {
        let show = |one: &yuba_syntax::Diagnostic| {
            let name = one.subject.and_then(|span| Some(analysis.sources().get(span.file)?.name.to_string()));
            format!("{name:?} {:?} {} {}", one.subject.map(|span| (span.start, span.end)), one.summary, one.detail)
        };
        let mut shown: Vec<String> = analysis.diagnostics().map(show).collect();
        shown.sort();
        shown
    }

    fn fixture() -> MemoryFiles {
        let mut files = MemoryFiles::default();
        for (path, text) in [
            ("main.tf", "module \"a\" {\n  source = \"./a\"\n}\nmodule \"b\" {\n  source = \"./b\"\n}\n"),
            ("a/main.tf", "output \"o\" {\n  value = 1\n}\n"),
            ("b/main.tf", "locals {\n  x = 1\n}\n"),
            ("b/more.tf", "locals {\n  y = 2\n}\n"),
            ("tests/one.tftest.hcl", "run \"r\" {}\n"),
        ] {
            files.write(path, text.as_bytes());
        }
        files
    }

    #[test]
    fn a_change_parses_only_the_changed_file() {
        let mut files = fixture();
        let first = analyse(&files);
        assert_eq!((first.parsed(), shown(&first)), (5, vec![]));
        files.write("b/more.tf", b"locals {\n  x = 3\n}\n".as_slice());
        let second = update(&first, &files, "b/more.tf");
        assert_eq!(second.parsed(), 6);
        let found = shown(&second);
        assert!(
            found.len() == 1 && found[0].contains("b/more.tf") && found[0].contains("Duplicate local"),
            "{found:?}"
        );
        assert!(shown(&first).is_empty(), "the first snapshot has not changed");
        assert_eq!(second.diagnostics_by_file().len(), 1);
        files.remove("b/more.tf");
        let third = update(&second, &files, "b/more.tf");
        assert_eq!((third.parsed(), shown(&third)), (6, vec![]));
    }

    #[test]
    fn unchanged_directories_are_not_read_again() {
        let files = fixture();
        let first = analyse(&files);
        // Without the other files, so that reading one of them would be an error.
        let mut only = MemoryFiles::default();
        only.write("b/main.tf", b"locals {\n  z = 1\n}\n".as_slice());
        let second = update(&first, &only, "b/main.tf");
        assert_eq!((second.parsed(), shown(&second)), (6, vec![]));
    }

    #[test]
    fn large_files_of_a_directory_are_parsed_like_each_alone() {
        let large = format!("{}locals {{\n  x = 1\n}}\n", "# comment\n".repeat(70_000));
        let mut files = MemoryFiles::default();
        files.write("a.tf", large.as_bytes());
        let mut alone = analyse(&files);
        for (path, text) in [("b.tf", large.as_str()), ("c.tf", "}\n"), ("d.tf.json", "[")] {
            files.write(path, text.as_bytes());
            alone = update(&alone, &files, path);
        }
        let together = analyse(&files);
        assert_eq!((together.parsed(), shown(&together)), (4, shown(&alone)));
        let found = shown(&together);
        assert!(found.iter().any(|one| one.contains("b.tf") && one.contains("Duplicate local")), "{found:?}");
    }

    const TEXTS: [&str; 7] = [
        "",
        "locals {\n  x = 1\n}\n",
        "output \"o\" {\n  value = local.x\n}\n",
        "module \"c\" {\n  source = \"./b\"\n}\n",
        "variable \"v\" {\n  type = nothing\n}\n",
        "resource \"terraform_data\" {\n",
        "}",
    ];
    const PATHS: [&str; 6] = ["main.tf", "x.tf", "a/main.tf", "a/y.tf.json", "b/main.tf", "tests/one.tftest.hcl"];

    proptest! {
        #[test]
        fn updates_find_what_a_new_analysis_finds(edits in prop::collection::vec((0..PATHS.len(), 0..=TEXTS.len()), 1..12)) {
            let mut files = fixture();
            let mut analysis = analyse(&files);
            for (path, text) in edits {
                match TEXTS.get(text) {
                    Some(text) => files.write(PATHS[path], text.as_bytes()),
                    None => files.remove(PATHS[path]),
                }
                analysis = update(&analysis, &files, PATHS[path]);
                prop_assert_eq!(shown(&analysis), shown(&analyse(&files)));
            }
        }
    }
}
