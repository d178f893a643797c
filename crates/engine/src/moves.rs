//! Moved objects: which objects of the last state have another address now.
//!
//! [`statements`] collects what `moved` blocks say and what changes of `count` imply, [`execute`] moves the objects of a
//! state before planning, and [`validate`] says, after planning, which statements contradict the configuration or each
//! other. An invalid statement is executed anyway where possible: validation must follow planning, because only planning
//! finds the instances of modules and resources.

mod diagnostics;
mod execute;
mod implied;
mod index;
mod order;
mod validate;

use std::collections::BTreeMap;
use std::fmt;

use ecow::EcoString;
use yuba_addrs::{
    AbsResource, AbsResourceInstance, InstanceKey, ModuleInstance, ModulePath, MoveSubject, ProviderSource, Target,
};
use yuba_config::moved::Moved;
use yuba_eval::ConfigTree;
use yuba_state::State;
use yuba_syntax::{Diagnostics, Span};

pub use execute::execute;
pub use validate::validate;

use self::index::Index;

/// Something that can have moved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moveable {
    /// All instances of a module call.
    Call(ModuleInstance, EcoString),
    /// One instance of a module.
    Module(ModuleInstance),
    /// All instances of a resource.
    Resource(AbsResource),
    /// One instance of a resource.
    Instance(AbsResourceInstance),
}

/// Objects that were at one address are at another one now.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The module that says so; what it says holds for all its instances.
    pub declared: ModulePath,
    /// The old address, in an instance of that module.
    pub from: Moveable,
    /// The new address: of the same kind.
    pub to: Moveable,
    /// Its location; for implied ones that of the block that implies it.
    pub span: Span,
    /// No `moved` block says so, but `count` came or went.
    pub implied: bool,
}

/// All statements, each with the statements that must be executed before it.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    list: Vec<Statement>,
    /// Groups of statements in the order of execution. A group of more than one is a cycle.
    groups: Vec<Vec<u32>>,
}

/// Result of moving the objects of a state.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// For each new address where the object was.
    pub changes: BTreeMap<AbsResourceInstance, MoveOrigin>,
    /// Objects that could not move because the target is occupied, and their targets.
    pub blocked: BTreeMap<Moveable, Moveable>,
}

/// Previous address of a moved object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveOrigin {
    /// The address in the last state.
    pub from: AbsResourceInstance,
    /// The last step of its way was implied.
    pub implied: bool,
}

/// Moves in the configuration, and implied moves from a comparison with the state.
pub fn statements(tree: &ConfigTree, state: &State) -> Statements {
    let mut list = Vec::new();
    for (_, node) in tree.iter() {
        list.extend(node.module.moved.iter().filter_map(|moved| Statement::explicit(&node.path, moved)));
    }
    let mut index = Index::new(&list);
    let implied = implied::find(tree, state, &index);
    if !implied.is_empty() {
        list.extend(implied);
        index = Index::new(&list);
    }
    let groups = order::groups(&list, &index);
    Statements { list, groups }
}

impl Statement {
    /// Both ends are of the same kind: that of whole calls or resources only where neither has a key at its end.
    fn explicit(declared: &ModulePath, moved: &Moved) -> Option<Statement> {
        let (from, to) = match (&moved.from.subject, &moved.to.subject) {
            (MoveSubject::Module(from), MoveSubject::Module(to)) => match (Moveable::call(from), Moveable::call(to)) {
                (Some(from), Some(to)) => (from, to),
                _ if from.is_root() || to.is_root() => return None,
                _ => (Moveable::Module(from.clone()), Moveable::Module(to.clone())),
            },
            (MoveSubject::Resource(from), MoveSubject::Resource(to)) => match (&from.key, &to.key) {
                (None, None) => (Moveable::Resource(from.containing()), Moveable::Resource(to.containing())),
                _ => (Moveable::Instance(from.clone()), Moveable::Instance(to.clone())),
            },
            _ => return None,
        };
        Some(Statement { declared: declared.clone(), from, to, span: moved.span, implied: false })
    }

    /// Only keys of modules change.
    fn is_module_reindex(&self) -> bool {
        match (&self.from, &self.to) {
            (Moveable::Module(from), Moveable::Module(to)) => {
                let names = |module: &ModuleInstance| module.steps().iter().map(|step| step.name.clone()).collect();
                let (from, to): (Vec<EcoString>, Vec<EcoString>) = (names(from), names(to));
                from == to
            }
            _ => false,
        }
    }
}

impl Statements {
    /// The statements: those of `moved` blocks first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Statement> {
        self.list.iter()
    }
    /// Whether there are no moves.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    fn has_cycle(&self) -> bool {
        self.groups.iter().any(|group| group.len() > 1)
    }
}

