//! What `show` needs besides states: plans with the configuration they were made for, configurations, single modules.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use ecow::eco_format;
use yuba_addrs::ProviderSource;
use yuba_config::Module;
use yuba_eval::tree::{ModuleFiles as _, Purpose};
use yuba_plan::Plan;
use yuba_plan::file::Problem;
use yuba_provider::RecordedSchemas;
use yuba_syntax::{Diagnostic, Diagnostics};

use crate::backend::{Refusal, not_loaded};
use crate::load::{Configuration, LoadRequest, ModuleDirs, has_configuration, load};
use crate::provider_install::of_state;
use crate::providers::adopting;
use crate::saved_plan::{PlanProblem, SavedPlan, saved_plan};

/// A saved plan with the configuration it was made for.
pub struct PlanAndConfiguration {
    /// The plan.
    pub plan: Plan,
    /// The configuration.
    pub configuration: Configuration,
    schemas: RecordedSchemas,
}

impl PlanAndConfiguration {
    /// The schemas that were saved with the plan: no provider is needed to show it.
    pub fn schemas(&self) -> &RecordedSchemas {
        &self.schemas
    }
}

/// Why a file cannot be shown as a plan.
pub enum NotShown {
    /// It is something else, or it cannot be read: a sentence part.
    Other(String),
    /// It is a plan that cannot be used: a sentence part.
    Unusable(String),
}

/// Reads a plan from a file. Neither files of the working directory nor values for variables are needed.
pub fn plan_file(path: &Path, request: &LoadRequest<'_>) -> Result<PlanAndConfiguration, NotShown> {
    let saved = saved_plan(path, request).map_err(|problem| match problem {
        PlanProblem::Unreadable(error) => NotShown::Other(error.to_string()),
        PlanProblem::Content(problem @ (Problem::NotAPlan | Problem::BrokenArchive)) => {
            NotShown::Other(problem.to_string())
        }
        PlanProblem::Content(problem) => NotShown::Unusable(problem.to_string()),
        PlanProblem::Encrypted(problems) => NotShown::Unusable(problems.joined()),
        PlanProblem::Configuration(reason) => NotShown::Unusable(reason),
    })?;
    let SavedPlan { plan, snapshot, workspace, schemas, .. } = saved;
    let schemas = RecordedSchemas::new(schemas);
    let request = LoadRequest {
        workspace: &workspace,
        snapshot: Some(&snapshot),
        test_dir: None,
        purpose: Purpose::Look,
        ..*request
    };
    match load(&request, None) {
        (Ok(configuration), problems) if !problems.has_errors() => {
            Ok(PlanAndConfiguration { plan, configuration, schemas })
        }
        (_, problems) => Err(NotShown::Unusable(problems.joined())),
    }
}

/// The configuration of a directory, which has to be there.
pub fn configuration(request: &LoadRequest<'_>) -> Result<Configuration, Refusal> {
    if !has_configuration(Path::new(request.dir)) {
        let detail = "This directory has no configuration files: their names end with .tf or .tofu.";
        return Err(Diagnostic::error("No configuration files", detail).into());
    }
    loaded(request)
}

/// The configuration of a directory, which may be empty.
fn loaded(request: &LoadRequest<'_>) -> Result<Configuration, Refusal> {
    match load(request, None) {
        (Ok(configuration), problems) if !problems.has_errors() => Ok(configuration),
        (Ok(configuration), problems) => Err(Refusal { problems, sources: configuration.sources }),
        (Err(sources), problems) => Err(Refusal { problems, sources }),
    }
}

/// The configuration of a directory, the providers that it and the objects in its state need, and warnings about the state.
pub fn with_providers(
    request: &LoadRequest<'_>,
) -> Result<(Configuration, BTreeSet<ProviderSource>, Diagnostics), Refusal> {
    let configuration = match load(request, None) {
        (Ok(configuration), problems) if !problems.has_errors() => configuration,
        (Ok(configuration), problems) => return Err(not_loaded(configuration, request, problems)),
        (Err(sources), problems) => return Err(Refusal { problems, sources }),
    };
    match of_state(&configuration, request, "Failed to load state") {
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
pub fn is_json(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).is_ok())
}

/// One module, without the modules it calls.
pub fn single_module(dir: &str) -> Result<Arc<Module>, Refusal> {
    let mut dirs = ModuleDirs::new();
    let (module, problems) = dirs.module(dir).unwrap_or_else(|| {
        let detail = eco_format!("There is no directory {dir}, or it cannot be read.");
        let problem = Diagnostic::error("Failed to read module directory", detail);
        (Arc::new(Module::default()), Diagnostics::from(problem))
    });
    if problems.has_errors() { Err(Refusal { problems, sources: dirs.sources }) } else { Ok(module) }
}
