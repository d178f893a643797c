//! The tests of a module: the configuration, the files, and everything that is the same for all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ecow::EcoString;
use yuba_config::Module;
use yuba_config::test_file::TestFile;
use yuba_eval::ConfigTree;
use yuba_eval::inputs::Inputs;
use yuba_eval::tree::{Manifest, Purpose};
use yuba_syntax::{Diagnostics, Sources};

use super::prepare::ModuleKey;
use super::sealing::TestSealing;
use super::{Message, TestRequest, TestStatus, diagnostics, lanes, record};
use crate::backend::Refusal;
use crate::encryption;
use crate::loaded::{LoadOptions, Loaded};

/// A configuration with its test files.
pub struct Suite {
    /// The module under test, without its tests.
    pub(super) root: Arc<ConfigTree>,
    tests: BTreeMap<EcoString, TestFile>,
    /// The modules that runs test instead.
    pub(super) runs: BTreeMap<(EcoString, EcoString), Arc<ConfigTree>>,
    pub(super) inputs: Inputs,
    pub(super) manifest: Manifest,
    /// The files that were read.
    pub sources: Arc<Sources>,
    /// Modules as they were read, by directory.
    pub(super) modules: BTreeMap<EcoString, Arc<Module>>,
    /// The files to run.
    pub(super) selected: Vec<EcoString>,
    /// Encryption of written files.
    pub(super) sealing: TestSealing,
    /// Results of validation, by module.
    pub(super) validated: Mutex<BTreeMap<ModuleKey, Diagnostics>>,
}

impl Suite {
    /// Reads all files. The diagnostics so far contain no errors.
    pub fn load(request: &TestRequest<'_>) -> Result<(Suite, Diagnostics), Refusal> {
        let project = request.project;
        let options = LoadOptions::new(Purpose::Look).running_tests();
        let mut loaded = project.load(options).and_then(Loaded::valid)?;
        let mut problems = std::mem::take(&mut loaded.diagnostics);
        let sealing = TestSealing::new(encryption::of(&loaded).map(|encryption| encryption.state));
        problems.extend(record::left_behind(project, &sealing));
        let Loaded { mut tree, inputs, manifest, sources, mut modules, .. } = loaded;
        let runs = std::mem::take(&mut tree.runs);
        // Runs have a root module of their own; they need no copy of all tests.
        let mut root = (*tree.root().module).clone();
        let all = std::mem::take(&mut root.tests);
        tree = tree.with_root(Arc::new(root), Arc::default());
        if let Some(raw) = modules.get_mut(project.dir()) {
            Arc::make_mut(raw).tests = BTreeMap::new();
        }
        let mut selected: Vec<EcoString> = all.keys().cloned().collect();
        if !request.filter.is_empty() {
            let wanted: Vec<&str> =
                request.filter.iter().map(|name| name.strip_prefix("./").unwrap_or(name.as_str())).collect();
            selected.retain(|name| wanted.contains(&name.as_str()));
            match selected.is_empty() {
                true => problems.push(diagnostics::no_tests_found()),
                false => {
                    let unknown = wanted.iter().filter(|name| !all.contains_key(**name));
                    problems.extend(unknown.map(|name| diagnostics::unknown_file(name)));
                }
            }
        }
        let suite = Suite {
            root: Arc::new(tree),
            tests: all,
            runs: runs.into_iter().map(|(key, tree)| (key, Arc::new(tree))).collect(),
            inputs,
            manifest,
            sources: Arc::new(sources),
            modules,
            selected,
            sealing,
            validated: Mutex::default(),
        };
        Ok((suite, problems))
    }

    /// The files to run with the names of their runs, in order.
    pub fn files(&self) -> impl Iterator<Item = (&EcoString, Vec<&EcoString>)> {
        self.selected.iter().filter_map(|name| {
            let file = self.file(name)?;
            Some((name, file.runs.iter().map(|run| &run.name).collect()))
        })
    }

    /// Runs only some of the files.
    pub fn select(&mut self, wanted: impl Fn(&str) -> bool) {
        self.selected.retain(|name| wanted(name));
    }

    pub(super) fn file(&self, name: &str) -> Option<&TestFile> {
        self.tests.get(name)
    }

    /// Runs the tests. How all of them ended.
    pub fn run(&self, request: &TestRequest<'_>, tell: &mut dyn FnMut(Message)) -> TestStatus {
        lanes::run(self, request, tell)
    }
}
