//! Applying: does what a plan says, in the order it says, with the values that are real by then.
//!
//! Every completed operation becomes an edit of the state, which is recorded before it is reported. Where an operation
//! fails, its dependents are skipped and the rest goes on.

mod answers;
mod begin;
mod change;
mod created_first;
#[cfg(test)]
mod tests;

use ecow::{EcoString, eco_format};
use foldhash::{HashMap, HashSet};
use std::cell::RefCell;
use std::collections::BTreeSet;
use tracing::Instrument as _;
use yuba_addrs::{AbsProviderConfig, AbsResourceInstance, ResourceMode};
use yuba_config::resource::ResourceKey;
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_eval::{EvalMode, Evaluation, Live, ModuleInstanceId, RuleKind, condition_failed};
use yuba_plan::{Action, Event, Mode, Op, Phase, Plan, ResourceChange};
use yuba_state::{CheckKind, CheckResult, DeposedKey, Edit, Output, State};
use yuba_syntax::{Diagnostic, Diagnostics, Severity};
use yuba_value::Value;

use crate::diagnostics;
use crate::drive::{Ending, Jobs, Steps, drive};
use crate::interrupt::attend;
use crate::request::Context;
use crate::targets::{TargetSelection, Targets, left_alone};
use crate::walk::checks::in_module;
use crate::walk::data::DataAnswer;
use crate::walk::dependencies::Dependencies;
use crate::walk::exec;
use crate::walk::provision::Provisioners;
use crate::walk::{Walk, WalkAnswer, of_check, prepare};

/// Interface to the recorder of completed operations.
pub trait Recorder {
    /// An operation is about to begin. Returns its number.
    fn begin(&mut self, addr: &str, action: Action) -> u64;
    /// An operation has ended, with these edits: all of them or none are saved.
    fn finish(&mut self, operation: u64, edits: &[Edit]);
    /// The same for an operation that has failed, or that did not begin.
    fn fail(&mut self, operation: u64, edits: &[Edit]) {
        self.finish(operation, edits);
    }
    /// Edits that belong to no operation.
    fn append(&mut self, edits: &[Edit]);
    /// Everything so far survives the death of this process.
    fn hand_over(&mut self) -> Result<(), Diagnostics>;
    /// Everything so far survives a power cut.
    fn flush(&mut self) -> Result<(), Diagnostics>;
    /// Whether enough has gathered to flush.
    fn due(&self) -> bool;
    /// The state as it is now may be saved as a whole.
    fn checkpoint(&mut self, state: &mut State) -> Result<(), Diagnostics>;
}

/// Edits of an operation, or of none that ends with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recorded {
    Succeeded(u32),
    Failed(u32),
    Unended,
}

/// Further inputs of applying.
pub struct ApplyDoors<'a> {
    /// Saves recorded edits.
    pub recorder: &'a mut dyn Recorder,
    /// Runs provisioners.
    pub provisioners: &'a dyn Provisioners,
    /// Random bits, for names of deposed objects.
    pub random: &'a dyn Fn() -> u32,
}

/// The outcome of applying.
pub struct ApplyOutcome {
    /// The state after it.
    pub state: State,
    /// Errors and warnings.
    pub problems: Diagnostics,
    /// Numbers of created, changed, destroyed, imported and forgotten objects.
    pub counts: AppliedCounts,
}

/// Counts of completed actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppliedCounts {
    /// Created.
    pub added: usize,
    /// Changed where they are.
    pub changed: usize,
    /// Destroyed.
    pub destroyed: usize,
    /// Taken into the state.
    pub imported: usize,
    /// Left alone from now on.
    pub forgotten: usize,
}

