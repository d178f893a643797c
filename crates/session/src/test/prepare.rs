//! Inputs of a run: the tested module with the replacements of the test, and the values of its variables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ecow::EcoString;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ConfigResource};
use yuba_config::test_file::{TestFile, TestRun};
use yuba_engine::RootVariable;
use yuba_eval::ConfigTree;
use yuba_eval::graph::References;
use yuba_eval::inputs::Inputs;
use yuba_eval::tree::{Link, Purpose, Tested, link_tested};
use yuba_provider::mock::{MockDefaults, Substituted, Substitutions};
use yuba_syntax::{Diagnostics, Sources, Span};
use yuba_value::Value;

use super::substitution::Objects;
use super::suite::Suite;
use super::variables::{self, RunValues, TestNames};
use super::{TestRequest, substitution};
use crate::operation::variables::known_variables;
use crate::prepared::{Linked, Prepared};
use crate::project::Project;
use crate::validate::{EarlyProcesses, Validation};

/// A run that can begin.
pub(super) struct PreparedRun {
    pub(super) tree: Arc<ConfigTree>,
    /// The files of the tree, where these are not those of the suite.
    pub(super) sources: Option<Arc<Sources>>,
    variables: BTreeMap<EcoString, RootVariable>,
    /// Values for the variables, for static expressions.
    inputs: Inputs,
    /// The tested module as it was read, unless the run changes it.
    unchanged: Option<ModuleKey>,
    /// Scope of assertions, beside the module.
    pub(super) tested: Arc<Tested>,
    substitutions: Substitutions,
}

/// A tested module of a suite: the file and the run that name it, both empty for the root module.
pub(super) type ModuleKey = (EcoString, EcoString);

/// The file or run that is prepared.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) suite: &'a Suite,
    pub(super) request: &'a TestRequest<'a>,
    pub(super) file_name: &'a EcoString,
    pub(super) file: &'a TestFile,
    pub(super) run: &'a TestRun,
    /// Outputs of earlier runs.
    pub(super) outputs: &'a BTreeMap<EcoString, Value>,
}

impl PreparedRun {
    /// Whether no provider is asked about a resource.
    pub(super) fn stands_in(&self, provider: &AbsProviderConfig, resource: &ConfigResource) -> bool {
        self.substitutions.resources.contains_key(resource) || self.substitutions.mocks.contains_key(provider)
    }

    /// No provider is to be asked about these either: they were never real.
    pub(super) fn never_ask(&mut self, objects: &BTreeSet<AbsResourceInstance>) {
        self.substitutions.objects.clone_from(objects);
    }

    /// Takes the errors in the values of variables.
    pub(super) fn take_variable_problems(&mut self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        for variable in self.variables.values_mut() {
            problems.extend(std::mem::take(&mut variable.problems));
        }
        problems
    }

    /// The providers of a project, with the mocks of the run.
    pub(super) fn providers<'p>(&'p self, project: &'p Project) -> Substituted<'p> {
        Substituted { inner: project.providers(), substitutions: &self.substitutions }
    }
}

impl<'a> Subject<'a> {
    /// The tested module as it was read.
    pub(super) fn base(&self) -> Arc<ConfigTree> {
        let own = self.run.module.as_ref();
        let own = own.and_then(|_| self.suite.runs.get(&(self.file_name.clone(), self.run.name.clone())));
        own.unwrap_or(&self.suite.root).clone()
    }

