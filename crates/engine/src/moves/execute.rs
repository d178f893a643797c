//! Statements executed: objects of a state go to their new addresses.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use foldhash::{HashMap, HashSet};
use yuba_addrs::{AbsResource, AbsResourceInstance, ConfigResource, InstanceKey, ModuleInstance, ModuleStep};
use yuba_state::{Edit, State};

use super::{MoveOrigin, Moveable, Moves, Statement, Statements, Step};

/// Moves objects. An object at an occupied address stays, and so does the occupant. Where statements form a cycle
/// nothing is moved at all: [`super::validate`] reports it.
///
/// Quirk: an object that a statement moves to its own address is in its own way. [`super::validate`] refuses such a statement in each
/// module instance that is planned, so the warning shows where -target or -exclude leave the module out.
pub fn execute(statements: &Statements, state: &mut State) -> Moves {
    let mut run = Run { state, moves: Moves::default(), modules: Modules::default() };
    if statements.is_empty() || statements.has_cycle() {
        return run.moves;
    }
    let mut last: Option<ModuleInstance> = None;
    for resource in run.state.iter() {
        if last.as_ref() != Some(&resource.addr.module) {
            run.modules.add(&resource.addr.module);
            last = Some(resource.addr.module.clone());
        }
    }
    for at in statements.groups.iter().flatten() {
        run.statement(&statements.list[*at as usize]);
    }
    run.follow();
    run.moves
}

struct Run<'s> {
    state: &'s mut State,
    moves: Moves,
    modules: Modules,
}

impl Run<'_> {
    /// Objects depend on what has moved under its new name: otherwise it could be destroyed before them.
    fn follow(&mut self) {
        let name = |addr: &AbsResourceInstance| addr.containing().config();
        let moves = self.moves.changes.iter().map(|(to, origin)| (name(&origin.from), name(to)));
        let renamed: HashMap<ConfigResource, ConfigResource> = moves.filter(|(from, to)| from != to).collect();
        if renamed.is_empty() {
            return;
        }
        let left: HashSet<ConfigResource> = self.state.iter().map(|resource| resource.addr.config()).collect();
        let mut edits = Vec::new();
        for (addr, resource, instance) in self.state.instances() {
            for (deposed, object) in instance.objects() {
                if !object.dependencies.iter().any(|known| renamed.contains_key(known)) {
                    continue;
                }
                let known = object.dependencies.iter();
                let mut all: Vec<ConfigResource> = known
                    .clone()
                    .filter(|known| !renamed.contains_key(known) || left.contains(known))
                    .cloned()
                    .collect();
                all.extend(known.filter_map(|known| renamed.get(known).cloned()));
                all.sort_by_cached_key(ToString::to_string);
                all.dedup();
                let mut object = (**object).clone();
                object.dependencies = all.into_iter().collect();
                edits.push(Edit::SetObject {
                    addr: addr.clone(),
                    deposed: deposed.cloned(),
                    provider: resource.provider.clone(),
                    provider_key: instance.provider_key.clone(),
                    object: Some(Arc::new(object)),
                });
            }
        }
        edits.into_iter().for_each(|edit| self.state.apply(edit));
    }

    fn statement(&mut self, statement: &Statement) {
        let matching = self.modules.matching(statement.steps(&statement.from));
        match (&statement.from, &statement.to) {
            (Moveable::Resource(from), Moveable::Resource(to)) => {
                for (module, new) in self.bases(statement, &matching, &to.module) {
                    let (from, to) = (from.resource.clone().absolute(module), to.resource.clone().absolute(new));
                    self.resource(from, to, statement);
                }
            }
            (Moveable::Instance(from), Moveable::Instance(to)) => {
                for (module, new) in self.bases(statement, &matching, &to.module) {
                    let from = from.resource.clone().absolute(module).instance(from.key.clone());
                    let to = to.resource.clone().absolute(new).instance(to.key.clone());
                    self.instance(from, to, statement);
                }
            }
            _ => {
                let mut all: Vec<ModuleInstance> = Vec::new();
                matching.iter().for_each(|at| self.modules.under(*at, &mut all));
                all.sort();
                for module in all {
                    self.module(statement, module);
                }
            }
        }
    }

    /// The modules that match the old address, and for each the module of the new address.
    fn bases(
        &self,
        statement: &Statement,
        matching: &[u32],
        to: &ModuleInstance,
    ) -> Vec<(ModuleInstance, ModuleInstance)> {
        let declared = statement.declared.steps().len();
        let pair = |at: &u32| {
            let module = self.modules.nodes[*at as usize].address.clone();
            let new = module.steps().iter().take(declared).chain(to.steps()).cloned().collect();
            (module, new)
        };
        matching.iter().map(pair).collect()
    }

    fn exists(&self, module: &ModuleInstance) -> bool {
        self.state.in_module(module).next().is_some()
    }

    fn module(&mut self, statement: &Statement, old: ModuleInstance) {
        let declared = statement.declared.steps().len();
        let own = statement.from.module().steps().len();
        let steps = old.steps();
        let mut new: Vec<ModuleStep> =
            steps.iter().take(declared).chain(statement.to.module().steps()).cloned().collect();
        let mut suffix = declared + own;
        if let Moveable::Call(_, name) = &statement.to {
            let key = steps.get(suffix).and_then(|step| step.key.clone());
            new.push(ModuleStep { name: name.clone(), key });
            suffix += 1;
        }
        let new: ModuleInstance = new.into_iter().chain(steps.iter().skip(suffix).cloned()).collect();
        if !self.exists(&old) {
            return;
        }
        if self.exists(&new) {
            self.moves.blocked.insert(Moveable::Module(old), Moveable::Module(new));
            return;
        }
        let resources: Vec<AbsResource> = self.state.in_module(&old).map(|resource| resource.addr.clone()).collect();
        for from in resources {
            let to = from.resource.clone().absolute(new.clone());
            self.all_instances(&from, &to, statement);
        }
    }

    fn resource(&mut self, from: AbsResource, to: AbsResource, by: &Statement) {
        if self.state.get(&from).is_none() {
            return;
        }
        if self.state.get(&to).is_some() {
            self.moves.blocked.insert(Moveable::Resource(from), Moveable::Resource(to));
            return;
        }
        self.all_instances(&from, &to, by);
    }

    fn all_instances(&mut self, from: &AbsResource, to: &AbsResource, by: &Statement) {
        let Some(resource) = self.state.get(from) else { return };
        let keys: Vec<Option<InstanceKey>> = resource.instances.keys().cloned().collect();
        for key in keys {
            self.go(from.clone().instance(key.clone()), to.clone().instance(key), by);
        }
    }

    fn instance(&mut self, from: AbsResourceInstance, to: AbsResourceInstance, by: &Statement) {
        if self.state.instance(&from).is_none() {
            return;
        }
        if self.state.instance(&to).is_some() {
            self.moves.blocked.insert(Moveable::Instance(from), Moveable::Instance(to));
            return;
        }
        self.go(from, to, by);
    }

    fn go(&mut self, from: AbsResourceInstance, to: AbsResourceInstance, by: &Statement) {
        self.modules.add(&to.module);
        self.state.apply(Edit::Move { from: from.clone(), to: to.clone() });
        // Several steps are one move from the first address to the last.
        let from = self.moves.changes.remove(&from).map_or(from, |before| before.from);
        self.moves.changes.insert(to, MoveOrigin { from, implied: by.implied });
    }
}

