//! The first phase: a configuration that was read and linked, with the values given for its variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use yuba_analysis::{Analysis, ModuleReader};
use yuba_backend::{BackendConfiguration, ReadAhead};
use yuba_config::Module;
use yuba_eval::inputs::{Ask, Inputs};
use yuba_eval::static_eval::StaticEnv;
use yuba_eval::tree::{Link, LinkDiagnostics, Manifest, ModuleFiles as _, Purpose};
use yuba_eval::{ConfigTree, link};
use yuba_syntax::{Diagnostics, FileId, Sources, Span};

use crate::backend::{self, Refusal};
use crate::load::{Snapshot, read_inputs};
use crate::manifest::read_manifest;
use crate::module_install::{Directories, Missing};
use crate::project::Project;

/// Whether test files are loaded with a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestFiles {
    /// Those of the test directory of the project are loaded.
    Included,
    /// They are ignored.
    Ignored,
    /// They are loaded to be run: with the variable files beside them, and with modules that runs can link again.
    Run,
}

/// Settings for loading a configuration.
pub struct LoadOptions<'a> {
    /// Purpose of the configuration.
    pub purpose: Purpose,
    /// Whether test files are loaded too.
    pub tests: TestFiles,
    /// Prompts for missing values of variables.
    pub ask: Option<Ask>,
    /// The configuration of a saved plan, which is read instead of the files in the working directory.
    pub snapshot: Option<&'a Snapshot>,
    /// Use of the state by the command.
    pub state: StateUse,
}

/// Whether the command that loads a configuration reads the state afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateUse {
    /// It may not.
    Unknown,
    /// It does: a large state file is read while the configuration is loaded.
    Read,
}

impl<'a> LoadOptions<'a> {
    /// The files in the working directory with the test files; no prompts for values.
    pub fn new(purpose: Purpose) -> LoadOptions<'a> {
        LoadOptions { purpose, tests: TestFiles::Included, ask: None, snapshot: None, state: StateUse::Unknown }
    }

    /// The same without test files.
    #[must_use]
    pub fn without_tests(self) -> LoadOptions<'a> {
        LoadOptions { tests: TestFiles::Ignored, ..self }
    }

    /// The same, for a command that runs the test files.
    #[must_use]
    pub fn running_tests(self) -> LoadOptions<'a> {
        LoadOptions { tests: TestFiles::Run, ..self }
    }

    /// The same, for a command that reads the state afterwards.
    #[must_use]
    pub fn with_state(self) -> LoadOptions<'a> {
        LoadOptions { state: StateUse::Read, ..self }
    }

    /// The same, with prompts for values of variables.
    #[must_use]
    pub fn asking(self, ask: Option<Ask>) -> LoadOptions<'a> {
        LoadOptions { ask, ..self }
    }

    /// The same, with the files of a saved plan if there is one.
    #[must_use]
    pub fn of_snapshot(self, snapshot: Option<&'a Snapshot>) -> LoadOptions<'a> {
        LoadOptions { snapshot, ..self }
    }
}

/// A configuration that was read and linked.
pub struct Loaded {
    /// The project it belongs to.
    pub project: Project,
    /// Its purpose.
    pub purpose: Purpose,
    /// Its modules.
    pub tree: ConfigTree,
    /// Values for the variables of the root module.
    pub inputs: Inputs,
    /// All files that were read.
    pub sources: Sources,
    /// The modules that were installed.
    pub manifest: Manifest,
    /// The modules as they were read, by directory, for [`TestFiles::Run`].
    pub(crate) modules: BTreeMap<EcoString, Arc<Module>>,
    /// Files that belong to symbol libraries.
    pub libraries: Vec<FileId>,
    /// Errors found while reading and linking.
    pub diagnostics: Diagnostics,
    /// Whether it is the configuration of a saved plan.
    pub(crate) is_snapshot: bool,
    /// The backend of a saved plan, which is used instead of the one of the working directory.
    pub(crate) planned_backend: Option<BackendConfiguration>,
    /// The state file, if it is large and is read while the configuration is loaded.
    pub(crate) ahead: Option<ReadAhead>,
}

impl Project {
    /// Reads and links the configuration. Its errors are in the result; without the values of variables or the record
    /// of installed modules there is no configuration.
    pub fn load(&self, options: LoadOptions<'_>) -> Result<Loaded, Refusal> {
        let (loaded, found) = self.load_or_install(options, Missing::Told)?;
        Ok(Loaded { diagnostics: found.into_all(), ..loaded })
    }

