//! `state mv`: what is at one address is at another one from now on, in the same state or in another one.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use yuba_addrs::{
    AbsResource, AbsResourceInstance, ConfigResource, ModuleInstance, ModulePath, ResourceMode, TargetSubject,
};
use yuba_state::{Edit, Object, Resource, State};
use yuba_syntax::Diagnostics;

use super::selecting::Addresses;
use crate::backend::Refusal;
use crate::diagnostics;

/// One item to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateMove {
    /// From where.
    pub from: String,
    /// To where.
    pub to: String,
}

/// Items to move.
#[derive(Debug)]
pub struct StateMoves {
    /// For people.
    pub moved: Vec<StateMove>,
    instances: Vec<(AbsResourceInstance, AbsResourceInstance)>,
    /// Resources and modules that moved, as the configuration calls them.
    resources: HashSet<ConfigResource>,
    modules: HashSet<ModulePath>,
}

/// Finds out what is to be moved from one state to another one, which may be the same.
pub fn move_objects(from: &State, to: &State, source: &str, target: &str) -> Result<StateMoves, Refusal> {
    let mut addresses = Addresses::default();
    let subjects = (addresses.read(source), addresses.read(target));
    addresses.finish()?;
    let mut moves =
        StateMoves { moved: Vec::new(), instances: Vec::new(), resources: HashSet::new(), modules: HashSet::new() };
    let (Some(source), Some(destination)) = subjects else { return Ok(moves) };
    match source {
        TargetSubject::Module(module) => moves.add_modules(from, to, &module, &destination)?,
        TargetSubject::Resource(resource) => match from.get(&resource) {
            None => return Err(diagnostics::nothing_to_move(&resource).into()),
            Some(found) if found.instances.contains_key(&None) => {
                moves.add_instance(from, to, resource.instance(None), &destination, target)?;
            }
            Some(found) => moves.add_resource(found, to, &destination)?,
        },
        TargetSubject::Instance(instance) => moves.add_instance(from, to, instance, &destination, target)?,
    }
    Ok(moves)
}

impl StateMoves {
    fn add_modules(
        &mut self,
        from: &State,
        to: &State,
        source: &ModuleInstance,
        destination: &TargetSubject,
    ) -> Result<(), Refusal> {
        let steps = source.steps();
        let modules: BTreeSet<&ModuleInstance> = from.iter().map(|resource| &resource.addr.module).collect();
        let modules: Vec<&ModuleInstance> =
            modules.into_iter().filter(|module| module.steps().starts_with(steps)).collect();
        if modules.is_empty() {
            return Err(diagnostics::nothing_to_move(source).into());
        }
        let TargetSubject::Module(destination) = destination else {
            return Err(diagnostics::module_to_other(modules[0], destination).into());
        };
        for module in modules {
            let below = module.steps()[steps.len()..].iter();
            let target =
                below.fold(destination.clone(), |target, step| target.child(step.name.clone(), step.key.clone()));
            if to.in_module(&target).next().is_some() {
                return Err(diagnostics::module_exists().into());
            }
            self.moved.push(StateMove { from: module.to_string(), to: target.to_string() });
            for resource in from.in_module(module) {
                let moved = resource.addr.resource.clone().absolute(target.clone());
                self.add_all(resource, &moved);
            }
            // Quirk: where a call has a key, what depends on the module is left as it is.
            if module.steps().iter().all(|step| step.key.is_none()) {
                self.modules.insert(module.module());
            }
        }
        Ok(())
    }

    fn add_resource(&mut self, resource: &Resource, to: &State, destination: &TargetSubject) -> Result<(), Refusal> {
        let source = &resource.addr;
        let TargetSubject::Resource(target) = destination else {
            return Err(diagnostics::resource_to_other(source, destination).into());
        };
        let mut problems = check(source, target);
        if to.get(target).is_some() {
            problems.push(diagnostics::target_exists("resource", target));
        }
        if !problems.is_empty() {
            return Err(problems.into());
        }
        self.moved.push(StateMove { from: source.to_string(), to: target.to_string() });
        self.add_all(resource, target);
        self.resources.insert(source.config());
        Ok(())
    }

    fn add_all(&mut self, resource: &Resource, target: &AbsResource) {
        let instance = |addr: &AbsResource, key: &Option<_>| addr.clone().instance(key.clone());
        let keys = resource.instances.keys();
        self.instances.extend(keys.map(|key| (instance(&resource.addr, key), instance(target, key))));
    }