/// The module instances that objects are or were in, by the calls that lead to them.
struct Modules {
    nodes: Vec<ModuleNode>,
}

#[derive(Default)]
struct ModuleNode {
    address: ModuleInstance,
    calls: BTreeMap<EcoString, BTreeMap<Option<InstanceKey>, u32>>,
}

impl Default for Modules {
    fn default() -> Modules {
        Modules { nodes: vec![ModuleNode::default()] }
    }
}

impl Modules {
    fn add(&mut self, module: &ModuleInstance) {
        let mut at = 0;
        for step in module.steps() {
            let fresh = self.nodes.len() as u32;
            let keys = self.nodes[at as usize].calls.entry(step.name.clone()).or_default();
            let next = *keys.entry(step.key.clone()).or_insert(fresh);
            if next == fresh {
                let address = self.nodes[at as usize].address.child(step.name.clone(), step.key.clone());
                self.nodes.push(ModuleNode { address, calls: BTreeMap::new() });
            }
            at = next;
        }
    }

    /// Those that steps lead to.
    fn matching<'a>(&self, steps: impl Iterator<Item = Step<'a>>) -> Vec<u32> {
        let mut at = vec![0];
        for step in steps {
            let mut next = Vec::new();
            for keys in at.iter().filter_map(|at| self.nodes[*at as usize].calls.get(step.name)) {
                match step.key {
                    None => next.extend(keys.values()),
                    Some(key) => next.extend(keys.get(key)),
                }
            }
            at = next;
        }
        at
    }

    /// One, and all that are called from it.
    fn under(&self, at: u32, found: &mut Vec<ModuleInstance>) {
        let mut stack = vec![at];
        while let Some(at) = stack.pop() {
            let node = &self.nodes[at as usize];
            found.push(node.address.clone());
            stack.extend(node.calls.values().flat_map(BTreeMap::values));
        }
    }
}
