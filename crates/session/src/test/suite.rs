//! The tests of a module: the configuration, the files, and everything that is the same for all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ecow::EcoString;
use yuba_analysis::ModuleReader;
use yuba_config::Module;
use yuba_config::test_file::TestFile;
use yuba_eval::inputs::Inputs;
use yuba_eval::symbols::{LibraryFiles, UnreadableLibrary};
use yuba_eval::tree::{Link, Manifest, ModuleFiles, Purpose};
use yuba_eval::{ConfigTree, link};
use yuba_syntax::{Diagnostics, Sources};

use super::prepare::ModuleKey;
use super::sealing::TestSealing;
use super::{Message, TestRequest, TestStatus, diagnostics, lanes, record};
use crate::backend::Refusal;
use crate::encryption;
use crate::load::read_inputs;
use crate::manifest::read_manifest;

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
    /// Providers that mocks ask what is valid.
    /// Results of validation, by module.
    pub(super) validated: Mutex<BTreeMap<ModuleKey, Diagnostics>>,
}

impl Suite {
    /// Reads all files. The diagnostics so far contain no errors.
    pub fn load(request: &TestRequest<'_>) -> Result<(Suite, Diagnostics), Refusal> {
        let project = request.project;
        let reader = project.reader(project.test_dir(), None);
        let mut files = Remembered { reader, modules: BTreeMap::new() };
        let (inputs, mut problems) = read_inputs(project, project.test_dir(), files.reader.sources_mut());
        if problems.has_errors() {
            return Err(Refusal { problems, sources: files.reader.into_read_modules().sources });
        }
        let manifest = match read_manifest(project) {
            Ok(manifest) => manifest,
            Err(problem) => {
                problems.push(problem);
                return Err(Refusal { problems, sources: files.reader.into_read_modules().sources });
            }
        };
        // Results that depend on variables are computed again for each run, with its values.
        let options = project.link_options(&inputs, &manifest, Purpose::Look);
        let (mut tree, mut found) = link(&mut files, &options);
        if tree.root().module.tests.values().all(|file| file.runs.is_empty()) {
            // There is no run that could give values.
            found = link(&mut files, &Link { purpose: Purpose::Use, ..options }).1;
        }
        problems.extend(found.into_all());
        let Remembered { reader, mut modules } = files;
        let sources = reader.into_read_modules().sources;
        if problems.has_errors() {
            return Err(Refusal { problems, sources });
        }
        let env = project.static_env(&inputs, &sources);
        let sealing = TestSealing::new(encryption::of_tree(project, &tree, env).map(|encryption| encryption.state));
        problems.extend(record::left_behind(project, &sealing));
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

/// The directories of modules; parsed files are cached, to be linked again.
struct Remembered {
    reader: ModuleReader,
    modules: BTreeMap<EcoString, Arc<Module>>,
}

impl ModuleFiles for Remembered {
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)> {
        let (module, problems) = self.reader.module(dir)?;
        if !problems.has_errors() {
            self.modules.insert(dir.into(), module.clone());
        }
        Some((module, problems))
    }
    fn library(&mut self, path: &str) -> Result<LibraryFiles, UnreadableLibrary> {
        self.reader.library(path)
    }
    fn identity(&mut self, dir: &str) -> EcoString {
        self.reader.identity(dir)
    }
    fn sources(&self) -> Option<&Sources> {
        Some(&self.reader.read_modules().sources)
    }
}

/// Modules that were read before, one of them changed; what else is needed is read now.
pub(super) struct Again<'a> {
    pub(super) reader: ModuleReader,
    pub(super) known: &'a BTreeMap<EcoString, Arc<Module>>,
    /// The directory of the tested module, and the module as the run has it.
    pub(super) root: (EcoString, Arc<Module>),
}

impl ModuleFiles for Again<'_> {
    fn module(&mut self, dir: &str) -> Option<(Arc<Module>, Diagnostics)> {
        if dir == self.root.0 {
            return Some((self.root.1.clone(), Diagnostics::new()));
        }
        match self.known.get(dir) {
            Some(module) => Some((module.clone(), Diagnostics::new())),
            None => self.reader.module(dir),
        }
    }
    fn library(&mut self, path: &str) -> Result<LibraryFiles, UnreadableLibrary> {
        self.reader.library(path)
    }
    fn identity(&mut self, dir: &str) -> EcoString {
        self.reader.identity(dir)
    }
    fn sources(&self) -> Option<&Sources> {
        Some(&self.reader.read_modules().sources)
    }
}