impl Moves {
    /// Address of an object in the last state, which is its present address if it did not move.
    pub fn old<'a>(&'a self, addr: &'a AbsResourceInstance) -> &'a AbsResourceInstance {
        self.from(addr).unwrap_or(addr)
    }
    /// Address of an object in the last state, if it moved.
    pub fn from(&self, addr: &AbsResourceInstance) -> Option<&AbsResourceInstance> {
        self.changes.get(addr).map(|origin| &origin.from).filter(|from| *from != addr)
    }
    /// Whether a `moved` block moved an object to its address.
    pub fn moved_explicitly(&self, addr: &AbsResourceInstance) -> bool {
        self.changes.get(addr).is_some_and(|origin| !origin.implied)
    }
    /// Whether an object has changed its type or provider, so that only the new provider can read it.
    pub fn changes_type(
        &self,
        addr: &AbsResourceInstance,
        provider: &ProviderSource,
        old_provider: &ProviderSource,
    ) -> bool {
        let old = self.changes.get(addr).filter(|origin| !origin.implied);
        old.is_some_and(|old| old.from.resource.kind != addr.resource.kind || provider != old_provider)
    }
    /// The warning about objects that could not move, if there are any. It is for plans without errors: errors in
    /// statements may be the cause.
    pub fn warnings(&self) -> Diagnostics {
        let mut problems = Diagnostics::new();
        if !self.blocked.is_empty() {
            problems.push(diagnostics::blocked(&self.blocked));
        }
        problems
    }
    /// Moved objects must be planned at both addresses. Reports `-target` and `-exclude` options that prevent this.
    pub fn check_targets(&self, targets: &[Target], excludes: &[Target]) -> Diagnostics {
        let mut problems = Diagnostics::new();
        let (subjects, excluding) = if targets.is_empty() { (excludes, true) } else { (targets, false) };
        if subjects.is_empty() || self.changes.is_empty() {
            return problems;
        }
        let set = crate::targets::AddressSet::new(subjects);
        let ends = self.changes.iter().flat_map(|(to, origin)| [&origin.from, to]);
        let mut left_out: Vec<AbsResource> =
            ends.filter(|end| set.contains(end) == excluding).map(AbsResourceInstance::containing).collect();
        left_out.sort();
        left_out.dedup();
        if !left_out.is_empty() {
            problems.push(match excluding {
                true => diagnostics::excluded(&left_out),
                false => diagnostics::not_targeted(&left_out),
            });
        }
        problems
    }
}

impl Moveable {
    /// All instances of a call, if the address has no key at its end.
    fn call(module: &ModuleInstance) -> Option<Moveable> {
        let (parent, step) = module.call()?;
        step.key.is_none().then(|| Moveable::Call(parent, step.name.clone()))
    }
    /// The module instance at the start of the address: of a call the calling one.
    fn module(&self) -> &ModuleInstance {
        match self {
            Moveable::Call(module, _) | Moveable::Module(module) => module,
            Moveable::Resource(resource) => &resource.module,
            Moveable::Instance(instance) => &instance.module,
        }
    }
    fn is_module(&self) -> bool {
        matches!(self, Moveable::Call(..) | Moveable::Module(_))
    }
    /// The address in an instance of the module that it is relative to.
    fn in_module(&self, base: &ModuleInstance) -> Moveable {
        if base.is_root() {
            return self.clone();
        }
        let join = |module: &ModuleInstance| base.steps().iter().chain(module.steps()).cloned().collect();
        match self {
            Moveable::Call(module, name) => Moveable::Call(join(module), name.clone()),
            Moveable::Module(module) => Moveable::Module(join(module)),
            Moveable::Resource(resource) => {
                Moveable::Resource(resource.resource.clone().absolute(join(&resource.module)))
            }
            Moveable::Instance(instance) => Moveable::Instance(AbsResourceInstance {
                module: join(&instance.module),
                resource: instance.resource.clone(),
                key: instance.key.clone(),
            }),
        }
    }
    /// Kind of an endpoint, also as one word.
    fn noun(&self) -> (&'static str, &'static str) {
        match self {
            Moveable::Call(..) => ("module call", "call"),
            Moveable::Module(_) => ("module instance", "instance"),
            Moveable::Resource(_) => ("resource", "resource"),
            Moveable::Instance(_) => ("resource instance", "instance"),
        }
    }
}

impl fmt::Display for Moveable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moveable::Call(module, name) => {
                write!(f, "{module}{}module.{name}", if module.is_root() { "" } else { "." })
            }
            Moveable::Module(module) => write!(f, "{module}"),
            Moveable::Resource(resource) => write!(f, "{resource}"),
            Moveable::Instance(instance) => write!(f, "{instance}"),
        }
    }
}

/// A step of an address that stands for several: no key means all of them.
#[derive(Clone, Debug)]
struct Step<'a> {
    name: &'a EcoString,
    key: Option<&'a Option<InstanceKey>>,
}

impl Statement {
    /// The modules of an endpoint, from the root; for module endpoints the module itself is the last.
    fn steps<'a>(&'a self, end: &'a Moveable) -> impl Iterator<Item = Step<'a>> {
        let declared = self.declared.steps().iter().map(|name| Step { name, key: None });
        let named = end.module().steps().iter().map(|step| Step { name: &step.name, key: Some(&step.key) });
        let call = match end {
            Moveable::Call(_, name) => Some(Step { name, key: None }),
            _ => None,
        };
        declared.chain(named).chain(call)
    }
    /// An end as text, with `[*]` for all instances.
    fn show(&self, end: &Moveable) -> String {
        let prefix: String = self.declared.steps().iter().map(|name| format!("module.{name}[*].")).collect();
        let all = if matches!(end, Moveable::Call(..) | Moveable::Resource(_)) { "[*]" } else { "" };
        format!("{prefix}{end}{all}")
    }
}

#[cfg(test)]
mod tests;
