//! Plan and apply: everything in order, from reading the configuration to saving the state.
//!
//! [`Operation::begin`] reads the configuration, opens and locks the state and settles the variables; then a plan can be
//! made, shown by the caller, and applied; [`Operation::end`] lets others at the state again.

use std::collections::BTreeMap;
use std::path::Path;

use ecow::{EcoString, eco_format};
use yuba_addrs::AbsResourceInstance;
use yuba_backend::{Journal, LastResort, OperationId, Saved};
use yuba_config::resource::ResourceKey;
use yuba_engine::{ApplyDoors, Context, Counts, Interrupt, PlanOptions, Provisioners, Recorder, RootVariable};
use yuba_eval::inputs::{Ask, GivenBy, prepare};
use yuba_eval::world::Timestamp;
use yuba_eval::{EvalEnv, LASTING_SUMMARIES, ValidateEnv};
use yuba_plan::{Action, Event, Mode, Plan, PlannedWarning, file};
use yuba_provider::Providers;
use yuba_provider::mock::Substitutions;
use yuba_state::{Edit, Output, State};
use yuba_syntax::{Diagnostic, Diagnostics, FileId, Sources, Span};

use crate::backend::{OpenFailure, Opened, Refusal, StateFlags, not_loaded, place_of};
use crate::clock::{SystemClock, Tick, run};
use crate::diagnostics;
use crate::encryption::Encryption;
use crate::load::{Configuration, LoadRequest, load};
use crate::validate::{check, eval_env};

pub use crate::saved_plan::{SavedPlan, read_plan};

/// What to work on.
pub struct OperationRequest<'a> {
    /// The configuration.
    pub load: LoadRequest<'a>,
    /// Whoever can be asked for values of variables.
    pub ask: Option<Ask>,
    /// What the command line says about the state.
    pub state: StateFlags,
    /// What others see in the lock.
    pub name: &'a str,
    /// How many things are done at the same time.
    pub parallelism: usize,
    /// The whole configuration has to be right. What is imported may be declared only in part.
    pub validate: bool,
}

/// Whoever watches, and may ask to stop.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Told what happens.
    pub events: &'a dyn Fn(Event),
    /// Raised when somebody asks to stop.
    pub interrupt: &'a Interrupt,
    /// What is done while others work.
    pub tick: Option<Tick<'a>>,
}

/// A configuration and its state, ready to work with.
pub struct Operation<'a> {
    load: LoadRequest<'a>,
    /// What was read.
    pub configuration: Configuration,
    opened: Opened,
    encryption: Encryption,
    variables: BTreeMap<EcoString, RootVariable>,
    parallelism: usize,
    /// Makes providers.
    pub providers: &'a dyn Providers,
    /// What there is to say so far: no errors.
    pub notes: Diagnostics,
    /// Deprecated variables that calls set. Planning finds them where it evaluates calls.
    uses: Diagnostics,
}

/// What applying came to.
pub struct Report {
    /// The outputs after it.
    pub outputs: BTreeMap<EcoString, Output>,
    /// What went wrong.
    pub problems: Diagnostics,
    /// How many objects something happened to.
    pub counts: Counts,
    /// A state that could be saved nowhere.
    pub unsaved: Option<Vec<u8>>,
}

