//! Planning: derives the required changes from the configuration, the last state and the responses of providers.
//!
//! One walk through the reference graph. At a resource it is expanded, each instance is compared with its current
//! object, and its planned value becomes available to references. Objects of the state that the walk did not meet are
//! removed at the end.

mod begin;
mod end;
mod generated;
mod managed;
mod outputs;
mod relevant;
mod removal;
mod replace_paths;
mod triggers;

use std::borrow::Cow;
use std::sync::Arc;

use ecow::EcoString;
use foldhash::{HashMap, HashSet};
use tracing::Instrument as _;
use yuba_addrs::{
    AbsProviderConfig, AbsResource, AbsResourceInstance, ConfigResource, InstanceKey, KeyMap, ResourceMode,
};
use yuba_config::import::Import;
use yuba_config::provider::ProviderKey;
use yuba_config::resource::ResourceKey;
use yuba_eval::graph::{RefGraph, Vertex};
use yuba_eval::{ConfigTree, EvalMode, Evaluation, Live, ModuleId, ModuleInstanceId};
use yuba_plan::{ExecGraph, Mode, Plan, PlannedVariable, ResourceChange};
use yuba_state::{Instance, State};
use yuba_syntax::{Diagnostics, Severity};

use crate::diagnostics;
use crate::drive::{Jobs, Steps, drive};
use crate::interrupt::attend;
use crate::request::{Context, PlanOptions, RootVariable};
use crate::walk::data::DataAnswer;
use crate::walk::dependencies::Dependencies;
use crate::walk::exec;
use crate::walk::prepare::{blocks_of, included, provider_blocks, providers_of_state};
use crate::walk::stored::Absent;
use crate::walk::{Walk, WalkAnswer};

use crate::imports::{Generation, Imports, Instances, Undeclared, check_targets};
use crate::moves::{self, Moves};
use crate::removal::Removals;
use crate::targets::{Destroying, TargetSelection, Targets};

