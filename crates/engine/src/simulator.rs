//! A simulator: random configurations are planned and applied, edited, and applied again, while providers fail, return
//! wrong values and hang, and other users change and destroy objects. Every seed is a scenario of its own, and always
//! the same one.
//!
//! Properties that must hold, whatever happens:
//!
//! - without faults, a plan that follows an apply has nothing to do;
//! - everything that really exists is in the state, and everything in the state exists, unless an error said otherwise;
//! - nothing is created before what it depends on, nothing destroyed before what depends on it;
//! - what a failure has nothing to do with is done;
//! - what was recorded on the way leads to the same state.

mod model;
mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use ecow::EcoString;
use yuba_plan::{Action, Mode, Plan, ResourceChange, file};
use yuba_provider::fake::{FakeWorld, Fault};
use yuba_state::{Edit, State};
use yuba_syntax::Diagnostics;
use yuba_value::Value;

use crate::applying::{ApplyDoors, ApplyOutcome, Recorder, apply};
use crate::interrupt::Interrupt;
use crate::planning::plan;
use crate::request::{Context, PlanOptions};
use crate::testing::{self, Config, NoProvisioners};
use model::{Chance, Model};

/// Probability of a fault per request; and the injected faults.
#[derive(Default)]
struct Trouble {
    seed: u64,
    /// One in so many; zero for never.
    rarely: u64,
    happened: Vec<(EcoString, Fault)>,
}