    /// The same, with modules installed that are missing. The diagnostics are apart, by subject.
    pub(crate) fn load_or_install(
        &self,
        options: LoadOptions<'_>,
        missing: Missing<'_, '_>,
    ) -> Result<(Loaded, LinkDiagnostics), Refusal> {
        let _span = tracing::info_span!("load configuration", dir = self.dir()).entered();
        let LoadOptions { purpose, tests, ask, snapshot, state } = options;
        let ahead = if state == StateUse::Read { backend::read_ahead(self) } else { None };
        let test_dir = self.test_dir().filter(|_| tests != TestFiles::Ignored);
        let mut reader = self.reader(test_dir, snapshot);
        let dir_of_values = test_dir.filter(|_| tests == TestFiles::Run);
        let (inputs, mut problems) = read_inputs(self, dir_of_values, reader.sources_mut());
        if problems.has_errors() {
            return Err(Refusal { problems, sources: reader.into_read_modules().sources });
        }
        let inputs = match snapshot {
            None => inputs,
            Some(snapshot) => {
                // From here on the source of the values is irrelevant.
                let place = Span::default();
                let values = snapshot.variables.iter().map(|(name, value)| (name.clone(), (value.clone(), place)));
                inputs.planned(values.collect())
            }
        };
        let inputs = match ask {
            Some(ask) => inputs.asking(ask),
            None => inputs,
        };
        let manifest = match snapshot.map_or_else(|| read_manifest(self), |snapshot| Ok(snapshot.manifest.clone())) {
            Ok(manifest) => manifest,
            Err(problem) => {
                problems.push(problem);
                return Err(Refusal { problems, sources: reader.into_read_modules().sources });
            }
        };
        // Runs link with their own values what depends on variables. Without a run the values are those given here.
        let purpose = match tests == TestFiles::Run && !has_runs(&mut reader, self.dir()) {
            true => Purpose::Use,
            false => purpose,
        };
        let options = self.link_options(&inputs, &manifest, purpose);
        let span = tracing::info_span!("link modules");
        let link = |reader: &mut ModuleReader| link(&mut Directories::new(reader, &manifest, missing), &options);
        let analysis = span.in_scope(|| Analysis::linked(reader, link));
        let (tree, mut found, read) = analysis.into_parts();
        problems.extend(std::mem::take(&mut found.root));
        found.root = problems;
        let loaded = Loaded {
            project: self.clone(),
            purpose,
            tree,
            inputs,
            modules: if tests == TestFiles::Run { read.valid_modules() } else { BTreeMap::new() },
            libraries: read.libraries(),
            sources: read.sources,
            manifest,
            diagnostics: Diagnostics::new(),
            is_snapshot: snapshot.is_some(),
            planned_backend: snapshot.and_then(|snapshot| snapshot.backend.clone()),
            ahead,
        };
        Ok((loaded, found))
    }

    /// Options for linking the root module of the project.
    pub(crate) fn link_options<'a>(&'a self, inputs: &'a Inputs, manifest: &'a Manifest, purpose: Purpose) -> Link<'a> {
        Link {
            root_dir: self.dir(),
            world: self.world(),
            workspace: self.workspace(),
            original_dir: self.original_dir(),
            inputs,
            manifest,
            purpose,
        }
    }

    /// For the evaluation of expressions that refer to static values only.
    pub(crate) fn static_env<'a>(&'a self, inputs: &'a Inputs, sources: &'a Sources) -> StaticEnv<'a> {
        StaticEnv {
            world: self.world(),
            workspace: self.workspace(),
            original_dir: self.original_dir(),
            inputs,
            sources: Some(sources),
        }
    }
}

impl Loaded {
    /// The configuration, which must not have errors. Fails with its errors.
    pub fn valid(self) -> Result<Loaded, Refusal> {
        match self.diagnostics.has_errors() {
            true => Err(Refusal { problems: self.diagnostics, sources: self.sources }),
            false => Ok(self),
        }
    }

    /// The same for a command that needs the state too: where values for modules are not available, the refusal names the
    /// values that the `backend` block lacks as well.
    pub fn valid_with_backend(self) -> Result<Loaded, Refusal> {
        match self.diagnostics.has_errors() {
            true => Err(backend::not_loaded(self)),
            false => Ok(self),
        }
    }

    /// For the evaluation of its static expressions.
    pub fn static_env(&self) -> StaticEnv<'_> {
        self.project.static_env(&self.inputs, &self.sources)
    }

    /// A refusal that points into its files.
    pub(crate) fn refuse(&self, problems: impl Into<Diagnostics>) -> Refusal {
        Refusal { problems: problems.into(), sources: self.sources.clone() }
    }
}

/// Whether test files of the root module have runs.
fn has_runs(reader: &mut ModuleReader, dir: &str) -> bool {
    reader.module(dir).is_some_and(|(module, _)| module.tests.values().any(|file| !file.runs.is_empty()))
}