/// Reports of jobs while planning.
pub(crate) enum Answer<'a> {
    Managed(Box<managed::ManagedAnswer<'a>>),
    Removal(Box<removal::RemovalAnswer<'a>>),
    Data(Box<DataAnswer<'a>>),
    Imported(Box<generated::ImportAnswer<'a>>),
    Written(Box<generated::WrittenAnswer<'a>>),
    Walk(WalkAnswer<'a>),
}

impl<'a> From<WalkAnswer<'a>> for Answer<'a> {
    fn from(answer: WalkAnswer<'a>) -> Answer<'a> {
        Answer::Walk(answer)
    }
}

/// Changes planned for a resource in one instance of its module, by key.
type PlannedInstances = KeyMap<u32>;

/// The plan as far as it is made.
pub(crate) struct Planner<'a> {
    walk: Walk<'a>,
    options: &'a PlanOptions,
    /// The state with everything that was read again.
    state: State,
    moves: Moves,
    /// For each vertex whether it is part of the run.
    included: Vec<bool>,
    selection: &'a TargetSelection,
    destroying: Destroying,
    removals: Removals<'a>,
    force_replace: HashSet<AbsResourceInstance>,
    dependencies: Dependencies<'a>,
    create_before_destroy: Vec<bool>,
    changes: Vec<ResourceChange>,
    /// Provider instances of which an object changes.
    announced: HashSet<(AbsProviderConfig, Option<InstanceKey>)>,
    drift: Vec<ResourceChange>,
    planned: HashMap<(ModuleInstanceId, ResourceKey), PlannedInstances>,
    /// Whether any resource has `replace_triggered_by`, which looks up planned changes.
    has_triggers: bool,
    /// For each vertex whether something changes there.
    pending: Vec<bool>,
    /// For each vertex that is done whether a managed resource changes there or in what it depends on.
    leads_to_changes: Vec<bool>,
    failed: Vec<bool>,
    /// Resources of the state that were met in the configuration.
    met: HashSet<AbsResource>,
    /// Resources of the state in modules other than the root module, by the vertex of their block.
    in_modules: HashMap<u32, Vec<AbsResource>>,
    /// A module instance without values for each module that has objects to remove and no instance with their address.
    absent: HashMap<ModuleId, ModuleInstanceId>,
    imports: Imports,
    /// Imports for which configuration is written.
    undeclared: Vec<(AbsResourceInstance, &'a Import)>,
    /// Removals that wait for the end.
    postponed: Vec<begin::Postponed>,
    /// Objects left at the end are removed.
    at_end: bool,
    /// Errors were found while that was done.
    failed_at_end: bool,
    /// Objects that must not be destroyed, of a plan that destroys everything.
    prevented: Vec<AbsResourceInstance>,
}

/// Makes a plan. Without one the diagnostics say why; with one there may be errors too, then it can only be shown.
pub async fn plan(context: Context<'_>, state: State, options: &PlanOptions) -> (Option<Plan>, Diagnostics) {
    let live = Live::for_plan(Some(context.plan_time));
    plan_into(context, state, options, &live).await
}

/// The same with the values of all objects, for tests and other callers that need more than the plan.
pub async fn plan_into(
    context: Context<'_>,
    state: State,
    options: &PlanOptions,
    live: &Live,
) -> (Option<Plan>, Diagnostics) {
    // Variables without a value are reported before.
    let is_missing = |variable: &RootVariable| variable.given.is_none() && variable.problems.has_errors();
    if options.mode != Mode::Normal && !options.force_replace.is_empty() && !context.variables.values().any(is_missing)
    {
        return (None, diagnostics::replace_in_other_mode().into());
    }
    let targets = Targets { targets: options.targets.clone(), excludes: options.excludes.clone() };
    let span = tracing::info_span!("plan", mode = ?options.mode);
    let (plan, found) = plan_for(context, state, options, &targets, live).instrument(span).await;
    let mut problems = targets.plan_warnings();
    problems.extend(found);
    (plan, problems)
}

/// Makes a plan. Where objects are read before they are destroyed, that is a normal plan, of which only the state counts.
async fn plan_for(
    context: Context<'_>,
    state: State,
    options: &PlanOptions,
    targets: &Targets,
    live: &Live,
) -> (Option<Plan>, Diagnostics) {
    let previous = Arc::new(state.clone());
    if options.mode != Mode::Destroy || !options.refresh || state.is_empty() {
        let made = walk_for(context, state, previous, options, targets, live).await;
        return (made.plan, made.problems);
    }
    let first = PlanOptions { mode: Mode::Normal, before_destroy: true, ..options.clone() };
    let read_live = Live::for_plan(Some(context.plan_time));
    let read = walk_for(context, state.clone(), previous.clone(), &first, targets, &read_live).await;
    let second = match read.plan {
        // Values of data resources do not matter for destroying, unless a provider needs them, which is found out.
        _ if read.only_reading_failed => options.clone(),
        Some(plan) if !read.problems.has_errors() => {
            // Outputs that are known by now are destroyed with everything else.
            let outputs = &context.tree.root().module.outputs;
            let is_sensitive = |name: &str| outputs.get(name).is_some_and(|output| output.sensitive == Some(true));
            let read = plan.known_state(is_sensitive);
            let options = PlanOptions { refresh: false, ..options.clone() };
            let made = walk_for(context, read, previous, &options, targets, live).await;
            return (made.plan, made.problems);
        }
        _ => return (None, read.problems),
    };
    let made = walk_for(context, state, previous, &second, targets, live).await;
    (made.plan, made.problems)
}

/// The result of a walk.
struct Made {
    plan: Option<Plan>,
    problems: Diagnostics,
    /// There are errors, all of them in reading data resources or opening ephemeral resources.
    only_reading_failed: bool,
}

impl Made {
    fn nothing(problems: Diagnostics) -> Made {
        Made { plan: None, problems, only_reading_failed: false }
    }
}

async fn walk_for(
    context: Context<'_>,
    state: State,
    previous: Arc<State>,
    options: &PlanOptions,
    targets: &Targets,
    live: &Live,
) -> Made {
    let tree = context.tree;
    let evaluation = Evaluation::new(tree, context.env, EvalMode::Live(live)).with_parallelism(context.parallelism);
    let arguments = &context.references.arguments;
    let mut problems = problems_before(&context, options);
    if problems.has_errors() {
        return Made::nothing(problems);
    }
    let mut state = state;
    // Importing leaves everything else as it is.
    let statements = match options.imports.is_empty() {
        true => moves::statements(tree, &state),
        false => Default::default(),
    };
    let mut undeclared = Undeclared::default();
    let (removals, still_there) = Removals::find(tree);
    if options.mode == Mode::Normal {
        let generation = if options.generate_config { Generation::Enabled } else { Generation::Disabled };
        let (found, wrong) = check_targets(tree, generation);
        if !options.before_destroy {
            undeclared = found;
        }
        problems.extend(if wrong.has_errors() { wrong } else { still_there });
    }
    if problems.has_errors() {
        return Made::nothing(problems);
    }
    let moves = moves::execute(&statements, &mut state);
    problems.extend(moves.check_targets(&options.targets, &options.excludes));
    if problems.has_errors() {
        return Made::nothing(problems);
    }
    let referring = context.references.with_used(&evaluation, &used_providers(tree, &state, &undeclared));
    let references = &referring.edges;
    let mut graph = referring.clone();
    connect_providers_of_state(&mut graph, tree, &state);
    let components = graph.components();
    problems.extend(graph.cycles(&components, context.env.sources, tree));
    if problems.has_errors() {
        return Made::nothing(problems);
    }
    let order: Vec<u32> = components.into_iter().flatten().collect();
    let selected = TargetSelection::new(&graph, tree, targets);
    let mut walk = Walk::new(context, &evaluation, live, &graph, arguments);
    if options.mode != Mode::Normal || options.before_destroy {
        walk.rule_severity = Severity::Warning;
    }
    let destroying = match options.mode {
        Mode::Destroy => Destroying::new(&state, targets),
        Mode::Normal | Mode::RefreshOnly => Destroying::default(),
    };
    let start = Start { state, moves, destroying, removals, undeclared };
    let mut planner = Planner::new(walk, options, start, &order, &selected);
    planner.walk.report(problems);
    planner.drive_all().await;
    if let Err(found) = planner.check_imports_and_moves(&statements, live) {
        return Made::nothing(found);
    }
    let only_reading_failed = planner.only_reading_failed();
    let (plan, problems) = planner.finish(&graph, references, previous);
    Made { plan, problems, only_reading_failed }
}

/// Known values outside of resource blocks when a walk begins.
struct Start<'a> {
    /// The state after the moves.
    state: State,
    moves: Moves,
    destroying: Destroying,
    removals: Removals<'a>,
    undeclared: Undeclared<'a>,
}

/// Returns the problems that are known before a walk.
fn problems_before(context: &Context<'_>, options: &PlanOptions) -> Diagnostics {
    let mut problems = context.references.invalid_arguments.clone();
    problems.extend(context.tree.unbound_resources());
    if options.mode == Mode::Destroy {
        // A plan to destroy evaluates few variables. Problems of the other variables are reported, too.
        problems.extend(context.variables.values().flat_map(|variable| variable.problems.iter().cloned()));
    }
    problems
}

/// Returns the provider configurations that objects of the state and imports without configuration use.
fn used_providers(tree: &ConfigTree, state: &State, undeclared: &Undeclared<'_>) -> Vec<(ModuleId, ProviderKey)> {
    let mut used = providers_of_state(tree, state);
    let of_imports = undeclared.generate.iter().filter_map(|(addr, import)| {
        tree.resolve_provider(ModuleId::ROOT, &provider_of_undeclared(addr, import), None)
    });
    let of_imports: Vec<_> = of_imports.map(|resolved| tree.provider_address(&resolved)).collect();
    used.extend(blocks_of(tree, of_imports.iter()));
    used
}

/// The provider that imports an object for which configuration is written.
fn provider_of_undeclared(addr: &AbsResourceInstance, import: &Import) -> ProviderKey {
    match &import.provider {
        Some(reference) => reference.key.clone(),
        None => ProviderKey { name: addr.resource.implied_provider().into(), alias: None },
    }
}

/// Objects of a resource in the state may belong to another provider configuration than the present one; it is required
/// to destroy them.
fn connect_providers_of_state<'a>(graph: &mut Cow<'_, RefGraph<'a>>, tree: &ConfigTree, state: &State) {
    let blocks = provider_blocks(graph, tree);
    if blocks.is_empty() {
        return;
    }
    let graph = graph.to_mut();
    for known in state.iter() {
        let config = known.addr.config();
        let module = tree.find(&config.module);
        let at = module.and_then(|module| graph.resources.get(&(module, ResourceKey::from(&config.resource))).copied());
        if let (Some(at), Some(block)) = (at, blocks.get(&known.provider)) {
            graph.connect(at, *block);
        }
    }
}

/// Resources of the state in modules other than the root module, by the vertex of their block.
fn in_modules(graph: &RefGraph<'_>, tree: &ConfigTree, state: &State) -> HashMap<u32, Vec<AbsResource>> {
    let mut found: HashMap<u32, Vec<AbsResource>> = HashMap::default();
    for known in state.iter().filter(|known| !known.addr.module.is_root()) {
        let module = tree.find(&known.addr.module.module());
        let key = ResourceKey::from(&known.addr.resource);
        if let Some(at) = module.and_then(|module| graph.resources.get(&(module, key))) {
            found.entry(*at).or_default().push(known.addr.clone());
        }
    }
    found
}

/// Resources that are created before the objects they replace are destroyed: those with the argument that are part of
/// the run, and all their dependencies.
fn create_before_destroy(graph: &RefGraph<'_>, order: &[u32], selected: &TargetSelection) -> Vec<bool> {
    let mut flags = vec![false; graph.nodes.len()];
    for at in order.iter().rev() {
        let here = *at as usize;
        if let Vertex::Resource(resource) = graph.nodes[here].vertex {
            flags[here] |= resource.lifecycle.create_before_destroy == Some(true) && selected.includes(*at);
        }
        if flags[here] {
            for to in &graph.edges[here] {
                flags[*to as usize] = true;
            }
        }
    }
    flags
}

impl<'a> Steps<'a> for Planner<'a> {
    type Answer = Answer<'a>;

    async fn begin(&mut self, step: u32, jobs: &mut Jobs<'a, Answer<'a>>) {
        if self.at_end {
            self.begin_leftovers(jobs).await;
            self.begin_generated(jobs).await;
            return;
        }
        if !self.included[step as usize] || self.walk.is_replaced(step) {
            return;
        }
        let graph = self.walk.graph;
        let node = &graph.nodes[step as usize];
        let span = tracing::trace_span!("evaluate", object = %graph.name(step, self.walk.context.tree));
        let begin = async {
            match node.vertex {
                Vertex::Resource(resource) => self.begin_resource(step, node.module, resource, jobs).await,
                Vertex::Provider(_) if graph.unused[step as usize] => {}
                Vertex::Provider(block) => {
                    self.failed[step as usize] |= !self.walk.begin_provider(node.module, block, jobs).await;
                }
                _ => self.failed[step as usize] |= !self.walk.evaluate(step).await,
            }
        };
        begin.instrument(span).await;
    }

    async fn answer(&mut self, step: u32, answer: Answer<'a>, jobs: &mut Jobs<'a, Answer<'a>>) {
        let ok = match answer {
            Answer::Managed(answer) => self.managed_answer(step, *answer).await,
            Answer::Removal(answer) => self.removal_answer(*answer).await,
            Answer::Data(answer) => self.data_answer(step, *answer).await,
            Answer::Imported(answer) => self.imported_answer(*answer, jobs).await,
            Answer::Written(answer) => self.written_answer(*answer),
            Answer::Walk(answer) => self.walk.answer(answer, jobs).await,
        };
        match self.at_end {
            true => self.failed_at_end |= !ok,
            false => self.failed[step as usize] |= !ok,
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
        if self.at_end {
            return true;
        }
        let here = step as usize;
        let graph = self.walk.graph;
        let is_managed = matches!(graph.nodes[here].vertex, Vertex::Resource(resource)
            if resource.key.mode == ResourceMode::Managed);
        self.leads_to_changes[here] = (is_managed && self.pending[here])
            || graph.edges[here].iter().any(|to| self.leads_to_changes[*to as usize]);
        if let Vertex::Resource(resource) = graph.nodes[here].vertex
            && is_managed
            && self.options.mode == Mode::RefreshOnly
        {
            let absent = if self.options.imports.is_empty() { Absent::Empty } else { Absent::Unknown };
            self.walk.see_state(&self.state, graph.nodes[here].module, resource, absent);
        }
        !self.failed[here]
    }

    fn stopped(&self) -> bool {
        self.walk.context.interrupt.is_raised()
    }
}

impl<'a> Planner<'a> {
    fn new(
        walk: Walk<'a>,
        options: &'a PlanOptions,
        start: Start<'a>,
        order: &'a [u32],
        selection: &'a TargetSelection,
    ) -> Planner<'a> {
        let (graph, tree) = (walk.graph, walk.context.tree);
        let Start { state, moves, destroying, removals, undeclared } = start;
        let count = graph.nodes.len();
        // Most resources have one instance, and most instances exist already. Unused capacity costs nothing.
        let expected = graph.resources.len().max(state.iter().map(|known| known.instances.len()).sum());
        let in_modules = in_modules(graph, tree, &state);
        Planner {
            walk,
            options,
            state,
            moves,
            create_before_destroy: create_before_destroy(graph, order, selection),
            included: included(graph, order, selection, options.mode),
            selection,
            destroying,
            removals,
            force_replace: options.force_replace.iter().cloned().collect(),
            dependencies: Dependencies::new(graph, order, tree),
            changes: Vec::with_capacity(expected),
            drift: Vec::new(),
            announced: HashSet::default(),
            planned: HashMap::default(),
            has_triggers: graph.nodes.iter().any(|node| {
                matches!(node.vertex, Vertex::Resource(resource) if !resource.lifecycle.replace_triggered_by.is_empty())
            }),
            pending: vec![false; count],
            leads_to_changes: vec![false; count],
            failed: vec![false; count],
            met: HashSet::default(),
            in_modules,
            absent: HashMap::default(),
            imports: Imports::asked(&options.imports),
            undeclared: undeclared.generate,
            postponed: Vec::new(),
            at_end: false,
            failed_at_end: false,
            prevented: Vec::new(),
        }
    }

    /// Plans all objects of the configuration in the order of their references, and then the objects deferred to the end.
    async fn drive_all(&mut self) {
        let (context, graph) = (self.walk.context, self.walk.graph);
        let started = self.walk.providers.started();
        let work = async {
            self.start_bare_providers().await;
            drive(self, graph.edges.as_slice(), context.parallelism).await;
            self.at_end = true;
            let last: [Vec<u32>; 1] = [Vec::new()];
            drive(self, last.as_slice(), context.parallelism).await;
        };
        attend(context.interrupt, context.clock, &started, work).await;
        attend(context.interrupt, context.clock, &started, self.walk.close_all()).await;
    }

    /// Reports problems of imports and moves. Their errors replace all other errors, which may follow from them.
    fn check_imports_and_moves(&mut self, statements: &moves::Statements, live: &Live) -> Result<(), Diagnostics> {
        if self.options.mode == Mode::Normal || !self.options.imports.is_empty() {
            let instances = if self.walk.has_errors() { Instances::Incomplete } else { Instances::Complete };
            let found = self.imports.check(live, instances);
            if found.has_errors() {
                return Err(found);
            }
            self.walk.report(found);
        }
        let context = self.walk.context;
        let found = moves::validate(statements, context.tree, live, self.options.mode, context.env.sources);
        if found.has_errors() {
            return Err(found);
        }
        self.walk.report(found);
        if !self.walk.has_errors() {
            let blocked = self.moves.warnings();
            self.walk.report(blocked);
        }
        Ok(())
    }

    /// Whether there are errors, and all of them are in reading data resources or opening ephemeral resources.
    fn only_reading_failed(&self) -> bool {
        let is_read = |at: usize| match self.walk.graph.nodes[at].vertex {
            Vertex::Resource(resource) => resource.key.mode != ResourceMode::Managed,
            _ => false,
        };
        let mut failed = (0..self.failed.len()).filter(|at| self.failed[*at]).peekable();
        let stopped = self.walk.context.interrupt.is_raised();
        failed.peek().is_some() && !stopped && !self.failed_at_end && failed.all(is_read)
    }

    /// Providers that are used without any block.
    async fn start_bare_providers(&mut self) {
        let tree = self.walk.context.tree;
        let mut wanted: Vec<AbsProviderConfig> = Vec::new();
        let mut seen = HashSet::default();
        for node in &self.walk.graph.nodes {
            if let Vertex::Resource(resource) = node.vertex
                && let Some(resolved) = tree.resource_provider(node.module, resource)
                && resolved.block.is_none()
            {
                let config = tree.provider_address(&resolved);
                if seen.insert(config.clone()) {
                    wanted.push(config);
                }
            }
        }
        for (addr, import) in &self.undeclared {
            let key = provider_of_undeclared(addr, import);
            if let Some(resolved) = tree.resolve_provider(ModuleId::ROOT, &key, None)
                && resolved.block.is_none()
            {
                let config = tree.provider_address(&resolved);
                if seen.insert(config.clone()) {
                    wanted.push(config);
                }
            }
        }
        for resource in self.state.iter() {
            let config = &resource.provider;
            // Somewhere on the way to the root there may be a block without alias; that is used then.
            if config.alias.is_none()
                && config.module.is_root()
                && !tree.root().module.providers.keys().any(|key| {
                    key.alias.is_none()
                        && tree.provider_type(ModuleId::ROOT, &key.name).as_ref() == Some(&config.provider)
                })
                && seen.insert(config.clone())
            {
                wanted.push(config.clone());
            }
        }
        self.walk.start_bare_providers(wanted).await;
    }

    /// Resources that are destroyed only after certain objects, because these depend on them.
    fn destroyed_after(&self, objects: &[AbsResourceInstance]) -> HashSet<ConfigResource> {
        let mut known: HashMap<ConfigResource, Vec<&Instance>> = HashMap::default();
        for (addr, _, instance) in self.state.instances() {
            known.entry(addr.containing().config()).or_default().push(instance);
        }
        let dependencies = |instance: &Instance| {
            let current = instance.current.as_ref();
            current.map(|object| object.dependencies.iter().cloned().collect::<Vec<_>>()).unwrap_or_default()
        };
        let mut found = HashSet::default();
        let mut work: Vec<ConfigResource> =
            objects.iter().filter_map(|addr| self.state.instance(addr)).flat_map(dependencies).collect();
        while let Some(resource) = work.pop() {
            if found.insert(resource.clone()) {
                work.extend(known.get(&resource).into_iter().flatten().flat_map(|instance| dependencies(instance)));
            }
        }
        found
    }

    /// Drops the changes that wait for an object which must not be destroyed, in a plan that destroys everything.
    fn drop_blocked(&self, changes: &mut Vec<ResourceChange>) {
        let blocked = self.destroyed_after(&self.prevented);
        changes.retain(|change| !blocked.contains(&change.addr.containing().config()));
    }

    /// The plan as a whole.
    fn finish(
        mut self,
        graph: &RefGraph<'a>,
        references: &[Vec<u32>],
        previous: Arc<State>,
    ) -> (Option<Plan>, Diagnostics) {
        let outputs = self.outputs();
        let found = self.check_force_replace();
        self.walk.report(found);
        let context = self.walk.context;
        let stopped = context.interrupt.is_raised();
        let mut problems = self.walk.take_problems();
        if stopped && !problems.has_errors() {
            problems.push(diagnostics::planning_halted());
        }
        let mut errored = problems.has_errors() || stopped;
        let mut changes = std::mem::take(&mut self.changes);
        if !self.prevented.is_empty() {
            self.drop_blocked(&mut changes);
        }
        changes.sort_unstable_by(|a, b| a.addr.cmp(&b.addr).then_with(|| a.deposed.cmp(&b.deposed)));
        let mut drift = std::mem::take(&mut self.drift);
        drift.sort_unstable_by(|a, b| a.addr.cmp(&b.addr));
        // The sources of changes matter only if objects changed outside, or if the plan is saved.
        let relevant = match self.options.relevant || !drift.is_empty() {
            true => relevant::relevant(&self.walk, &changes, &outputs),
            false => Vec::new(),
        };
        let mut exec = match errored {
            true => ExecGraph::default(),
            false => exec::build(graph, references, context.tree, &changes, &self.state, self.options.mode),
        };
        let stuck = exec.stuck();
        if !stuck.is_empty() {
            problems.push(exec::cycle(&exec, &changes, stuck.into_iter()));
            (errored, exec) = (true, ExecGraph::default());
        }
        let variables = context
            .variables
            .iter()
            .filter_map(|(name, variable)| {
                let ephemeral = variable.value.marks().has_ephemeral();
                let value = variable.given.clone()?;
                let value = if ephemeral { yuba_value::Value::null_dynamic() } else { value };
                Some((name.clone(), PlannedVariable { value, ephemeral }))
            })
            .collect();
        self.walk.expect_unreached_checks(&self.included);
        if self.options.mode == Mode::Destroy && !self.selection.is_limited() {
            self.walk.expect_root_outputs();
        }
        // Results of checks are those of the plan, or of nothing.
        self.state.check_results = None;
        let plan = Plan {
            mode: self.options.mode,
            targets: self.options.targets.clone(),
            excludes: self.options.excludes.clone(),
            force_replace: self.options.force_replace.clone(),
            variables,
            changes,
            drift,
            relevant,
            outputs,
            checks: self.walk.checks.results(),
            previous_state: previous,
            prior_state: Arc::new(self.state),
            exec,
            timestamp: ecow::eco_format!("{}", context.plan_time),
            errored,
            workspace: EcoString::from(context.env.workspace),
            warnings: Vec::new(),
        };
        (Some(plan), problems)
    }
}