struct Simulation {
    seed: u64,
    chance: Chance,
    model: Model,
    text: String,
    world: FakeWorld,
    trouble: Arc<Mutex<Trouble>>,
    state: State,
    /// The last log, for the message of a failure.
    log: Vec<EcoString>,
    /// Events, for the same purpose.
    story: Vec<String>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Records edits as the journal does.
#[derive(Default)]
struct Lines {
    open: BTreeMap<u64, (String, Action)>,
    begun: u64,
    lines: Vec<String>,
}

impl Recorder for Lines {
    fn begin(&mut self, addr: &str, action: Action) -> u64 {
        self.begun += 1;
        self.open.insert(self.begun, (addr.to_owned(), action));
        self.begun
    }
    fn finish(&mut self, operation: u64, edits: &[Edit]) {
        assert!(self.open.remove(&operation).is_some(), "an operation ends that has not begun");
        self.append(edits);
    }
    fn append(&mut self, edits: &[Edit]) {
        self.lines.extend(edits.iter().map(Edit::to_json_line));
    }
    fn hand_over(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }
    fn flush(&mut self) -> Result<(), Diagnostics> {
        Ok(())
    }
    fn due(&self) -> bool {
        false
    }
    fn checkpoint(&mut self, _: &mut State) -> Result<(), Diagnostics> {
        Ok(())
    }
}

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let mut chance = Chance(seed);
        let model = Model::random(&mut chance);
        let trouble = Arc::new(Mutex::new(Trouble { seed, ..Trouble::default() }));
        let shared = trouble.clone();
        let world = FakeWorld::new().with_faults(move |line| shared.lock().ok()?.strike(line));
        Simulation {
            seed,
            chance,
            model,
            text: String::new(),
            world,
            trouble,
            state: State::empty(),
            log: Vec::new(),
            story: Vec::new(),
        }
    }

    fn fail(&self, what: &str) -> ! {
        let log: Vec<&str> = self.log.iter().map(EcoString::as_str).collect();
        panic!(
            "seed {}: {what}\n--- what happened\n{}\n--- last log\n{}\n--- configuration\n{}",
            self.seed,
            self.story.join("\n"),
            log.join("\n"),
            self.text
        )
    }

    fn set_trouble(&self, rarely: u64) {
        let mut trouble = self.trouble.lock().expect("because nothing panics while it is held");
        trouble.rarely = rarely;
        trouble.happened.clear();
    }

    fn happened(&self) -> Vec<(EcoString, Fault)> {
        self.trouble.lock().expect("because nothing panics while it is held").happened.clone()
    }

    /// Runs to the end. When everything hangs the run is stopped. Whether it was.
    fn run<T>(&self, interrupt: &Interrupt, future: impl Future<Output = T>) -> T {
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        let waker = Waker::from(flag.clone());
        let mut context = TaskContext::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                return result;
            }
            if !flag.0.swap(false, Ordering::Relaxed) && interrupt.raise() > 0 {
                self.fail("a run hangs although it was stopped");
            }
        }
    }

    fn with_context<T>(&self, config: &Config, interrupt: &Interrupt, go: impl FnOnce(Context<'_>) -> T) -> T {
        let go = |context: Context<'_>| go(Context { parallelism: 3, ..context });
        testing::with_context(config, &self.world, interrupt, go)
    }

    fn plan(&mut self, config: &Config, options: &PlanOptions) -> (Plan, Diagnostics) {
        match self.try_plan(config, options) {
            (Some(plan), problems) => (plan, problems),
            (None, problems) => self.fail(&format!("no plan: {}", testing::show(&problems, &config.sources))),
        }
    }

    fn try_plan(&mut self, config: &Config, options: &PlanOptions) -> (Option<Plan>, Diagnostics) {
        self.world.take_log();
        let interrupt = Interrupt::new();
        let planned = self.with_context(config, &interrupt, |context| {
            self.run(&interrupt, async { plan(context, self.state.clone(), options).await })
        });
        self.world.resume();
        self.log = self.world.take_log();
        planned
    }

    /// Applies a plan as it comes back from a file, and checks all that holds for every apply.
    fn apply(&mut self, config: &Config, plan: Plan) -> Diagnostics {
        let plan = if self.chance.one_in(3) { reread(plan) } else { plan };
        let interrupt = Interrupt::new();
        let mut lines = Lines::default();
        let random = std::cell::Cell::new(self.chance.next() as u32);
        let next = || {
            random.set(random.get().wrapping_add(1));
            random.get()
        };
        let doors = ApplyDoors { recorder: &mut lines, provisioners: &NoProvisioners, random: &next };
        let applied =
            self.with_context(config, &interrupt, |context| self.run(&interrupt, apply(context, &plan, doors)));
        let stopped = interrupt.is_raised();
        self.world.resume();
        self.log = self.world.take_log();
        let ApplyOutcome { state, problems, .. } = applied;
        self.story.push(format!(
            "applied: {}{}",
            plan.changes.iter().filter(|c| c.action != Action::NoOp).map(describe).collect::<Vec<_>>().join(", "),
            if stopped { " (stopped)" } else { "" }
        ));
        self.story.extend(problems.iter().map(|problem| format!("  {}: {}", problem.summary, problem.detail)));
        if !lines.open.is_empty() {
            self.fail(&format!("operations without end: {:?}", lines.open));
        }
        let mut replayed = (*plan.prior_state).clone();
        for line in &lines.lines {
            match Edit::from_json_line(line) {
                Ok(edit) => replayed.apply(edit),
                Err(error) => self.fail(&format!("an edit that cannot be read back: {error}: {line}")),
            }
        }
        if !replayed.same_content(&state) {
            self.fail("the recorded results lead to another state");
        }
        if let Err(broken) = order::check(&plan, &self.log, &self.model.dependencies()) {
            self.fail(&broken);
        }
        if !stopped {
            self.check_unaffected(&plan, &state);
        }
        self.state = self.saved_and_read(&state);
        problems
    }

    fn saved_and_read(&self, state: &State) -> State {
        let mut bytes = Vec::new();
        yuba_state::write(state, &mut bytes);
        match yuba_state::read(&bytes) {
            Ok((read, _)) if read.same_content(state) => read,
            Ok(_) => self.fail("a state that was saved and read is another one"),
            Err(_) => self.fail("a state that was saved cannot be read"),
        }
    }

    /// All operations that do not depend on a fault are complete.
    fn check_unaffected(&self, plan: &Plan, state: &State) {
        let mut affected: BTreeSet<String> = BTreeSet::new();
        for (line, fault) in self.happened() {
            if !matches!(fault, Fault::Slow(_)) {
                let name = line.split_once(' ').map_or("", |(_, name)| name);
                affected.insert(order::resource_of(name));
            }
        }
        let mut links = self.model.dependencies();
        for (addr, _, instance) in plan.previous_state.instances().chain(plan.prior_state.instances()) {
            let own = links.entry(addr.containing().config().to_string()).or_default();
            for (_, object) in instance.objects() {
                own.extend(object.dependencies.iter().map(ToString::to_string));
            }
        }
        loop {
            let before = affected.len();
            for (resource, needs) in &links {
                if affected.contains(resource) || needs.iter().any(|need| affected.contains(need)) {
                    affected.insert(resource.clone());
                    affected.extend(needs.iter().cloned());
                }
            }
            if affected.len() == before {
                break;
            }
        }
        for change in &plan.changes {
            if affected.contains(&change.addr.containing().config().to_string()) {
                continue;
            }
            let instance = state.instance(&change.addr);
            let done = match change.action {
                Action::Delete | Action::Forget => {
                    instance.and_then(|instance| instance.object(change.deposed.as_ref())).is_none()
                }
                Action::Create | Action::Update => instance.is_some_and(|instance| instance.current.is_some()),
                Action::DeleteThenCreate | Action::CreateThenDelete => {
                    let was = plan.prior_state.instance(&change.addr).and_then(|instance| instance.current.as_ref());
                    instance.is_some_and(|now| now.current.as_ref() != was && now.current.is_some())
                }
                Action::NoOp | Action::Read | Action::ForgetThenCreate => true,
            };
            if !done {
                self.fail(&format!("{} was not done, though nothing it depends on failed", describe(change)));
            }
        }
    }

    /// Real objects are in the state.
    fn check_nothing_is_lost(&mut self) {
        let happened = self.happened();
        let known = things(&self.state);
        let real = self.world.objects();
        for (id, object) in &real {
            if known.contains_key(id) {
                continue;
            }
            let name = order::text(&object.value, "name");
            let lost = happened.iter().any(|(line, fault)| *line == format!("create {name}") && *fault == Fault::Lost);
            if !lost {
                self.fail(&format!("{id} ({name}) exists and is not in the state"));
            }
            // Only the error message reports such an object.
            self.world.destroy(id);
        }
    }

    /// All objects of a refreshed state exist.
    fn check_nothing_is_left(&self) {
        let (happened, real) = (self.happened(), self.world.objects());
        for (id, name) in &things(&self.state) {
            let named = |line: &EcoString| line.strip_prefix("delete ").is_some_and(|of| name.starts_with(of));
            let is_named = happened.iter().any(|(line, _)| named(line));
            if !real.contains_key(id) && !is_named {
                self.fail(&format!("{id} ({name}) is in the state and does not exist"));
            }
        }
    }

    /// Without faults one run reaches the wanted state, and later runs change nothing.
    fn settle(&mut self, config: &Config, mode: Mode) {
        self.set_trouble(0);
        let options = PlanOptions { mode, ..PlanOptions::default() };
        let (plan, problems) = self.plan(config, &options);
        if problems.has_errors() {
            self.fail(&format!("planning failed: {}", explain(&problems)));
        }
        let problems = self.apply(config, plan);
        if problems.has_errors() {
            self.fail(&format!("applying failed: {}", explain(&problems)));
        }
        self.check_nothing_is_lost();
        self.check_nothing_is_left();
        let (again, problems) = self.plan(config, &options);
        if problems.has_errors() || again.can_apply() || !again.drift.is_empty() {
            let changes = again.changes.iter().filter(|change| change.action != Action::NoOp);
            let changes: Vec<String> = changes.chain(&again.drift).map(describe).collect();
            let outputs = again.outputs.iter().filter(|output| output.action != Action::NoOp);
            let outputs: Vec<String> =
                outputs.map(|output| format!("{:?} -> {:?}", output.before, output.after)).collect();
            self.fail(&format!("a second plan has changes: {changes:?} {outputs:?} {}", explain(&problems)));
        }
    }

    fn disturb(&mut self) {
        for id in self.world.objects().into_keys() {
            match self.chance.below(12) {
                0 => {
                    self.story.push(format!("{id} vanishes"));
                    self.world.destroy(&id);
                }
                1 => {
                    self.story.push(format!("{id} drifts"));
                    self.world.change(&id, "size", Value::int(77));
                }
                _ => {}
            }
        }
    }

    fn round(&mut self, number: u64) {
        if number > 0 {
            for _ in 0..1 + self.chance.below(3) {
                self.model.edit(&mut self.chance);
            }
        }
        self.text = self.model.text();
        let config = testing::config(&self.text);
        self.story.push(format!("round {number}"));
        if self.chance.one_in(3) {
            self.disturb();
        }
        if self.chance.one_in(2) {
            self.trouble_round(&config);
        }
        if self.chance.one_in(4) {
            self.target_round(&config);
        }
        if self.chance.one_in(3) {
            return;
        }
        if self.chance.one_in(3) {
            self.import_round();
            return;
        }
        self.settle(&config, Mode::Normal);
    }

    /// A run that is limited to one resource and what it depends on.
    fn target_round(&mut self, config: &Config) {
        let Some(path) = self.model.target(&mut self.chance) else { return };
        self.set_trouble(0);
        let (targets, problems) = crate::targets::parse_option("target", &[&path]);
        if problems.has_errors() {
            self.fail(&format!("{path} is not a target: {}", explain(&problems)));
        }
        let options = PlanOptions { targets, ..PlanOptions::default() };
        let (Some(plan), problems) = self.try_plan(config, &options) else {
            // Objects that moved because of changed keys must not be left out.
            return;
        };
        if problems.has_errors() {
            self.fail(&format!("planning a part failed: {}", explain(&problems)));
        }
        let mut wanted = self.model.dependencies().remove(&path).unwrap_or_default();
        wanted.insert(path.clone());
        for change in plan.changes.iter().filter(|change| change.action != Action::NoOp) {
            let resource = change.addr.containing().config().to_string();
            let is_new = matches!(change.action, Action::Create | Action::Update);
            if is_new && change.addr.module.is_root() && !wanted.contains(&resource) {
                self.fail(&format!("{} has nothing to do with the target {path}", describe(change)));
            }
        }
        let problems = self.apply(config, plan);
        if problems.has_errors() {
            self.fail(&format!("applying a part failed: {}", explain(&problems)));
        }
        // Other existing objects were not read again.
        self.check_nothing_is_lost();
    }

    /// An object is forgotten and imported again: nothing is made or destroyed because of it.
    fn import_round(&mut self) {
        let schema = FakeWorld::schema();
        let ty = schema.resources.get("fake_thing").map(|schema| schema.block.implied_type().clone());
        let candidates = self.state.instances().filter_map(|(addr, _, instance)| {
            let single = addr.module.is_root() && addr.key.is_none() && instance.deposed.is_empty();
            let object = instance.current.as_ref().filter(|_| single && self.model.is_single(&addr.to_string()))?;
            let value = object.decode(ty.as_ref()?).ok()?;
            let id = order::text(&value, "id");
            self.world.objects().contains_key(&id).then_some((addr, id))
        });
        let found: Option<(yuba_addrs::AbsResourceInstance, EcoString)> = candidates.last();
        let mut text = self.text.clone();
        if let Some((addr, id)) = &found {
            let Some(resource) = self.state.get(&addr.containing()) else { return };
            let (provider, provider_key) = (resource.provider.clone(), None);
            let addr = addr.clone();
            text = text.replacen(
                "//- main.tf\n",
                &format!("//- main.tf\nimport {{\n  to = {addr}\n  id = {id:?}\n}}\n"),
                1,
            );
            self.story.push(format!("{addr} is forgotten, to be imported as {id}"));
            self.state.apply(Edit::SetObject { addr, deposed: None, provider, provider_key, object: None });
        }
        let config = testing::config(&text);
        self.settle(&config, Mode::Normal);
        if let Some((addr, id)) = found
            && !things(&self.state).contains_key(&id)
            && self.world.objects().contains_key(&id)
        {
            self.fail(&format!("{addr} was not imported"));
        }
    }

    /// A run with faults.
    fn trouble_round(&mut self, config: &Config) {
        let plan_too = self.chance.one_in(4);
        self.set_trouble(if plan_too { 12 } else { 0 });
        let refresh = !self.chance.one_in(4);
        let mode = if self.chance.one_in(8) { Mode::Destroy } else { Mode::Normal };
        let options = PlanOptions { mode, refresh, ..PlanOptions::default() };
        let (plan, problems) = self.try_plan(config, &options);
        // Planning fails if objects cannot be read before they are destroyed.
        let Some(plan) = plan.filter(|plan| !problems.has_errors() && !plan.errored) else {
            if self.happened().is_empty() {
                self.fail(&format!("planning failed: {}", explain(&problems)));
            }
            return;
        };
        self.set_trouble(5);
        let problems = self.apply(config, plan);
        let bad = |(_, fault): &(EcoString, Fault)| !matches!(fault, Fault::Slow(_));
        if problems.has_errors() != self.happened().iter().any(bad) && refresh {
            self.fail(&format!("errors do not match the faults: {}", explain(&problems)));
        }
        self.check_nothing_is_lost();
        if refresh {
            self.check_nothing_is_left();
        }
    }
}

