//! Sources of `show` besides states: plans with their configuration, configurations, single modules.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use yuba_addrs::ProviderSource;
use yuba_config::Module;
use yuba_eval::EvalEnv;
use yuba_eval::graph::References;
use yuba_eval::tree::{ModuleFiles as _, Purpose};
use yuba_plan::Plan;
use yuba_plan::file::PlanFileError;
use yuba_provider::RecordedSchemas;
use yuba_syntax::Diagnostics;

use crate::backend::Refusal;
use crate::load::diagnostics;
use crate::loaded::{LoadOptions, Loaded};
use crate::project::Project;
use crate::provider_install::of_state;
use crate::providers::adopting;
use crate::saved_plan::{PlanProblem, SavedPlan, saved_plan};

/// A saved plan with the configuration it was made for.
pub struct PlanAndConfiguration {
    /// The plan.
    pub plan: Plan,
    /// The configuration.
    pub configuration: Loaded,
    schemas: RecordedSchemas,
}

impl PlanAndConfiguration {
    /// The schemas that were saved with the plan: no provider is needed to show it.
    pub fn schemas(&self) -> &RecordedSchemas {
        &self.schemas
    }

    /// The references of the configuration, read by the saved schemas.
    pub fn references(&self) -> References<'_> {
        let env = EvalEnv { providers: &self.schemas, ..self.configuration.linked().eval_env() };
        References::read(&self.configuration.tree, env)
    }
}

/// Reason why a file cannot be shown as a plan.
pub enum NotShown {
    /// It is something else, or it cannot be read: a sentence part.
    Other(String),
    /// It is a plan that cannot be used: a sentence part.
    Unusable(String),
}

/// Reads a plan from a file. Neither files of the working directory nor values for variables are needed.
pub fn plan_file(path: &Path, project: &Project) -> Result<PlanAndConfiguration, NotShown> {
    let saved = saved_plan(path, project).map_err(|problem| match problem {
        PlanProblem::Unreadable(error) => NotShown::Other(error.to_string()),
        PlanProblem::Content(problem @ (PlanFileError::NotAPlan | PlanFileError::BrokenArchive)) => {
            NotShown::Other(problem.to_string())
        }
        PlanProblem::Content(problem) => NotShown::Unusable(problem.to_string()),
        PlanProblem::Encrypted(problems) => NotShown::Unusable(problems.joined()),
        PlanProblem::Configuration(reason) => NotShown::Unusable(reason),
    })?;
    let SavedPlan { plan, snapshot, workspace, schemas, .. } = saved;
    let schemas = RecordedSchemas::new(schemas);
    let options = LoadOptions::new(Purpose::Look).without_tests().of_snapshot(Some(&snapshot));
    match project.in_workspace(&workspace).load(options).and_then(Loaded::valid) {
        Ok(configuration) => Ok(PlanAndConfiguration { plan, configuration, schemas }),
        Err(Refusal { problems, .. }) => Err(NotShown::Unusable(problems.joined())),
    }
}

/// The configuration of a directory, which must exist.
pub fn configuration(project: &Project) -> Result<Loaded, Refusal> {
    match project.has_configuration() {
        true => project.load(LoadOptions::new(Purpose::Use)).and_then(Loaded::valid),
        false => Err(diagnostics::no_configuration_to_show().into()),
    }
}

/// The configuration of a directory, the providers that it and the objects in its state need, and warnings about the state.
pub fn with_providers(project: &Project) -> Result<(Loaded, BTreeSet<ProviderSource>, Diagnostics), Refusal> {
    let options = LoadOptions::new(Purpose::Use).without_tests();
    let configuration = project.load(options).and_then(Loaded::valid_with_backend)?;
    match of_state(&configuration, &crate::diagnostics::SCHEMAS_STATE_UNREADABLE) {
        Ok((of_state, notes)) => {
            let mut providers: BTreeSet<ProviderSource> = configuration.tree.requirements().into_keys().collect();
            let is_adopted =
                |provider: &ProviderSource| adopting(provider).is_some_and(|ours| providers.contains(&ours));
            let others: Vec<ProviderSource> = of_state.into_iter().filter(|provider| !is_adopted(provider)).collect();
            providers.extend(others);
            Ok((configuration, providers, notes))
        }
        Err(problems) => Err(Refusal { problems, sources: configuration.sources }),
    }
}

/// Whether a file is JSON, so that it may have been meant to be a state.
pub fn is_json(project: &Project, path: &Path) -> bool {
    std::fs::read(project.path(path)).is_ok_and(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).is_ok())
}

/// One module, without the modules it calls.
pub fn single_module(project: &Project, dir: &str) -> Result<Arc<Module>, Refusal> {
    let mut reader = project.reader(None, None);
    let (module, problems) = reader
        .module(dir)
        .unwrap_or_else(|| (Arc::default(), Diagnostics::from(diagnostics::module_directory_unreadable(dir))));
    if problems.has_errors() {
        Err(Refusal { problems, sources: reader.into_read_modules().sources })
    } else {
        Ok(module)
    }
}
