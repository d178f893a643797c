//! `explain`: a configuration with its references and values, a state, and possibly a plan, for explanations.

use std::collections::BTreeMap;
use std::path::Path;

use ecow::EcoString;
use yuba_engine::RootVariable;
use yuba_eval::graph::{CallArguments, RefGraph, References};
use yuba_eval::tree::Purpose;
use yuba_eval::validate::PARALLELISM;
use yuba_eval::{ConfigTree, EvalEnv, EvalMode, Evaluation, Inputs};
use yuba_plan::Plan;
use yuba_provider::{Providers, RecordedSchemas};
use yuba_state::State;
use yuba_syntax::{Diagnostics, Sources};
use yuba_value::Value;

use crate::backend::{Refusal, StateFlags, state_location};
use crate::loaded::{LoadOptions, Loaded};
use crate::operation::variables::WithoutValue;
use crate::planned::Planned;
use crate::project::Project;
use crate::saved_plan::SavedPlan;
use crate::validate::{EarlyProcesses, Validation};

/// The source of an explanation.
pub struct Explainable<'a> {
    /// The configuration.
    pub tree: &'a ConfigTree,
    /// Its files.
    pub sources: &'a Sources,
    /// The references in it.
    pub graph: &'a RefGraph<'a>,
    /// The arguments of its module calls.
    pub arguments: &'a CallArguments,
    /// The values given for variables of the root module.
    pub inputs: &'a Inputs,
    /// Evaluates expressions whose values are known without any resource.
    pub evaluation: &'a Evaluation<'a>,
    /// The schemas of providers.
    pub schemas: &'a dyn Providers,
    /// The state before the plan; empty if it does not exist.
    pub state: &'a State,
    /// The plan, if there is one.
    pub plan: Option<&'a Plan>,
}

impl Project {
    /// Explains with a plan from a file. Neither files of the working directory nor providers are needed.
    pub fn explain_saved_plan<T>(
        &self,
        path: &Path,
        explain: impl FnOnce(&Explainable<'_>) -> T,
    ) -> Result<T, Refusal> {
        let saved = self.read_plan(path)?;
        let SavedPlan { plan, snapshot, workspace, schemas, .. } = saved;
        let schemas = RecordedSchemas::new(schemas);
        let options = LoadOptions::new(Purpose::Look).without_tests().of_snapshot(Some(&snapshot));
        let loaded = self.in_workspace(&workspace).load(options).and_then(Loaded::valid)?;
        let env = EvalEnv { providers: &schemas, ..loaded.linked().eval_env() };
        let references = References::read(&loaded.tree, env);
        let variables = known_variables(&loaded);
        let state = plan.prior_state.clone();
        Ok(with(&loaded, &variables, &references, &schemas, &state, Some(&plan), explain))
    }

    /// Looks at a state with the configuration of the working directory, and with the diagnostics of that configuration. None if the
    /// configuration cannot be loaded.
    pub fn with_configuration<T>(
        &self,
        state: &State,
        look: impl FnOnce(&Explainable<'_>, &Diagnostics) -> T,
    ) -> Option<T> {
        let loaded = self.load(LoadOptions::new(Purpose::Use).without_tests()).and_then(Loaded::valid).ok()?;
        let (parallelism, processes) = (PARALLELISM, EarlyProcesses::ForValidation);
        let (problems, references) = Validation { linked: loaded.linked(), parallelism, processes }.check();
        let variables = known_variables(&loaded);
        Some(with(&loaded, &variables, &references, self.providers(), state, None, |found| look(found, &problems)))
    }

    /// Explains without a plan, from the configuration and the state as it is stored. The second part of the result are warnings
    /// about the state.
    pub fn explain_state<T>(
        &self,
        flags: &StateFlags,
        explain: impl FnOnce(&Explainable<'_>) -> T,
    ) -> Result<(T, Diagnostics), Refusal> {
        let options = LoadOptions::new(Purpose::Use).without_tests();
        let loaded = self.load(options).and_then(Loaded::valid_with_backend)?;
        let location = state_location(&loaded, flags).map_err(|problems| loaded.refuse(problems))?;
        let opened = location.look().map_err(|problems| loaded.refuse(problems))?;
        let references = loaded.linked().references();
        if references.invalid_arguments.has_errors() {
            return Err(loaded.refuse(references.invalid_arguments.clone()));
        }
        let variables = known_variables(&loaded);
        let state = opened.state.unwrap_or_else(State::empty);
        Ok((with(&loaded, &variables, &references, self.providers(), &state, None, explain), opened.notes))
    }
}

impl Planned<'_> {
    /// Explains with this plan, or with the part of it that succeeded. None where planning failed as a whole.
    pub fn explain<T>(&self, explain: impl FnOnce(&Explainable<'_>) -> T) -> Option<T> {
        let (plan, locked) = (self.plan()?, self.locked());
        let prepared = &locked.prepared;
        let state = plan.prior_state.clone();
        Some(with(
            locked.loaded,
            &prepared.variables,
            &prepared.references,
            prepared.providers,
            &state,
            Some(plan),
            explain,
        ))
    }
}

/// Values of variables. Errors in values were reported by planning. A value that is not available here is not shown.
fn known_variables(loaded: &Loaded) -> BTreeMap<EcoString, RootVariable> {
    loaded.linked().root_variables(WithoutValue::LeftOut).0
}

fn with<T>(
    loaded: &Loaded,
    variables: &BTreeMap<EcoString, RootVariable>,
    references: &References<'_>,
    schemas: &dyn Providers,
    state: &State,
    plan: Option<&Plan>,
    explain: impl FnOnce(&Explainable<'_>) -> T,
) -> T {
    let values: BTreeMap<EcoString, Value> =
        variables.iter().map(|(name, variable)| (name.clone(), variable.value.clone())).collect();
    let env = EvalEnv { providers: schemas, ..loaded.linked().eval_env() };
    let evaluation = Evaluation::new(&loaded.tree, env, EvalMode::Values(&values));
    explain(&Explainable {
        tree: &loaded.tree,
        sources: &loaded.sources,
        graph: &references.graph,
        arguments: &references.arguments,
        inputs: &loaded.inputs,
        evaluation: &evaluation,
        schemas,
        state,
        plan,
    })
}