impl Trouble {
    fn strike(&mut self, line: &str) -> Option<Fault> {
        let spared = ["configure", "open", "close", "renew", "data"];
        if self.rarely == 0 || spared.iter().any(|verb| line.starts_with(verb)) {
            return None;
        }
        let mut chance = Chance(self.seed);
        self.seed = chance.next();
        if !chance.one_in(self.rarely) {
            return None;
        }
        let changes = ["create", "update", "delete"].iter().any(|verb| line.starts_with(verb));
        let fault = match chance.below(9) {
            0 | 1 => Fault::Fail,
            2 if changes => Fault::Partial,
            3 if changes => Fault::Lost,
            4 if changes && !line.starts_with("delete") => Fault::Lie,
            5 if changes && !line.starts_with("delete") => Fault::Unknown,
            6 => Fault::Hang,
            many => Fault::Slow(1 + many as u32),
        };
        self.happened.push((line.into(), fault));
        Some(fault)
    }
}

fn explain(problems: &Diagnostics) -> String {
    problems.iter().map(|problem| format!("{}: {}\n", problem.summary, problem.detail)).collect()
}

fn describe(change: &ResourceChange) -> String {
    let deposed = change.deposed.as_ref().map(|key| format!(" deposed {}", key.as_str())).unwrap_or_default();
    format!("{}{deposed} {:?}", change.addr, change.action)
}