    /// For objects in the test file.
    fn objects(&self) -> Objects<'a> {
        Objects { root: self.suite.root.root(), sources: &self.suite.sources }
    }

    /// Finds everything a run needs. With errors there is nothing to run.
    pub(super) fn prepare(&self) -> (Option<PreparedRun>, Diagnostics) {
        let Subject { suite, request, file, run, .. } = *self;
        let base = self.base();
        let module = &base.root().module;
        let outer = variables::outer_values(module, &suite.inputs);
        let mut names = TestNames {
            runs: Value::object(self.outputs.iter().map(|(name, value)| (name.clone(), value.clone())).collect()),
            variables: Value::object(outer.iter().map(|(name, value)| (name.clone(), value.clone())).collect()),
            module,
            home: &suite.root.root().module,
            symbols: &suite.root.root().symbols,
            world: request.project.world(),
            sources: &suite.sources,
        };
        let (values, mut problems) = variables::of_run(file, run, &mut names, &outer, &suite.inputs);
        if problems.has_errors() {
            return (None, problems);
        }
        let RunValues { given, others } = values;
        let file_id = Some(run.span.file);
        let tested = Arc::new(Tested { file: file_id, runs: self.outputs.clone(), variables: others });
        let inputs = Inputs::evaluated(
            given.iter().map(|(name, (value, _))| (name.clone(), (value.clone(), Span::default()))).collect(),
        );
        let (tree, sources, mocks) = match self.tree(&base, &inputs, &tested, &mut problems) {
            Some(found) => found,
            None => return (None, problems),
        };
        let (resources, found) = substitution::resources(file, run, &tree, self.objects());
        problems.extend(found);
        let (modules, found) = substitution::modules(file, run, &tree, self.objects());
        problems.extend(found);
        if problems.has_errors() {
            return (None, problems);
        }
        let variables = known_variables(&tree.root().module.variables, &given);
        let substitutions = Substitutions { mocks, resources, objects: BTreeSet::new(), modules, seed: request.seed };
        let unchanged = match Arc::ptr_eq(&tree, &base) {
            false => None,
            true if run.module.is_none() => Some(ModuleKey::default()),
            true => Some((self.file_name.clone(), run.name.clone())),
        };
        (Some(PreparedRun { tree, sources, variables, inputs, unchanged, tested, substitutions }), problems)
    }

    /// The tested module with the providers of the test.
    #[allow(clippy::type_complexity)]
    fn tree(
        &self,
        base: &Arc<ConfigTree>,
        inputs: &Inputs,
        tested: &Arc<Tested>,
        problems: &mut Diagnostics,
    ) -> Option<(Arc<ConfigTree>, Option<Arc<Sources>>, BTreeMap<AbsProviderConfig, MockDefaults>)> {
        let Subject { suite, request, file, run, .. } = *self;
        let has_for_each = file.providers.values().any(|config| config.for_each.is_some())
            || file.mock_providers.values().any(|mock| mock.for_each.is_some());
        let again = has_for_each || base.follows_from_variables();
        let dir = &base.root().dir;
        let module = suite.modules.get(dir).filter(|_| again).unwrap_or(&base.root().module);
        let (providers, found) = substitution::providers(file, run, module);
        problems.extend(found);
        if problems.has_errors() {
            return None;
        }
        if !again {
            let tree = match &providers.module {
                None => base.clone(),
                Some(module) => Arc::new(base.with_root(module.clone(), tested.clone())),
            };
            let mocks = providers.mocks(&tree, self.objects(), problems);
            return Some((tree, None, mocks));
        }
        let root = (dir.clone(), providers.module.clone().unwrap_or_else(|| module.clone()));
        let modules = suite.modules.iter().map(|(dir, module)| (dir.clone(), module.clone()));
        let reader = request.project.reader_with((*suite.sources).clone());
        let mut reader = reader.with_modules(modules.chain([root]));
        let options = Link { root_dir: dir, ..request.project.link_options(inputs, &suite.manifest, Purpose::Use) };
        let path = run.module.as_ref().map(|_| (self.file_name.as_str(), &run.name));
        let (tree, mut found) = link_tested(&mut reader, &options, path, tested.clone());
        // Warnings about the module were given when it was read.
        found.retain(yuba_syntax::Diagnostic::is_error);
        problems.extend(found);
        if problems.has_errors() {
            return None;
        }
        let mocks = providers.mocks(&tree, self.objects(), problems);
        Some((Arc::new(tree), Some(Arc::new(reader.into_read_modules().sources)), mocks))
    }

    /// The reference graph of the run, and errors of the tested module that do not depend on values. The errors of a module
    /// are found once, unless the run changes it.
    pub(super) fn validate<'p>(&'p self, prepared: &'p PreparedRun) -> (References<'p>, Diagnostics) {
        let Subject { suite, request, .. } = *self;
        let linked = self.linked(prepared);
        let key = prepared.unchanged.as_ref();
        let mut known = key.map(|_| suite.validated.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        if let (Some(known), Some(key)) = (&known, key)
            && let Some(found) = known.get(key)
        {
            return (linked.references(), found.clone());
        }
        // Mocks may replace some of the processes.
        let (parallelism, processes) = (request.parallelism, EarlyProcesses::ForValidation);
        let (mut found, references) = Validation { linked, parallelism, processes }.check();
        // Planning reports more about `enabled`, and repeats warnings. A variable whose declaration rejects every value
        // is an error here: a test cannot expect it.
        found.retain(|problem| problem.is_error() && !problem.depends_on_enabled());
        if let (Some(known), Some(key)) = (&mut known, key) {
            known.insert(key.clone(), found.clone());
        }
        (references, found)
    }

    /// The module of a run, with the values of its variables.
    pub(super) fn linked<'p>(&'p self, prepared: &'p PreparedRun) -> Linked<'p> {
        let (project, sources) = (self.request.project, self.sources(prepared));
        Linked { project, tree: &prepared.tree, inputs: &prepared.inputs, sources }
    }

    /// The module of a run with everything that the engine works with.
    pub(super) fn prepared<'p>(
        &'p self,
        run: &'p PreparedRun,
        references: References<'p>,
        providers: &'p Substituted<'p>,
    ) -> Prepared<'p> {
        let prepared = Prepared::new(self.linked(run), run.variables.clone(), references, self.request.parallelism);
        Prepared { providers, substitutions: &run.substitutions, ..prepared }
    }

    /// The files that messages about a run point into.
    pub(super) fn sources<'p>(&'p self, prepared: &'p PreparedRun) -> &'p Sources {
        prepared.sources.as_deref().unwrap_or(&self.suite.sources)
    }
}