impl<'a> Operation<'a> {
    /// Reads everything and locks the state.
    pub fn begin(request: OperationRequest<'a>, waiting: &mut dyn FnMut()) -> Result<Operation<'a>, Refusal> {
        let OperationRequest { load: load_request, ask, state, name, parallelism, validate } = request;
        let (configuration, mut notes) = load(&load_request, ask);
        let mut configuration = match configuration {
            Ok(configuration) if !notes.has_errors() => configuration,
            Ok(configuration) => return Err(not_loaded(configuration, &load_request, notes)),
            Err(sources) => return Err(Refusal { problems: notes, sources }),
        };
        notes.extend(load_request.providers.check(&mut configuration));
        let (variables, found) = root_variables(&configuration);
        notes.extend(found);
        if notes.has_errors() {
            return Err(Refusal { problems: notes, sources: configuration.sources });
        }
        let mut uses = Diagnostics::new();
        if validate && load_request.snapshot.is_none() {
            let env = ValidateEnv {
                eval: eval_env(&load_request, &configuration.sources),
                inputs: &configuration.inputs,
                parallelism,
            };
            let mut found = check(&load_request, &configuration.tree, &env);
            // Planning says more about what depends on `enabled`, and nothing about modules that are not enabled.
            if found.iter().any(|problem| problem.is_error() && !problem.depends_on_enabled()) {
                notes.extend(found);
            } else {
                let is_lasting = |problem: &&Diagnostic| LASTING_SUMMARIES.contains(&&*problem.summary);
                notes.extend(found.iter().filter(is_lasting).cloned().collect::<Vec<_>>());
                found.retain(Diagnostic::is_about_deprecated_variable);
                uses = found;
            }
        }
        if notes.has_errors() {
            return Err(Refusal { problems: notes, sources: configuration.sources });
        }
        let opened = place_of(&configuration, &load_request, &state).and_then(|place| {
            let opened = place.open(name, &state, waiting).map_err(|failure| match failure {
                OpenFailure::Locked(problems) => problems,
                OpenFailure::Unreadable(problems, _) => problems,
            });
            Ok((opened?, place.encryption))
        });
        let (mut opened, encryption) = match opened {
            Ok(opened) => opened,
            Err(found) => {
                notes.extend(found);
                return Err(Refusal { problems: notes, sources: configuration.sources });
            }
        };
        notes.extend(std::mem::take(&mut opened.notes));
        let providers = load_request.providers;
        if let Some(state) = &mut opened.state {
            providers.adopt(&configuration.tree, state);
        }
        providers.set_encryption(encryption.clone());
        Ok(Operation {
            load: load_request,
            configuration,
            opened,
            encryption,
            variables,
            parallelism,
            providers,
            notes,
            uses,
        })
    }

    /// What there is to say about the encryption of the state. Commands that plan and do not apply tell it, first of all.
    pub fn about_encryption(&self) -> &Diagnostics {
        &self.encryption.notes
    }

    /// The state that was read.
    pub fn state(&self) -> State {
        self.opened.state.clone().unwrap_or_else(State::empty)
    }

    /// The files that were read.
    pub fn sources(&self) -> &Sources {
        &self.configuration.sources
    }

    fn context<'c>(&'c self, watch: Watch<'c>, plan_time: Timestamp) -> Context<'c> {
        Context {
            tree: &self.configuration.tree,
            env: EvalEnv { providers: self.providers, ..eval_env(&self.load, &self.configuration.sources) },
            variables: &self.variables,
            substitutions: Substitutions::none(),
            events: watch.events,
            interrupt: watch.interrupt,
            clock: &SystemClock,
            plan_time,
            parallelism: self.parallelism,
        }
    }

    /// Makes a plan.
    pub fn plan(&self, options: &PlanOptions, watch: Watch<'_>) -> (Option<Plan>, Diagnostics) {
        let context = self.context(watch, self.load.world.now());
        let planning = yuba_engine::plan(context, self.state(), options);
        let (mut plan, mut problems) = run(watch.tick, watch.interrupt, planning);
        problems.extend(self.load.providers.failures());
        if options.mode == Mode::Destroy {
            let is_new = |one: &&Diagnostic| problems.iter().all(|other| other.subject != one.subject);
            let uses: Vec<Diagnostic> = self.uses.iter().filter(is_new).cloned().collect();
            problems.extend(uses);
        }
        if let Some(plan) = &mut plan {
            plan.warnings = planned_warnings(&problems, self.sources());
        }
        (plan, problems)
    }

    /// What planning said about deprecated things when a saved plan was made.
    pub fn repeated_warnings(&self, plan: &Plan) -> Diagnostics {
        let mut warnings = Diagnostics::new();
        let files: BTreeMap<&str, FileId> = self.sources().iter().map(|(id, source)| (&*source.name, id)).collect();
        for PlannedWarning { summary, detail, address, file, start, end, deprecated } in &plan.warnings {
            let mut warning = Diagnostic::warning(summary.clone(), detail.clone());
            let file = files.get(file.as_str());
            warning.subject = file.map(|id| Span::new(*id, *start as usize, *end as usize));
            warning.address = Some(address.clone()).filter(|address| !address.is_empty());
            warning.extra.get_or_insert_default().deprecation = Some(deprecated.clone());
            warnings.push(warning);
        }
        warnings
    }

    /// Whether the configuration declares the resource that something is imported to.
    pub fn declares(&self, addr: &AbsResourceInstance) -> Result<(), Diagnostic> {
        let tree = &self.configuration.tree;
        let Some(module) = tree.find(&addr.module.module()) else {
            let detail =
                eco_format!("The configuration has no {}. What is imported has to be declared first.", addr.module);
            return Err(Diagnostic::error("Import to non-existent module", detail));
        };
        if tree.node(module).module.resources.contains_key(&ResourceKey::from(&addr.resource)) {
            return Ok(());
        }
        let place = match addr.module.is_root() {
            true => "the root module".into(),
            false => eco_format!("{}", addr.module),
        };
        let detail = eco_format!(
            "What is imported has to be declared first. Add this to {place}:\n\nresource {:?} {:?} {{\n  # (resource \
             arguments)\n}}",
            addr.resource.kind,
            addr.resource.name
        );
        let title = eco_format!("resource address {:?} does not exist in the configuration.", addr.to_string());
        Err(Diagnostic::error(title, detail))
    }

    /// Takes an object that exists into the state, and saves that. What there is to say, and a state that could be saved
    /// nowhere.
    pub fn import(
        &mut self,
        addr: AbsResourceInstance,
        id: EcoString,
        watch: Watch<'_>,
    ) -> (Diagnostics, Option<Vec<u8>>) {
        let (plan, mut problems) = self.plan(&PlanOptions::import(addr, id), watch);
        let Some(plan) = plan.filter(|plan| !plan.errored && !problems.has_errors()) else { return (problems, None) };
        let outputs = &self.configuration.tree.root().module.outputs;
        let is_sensitive = |name: &str| outputs.get(name).is_some_and(|output| output.sensitive == Some(true));
        let report = self.save(plan.imported_state(is_sensitive));
        problems.extend(report.problems);
        (problems, report.unsaved)
    }

    /// Saves what planning has read, and the outputs that are known, without changing anything else.
    pub fn keep(&mut self, plan: &Plan) -> Report {
        let outputs = &self.configuration.tree.root().module.outputs;
        let is_sensitive = |name: &str| outputs.get(name).is_some_and(|output| output.sensitive == Some(true));
        let state = plan.known_state(is_sensitive);
        self.save(state)
    }

    fn save(&mut self, mut state: State) -> Report {
        let (problems, unsaved) = match self.opened.save_or_rescue(&mut state) {
            Ok(_) => (Diagnostics::new(), None),
            Err(LastResort { diagnostics, print }) => (diagnostics, print),
        };
        Report { outputs: state.outputs, problems, counts: Counts::default(), unsaved }
    }

    /// Applies a plan, and saves what came of it.
    pub fn apply(&mut self, plan: &Plan, provisioners: &dyn Provisioners, watch: Watch<'_>) -> Report {
        if let Some(problem) = infinite_output(plan, "Failed to write state") {
            let outputs = plan.prior_state.outputs.clone();
            return Report { outputs, problems: problem.into(), counts: Counts::default(), unsaved: None };
        }
        let plan_time = timestamp(&plan.timestamp).unwrap_or_else(|| self.load.world.now());
        let mut start = (*plan.prior_state).clone();
        // Until there are new ones, results of checks stay as they are.
        start.check_results = self.opened.state.as_ref().and_then(|state| state.check_results.clone());
        let random = || {
            let mut bytes = [0_u8; 4];
            let _ = getrandom::fill(&mut bytes);
            u32::from_le_bytes(bytes)
        };
        // The journal needs the store, evaluation the rest.
        let Operation { load, configuration, opened, variables, parallelism, providers, .. } = self;
        let context = Context {
            tree: &configuration.tree,
            env: EvalEnv { providers: *providers, ..eval_env(load, &configuration.sources) },
            variables,
            substitutions: Substitutions::none(),
            events: watch.events,
            interrupt: watch.interrupt,
            clock: &SystemClock,
            plan_time,
            parallelism: *parallelism,
        };
        let journal = match opened.store().journal(&mut start) {
            Ok(journal) => journal,
            Err(problems) => {
                return Report { outputs: start.outputs, problems, counts: Counts::default(), unsaved: None };
            }
        };
        let mut recorder = Journaled { journal, operations: Vec::new(), has_failed: false };
        let doors = ApplyDoors { recorder: &mut recorder, provisioners, random: &random };
        let applied = run(watch.tick, watch.interrupt, yuba_engine::apply(context, plan, doors));
        let mut state = applied.state;
        state.lineage = start.lineage;
        state.serial = start.serial.max(state.serial);
        let mut problems = applied.problems;
        problems.extend(load.providers.failures());
        let mut unsaved = None;
        let has_failed = recorder.has_failed;
        let closed = recorder.close(&mut state);
        if closed.is_ok() && has_failed {
            problems.push(diagnostics::saved_after_all());
        }
        if let Err(found) = closed {
            problems.extend(found);
            let LastResort { diagnostics, print } = opened.rescue(&state);
            problems.extend(diagnostics);
            unsaved = print;
        }
        Report { outputs: state.outputs.clone(), problems, counts: applied.counts, unsaved }
    }

    /// Saves a plan to a file, and gives it back.
    pub fn save_plan(&self, plan: Plan, path: &Path) -> Result<Plan, Diagnostic> {
        if let Some(problem) = infinite_output(&plan, "Failed to write plan file") {
            return Err(problem);
        }
        let contents = crate::saved_plan::contents(plan, &self.configuration, &self.load, self.opened.state.as_ref());
        let unwritable = |reason: &dyn std::fmt::Display| {
            let detail = eco_format!("Failed to write the plan to {}: {reason}.", path.display());
            Diagnostic::error("Failed to write plan file", detail)
        };
        let mut bytes = file::encode(&contents).map_err(|reason| unwritable(&reason))?;
        if let Some(sealing) = &self.encryption.plan {
            bytes = sealing.seal(&bytes, None)?;
        }
        crate::replace::write_private(path, &bytes).map_err(|error| unwritable(&error))?;
        Ok(contents.plan)
    }

    /// Whether a saved plan can be applied: the providers and the state are still those it was made with.
    pub fn check_fresh(&self, saved: &SavedPlan) -> Result<(), Diagnostics> {
        if let (Some(sealing), false) = (&self.encryption.plan, saved.was_encrypted) {
            // Says what is wrong unless clear text is allowed.
            sealing.unseal(b"", |_| true)?;
        }
        let mut problems = Diagnostics::new();
        problems.extend(saved.check_locks(self.load.providers.locks()).err());
        problems.extend(saved.check_state(self.opened.state.as_ref()).err());
        if problems.has_errors() { Err(problems) } else { Ok(()) }
    }

    /// What was given for variables although the saved plan has other values.
    pub fn contradictions(&self) -> Diagnostics {
        self.configuration.inputs.contradictions(&self.configuration.tree.root().module.variables)
    }

    /// Lets others at the state again; gives back what went wrong with that, and the files for messages.
    pub fn end(self) -> (Diagnostics, Sources) {
        (self.opened.close(), self.configuration.sources)
    }
}

/// Warnings about deprecated things, with the names of their files.
fn planned_warnings(problems: &Diagnostics, sources: &Sources) -> Vec<PlannedWarning> {
    let warning = |problem: &Diagnostic| {
        let deprecated = problem.deprecation()?.clone();
        let place = problem.subject.and_then(|span| Some((sources.get(span.file)?, span)));
        let (file, start, end) = match place {
            Some((file, span)) => (EcoString::from(&*file.name), span.start, span.end),
            None => (EcoString::new(), 0, 0),
        };
        let (summary, detail) = (problem.summary.clone(), problem.detail.clone());
        let address = problem.address.clone().unwrap_or_default();
        Some(PlannedWarning { summary, detail, address, file, start, end, deprecated })
    };
    problems.iter().filter_map(warning).collect()
}

/// What is wrong with an output that no file can hold.
fn infinite_output(plan: &Plan, summary: &str) -> Option<Diagnostic> {
    let change = plan.outputs.iter().find(|change| change.is_infinite())?;
    let detail = eco_format!(
        "The output {:?} is an infinite number, or contains one, and cannot be kept. Check for divisions by zero.",
        change.name
    );
    Some(Diagnostic::error(summary, detail))
}

/// The values of all variables of the root module.
fn root_variables(configuration: &Configuration) -> (BTreeMap<EcoString, RootVariable>, Diagnostics) {
    let module = &configuration.tree.root().module;
    let mut problems = configuration.inputs.undeclared(&module.variables, &configuration.sources);
    let mut variables = BTreeMap::new();
    for (name, variable) in &module.variables {
        let (given, span) = match configuration.inputs.value(variable) {
            Some((value, span, found)) => {
                let failed = found.has_errors();
                problems.extend(found);
                if failed {
                    if variable.default.is_none() {
                        problems.push(yuba_eval::inputs::required(variable));
                    }
                    continue;
                }
                (Some(value), span)
            }
            None if variable.default.is_none() => {
                problems.push(yuba_eval::inputs::required(variable));
                continue;
            }
            None => (None, None),
        };
        let place = configuration.inputs.given_at(variable, span, &configuration.sources);
        let (value, problems) = prepare(variable, given.clone(), place);
        let is_set = given.as_ref().is_some_and(|given| !given.is_null());
        let given_by = is_set.then(|| configuration.inputs.given_by(variable).unwrap_or(GivenBy::Answer));
        variables.insert(name.clone(), RootVariable { value, given, given_by, problems });
    }
    (variables, problems)
}

fn timestamp(text: &str) -> Option<Timestamp> {
    let time = yuba_value::functions::timestamp::Timestamp::parse_strict(text).ok()?;
    let (seconds, nanos) = time.instant();
    Some(Timestamp { seconds, nanos })
}

/// The journal of the backend as the engine knows it.
struct Journaled<'j> {
    journal: Box<dyn Journal + 'j>,
    operations: Vec<Option<OperationId>>,
    /// Something could not be kept.
    has_failed: bool,
}