    fn add_instance(
        &mut self,
        from: &State,
        to: &State,
        source: AbsResourceInstance,
        destination: &TargetSubject,
        given: &str,
    ) -> Result<(), Refusal> {
        let target = match destination {
            TargetSubject::Instance(target) => target.clone(),
            TargetSubject::Resource(target) => target.clone().instance(None),
            TargetSubject::Module(_) => return Err(diagnostics::instance_to_other(&source, destination).into()),
        };
        let mut problems = check(&source.containing(), &target.containing());
        if to.instance(&target).is_some() {
            problems.push(diagnostics::target_exists("resource instance", &target));
        }
        if from.instance(&source).is_none() {
            problems.push(diagnostics::not_there_to_move(&source));
        }
        if !problems.is_empty() {
            return Err(problems.into());
        }
        // Quirk: the target is shown as it was given.
        self.moved.push(StateMove { from: source.to_string(), to: given.to_owned() });
        self.resources.insert(source.config());
        self.instances.push((source, target));
        Ok(())
    }

    /// Moves all of it within a state.
    pub fn apply(self, state: &mut State) {
        for (from, to) in &self.instances {
            // An existing resource stays with its provider.
            let provider = state.get(&to.containing()).map(|resource| resource.provider.clone());
            state.apply(Edit::Move { from: from.clone(), to: to.clone() });
            if let Some(provider) = provider {
                state.apply(Edit::SetProvider { resource: to.containing(), provider });
            }
        }
        self.forget_dependencies(state);
    }

    /// Moves all of it from one state to another one.
    pub fn apply_between(self, from: &mut State, to: &mut State) {
        for (source, target) in &self.instances {
            let Some(resource) = from.get(&source.containing()) else { continue };
            let Some(instance) = resource.instances.get(&source.key).cloned() else { continue };
            let provider = to.get(&target.containing()).map_or(&resource.provider, |there| &there.provider).clone();
            let removed_provider = resource.provider.clone();
            for (deposed, object) in instance.objects() {
                to.apply(Edit::SetObject {
                    addr: target.clone(),
                    deposed: deposed.cloned(),
                    provider: provider.clone(),
                    provider_key: instance.provider_key.clone(),
                    object: Some(object.clone()),
                });
                from.apply(Edit::SetObject {
                    addr: source.clone(),
                    deposed: deposed.cloned(),
                    provider: removed_provider.clone(),
                    provider_key: None,
                    object: None,
                });
            }
        }
        self.forget_dependencies(to);
    }

    /// Objects that depend on a moved object lose their recorded dependencies: the next apply finds them again.
    fn forget_dependencies(&self, state: &mut State) {
        let has_moved = |dependency: &ConfigResource| {
            let steps = dependency.module.steps();
            self.resources.contains(dependency)
                || (!self.modules.is_empty()
                    && (0..=steps.len()).any(|length| {
                        let prefix = steps[..length].iter();
                        self.modules.contains(&prefix.fold(ModulePath::ROOT, |path, step| path.child(step.clone())))
                    }))
        };
        let edits: Vec<Edit> = state
            .instances()
            .filter_map(|(addr, resource, instance)| {
                let object = instance.current.as_ref()?;
                object.dependencies.iter().any(has_moved).then(|| Edit::SetObject {
                    addr,
                    deposed: None,
                    provider: resource.provider.clone(),
                    provider_key: instance.provider_key.clone(),
                    object: Some(Arc::new(Object { dependencies: Default::default(), ..Object::clone(object) })),
                })
            })
            .collect();
        for edit in edits {
            state.apply(edit);
        }
    }
}

/// Reason why one resource cannot become another one.
fn check(from: &AbsResource, to: &AbsResource) -> Diagnostics {
    let (mode, target_mode) = (from.resource.mode, to.resource.mode);
    let mut problems = Diagnostics::new();
    if mode == ResourceMode::Ephemeral || target_mode == ResourceMode::Ephemeral {
        problems.push(diagnostics::ephemeral_move());
    } else {
        if mode != target_mode {
            problems.push(diagnostics::other_mode(from, to));
        }
        if from.resource.kind != to.resource.kind {
            problems.push(diagnostics::other_type(from, to));
        }
    }
    problems
}