/// Ids and names of all objects of a state.
fn things(state: &State) -> BTreeMap<EcoString, EcoString> {
    let schema = FakeWorld::schema();
    let ty = schema.resources.get("fake_thing").expect("because the schema has it").block.implied_type().clone();
    let mut found = BTreeMap::new();
    for (addr, _, instance) in state.instances().filter(|(addr, ..)| addr.resource.kind == "fake_thing") {
        for (_, object) in instance.objects() {
            let value = object.decode(&ty).unwrap_or_else(|_| panic!("{addr} cannot be decoded"));
            found.insert(order::text(&value, "id"), order::text(&value, "name"));
        }
    }
    found
}

fn reread(plan: Plan) -> Plan {
    let contents = file::PlanFile {
        tool_version: "1".into(),
        plan,
        modules: BTreeMap::new(),
        manifest: EcoString::new(),
        libraries: BTreeMap::new(),
        schemas: BTreeMap::new(),
        backend: file::SavedBackend::default(),
        lock_file: EcoString::new(),
        lineage: EcoString::new(),
        serial: 0,
        snapshot: None,
    };
    let bytes = file::encode(&contents).expect("because it is not too large");
    file::decode(&bytes, "1").expect("because it was just written").plan
}

fn simulate(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut simulation = Simulation::new(seed);
        for number in 0..8 {
            simulation.round(number);
        }
        let config = testing::config(&simulation.text);
        simulation.settle(&config, Mode::Destroy);
        if !simulation.state.is_empty() || !simulation.world.objects().is_empty() {
            simulation.fail("something is left after everything was destroyed");
        }
    }
}

#[test]
fn worlds_of_seeds_from_0() {
    simulate(0..32);
}

#[test]
fn worlds_of_seeds_from_100() {
    simulate(100..131);
}

#[test]
fn worlds_of_seeds_from_200() {
    simulate(200..231);
}

#[test]
fn worlds_of_seeds_from_300() {
    simulate(300..331);
}