/// Reports of jobs while applying.
pub(crate) enum Answer<'a> {
    Change(Box<change::ChangeAnswer<'a>>),
    Provisioned(Box<answers::Provisioned<'a>>),
    End(Box<change::EndAnswer<'a>>),
    Data(Box<DataAnswer<'a>>),
    Walk(WalkAnswer<'a>),
}

impl<'a> From<WalkAnswer<'a>> for Answer<'a> {
    fn from(answer: WalkAnswer<'a>) -> Answer<'a> {
        Answer::Walk(answer)
    }
}

/// A plan on its way to be done.
pub(crate) struct Applier<'a> {
    walk: Walk<'a>,
    plan: &'a Plan,
    doors: ApplyDoors<'a>,
    state: State,
    included: Vec<bool>,
    selection: &'a TargetSelection,
    /// Positions of changes that are not made.
    left_alone: HashSet<u32>,
    dependencies: Dependencies<'a>,
    /// Objects that are recorded as created before those they replace are destroyed.
    created_first: HashSet<AbsResourceInstance>,
    /// Positions of the changes of current objects.
    changes: HashMap<&'a AbsResourceInstance, u32>,
    /// Deposed keys of objects that wait for their replacement, by position of their change.
    deposed: HashMap<u32, DeposedKey>,
    failed: Vec<bool>,
    /// Positions of changes of managed resources that have begun, or need nothing.
    begun: HashSet<u32>,
    /// Positions of changes that failed after they had begun.
    failed_changes: HashSet<u32>,
    /// Operations in progress: the change, the action, and the id for the recorder.
    operations: Vec<(u32, Action, Option<u64>)>,
    /// Events that are reported once the operation that they describe is on disk, and those after them.
    unreported: &'a RefCell<Vec<Event>>,
    /// The observer.
    listener: &'a dyn Fn(Event),
    removals: crate::removal::Removals<'a>,
    counts: AppliedCounts,
    /// Positions of changes that have made an object which is not fit for use yet.
    tainted: BTreeSet<u32>,
    /// Not everything was reached.
    cut_short: bool,
    /// Whether skipped operations were reported.
    canceled: bool,
    /// The reason why results could not be saved, with the operations that ended and have no saved result. No new operations begin. One
    /// report at the end has all of these operations.
    unsaved: Option<(Diagnostics, Vec<EcoString>)>,
}

/// Applies a plan.
pub async fn apply(context: Context<'_>, plan: &Plan, doors: ApplyDoors<'_>) -> ApplyOutcome {
    let live = Live::for_apply(Some(context.plan_time));
    apply_into(context, plan, doors, &live).instrument(tracing::info_span!("apply")).await
}

/// The same with the values of all objects, for tests and other callers that need more than the state.
pub async fn apply_into(context: Context<'_>, plan: &Plan, doors: ApplyDoors<'_>, live: &Live) -> ApplyOutcome {
    let tree = context.tree;
    let evaluation = Evaluation::new(tree, context.env, EvalMode::Live(live)).with_parallelism(context.parallelism);
    let arguments = &context.references.arguments;
    let state = (*plan.prior_state).clone();
    let mut used = prepare::providers_of_state(tree, &state);
    used.extend(prepare::providers_of_state(tree, &plan.previous_state));
    used.extend(prepare::blocks_of(tree, plan.changes.iter().map(|change| &change.provider)));
    let graph = context.references.with_used(&evaluation, &used);
    let components = graph.components();
    let mut problems = context.references.invalid_arguments.clone();
    problems.extend(graph.cycles(&components, context.env.sources, tree));
    problems.extend(plan.changes.iter().filter_map(lacks_configuration));
    if !problems.has_errors() && !is_in_planned_order(&context, plan, &evaluation, &graph, &state) {
        problems.push(diagnostics::plan_does_not_fit());
    }
    if problems.has_errors() {
        return ApplyOutcome { state, problems, counts: AppliedCounts::default() };
    }
    let unreported = RefCell::new(Vec::new());
    let listener = context.events;
    // An operation that begins after another ended is reported after that, too.
    let in_order = |event| {
        let at_once = unreported.borrow().is_empty();
        if at_once { listener(event) } else { unreported.borrow_mut().push(event) }
    };
    let context = Context { events: &in_order, ..context };
    let order: Vec<u32> = components.into_iter().flatten().collect();
    let targets = Targets { targets: plan.targets.clone(), excludes: plan.excludes.clone() };
    let selection = TargetSelection::new(&graph, tree, &targets);
    let mut walk = Walk::new(context, &evaluation, live, &graph, arguments);
    walk.reports_deprecated_variables = false;
    walk.checks.expect_planned(&plan.checks);
    let changes = plan.changes.iter().enumerate().filter(|(_, change)| change.deposed.is_none());
    let mut applier = Applier {
        walk,
        plan,
        doors: ApplyDoors { recorder: &mut *doors.recorder, provisioners: doors.provisioners, random: doors.random },
        state,
        included: prepare::included(&graph, &order, &selection, plan.mode),
        selection: &selection,
        left_alone: HashSet::default(),
        dependencies: Dependencies::new(&graph, &order, tree),
        created_first: created_first::created_first(&graph, &order, tree, &plan.changes),
        changes: changes.map(|(position, change)| (&change.addr, position as u32)).collect(),
        deposed: HashMap::default(),
        failed: vec![false; plan.exec.ops.len()],
        begun: HashSet::default(),
        failed_changes: HashSet::default(),
        operations: Vec::new(),
        unreported: &unreported,
        listener,
        removals: crate::removal::Removals::find(tree).0,
        counts: AppliedCounts::default(),
        tainted: BTreeSet::new(),
        cut_short: false,
        canceled: false,
        unsaved: None,
    };
    applier.left_alone = left_alone(plan, &targets, |resource| {
        let module = tree.find(&resource.module.module())?;
        let vertex = graph.resources.get(&(module, ResourceKey::from(&resource.resource)))?;
        Some(applier.dependencies.of(*vertex))
    });
    match plan.mode {
        Mode::RefreshOnly => applier.planned_outputs(),
        Mode::Normal | Mode::Destroy => applier.execute().await,
    }
    applier.finish()
}

/// Returns whether the configuration and the state lead to the steps of the plan, in the same order.
fn is_in_planned_order(
    context: &Context<'_>,
    plan: &Plan,
    evaluation: &Evaluation<'_>,
    graph: &RefGraph<'_>,
    state: &State,
) -> bool {
    let is_planned = |graph: &RefGraph<'_>| {
        plan.exec == exec::build(graph, &graph.edges, context.tree, &plan.changes, state, plan.mode)
    };
    // Planning did not know yet which providers of the configuration only the objects have that it imports.
    let as_planned = || {
        let used = prepare::providers_of_state(context.tree, &plan.previous_state);
        context.references.with_used(evaluation, &used)
    };
    is_planned(graph) || is_planned(&as_planned())
}

impl<'a> Steps<'a> for Applier<'a> {
    type Answer = Answer<'a>;

    async fn begin(&mut self, step: u32, jobs: &mut Jobs<'a, Answer<'a>>) {
        let plan = self.plan;
        match plan.exec.ops[step as usize] {
            Op::Join | Op::Settle => {}
            Op::Destroy(position) => self.begin_end(step, position, jobs).await,
            Op::Evaluate(vertex) => self.begin_vertex(step, vertex, jobs).await,
        }
    }

    /// The beginning of an operation is recorded before it begins, together with everything that ended before.
    fn starting(&mut self, number: u32) -> bool {
        let (position, action, _) = self.operations[number as usize];
        let change = &self.plan.changes[position as usize];
        let deposed = change.deposed.as_ref().or_else(|| {
            let replaced = action == Action::Delete && change.action == Action::CreateThenDelete;
            self.deposed.get(&position).filter(|_| replaced)
        });
        let name = match deposed {
            Some(key) => eco_format!("{} (deposed object {key})", change.addr),
            None => eco_format!("{}", change.addr),
        };
        let operation = self.doors.recorder.begin(&name, action);
        self.operations[number as usize].2 = Some(operation);
        if action == Action::CreateThenDelete
            && let Some(key) = self.deposed.get(&position).cloned()
        {
            let edit = Edit::Depose { addr: change.addr.clone(), key };
            self.record(Recorded::Unended, vec![edit]);
        }
        match self.doors.recorder.hand_over() {
            Ok(()) => true,
            Err(found) => {
                self.not_saved(found, None);
                // It does not begin: what was put aside for it is back.
                let key = match action {
                    Action::CreateThenDelete => self.deposed.remove(&position),
                    _ => None,
                };
                let edit = key.map(|key| Edit::Restore { addr: change.addr.clone(), key });
                self.record(Recorded::Failed(number), edit.into_iter().collect());
                false
            }
        }
    }

    async fn answer(&mut self, step: u32, answer: Answer<'a>, jobs: &mut Jobs<'a, Answer<'a>>) {
        let operation = match &answer {
            Answer::Change(answer) => Some(answer.job.operation),
            Answer::Provisioned(answer) => Some(answer.operation),
            _ => None,
        };
        let ok = match answer {
            Answer::Change(answer) => self.change_answer(*answer, jobs).await,
            Answer::Provisioned(answer) => self.provisioned(*answer).await,
            Answer::End(answer) => self.end_answer(*answer),
            Answer::Data(answer) => self.data_answer(*answer).await,
            Answer::Walk(answer) => self.walk.answer(answer, jobs).await,
        };
        self.failed[step as usize] |= !ok;
        if let Some(operation) = operation.filter(|_| !ok) {
            self.failed_changes.insert(self.operations[operation as usize].0);
        }
        if self.doors.recorder.due() {
            self.flush();
        }
    }

    fn resume(&mut self, jobs: &mut Jobs<'a, Answer<'a>>) {
        self.walk.keep_all_open(jobs);
    }

    fn aside(&mut self, answer: Answer<'a>, jobs: &mut Jobs<'a, Answer<'a>>) {
        if let Answer::Walk(WalkAnswer::Renewed(answer)) = answer {
            self.walk.keep_renewed(*answer, jobs);
        }
    }

    fn end(&mut self, step: u32) -> bool {
        !self.failed[step as usize]
    }

    fn begins_anyway(&self, step: u32) -> bool {
        self.plan.exec.ops[step as usize] == Op::Settle
    }

    fn idle(&mut self) {
        self.flush();
    }

    fn stopped(&self) -> bool {
        self.unsaved.is_some() || self.walk.context.interrupt.is_raised()
    }
}

impl<'a> Applier<'a> {
    /// Executes the steps of the plan, until all have ended or an interrupt cuts them short.
    async fn execute(&mut self) {
        let (plan, context) = (self.plan, self.walk.context);
        let started = self.walk.providers.started();
        if plan.mode == Mode::Destroy {
            self.remove_data();
        }
        self.known_outputs();
        let work = async {
            self.start_bare_providers().await;
            self.report_undeclared_imports();
            drive(self, &plan.exec, context.parallelism).await
        };
        match attend(context.interrupt, context.clock, &started, work).await {
            Some(endings) => {
                self.cut_short = endings.contains(&Ending::NotReached);
                self.name_cycles(&endings);
                self.outputs(&endings);
            }
            None => {
                self.cut_short = true;
                self.name_unfinished();
            }
        }
        attend(context.interrupt, context.clock, &started, self.walk.close_all()).await;
    }

    async fn begin_vertex(&mut self, step: u32, vertex: u32, jobs: &mut Jobs<'a, Answer<'a>>) {
        if !self.included[vertex as usize] || self.walk.is_replaced(vertex) {
            return;
        }
        let graph = self.walk.graph;
        let node = &graph.nodes[vertex as usize];
        let span = tracing::trace_span!("evaluate", object = %graph.name(vertex, self.walk.context.tree));
        let begin = async {
            match node.vertex {
                Vertex::Resource(resource) => self.begin_resource(step, vertex, node.module, resource, jobs).await,
                Vertex::Provider(_) if graph.unused[vertex as usize] => {}
                Vertex::Provider(block) => {
                    self.failed[step as usize] |= !self.walk.begin_provider(node.module, block, jobs).await;
                }
                _ => self.failed[step as usize] |= !self.walk.evaluate(vertex).await,
            }
        };
        begin.instrument(span).await;
    }

    /// An operation that will begin.
    fn operation(&mut self, position: u32, action: Action) -> u32 {
        self.operations.push((position, action, None));
        self.operations.len() as u32 - 1
    }

    /// Removes data from the state: of what is destroyed nothing remains.
    fn remove_data(&mut self) {
        let is_removed = |addr: &AbsResourceInstance| {
            addr.resource.mode == ResourceMode::Data && self.walk.selects_leftover(self.selection, addr)
        };
        let data = self.state.instances().filter(|(addr, ..)| is_removed(addr));
        let edits = data.map(|(addr, resource, _)| Edit::SetObject {
            addr,
            deposed: None,
            provider: resource.provider.clone(),
            provider_key: None,
            object: None,
        });
        let edits: Vec<Edit> = edits.collect();
        if !edits.is_empty() {
            self.record(Recorded::Unended, edits);
        }
    }

    /// Applies edits and records them, as the result of an operation if there is one.
    fn record(&mut self, recorded: Recorded, edits: Vec<Edit>) {
        let mut known = |at: u32| self.operations[at as usize].2.take();
        let recorder = &mut *self.doors.recorder;
        match recorded {
            Recorded::Succeeded(at) => match known(at) {
                Some(operation) => recorder.finish(operation, &edits),
                None => recorder.append(&edits),
            },
            Recorded::Failed(at) => match known(at) {
                Some(operation) => recorder.fail(operation, &edits),
                None => recorder.append(&edits),
            },
            Recorded::Unended => recorder.append(&edits),
        }
        for edit in edits {
            self.state.apply(edit);
        }
    }

    /// Results could not be saved. The first reason is reported.
    fn not_saved(&mut self, found: Diagnostics, lost: impl IntoIterator<Item = EcoString>) {
        self.unsaved.get_or_insert_with(|| (found, Vec::new())).1.extend(lost);
    }

    /// Flushes all recorded edits to disk, and reports them. Edits that are not on disk are not complete.
    fn flush(&mut self) {
        let flushed = self.doors.recorder.flush();
        let mut events = self.unreported.take();
        if let Err(found) = flushed {
            self.not_saved(found, events.iter_mut().filter_map(unkept));
        }
        for event in events {
            (self.listener)(event);
        }
        if let Err(found) = self.doors.recorder.checkpoint(&mut self.state) {
            self.not_saved(found, None);
        }
    }

    async fn start_bare_providers(&mut self) {
        let (graph, tree) = (self.walk.graph, self.walk.context.tree);
        let mut wanted: Vec<AbsProviderConfig> = Vec::new();
        let mut seen = foldhash::HashSet::default();
        let blocks = prepare::provider_blocks(graph, tree);
        for change in &self.plan.changes {
            let config = &change.provider;
            if change.action != Action::NoOp && seen.insert(config.clone()) && !blocks.contains_key(config) {
                wanted.push(config.clone());
            }
        }
        // Data may be read and ephemeral resources are opened without any change.
        for (node, included) in graph.nodes.iter().zip(&self.included) {
            if let Vertex::Resource(resource) = node.vertex
                && *included
                && resource.key.mode != ResourceMode::Managed
                && let Some(resolved) = tree.resource_provider(node.module, resource)
                && resolved.block.is_none()
            {
                let config = tree.provider_address(&resolved);
                if seen.insert(config.clone()) {
                    wanted.push(config);
                }
            }
        }
        self.walk.start_bare_providers(wanted).await;
    }

    /// Steps that wait for themselves, which only appear when instances are known.
    fn name_cycles(&mut self, endings: &[Ending]) {
        if self.stopped() || !endings.contains(&Ending::NotReached) {
            return;
        }
        let not_reached = (0_u32..).zip(endings).filter(|(_, ending)| **ending == Ending::NotReached);
        let problem = exec::cycle(&self.plan.exec, &self.plan.changes, not_reached.map(|(step, _)| step));
        self.walk.report(std::iter::once(problem));
    }

    /// Reports operations that were abandoned, with unknown results.
    fn name_unfinished(&mut self) {
        let operations = self.operations.iter();
        let unknown = operations.filter(|(position, _, known)| known.is_some() && !self.tainted.contains(position));
        let unknown: Vec<EcoString> = unknown
            .map(|(position, action, _)| {
                eco_format!("{} ({})", self.plan.changes[*position as usize].addr, action.names().join(" "))
            })
            .collect();
        if unknown.is_empty() && self.tainted.is_empty() {
            return;
        }
        self.canceled = true;
        let problem = diagnostics::operation_canceled(&unknown, &self.tainted_addresses());
        self.walk.report(std::iter::once(problem));
    }

    /// Addresses of objects that this run created, but did not complete.
    fn tainted_addresses(&self) -> Vec<EcoString> {
        self.tainted.iter().map(|position| eco_format!("{}", self.plan.changes[*position as usize].addr)).collect()
    }

    /// Outputs of the root module after everything else.
    fn outputs(&mut self, endings: &[Ending]) {
        let module = &self.walk.context.tree.root().module;
        let mut edits = Vec::new();
        for change in &self.plan.outputs {
            let name = change.name.clone();
            let declared = module.outputs.get(&name).filter(|_| self.plan.mode != Mode::Destroy);
            let Some(declared) = declared else {
                edits.push(Edit::SetOutput { name, output: None });
                continue;
            };
            let vertex = self.walk.graph.outputs.get(&name).copied();
            if vertex.is_none_or(|vertex| endings[vertex as usize] != Ending::Done || !self.included[vertex as usize]) {
                continue;
            }
            let Some(value) = self.walk.live.output(ModuleInstanceId::ROOT, &name) else { continue };
            // An output that the plan knew is stored as the plan has it.
            let value = if change.after.is_wholly_known() { change.after.clone() } else { value };
            let (value, _) = value.unmark_deep();
            let is_null = value.is_null();
            // Parts of it may come from objects that a limited run leaves out, and stay unknown.
            let output = kept_output(declared, value.unknown_as_null()).filter(|_| !is_null);
            edits.push(Edit::SetOutput { name, output });
        }
        let checks = self.walk.checks.results();
        edits.push(Edit::SetCheckResults((!checks.is_empty()).then_some(checks)));
        self.record(Recorded::Unended, edits);
    }

    /// Outputs that were known while planning stay, whatever the outcome of the objects they come from.
    fn known_outputs(&mut self) {
        let module = &self.walk.context.tree.root().module;
        let mut edits = Vec::new();
        for change in &self.plan.outputs {
            let declared = module.outputs.get(&change.name).filter(|_| self.plan.mode != Mode::Destroy);
            let (Some(declared), (value, _)) = (declared, change.after.unmark_deep()) else { continue };
            if value.is_wholly_known() {
                edits.push(Edit::SetOutput { name: change.name.clone(), output: kept_output(declared, value) });
            }
        }
        self.record(Recorded::Unended, edits);
    }

    /// In a refresh-only run, outputs are as planned.
    fn planned_outputs(&mut self) {
        let mut edits = Vec::new();
        for change in &self.plan.outputs {
            let (planned, _) = change.after.unmark_deep();
            // A value that is unknown now stays unknown: no object is created that could provide it. Its previous value
            // is no longer true.
            let value = planned.unknown_as_null();
            let output = Output { sensitive: change.sensitive, deprecated: change.deprecated.clone(), value };
            let output = (!planned.is_null()).then_some(output);
            edits.push(Edit::SetOutput { name: change.name.clone(), output });
        }
        let checks = self.plan.checks.clone();
        edits.push(Edit::SetCheckResults((!checks.is_empty()).then_some(checks)));
        self.record(Recorded::Unended, edits);
        let broken = self.broken_outputs();
        self.walk.report(broken);
        let failed = self.failed_checks();
        self.walk.report(failed);
    }

    /// Warnings about failed checks, as the plan has reported them.
    fn failed_checks(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let checks = self.plan.checks.iter().filter(|result| result.kind == CheckKind::Check);
        let results: HashMap<&EcoString, &CheckResult> = checks.map(|result| (&result.config_addr, result)).collect();
        for node in &self.walk.graph.nodes {
            let Vertex::Check(check) = node.vertex else { continue };
            let path = &self.walk.context.tree.node(node.module).path;
            let addr = in_module(path, &eco_format!("check.{}", check.name));
            let Some(result) = results.get(&addr) else { continue };
            let span = match check.asserts.as_slice() {
                [only] => only.condition.as_ref().map_or(only.span, |condition| condition.span),
                _ => check.span,
            };
            for message in result.objects.iter().flat_map(|object| &object.failure_messages) {
                let (kind, severity) = (RuleKind::CheckAssertion, Severity::Warning);
                problems.push(of_check(condition_failed(kind, Some(message), severity, span)));
            }
        }
        problems
    }

    /// Errors for outputs of the root module whose preconditions fail. The plan warns about them; saving them is an error.
    fn broken_outputs(&self) -> Diagnostics {
        let outputs = &self.walk.context.tree.root().module.outputs;
        let failed = self.plan.checks.iter().filter(|result| result.kind == CheckKind::Output);
        let mut problems = Diagnostics::new();
        for object in failed.flat_map(|result| &result.objects) {
            let Some(output) = object.addr.strip_prefix("output.").and_then(|name| outputs.get(name)) else { continue };
            for message in &object.failure_messages {
                let (kind, severity) = (RuleKind::OutputPrecondition, Severity::Error);
                problems.push(condition_failed(kind, Some(message), severity, output.span));
            }
        }
        problems
    }

    fn finish(mut self) -> ApplyOutcome {
        self.flush();
        if let Some((found, lost)) = self.unsaved.take() {
            self.walk.report(unrecorded(found, &lost));
        }
        let mut problems = self.walk.take_problems();
        let is_halted = self.cut_short || !self.tainted.is_empty();
        if self.walk.context.interrupt.is_raised() && is_halted && !self.canceled {
            problems.push(diagnostics::apply_halted(&self.tainted_addresses()));
        }
        ApplyOutcome { state: self.state, problems, counts: self.counts }
    }
}

/// An output as it is stored in the state, or none for null.
fn kept_output(declared: &yuba_config::output::Output, value: Value) -> Option<Output> {
    let sensitive = declared.sensitive == Some(true);
    let deprecated = declared.deprecated.clone().unwrap_or_default();
    (!value.is_null()).then_some(Output { value, sensitive, deprecated })
}

/// Makes the event of a change that was made one of a change that failed. Which change that is.
fn unkept(event: &mut Event) -> Option<EcoString> {
    match event {
        Event::Finished { addr, ok: ok @ true, phase: Phase::Apply(action), .. } => {
            *ok = false;
            Some(eco_format!("{addr} ({})", action.names().join(" ")))
        }
        _ => None,
    }
}

/// Reason why results could not be saved, and their objects.
fn unrecorded(found: Diagnostics, lost: &[EcoString]) -> Diagnostics {
    let mut reported = Diagnostics::new();
    let mut found = found.into_iter();
    reported.extend(found.next().map(|first| match lost.is_empty() {
        true => first,
        false => diagnostics::with_unsaved_operations(first, lost),
    }));
    reported.extend(found);
    reported
}

/// The configuration must contain the generated block of an imported object before the plan can change the object.
fn lacks_configuration(change: &ResourceChange) -> Option<Diagnostic> {
    let lacks = change.generated_config.is_some() && change.action != Action::NoOp;
    lacks.then(|| diagnostics::generated_configuration_unused(&change.addr))
}