impl Journaled<'_> {
    /// Saves the final state.
    fn close(self, state: &mut State) -> Result<Saved, Diagnostics> {
        self.journal.close(state)
    }
}

impl Recorder for Journaled<'_> {
    fn begin(&mut self, addr: &str, action: Action) -> u64 {
        let operation = yuba_backend::Operation { address: addr.into(), action: action.names().join(" ").into() };
        let id = self.journal.begin(operation);
        self.operations.push(Some(id));
        self.operations.len() as u64 - 1
    }
    fn finish(&mut self, operation: u64, edits: &[Edit]) {
        let id = usize::try_from(operation).ok().and_then(|at| self.operations.get_mut(at)).and_then(Option::take);
        match id {
            Some(id) => self.journal.finish(id, edits),
            None => self.journal.append(edits),
        }
    }
    fn append(&mut self, edits: &[Edit]) {
        self.journal.append(edits);
    }
    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        self.journal.hand_over().inspect_err(|_| self.has_failed = true)
    }
    fn flush(&mut self) -> Result<(), Diagnostics> {
        self.journal.flush().inspect_err(|_| self.has_failed = true)
    }
    fn due(&self) -> bool {
        self.journal.due()
    }
    fn checkpoint(&mut self, state: &mut State) -> Result<(), Diagnostics> {
        if !self.journal.wants_checkpoint() {
            return Ok(());
        }
        self.journal.checkpoint(state).inspect_err(|_| self.has_failed = true)
    }
}
